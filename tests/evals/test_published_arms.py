"""Published kinematics of two arms, records as their makers' interfaces give them: identified as docs/serial-robots.md says.

The records are pinocchio's, with friction that no law of ours is: stronger one way than the other, falling with the speed at
first (Stribeck), then rising less than in proportion. What is left on a second trajectory has to be the noise that was put in.
"""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

H = math.pi / 2
#: theta, d, a, alpha of the maker's classical table.
UR10E = [(0, 0.1807, 0, H), (0, 0, -0.6127, 0), (0, 0, -0.57155, 0), (0, 0.17415, 0, H), (0, 0.11985, 0, -H), (0, 0.11655, 0, 0)]
#: alpha, a, theta, d of the maker's modified table.
PANDA = [
    (0, 0, 0, 0.333),
    (-H, 0, 0, 0),
    (H, 0, 0, 0.316),
    (H, 0.0825, 0, 0),
    (-H, -0.0825, 0, 0.384),
    (H, 0, 0, 0),
    (H, 0.088, 0, 0),
]
TABLE = "theta, d [mm], a [mm], alpha [deg]\n" + "\n".join(
    f"{theta}, {1000 * d:.6g}, {1000 * a:.6g}, {math.degrees(alpha):.6g}" for theta, d, a, alpha in UR10E
)
UR_FILE = """format: 1
blocks:
  current: {type: Constant, value: [0, 0, 0, 0, 0, 0]}
  torque:  {type: Gain, k: [12.5, 12.5, 9.8, 10.1, 10.2, 10.0], in: current}
  robot:   {type: SerialRobot, file: ur10e.csv, convention: classical, friction: sign, in: torque}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 10, in: robot.q}
  ls: {type: LeastSquares, model: robot, decimate: 5, drop_slow: 0.02,
       in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
record:
  time: 1
  resample: 0.01
  signals: {robot.q: [2, 3, 4, 5, 6, 7], current: [14, 15, 16, 17, 18, 19]}
"""
PANDA_FILE = """format: 1
blocks:
  torque: {type: Constant, value: [0, 0, 0, 0, 0, 0, 0]}
  robot:
    type: SerialRobot
    friction: sign
    joints: [ROWS]
    in: torque
  smooth: {type: IRWSmoother, order: 3, bandwidth: 15, in: robot.q}
  ls: {type: LeastSquares, model: robot, decimate: 5, drop_slow: 0.02,
       in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
record:
  every: 2e-3
  signals:
    robot.q: [q1, q2, q3, q4, q5, q6, q7]
    torque: [tau1, tau2, tau3, tau4, tau5, tau6, tau7]
""".replace("ROWS", ", ".join(f"{{alpha: {alpha}, a: {a}, theta: {theta}, d: {d}}}" for alpha, a, theta, d in PANDA))


def turned(pin, axis, angle):
    return pin.SE3(pin.utils.rotate(axis, float(angle)), np.zeros(3))


def moved(pin, x, z):
    return pin.SE3(np.eye(3), np.array([x, 0.0, z], dtype=float))


def model_of(pin, places, masses, random):
    """Bodies of six points each on joints that turn about z, at these places in the joint before."""
    model, parent = pin.Model(), 0
    for place, mass in zip(places, masses, strict=True):
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"j{parent}")
        spots = random.normal(size=(6, 3)) * 0.08
        spots -= spots.mean(0)
        inertia = sum(mass / 6 * (s @ s * np.eye(3) - np.outer(s, s)) for s in spots)
        model.appendBodyToJoint(parent, pin.Inertia(mass, random.uniform(-0.1, 0.1, 3), inertia), pin.SE3.Identity())
    return model


def classical_places(pin):
    far = [moved(pin, a, d) * turned(pin, "x", alpha) for _, d, a, alpha in UR10E]
    return [before * turned(pin, "z", row[0]) for before, row in zip([pin.SE3.Identity(), *far[:-1]], UR10E, strict=True)]


def modified_places(pin):
    return [turned(pin, "x", alpha) * moved(pin, a, 0) * turned(pin, "z", th) * moved(pin, 0, d) for alpha, a, th, d in PANDA]


def swing(t, middle, reach, seed):
    """Six sines of each joint, faded in and out; position, speed and acceleration."""
    random = np.random.default_rng(seed)
    w = 2 * np.pi / 20 * np.arange(1, 9)
    shares = random.normal(size=(2, 8, len(middle))) / np.arange(1, 9)[:, None] ** 0.6

    def place(t):
        u = np.clip(np.minimum(t - 1.0, t[-1] - 1.0 - t) / 2, 0, 1)[:, None]
        fade = u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)
        return middle + fade * np.asarray(reach) / 4 * (np.cos(np.outer(t, w)) @ shares[0] + np.sin(np.outer(t, w)) @ shares[1])

    h = 1e-4
    ahead, here, behind = (place(np.r_[t + k * h, t[-1]])[:-1] for k in (1, 0, -1))
    return here, (ahead - behind) / (2 * h), (ahead - 2 * here + behind) / h**2


def friction(qd, Fv, Fc, offset):
    """Not the law that is fitted: 6 % stronger forward, 10 % more near rest, less than viscous at speed."""
    dry = Fc * (1 + 0.06 * np.sign(qd)) * (1 + 0.1 * np.exp(-((qd / 0.05) ** 2)))
    return dry * np.sign(qd) + Fv * np.sign(qd) * np.abs(qd) ** 0.9 + offset


def efforts(pin, model, motion, drive):
    data = model.createData()
    inertia, *losses = drive
    tau = np.array([pin.rnea(model, data, *row) for row in zip(*motion, strict=True)])
    return tau + inertia * motion[2] + friction(motion[1], *losses)


def noise_floor(clean, measured, qd):
    """The relative error that a perfect model would have, joint by joint, on the rows that count."""
    fast = np.abs(qd) >= 0.02 * np.abs(qd).max(axis=0)
    rest = measured - clean
    return [float(np.linalg.norm(rest[f, j]) / np.linalg.norm(measured[f, j])) for j, f in enumerate(fast.T)]


def test_a_ur10e_by_its_classical_table_from_a_jittery_file_without_names(tmp_path):
    """100 Hz with steps of 8 to 12 ms, angles to 1e-4 rad, speeds that nobody needs, amperes, at rest at both ends."""
    pin = pytest.importorskip("pinocchio")
    random = np.random.default_rng(3)
    model = model_of(pin, classical_places(pin), [7.4, 13.0, 4.0, 2.1, 2.0, 0.6], random)
    drive = np.array(
        [[1.5, 1.5, 1.2, 0.3, 0.3, 0.3], [12, 14, 9, 2.2, 2.1, 1.8], [9, 11, 7, 1.8, 1.7, 1.5], [0.3, -0.5, 0.2, 0.1, 0, 0.05]]
    )
    constants = np.array([12.5, 12.5, 9.8, 10.1, 10.2, 10.0])
    (tmp_path / "ur10e.csv").write_text(TABLE)
    (tmp_path / "arm.yaml").write_text(UR_FILE)
    for name, seed in (("first", 1), ("second", 2)):
        t = np.round(np.cumsum(random.choice([0.010, 0.012, 0.008], p=[0.7, 0.15, 0.15], size=2600)), 3)
        motion = swing(t, [0, -1.57, 1.0, 0, 0, 0], [1.5, 1.2, 1.4, 2, 2, 2], seed)
        clean = efforts(pin, model, motion, drive)
        noisy = clean + random.normal(size=clean.shape) * 0.03 * np.std(clean, axis=0)
        columns = [200.743 + t, motion[0] + random.normal(size=clean.shape) * 5e-5, motion[1], noisy / constants]
        np.savetxt(tmp_path / f"{name}.csv", np.column_stack(columns), fmt="%.4f", delimiter=",")
    look = CliRunner().invoke(app, ["look", str(tmp_path / "first.csv")])
    assert "is it the time? --time 1" in look.output
    found = bs.identify(tmp_path / "arm.yaml", tmp_path / "first.csv").estimates["ls"]
    assert found.details["rank"] == len(found) == 58  # 36 of the links, Ia3 to Ia6, 18 of friction
    entry = bs.validate(tmp_path / "arm.yaml", tmp_path / "second.csv", found, mode="inverse")["ls.tau"]
    floor = np.array(noise_floor(clean, noisy, motion[1]))
    assert np.all(np.array(entry.relative_errors) < 1.25 * floor), (entry.relative_errors, floor)
    assert entry.counted is not None and 0.05 < np.mean(~entry.counted) < 0.3  # rest at both ends


def test_a_panda_by_its_modified_table_and_torque_sensors(tmp_path):
    """500 Hz, no times in the file, torques of sensors in steps of 0.036 N m, positions to 1e-6 rad."""
    pin = pytest.importorskip("pinocchio")
    random = np.random.default_rng(4)
    model = model_of(pin, modified_places(pin), [5.0, 0.7, 3.2, 3.6, 1.2, 1.7, 1.5], random)
    drive = np.array(
        [[0] * 7, [0.3, 0.3, 0.3, 0.3, 0.15, 0.15, 0.15], [0.5, 0.6, 0.4, 0.5, 0.3, 0.25, 0.3], [0.1, 0.2, -0.1, 0.05, 0, 0.1, 0]]
    )
    (tmp_path / "arm.yaml").write_text(PANDA_FILE)
    names = [f"{symbol}{j}" for symbol in ("q", "tau") for j in range(1, 8)]
    for name, seed in (("first", 1), ("second", 2)):
        t = 2e-3 * np.arange(12_000)
        motion = swing(t, [0, -0.2, 0, -1.8, 0, 1.9, 0.4], [1.5, 0.9, 1.5, 0.8, 1.6, 1.2, 2.0], seed)
        clean = efforts(pin, model, motion, drive)
        noisy = np.round((clean + random.normal(size=clean.shape) * [0.12, 0.15, 0.1, 0.1, 0.04, 0.04, 0.04]) / 0.0357) * 0.0357
        angles = np.round(motion[0] + random.normal(size=clean.shape) * 1e-5, 6)
        np.savetxt(tmp_path / f"{name}.csv", np.column_stack([angles, noisy]), delimiter=",", header=",".join(names), comments="")
    found = bs.identify(tmp_path / "arm.yaml", tmp_path / "first.csv").estimates["ls"]
    assert found.details["rank"] == len(found) == 69  # 43 of the links, Ia3 to Ia7, 21 of friction
    assert all(abs(found[f"Ia{j}"].value) < 4 * found[f"Ia{j}"].std + 0.01 for j in range(3, 8))  # sensors sit behind the motors
    entry = bs.validate(tmp_path / "arm.yaml", tmp_path / "second.csv", found, mode="inverse")["ls.tau"]
    floor = np.array(noise_floor(clean, noisy, motion[1]))
    assert np.all(np.array(entry.relative_errors) < 1.1 * floor), (entry.relative_errors, floor)
