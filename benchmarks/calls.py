"""What people call: bs.simulate of a file with changes (j), and what a first compile takes (l)."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import identify
import native
from measure import Row, interleaved, process, program_alone, timed

import blocksim as bs
from blocks.observers.ekf import EKF
from blocksim.simulation.experiment import make_experiment

#: The loop of (b) from the library's blocks, with a gain that is a parameter of the file.
LOOP = (
    identify.LOOP.replace(identify.FOUND, "")
    .replace("joint.qdd]", "encoder]")
    .replace("kp: 20", 'kp: "${gain}"')
    .replace("format: 1", "format: 1\nparameters: {gain: 20}")
)
#: An EKF of seven states.
THREE_MASSES = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-3}
blocks:
  u:     {type: Sine}
  robot: {type: ThreeMassRobot, in: u}
  motor: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: robot.phi_m}
  ekf:   {type: EKF, Ts: 1e-3, model: robot, measures: phi_m, discretisation: rk4, sigma_w2: 0, in: {y: motor, u: u}}
"""
#: Diagrams whose first compile was slow, and what is asked of it, or what it took once [s].
COMPILED = {
    "an EKF, rk4": (EKF.example.replace("factor: 0.7", "discretisation: rk4, factor: 0.7"), 3.6),
    "an EKF of seven states, rk4": (THREE_MASSES, 6.5),
    "a JointEKF (gautier2001/ekf_case2)": ("gautier2001/ekf_case2", 6.0),
    "an RPEM (thesis/rpem_friction)": ("thesis/rpem_friction", 6.2),
    "an arm of six joints (brunot2017/tx40)": ("brunot2017/tx40", 4.0),
    "an arm of seven joints (arms/panda_like)": ("arms/panda_like", 6.0),
}


def natural(quick: bool) -> list[Row]:
    """(j) A file and changes, as people write it; the second and later calls."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "servo.yaml"
        path.write_text(LOOP)
        stop = 1.0 if quick else 10.0
        bs.simulate(path, engine="compiled", stop=stop)
        ready, count = bs.experiment(path, stop=stop), iter(range(10**9))
        c, alone, whole, changed, gain = interleaved(
            [
                native.seconds(lambda: native.servo(stop)),
                program_alone(ready),
                timed(lambda: bs.simulate(ready)),
                timed(lambda: bs.simulate(path, params={"joint.J": 0.02 + 1e-9 * next(count)}, stop=stop)),
                timed(lambda: bs.simulate(path, params={"gain": 20 + 1e-6 * next(count)}, stop=stop)),
            ],
            5 if quick else 60,
        )
        return [
            Row("j", 'bs.simulate("servo.yaml", params={"joint.J": ...})', c, changed, bar=2.0),
            Row("j", "  with a parameter of the file, ${gain}", c, gain, bar=2.0),
            Row("j", "  the same prepared, without changes", c, whole, "the library's blocks: noise is drawn for the encoder"),
            Row("j", "  its program alone", c, alone, "a PID with limits, where C has a plain one"),
        ]


def first_compile(quick: bool) -> list[Row]:
    """(l) Seconds of a first compile in a process of its own, and of those the compiler alone."""
    code = "import sys; sys.path.insert(0, {folder!r}); import cases; {work}"
    with tempfile.TemporaryDirectory() as folder:
        count = iter(range(1000))

        def started(work: str) -> float:
            text = code.format(folder=str(Path(__file__).parent), work=work)
            return process("-c", text, cache=str(Path(folder) / f"cold{next(count)}"))()

        opened, whole = interleaved(
            [lambda: started("cases.servo()"), lambda: started("cases.servo().program.fast()")], 2 if quick else 5
        )
        spent = whole - opened
    note = f"{spent:.2f} s, llvmlite's import among them"
    rows = [Row("l", "first compile of (b) in a fresh process and cache", note=note, met=spent <= 0.6, bar_text="<= 0.6 s")]
    return rows + ([] if quick else [cold(what, *COMPILED[what]) for what in COMPILED])


def cold(what: str, diagram: str, bar: float) -> Row:
    """A diagram opened, and compiled without a cache; processor time."""
    from blocksim.compiler.program import compile_at

    begun = time.process_time()
    ready = make_experiment(bs.open_diagram(diagram))
    opened = time.process_time()
    compile_at(ready.program.code, None)
    spent = time.process_time() - begun
    note = f"{spent:.1f} s of processor time, {opened - begun:.1f} of them until the program is written"
    return Row("l", f"  {what}", note=note, met=spent <= bar, bar_text=f"<= {bar:g} s")
