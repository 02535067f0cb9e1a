"""The diagrams of the benchmark."""

from __future__ import annotations

import random

import numpy as np
from models import PID, Encoder, Joint, SpeedPID
from systems import EFFECTS, FILTER, LAG, REFERENCE, ROBOT, SERVO, START, TORQUE  # noqa: F401

import blocksim as bs
from blocks.observers.ekf import EKF
from blocks.plants.two_mass import TwoMassRobot
from blocksim.diagram.spec import LogSpec
from blocksim.simulation.experiment import Experiment, make_experiment

KINDS = {"FirstOrderLag": {"T": LAG, "x": START}, "Gain": {"k": 0.99}, "Saturation": {"lower": -2.0, "upper": 2.0}, "Abs": {}}


def sines(diagram: bs.Diagram, total: str, parts: tuple[tuple[float, float], ...]) -> None:
    """A sum of sines, each a block."""
    for i, (amplitude, frequency) in enumerate(parts):
        diagram.add(f"{total}{i}", "Sine", amplitude=amplitude, frequency=frequency)
    diagram.add(total, "Sum", inputs=[f"{total}{i}" for i in range(len(parts))])


def two_mass(solver: str, stop: float = 20.0, math: str = "libm", **effects: float | str) -> Experiment:
    """(a) The two-mass robot, open loop; `effects` are more of its parameters."""
    diagram = bs.Diagram("two-mass robot, open loop")
    sines(diagram, "u", TORQUE)
    diagram.add("robot", TwoMassRobot(**ROBOT, **effects), inputs="u")
    diagram.log = [LogSpec(name) for name in ("robot.phi_m", "robot.w_m", "robot.phi_a", "robot.w_a", "u")]
    options = {"step": "1e-3"} if solver == "rk4" else {"rtol": 1e-6, "atol": 1e-8}
    return make_experiment(diagram, stop=stop, solver=solver, every="2e-3", math=math, **options)


def servo(stop: float = 10.0, **options: str) -> Experiment:
    """(b) 1 kHz PID on a quantised encoder."""
    s = SERVO
    diagram = bs.Diagram("PID on a quantised encoder")
    sines(diagram, "ref", REFERENCE)
    diagram.add("error", "Sum", signs="+-", inputs=["ref", "encoder"])
    diagram.add("pid", PID(Ts=1e-3, kp=s["kp"], ki=s["ki"], kd=s["kd"]), inputs="error")
    diagram.add("joint", Joint(J=s["J"], Fv=s["Fv"], Fc=s["Fc"], G=s["G"]), inputs="pid")
    diagram.add("encoder", Encoder(Ts=1e-3, resolution=s["resolution"]), inputs="joint.position")
    diagram.log = [LogSpec(name) for name in ("ref", "pid", "joint", "encoder")]
    return make_experiment(diagram, stop=stop, solver="rk4", step="1e-3", **options)


def ekf_loop(stop: float = 10.0) -> Experiment:
    """(g) The loop of (b) closed over an extended Kalman filter."""
    s = SERVO
    diagram = bs.Diagram("PID on what an EKF makes of a quantised encoder")
    sines(diagram, "ref", REFERENCE)
    diagram.add("error", "Sum", signs="+-", inputs=["ref", "ekf.q_hat"])
    diagram.add("pid", SpeedPID(Ts=1e-3, kp=s["kp"], ki=s["ki"], kd=s["kd"]), inputs={"e": "error", "qd": "ekf.qd_hat"})
    diagram.add("joint", Joint(J=s["J"], Fv=s["Fv"], Fc=s["Fc"], G=s["G"]), inputs="pid")
    diagram.add("encoder", Encoder(Ts=1e-3, resolution=s["resolution"]), inputs="joint.position")
    ekf = EKF(
        Ts=1e-3, model="joint", measures="position", R=s["resolution"] ** 2 / 12, P0=[s["resolution"] ** 2 / 12, 0.1], **FILTER
    )
    diagram.add("ekf", ekf, inputs={"y": "encoder", "u": "pid"})
    diagram.log = [LogSpec(name) for name in ("ref", "pid", "joint", "encoder", "ekf.q_hat", "ekf.qd_hat")]
    return make_experiment(diagram, stop=stop, solver="rk4", step="1e-3")


def chain(lags: int, stop: float = 10.0) -> Experiment:
    """(c) Lags in a row with feedback."""
    diagram = bs.Diagram(f"{lags} lags")
    diagram.add("one", "Constant", value=1.0)
    diagram.add("error", "Sum", signs="+-", inputs=["one", f"lag{lags - 1}"])
    for i in range(lags):
        diagram.add(f"lag{i}", "FirstOrderLag", T=LAG, x=START, inputs=f"lag{i - 1}" if i else "error")
    diagram.log = [LogSpec(f"lag{lags - 1}")]
    return make_experiment(diagram, stop=stop, solver="rk4", step="1e-3")


def mixed(blocks: int, stop: float = 10.0) -> Experiment:
    """(c) Blocks of four kinds in no order, so that no loop can stand for equal ones; every third is a lag."""
    chosen = random.Random(1)
    diagram = bs.Diagram(f"{blocks} blocks of four kinds")
    diagram.add("one", "Constant", value=1.0)
    diagram.add("error", "Sum", signs="+-", inputs=["one", f"b{blocks - 1}"])
    for i in range(blocks):
        before = f"b{i - 1}" if i else "error"
        kind = "FirstOrderLag" if i % 3 == 0 else chosen.choice(tuple(KINDS)[1:])
        diagram.add(f"b{i}", kind, inputs=before, **KINDS[kind])
    diagram.log = [LogSpec(f"b{blocks - 1}")]
    return make_experiment(diagram, stop=stop, solver="rk4", step="1e-3")


def monte_carlo(runs: int) -> list[dict[str, float]]:
    """(d) A joint of its own for every run."""
    return [{"joint.J": 0.015 + 0.01 * i / runs, "joint.Fc": 0.05 + 0.1 * ((7 * i) % runs) / runs} for i in range(runs)]


#: (f) Cutoff [Hz] of the smoother and of the filter; the record is sampled at 1 kHz.
CUTOFF = 20.0


def noisy(samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(f) Times and noisy samples of a slow sine, and the same with one sample in a thousand missing."""
    draw = np.random.default_rng(1)
    t = 1e-3 * np.arange(samples)
    y = np.sin(2 * np.pi * 0.5 * t) + 0.01 * draw.standard_normal(samples)
    return t, y, np.where(draw.random(samples) < 1e-3, np.nan, y)


#: (e) The loop of (b) as a file, from the library's blocks alone; the PID is one discrete transfer function.
SERVO_FILE = """
format: 1
name: PID on a quantised encoder
simulate: {stop: 10.0, solver: rk4, step: 1e-3}
blocks:
  ref0:     {type: Sine, amplitude: 1.0, frequency: 0.2}
  ref1:     {type: Sine, amplitude: 0.5, frequency: 0.5}
  ref2:     {type: Sine, amplitude: 0.25, frequency: 1.1}
  ref:      {type: Sum, in: [ref0, ref1, ref2]}
  error:    {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:      {type: DiscreteTransferFunction, Ts: 1e-3, num: [320.01, -620.0, 300.0], den: [1.0, -1.0, 0.0], in: error}
  force:    {type: Function, in: [pid, speed, position],
             expression: "(u1 - 0.05 * u2 - 0.1 * tanh(100 * u2) - 0.3 * cos(u3 / 15)) / 0.02"}
  speed:    {type: Integrator, in: force}
  position: {type: Integrator, in: speed}
  sample:   {type: ZeroOrderHold, Ts: 1e-3, in: position}
  encoder:  {type: Quantizer, step: 0.0031416, in: sample}
log: [ref, pid, position, speed, encoder]
"""
#: (e) A small diagram.
LOOP_FILE = """
format: 1
name: PI loop
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-6}
blocks:
  ref:   {type: Step, time: 0.5}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  i:     {type: Integrator, in: error}
  u:     {type: Sum, in: [error, i]}
  plant: {type: FirstOrderLag, T: 0.3, in: u}
log: [ref, plant]
"""
