"""A million runs of a small loop on a local Dask cluster: how long, and how much memory the process that gathers them takes.

python benchmarks/million.py [--runs 40000]

A study of so many runs is made on as many workers as there are cores; each simulates a quarter of a second of a servo loop
at 1 kHz with noise of its own and identifies its joint by least squares. Results go to the disk as they come. What it takes
grows with the runs in a straight line: two sizes are measured, and a million is read off that line.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from measure import Row, cores

MILLION = 1_000_000
LOOP = """
format: 1
simulate: {stop: 0.25, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: Sine, amplitude: 1.0, frequency: 4.0}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 1e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  torque:  {type: TorqueSensor, Ts: 1e-3, std: 0.02, in: pid}
  ls:      {type: LeastSquares, model: joint, in: {tau: torque, q: joint.q, qd: joint.qd, qdd: joint.qdd}}
log: [torque, joint.q, joint.qd, joint.qdd]
"""


@dataclass
class Taken:
    """What a study took: seconds, the largest memory of this process [bytes], the size of its folder [bytes]."""

    runs: int
    seconds: float
    memory: int
    disk: int


def resident() -> int:
    """Bytes of memory that this process has now."""
    import resource

    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def measured(runs: int, address: str) -> Taken:
    import blocksim as bs

    largest, going = [resident()], threading.Event()

    def watch() -> None:
        while not going.wait(0.05):
            largest[0] = max(largest[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    study = {"format": 1, "study": "small loop", "diagram": LOOP, "repeat": runs, "seed": 1, "collect": ["ls"]}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        bs.run_study(study, scheduler=address, out=Path(folder) / "study", progress=False, report=False)
        seconds = time.perf_counter() - begun
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    going.set()
    watcher.join()
    return Taken(runs, seconds, largest[0], disk)


def rows(runs: int = 40_000) -> list[Row]:
    """A quarter of the runs, then all of them, on one cluster."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=cores(), threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        measured(50 * cores(), cluster.scheduler_address)  # workers have imported and compiled
        before = resident()
        part, whole = measured(runs // 4, cluster.scheduler_address), measured(runs, cluster.scheduler_address)
    rate = (whole.seconds - part.seconds) / (whole.runs - part.runs)
    bytes_per_run = max(whole.memory - part.memory, 0) / (whole.runs - part.runs)
    at_million = (whole.memory + bytes_per_run * (MILLION - whole.runs)) / 1e6
    note = f"{whole.seconds:.0f} s, {whole.runs / whole.seconds:.0f} runs a second"
    line = f"extrapolated: {rate * MILLION / 3600:.1f} h, {whole.disk / whole.runs * MILLION / 1e9:.1f} GB on disk"
    memory = (
        f"{before / 1e6:.0f} MB before, {part.memory / 1e6:.0f} MB with {part.runs}, {whole.memory / 1e6:.0f} MB with "
        f"{whole.runs} runs; extrapolated: {at_million:.0f} MB"
    )
    return [
        Row("m", f"{whole.runs} runs with least squares on a local Dask cluster, {cores()} workers", note=note),
        Row("m", "  a million runs", note=line),
        Row("m", "  memory of the process that gathers", note=memory, met=at_million < 1000, bar_text="< 1 GB"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40_000)
    for row in rows(parser.parse_args().runs):
        print(f"{row.what:75} {row.bar_text:8} {row.verdict:7} {row.note}")


if __name__ == "__main__":
    main()
