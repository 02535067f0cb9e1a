"""A stranger's arm: records made by pinocchio, motor degrees and amperes, gears with signs; from its kinematics alone."""

import csv

import numpy as np
import pytest

import blocksim as bs

ROWS, N, KT = 5000, np.array([100.0, -120.0, 80.0, 2000.0]), np.array([0.11, 0.11, 0.09, 0.05])
FV, FC, IA = np.array([4.0, 3.1, 2.3, 1.4]), np.array([6.0, 4.7, 3.4, 2.1]), np.array([0.4, 0.25, 0.13, 0.05])
DH = [(0, 0, 0, 0.4), (-np.pi / 2, 0.1, 0, 0), (0, 0.5, 0.3, 0), (np.pi / 2, 0.08, 0, 0.25)]
ARM = """format: 1
simulate: {stop: 20, solver: rk4, step: 4e-3}
blocks:
  idle:   {type: Constant, value: [0, 0, 0, 0]}
  robot:
    type: SerialRobot
    friction: sign
    joints:
      - {d: 0.4}
      - {alpha: "${-pi / 2}", a: 0.1}
      - {a: 0.5, theta: 0.3}
      - {alpha: "${pi / 2}", a: 0.08, d: 0.25, joint: prismatic}
    in: idle
  motors:  {type: Encoder, Ts: 4e-3, resolution: 1e-4, in: robot.q}
  amperes: {type: Gain, in: idle}
  angles:  {type: Gain, k: ["${1 / 100}", "${-1 / 120}", "${1 / 80}", "${1 / 2000}"], in: motors}
  efforts: {type: Gain, k: ["${100 * 0.11}", "${-120 * 0.11}", "${80 * 0.09}", "${2000 * 0.05}"], in: amperes}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 15, in: angles}
  ls: {type: LeastSquares, model: robot, decimate: 5, drop_slow: 0.02,
       in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: efforts}}
record:
  time: {column: time_ms, unit: ms}
  signals:
    motors: {column: [m1, m2, m3, m4], unit: deg}
    amperes: [i1, i2, i3, i4]
"""


def pinocchio_arm(pin, rng):
    """Four bodies of six points each, about the frames of the table; the last one slides."""
    model, parent = pin.Model(), 0
    for j, (alpha, a, theta, d) in enumerate(DH):
        (ca, sa), (ct, st) = (np.cos(alpha), np.sin(alpha)), (np.cos(theta), np.sin(theta))
        turn = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
        pose = pin.SE3(turn @ np.array([[ct, -st, 0], [st, ct, 0], [0, 0, 1]]), np.array([a, 0, 0]) + turn @ [0, 0, d])
        parent = model.addJoint(parent, pin.JointModelPZ() if j == 3 else pin.JointModelRZ(), pose, f"j{j}")
        mass, spots = 8 * (1 - 0.2 * j) ** 2, rng.normal(size=(6, 3)) * 0.1
        spots -= spots.mean(0)
        inertia = sum(mass / 6 * (s @ s * np.eye(3) - np.outer(s, s)) for s in spots)
        model.appendBodyToJoint(parent, pin.Inertia(mass, rng.uniform(-0.1, 0.1, 3), inertia), pin.SE3.Identity())
    return model


def write_record(path, pin, model, rng, seed):
    """Fourier series in every joint; 3 % of noise on the amperes, encoders of 0.02 degrees of the motor."""
    t, w = 4e-3 * np.arange(ROWS), 2 * np.pi / 10 * np.arange(1, 6)
    shares = np.random.default_rng(seed).normal(size=(2, 5, 4)) * [0.45, 0.45, 0.45, 0.15] / np.arange(1, 6)[:, None] ** 0.7
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    q = c @ shares[0] + s @ shares[1]
    qd, qdd = (s * -w) @ shares[0] + (c * w) @ shares[1], (c * -(w**2)) @ shares[0] + (s * -(w**2)) @ shares[1]
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)]) + IA * qdd + FV * qd + FC * np.sign(qd)
    tau += rng.normal(size=tau.shape) * 0.03 * np.std(tau, axis=0)
    motors = np.round(np.degrees(q * N) / 0.02) * 0.02
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["time_ms", *(f"m{j}" for j in range(1, 5)), *(f"i{j}" for j in range(1, 5))])
        table.writerows(np.column_stack([1000 * t, motors, tau / (N * KT)]).tolist())


def test_a_strangers_arm_is_identified_from_its_kinematics(tmp_path):
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(5)
    model = pinocchio_arm(pin, rng)
    (tmp_path / "arm.yaml").write_text(ARM)
    for name, seed in (("first", 11), ("second", 12)):
        write_record(tmp_path / f"{name}.csv", pin, model, rng, seed)
    record = bs.identify(tmp_path / "arm.yaml", tmp_path / "first.csv")
    found = record.estimates["ls"]
    assert len(found) == found.details["rank"] == 33 and found.details["relative_error"] < 2
    truth = {"M4": 8 * 0.4**2, **{f"Fv{j + 1}": FV[j] for j in range(4)}, **{f"Fc{j + 1}": FC[j] for j in range(4)}, "Ia3": IA[2]}
    for name, value in truth.items():
        assert found[name].value == pytest.approx(value, abs=4 * found[name].std + 0.01 * value), name
    entry = bs.validate(tmp_path / "arm.yaml", tmp_path / "second.csv", estimates=found, mode="inverse").entries[0]
    assert entry.relative_error < 0.05  # 3 % of it is noise
