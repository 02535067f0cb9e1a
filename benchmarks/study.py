"""1000 repetitions of the one-DOF experiment with least squares and DIDIM, in units of the same in hand-written C and numpy.

python benchmarks/study.py [--runs 1000] [--rounds 2]

Both sides start a process and share the runs among the cores. A run simulates the loop for 10 s at 1 kHz with noise of its own on
the torque, and estimates four parameters twice with their standard deviations. By hand, the loop and the twin are c/servo.c, the
rest is numpy and scipy written for this one joint: nothing is checked, named, logged or stored beyond the estimates. Standard
deviations by hand are those of white noise; then also those the study has, from spectra, which are computed by the same function.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from measure import Row, as_installed, cores

LOOP = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref0:    {type: Sine, amplitude: 1.0, frequency: 0.2}
  ref1:    {type: Sine, amplitude: 0.5, frequency: 0.5}
  ref2:    {type: Sine, amplitude: 0.25, frequency: 1.1}
  ref:     {type: Sum, in: [ref0, ref1, ref2]}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, g: 10, N: 15, beta: 100, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  torque:  {type: TorqueSensor, Ts: 1e-3, std: 0.02, in: pid}
  motion:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, edges: 0,
            in: {tau: torque, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
  didim:   {type: DIDIM, model: joint, cutoff: 60, decimate: 10, edges: 0, in: torque}
log: [torque, encoder]
"""
#: J, Fv, Fc, Ms g, resolution, kp, ki, kd, as c/servo.c takes them; an ideal encoder has a count of nothing.
TRUTH, RESOLUTION, GAINS = np.array([0.02, 0.05, 0.1, 0.3]), 1e-4, (20.0, 10.0, 0.3)
IDEAL, NOISE, SAMPLES = 1e-13, 0.02, 10_000
BAR = 1.0


# ---- by hand -------------------------------------------------------------------------------------------------------------


def loop(parameters: np.ndarray, resolution: float) -> np.ndarray:
    """Rows of reference, torque, position, speed, counted position."""
    import native

    numbers, log = np.array([*parameters, resolution, *GAINS]), np.empty((SAMPLES + 1, 5))
    native.library().servo(native.address(numbers), native.whole(SAMPLES), native.address(log))
    return log


@cache
def designs() -> tuple[Any, Any]:
    from scipy.signal import butter, cheby1

    return butter(4, 0.12, output="sos"), cheby1(8, 0.05, 0.08, output="sos")


def decimated(columns: np.ndarray) -> np.ndarray:
    from scipy.signal import sosfiltfilt

    return sosfiltfilt(designs()[1], columns, axis=0, padlen=24)[::10]


def smoothed(columns: np.ndarray) -> np.ndarray:
    from scipy.signal import sosfiltfilt

    return sosfiltfilt(designs()[0], columns, axis=0, padlen=12)


def deviations(X: np.ndarray, G: np.ndarray, rest: np.ndarray, coloured: bool) -> np.ndarray:
    """Of X' e, e being white or of any colour."""
    if not coloured:
        return np.sqrt(rest @ rest / (len(rest) - 4) * np.diag(X.T @ X))
    from blocks.identifiers.regression.spectrum import spectral_spread

    rows = np.ones(len(rest), dtype=bool), np.zeros(len(rest), dtype=int)
    return np.sqrt(np.diag(spectral_spread(X, G, rest, *rows, 0.0).claim))


def least_squares(tau: np.ndarray, counted: np.ndarray, coloured: bool) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard deviations from the filtered and differentiated position."""
    q = smoothed(counted)
    qd = np.gradient(q, 1e-3)
    W = np.stack([np.gradient(qd, 1e-3), qd, np.tanh(100 * qd), np.cos(q / 15)], axis=1)
    W, y = decimated(W), decimated(tau)
    x = np.linalg.lstsq(W, y, rcond=None)[0]
    return x, deviations(W @ np.linalg.inv(W.T @ W), W, y - W @ x, coloured)


def rows_at(beta: np.ndarray) -> np.ndarray:
    """The rows of the twin, filtered; the first is at rest and does not count."""
    log = loop(beta, IDEAL)
    qd, dry, weight = log[:, 3], np.tanh(100 * log[:, 3]), np.cos(log[:, 2] / 15)
    qdd = (log[:, 1] - beta[1] * qd - beta[2] * dry - beta[3] * weight) / beta[0]
    return decimated(smoothed(np.stack([qdd, qd, dry, weight], axis=1)))[1:]


def didim(tau: np.ndarray, coloured: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Estimates, standard deviations with the motion following the estimate, and how many loops were simulated."""
    y, beta, loops, gain, G = decimated(smoothed(tau))[1:], 0.7 * TRUTH, 0, None, None
    while loops < 50:
        W, loops = rows_at(beta), loops + 1
        new, left = np.linalg.lstsq(W, y, rcond=None)[:2]
        std = np.sqrt(left[0] / (len(y) - 4) * np.diag(np.linalg.inv(W.T @ W)))
        step = new - beta
        if gain is None and np.all(np.abs(step) <= 0.01 * (np.abs(new) + std)):
            (gain, G), loops = follows(beta, W), loops + 4
        step = step if gain is None else gain @ step
        beta = beta + step
        if np.all(np.abs(step) <= 1e-5 * (np.abs(beta) + std) + 0.01 * std):
            break
    return beta, deviations(W @ np.linalg.inv(W.T @ W) @ gain.T, G, y - W @ beta, coloured), loops


def follows(beta: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(W' G)^-1 W' W and G = d(W beta)/d beta, the motion following beta: what a least squares step is short of."""
    G = np.empty_like(W)
    for i, h in enumerate(1e-4 * np.abs(beta)):
        moved = beta.copy()
        moved[i] += h
        G[:, i] = (rows_at(moved) @ moved - W @ beta) / h
    return np.linalg.solve(W.T @ G, W.T @ W), G


def run_by_hand(seed: int, coloured: bool = False) -> tuple[Any, ...]:
    log = loop(TRUTH, RESOLUTION)
    tau = log[:, 1] + NOISE * np.random.default_rng(seed).standard_normal(len(log))
    return (*least_squares(tau, log[:, 4], coloured), *didim(tau, coloured))


def study_by_hand(runs: int, jobs: int, coloured: bool = False) -> list[tuple[Any, ...]]:
    from multiprocessing import get_context

    run_by_hand(0)  # the C programs are compiled before the processes part
    with get_context("fork").Pool(jobs) as pool:
        return pool.map(partial(run_by_hand, coloured=coloured), range(runs), chunksize=10)


# ---- both ----------------------------------------------------------------------------------------------------------------


def study(runs: int, jobs: int) -> Any:
    import blocksim as bs

    made = {"format": 1, "study": "one joint", "diagram": LOOP, "repeat": runs, "seed": 1, "collect": ["ls", "didim"]}
    return bs.run_study(made, jobs=jobs, progress=False, report=False)


@dataclass
class Spent:
    wall: float
    processor: float  # seconds of all processes


def measured(side: str, runs: int, jobs: int) -> Spent:
    """A process of its own and those it starts."""
    begun = time.perf_counter()
    command = [sys.executable, __file__, "--side", side, "--runs", str(runs), "--jobs", str(jobs)]
    with subprocess.Popen(command, env=as_installed(OPENBLAS_NUM_THREADS="1")) as started:
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {started.returncode}")
    return Spent(time.perf_counter() - begun, used.ru_utime + used.ru_stime)


def rows(runs: int = 1000, rounds: int = 2) -> list[Row]:
    """Best of some rounds, both sides in turn."""
    jobs = cores()
    measured("ours", 2 * jobs, jobs)  # compiled once and kept
    taken: dict[str, list[Spent]] = {"hand": [], "hand-coloured": [], "ours": [], "few": []}
    for _ in range(rounds):
        for side in ("hand", "ours", "hand-coloured"):
            taken[side].append(measured(side, runs, jobs))
        taken["few"].append(measured("ours", 2 * jobs, jobs))
    wall = {side: min(s.wall for s in spent) for side, spent in taken.items()}
    processor = {side: min(s.processor for s in spent) for side, spent in taken.items()}
    what = f"{runs} runs with least squares and DIDIM, {jobs} cores"
    note = f"{wall['few']:.1f} s of it for the first {2 * jobs} runs"
    return [
        Row("h", what, wall["hand"], wall["ours"], note, BAR),
        Row("h", "  processor time", processor["hand"], processor["ours"], "", BAR),
        Row("h", "  to the same standard deviations by hand", wall["hand-coloured"], wall["ours"], "from spectra on both sides"),
        Row("h", "  processor time", processor["hand-coloured"], processor["ours"]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--side", choices=("hand", "hand-coloured", "ours"), help="run one side alone, without timing it")
    options = parser.parse_args()
    if options.side:
        if options.side == "ours":
            study(options.runs, options.jobs)
        else:
            study_by_hand(options.runs, options.jobs, options.side == "hand-coloured")
        return
    for row in rows(options.runs, options.rounds):
        times = f"{row.unit:8.2f} s {row.taken:8.2f} s  ratio {row.ratio:5.2f}"
        bar = "" if row.bar is None else f"bar {row.bar:g}: {row.verdict}"
        print(f"{row.what:60} {times}  {bar}  {row.note}")


if __name__ == "__main__":
    main()
