"""Extended Kalman filter: the state of a plant from noisy readings of its position, in the loop or beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from blocksim.block import Block, SampledBlock, fixed, inport, memory, model, outport, param, static, table
from blocksim.equations import Equations
from blocksim.errors import DiagramError
from blocksim.plant import Plant

from .observed import (
    equations_of,
    initial_state,
    known_plant,
    make_block,
    measured_ports,
    places,
    port_like,
    reading_variance,
    spread,
    state_names,
    values_of,
    with_helpers,
)

__all__ = ["EKF"]

#: Variance of the first guess of a state that is not measured: Tout 2022, section III-A.
UNKNOWN = 0.1


def rates(x, u, p):
    """Stands for the plant's f, df/dx and df/dp, one after another, row by row."""
    return x


def readings(x, u, p):
    """Stands for the plant's measured outputs and their derivatives by the state."""
    return x


def carried(x, S, u, p, h, turns, n, columns, inner, work):
    """Carry x and its derivatives S by `columns` quantities over `turns` steps of length h: Runge and Kutta's rule, order 4.

    Differentiating the rule is the same as applying it to S' = df/dx S + df/dp, so S becomes the exact derivative of the new x.
    The last `inner` columns of S belong to the parameters that `rates` is differentiated by, the others to first values. `work`
    holds three sets of x and S: a point between, the rate there, the sum of rates.
    """
    size = n + n * columns
    for _ in range(turns):
        for i in range(n):
            work[i], work[2 * size + i] = x[i], x[i]
        for i in range(n * columns):
            work[n + i], work[2 * size + n + i] = S[i], S[i]
        for stage in range(4):
            weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
            reach = h if stage == 2 else 0.5 * h
            found = rates(work, u, p)
            for i in range(n):
                work[size + i] = found[i]
                for j in range(columns):
                    total = found[n + n * n + i * inner + j - columns + inner] if j >= columns - inner else 0.0
                    for k in range(n):
                        total = total + found[n + i * n + k] * work[n + k * columns + j]
                    work[size + n + i * columns + j] = total
            for i in range(size):
                work[2 * size + i] = work[2 * size + i] + weight * work[size + i]
                work[i] = (x[i] if i < n else S[i - n]) + reach * work[size + i]
        for i in range(n):
            x[i] = work[2 * size + i]
        for i in range(n * columns):
            S[i] = work[2 * size + n + i]


def euler(x_next, S, x_hat, u, p, Ts, n, d, turns, work):
    """x_next and S, its derivatives by the state and by d parameters, row by row: Euler's rule (10)."""
    columns = n + d
    found = rates(x_hat, u, p)
    for i in range(n):
        x_next[i] = x_hat[i] + Ts * found[i]
        for j in range(n):
            S[i * columns + j] = (1.0 if i == j else 0.0) + Ts * found[n + i * n + j]
        for j in range(d):
            S[i * columns + n + j] = Ts * found[n + n * n + i * d + j]


def rk4(x_next, S, x_hat, u, p, Ts, n, d, turns, work):
    """The same by so many turns of the rule of order 4."""
    columns = n + d
    for i in range(n):
        x_next[i] = x_hat[i]
        for j in range(columns):
            S[i * columns + j] = 1.0 if i == j else 0.0
    carried(x_next, S, u, p, Ts / turns, turns, n, columns, d, work)


def transition(x_next, S, x_hat, u, p, Ts, n, d, turns, work):
    """Stands for `euler` or `rk4` with the plant's equations in it."""


def spread_on(P_next, S, P, noise, drift, n, d, work):
    """P' = F P F^T + G W G^T + Q, where S = (F, G); W and Q are diagonal."""
    columns = n + d
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total = total + S[i * columns + k] * P[k * n + j]
            work[i * n + j] = total
    for i in range(n):
        for j in range(i, n):
            total = drift[i] if i == j else 0.0
            for k in range(n):
                total = total + work[i * n + k] * S[j * columns + k]
            for k in range(d):
                total = total + noise[k] * S[i * columns + n + k] * S[j * columns + n + k]
            P_next[i * n + j] = total
            P_next[j * n + i] = total


def measure(y, x_next, P_next, rate, variances, values, n, m, speeds, out):
    """The readings of outputs that are no states: the same with h(x) and its derivative in place of an element of x."""
    P = n
    e = n + n * n
    g = n + n * n + m + 1
    x = n + n * n + m + 1 + n * m
    found = readings(x_next, x_next, values)
    for i in range(n):
        out[i] = x_next[i]
    for i in range(n * n):
        out[P + i] = P_next[i]
    nis = 0.0
    for j in range(m):
        rest = y[j] - found[j]
        out[e + j] = rest
        variance = variances[j]
        for i in range(n):
            rest = rest - found[m + j * n + i] * (out[i] - x_next[i])
            total = 0.0
            for k in range(n):
                total = total + out[P + i * n + k] * found[m + j * n + k]
            out[g + i * m + j] = total
            variance = variance + found[m + j * n + i] * total
        nis = nis + rest * rest / variance
        for i in range(n):
            out[g + i * m + j] = out[g + i * m + j] / variance
        for i in range(n):
            out[i] = out[i] + out[g + i * m + j] * rest
            for k in range(i, n):
                out[P + i * n + k] = out[P + i * n + k] - out[g + i * m + j] * variance * out[g + k * m + j]
                out[P + k * n + i] = out[P + i * n + k]
    out[e + m] = nis
    if m > 1:
        for i in range(n):
            for j in range(m):
                total = 0.0
                for k in range(n):
                    total = total + out[P + i * n + k] * found[m + j * n + k]
                out[g + i * m + j] = total / variances[j]
    for i in range(n):
        out[x + i] = out[i]
    for i in range(len(speeds)):
        out[x + n + i] = rate[speeds[i]]


class EKF(SampledBlock):
    """x[k+1] = x + Ts f(x, u, beta (1 + w)), y = h(x) + v: the extended Kalman filter of a plant (Tout 2022, II-B).

    The model is a plant of the library: `model: joint` takes the equations and the values of that block. What the filter
    believes of them is set by `factor` (all parameters of the inverse model times this, the paper's beta_EKF) and by
    `parameters: {J: 2e-4, friction: tanh}`. Derivatives of the equations are exact.

    Process noise multiplies the parameters (12): `sigma_w2`, for all or one each, is the variance of their relative error, in
    every sample anew; `Q` adds to the state. R is the variance of a reading: that of the encoder that makes y unless given (14).
    `discretisation: euler` is (10); `rk4` follows the equations more closely, in `substeps` steps per sample. P0 and x0 are the
    first variances and the first state: R, or 0.1 for what is not measured, and the plant's own start.

    Outputs are estimates given all readings so far: `x_hat` and, by name, every state, such as q_hat and qd_hat; `qdd_hat`, the
    model's acceleration over the last interval (for identification, difference qd_hat centrally after the run); P; `innovation`
    y - h(x) before the reading; `nis`, its square over its variance; `gain`. u acts on the next sample, so that the estimates may
    feed the controller that makes u.
    """

    family = "observers"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [4.0, -2.0], b: [1.0, 2.0]}
  error:   {type: Sum, signs: "+-", in: [ref.q, ekf.q_hat]}
  pid:     {type: PID, Ts: 1e-3, kp: 1.0, ki: 10.0, kd: 0.025, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 2000, in: joint.q}
  ekf:     {type: EKF, Ts: 1e-3, model: joint, factor: 0.7, sigma_w2: 0.09, in: {y: encoder, u: pid}}
"""

    sensor: str = model("the sensor that makes y, for R", port="y")
    model: str = model("the plant whose state is estimated")
    measures: Any = static(None, "outputs of the plant that y measures; q unless said", kind=(str, list, tuple))
    parameters: Any = static(None, "settings of the plant as the filter believes them, {J: 2e-4}", kind=dict)
    factor: float = param(1.0, "the inverse model's parameters in the filter, as a multiple of the plant's", above=0)
    sigma_w2: Any = param(0.01, "variance of the relative error of the parameters, for all or one each", min=0, shape=(None,))
    Q: Any = param(0.0, "variance added to the state in every sample, for all or one each", min=0, shape=(None,))
    R: Any = param(None, "variance of a reading; the sensor's unless given", above=0, shape=(None,))
    P0: Any = param(None, "variances of the first state, for all or one each", min=0, shape=(None,))
    x0: Any = param(None, "first state, for all or one each; the plant's unless given", shape=(None,))
    discretisation: str = static("euler", "rule that carries the state to the next sample", choices=("euler", "rk4"))
    substeps: int = static(1, "steps of rk4 per sample", kind=int)

    # What the plant decides; these stand for one state that is measured.
    n = fixed(1, "states")
    nn = fixed(1, "elements of P")
    m = fixed(1, "readings")
    nm = fixed(1, "elements of the gain")
    inputs = fixed(1, "inputs of the plant")
    d = fixed(0, "parameters that noise multiplies")
    nS = fixed(1, "derivatives of the next state")
    room = fixed(1, "intermediate results")
    turns = fixed(0, "steps of order 4 per sample; 0 for Euler's rule")
    where = fixed((0,), "places of the readings in the state")
    speeds = fixed((), "places of the speeds in the state")

    y = inport("readings", size="m")
    u = inport("what drives the plant", size="inputs")
    x_hat = outport("estimated state", size="n")
    P = outport("covariance of the estimate, row by row", size="nn")
    innovation = outport("reading less its prediction", size="m")
    nis = outport("normalised innovation squared; its mean is the number of readings when the model is true")
    gain = outport("what a unit of innovation adds to each state, row by row", size="nm")

    values = table("the plant's parameters as the filter believes them")
    noise = table("variance of each parameter of the inverse model")
    drift = table("variance added to each state")
    variances = table("variance of each reading")
    x_next: Any = memory(0.0, "predicted state", size="n", array=True, internal=True)
    P_next: Any = memory(0.0, "its covariance, row by row", size="nn", array=True, internal=True)
    rate: Any = memory(0.0, "its rate over the last interval", size="n", array=True, internal=True)
    S: Any = memory(0.0, "derivatives of the next state by state and parameters", size="nS", array=True, internal=True)
    work: Any = memory(0.0, "intermediate results", size="room", array=True, internal=True)

    @staticmethod
    def output(y, x_next, P_next, rate, variances, n, m, where, speeds, out):
        """Take the readings one after another, which for independent ones is the same as all at once."""
        P = n
        e = n + n * n
        g = n + n * n + m + 1
        x = n + n * n + m + 1 + n * m
        for i in range(n):
            out[i] = x_next[i]
        for i in range(n * n):
            out[P + i] = P_next[i]
        nis = 0.0
        for j in range(m):
            c = where[j]
            out[e + j] = y[j] - x_next[c]
            rest = y[j] - out[c]
            variance = out[P + c * n + c] + variances[j]
            nis = nis + rest * rest / variance
            for i in range(n):
                out[g + i * m + j] = out[P + i * n + c] / variance
            for i in range(n):
                out[i] = out[i] + out[g + i * m + j] * rest
                for k in range(i, n):
                    out[P + i * n + k] = out[P + i * n + k] - out[g + i * m + j] * variance * out[g + k * m + j]
                    out[P + k * n + i] = out[P + i * n + k]
        out[e + m] = nis
        if m > 1:  # the gain of all at once, P H^T / R, is not made of the gains of one after another
            for i in range(n):
                for j in range(m):
                    out[g + i * m + j] = out[P + i * n + where[j]] / variances[j]
        for i in range(n):
            out[x + i] = out[i]
        for i in range(len(speeds)):
            out[x + n + i] = rate[speeds[i]]

    @staticmethod
    def update(x_hat, P, u, x_next, P_next, rate, S, work, values, noise, drift, Ts, n, d, turns):
        """Predict the state and its covariance at the next sample."""
        transition(x_next, S, x_hat, u, values, Ts, n, d, turns, work)
        spread_on(P_next, S, P, noise, drift, n, d, work)
        for i in range(n):
            rate[i] = (x_next[i] - x_hat[i]) / Ts

    @staticmethod
    def table_values(model, parameters, factor):
        return believed(model, parameters, factor)[1]

    @staticmethod
    def table_noise(model, parameters, factor, sigma_w2):
        return noise_variances(*believed(model, parameters, factor), sigma_w2)

    @staticmethod
    def table_drift(model, parameters, Q):
        return spread(Q, equations_of(known_plant(model, parameters)).states, "Q")

    @staticmethod
    def table_variances(R, sensor, m):
        return reading_variance(R, sensor, m)

    @staticmethod
    def table_x_next(model, parameters, x0):
        plant = known_plant(model, parameters)
        return initial_state(plant) if x0 is None else spread(x0, equations_of(plant).states, "x0")

    @staticmethod
    def table_P_next(model, parameters, measures, P0, R, sensor, m):
        plant = known_plant(model, parameters)
        states = equations_of(plant).states
        if P0 is not None:
            return np.diag(spread(P0, states, "P0"))
        first = np.full(len(states), UNKNOWN)
        where = places(equations_of(plant), measured_ports(plant, measures))
        if where is not None:
            first[list(where)] = reading_variance(R, sensor, m)
        return np.diag(first)

    @staticmethod
    def check(substeps, discretisation):
        if substeps < 1:
            return f"substeps: must be at least 1, found {substeps}."
        return (
            "substeps: Euler's rule takes one step; for more, say discretisation: rk4."
            if substeps > 1 and discretisation == "euler"
            else None
        )

    def modelled(self, plants: Mapping[str, Plant]) -> type[Block]:
        plant = known_plant(plants["model"], self.settings["parameters"])
        ports = measured_ports(plant, self.settings["measures"])
        base, kind = cast(Any, EKF), cast(Any, plant.kind)  # classes, which mypy does not take for hashable
        return filter_for(base, kind, equations_of(plant), ports, steps(self.settings))


def believed(plant: Plant, parameters: Mapping[str, Any] | None, factor: float) -> tuple[Plant, np.ndarray]:
    """The plant as the filter sees it, and its parameters in the order of its equations."""
    scaled = plant.changed({n: factor * plant.settings[n] for n in plant.parameters})
    seen = known_plant(scaled, parameters)
    return seen, values_of(seen, equations_of(seen).parameters)


def noisy(plant: Plant, eq: Equations) -> list[str]:
    """The parameters that process noise multiplies: those of the inverse model that the equations read."""
    return [n for n in plant.parameters if n in eq.parameters]


def noise_variances(plant: Plant, values: np.ndarray, sigma_w2: Any) -> np.ndarray:
    """The variances of the parameters that process noise multiplies."""
    eq = equations_of(plant)
    moving = noisy(plant, eq)
    own = np.array([values[eq.parameters.index(name)] for name in moving])
    return spread(sigma_w2, moving, "sigma_w2") * own**2


def steps(settings: Mapping[str, Any]) -> int:
    """Steps of order 4 per sample; none for Euler's rule."""
    return settings["substeps"] if settings["discretisation"] == "rk4" else 0


def transition_of(plant: Plant, eq: Equations, turns: int) -> Any:
    """The rule that carries this plant's state to the next sample."""
    if eq.timed:
        raise DiagramError(f"model: the equations of {plant.name} depend on the time, which a filter of states cannot follow.")
    step = eq.function(f"{plant.kind.__name__}_rates", ("f", "dfdx", "dfdp"), noisy(plant, eq))
    return with_helpers(rk4, carried=with_helpers(carried, rates=step)) if turns else with_helpers(euler, rates=step)


@cache
def filter_for(base: type[Block], kind: type[Block], eq: Equations, ports: tuple[str, ...], turns: int) -> type[Block]:
    """The filter's class for one plant: its sizes, its ports, its functions with the plant's equations in them."""
    plant = Plant(kind)
    n, d, m, where = len(eq.states), len(noisy(plant, eq)), sum(eq.ports[p] for p in ports), places(eq, ports)
    speeds = tuple(k for k, name in enumerate(eq.states) if name.partition("[")[0] == "qd")
    known: dict[str, Any] = {"n": n, "nn": n * n, "m": m, "nm": n * m, "inputs": len(eq.inputs), "d": d, "nS": n * (n + d)}
    known |= {"room": 3 * n * (1 + n + d) if turns else n * n, "turns": turns, "where": where or (), "speeds": speeds}
    parts: dict[str, Any] = {name: fixed(value, base.declared[name].doc) for name, value in known.items()}
    parts |= {f"{state}_hat": port_like(plant, state, "estimated") for state in state_names(eq)}
    if speeds:
        unit = kind.declared["qdd"].unit if "qdd" in kind.declared else ""
        parts["qdd_hat"] = outport("estimated acceleration over the last interval", unit, len(speeds))
    if where is None:
        parts["output"] = staticmethod(with_helpers(measure, readings=reading_function(kind, eq, ports)))
    moves = transition_of(plant, eq, turns)
    parts["update"] = staticmethod(with_helpers(base.functions["update"], transition=moves))
    return make_block(base, parts)


def reading_function(kind: type[Block], eq: Equations, ports: tuple[str, ...], names: tuple[str, ...] = ()) -> Any:
    """The plant's measured outputs with their derivatives by the state and these parameters; they may not depend on the input."""
    made = eq.function(f"{kind.__name__}_readings", ("y", "dydx", "dydp"), names, ports)
    if "u[" in made.__source__:  # type: ignore[attr-defined]
        raise DiagramError(
            f"measures: {', '.join(ports)} of {kind.__name__} depends on its input at the same instant, which the filter gets "
            "only for the next sample. Measure states, or outputs that depend on states alone."
        )
    return made
