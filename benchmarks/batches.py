"""Many runs of the servo loop: on all cores with every log kept (d), and in the lanes of a vector on one (k)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cases
import native
from measure import Row, compiled, cores, interleaved, timed

import blocksim as bs

#: Lanes of a vector: what each kind of processor is asked for, in units of C.
LANE_BARS = {"avx512": 0.35, "avx2": 0.5}
#: Names by which LLVM knows processors that have no more than AVX2.
AVX2 = {"BLOCKSIM_CPU": "haswell", "BLOCKSIM_FEATURES": "+avx2,+fma,+bmi,+bmi2"}


def last_torque(record: bs.Record) -> float:
    return float(record["pid"][-1])


def last_speed(record: bs.Record) -> float:
    return float(record["robot.w_a"][-1])


def all_cores(quick: bool) -> list[Row]:
    """(d) Many runs of (b) on all cores, every log kept."""
    runs, stop, jobs = (20, 1.0, cores()) if quick else (200, 10.0, cores())
    ready, table = cases.servo(stop), cases.monte_carlo(runs)
    compiled(ready)
    for _ in range(2):  # the second is in lockstep
        bs.simulate_many(ready, params=table, jobs=jobs)
    c, ours, collected = interleaved(
        [
            timed(lambda: native.servo_many(table, jobs, stop)),
            timed(lambda: bs.simulate_many(ready, params=table, jobs=jobs)),
            timed(lambda: bs.simulate_many(ready, params=table, jobs=jobs, collect=last_torque)),
        ],
        3 if quick else 12,
    )
    first = Row("d", f"{runs} runs of (b) on {jobs} cores, libm", c, ours, bar=1.0)
    return [first, Row("d", "  one number kept of each, to C that keeps all", c, collected)]


def lanes(quick: bool, kind: str) -> list[Row]:
    """(k) The same with math: portable on one core, on this processor or as if it had no more than AVX2."""
    runs, stop = (16, 1.0) if quick else (200, 10.0)
    ready, table = cases.servo(stop, math="portable"), cases.monte_carlo(runs)
    ready.program.code.wide()
    c, ours, collected = interleaved(
        [
            timed(lambda: native.servo_many(table, 1, stop)),
            timed(lambda: bs.simulate_many(ready, params=table, jobs=1)),
            timed(lambda: bs.simulate_many(ready, params=table, jobs=1, collect=last_torque)),
        ],
        3 if quick else 10,
    )
    bar = LANE_BARS[kind]
    return [
        Row("k", f"{runs} runs in lanes, math: portable, one core, {kind}", c, ours, "every log kept", bar),
        Row("k", f"  one number kept of each, {kind}", c, collected, "", bar),
        open_loops(quick, kind),
    ]


def open_loops(quick: bool, kind: str) -> Row:
    """(k) The two-mass robot of (a), which has no sampler: its runs go in lanes as well."""
    runs, stop = (8, 1.0) if quick else (16, 20.0)
    ready = cases.two_mass("rk4", stop, math="portable", backlash="elasto")
    table = [{"robot.Fc": 0.6 + 0.001 * i} for i in range(runs)]
    ready.program.code.wide()
    c, ours = interleaved(
        [
            native.seconds(lambda: native.two_mass("rk4", stop)),
            timed(lambda: bs.simulate_many(ready, params=table, jobs=1, collect=last_speed)),
        ],
        3 if quick else 10,
    )
    return Row("k", f"  {runs} runs of (a), one number kept of each, {kind}", runs * c, ours)


def has_avx512() -> bool:
    import llvmlite.binding as llvm

    return bool(llvm.get_host_cpu_features().get("avx512f"))


def in_lanes(quick: bool) -> list[Row]:
    """(k) Here, and for AVX2 in a process that compiles for it."""
    here = lanes(quick, "avx512" if has_avx512() else "avx2")
    if not has_avx512():
        return here
    environment = {**os.environ, **AVX2, "BLOCKSIM_CACHE": os.path.join(os.environ.get("BLOCKSIM_CACHE", "/tmp"), "avx2")}
    command = [sys.executable, __file__, "quick" if quick else "whole"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [*here, *(Row(**row) for row in json.loads(done.stdout.splitlines()[-1]))]


if __name__ == "__main__":
    plain = [row.plain() for row in lanes(sys.argv[1] == "quick", "avx2")]
    print(json.dumps([{k: v for k, v in row.items() if k not in ("ratio", "verdict")} for row in plain]))
