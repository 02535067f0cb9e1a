"""The table of intervals in docs/identification.md: runs the studies of diagrams/intervals and writes what their scores say.

python docs/intervals.py                    # all four, in the folder intervals; some hours on one core
python docs/intervals.py --repeat 10 joint  # some of them, fewer runs; repeated with --resume it goes on where it was stopped
python docs/intervals.py --read intervals   # the table again, of folders that are there
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import blocksim as bs
from blocksim.diagram.files import bundled_root
from blocksim.studies.file import load_study, parse_study, study_yaml

PAGE = Path(__file__).parent / "identification.md"
BEGIN, END = "<!-- intervals: begin -->", "<!-- intervals: end -->"
STUDIES = {
    "joint": "joint, 1 kHz, 8 s",
    "joint_long": "joint, 1 kHz, 48 s",
    "scara": "SCARA, 500 Hz, 16 s",
    "two_mass": "two masses, 500 Hz, 20 s",
}
NOISES = {"noise": "noise", "steps": "steps", "ripple": "ripple", "both": "all three"}
BLOCKS = {
    "ls": "LeastSquares", "ls_slow": "LeastSquares, 25 Hz",
    "iv": "InstrumentalVariable", "iv_slow": "InstrumentalVariable, 25 Hz",
    "didim": "DIDIM", "didim_slow": "DIDIM, 25 Hz", "cloe": "CLOE", "cloe_q": "CLOE of the angle", "oe": "OutputError",
    "hybrid": "RPEMHybrid",
}  # fmt: skip
BIASED = 0.5  # of the spread of one run: a cell with more is marked


def run(name: str, out: Path, repeat: int | None, resume: bool) -> None:
    """One of the studies, into its folder."""
    path = bundled_root() / "intervals" / "studies" / f"{name}.yaml"
    plain = dict(load_study(path).plain)
    if repeat:
        plain["repeat"] = repeat
    bs.run_study(parse_study(study_yaml(plain), str(path)), out=out / name, resume=resume, report=False)


def scores_of(folder: Path) -> list[dict[str, Any]]:
    import csv

    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float:
    return float(text) if text else math.nan


def cell(lines: Iterable[Mapping[str, str]]) -> str:
    """'96 % · 0.9 to 1.1 · 3.9/4': intervals that hold, z from parameter to parameter, NEES; with a star where it is biased."""
    table = list(lines)
    if not table:
        return ""
    held = 100 * sum(number(line["coverage"]) for line in table) / len(table)
    z = sorted(number(line["z_std"]) for line in table)
    star = "*" if any(abs(number(line["bias"])) > BIASED * number(line["std"]) for line in table) else ""
    return (
        f"{held:.0f} %{star} · {z[0]:.1f} to {z[-1]:.1f} · {number(table[0]['nees']):.1f}/{number(table[0]['nees_expected']):.0f}"
    )


def table_of(folder: Path) -> list[str]:
    """A row for each identifier of each study that is there."""
    lines = ["| loop, runs | identifier | " + " | ".join(NOISES.values()) + " |", "|---" * (2 + len(NOISES)) + "|"]
    for name, title in STUDIES.items():
        if not (folder / name / "scores.csv").exists():
            continue
        scores = scores_of(folder / name)
        runs = json.loads((folder / name / "study.json").read_text(encoding="utf-8")).get("repeat") or scores[0]["n"]
        for block, words in BLOCKS.items():
            cells = [cell(line for line in scores if line["method"] == f"{noise}.{block}") for noise in NOISES]
            if any(cells):
                lines.append(f"| {title}, {runs} | {words} | " + " | ".join(cells) + " |")
                title, runs = "", ""
    return [line.replace("| ,  |", "|  |") for line in lines]


def bounds_of(folder: Path) -> list[str]:
    """Spread over the Cramer-Rao bound, where a study has one."""
    lines = []
    for name in STUDIES:
        path = folder / name / "scores.csv"
        for noise in NOISES if path.exists() else ():
            for block, words in BLOCKS.items():
                ratios = [number(s["crb_ratio"]) for s in scores_of(folder / name) if s["method"] == f"{noise}.{block}"]
                ratios = [r for r in ratios if math.isfinite(r)]
                if ratios and noise == "noise":
                    lines.append(f"{STUDIES[name]}, {words}: {min(ratios):.2f} to {max(ratios):.2f}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", default=list(STUDIES), help="which; all unless said")
    parser.add_argument("--out", type=Path, default=Path("intervals"))
    parser.add_argument("--read", type=Path, help="run nothing, read this folder")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--resume", action="store_true")
    asked = parser.parse_args()
    for name in [] if asked.read else asked.studies:
        run(name, asked.out, asked.repeat, asked.resume)
    folder = asked.read or asked.out
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    body = "\n".join(table_of(folder))
    PAGE.write_text(f"{head}{BEGIN}\n{body}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(body, *bounds_of(folder), sep="\n")


if __name__ == "__main__":
    main()
