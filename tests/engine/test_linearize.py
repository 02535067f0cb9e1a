"""linearize() and operating_point() against closed forms, scipy.signal and python-control."""

import sys

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

import blocksim as bs
from blocksim.differences import jacobian
from blocksim.errors import BlocksimError, DiagramError
from blocksim.linearize import bode

PI = "basics/pi_loop.yaml"


class Joint(bs.Block):
    """J q'' = tau - Fv q' - g sin q: a joint under gravity."""

    J: float = bs.param(0.5, "inertia", "kg m^2", above=0)
    Fv: float = bs.param(0.2, "viscous friction", "N m s/rad")
    g: float = bs.param(3.0, "gravity torque when horizontal", "N m")
    tau = bs.inport("torque", "N m")
    q_out = bs.outport("angle", "rad")
    qd_out = bs.outport("speed", "rad/s")
    q: float = bs.state(0.0, "angle", "rad")
    qd: float = bs.state(0.0, "speed", "rad/s")

    @staticmethod
    def output(q, qd):
        return q, qd

    @staticmethod
    def derivative(q, qd, tau, J, Fv, g):
        return qd, (tau - Fv * qd - g * sin(q)) / J  # noqa: F821


def sin(x):
    import math

    return math.sin(x)


def joint(**settings):
    d = bs.Diagram("joint")
    d.add("u", "Constant", value=0.0)
    d.add("joint", Joint(**settings), inputs="u")
    return d
