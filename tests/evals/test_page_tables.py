"""More tables of the pages beside what their commands give: fewer runs than the page has, and as much room as that asks for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from short_studies import lines, points, scores, short, study_path
from test_pages import DOCS, numbers, rounding, table

import blocksim as bs
from blocksim.studies.file import load_study

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Names of the rows and columns of the thesis' tables in their studies.
TORQUES = {
    "u_slump": "u_slump", "levels 0.2": "levels_low", "levels 1,": "levels_high", "u_sin": "u_sin", "u_bin": "u_bin",
    "u_multisine": "u_multisine", "0.1 - 10 Hz": "multisine_low", "3 - 25 Hz": "multisine_high",
}  # fmt: skip
HYSTERESIS = {
    "printed, 0": "printed", "printed, half": "half", "scaled, 0": "scaled_0", "scaled, half": "scaled", "tuned, half": "tuned",
    "followed, half": "followed", "followed, 0": "zero",
}  # fmt: skip


def near(value, printed, room):
    """Whether a root mean square of a few runs can be the printed one: within a factor, or its last digit."""
    return printed / room - 0.01 <= value <= printed * room + 0.01 or abs(value - printed) < 0.02


def check_thesis(study, names, columns, inputs, repeat, room):
    """Root mean square errors of a study of the thesis beside its table: cells 'Fv / Fc' by torque and method."""
    page = table("thesis", "torque", *list(columns)[:2], first={"friction": 0, "stiffness": 1, "hysteresis": 0}[study])
    labels = next(iter(columns)), len(columns)
    found = scores(
        short(f"thesis/{study}", tuple(columns.values()), repeat=repeat, zip=points(f"thesis/{study}", input=inputs)), "input"
    )
    for label, cells in page.items():
        kind = next(value for start, value in TORQUES.items() if label.startswith(start))
        for method, cell in zip(columns.values(), cells[: labels[1]], strict=True):
            lost = found.get((method, names[0], kind))
            if kind not in inputs:
                continue
            if "diverge" in cell:
                assert lost["n"] == 0 or lost["failures"], (label, method)
                continue
            for name, printed in zip(names, numbers(cell)[:2], strict=True):
                value = found[method, name, kind]["rmse_percent"]
                assert near(value, printed, room), (label, method, name, value, printed)
        for name, printed in zip(names, numbers(cells[-1])[:2], strict=True):
            if kind in inputs:
                line = found[list(columns.values())[-1], name, kind]  # the first ones may have diverged
                assert near(100 * line["crb_std"] / line["truth"], printed, 1.2) or not line["crb_std"], (label, name)


@pytest.mark.slow
def test_friction_of_the_thesis():
    columns = {name: name for name in ("printed", "tuned", "followed", "half")}
    check_thesis("friction", ("Fv", "Fc"), columns, ("levels_high", "u_sin", "multisine_low"), 4, 2.2)


@pytest.mark.slow
def test_stiffness_of_the_thesis():
    columns = {name: name for name in ("printed", "tuned", "followed", "half")}
    check_thesis("stiffness", ("k1", "k3"), columns, ("u_bin", "multisine_low"), 4, 2.2)


@pytest.mark.slow
def test_hysteresis_of_the_thesis():
    check_thesis("hysteresis", ("alpha", "A"), HYSTERESIS, ("u_bin", "multisine_high"), 4, 2.2)


@pytest.mark.slow
def test_backlash_of_the_thesis():
    page = table("thesis", "noise", "bias", "spread")
    found = scores(short("thesis/backlash", ("newton", "gradient"), repeat=8), "noise")
    for label, cells in page.items():
        noise = numbers(label)[0]
        for method in ("newton", "gradient"):
            line = found[method, "q", noise]
            spread, own = numbers(cells[1])[0], numbers(cells[2])[0]
            assert abs(line["bias_percent"]) < 4 * spread / 8**0.5 and 0.5 * spread < line["std_percent"] < 1.7 * spread
            assert 100 * line["claimed_std"] / line["truth"] == pytest.approx(own, rel=0.05)


def test_rigid_body_of_the_thesis():
    page = table("thesis", "", "truth", "found", "error")
    for entry, (_, cells) in zip(bs.simulate("thesis/rigid").estimates["ls"].values(), page.items(), strict=True):
        value, std = numbers(cells[1])
        assert entry.value == pytest.approx(value, abs=rounding(cells[1].split(" ")[0]) * 1.01) and entry.std == pytest.approx(
            std, rel=0.3
        )


def test_readings_of_the_response_of_the_thesis():
    """(6.7) by hand: Jm from the top of the band, Ja from the rigid body, k1 from the notch."""
    text = (DOCS / "thesis.md").read_text(encoding="utf-8").replace("\n", " ")
    axis = load_study(study_path("thesis/starting_values")).diagram
    details = bs.simulate(axis, params={"peak": 1, "noise": 0.0034}).estimates["response"].details
    Jm, r = details["relations"]["Jm"], details["r"]
    Ja = (bs.simulate("thesis/rigid").estimates["ls"]["J"].value - Jm) / r**2
    errors = [100 * (v / truth - 1) for v, truth in ((Jm, 1.21e-2), (Ja, 1.13e3), (Ja * details["notch"] ** 2, 1.46e6))]
    printed = re.search(r"that is Jm (\S+), Ja (\S+) and k1 (\S+) %", text)
    assert errors == pytest.approx([float(number) for number in printed.groups()], abs=0.15)
    low = [100 * (details["relations"][name] / truth - 1) for name, truth in (("Ja", 1.13e3), ("k1", 1.46e6))]
    assert low == pytest.approx([-33, -33], abs=1)


def test_mean_springs_of_the_thesis():
    page, estimates = table("thesis", "", "k1", "k3"), bs.simulate("thesis/mean_spring").estimates
    for cells, block in zip(page.values(), ("spring", "fair"), strict=True):
        for entry, cell in zip(estimates[block].values(), cells, strict=True):
            assert 100 * entry.relative_error == pytest.approx(numbers(cell)[0], abs=0.51), (block, entry.name)
    text = (DOCS / "thesis.md").read_text(encoding="utf-8")
    for block in ("few", "much"):
        assert f"{estimates[block]['k1'].value / 1e6:.3f}e6" in text, block


def test_the_locked_arm_of_the_thesis():
    text = (DOCS / "thesis.md").read_text(encoding="utf-8")
    entries = list(bs.simulate("thesis/arm_locked").estimates["cloe"].values())
    assert f"to 0.01 % (z {entries[0].z:.1f} and {entries[1].z:.1f})" in text
    assert max(abs(entry.relative_error) for entry in entries) < 1e-4


@pytest.mark.slow
def test_three_masses_of_the_thesis():
    text = (DOCS / "thesis.md").read_text(encoding="utf-8")
    found = bs.simulate("thesis/three_mass_search").estimates["hybrid"]
    printed = dict(re.findall(r"(k2|Jg|d2) to ([0-9.]+) %", text))
    assert max(abs(entry.z) for entry in found.values()) < 2.05
    for name, percent in printed.items():
        claimed = 100 * found[name].std / abs(found[name].truth)
        assert min(claimed, 100 * abs(found[name].relative_error)) <= 1.1 * float(percent), name


def test_conditions_of_gautier():
    text = (DOCS / "gautier2001.md").read_text(encoding="utf-8").replace("\n", " ")
    details = {name: own.details for name, own in bs.simulate("gautier2001/wls").estimates.items()}
    pairs = [f"{details[n]['condition']:.0f} and {details[n]['relative_condition']:.0f}" for n in ("moving", "full", "essential")]
    assert f"{pairs[0]} for `moving`, {pairs[1]} for `full`" in text and f"they are {pairs[2]}." in text


def test_relative_standard_deviations_of_gautier():
    """One run each, as the page's commands have it: printed to two digits."""
    white = {f"{pipeline}.errors": "white" for pipeline in ("unfiltered", "forward", "full")}
    found = bs.simulate("gautier2001/wls", params=white).estimates
    columns = {1: found["unfiltered"], 3: found["forward"], 5: found["full"]}
    compare_percents(table("gautier2001", "(10), % of the estimate"), columns)
    runs = [bs.simulate(f"gautier2001/ekf_case{case}", params={"encoder.noise_std": 1}).estimates for case in (2, 3)]
    columns = {1: runs[0]["ekf"], 3: runs[1]["ekf"], 5: runs[0]["rls"]}
    compare_percents(table("gautier2001", "% of the estimate", "EKF (2): paper"), columns)


def compare_percents(page, columns):
    for name, cells in page.items():
        for column, estimates in columns.items():
            percent = 100 * estimates[name].std / abs(estimates[name].value)
            assert percent == pytest.approx(float(cells[column]), rel=0.06), (name, column, percent)


def test_spectral_radii_of_tout(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from tout_radius import radius

    page = table("tout2022", "sigma_w2", "factor 0.3", "0.7", "1", "1.3", "2")
    for sigma_w2, label, columns in ((1e-4, "1e-4", (1, 3)), (0.01, "0.01", (0, 4)), (1, "1", (2,))):
        for column in columns:
            cell = page[label][column]
            value = radius((0.3, 0.7, 1, 1.3, 2)[column], sigma_w2)
            assert value == pytest.approx(float(cell), abs=1.1 * rounding(cell)), (label, column)


@pytest.mark.slow
def test_starts_of_tout():
    page = table("tout2022", "start of Method 5", "factor 0.3")
    found = scores(short("tout2022/starts"), "factor", "sigma_w2")
    for (label, cells), start in zip(page.items(), ("truth", "filter", "most", "half"), strict=True):
        settled = [
            sum(line["n"] for (method, name, own, _), line in found.items() if (method, name, own) == (start, "J", factor))
            for factor in (0.3, 0.7, 1.0, 1.3, 2.0)
        ]
        assert [*settled, sum(settled)] == [int(cell) for cell in cells], label


@pytest.mark.slow
def test_figure_8_of_tout():
    page = table("tout2022", "factor", "Method 1", "2", "3", "4", "5")
    shares = {}
    for study in ("fig8_beside", "fig8_in_loop"):
        sizes = {(line["factor"], line["signal"]): line["value"] for line in lines(short(f"tout2022/{study}").signals)}
        for (factor, signal), size in sizes.items():
            if "residual" in signal:
                shares[factor, int(signal[len("rms(method")])] = 100 * size / sizes[factor, "rms(pid)"]
    for label, cells in page.items():
        for number, cell in enumerate(cells, 1):
            share = shares[float(label), number]
            assert share == pytest.approx(100.0) if cell == "diverged" else share == pytest.approx(float(cell), abs=0.06)


@pytest.mark.slow
def test_conditions_of_tout():
    page = table("tout2022", "", "Method 1", "Method 3, factor 0.7")
    found = scores(short("tout2022/conditions"), "factor")
    places = ("slow", "fast", "fine", "sticking", "heavy")
    for place, cells in zip(places, page.values(), strict=True):
        columns = (("method1", 0.7), ("method3", 0.7), ("method3", 1), ("method2", 0.7))
        for (method, factor), cell in zip(columns, cells, strict=True):
            for name, printed in zip(("Fv", "Fc", "Ms"), cell.split(","), strict=True):
                value = found[f"{place}.{method}", name, factor]["bias_percent"]
                assert value == pytest.approx(float(printed), abs=1.1 * rounding(printed.strip())), (place, method, name)


@pytest.mark.slow
def test_bandwidths_of_brunot():
    page = table("brunot2017", "bias of J [%] at f [Hz]")
    found = scores(short("brunot2017/bandwidth", repeat=4, sweep={"f": [7, 40, 120, 300]}), "f")
    for label, method in (("Classical", "classical"), ("IRWSM 1", "irwsm1"), ("IRWSM 2", "irwsm2")):
        for f, column in ((7, 1), (40, 4), (120, 6), (300, 8)):
            room = 3 * 1.5 / 4**0.5  # of a spread of 1.5 %
            assert found[method, "J", f]["bias_percent"] == pytest.approx(float(page[label][column]), abs=room)


@pytest.mark.slow
def test_rows_at_rest_of_brunot():
    page = table("brunot2017", "bias of Fc, all rows")
    found = scores(short("brunot2017/slow_rows", repeat=3, sweep={"slow": [0, 0.01], "factor": [20, 200]}), "slow", "factor")
    for joint in (1, 2):
        for factor, column in ((20, 0), (200, 2)):
            value = found[f"joint{joint}", "Fc", 0, factor]["bias_percent"]
            assert value == pytest.approx(numbers(page[f"joint {joint}"][column])[0], abs=9)


@pytest.mark.slow
def test_standard_deviations_of_gautier():
    page = table("gautier2001", "one row in 5", "ZZR1")
    found = scores(short("gautier2001/std", repeat=30, sweep={"factor": [5]}))
    for kind, label in (("white", "(10)"), ("coloured", "corrected")):
        for name, cell in zip(
            ("ZZR1", "Fv1", "Fs1", "ZZ2", "LMX2", "LMY2", "Fv2", "Fs2"), page[f"{label}: claimed / spread"], strict=True
        ):
            line = found[kind, name]
            assert line["claimed_std"] / line["std"] == pytest.approx(float(cell), rel=0.5), (kind, name)


@pytest.mark.slow
def test_the_chain_of_the_thesis():
    page = table("thesis", "", "start of `cloe`", "`cloe`: spread")
    found = scores(short("thesis/chain", repeat=5))
    for name, cells in page.items():
        line = found["hybrid", name]
        assert abs(line["bias_percent"]) < 4 * numbers(cells[2])[1] / 5**0.5 + 0.01
        assert 100 * line["claimed_std"] / line["truth"] == pytest.approx(numbers(cells[3])[0], rel=0.35, abs=0.002)


@pytest.mark.slow
def test_five_methods_on_one_loop():
    page = table("identification", "error in %, mean ± spread of one run")
    found = scores(short("one_dof/methods", repeat=12, collect=["raw", "ls", "iv", "didim", "cloe"]))
    for label, cells in page.items():
        for name, cell in zip(("J", "Fv", "Fc", "Ms"), cells, strict=False):
            mean, spread = numbers(cell.replace("±", " "))
            line = found[label.split("`")[1], name]
            assert line["bias_percent"] == pytest.approx(mean, abs=4 * spread / 12**0.5 + 0.02), (label, name)


@pytest.mark.slow
def test_putting_the_result_back_of_tout(tmp_path):
    page = table("tout2022", "error in %", "J", "Fv", "Fc", "Ms", first=1)
    printed = subprocess.run(
        [sys.executable, EXAMPLES / "tout_methods.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    ends = [numbers(line.partition(":")[2])[-4:] for line in printed.stdout.splitlines() if "%" in line]
    for cells in page.values():
        expected = [float(cell) for cell in cells]
        assert any(len(end) == 4 and np.allclose(end, expected, atol=0.6) for end in ends), expected


def test_the_first_fit_of_a_reader(tmp_path):
    page = (DOCS / "getting-started.md").read_text(encoding="utf-8")
    text = next(part for part in re.findall(r"```yaml\n(.*?)```", page, re.S) if "CLOE" in part)
    printed = re.search(r"```\n(fit: CLOE.*?)```", page, re.S)[1]
    estimates = bs.simulate(text).estimates["fit"]
    for name, entry in estimates.items():
        value, std = re.search(rf"^{name} +(\S+) +(\S+)", printed, re.M).groups()
        assert entry.value == pytest.approx(float(value), rel=2e-5) and entry.std == pytest.approx(float(std), rel=0.05)
        assert abs(entry.z) < 2
    bs.simulate(text, params={"tank.T": 7}, seed=5).save(str(tmp_path / "record.npz"))
    found = bs.identify(text, str(tmp_path / "record.npz")).estimates["fit"]["T"]
    value, std = re.search(r"T = (\S+) ± (\S+):", page).groups()
    assert found.value == pytest.approx(float(value), abs=1e-3) and found.std == pytest.approx(float(std), rel=0.05)
    assert abs(found.value - 7) < 2 * found.std
