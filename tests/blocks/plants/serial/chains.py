"""Chains for the tests: random ones, and the same in pinocchio, whose joints turn about z of frames of modified DH parameters."""

import math

import numpy as np
import pinocchio as pin

from blocks.plants.serial.chain import INERTIAL, chain_of

HALF = math.pi / 2
TX40 = [
    {},
    {"alpha": -HALF, "theta": -HALF},
    {"a": 0.225, "d": 0.035, "theta": HALF},
    {"alpha": HALF, "d": 0.225},
    {"alpha": -HALF},
    {"alpha": HALF, "theta": math.pi},
]
WRIST = [[float(i == j or (i, j) == (5, 4)) for j in range(6)] for i in range(6)]


def body(random):
    """Ten numbers of a body made of points: physical by construction."""
    points, masses = random.normal(size=(6, 3)) * 0.2, random.uniform(0.1, 1.0, 6)
    J = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    moment = masses @ points
    return dict(zip(INERTIAL, [J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *moment, masses.sum()], strict=True))


def random_rows(joints, random):
    rows = []
    for _ in range(joints):
        angles = random.choice([0.0, HALF, -HALF, random.uniform(-3, 3)]), random.uniform(-3, 3)
        row = {
            "alpha": float(angles[0]),
            "theta": float(angles[1]),
            "a": float(random.normal() * 0.3),
            "d": float(random.normal() * 0.3),
        }
        rows.append(
            {
                **row,
                "joint": "prismatic" if random.uniform() < 0.3 else "revolute",
                **{k: float(v) for k, v in body(random).items()},
            }
        )
    return rows


def pinocchio_model(rows, gravity):
    """The same robot, from the definition of modified DH parameters."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(gravity, dtype=float), np.zeros(3))
    parent = 0
    for k, row in enumerate(rows):
        alpha, a, theta, d = (row.get(key, 0.0) for key in ("alpha", "a", "theta", "d"))
        about_x = pin.SE3(pin.utils.rotate("x", alpha), np.zeros(3)) * pin.SE3(np.eye(3), np.array([a, 0.0, 0.0]))
        place = about_x * pin.SE3(pin.utils.rotate("z", theta), np.array([0.0, 0.0, d]))
        joint = pin.JointModelPZ() if row.get("joint") == "prismatic" else pin.JointModelRZ()
        parent = model.addJoint(parent, joint, place, f"joint{k + 1}")
        XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = (row[symbol] for symbol in INERTIAL)
        dynamic = np.array([M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ])  # pinocchio's own order
        model.appendBodyToJoint(parent, pin.Inertia.FromDynamicParameters(dynamic), pin.SE3.Identity())
    return model


def numbers(rows, names):
    """The values of XX1, ... in the order of these names."""
    return [float(rows[int(name[len(name.rstrip("0123456789")) :]) - 1].get(name.rstrip("0123456789"), 0.0)) for name in names]


def chain(rows, gravity=(0.0, 0.0, -9.81), coupling=None):
    return chain_of(rows, gravity, coupling)
