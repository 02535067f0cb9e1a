"""How much of an identification is simulation? DIDIM and output error on the loop of (b), in units of one C simulation.

python benchmarks/identify.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import native
from measure import Row, interleaved, timed

import blocksim as bs
from blocks.identifiers.regression.regression import fit
from blocksim.estimation.process import Run, process
from blocksim.estimation.twin import twin_of
from blocksim.simulation.prepare import experiment

#: The loop of (b) from the library's blocks: the same rates, controller and joint, so that one simulation is as much work.
LOOP = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref0:    {type: Sine, amplitude: 1.0, frequency: 0.2}
  ref1:    {type: Sine, amplitude: 0.5, frequency: 0.5}
  ref2:    {type: Sine, amplitude: 0.25, frequency: 1.1}
  ref:     {type: Sum, in: [ref0, ref1, ref2]}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 1e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 15, beta: 100, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 3.1416e-3, in: joint.q}
  found:   {type: DIDIM, model: joint, in: pid}
log: [pid, joint.q, joint.qd, joint.qdd]
"""
FOUND = "  found:   {type: DIDIM, model: joint, in: pid}\n"
SOUGHT = "parameters: [joint.J, joint.Fv, joint.Fc, joint.Ms], start: 0.7"
#: Output error of the same four parameters, from the same start, by what is compared with what.
SEARCHES = {
    "closed-loop output error (CLOE) of q": f"{{type: CLOE, {SOUGHT}, output: joint.q, in: encoder}}",
    "OutputError of q": f"{{type: OutputError, model: joint, {SOUGHT}, output: joint.q, in: {{u: pid, y: encoder}}}}",
}
#: In simulations of C: a DIDIM, a least squares, each simulation of a search.
BAR, LEAST_SQUARES_BAR, SIMULATION_BAR = 12.0, 0.5, 1.3


def rows(repeats: int = 8) -> list[Row]:
    """One identification, and what it is made of."""
    diagram = bs.open_diagram(LOOP)
    ready = experiment(diagram)
    record = bs.simulate(ready)
    found = record.estimates["found"]
    twin = twin_of(Run(diagram, {}, record, "found"), record.t, ["joint.q", "joint.qd", "joint.qdd"])
    twin.experiment.program.fast()
    process(ready.schedule, record)
    plant = ready.schedule.unit("found").plants["model"]
    motion = {s: record[f"joint.{s}"] for s in plant.motion}
    W, y = plant.regressor(motion)[:, 0], record["pid"]
    c, whole, one, columns, squares = interleaved(
        [
            native.seconds(lambda: native.servo(10.0)),
            timed(lambda: process(ready.schedule, record)),
            timed(lambda: twin.run({"joint.J": 0.021})),
            timed(lambda: plant.regressor(motion)),
            timed(lambda: fit(W, y)),
        ],
        repeats,
    )
    steps, runs = found.details["iterations"], found.details["simulations"]
    note = f"{steps} iterations, {runs} simulations"
    why = f"its simulations alone are {runs * one / c:.1f}; then regressors, steps, and standard deviations from a spectrum"
    return [
        Row("i", "DIDIM, 10 s at 1 kHz, in simulations of C", c, whole, note, BAR, why=why),
        Row("i", "  one simulation of the twin", c, one, f"{runs} of them, four at once on the cores"),
        Row("i", "  one regressor", c, columns),
        Row("i", "  one least squares with covariance", c, squares, bar=LEAST_SQUARES_BAR),
        *[search(what, text, max(1, repeats // 3)) for what, text in SEARCHES.items()],
    ]


def search(what: str, text: str, repeats: int) -> Row:
    """Four parameters by output error."""
    diagram = bs.open_diagram(LOOP.replace(FOUND, f"  found:   {text}\n"))
    ready = experiment(diagram)
    record = bs.simulate(ready)
    found = record.estimates["found"]
    c, whole = interleaved([native.seconds(lambda: native.servo(10.0)), timed(lambda: process(ready.schedule, record))], repeats)
    used = found.details["simulations"]
    note = f"{found.details['iterations']} iterations, {used} simulations, {whole / c:.1f} of C in all"
    return Row("i", f"{what}, 4 parameters, for each simulation", c, whole / used, note, SIMULATION_BAR)


def main() -> None:
    if native.compiler() is None:
        sys.exit("hand-written C is the unit and there is no C compiler (cc).")
    begun = time.perf_counter()
    for row in rows():
        ratio = "" if row.ratio is None else f"{row.ratio:8.2f}"
        bar = "" if row.bar is None else f"bar {row.bar:.1f}, {row.verdict}"
        print(f"{row.what:40} {1e3 * (row.taken or 0):9.3f} ms {ratio}  {bar}  {row.note}")
    print(f"unit: c/servo.c over 10 s; measured in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
