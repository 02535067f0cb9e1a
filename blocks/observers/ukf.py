"""Unscented Kalman filters: states, or states and parameters, of plants whose derivatives say little, by sigma points."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocksim.contract.block import fixed, memory, outport, param, table
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import (
    alongside,
    array,
    chained,
    chosen,
    diagonal,
    divide,
    multiply,
    part,
    rows,
    sqrt,
    stack,
    subtract,
    transpose,
    zeros,
)

from .correction import sigmas_of
from .ekf import StateFilter, believed, first_variances, noise_variances, noisy
from .joint_ekf import JointFilter, first_joint_variances
from .observed import equations_of, known_plant, reading_variance, spread_over
from .rpem import limits
from .sigma_points import after_points, deviations_from, flowed, plain_laws, point_weights, points, triangular

__all__ = ["UKF", "JointUKF"]


def reach_of(weights):
    """How many standard deviations the points stand from the middle: sqrt(N + kappa)."""
    return sqrt(0.5 / weights[1])


def with_point(values, theta, spots, lowest, highest, d):
    """The plant's parameters with those of a point in their places, as far as the plant allows them."""
    own = array(values)
    for k in range(d):
        own[spots[k]] = min(max(theta[k], lowest[k]), highest[k])
    return own


class UKF(StateFilter):
    """x[k+1] = f(x, u, beta (1 + w)), y = h(x) + v by sigma points: the square-root unscented Kalman filter of a plant.

    What the EKF is told, and gives (see there), without its derivatives: 2 (n + d) + 1 points, the state and the d noisy
    parameters of its inverse model at so many standard deviations to either side, go through the equations themselves
    (Julier and Uhlmann 1997; van der Merwe and Wan 2001). Use it where a derivative says little of what happens a standard
    deviation away: in a gap, at a friction that jumps, on hysteresis. On a linear plant it is Kalman's filter.

    The points stand sqrt(N + kappa) standard deviations apart. `kappa` is 3 - N unless given, and never below 0: so no weight is
    negative, and P, carried by its triangular factor L (`factors`), is a sum of squares. Points of parameters stop at the limits
    the plant sets, so that with a large `sigma_w2` no mass becomes negative.
    """

    icon = (
        "0.74,0.5 0.71,0.71 0.62,0.86 0.5,0.91 0.38,0.86 0.29,0.71 0.26,0.5 0.29,0.29 0.38,0.14 0.5,0.09 "
        "0.62,0.14 0.71,0.29 0.74,0.5; 0.54,0.5 0.5,0.57 0.46,0.5 0.5,0.43 0.54,0.5; 0.15,0.5 0.12,0.57 0.08,0.5 "
        "0.12,0.43 0.15,0.5; 0.92,0.5 0.88,0.57 0.85,0.5 0.88,0.43 0.92,0.5"
    )
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [4.0, -2.0], b: [1.0, 2.0]}
  error:   {type: Sum, signs: "+-", in: [ref.q, ukf.q_hat]}
  pid:     {type: PID, Ts: 1e-3, kp: 1.0, ki: 10.0, kd: 0.025, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 2000, in: joint.q}
  ukf:     {type: UKF, Ts: 1e-3, model: joint, factor: 0.9, sigma_w2: 0.01, in: {y: encoder, u: pid}}
"""

    noisy_spots = fixed((), "places of the noisy parameters among all")

    kappa: Any = param(None, "how far apart the points stand: sqrt(N + kappa) standard deviations; 3 - N, or 0", min=0)

    factors = outport("factor L of P = L L^T, row by row", size="nn")

    weights = table("weights of the points of the state")
    spread_weights = table("weights of the points of state and parameters")
    sigmas = table("standard deviation of each reading")
    jitter = table("standard deviations of the noisy parameters")
    wander = table("standard deviations of what is added to the state")
    lowest = table("least value of each noisy parameter")
    highest = table("greatest value of each noisy parameter")
    L_next: Any = memory(0.0, "factor of the predicted covariance, row by row", size="nn", array=True, internal=True)

    @staticmethod
    def output(y, x_next, L_next, rate, readings, weights, sigmas, values, n, m, speeds):
        X = points(x_next, rows(L_next, n, n), reach_of(weights), n)
        Y = zeros(2 * n + 1, m)
        for k in range(2 * n + 1):
            Y[k] = readings(X[k], X[k], values)
        x, L, e, nis, K = after_points(x_next, X, Y, y, weights, sigmas, n, m, 2 * n + 1)
        return x, multiply(L, transpose(L)), e, nis, K, L, x, chosen(rate, speeds)

    @staticmethod
    def update(
        x_hat, factors, u, x_next, L_next, rate, rates, values,
        spread_weights, jitter, wander, lowest, highest, Ts, n, d, noisy_spots, turns,
    ):  # fmt: skip
        N = n + d
        L = stack(alongside(rows(factors, n, n), zeros(n, d)), alongside(zeros(d, n), diagonal(jitter)))
        X = points(chained(x_hat, chosen(values, noisy_spots)), L, reach_of(spread_weights), N)
        Y = zeros(2 * N + 1, n)
        for k in range(2 * N + 1):
            own = with_point(values, part(X[k], n, d), noisy_spots, lowest, highest, d)
            Y[k] = flowed(rates, part(X[k], 0, n), u, own, Ts, n, turns)
        x = multiply(transpose(Y), spread_weights)
        A = deviations_from(Y, x, spread_weights, 2 * N + 1, n)
        L_new = triangular(alongside(A, diagonal(wander)), n, 2 * N + 1 + n)
        return {"x_next": x, "L_next": L_new, "rate": divide(subtract(x, x_hat), Ts)}

    @staticmethod
    def table_weights(kappa, n):
        return point_weights(kappa, n)

    @staticmethod
    def table_spread_weights(kappa, n, d):
        return point_weights(kappa, n + d)

    @staticmethod
    def table_sigmas(R, sensor, m):
        return np.sqrt(reading_variance(R, sensor, m))

    @staticmethod
    def table_jitter(model, parameters, factor, sigma_w2):
        return np.sqrt(noise_variances(*believed(model, parameters, factor), sigma_w2))

    @staticmethod
    def table_wander(model, parameters, Q):
        return np.sqrt(spread_over(Q, equations_of(known_plant(model, parameters)).states, "Q"))

    @staticmethod
    def table_lowest(model, parameters):
        return noisy_limits(known_plant(model, parameters))[0]

    @staticmethod
    def table_highest(model, parameters):
        return noisy_limits(known_plant(model, parameters))[1]

    @staticmethod
    def table_L_next(model, parameters, measures, P0, R, sensor, m):
        return np.diag(np.sqrt(first_variances(model, parameters, measures, P0, R, sensor, m)))

    def laws(self, plant: Plant, ports: tuple[str, ...], moving: list[str]) -> dict[str, Any]:
        spots = tuple(equations_of(plant).parameters.index(name) for name in moving)
        return {"noisy_spots": spots, **plain_laws(plant, ports)}


def noisy_limits(plant: Plant) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value of each parameter that process noise multiplies."""
    names = noisy(plant, equations_of(plant))
    return limits(plant, names) if names else (np.zeros(0), np.zeros(0))


class JointUKF(JointFilter):
    """z = (x, theta), x[k+1] = f(x, u, theta) + v, theta[k+1] = theta, by sigma points: states and parameters together.

    What the JointEKF is told, and gives (see there), without its derivatives: 2 N + 1 points of states and parameters go through
    the equations themselves, as the UKF's do. Points of parameters stop at the limits the plant sets. `P0_parameters` should
    not be larger than what is believed: points stand sqrt(N + kappa) of its standard deviations from the start.
    """

    icon = (
        "0.74,0.5 0.71,0.71 0.62,0.86 0.5,0.91 0.38,0.86 0.29,0.71 0.26,0.5 0.29,0.29 0.38,0.14 0.5,0.09 "
        "0.62,0.14 0.71,0.29 0.74,0.5; 0.54,0.5 0.5,0.57 0.46,0.5 0.5,0.43 0.54,0.5; 0.15,0.5 0.12,0.57 0.08,0.5 "
        "0.12,0.43 0.15,0.5; 0.92,0.5 0.88,0.57 0.85,0.5 0.88,0.43 0.92,0.5"
    )
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [4.0, -2.0], b: [1.0, 2.0]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 1.0, ki: 10.0, kd: 0.025, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 20000, noise_std: 1, in: joint.q}
  ukf:     {type: JointUKF, Ts: 1e-3, model: joint, factor: 0.9, Q: 0, discretisation: rk4,
            P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5], in: {y: encoder, u: pid}}
"""

    kappa: Any = param(None, "how far apart the points stand: sqrt(N + kappa) standard deviations; 3 - N, or 0", min=0)

    factors = outport("factor L of P = L L^T, row by row", size="NN")

    weights = table("weights of the points")
    sigmas = table("standard deviation of each reading")
    wander = table("standard deviations of what is added to states and parameters")
    lowest = table("least value of each parameter")
    highest = table("greatest value of each parameter")
    L_next: Any = memory(0.0, "factor of the predicted covariance, row by row", size="NN", array=True, internal=True)

    @staticmethod
    def output(y, z_next, L_next, values, readings, weights, sigmas, lowest, highest, n, d, N, m, spots):
        X = points(z_next, rows(L_next, N, N), reach_of(weights), N)
        Y = zeros(2 * N + 1, m)
        for k in range(2 * N + 1):
            own = with_point(values, part(X[k], n, d), spots, lowest, highest, d)
            Y[k] = readings(X[k], X[k], own)
        z, L, e, nis, K = after_points(z_next, X, Y, y, weights, sigmas, N, m, 2 * N + 1)
        P = multiply(L, transpose(L))
        return z, sigmas_of(P, N), P, e, nis, K, L, z

    @staticmethod
    def update(
        x_hat, theta, factors, u, z_next, L_next, rates, values, weights, wander, lowest, highest, Ts, n, d, N, spots, turns
    ):
        X = points(chained(x_hat, theta), rows(factors, N, N), reach_of(weights), N)
        Z = zeros(2 * N + 1, N)
        for k in range(2 * N + 1):
            p = part(X[k], n, d)
            own = with_point(values, p, spots, lowest, highest, d)
            Z[k] = chained(flowed(rates, part(X[k], 0, n), u, own, Ts, n, turns), p)
        z = multiply(transpose(Z), weights)
        A = deviations_from(Z, z, weights, 2 * N + 1, N)
        return {"z_next": z, "L_next": triangular(alongside(A, diagonal(wander)), N, 2 * N + 1 + N)}

    @staticmethod
    def table_weights(kappa, N):
        return point_weights(kappa, N)

    @staticmethod
    def table_sigmas(R, sensor, m):
        return np.sqrt(reading_variance(R, sensor, m))

    @staticmethod
    def table_wander(model, parameters, estimate, Q, Q_parameters):
        return np.sqrt(JointFilter.functions["table_drift"](model, parameters, estimate, Q, Q_parameters))

    @staticmethod
    def table_lowest(model, parameters, estimate):
        return limits(known_plant(model, parameters), estimate)[0]

    @staticmethod
    def table_highest(model, parameters, estimate):
        return limits(known_plant(model, parameters), estimate)[1]

    @staticmethod
    def table_L_next(model, parameters, estimate, P0, P0_parameters):
        return np.diag(np.sqrt(first_joint_variances(model, parameters, estimate, P0, P0_parameters)))

    def arithmetic(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        return plain_laws(plant, ports)
