"""A six-joint robot in the loop beside pinocchio: python benchmarks/serial.py

The closed loop of the TX40 (5 kHz PID, RK4, 7 s: 140 000 evaluations of the dynamics) against as many calls of pinocchio's `aba`,
the regressor of 50 000 samples against pinocchio's, and the processor time of a first run in a fresh cache, from the text to
the record, of the TX40 and of seven joints at general angles. Pinocchio is called from Python; what such a call costs by itself,
taken as that of `aba` on one joint, is subtracted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

import blocksim as bs
from blocks.plants.serial.regressor import inertial_regressor
from blocksim.simulation.experiment import make_experiment

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "blocks" / "plants" / "serial"))
from chains import pinocchio_model, random_rows

LOOP = """
format: 1
simulate: {stop: 7, solver: rk4, step: 2e-4, every: 1e-2}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: 0.2, a: [[0.3], [0.2], [0.3], [0.5], [0.5], [0.6]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pid:   {type: PID, Ts: 2e-4, kp: [4000, 4000, 1200, 300, 300, 150], ki: [8000, 8000, 2400, 600, 600, 300],
          kd: [130, 130, 35, 6, 6, 3], Tf: 1e-3, in: error}
  robot: {type: PART, friction: tanh, q: [0, 0, 0, 0, 0, 0], in: pid}
log: [robot.q]
"""
EVALUATIONS = 4 * 35_000


def fastest(act: Callable[[], object], repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return min(times)


def seven_joints() -> str:
    """The same loop around seven revolute joints at general angles."""
    rows = [{**row, "joint": "revolute", "Ia": 0.5, "Fv": 1.0, "Fc": 0.5} for row in random_rows(7, np.random.default_rng(2))]
    gains = {"a": [[0.3]] * 7, "kp": [4000] * 7, "ki": [8000] * 7, "kd": [130] * 7}
    return f"""
format: 1
simulate: {{stop: 0.1, solver: rk4, step: 2e-4, every: 1e-2}}
blocks:
  ref:   {{type: FourierTrajectory, base_frequency: 0.2, a: {gains["a"]}}}
  error: {{type: Sum, signs: "+-", in: [ref.q, robot.q]}}
  pid:   {{type: PID, Ts: 2e-4, kp: {gains["kp"]}, ki: {gains["ki"]}, kd: {gains["kd"]}, Tf: 1e-3, in: error}}
  robot: {{type: SerialRobot, joints: {rows}, in: pid}}
log: [robot.q]
"""


def main() -> None:
    part = Path(__file__).parents[1] / "diagrams" / "brunot2017" / "parts" / "tx40.yaml"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BLOCKSIM_CACHE"] = folder
        (Path(folder) / "tx40.yaml").write_text(part.read_text())
        loop = Path(folder) / "loop.yaml"
        loop.write_text(LOOP.replace("PART", "./tx40.yaml"))
        start = time.process_time()
        experiment = make_experiment(bs.build(bs.load(loop)))
        bs.simulate(experiment, engine="compiled")
        first = time.process_time() - start
        ours = fastest(lambda: bs.simulate(experiment, engine="compiled"))
        start = time.process_time()
        bs.simulate(seven_joints(), engine="compiled")
        seven = time.process_time() - start
        arm = bs.build(bs.load(loop)).nodes["robot"].block.nodes["arm"].block
    rows = [
        {**dict.fromkeys(("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"), 0.0), **row}
        for row in arm.settings["joints"]
    ]
    model, small = pinocchio_model(rows, [0, 0, -9.81]), pinocchio_model(rows[:1], [0, 0, -9.81])
    q, v, a = np.random.default_rng(1).normal(size=(3, 50_000, 6))

    def calls(m: object, joints: int) -> float:
        data, some = m.createData(), list(zip(q[:5000, :joints], v[:5000, :joints], a[:5000, :joints], strict=True))
        return fastest(lambda: [pin.aba(m, data, *one) for one in some]) / len(some)

    call = calls(small, 1)
    theirs = (calls(model, 6) - call) * EVALUATIONS
    data = model.createData()
    whole = fastest(lambda: [pin.computeJointTorqueRegressor(model, data, *one) for one in zip(q, v, a, strict=True)], 1)
    chain = type(arm).shape_here.chain
    inertial_regressor(chain, q[:10], v[:10], a[:10])
    mine = fastest(lambda: inertial_regressor(chain, q, v, a))
    print(f"first run with compilation {first:.2f} s of processor time; seven general joints {seven:.2f} s")
    print(f"closed loop of 7 s {1e3 * ours:.0f} ms; {EVALUATIONS} calls of aba {1e3 * theirs:.0f} ms; ratio {ours / theirs:.2f}")
    print(f"regressor of 50 000 samples {1e3 * mine:.0f} ms; pinocchio's {1e3 * whole:.0f} ms; ratio {mine / whole:.2f}")


if __name__ == "__main__":
    main()
