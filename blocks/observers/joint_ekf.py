"""Joint extended Kalman filter: the state of a plant and its parameters together, in plain or in factorised arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocksim.contract.block import fixed, memory, outport, param, static, table
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import sqrt

from .correction import correct, gains, readings_of, remaining, slope
from .observed import (
    ParameterObserver,
    believe,
    chosen_parameters,
    equations_of,
    estimate_port,
    first_state,
    known_plant,
    port_like,
    port_name,
    reading_variance,
    spread,
    starting_plant,
    state_names,
    values_of,
)
from .transition import rates_of, steps, steps_problem, transition

__all__ = ["JointEKF"]


def finish(out, N, m, P, g):
    """Standard deviations; the estimates once more under their own names."""
    for i in range(N):
        variance = out[P + i * N + i]
        out[N + i] = sqrt(variance) if variance > 0.0 else 0.0
        out[g + N * m + i] = out[i]


class JointEKF(ParameterObserver):
    """z = (x, theta), x[k+1] = x + Ts f(x, u, theta) + v, theta[k+1] = theta: Kalman's filter for both (Gautier 2001, section 3).

    `estimate` lists the parameters; all of the inverse model unless given. They start at `start`: {J: 2e-4}, or the name of a
    block that found them ({J: ls}; the filter then works after the run); or at `factor` times the plant's values; at the plant's
    own, the truth of a simulation, only where `truth` is said. `P0_parameters` are their variances: a small one locks a
    parameter, a large one frees it; one that moved less than a tenth of it is marked "not learnt". Q is the variance of
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

    Q: Any = param(1e-6, "variance added to the state in every sample, for all or one each", min=0, shape=(None,))
    Q_parameters: Any = param(0.0, "variance added to the parameters in every sample", min=0, shape=(None,))
    R: Any = param(None, "variance of a reading; the sensor's unless given", above=0, shape=(None,))
    P0: Any = param(0.1, "variances of the first state, for all or one each", min=0, shape=(None,))
    P0_parameters: Any = param(1.0, "variances of the first parameters, for all or one each", min=0, shape=(None,))
    form: str = static("udu", "what is carried: factors of the covariance or itself", choices=("udu", "plain"))
    discretisation: str = static("euler", "rule that carries the state to the next sample", choices=("euler", "rk4"))

    # What the plant decides; these stand for one state, measured, and one parameter.
    N = fixed(2, "states and parameters")
    NN = fixed(4, "elements of P")
    Nm = fixed(2, "elements of the gain")
    nN = fixed(2, "derivatives of the next state")
    room = fixed(16, "intermediate results")
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
    P_next: Any = memory(
        0.0, "their covariance, or its factors: U above the diagonal, D on it", size="NN", array=True, internal=True
    )
    S: Any = memory(0.0, "derivatives of the next state by state and parameters", size="nN", array=True, internal=True)
    work: Any = memory(0.0, "intermediate results", size="room", array=True, internal=True)

    @staticmethod
    def output(y, z_next, P_next, own, readings, variances, n, d, N, m, out):
        P = 2 * N
        e = P + N * N
        g = e + m + 1
        correct(out, y, z_next, P_next, readings(z_next, z_next, own), variances, n, d, m, P, e, g)
        finish(out, N, m, P, g)

    @staticmethod
    def update(x_hat, theta, P, u, z_next, P_next, S, own, work, rates, values, drift, Ts, n, d, N, spots, turns):
        """P' = F P F^T + Q, the parameters' rows of F being those of the identity."""
        believe(own, values, theta, spots, d)
        transition(rates, z_next, S, x_hat, u, own, Ts, n, d, turns, work)
        for i in range(d):
            z_next[n + i] = theta[i]
        for i in range(N):
            for j in range(N):
                total = 0.0 if i < n else P[i * N + j]
                if i < n:
                    for k in range(N):
                        total = total + S[i * N + k] * P[k * N + j]
                work[i * N + j] = total
        for i in range(N):
            for j in range(N):
                total = 0.0 if j < n else work[i * N + j]
                if j < n:
                    for k in range(N):
                        total = total + work[i * N + k] * S[j * N + k]
                P_next[i * N + j] = total + drift[i] if i == j else total

    @staticmethod
    def table_drift(model, parameters, estimate, Q, Q_parameters):
        plant = known_plant(model, parameters)
        names = chosen_parameters(plant, estimate)
        return [*spread(Q, equations_of(plant).states, "Q"), *spread(Q_parameters, names, "Q_parameters")]

    @staticmethod
    def table_variances(R, sensor, m):
        return reading_variance(R, sensor, m)

    @staticmethod
    def table_z_next(model, parameters, estimate, start, factor, x0):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return [*first_state(plant, x0), *values_of(plant, chosen_parameters(plant, estimate))]

    @staticmethod
    def table_P_next(model, parameters, estimate, P0, P0_parameters):
        plant = known_plant(model, parameters)
        names = chosen_parameters(plant, estimate)
        return np.diag([*spread(P0, equations_of(plant).states, "P0"), *spread(P0_parameters, names, "P0_parameters")])

    @staticmethod
    def check(substeps, discretisation):
        return steps_problem(substeps, discretisation)

    def decided_for(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        eq = equations_of(plant)
        n, d, m = len(eq.states), len(names), sum(eq.ports[p] for p in ports)
        N = n + d
        parts: dict[str, Any] = {"N": N, "NN": N * N, "Nm": N * m, "nN": n * N, "room": max(2 * N * N, 3 * (n + n * N))}
        parts |= {"turns": steps(self.settings), "readings": readings_of(plant, ports, names), "rates": rates_of(plant, names)}
        parts |= {f"{port_name(state)}_hat": port_like(plant, state, "estimated") for state in state_names(eq)}
        parts |= {f"{port_name(name)}_hat": estimate_port(plant, name) for name in names}
        if self.settings["form"] == "udu":
            parts["factors"] = outport("factors of P: U above the diagonal, D on it", size="NN")
            parts |= {"output": factor_output, "update": factor_update}
        return parts


def factor_output(y, z_next, P_next, own, readings, variances, n, d, N, m, out):
    """Bierman's update of U and D, one reading at a time; P is put together for the record only."""
    P = 2 * N
    e = 2 * N + N * N
    g = e + m + 1
    f = g + N * m + N
    found = readings(z_next, z_next, own)
    for i in range(N):
        out[i] = z_next[i]
    for i in range(N * N):
        out[f + i] = P_next[i]
    nis = 0.0
    for j in range(m):
        out[e + j] = y[j] - found[j]
        rest = remaining(out, z_next, found, out[e + j], j, n, d, m)
        before = variances[j]
        for k in range(N):
            h = slope(found, j, k, n, d, m)  # element k of U^T h
            for i in range(k):
                h = h + out[f + i * N + k] * slope(found, j, i, n, d, m)
            v = out[f + k * N + k] * h
            after = before + h * v
            if after > 0.0:
                out[f + k * N + k] = out[f + k * N + k] * before / after
            for i in range(k):
                old = out[f + i * N + k]
                out[f + i * N + k] = old - out[g + i * m + j] * h / before
                out[g + i * m + j] = out[g + i * m + j] + old * v
            out[g + k * m + j] = v
            before = after
        nis = nis + rest * rest / before
        for i in range(N):
            out[g + i * m + j] = out[g + i * m + j] / before
            out[i] = out[i] + out[g + i * m + j] * rest
    out[e + m] = nis
    for i in range(N):
        for j in range(i, N):
            total = out[f + j * N + j] if i == j else out[f + i * N + j] * out[f + j * N + j]
            for k in range(j + 1, N):
                total = total + out[f + i * N + k] * out[f + k * N + k] * out[f + j * N + k]
            out[P + i * N + j] = total
            out[P + j * N + i] = total
    if m > 1:
        gains(out, found, variances, n, d, m, P, g)
    finish(out, N, m, P, g)


def factor_update(x_hat, theta, factors, u, z_next, P_next, S, own, work, rates, values, drift, Ts, n, d, N, spots, turns):
    """Thornton's prediction: weighted Gram-Schmidt of the rows of (F U, I) with weights D and Q."""
    believe(own, values, theta, spots, d)
    transition(rates, z_next, S, x_hat, u, own, Ts, n, d, turns, work)
    for i in range(d):
        z_next[n + i] = theta[i]
    for i in range(N):
        for j in range(N):
            total = 0.0
            if i < n:
                for k in range(j):
                    total = total + S[i * N + k] * factors[k * N + j]
                total = total + S[i * N + j]
            elif i < j:
                total = factors[i * N + j]
            elif i == j:
                total = 1.0
            work[i * 2 * N + j] = total
            work[i * 2 * N + N + j] = 1.0 if i == j else 0.0
    for r in range(N):
        j = N - 1 - r
        total = 0.0
        for k in range(2 * N):
            weight = factors[k * N + k] if k < N else drift[k - N]
            total = total + work[j * 2 * N + k] * work[j * 2 * N + k] * weight
        P_next[j * N + j] = total
        for i in range(j):
            share = 0.0
            if total > 0.0:
                for k in range(2 * N):
                    weight = factors[k * N + k] if k < N else drift[k - N]
                    share = share + work[i * 2 * N + k] * weight * work[j * 2 * N + k]
                share = share / total
            P_next[i * N + j] = share
            for k in range(2 * N):
                work[i * 2 * N + k] = work[i * 2 * N + k] - share * work[j * 2 * N + k]
