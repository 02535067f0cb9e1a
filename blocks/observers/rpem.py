"""Recursive prediction error methods: the parameters of a continuous plant, improved with every sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocksim.contract.block import fixed, memory, outport, param, static, table
from blocksim.contract.declarations import Param
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import exp, sqrt
from blocksim.errors import DiagramError, listing

from .correction import readings_of
from .observed import (
    ParameterObserver,
    believe,
    chosen_parameters,
    equations_of,
    estimate_port,
    first_state,
    known_plant,
    port_name,
    reading_variance,
    spread,
    starting_plant,
    values_of,
)
from .transition import carried, rates_of

__all__ = ["RPEM"]


def regularised(P, mu, d, work):
    """P (I + mu P)^-1, which is (P^-1 + mu I)^-1, by elimination; I + mu P is positive definite, so no pivots are needed."""
    for i in range(d):
        for j in range(d):
            work[i * d + j] = mu * P[i * d + j] + (1.0 if i == j else 0.0)
    for k in range(d):
        for i in range(d):
            if i != k:
                share = work[i * d + k] / work[k * d + k]
                for j in range(d):
                    work[i * d + j] = work[i * d + j] - share * work[k * d + j]
                    P[i * d + j] = P[i * d + j] - share * P[k * d + j]
    for i in range(d):
        for j in range(d):
            P[i * d + j] = P[i * d + j] / work[i * d + i]
    for i in range(d):
        for j in range(i):
            P[i * d + j] = 0.5 * (P[i * d + j] + P[j * d + i])
            P[j * d + i] = P[i * d + j]


def predicted(out, found, y, S, n, d, m, h, e, g):
    """Readings as the model has them (at out[h]), what is left of them (at e), psi = dh/dx S + dh/dtheta (at g)."""
    for j in range(m):
        out[h + j] = found[j]
        out[e + j] = y[j] - found[j]
        for i in range(d):
            total = found[m + m * n + j * d + i]
            for k in range(n):
                total = total + found[m + j * n + k] * S[k * d + i]
            out[g + j * d + i] = total


def shares(out, units, variance, unscaled, d, P, psi, k):
    """P psi of scaled parameters (at out[k]); returns R2 + psi^T P psi."""
    total = variance
    for i in range(d):
        share = 0.0
        for c in range(d):
            share = share + out[P + i * d + c] * out[psi + c] * (1.0 if unscaled else units[c])
        out[k + i] = share
        total = total + share * out[psi + i] * (1.0 if unscaled else units[i])
    return total


def contained(out, lowest, highest, units, d, P):
    """Estimates beyond their limits go back to them, and the others with them as far as they are correlated.

    Of all that is possible this is the nearest as P sees it. Stopped alone, one would leave the others at what only its way out
    explains, and with every reading they would go further.
    """
    for i in range(d):
        limit = min(max(out[i], lowest[i]), highest[i])
        variance = units[i] * out[P + i * d + i]
        if limit != out[i] and variance > 0.0:
            share = (limit - out[i]) / variance
            for c in range(d):
                out[c] = out[c] + share * units[c] * out[P + c * d + i]
    for i in range(d):
        out[i] = min(max(out[i], lowest[i]), highest[i])


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
    simulation, it starts only where `truth` is said. One that moved less than a tenth of its P0 is marked "not learnt". Each is
    divided by its `scale`, unless given its first value; P0 and R1 are variances of these scaled ones, so that P0 = 1 means
    "100 %". Estimates stay within the limits the plant sets; one that is stopped there takes along what it is correlated with.
    A parameter that starts at zero needs a scale; one whose gradient is zero there, as that of alpha while A = 0, waits until
    the others have moved.

    A new theta makes a past that was computed with the old one wrong: `follow` moves the state by S times the change, to first
    order as if theta had been there from the start; without it, as in the thesis, old errors stay in the state.

    `printed` brings back mistakes of the thesis' appendix: `scaling`, the gradient is not multiplied by the scales although the
    parameters are divided by them; `gain`, K is computed from the P that has seen the sample already; `both`.
    """

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
    room = fixed(16, "intermediate results")

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
    work: Any = memory(0.0, "intermediate results", size="room", array=True, internal=True)

    @staticmethod
    def output(y, theta_next, x_next, S, P_next, own, readings, units, variances, lowest, highest, n, d, m, follow, printed, out):
        s = d
        h = 2 * d
        e = 2 * d + m
        g = 2 * d + 2 * m
        k = g + d * m
        P = k + d * m
        unscaled = printed == "scaling" or printed == "both"
        late = printed == "gain" or printed == "both"
        for i in range(d):
            out[i] = theta_next[i]
        for i in range(d * d):
            out[P + i] = P_next[i]
        predicted(out, readings(x_next, x_next, own), y, S, n, d, m, h, e, g)
        for j in range(m):
            # What the readings before have said of the parameters is in out[i] already.
            rest = out[e + j]
            for i in range(d):
                rest = rest - out[g + j * d + i] * (out[i] - theta_next[i])
            total = shares(out, units, variances[j], unscaled, d, P, g + j * d, k + j * d)
            for i in range(d):
                for c in range(d):
                    out[P + i * d + c] = out[P + i * d + c] - out[k + j * d + i] * out[k + j * d + c] / total
            if late:
                total = shares(out, units, variances[j], unscaled, d, P, g + j * d, k + j * d)
            for i in range(d):
                out[k + j * d + i] = out[k + j * d + i] * units[i] / total
                out[i] = out[i] + out[k + j * d + i] * rest
            contained(out, lowest, highest, units, d, P)
        for i in range(d):
            variance = out[P + i * d + i]
            out[s + i] = sqrt(variance) * units[i] if variance > 0.0 else 0.0
            out[P + d * d + n + i] = out[i]
        for i in range(n):
            value = x_next[i]
            if follow:
                for c in range(d):
                    value = value + S[i * d + c] * (out[c] - theta_next[c])
            out[P + d * d + i] = value

    @staticmethod
    def update(
        theta, x_hat, P, u, theta_next, x_next, S, P_next, own, work, rates,
        values, drift, forgetting, settling, mu, t, Ts, n, d, spots, substeps, algorithm,
    ):  # fmt: skip
        believe(own, values, theta, spots, d)
        for i in range(n):
            x_next[i] = x_hat[i]
        carried(rates, x_next, S, u, own, Ts / substeps, substeps, n, d, d, work)
        fade = exp(-t / settling) if settling > 0.0 else 1.0
        for i in range(d):
            theta_next[i] = theta[i]
            for j in range(d):
                if algorithm == "kalman":
                    P_next[i * d + j] = P[i * d + j] + (fade * drift[i] if i == j else 0.0)
                else:
                    P_next[i * d + j] = P[i * d + j] / (1.0 - fade * (1.0 - forgetting))
        if mu > 0.0:
            regularised(P_next, mu, d, work)

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
        return spread(R1, chosen_parameters(known_plant(model, parameters), estimate), "R1")

    @staticmethod
    def table_variances(R2, sensor, m):
        return reading_variance(R2, sensor, m, "R2")

    @staticmethod
    def table_P_next(model, parameters, estimate, P0):
        return np.diag(spread(P0, chosen_parameters(known_plant(model, parameters), estimate), "P0"))

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
        return spread(self.settings["P0"], names, "P0") * scales(plant, names, self.settings["scale"]) ** 2

    def decided_for(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        eq = equations_of(plant)
        n, d, m = len(eq.states), len(names), sum(eq.ports[p] for p in ports)
        parts: dict[str, Any] = {"dd": d * d, "dm": d * m, "nd": n * d, "room": max(d * d, 3 * (n + n * d))}
        parts |= {"readings": readings_of(plant, ports, names), "rates": rates_of(plant, names)}
        return {**parts, **{f"{port_name(name)}_hat": estimate_port(plant, name) for name in names}}


def scales(plant: Plant, names: Sequence[str], scale: Any) -> np.ndarray:
    """What each parameter is divided by, given a plant with their first values."""
    if scale is not None:
        return spread(scale, names, "scale")
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
