"""How fast is it? Ratios to hand-written C, measured in one run: python benchmarks/run.py [--quick] [--only a,b]."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import batches
import calls
import cases
import identify
import million
import native
import starting
import study
from measure import Row, compiled, cores, interleaved, program_alone, timed
from peer_rows import disagreement, peer_rows  # noqa: F401

import blocksim as bs
from blocks.smoothing.irw import IRWSmoother, passes

#: Why a bar is missed, where it is.
WHY = {
    "a": "calls inside the compiled program, and what it counts and checks at every step",
    "b": "look at the load of the machine first: Python around a run takes a tenth of a millisecond",
    "c": "long chains are vectorised; 10 blocks are not, and one alone takes half as long a step: stages wait for each other",
    "d": "look at the load of the machine first: C's threads and ours want the same cores",
    "e": "what is imported, and the program compiled or loaded",
    "g": "the filter's matrices are written out, and checks at every step are a tenth",
    "f": "six arrays are written where filtfilt writes one",
    "h": "starting processes and importing what they need; covariances from spectra, which by hand are white",
    "i": "beside its simulations it has least squares, and standard deviations from a spectrum",
    "j": "reading the file again to see whether it changed, and making a Record",
    "k": "most of it are eleven elementary functions of our own a step; logs that are kept add a quarter",
    "l": "what is generated and compiled",
    "m": "what is kept of each run",
}


def case_a(quick: bool) -> list[Row]:
    """The two-mass robot, open loop: as published, with every effect it has, with effects that make events."""
    stop, repeats, rows = (2.0, 3, []) if quick else (20.0, 150, [])
    for text, solver, effects in (
        ("two-mass robot, rk4 1 ms", "rk4", {}),
        ("two-mass robot, dopri5 1e-6", "dopri5", {}),
        ("two-mass robot, every nonlinearity on, rk4 1 ms", "rk4", cases.EFFECTS),
    ):
        ready = cases.two_mass(solver, stop, **effects, backlash="elasto")
        spent = compiled(ready)
        timers = [
            native.seconds(lambda s=solver, e=effects: native.two_mass(s, stop, **e)),
            program_alone(ready),
            timed(lambda r=ready: bs.simulate(r)),
        ]
        c, alone, whole = interleaved(timers, repeats)
        note = "the first line's program with other numbers" if effects else f"compiled in {spent:.1f} s"
        rows += [Row("a", text, c, alone, note, 1.5), Row("a", "  the whole simulate()", c, whole)]
        if solver == "rk4" and not effects:
            rows += peer_rows("a", c, stop)
    dry = cases.two_mass("rk4", stop, **cases.EFFECTS, friction="sign")
    compiled(dry)
    smooth, located = interleaved([program_alone(ready), program_alone(dry)], repeats)
    note = f"{bs.simulate(dry).provenance['work']['events']} events located; no C"
    return [*rows, Row("a", "  dry friction and backlash that jump, to the smooth", smooth, located, note)]


def case_b(quick: bool) -> list[Row]:
    """1 kHz PID on a quantised encoder."""
    stop = 1.0 if quick else 10.0
    ready = cases.servo(stop)
    spent = compiled(ready)
    timers = [native.seconds(lambda: native.servo(stop)), program_alone(ready), timed(lambda: bs.simulate(ready))]
    c, alone, whole = interleaved(timers, 5 if quick else 40)
    first = Row("b", "1 kHz PID, quantised encoder", c, alone, f"compiled in {spent:.1f} s", 1.5)
    return [first, Row("b", "  the whole simulate(), prepared", c, whole, bar=1.2), *peer_rows("b", c, stop)]


def case_c(quick: bool) -> list[Row]:
    """Lags in a row, in seconds per block and step; then blocks of several kinds."""
    stop, rows, costs, spent = 1.0 if quick else 10.0, [], {}, 0.0
    for lags in (10, 100) if quick else (10, 100, 1000):
        ready = cases.chain(lags, stop)
        spent = compiled(ready)
        c, alone = interleaved(
            [native.seconds(lambda n=lags: native.chain(n, stop)), program_alone(ready)], 4 if lags == 1000 else 12
        )
        work = lags * round(1000 * stop)
        costs[lags] = alone / work
        rows.append(Row("c", f"{lags} lags, per block and step", c / work, alone / work, f"compiled in {spent:.1f} s"))
    spread = max(costs.values()) / min(costs.values())
    text = f"  cost per block, {min(costs)} to {max(costs)}"
    rows.append(Row("c", text, note=f"largest over smallest {spread:.2f}", met=spread <= 2.0, bar_text="<= 2"))
    many = 100 if quick else 1000
    rows.append(Row("c", f"  cold compile, {max(costs)} lags", note=f"{spent:.1f} s", met=spent < 60.0, bar_text="< 60 s"))
    ready = cases.mixed(many, stop)
    spent = compiled(ready)
    (alone,) = interleaved([program_alone(ready)], 3)
    note = f"{spent:.1f} s; then {1e9 * alone / many / round(1000 * stop):.1f} ns per block and step"
    rows.append(Row("c", f"  cold compile, {many} blocks of 4 kinds", note=note, met=spent < 60.0, bar_text="< 60 s"))
    return rows


def case_f(quick: bool) -> list[Row]:
    """A long record smoothed by the whole block, in units of scipy's filtfilt of the same order and cutoff on the same data."""
    from scipy.signal import butter, filtfilt

    samples, repeats, rows = (100_000, 3, []) if quick else (1_000_000, 15, [])
    t, y, holed = cases.noisy(samples)
    for order in (2, 3):
        block = IRWSmoother(order=order, bandwidth=cases.CUTOFF)
        begun = time.perf_counter()
        passes(order, compiled=True)
        spent = time.perf_counter() - begun
        b, a = butter(order, 2 * cases.CUTOFF * t[1])
        unit, taken, bridged = interleaved(
            [
                timed(lambda b=b, a=a: filtfilt(b, a, y)),
                timed(lambda block=block: block.process(t, y)),
                timed(lambda block=block: block.process(t, holed)),
            ],
            repeats,
        )
        rows.append(
            Row(
                "f", f"{samples:.0e} samples smoothed, order {order}, to filtfilt", unit, taken, f"compiled in {spent:.1f} s", 3.0
            )
        )
        rows.append(Row("f", "  one in a thousand missing", unit, bridged))
    return rows


def case_g(quick: bool) -> list[Row]:
    """The loop of (b) closed over an extended Kalman filter."""
    stop = 1.0 if quick else 10.0
    ready = cases.ekf_loop(stop)
    spent = compiled(ready)
    timers = [native.seconds(lambda: native.ekf_loop(stop)), program_alone(ready), timed(lambda: bs.simulate(ready))]
    c, alone, whole = interleaved(timers, 5 if quick else 40)
    first = Row("g", "1 kHz PID on an EKF of a quantised encoder", c, alone, f"compiled in {spent:.1f} s", 1.3)
    return [first, Row("g", "  the whole simulate()", c, whole)]


def case_h(quick: bool) -> list[Row]:
    """A study of identification: many runs of one joint with least squares and DIDIM."""
    return study.rows(8, 1) if quick else study.rows()


def case_i(quick: bool) -> list[Row]:
    """One identification by DIDIM, in simulations."""
    return identify.rows(1 if quick else 60)


def case_m(quick: bool) -> list[Row]:
    """A long study on a Dask cluster."""
    return million.rows(800) if quick else million.rows(8000)


CASES = {
    "a": case_a, "b": case_b, "c": case_c, "d": batches.all_cores, "e": starting.rows, "f": case_f, "g": case_g, "h": case_h,
    "i": case_i, "j": calls.natural, "k": batches.in_lanes, "l": calls.first_compile, "m": case_m,
}  # fmt: skip


def show(rows: list[Row], heading: str) -> None:
    """The table, as people read it."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=heading, title_justify="left")
    for name in ("", "", "unit [ms]", "taken [ms]", "ratio", "bar", "", ""):
        table.add_column(name, justify="right" if name else "left")
    for row in rows:
        table.add_row(*cells(row))
    Console(width=None if sys.stdout.isatty() else 170).print(table)


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    note = "; ".join(part for part in (row.note, row.why or WHY[row.case] if row.verdict == "missed" else "") if part)
    bar = row.bar_text or (f"{row.bar:g}" if row.bar else "")
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}" if row.ratio < 100 else f"{row.ratio:.0f}"
    return row.case, row.what, milliseconds(row.unit), milliseconds(row.taken), ratio, bar, row.verdict, note


def markdown(rows: list[Row]) -> list[str]:
    """The table for a page: without the times, which belong to the machine."""
    lines = ["", "| | | ratio | bar | | |", "|---|---|---|---|---|---|"]
    return lines + [
        "| " + " | ".join((case, what.strip(), ratio, bar, verdict, note)) + " |"
        for case, what, _, _, ratio, bar, verdict, note in map(cells, rows)
    ]


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.4g}"


def machine() -> str:
    """What it was measured on."""
    cc = native.compiler()
    version = subprocess.run([cc, "--version"], capture_output=True, text=True).stdout.splitlines()[0] if cc else "no C compiler"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{platform.machine()}, {cores()} cores{load}; {version}; Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Ratios to hand-written C, measured in one run.")
    parser.add_argument("--quick", action="store_true", help="short horizons: to see that it works, not to quote")
    parser.add_argument("--json", metavar="FILE", help="write the rows here too")
    parser.add_argument("--processor", action="store_true", help="processor time in place of the wall's: for a busy machine")
    parser.add_argument("--brief", action="store_true", help="a sixth of the repetitions")
    parser.add_argument("--markdown", action="store_true", help="print the table as in docs/speed.md")
    parser.add_argument("--only", default=",".join(CASES), metavar="a,b,...", help="which cases: a, b, ... m")
    parser.add_argument(
        "--peers", nargs="?", const=sys.executable, metavar="PYTHON",
        help="other tools too (jaxonomy, Drake, PathSim, bdsim), where this Python, or the one named, has them",
    )  # fmt: skip
    options = parser.parse_args()
    chosen = {"BLOCKSIM_CLOCK": "processor" if options.processor else "", "BLOCKSIM_BRIEF": "1" if options.brief else ""}
    if any(os.environ.get(name, "") != value for name, value in chosen.items()):  # they are read when `measure` is imported
        raise SystemExit(subprocess.call([sys.executable, *sys.argv], env={**os.environ, **chosen}))
    wanted = options.only.split(",")
    os.environ["BLOCKSIM_PEERS"] = options.peers or ""
    if unknown := [name for name in wanted if name not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}. Cases are: {', '.join(CASES)}.")
    if native.compiler() is None and set(wanted) - {"e", "f"}:
        parser.error("hand-written C is the unit and there is no C compiler (cc). --only e,f runs without one.")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BLOCKSIM_CACHE"] = folder
        import numba  # noqa: F401  so that no compile time includes it

        heading = machine()
        rows = []
        for name in wanted:
            rows += CASES[name](options.quick)
            if not options.quick:
                print(
                    *[f"{row.case} {row.what}: {row.ratio or row.note}" for row in rows if row.case == name],
                    sep="\n",
                    file=sys.stderr,
                )
    heading += "; processor time" if options.processor else ""
    heading += "; --quick: not to quote" if options.quick else ""
    if options.markdown:
        print(heading, *markdown(rows), sep="\n")
    else:
        show(rows, heading)
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": heading, "rows": [row.plain() for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
