"""Recursive prediction error methods: the parameters of a continuous plant, improved with every sample."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from blocksim.block import Block, SampledBlock, fixed, inport, memory, model, outport, param, static, table
from blocksim.declarations import Param
from blocksim.equations import Equations
from blocksim.errors import DiagramError, listing
from blocksim.plant import Plant
from blocksim.vocabulary import exp, sqrt

from .ekf import carried
from .joint_ekf import believe
from .observed import (
    chosen_parameters,
    equations_of,
    estimate_port,
    initial_state,
    known_plant,
    make_block,
    measured_ports,
    places,
    reading_variance,
    spread,
    starting_plant,
    state_names,
    values_of,
    with_helpers,
)

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


class RPEM(SampledBlock):
    """theta += K (y - y_hat), K = P psi / (R2 + psi^T P psi): recursive prediction errors of any plant (thesis 3.24 - 3.31).

    The plant runs beside the measured one, driven by the same u, without correction; psi = dy_hat/dtheta is carried along with
    its state by S' = df/dx S + df/dtheta (3.9), exact, in `substeps` steps of order 4 per sample. It starts at x0. Between
    samples u is held: put a ZeroOrderHold before plant and method, or a torque that moves between samples biases the estimates.

    `algorithm: kalman` (3.28 - 3.31) lets the parameters wander by R1 in every sample; for none, P is their covariance.
    `forgetting` (3.24 - 3.27) divides P by `forgetting` instead. With `settling` either fades away as exp(-t / settling), so that
    what was learnt far from the truth counts less and the end is not restless. `mu` regularises (3.17). R2 is the variance of a
    reading, the sensor's unless given: the thesis' R2 = 1 makes P no covariance.

    `estimate` lists the parameters, which start at `start`, {Fv: 0.01}, or at `factor` times the plant's values. Each is
    divided by its `scale`, unless given its first value; P0 and R1 are variances of these scaled ones, so that P0 = 1 means
    "100 %". Estimates stay within the limits the plant sets. A parameter that starts at zero needs a scale; one whose gradient is
    zero there, as that of alpha while A = 0, waits until the others have moved.

    A new theta makes a past that was computed with the old one wrong: `follow` moves the state by S times the change, to first
    order as if theta had been there from the start; without it, as in the thesis, old errors stay in the state.

    `printed` brings back mistakes of the thesis' appendix: `scaling`, the gradient is not multiplied by the scales although the
    parameters are divided by them; `gain`, K is computed from the P that has seen the sample already; `both`.
    """

    family = "observers"
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

    sensor: str = model("the sensor that makes y, for R2", port="y")
    model: str = model("the plant whose parameters are estimated")
    measures: Any = static(None, "outputs of the plant that y measures; q unless said", kind=(str, list, tuple))
    estimate: Any = static(None, "parameters that are estimated; all of the inverse model unless said", kind=(str, list, tuple))
    parameters: Any = static(None, "settings of the plant as the method believes them, {N: 15}", kind=dict)
    start: Any = static(None, "first values of the parameters that are estimated, {Fv: 0.01}", kind=dict)
    factor: float = param(1.0, "first values of the others, as a multiple of the plant's", above=0)
    scale: Any = param(None, "what each parameter is divided by; its first value unless given", above=0, shape=(None,))
    algorithm: str = static("kalman", "how P is kept from vanishing", choices=("kalman", "forgetting"))
    forgetting: float = param(0.995, "forgetting factor lambda", above=0, max=1)
    settling: float = param(0.0, "time constant with which forgetting, or R1, fades away; 0: it stays", "s", min=0)
    P0: Any = param(1.0, "first variances of the scaled parameters, for all or one each", min=0, shape=(None,))
    R1: Any = param(0.0, "variance added to the scaled parameters in every sample", min=0, shape=(None,))
    R2: Any = param(None, "variance of a reading; the sensor's unless given", above=0, shape=(None,))
    mu: float = param(0.0, "added to the inverse of P in every sample", min=0)
    x0: Any = param(None, "first state of the model; the plant's unless given", shape=(None,))
    substeps: int = static(1, "steps of order 4 per sample", kind=int)
    follow: bool = static(True, "move the state with the parameters", kind=bool)
    printed: str = static("none", "mistakes of the thesis' appendix", choices=("none", "scaling", "gain", "both"))

    # What the plant decides; these stand for one state, measured, and one parameter.
    n = fixed(1, "states")
    d = fixed(1, "parameters that are estimated")
    dd = fixed(1, "elements of P")
    m = fixed(1, "readings")
    dm = fixed(1, "elements of the gain")
    nd = fixed(1, "sensitivities")
    inputs = fixed(1, "inputs of the plant")
    count = fixed(1, "parameters of the plant")
    room = fixed(16, "intermediate results")
    where = fixed((0,), "places of the readings in the state")
    spots = fixed((0,), "places of the estimated among the plant's parameters")

    y = inport("readings", size="m")
    u = inport("what drives the plant", size="inputs")
    theta = outport("estimated parameters", size="d")
    std = outport("their standard deviations", size="d")
    y_hat = outport("predicted readings", size="m")
    error = outport("reading less its prediction", size="m")
    psi = outport("derivative of the prediction by the parameters, a row for each reading", size="dm")
    gain = outport("what a unit of error adds to each parameter, a row for each reading", size="dm")
    P = outport("covariance of the scaled parameters, row by row", size="dd")
    x_hat = outport("state of the model", size="n")

    values = table("the plant's parameters as the method believes them")
    units = table("what each parameter is divided by")
    drift = table("variance added to each scaled parameter")
    variances = table("variance of each reading")
    lowest = table("least value of each parameter")
    highest = table("greatest value of each parameter")
    theta_next: Any = memory(0.0, "parameters", size="d", array=True, internal=True)
    x_next: Any = memory(0.0, "state of the model", size="n", array=True, internal=True)
    S: Any = memory(0.0, "its derivatives by the parameters, row by row", size="nd", array=True, internal=True)
    P_next: Any = memory(0.0, "predicted covariance of the scaled parameters", size="dd", array=True, internal=True)
    own: Any = memory(0.0, "the plant's parameters with the estimates in their places", size="count", array=True, internal=True)
    work: Any = memory(0.0, "intermediate results", size="room", array=True, internal=True)

    @staticmethod
    def output(y, theta_next, x_next, S, P_next, units, variances, lowest, highest, n, d, m, where, follow, printed, out):
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
        for j in range(m):
            out[h + j] = x_next[where[j]]
            out[e + j] = y[j] - x_next[where[j]]
            # What the readings before have said of the parameters is in out[i] already.
            rest = out[e + j]
            total = variances[j]
            for i in range(d):
                slope = S[where[j] * d + i]
                out[g + j * d + i] = slope
                rest = rest - slope * (out[i] - theta_next[i])
            for i in range(d):
                share = 0.0
                for c in range(d):
                    share = share + out[P + i * d + c] * out[g + j * d + c] * (1.0 if unscaled else units[c])
                out[k + j * d + i] = share
                total = total + share * out[g + j * d + i] * (1.0 if unscaled else units[i])
            for i in range(d):
                for c in range(d):
                    out[P + i * d + c] = out[P + i * d + c] - out[k + j * d + i] * out[k + j * d + c] / total
            if late:
                total = variances[j]
                for i in range(d):
                    share = 0.0
                    for c in range(d):
                        share = share + out[P + i * d + c] * out[g + j * d + c] * (1.0 if unscaled else units[c])
                    out[k + j * d + i] = share
                    total = total + share * out[g + j * d + i] * (1.0 if unscaled else units[i])
            for i in range(d):
                out[k + j * d + i] = out[k + j * d + i] * units[i] / total
                value = out[i] + out[k + j * d + i] * rest
                out[i] = lowest[i] if value < lowest[i] else (highest[i] if value > highest[i] else value)
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
        theta, x_hat, P, u, theta_next, x_next, S, P_next, own, work,
        values, drift, forgetting, settling, mu, t, Ts, n, d, spots, substeps, algorithm,
    ):  # fmt: skip
        believe(own, values, theta, spots, d)
        for i in range(n):
            x_next[i] = x_hat[i]
        carried(x_next, S, u, own, Ts / substeps, substeps, n, d, d, work)
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
    def table_values(model, parameters, estimate, start, factor):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return values_of(plant, equations_of(plant).parameters)

    @staticmethod
    def table_theta_next(model, parameters, estimate, start, factor):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return values_of(plant, chosen_parameters(plant, estimate))

    @staticmethod
    def table_units(model, parameters, estimate, start, factor, scale):
        plant = starting_plant(model, parameters, estimate, start, factor)
        names = chosen_parameters(plant, estimate)
        if scale is not None:
            return spread(scale, names, "scale")
        first = np.abs(values_of(plant, names))
        if not first.all():
            zero = names[int(np.argmin(first))]
            raise DiagramError(
                f"scale: '{zero}' starts at 0, which says nothing of its size. Give scale, one for each of: {listing(names)}."
            )
        return first

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
        plant = known_plant(model, parameters)
        return initial_state(plant) if x0 is None else spread(x0, equations_of(plant).states, "x0")

    @staticmethod
    def table_lowest(model, parameters, estimate):
        return limits(known_plant(model, parameters), estimate)[0]

    @staticmethod
    def table_highest(model, parameters, estimate):
        return limits(known_plant(model, parameters), estimate)[1]

    @staticmethod
    def check(substeps):
        return None if substeps >= 1 else f"substeps: must be at least 1, found {substeps}."

    def modelled(self, plants: Mapping[str, Plant]) -> type[Block]:
        if "model" not in plants:  # a block with mistakes, which are told elsewhere
            return type(self)
        plant = known_plant(plants["model"], self.settings["parameters"])
        ports, names = measured_ports(plant, self.settings["measures"]), chosen_parameters(plant, self.settings["estimate"])
        base, kind = cast(Any, RPEM), cast(Any, plant.kind)  # classes, which mypy does not take for hashable
        return method_for(base, kind, equations_of(plant), ports, tuple(names))


def limits(plant: Plant, estimate: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value the plant allows for each parameter; just inside where the limit itself is excluded."""
    low, high = [], []
    for name in chosen_parameters(plant, estimate):
        declared: Param = plant.kind.of(Param)[name]
        margin = 1e-9 * abs(plant.settings[name])
        low.append(declared.min if declared.min is not None else -np.inf if declared.above is None else declared.above + margin)
        high.append(declared.max if declared.max is not None else np.inf if declared.below is None else declared.below - margin)
    return np.array(low, dtype=float), np.array(high, dtype=float)


@cache
def method_for(
    base: type[Block], kind: type[Block], eq: Equations, ports: tuple[str, ...], names: tuple[str, ...]
) -> type[Block]:
    """The method's class for one plant and one choice of parameters."""
    plant = Plant(kind)
    n, d, where = len(eq.states), len(names), places(eq, ports)
    if where is None:
        raise DiagramError(f"measures: {', '.join(ports)} is no state of {kind.__name__}; it has: {', '.join(state_names(eq))}.")
    m = len(where)
    known: dict[str, Any] = {"n": n, "d": d, "dd": d * d, "m": m, "dm": d * m, "nd": n * d, "inputs": len(eq.inputs)}
    known |= {"count": len(eq.parameters), "room": max(d * d, 3 * (n + n * d)), "where": where}
    known["spots"] = tuple(eq.parameters.index(name) for name in names)
    parts: dict[str, Any] = {name: fixed(value, base.declared[name].doc) for name, value in known.items()}
    parts |= {f"{name}_hat": estimate_port(plant, name) for name in names}
    step = eq.function(f"{kind.__name__}_rates", ("f", "dfdx", "dfdp"), names)
    parts["output"] = staticmethod(with_helpers(base.functions["output"]))
    parts["update"] = staticmethod(with_helpers(base.functions["update"], carried=with_helpers(carried, rates=step)))
    return make_block(base, {**parts, "estimated": names})
