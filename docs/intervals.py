"""The tables of intervals and bounds in docs/identification.md: runs the studies of diagrams/intervals and writes what they say.

python docs/intervals.py                    # all four, 500 runs of each noise, in the folder intervals; an hour of one core
python docs/intervals.py --repeat 10 joint  # some of them, fewer runs. Stopped, it goes on where it was when repeated
python docs/intervals.py --only didim iv    # some identifiers: the quick ones may have more runs than the others
python docs/intervals.py --read intervals   # the tables of what is there, finished or not

Runs are made in parts of ten, each a study of its own with the next seed, one part of every study after the other: a stop at any
time leaves whole parts, and as many of each.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import blocksim as bs
from blocksim.diagram.files import bundled_root
from blocksim.studies.file import load_study, parse_study, study_yaml

PAGE = Path(__file__).parent / "identification.md"
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
    "hybrid": "RPEMHybrid", "open": "CLOE, readings",
}  # fmt: skip
#: Of each loop: plant, what drives it and what is read of it, the noise of that, the ripple of its torque.
LOOPS: dict[str, tuple[str, str, str, float, tuple[float, ...]]] = {
    "joint": ("joint", "pid", "joint.q", 2e-4, (0.1,)),
    "scara": ("robot", "pd", "robot.q", 1e-4, (0.5, 0.05)),
    "two_mass": ("robot", "u", "robot.w_m", 0.18, ()),
}
#: The sensor of each loop, for a CLOE whose twin takes its readings from the record.
SENSORS = {"joint": "encoder", "scara": "encoder", "two_mass": "y"}
BIASED = 0.5  # of the spread of one run: a cell with more is marked
PART = 10  # runs


def run(name: str, out: Path, part: int, jobs: int | None, only: Sequence[str] = ()) -> None:
    """One part of a study; with `only` some identifiers, in parts that have their names."""
    path = bundled_root() / "intervals" / "studies" / f"{name}.yaml"
    plain = dict(load_study(path).plain)
    if only:
        plain["diagram"] = with_only(Path(plain["diagram"]).name, only)
        plain["collect"] = [block for block in only if f"\n  {block}:" in plain["diagram"]]
        if (out / name / f"{part:03d}" / "estimates.csv").is_file():
            return  # the same runs are there already, with all identifiers
    own = {**plain, "repeat": PART, "seed": plain["seed"] + part}
    folder = out / name / "-".join([f"{part:03d}", *only])
    bs.run_study(parse_study(study_yaml(own), str(path)), out=folder, resume=True, report=False, jobs=jobs)


def diagram_of(name: str) -> dict[str, Any]:
    plain: dict[str, Any] = yaml.safe_load((bundled_root() / "intervals" / f"{name}.yaml").read_text(encoding="utf-8"))
    return plain


def with_only(name: str, kept: Sequence[str], more: Mapping[str, Any] | None = None) -> str:
    """The text of a loop's diagram with some of its identifiers, and others beside them."""
    plain = diagram_of(name)
    blocks = {n: own for n, own in plain["blocks"].items() if n in kept or not {"model", "parameters"} & set(own)}
    return yaml.safe_dump({**plain, "blocks": {**blocks, **(more or {})}}, sort_keys=False)


def run_readings(name: str, out: Path, part: int, jobs: int | None) -> None:
    """Encoder noise alone, and after CLOE another one whose twin takes the sensor's readings from the record."""
    _, _, output, std, _ = LOOPS[name]
    sought = dict.fromkeys(diagram_of(name)["blocks"]["cloe"]["parameters"], "cloe")
    sensor = SENSORS[name]
    block = {"type": "CLOE", "parameters": sought, "output": output, "readings": [sensor], "in": sensor}
    plain = {"format": 1, "study": "CLOE with readings", "diagram": with_only(name, ["cloe"], {"open": block}), "repeat": PART,
             "methods": {"noise": {"params": {"shake": std}}}, "collect": ["cloe", "open"]}  # fmt: skip
    own = parse_study(study_yaml({**plain, "seed": 9026 + part}), "")
    bs.run_study(own, out=out / f"{name}_readings" / f"{part:03d}", resume=True, report=False, jobs=jobs)


@dataclass(frozen=True)
class Tally:
    """What a method found of one parameter in all runs that ended: errors, standard deviations, intervals that held, NEES."""

    error: np.ndarray
    std: np.ndarray
    held: np.ndarray
    nees: np.ndarray

    @property
    def z(self) -> float:
        return float(np.std(self.error / self.std, ddof=1))

    @property
    def spread(self) -> float:
        return float(np.std(self.error, ddof=1))

    @property
    def biased(self) -> bool:
        return bool(abs(np.mean(self.error)) > BIASED * self.spread)


def tallies(folder: Path) -> dict[tuple[str, str], Tally]:
    """By method and parameter, from all parts that are finished."""
    lines: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for path in sorted(folder.glob("*/estimates.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                error, std, low, high, truth, nees = (number(line[n]) for n in ("error", "std", "low", "high", "truth", "nees"))
                if line["converged"] == "True" and std > 0 and math.isfinite(error):
                    lines.setdefault((line["method"], line["parameter"]), []).append((error, std, low <= truth <= high, nees))
    return {key: Tally(*np.array(rows, dtype=float).T) for key, rows in lines.items()}


def number(text: str) -> float:
    return float(text) if text else math.nan


def cell(table: list[Tally], runs: int) -> str:
    """'96 % · 0.9 to 1.1 · 3.9/4': intervals that hold, z from parameter to parameter, NEES; with a star where it is biased."""
    if not table:
        return ""
    held = 100 * float(np.mean([tally.held.mean() for tally in table]))
    z = sorted(tally.z for tally in table)
    star = "*" if any(tally.biased for tally in table) else ""
    fewer = f" ({len(table[0].error)})" if len(table[0].error) < runs else ""
    nees = float(np.nanmean(table[0].nees))
    return f"{held:.0f} %{star}{fewer} · {z[0]:.1f} to {z[-1]:.1f} · {nees:.1f}/{len(table)}"


def table_of(folder: Path) -> Iterator[str]:
    """A row for each identifier of each study that is there."""
    yield "| loop, runs | identifier | " + " | ".join(NOISES.values()) + " |"
    yield "|---" * (2 + len(NOISES)) + "|"
    for name, title in STUDIES.items():
        found = tallies(folder / name)
        runs = max((len(tally.error) for tally in found.values()), default=0)
        head = f"{title}, {runs}"
        for block, words in BLOCKS.items():
            cells = [cell([t for (m, _), t in found.items() if m == f"{noise}.{block}"], runs) for noise in NOISES]
            if any(cells):
                yield f"| {head} | {words} | " + " | ".join(cells) + " |"
                head = ""


def summary(folder: Path) -> str:
    """What the words under the table say: of cells without a star, but for rounding alone, and of all their parameters."""
    held, z = [], []
    for name in STUDIES:
        found = tallies(folder / name)
        for method in {m for m, _ in found if not m.startswith("steps.")}:
            table = [tally for (m, _), tally in found.items() if m == method]
            if not any(tally.biased for tally in table):
                held.append(round(100 * float(np.mean([tally.held.mean() for tally in table]))))
                z += [tally.z for tally in table]
    cells, spreads = np.array(held), np.array(z)
    within, beyond = (spreads >= 0.9) & (spreads <= 1.1), spreads > 1.1
    inside, above, below = np.sum((cells >= 93) & (cells <= 97)), np.sum(cells > 97), np.sum(cells < 93)
    return (
        f"{len(cells)} cells of noise, ripple and all three have no star: {inside} are within 93 to 97 %, {above} above, {below} "
        f"below; z of their parameters has a root mean square of {np.sqrt(np.mean(spreads**2)):.2f}, {100 * within.mean():.0f} % "
        f"are within 0.9 to 1.1, {100 * beyond.mean():.0f} % above"
    )


# ---- bounds -------------------------------------------------------------------------------------------------------------


def bounds(name: str, noise: str) -> dict[str, float]:
    """The Cramer-Rao bound by parameter: of an encoder's noise under the torque as it was, or of ripple along the true motion."""
    plant, drive, output, std, ripple = LOOPS[name]
    plain = diagram_of(name)
    kept = {n: own for n, own in plain["blocks"].items() if not {"model", "parameters"} & set(own)}
    text = {**plain, "blocks": kept}
    numbers = plain["blocks"]["cloe"]["parameters"]
    if noise == "noise":
        result = bs.information(yaml.safe_dump(text, sort_keys=False), list(numbers), [output], std, [drive])
        return {path.rpartition(".")[2]: value for path, value in result.std.items()}
    motion = {n: f"{plant}.{n}" for n in ("q", "qd", "qdd")}
    kept["drive"] = {"type": "Gain", "k": 1, "in": drive}  # the motion without ripple, which is then added to what is read
    kept["noisy"] = {"type": "Sum", "in": [drive, "push"]}
    kept["exact"] = {"type": "LeastSquares", "model": plant, "errors": "white", "skip": 0.5, "in": {**motion, "tau": "noisy"}}
    text["log"] = [*motion.values(), "noisy"]
    quiet = {"shake": 0.0, "ripple": ripple[-1]}
    estimates = bs.simulate(yaml.safe_dump(text, sort_keys=False), params=quiet).estimates["exact"]
    return {entry.name: entry.std for entry in estimates.values()}


def readings_of(folder: Path, name: str) -> dict[tuple[str, str], Tally]:
    return {key: tally for key, tally in tallies(folder / f"{name}_readings").items() if key[0] == "noise.open"}


def bound_table(folder: Path) -> Iterator[str]:
    """Spread over bound, from the best to the worst parameter, by loop and noise."""
    columns = [(name, noise) for name, loop in LOOPS.items() for noise in ("noise", "ripple") if noise == "noise" or loop[4]]
    found = {name: {**tallies(folder / name), **readings_of(folder, name)} for name in LOOPS}
    table = {column: bounds(*column) for column in columns if found[column[0]]}
    yield "| spread / bound | " + " | ".join(f"{STUDIES[n].partition(',')[0]}, {noise}" for n, noise in table) + " |"
    yield "|---" * (1 + len(table)) + "|"
    for block in ("didim", "didim_slow", "cloe", "cloe_q", "open", "oe", "hybrid"):
        cells = []
        for (name, noise), bound in table.items():
            own = {p: t for (m, p), t in found[name].items() if m == f"{noise}.{block}"}
            ratios = sorted(tally.spread / bound[p] for p, tally in own.items())
            cells.append(" to ".join(f"{r:.2f}" if r < 10 else f"{r:.0f}" for r in (ratios[0], ratios[-1])) if ratios else "")
        yield f"| {BLOCKS[block]} | " + " | ".join(cells) + " |"


def write(mark: str, body: str) -> None:
    """A table into its place on the page."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{head}{begin}\n{body}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
    print(body, end="\n\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", default=list(STUDIES), help="which; all unless said")
    parser.add_argument("--out", type=Path, default=Path("intervals"))
    parser.add_argument("--read", type=Path, help="run nothing, read this folder")
    parser.add_argument("--repeat", type=int, default=500, help="runs of each noise")
    parser.add_argument("--jobs", type=int, help="processes; one for each core unless said")
    parser.add_argument("--only", nargs="*", default=[], help="identifiers by their block; all unless said")
    asked: Any = parser.parse_args()
    parts = 0 if asked.read else math.ceil(asked.repeat / PART)
    for part, name in itertools.product(range(parts), asked.studies):
        run(name, asked.out, part, asked.jobs, asked.only)
        if name in SENSORS and (not asked.only or "open" in asked.only):
            run_readings(name, asked.out, part, asked.jobs)
    folder = asked.read or asked.out
    write("intervals", "\n".join(table_of(folder)))
    write("bounds", "\n".join(bound_table(folder)))
    print(summary(folder))


if __name__ == "__main__":
    main()
