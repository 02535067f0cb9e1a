"""Unscented Kalman filters: Kalman's own on a linear plant, filterpy's on a nonlinear one, what square roots are for."""

from fractions import Fraction

import numpy as np
import pytest
from kalman import filtered, same

import blocksim as bs
from blocks.observers.sigma_points import after_points, point_weights, points, triangular
from blocks.observers.ukf import UKF

LOOP = """
format: 1
simulate: {{stop: 0.4, solver: rk4, step: 1e-3, seed: 3}}
blocks:
  push:  {{type: Sine, amplitude: 0.1, frequency: 1.5}}
  drive: {{type: ZeroOrderHold, Ts: 4e-3, in: push}}
  joint: {{type: GravityJoint, {joint} in: drive}}
  read:  {{type: TorqueSensor, std: 0.02, Ts: 4e-3, in: joint.q}}
  ukf:   {{type: {kind}, Ts: 4e-3, model: joint, R: 4e-4, x0: [0.1, 0.5], P0: [0.01, 0.3], {more} in: {{y: read, u: drive}}}}
"""


def ran(joint="", kind="UKF", more="", **settings):
    settings = {"engine": "python", **settings}
    return bs.simulate(LOOP.format(joint=joint, kind=kind, more=more), **settings)


def sampled(record, name):
    """A signal at the filter's samples."""
    return record[name][::4]


def every_sample(record):
    return {name: sampled(record, name) if len(record[name]) > 101 else record[name] for name in record}


@pytest.mark.parametrize("kappa", ["", "kappa: 0,", "kappa: 2.5,"])
def test_on_a_linear_plant_it_is_kalmans_filter(kappa):
    """J qdd + Fv qd = tau by Euler's rule, with noise in the state."""
    record = ran("Fc: 0, Ms: 0,", more=f"sigma_w2: 0, Q: [1e-6, 1e-3], {kappa}")
    J, Fv, Ts = 1.9e-4, 2e-4, 4e-3
    F, B = np.array([[1, Ts], [0, 1 - Ts * Fv / J]]), np.array([0, Ts / J])
    wanted = filtered(
        sampled(record, "read"),
        sampled(record, "drive"),
        lambda x, u: (F @ x + B * u, F, np.zeros((2, 1))),
        np.zeros((1, 1)),
        np.diag([1e-6, 1e-3]),
        np.array([[4e-4]]),
        np.array([0.1, 0.5]),
        np.diag([0.01, 0.3]),
        lambda x: (x[:1], np.eye(1, 2)),
    )
    same(every_sample(record), wanted, 1e-9, "ukf")


def test_on_a_nonlinear_plant_it_is_filterpys():
    """Euler's rule of a joint with gravity and friction; new points before each reading, and no noise in parameters."""
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    record = ran(more="sigma_w2: 0, Q: [1e-6, 1e-2],")
    p, Ts = {"J": 1.9e-4, "Fv": 2e-4, "Fc": 0.02, "Ms": 0.0133, "N": 15.0, "g": 9.81, "beta": 10.0}, 4e-3

    def step(x, dt, u):
        load = p["Ms"] * p["g"] * np.cos(x[0] / p["N"])
        return x + dt * np.array([x[1], (u - p["Fv"] * x[1] - p["Fc"] * np.tanh(p["beta"] * x[1]) - load) / p["J"]])

    # Six points to either side, of which the four of parameters without noise stay in the middle: the same as kappa = 4 of two.
    fan = MerweScaledSigmaPoints(2, alpha=1.0, beta=0.0, kappa=4.0)
    other = UnscentedKalmanFilter(2, 1, Ts, hx=lambda x: x[:1], fx=step, points=fan)
    other.x, other.P, other.R, other.Q = np.array([0.1, 0.5]), np.diag([0.01, 0.3]), np.array([[4e-4]]), np.diag([1e-6, 1e-2])
    for k, (y, u) in enumerate(zip(sampled(record, "read"), sampled(record, "drive"), strict=True)):
        other.sigmas_f = fan.sigma_points(other.x, other.P)
        other.update(np.array([y]))
        assert sampled(record, "ukf.x_hat")[k] == pytest.approx(other.x, rel=1e-8, abs=1e-10)
        assert sampled(record, "ukf.P")[k].reshape(2, 2) == pytest.approx(other.P, rel=1e-7, abs=1e-12)
        other.predict(u=u)


def test_noise_in_parameters_is_points_of_their_own():
    """From a known state, the spread of the next is that of 20 000 draws of the parameters, to their error."""
    record = bs.simulate(
        LOOP.format(joint="", kind="UKF", more="sigma_w2: 0.01,")
        .replace("P0: [0.01, 0.3]", "P0: [0, 0]")
        .replace("R: 4e-4", "R: 1e9"),
        engine="python",
        stop="8e-3",
    )
    draw = np.random.default_rng(5).standard_normal((4, 20000))
    J, Fv, Fc, Ms = (v * (1 + 0.1 * e) for v, e in zip((1.9e-4, 2e-4, 0.02, 0.0133), draw, strict=True))
    u = record["drive"][0]
    rate = (u - Fv * 0.5 - Fc * np.tanh(5.0) - Ms * 9.81 * np.cos(0.1 / 15)) / J
    speeds = 0.5 + 4e-3 * rate
    P = record["ukf.P"][4 if len(record["ukf.P"]) > 3 else 1].reshape(2, 2)
    assert np.sqrt(P[1, 1]) == pytest.approx(speeds.std(), rel=0.02)


def test_square_roots_keep_what_plain_arithmetic_loses():
    """Two nearly equal readings of a state that is hardly known (Bierman's example), against exact fractions."""
    small = 1e-9
    H = np.array([[1.0, small], [1.0, 1.0]])
    R, P = small**2, np.eye(2)
    exact = np.vectorize(Fraction)(P)
    x, L = np.zeros(2), np.eye(2)
    for h in H:
        X = points(x, L, np.sqrt(3.0), 2)
        weights = point_weights(None, 2)
        x, L, *_ = after_points(x, X, X @ h[:, None], np.zeros(1), weights, np.array([np.sqrt(R)]), 2, 1, 5)
        K = P @ h / (h @ P @ h + R)
        P = P - np.outer(K, h @ P)
        f = np.vectorize(Fraction)(h)
        exact = exact - np.outer(exact @ f, exact @ f) / (f @ exact @ f + Fraction(R))
    truth = exact.astype(float)
    root = np.array(L) @ np.array(L).T
    assert min(np.diag(P)) <= 0 or np.abs(P / truth - 1).max() > 0.5, "the plain form is lost"
    assert np.diag(root) == pytest.approx(np.diag(truth), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_triangular_factor(seed):
    A = np.random.default_rng(seed).standard_normal((4, 7))
    A[2] = A[1] if seed == 2 else A[2]  # a direction without variance of its own
    L = triangular(A, 4, 7)
    assert L @ L.T == pytest.approx(A @ A.T, abs=1e-12)
    assert np.array_equal(L, np.tril(L)) and (np.diag(L) >= 0).all()


def test_both_engines_give_the_same_bits():
    one, other = (bs.simulate(UKF.example, stop=0.05, engine=e) for e in ("python", "compiled"))
    assert all(np.array_equal(one[s], other[s]) for s in one)


def test_joint_estimation_of_a_linear_parameter_is_least_squares():
    """With a known state and J qdd = tau the estimates come to what JointEKF says, whose derivatives are exact."""
    more = "Q: 1e-8, P0_parameters: [1e-10, 1e-10], estimate: [J, Fv], factor: 0.95, discretisation: rk4,"
    ukf, ekf = (ran("Fc: 0, Ms: 0,", kind, more, engine="auto", stop=2) for kind in ("JointUKF", "JointEKF"))
    assert ukf["ukf.theta"][-1] == pytest.approx(ekf["ukf.theta"][-1], rel=2e-3)
    assert ukf["ukf.std"][-1] == pytest.approx(ekf["ukf.std"][-1], rel=0.02)
    assert (np.abs(ukf["ukf.theta"][-1] / [1.9e-4, 2e-4] - 1) < [0.01, 0.2]).all()
