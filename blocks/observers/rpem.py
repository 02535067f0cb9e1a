"""Recursive prediction error methods: the parameters of a continuous plant, improved with every sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocksim.contract.block import fixed, memory, outport, param, static, table
from blocksim.contract.declarations import Param
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import (
    add,
    array,
    diagonal,
    divide,
    dot,
    exp,
    identity,
    multiply,
    outer,
    part,
    rows,
    scale,
    subtract,
    zeros,
)
from blocksim.errors import DiagramError, listing

from .correction import readings_of, sigmas_of
from .observed import (
    ParameterObserver,
    chosen_parameters,
    equations_of,
    estimate_port,
    first_state,
    known_plant,
    port_name,
    reading_variance,
    spread_over,
    starting_plant,
    values_of,
    with_theta,
)
from .transition import carried, rates_of

__all__ = ["RPEM"]


def regularised(P, mu, d):
    """P (I + mu P)^-1, which is (P^-1 + mu I)^-1, by elimination; I + mu P is positive definite, so no pivots are needed."""
    A, X = array(add(scale(P, mu), identity(d))), array(P)
    for k in range(d):
        for i in range(d):
            if i != k:
                share = A[i, k] / A[k, k]
                for j in range(d):
                    A[i, j] = A[i, j] - share * A[k, j]
                    X[i, j] = X[i, j] - share * X[k, j]
    for i in range(d):
        for j in range(d):
            X[i, j] = X[i, j] / A[i, i]
    for i in range(d):
        for j in range(i):
            X[i, j] = 0.5 * (X[i, j] + X[j, i])
            X[j, i] = X[i, j]
    return X


def contained(theta, lowest, highest, units, P, d):
    """Estimates beyond their limits go back to them, and the others with them as far as they are correlated.

    Of all that is possible this is the nearest as P sees it. Stopped alone, one would leave the others at what only its way out
    explains, and with every reading they would go further.
    """
    inside = array(theta)
    for i in range(d):
        limit = min(max(inside[i], lowest[i]), highest[i])
        variance = units[i] * P[i][i]
        if limit != inside[i] and variance > 0.0:
            share = (limit - inside[i]) / variance
            for c in range(d):
                inside[c] = inside[c] + share * units[c] * P[c][i]
    for i in range(d):
        inside[i] = min(max(inside[i], lowest[i]), highest[i])
    return inside


class RPEM(ParameterObserver):
    """theta += K (y - y_hat), K = P psi / (R2 + psi^T P psi): recursive prediction errors of any plant (thesis 3.24 - 3.31).

    The plant runs beside the measured one, driven by the same u, without correction; psi = dy_hat/dtheta is carried along with
    its state by S' = df/dx S + df/dtheta (3.9), exact, in `substeps` steps of order 4 per sample. It starts at x0. Between
    samples u is held: put a ZeroOrderHold before plant and method, or a torque that moves between samples biases the estimates.

    `algorithm: kalman` (3.28 - 3.31) lets the parameters wander by R1 in every sample; for none, P is their covariance.
    `forgetting` (3.24 - 3.27) divides P by `forgetting` instead. With `settling` either fades away as exp(-t / settling), so that
    what was learnt far from the truth counts less and the end is not restless. `mu` regularises (3.17). R2 is the variance of a
    reading, the sensor's unless given: the thesis' R2 = 1 makes P no covariance.

    `estimate` lists the parameters, which start at `start`: {Fv: 0.01}, or the name of a block that found them ({Fv: ls}; the
    method then works after the run); or at `factor` times the plant's values. At the plant's own values, which are the truth of a
    simulation, it starts only where `truth` is said. One that hardly left its P0 is marked "not learnt". Each is
    divided by its `scale`, unless given its first value; P0 and R1 are variances of these scaled ones, so that P0 = 1 means
    "100 %". Estimates stay within the limits the plant sets; one that is stopped there takes along what it is correlated with.
    A parameter that starts at zero needs a scale; one whose gradient is zero there, as that of alpha while A = 0, waits until
    the others have moved.

    A new theta makes a past that was computed with the old one wrong: `follow` moves the state by S times the change, to first
    order as if theta had been there from the start; without it, as in the thesis, old errors stay in the state.

    `printed` brings back mistakes of the thesis' appendix: `scaling`, the gradient is not multiplied by the scales although the
    parameters are divided by them; `gain`, K is computed from the P that has seen the sample already; `both`.
    """

    icon = "0,0.7 1,0.7; 0,0 0.08,0.45 0.16,0.2 0.28,0.9 0.42,0.55 0.6,0.78 0.8,0.68 1,0.7"
    example = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  sine:   {type: Sine, amplitude: 1.0, frequency: 0.2}
  torque: {type: ZeroOrderHold, Ts: 2e-3, in: sine}
  robot:  {type: TwoMassRobot, in: torque}
  speed:  {type: TorqueSensor, std: 0.3, Ts: 2e-3, in: robot.w_m}
  rpem:   {type: RPEM, Ts: 2e-3, model: robot, measures: w_m, estimate: [Fv, Fc], factor: 0.5, in: {y: speed, u: torque}}
"""

    scale: Any = param(None, "what each parameter is divided by; its first value unless given", above=0, shape=(None,))
    algorithm: str = static("kalman", "how P is kept from vanishing", choices=("kalman", "forgetting"))
    forgetting: float = param(0.995, "forgetting factor lambda", above=0, max=1)
    settling: float = param(0.0, "time constant with which forgetting, or R1, fades away; 0: it stays", "s", min=0)
    P0: Any = param(1.0, "first variances of the scaled parameters, for all or one each", min=0, shape=(None,))
    R1: Any = param(0.0, "variance added to the scaled parameters in every sample", min=0, shape=(None,))
    R2: Any = param(None, "variance of a reading; the sensor's unless given", above=0, shape=(None,))
    mu: float = param(0.0, "added to the inverse of P in every sample", min=0)
    follow: bool = static(True, "move the state with the parameters", kind=bool)
    printed: str = static("none", "mistakes of the thesis' appendix", choices=("none", "scaling", "gain", "both"))

    # What the plant decides; these stand for one state, measured, and one parameter.
    dd = fixed(1, "elements of P")
    dm = fixed(1, "elements of the gain")
    nd = fixed(1, "sensitivities")

    theta = outport("estimated parameters", size="d")
    std = outport("their standard deviations", size="d")
    y_hat = outport("predicted readings", size="m")
    error = outport("reading less its prediction", size="m")
    psi = outport("derivative of the prediction by the parameters, a row for each reading", size="dm")
    gain = outport("what a unit of error adds to each parameter, a row for each reading", size="dm")
    P = outport("covariance of the scaled parameters, row by row", size="dd")
    x_hat = outport("state of the model", size="n")

    units = table("what each parameter is divided by")
    drift = table("variance added to each scaled parameter")
    lowest = table("least value of each parameter")
    highest = table("greatest value of each parameter")
    theta_next: Any = memory(0.0, "parameters", size="d", array=True, internal=True)
    x_next: Any = memory(0.0, "state of the model", size="n", array=True, internal=True)
    S: Any = memory(0.0, "its derivatives by the parameters, row by row", size="nd", array=True, internal=True)
    P_next: Any = memory(0.0, "predicted covariance of the scaled parameters", size="dd", array=True, internal=True)

    @staticmethod
    def output(y, theta_next, x_next, S, P_next, own, readings, units, variances, lowest, highest, n, d, m, follow, printed):
        reading = readings(x_next, x_next, own)
        h = part(reading, 0, m)
        psi = multiply(rows(reading, m, n, m), rows(S, n, d), plus=rows(reading, m, d, m + m * n))
        weights = divide(units, units) if printed == "scaling" or printed == "both" else units
        theta, P, gain = theta_next, rows(P_next, d, d), zeros(m, d)
        for j in range(m):
            rest = dot(psi[j], subtract(theta_next, theta), plus=y[j] - h[j])  # what the readings before have not said yet
            share = multiply(scale(P, psi[j]), weights)
            variance = dot(scale(share, psi[j]), weights, plus=variances[j])
            P = subtract(P, divide(outer(share, share), variance))
            if printed == "gain" or printed == "both":  # with the P that has seen the sample already
                share = multiply(scale(P, psi[j]), weights)
                variance = dot(scale(share, psi[j]), weights, plus=variances[j])
            K = divide(scale(share, units), variance)
            gain[j] = K
            theta = contained(add(theta, scale(K, rest)), lowest, highest, units, P, d)
        x = multiply(rows(S, n, d), subtract(theta, theta_next), plus=x_next) if follow else x_next
        return theta, scale(sigmas_of(P, d), units), h, subtract(y, h), psi, gain, P, x, theta

    @staticmethod
    def update(
        theta, x_hat, P, u, theta_next, x_next, S, P_next, own, rates,
        values, drift, forgetting, settling, mu, t, Ts, n, d, spots, substeps, algorithm,
    ):  # fmt: skip
        believed = with_theta(values, theta, spots, d)
        x, _, G = carried(rates, x_hat, zeros(n, 0), rows(S, n, d), u, believed, Ts / substeps, substeps, n, d)
        fade = exp(-t / settling) if settling > 0.0 else 1.0
        ahead = rows(P, d, d)
        if algorithm == "kalman":
            ahead = add(ahead, diagonal(scale(drift, fade)))
        else:
            ahead = divide(ahead, 1.0 - fade * (1.0 - forgetting))
        if mu > 0.0:
            ahead = regularised(ahead, mu, d)
        return {"own": believed, "theta_next": theta, "x_next": x, "S": G, "P_next": ahead}

    @staticmethod
    def table_theta_next(model, parameters, estimate, start, factor):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return values_of(plant, chosen_parameters(plant, estimate))

    @staticmethod
    def table_units(model, parameters, estimate, start, factor, scale):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return scales(plant, chosen_parameters(plant, estimate), scale)

    @staticmethod
    def table_drift(model, parameters, estimate, R1):
        return spread_over(R1, chosen_parameters(known_plant(model, parameters), estimate), "R1")

    @staticmethod
    def table_variances(R2, sensor, m):
        return reading_variance(R2, sensor, m, "R2")

    @staticmethod
    def table_P_next(model, parameters, estimate, P0):
        return np.diag(spread_over(P0, chosen_parameters(known_plant(model, parameters), estimate), "P0"))

    @staticmethod
    def table_x_next(model, parameters, x0):
        return first_state(known_plant(model, parameters), x0)

    @staticmethod
    def table_lowest(model, parameters, estimate):
        return limits(known_plant(model, parameters), estimate)[0]

    @staticmethod
    def table_highest(model, parameters, estimate):
        return limits(known_plant(model, parameters), estimate)[1]

    def first_variances(self, plant: Plant, names: Sequence[str]) -> np.ndarray:
        return spread_over(self.settings["P0"], names, "P0") * scales(plant, names, self.settings["scale"]) ** 2

    def decided_for(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        eq = equations_of(plant)
        n, d, m = len(eq.states), len(names), sum(eq.ports[p] for p in ports)
        parts: dict[str, Any] = {"dd": d * d, "dm": d * m, "nd": n * d}
        parts |= {"readings": readings_of(plant, ports, names), "rates": rates_of(plant, names)}
        return {**parts, **{f"{port_name(name)}_hat": estimate_port(plant, name) for name in names}}


def scales(plant: Plant, names: Sequence[str], scale: Any) -> np.ndarray:
    """What each parameter is divided by, given a plant with their first values."""
    if scale is not None:
        return spread_over(scale, names, "scale")
    first = np.abs(values_of(plant, names))
    if not first.all():
        zero = names[int(np.argmin(first))]
        raise DiagramError(
            f"scale: '{zero}' starts at 0, which says nothing of its size. Give scale, one for each of: {listing(names)}."
        )
    return first


def limits(plant: Plant, estimate: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value the plant allows for each parameter; just inside where the limit itself is excluded."""
    ends = [plant.kind.of(Param)[name].limits.closed() for name in chosen_parameters(plant, estimate)]
    return np.array([low for low, _ in ends], dtype=float), np.array([high for _, high in ends], dtype=float)
