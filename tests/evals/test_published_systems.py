"""Whole systems from the literature against scipy's solve_ivp at rtol 1e-11, and against published values."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import blocksim as bs
from blocksim.contract.block import Block, inport, outport, param, state
from blocksim.contract.vocabulary import sin, tanh


class VanDerPol(Block):
    """x'' = mu (1 - x^2) x' - x: van der Pol's oscillator, stiff for large mu."""

    mu: float = param(1.0, "damping")
    y = outport("position")
    x: float = state(2.0, "position")
    v: float = state(0.0, "speed")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x, v, mu):
        return v, mu * (1.0 - x * x) * v - x


class Robertson(Block):
    """Robertson's chemical reactions, rates 0.04, 1e4 and 3e7 (Hairer & Wanner, Solving ODEs II, IV.1)."""

    y = outport("concentrations", size=3)
    c: list = state([1.0, 0.0, 0.0], "concentrations", size=3)

    @staticmethod
    def output(c):
        return c

    @staticmethod
    def derivative(c):
        forth = 0.04 * c[0]
        back = 1e4 * c[1] * c[2]
        third = 3e7 * c[1] * c[1]
        return back - forth, forth - back - third, third


class Pendulum(Block):
    """J q'' = tau - g sin q - Fv q' - Fc tanh(q' / v0): a pendulum with Coulomb friction, smoothed below v0."""

    J: float = param(0.02, "inertia", "kg m^2", above=0)
    g: float = param(0.3, "weight times lever", "N m")
    Fv: float = param(0.005, "viscous friction", "N m s/rad")
    Fc: float = param(0.02, "Coulomb friction", "N m")
    v0: float = param(0.05, "speed below which friction is smoothed", "rad/s", above=0)
    tau = inport("torque", "N m", optional=True)
    angle = outport("angle", "rad")
    q: float = state(2.5, "angle", "rad")
    w: float = state(0.0, "speed", "rad/s")

    @staticmethod
    def output(q):
        return q

    @staticmethod
    def derivative(q, w, tau, J, g, Fv, Fc, v0):
        return w, (tau - g * sin(q) - Fv * w - Fc * tanh(w / v0)) / J


def alone(block):
    made = bs.Diagram(type(block).__name__)
    made.add("plant", block)
    return made


def driven_robot():
    made = bs.Diagram("two-mass robot")
    made.add("slow", "Sine", amplitude=3.0, frequency=0.8)
    made.add("fast", "Sine", amplitude=2.0, frequency=6.3, phase=0.4)
    made.add("torque", "Sum", inputs=["slow", "fast"])
    made.add("plant", "TwoMassRobot", inputs="torque")
    return made


def robot_equations(t, x):
    """(4.6a) to (4.6d) as printed, with the values of Table 7.1."""
    Jm, Ja, Fv, Fc, k1, k3, d, r = 1.21e-2, 1.13e3, 1.30e-2, 6.44e-1, 1.46e6, 3.72e10, 2.63e3, 4.46e-3
    u = 3.0 * np.sin(2 * np.pi * 0.8 * t) + 2.0 * np.sin(2 * np.pi * 6.3 * t + 0.4)
    x1, x2, x3, x4 = x
    return [
        x2,
        (-Fv * x2 - Fc * np.tanh(x2) - r * d * (r * x2 - x4) - r * k1 * (r * x1 - x3) - r * k3 * (r * x1 - x3) ** 3 + u) / Jm,
        x4,
        (d * (r * x2 - x4) + k1 * (r * x1 - x3) + k3 * (r * x1 - x3) ** 3) / Ja,
    ]


def pendulum_equations(t, x):
    return [x[1], (-0.3 * np.sin(x[0]) - 0.005 * x[1] - 0.02 * np.tanh(x[1] / 0.05)) / 0.02]


SYSTEMS = {
    # diagram, signal, its index among the states, right side, initial states, length of the run
    "van der Pol": (lambda: alone(VanDerPol()), "plant", 0, lambda t, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]], [2.0, 0.0], 12.0),
    "two-mass robot": (driven_robot, "plant.w_m", 1, robot_equations, [0.0] * 4, 1.5),
    "pendulum": (lambda: alone(Pendulum()), "plant", 0, pendulum_equations, [2.5, 0.0], 4.0),
}


@cache
def reference(name):
    """DOP853 at rtol 1e-11 on a grid of 100 intervals."""
    _, _, index, right, x0, stop = SYSTEMS[name]
    t = np.linspace(0, stop, 101)
    found = solve_ivp(right, (0, stop), x0, method="DOP853", t_eval=t, rtol=1e-11, atol=1e-13)
    assert found.success
    return found.y[index]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    ("solver", "options", "relative"),
    [
        ("dopri5", {"rtol": 1e-10, "atol": 1e-12}, 1e-8),
        ("rodas4", {"rtol": 1e-9, "atol": 1e-11}, 1e-7),
        ("rk4", {"step": "1/2000"}, 1e-7),
        ("heun", {"step": "1/2000"}, 3e-4),
        ("euler", {"step": "1/4000"}, 4e-2),
    ],
)
def test_every_solver_agrees_with_scipy(name, solver, options, relative):
    make, signal, _, _, _, stop = SYSTEMS[name]
    record = bs.simulate(make(), stop=stop, every=stop / 100, solver=solver, engine="python", **options)
    truth = reference(name)
    assert np.max(np.abs(record[signal] - truth)) < relative * np.max(np.abs(truth))


@pytest.mark.parametrize("solver", ["scipy:DOP853", "scipy:Radau"])
def test_the_bridge_to_scipy_agrees_with_scipy(solver):
    record = bs.simulate(driven_robot(), stop=1.5, every=0.015, solver=solver, rtol=1e-9, atol=1e-11)
    truth = reference("two-mass robot")
    assert np.max(np.abs(record["plant.w_m"] - truth)) < 1e-6 * np.max(np.abs(truth))


def test_stiff_van_der_pol_meets_the_published_value_with_little_work():
    # Test Set for IVP Solvers (Mazzia & Magherini), problem VDPOL in unscaled time, mu = 1000: y(2000) = 1.706167732170469.
    # An explicit method needs steps of about 1/mu where the solution hardly moves: 10^6 evaluations and more.
    record = bs.simulate(alone(VanDerPol(mu=1000)), stop=2000, solver="rodas4", rtol=1e-8, atol=1e-8, engine="python")
    assert record["plant"][-1] == pytest.approx(1.706167732170469, rel=1e-6)
    assert record.provenance["work"]["evaluations"] < 25000


def test_stiff_van_der_pol_agrees_with_scipy_along_the_way():
    right = lambda t, x: [x[1], 1000 * (1 - x[0] ** 2) * x[1] - x[0]]
    t = np.linspace(0, 800, 81)
    truth = solve_ivp(right, (0, 800), [2.0, 0.0], method="Radau", t_eval=t, rtol=1e-10, atol=1e-12).y[0]
    record = bs.simulate(alone(VanDerPol(mu=1000)), stop=800, every=10, solver="rodas4", rtol=1e-9, atol=1e-11, engine="python")
    assert record["plant"] == pytest.approx(truth, rel=1e-6)


def test_robertson_meets_the_published_values_over_eleven_decades():
    # Test Set for IVP Solvers, problem ROBER: the concentrations at t = 1e11.
    record = bs.simulate(
        alone(Robertson()), stop=1e11, solver="rodas4", rtol=1e-8, atol=1e-14, max_step=1e11, every=1e10, engine="python"
    )
    assert record["plant"][-1] == pytest.approx([0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050], rel=1e-7)
    assert record.provenance["work"]["evaluations"] < 20000
    assert np.max(np.abs(record["plant"].sum(axis=1) - 1)) < 1e-10  # mass is conserved


def test_robertson_agrees_with_scipy_at_its_start():
    right = lambda t, c: [1e4 * c[1] * c[2] - 0.04 * c[0], 0.04 * c[0] - 1e4 * c[1] * c[2] - 3e7 * c[1] ** 2, 3e7 * c[1] ** 2]
    t = np.linspace(0, 40, 41)
    truth = solve_ivp(right, (0, 40), [1.0, 0.0, 0.0], method="Radau", t_eval=t, rtol=1e-11, atol=1e-16).y.T
    for solver, options, relative in (
        ("rodas4", {"rtol": 1e-9, "atol": 1e-13}, 1e-6),
        ("dopri5", {"rtol": 1e-8, "atol": 1e-12}, 1e-5),
    ):
        record = bs.simulate(alone(Robertson()), stop=40, every=1, solver=solver, engine="python", **options)
        assert record["plant"] == pytest.approx(truth, rel=relative)
