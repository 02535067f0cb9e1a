"""Joint extended Kalman filter: the state of a plant and its parameters together, in plain or in factorised arithmetic."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from blocksim.contract.block import fixed, memory, outport, param, static, table
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import (
    add,
    alongside,
    block,
    chained,
    diagonal,
    divide,
    dot,
    identity,
    multiply,
    part,
    rows,
    scale,
    stack,
    subtract,
    transpose,
)

from .correction import after_readings, readings_of, sigmas_of
from .factors import bierman, recomposed, thornton, unit_upper, weights_of
from .observed import (
    ParameterObserver,
    chosen_parameters,
    equations_of,
    estimate_port,
    first_state,
    known_plant,
    port_like,
    port_name,
    reading_variance,
    spread_over,
    starting_plant,
    state_names,
    values_of,
    with_theta,
)
from .transition import rates_of, steps, steps_problem, transition

__all__ = ["JointEKF"]


def readings_and_slopes(reading, n, d, m):
    """Readings h of the plant, and H, their derivatives by states and parameters."""
    return part(reading, 0, m), alongside(rows(reading, m, n, m), rows(reading, m, d, m + m * n))


def gain_of(P, H, variances, K, m):
    """The gain of all readings at once, which is not made of the gains of one after another."""
    return divide(multiply(P, transpose(H)), variances) if m > 1 else K


class JointFilter(ParameterObserver):
    """A Kalman filter of a plant's state and parameters: what all such are told and give."""

    abstract = True

    Q: Any = param(1e-6, "variance added to the state in every sample, for all or one each", min=0, shape=(None,))
    Q_parameters: Any = param(0.0, "variance added to the parameters in every sample", min=0, shape=(None,))
    R: Any = param(None, "variance of a reading; the sensor's unless given", above=0, shape=(None,))
    P0: Any = param(0.1, "variances of the first state, for all or one each", min=0, shape=(None,))
    P0_parameters: Any = param(1.0, "variances of the first parameters, for all or one each", min=0, shape=(None,))
    discretisation: str = static("euler", "rule that carries the state to the next sample", choices=("euler", "rk4"))

    # What the plant decides; these stand for one state, measured, and one parameter.
    N = fixed(2, "states and parameters")
    NN = fixed(4, "elements of P")
    Nm = fixed(2, "elements of the gain")
    turns = fixed(0, "steps of order 4 per sample; 0 for Euler's rule")

    x_hat = outport("estimated state", size="n")
    theta = outport("estimated parameters", size="d")
    std = outport("standard deviations of states and parameters", size="N")
    P = outport("covariance of states and parameters, row by row", size="NN")
    innovation = outport("reading less its prediction", size="m")
    nis = outport("normalised innovation squared; its mean is the number of readings when the model is true")
    gain = outport("what a unit of innovation adds to each state and parameter, row by row", size="Nm")

    drift = table("variance added to each state and parameter")
    z_next: Any = memory(0.0, "predicted state and parameters", size="N", array=True, internal=True)

    @staticmethod
    def table_drift(model, parameters, estimate, Q, Q_parameters):
        plant = known_plant(model, parameters)
        names = chosen_parameters(plant, estimate)
        return [*spread_over(Q, equations_of(plant).states, "Q"), *spread_over(Q_parameters, names, "Q_parameters")]

    @staticmethod
    def table_variances(R, sensor, m):
        return reading_variance(R, sensor, m)

    @staticmethod
    def table_z_next(model, parameters, estimate, start, factor, x0):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return [*first_state(plant, x0), *values_of(plant, chosen_parameters(plant, estimate))]

    @staticmethod
    def check(substeps, discretisation):
        return steps_problem(substeps, discretisation)

    def decided_for(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        eq = equations_of(plant)
        n, d, m = len(eq.states), len(names), sum(eq.ports[p] for p in ports)
        N = n + d
        parts: dict[str, Any] = {"N": N, "NN": N * N, "Nm": N * m}
        parts |= {"turns": steps(self.settings)}
        parts |= {f"{port_name(state)}_hat": port_like(plant, state, "estimated") for state in state_names(eq)}
        parts |= {f"{port_name(name)}_hat": estimate_port(plant, name) for name in names}
        return {**parts, **self.arithmetic(plant, ports, names)}

    @abstractmethod
    def arithmetic(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        """What it knows of the plant, and what more it carries."""


class JointEKF(JointFilter):
    """z = (x, theta), x[k+1] = x + Ts f(x, u, theta) + v, theta[k+1] = theta: Kalman's filter for both (Gautier 2001, section 3).

    `estimate` lists the parameters; all of the inverse model unless given. They start at `start`: {J: 2e-4}, or the name of a
    block that found them ({J: ls}; the filter then works after the run); or at `factor` times the plant's values; at the plant's
    own, the truth of a simulation, only where `truth` is said. `P0_parameters` are their variances: a small one locks a
    parameter, a large one frees it; one that hardly left it is marked "not learnt". Q is the variance of
    v, R that of a reading (the sensor's unless given), P0 that of the first state; `Q_parameters` lets the parameters wander.

    `form: udu` carries the factors of P = U D U^T (Bierman 1977; Thornton for the prediction): P cannot lose its sign by
    rounding. `form: plain` carries P itself, for comparison. `discretisation` is that of the EKF: Euler's rule, as in the paper,
    takes the error of its steps for a property of the plant, so that a fast loop wants rk4.

    Its standard deviations hold for a true model, true Q and R, and a start near enough for straight lines. Look at nis, whose
    mean is then the number of readings: far below, Q or R are too large and the estimates slow; far above, they are too small
    and the estimates wrong and sure.

    Outputs: x_hat and theta, and each of their elements by name, such as qd_hat and J_hat; std, the standard deviations of all;
    P; innovation; nis; gain. Where the inertia matrix is singular there is no model: parameters cannot start there.
    """

    icon = "0,1 0.25,0.72 0.55,0.6 1,0.56; 0,0 0.25,0.28 0.55,0.4 1,0.44"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [4.0, -2.0], b: [1.0, 2.0]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 1.0, ki: 10.0, kd: 0.025, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 20000, noise_std: 1, in: joint.q}
  ekf:     {type: JointEKF, Ts: 1e-3, model: joint, factor: 0.9, Q: 0, discretisation: rk4,
            P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5], in: {y: encoder, u: pid}}
"""

    form: str = static("udu", "what is carried: factors of the covariance or itself", choices=("udu", "plain"))

    P_next: Any = memory(
        0.0, "their covariance, or its factors: U above the diagonal, D on it", size="NN", array=True, internal=True
    )

    @staticmethod
    def output(y, z_next, P_next, own, readings, variances, n, d, N, m):
        h, H = readings_and_slopes(readings(z_next, z_next, own), n, d, m)
        z, P, nis, K = after_readings(z_next, rows(P_next, N, N), y, h, H, variances, m)
        return z, sigmas_of(P, N), P, subtract(y, h), nis, gain_of(P, H, variances, K, m), z

    @staticmethod
    def update(x_hat, theta, P, u, z_next, P_next, own, rates, values, drift, Ts, n, d, N, spots, turns):
        """P' = S P S^T + Q, S = (F, G; 0, I): the parameters stay what they are."""
        believed = with_theta(values, theta, spots, d)
        x, F, G = transition(rates, x_hat, u, believed, Ts, n, d, turns)
        FG, before = alongside(F, G), rows(P, N, N)
        ahead, rest = multiply(FG, before), block(before, n, 0, d, N)
        states = alongside(multiply(ahead, transpose(FG)), block(ahead, 0, n, n, d))
        parameters = alongside(multiply(rest, transpose(FG)), block(rest, 0, n, d, d))
        return {"own": believed, "z_next": chained(x, theta), "P_next": add(stack(states, parameters), diagonal(drift))}

    @staticmethod
    def table_P_next(model, parameters, estimate, P0, P0_parameters):
        return np.diag(first_joint_variances(model, parameters, estimate, P0, P0_parameters))

    def arithmetic(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        laws = {"readings": readings_of(plant, ports, names), "rates": rates_of(plant, names)}
        if self.settings["form"] == "plain":
            return laws
        factors = outport("factors of P: U above the diagonal, D on it", size="NN")
        return {**laws, "factors": factors, "output": factor_output, "update": factor_update}


def first_joint_variances(model, parameters, estimate, P0, P0_parameters):
    """The first variances of states and parameters."""
    plant = known_plant(model, parameters)
    names = chosen_parameters(plant, estimate)
    return [*spread_over(P0, equations_of(plant).states, "P0"), *spread_over(P0_parameters, names, "P0_parameters")]


def factor_output(y, z_next, P_next, own, readings, variances, n, d, N, m):
    """Bierman's update of U and D, one reading at a time; P is put together for the record only."""
    h, H = readings_and_slopes(readings(z_next, z_next, own), n, d, m)
    z, K, factors, nis = z_next, z_next, rows(P_next, N, N), 0.0
    for j in range(m):
        rest = dot(H[j], subtract(z_next, z), plus=y[j] - h[j])  # what the readings before have not said yet
        factors, K, variance = bierman(factors, H[j], variances[j], N)
        nis = nis + rest * rest / variance
        z = add(z, scale(K, rest))
    P = recomposed(factors, N)
    return z, sigmas_of(P, N), P, subtract(y, h), nis, gain_of(P, H, variances, K, m), z, factors


def factor_update(x_hat, theta, factors, u, z_next, P_next, own, rates, values, drift, Ts, n, d, N, spots, turns):
    """U' D' U'^T = (S U, I) (D, 0; 0, Q) (S U, I)^T, S = (F, G; 0, I)."""
    believed = with_theta(values, theta, spots, d)
    x, F, G = transition(rates, x_hat, u, believed, Ts, n, d, turns)
    UD = rows(factors, N, N)
    U, D = unit_upper(UD, N), weights_of(UD, N)
    W = alongside(stack(multiply(alongside(F, G), U), block(U, n, 0, d, N)), identity(N))
    return {"own": believed, "z_next": chained(x, theta), "P_next": thornton(W, chained(D, drift), N, 2 * N)}
