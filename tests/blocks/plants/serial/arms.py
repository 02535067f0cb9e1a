"""An arm of three joints for the tests, its energy by the definition, and runs of it from Python."""

import math

import numpy as np

import blocksim as bs
from blocks import LIBRARY
from blocks.plants.serial.robot import SerialRobot

EXACT = {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12, "every": 0.05}


def driven(robot, tau, params=None, **options):
    """A run of a robot under constant efforts, from Python."""
    diagram = bs.Diagram()
    diagram.add("tau", LIBRARY["Constant"](value=tau))
    diagram.add("robot", robot, inputs="tau")
    return bs.simulate(diagram, params=params, **{"stop": 1.0, **EXACT, **options})


def tumbling(joints, params=None, **more):
    return driven(SerialRobot(joints=joints, **more), [0.0] * len(joints), params)


def solid(mass, x, y, z, **row):
    """A row with a point mass and a small ball at its centre: a body that can be."""
    J = mass * ((x * x + y * y + z * z) * np.eye(3) - np.outer([x, y, z], [x, y, z])) + 0.004 * mass * np.eye(3)
    values = {"XX": J[0, 0], "XY": J[0, 1], "XZ": J[0, 2], "YY": J[1, 1], "YZ": J[1, 2], "ZZ": J[2, 2]}
    return {**row, **values, "MX": mass * x, "MY": mass * y, "MZ": mass * z, "M": mass}


ARM = [solid(3.0, 0.0, 0.05, 0.1), solid(2.0, 0.2, 0.0, 0.03, alpha=-math.pi / 2), solid(1.0, 0.1, 0.02, 0.0, a=0.4, d=0.1)]


def energy(q, qd):
    """By finite differences of places: nothing of the robot's own code."""
    h, total = 1e-6, 0.0
    for j, row in enumerate(ARM):
        centre = np.array([row["MX"], row["MY"], row["MZ"], row["M"]]) / row["M"]
        pose, later, before = (pose_of(q + s * h * np.asarray(qd), j) for s in (0, 1, -1))
        speed = ((later - before) @ centre / (2 * h))[:3]
        turning = (later - before)[:3, :3] / (2 * h) @ pose[:3, :3].T
        w = np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
        total += row["M"] * (speed @ speed / 2 + 0.004 * w @ w / 2 + 9.81 * (pose @ centre)[2])
    return total


def pose_of(q, last):
    pose = np.eye(4)
    for row, angle in zip(ARM[: last + 1], q, strict=False):
        ca, sa = math.cos(row.get("alpha", 0.0)), math.sin(row.get("alpha", 0.0))
        c, s, a, d = math.cos(angle), math.sin(angle), row.get("a", 0.0), row.get("d", 0.0)
        pose = pose @ np.array([[c, -s, 0, a], [ca * s, ca * c, -sa, -sa * d], [sa * s, sa * c, ca, ca * d], [0, 0, 0, 1]])
    return pose
