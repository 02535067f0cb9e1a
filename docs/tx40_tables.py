"""Make Tables 1 to 3 and Figs. 2 to 4 of docs/brunot2017.md with six joints again, from two studies and the measured record.

blocksim study brunot2017/studies/tx40 --out tx40 && blocksim study brunot2017/studies/tx40_rest --out tx40_rest
BLOCKSIM_DATA=data python docs/tx40_tables.py tx40 tx40_rest
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs
from blocks.smoothing.filters import decimate

PAGE = Path(__file__).with_name("brunot2017.md")
IMAGES = PAGE.with_name("images")
METHODS = {"classical": ("Classical", "#1f6fb4"), "irwsm1": ("IRWSM 1", "#d9601a"), "irwsm2": ("IRWSM 2", "#2a8f5b")}
#: Begin and end of what the regressions use; before and after the robot rests.
FITTED = (0.07, 7.47)
MATCHED = {"cutoff": 44.75, "factor": 20, "smooth.nvr": 3.16e-8}
PRIORS: dict[str, dict[str, float]] = {
    "good": {"cutoff": 50, "factor": 200},
    "poor": {"cutoff": 200, "factor": 20},
    "matched": MATCHED,
}
#: Tables 1 and 3 of the paper: Classical, IRWSM 1, IRWSM 2 with good and with poor knowledge.
PAPER = """
ZZ1R 1.24 1.24 1.24 1.21 1.25 1.22; Fc1 6.90 6.85 6.85 6.55 6.52 6.50; Fv1 8.07 8.09 8.09 8.18 8.19 8.20
XX2R -0.48 -0.47 -0.48 -0.48 -0.48 -0.48; XZ2R -0.16 -0.16 -0.16 -0.16 -0.16 -0.16; ZZ2R 1.09 1.09 1.09 1.03 1.09 1.05
MX2R 2.22 2.22 2.23 2.32 2.20 2.29; Fc2 7.90 7.85 7.86 7.65 7.52 7.59; Fv2 5.62 5.65 5.64 5.71 5.77 5.74
XX3R 0.14 0.14 0.14 0.14 0.14 0.14; ZZ3R 0.11 0.11 0.11 0.05 0.12 0.07; MY3R -0.59 -0.59 -0.59 -0.61 -0.58 -0.60
Ia3 0.09 0.09 0.09 0.13 0.09 0.11; Fc3 6.26 6.25 6.26 5.80 5.90 5.80; Fv3 1.98 1.98 1.98 2.08 2.07 2.08
MX4 -0.03 -0.03 -0.03 -0.01 -0.03 -0.02; Ia4 0.03 0.03 0.03 0.03 0.03 0.03; Fc4 2.38 2.35 2.37 2.24 2.25 2.24
Fv4 1.12 1.13 1.13 1.17 1.15 1.16; MY5R -0.03 -0.03 -0.03 -0.04 -0.03 -0.04; Ia5 0.04 0.04 0.04 0.04 0.04 0.04
Fc5 2.94 2.93 2.93 2.80 2.75 2.80; Fv5 1.84 1.84 1.84 1.87 1.90 1.88; Ia6 0.01 0.01 0.01 0.01 0.01 0.01
Fc6 0.29 0.25 0.25 0.28 0.30 0.30; Fv6 0.66 0.66 0.67 0.68 0.67 0.68; Fcm6 1.83 1.87 1.87 1.75 1.73 1.73
Fvm6 0.61 0.61 0.61 0.62 0.63 0.63
"""
PRINTED = {words[0]: words[1:] for words in (entry.split() for entry in PAPER.replace("\n", ";").split(";")) if words}


def lines_of(folder: str, table: str) -> list[dict[str, str]]:
    with (Path(folder) / table).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def three(values: list[float], form: str) -> str:
    return " / ".join(format(value, form) for value in values)


def digits(std: float) -> str:
    """Decimals that a standard deviation leaves."""
    return f".{min(max(0, 1 - math.floor(math.log10(std))), 5)}f"


def parameter_table(prior: str, folder: str, measured: bs.Record) -> list[str]:
    """Every parameter: the paper's, the measured record's, and the simulated robot's against its truth."""
    scores = {(line["method"], line["parameter"]): line for line in lines_of(folder, "scores.csv")}
    rows = ["| | paper | measured record, here | truth | simulated: mean | spread | mean z | coverage [%] |", "|" + "---|" * 8]
    for name, estimate in measured.estimates["classical"].items():
        printed = PRINTED.get(name, [])[:3] if prior == "good" else PRINTED.get(name, [])[3:]
        ours = [measured.estimates[method][name].value for method in METHODS]
        here = [scores[f"{prior}.{method}", name] for method in METHODS]
        form = digits(float(here[0]["std"]))
        cells = [name, " / ".join(printed), three(ours, digits(estimate.std)), format(float(here[0]["truth"]), form)]
        cells += [three([float(line["mean"]) for line in here], form), f"{float(here[0]['std']):.2g}"]
        cells += [three([float(line["z_mean"]) for line in here], "+.1f")]
        cells += [three([100 * float(line["coverage"]) for line in here], ".0f")]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def summary_table(folder: str) -> list[str]:
    """What all parameters of the simulated robot say together."""
    scores, details = lines_of(folder, "scores.csv"), lines_of(folder, "signal_scores.csv")
    means = {(line["method"], line["signal"]): float(line["mean"]) for line in details}
    names = {"relative error of the torque": "relative_error", "share of runs whose estimates are a physical robot's": "physical",
             "distance of the nearest physical robot [standard deviations in all]": "physical_distance"}  # fmt: skip
    rows = ["| simulated, good / poor | " + " | ".join(label for label, _ in METHODS.values()) + " |", "|" + "---|" * 4]
    for label, name in names.items():
        unit, form = ("", ".1f") if "distance" in name else (" %", ".1f" if name == "relative_error" else ".0f")
        factor = 100 if name == "physical" else 1
        cells = [three([factor * means[p, f"{name}({m})"] for p in ("good", "poor")], form) + unit for m in METHODS]
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    acts = {"rms of z over 61 parameters": rms_z, "coverage of 95 % intervals, mean": coverage, "least coverage": least,
            "biases beyond 3 standard errors of the mean": biases, "mean NEES (61 is due)": nees}  # fmt: skip
    for label, act in acts.items():
        cells = [" / ".join(act([s for s in scores if s["method"] == f"{p}.{m}"]) for p in ("good", "poor")) for m in METHODS]
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    return rows


def rms_z(lines: list[dict[str, str]]) -> str:
    return f"{math.sqrt(sum(float(s['z_mean']) ** 2 + float(s['z_std']) ** 2 for s in lines) / len(lines)):.2f}"


def coverage(lines: list[dict[str, str]]) -> str:
    return f"{100 * sum(float(s['coverage']) for s in lines) / len(lines):.1f} %"


def least(lines: list[dict[str, str]]) -> str:
    worst = min(lines, key=lambda s: float(s["coverage"]))
    return f"{100 * float(worst['coverage']):.0f} % ({worst['parameter']})"


def biases(lines: list[dict[str, str]]) -> str:
    return str(sum(abs(float(s["bias"])) > 3 * float(s["std"]) / math.sqrt(float(s["n"])) for s in lines))


def nees(lines: list[dict[str, str]]) -> str:
    return f"{float(lines[0]['nees']):.0f}"


def errors_table(records: dict[tuple[str, float], bs.Record], whole: str, rest: str) -> list[str]:
    """Relative errors with rows at rest and without, measured and simulated."""
    still = {(f"{s['method']}_still", s["signal"]): float(s["mean"]) for s in lines_of(whole, "signal_scores.csv")}
    simulated = still | {(s["method"], s["signal"]): float(s["mean"]) for s in lines_of(rest, "signal_scores.csv")}
    rows = [
        "| relative error of the torque [%] | measured, all rows | measured, without rest | simulated, all rows | without rest |"
    ]
    rows.append("|" + "---|" * 5)
    for prior, label in (("good", "good"), ("poor", "poor"), ("matched", "poor rows, 45 Hz for all")):
        cells = [
            three([records[prior, slow].estimates[m].details["relative_error"] for m in METHODS], ".2f") for slow in (0, 0.02)
        ]
        for name in (prior, f"{prior}_still"):
            cells.append(three([simulated[name, f"relative_error({m})"] for m in METHODS], ".2f"))
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    return rows


def draw_residuals(prior: str, record: bs.Record) -> None:
    """Figs. 2 and 3: autocorrelation of the residuals of each joint, after the parallel filter."""
    figure, axes = plt.subplots(6, 3, figsize=(8, 8), sharex=True, sharey=True, constrained_layout=True)
    for column, (name, (label, colour)) in enumerate(METHODS.items()):
        t, rows = (decimate(record[s], PRIORS[prior]["factor"], "matlab") for s in ("t", f"{name}.residual"))
        rows = rows[(t >= FITTED[0]) & (t <= FITTED[1])]
        for joint in range(6):
            e, axis = rows[:, joint], axes[joint, column]
            axis.bar(range(31), [e[k:] @ e[: len(e) - k] / (e @ e) for k in range(31)], color=colour)
            axis.axhspan(*np.array([-1.96, 1.96]) / np.sqrt(len(e)), color="0.85", zorder=0)
            axis.set_ylabel(f"joint {joint + 1}" if column == 0 else "")
        axes[0, column].set_title(label, fontsize=10)
    figure.suptitle(f"Autocorrelation of the residuals, {prior} knowledge, measured record", fontsize=11)
    figure.supxlabel("lag [rows]", fontsize=10)
    figure.savefig(IMAGES / f"tx40_residuals_{prior}.png", dpi=110)


def draw_torques(record: bs.Record) -> None:
    """Fig. 4: torques of all joints with poor knowledge."""
    figure, axes = plt.subplots(6, 3, figsize=(9, 11), sharex=True, sharey="row", constrained_layout=True)
    for column, (name, (label, colour)) in enumerate(METHODS.items()):
        t, tau, e = (decimate(record[s], 20, "matlab") for s in ("t", "torque", f"{name}.residual"))
        for joint in range(6):
            axis = axes[joint, column]
            axis.plot(t, tau[:, joint], color="0.7", lw=1.6, label="measured")
            axis.plot(t, tau[:, joint] - e[:, joint], color=colour, lw=0.6, label="model")
            axis.plot(t, e[:, joint], "k", lw=0.4, label="error")
            axis.set_ylabel(f"joint {joint + 1} [N m]" if column == 0 else "")
        axes[0, column].set(title=label, xlim=FITTED)
        axes[5, column].set_xlabel("time [s]")
    axes[0, 0].legend(ncols=3, fontsize=7, loc="lower right")
    figure.savefig(IMAGES / "tx40_torques.png", dpi=110)


def put(text: str, mark: str, rows: list[str]) -> str:
    """The page with the rows between two marks."""
    start, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    head, rest = text.split(start)
    return head + start + "\n" + "\n".join(rows) + "\n\n" + end + rest.split(end, 1)[1]


if __name__ == "__main__":
    whole, rest = sys.argv[1:3]
    records = {(p, s): bs.identify("brunot2017/tx40", params={**v, "slow": s}) for p, v in PRIORS.items() for s in (0, 0.02)}
    text = PAGE.read_text(encoding="utf-8")
    text = put(text, "errors", errors_table(records, whole, rest))
    text = put(text, "summary", summary_table(whole))
    for number, prior in (("1", "good"), ("3", "poor")):
        text = put(text, f"table {number}", parameter_table(prior, whole, records[prior, 0]))
        draw_residuals(prior, records[prior, 0])
    draw_torques(records["poor", 0])
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.name} and three figures")
