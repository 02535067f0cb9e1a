"""Extended Kalman filter: the state of a plant from noisy readings of its position, in the loop or beside it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from blocksim.contract.block import fixed, memory, outport, param, static, table
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import chosen, divide, multiply, part, rows, subtract, transpose
from blocksim.tracing.equations import Equations

from .correction import after_readings, readings_of
from .observed import (
    PlantObserver,
    equations_of,
    first_state,
    known_plant,
    measured_ports,
    places,
    port_like,
    port_name,
    reading_variance,
    spread_over,
    state_names,
    values_of,
)
from .transition import rates_of, spread_on, steps, steps_problem, transition

__all__ = ["EKF"]

#: Variance of the first guess of a state that is not measured: Tout 2022, section III-A.
UNMEASURED = 0.1


class StateFilter(PlantObserver):
    """A Kalman filter of a plant's state: what all such are told and give."""

    abstract = True

    factor: float = param(1.0, "the inverse model's parameters in the filter, as a multiple of the plant's", above=0)
    sigma_w2: Any = param(0.01, "variance of the relative error of the parameters, for all or one each", min=0, shape=(None,))
    Q: Any = param(0.0, "variance added to the state in every sample, for all or one each", min=0, shape=(None,))
    R: Any = param(None, "variance of a reading; the sensor's unless given", above=0, shape=(None,))
    P0: Any = param(None, "variances of the first state, for all or one each", min=0, shape=(None,))
    discretisation: str = static("euler", "rule that carries the state to the next sample", choices=("euler", "rk4"))

    # What the plant decides; these stand for one state that is measured.
    nn = fixed(1, "elements of P")
    nm = fixed(1, "elements of the gain")
    d = fixed(0, "parameters that noise multiplies")
    turns = fixed(0, "steps of order 4 per sample; 0 for Euler's rule")
    speeds = fixed((), "places of the speeds in the state")

    x_hat = outport("estimated state", size="n")
    P = outport("covariance of the estimate, row by row", size="nn")
    innovation = outport("reading less its prediction", size="m")
    nis = outport("normalised innovation squared; its mean is the number of readings when the model is true")
    gain = outport("what a unit of innovation adds to each state, row by row", size="nm")

    noise = table("variance of each parameter of the inverse model")
    drift = table("variance added to each state")
    x_next: Any = memory(0.0, "predicted state", size="n", array=True, internal=True)
    rate: Any = memory(0.0, "its rate over the last interval", size="n", array=True, internal=True)

    @staticmethod
    def table_values(model, parameters, factor):
        return believed(model, parameters, factor)[1]

    @staticmethod
    def table_noise(model, parameters, factor, sigma_w2):
        return noise_variances(*believed(model, parameters, factor), sigma_w2)

    @staticmethod
    def table_drift(model, parameters, Q):
        return spread_over(Q, equations_of(known_plant(model, parameters)).states, "Q")

    @staticmethod
    def table_variances(R, sensor, m):
        return reading_variance(R, sensor, m)

    @staticmethod
    def table_x_next(model, parameters, x0):
        return first_state(known_plant(model, parameters), x0)

    @staticmethod
    def check(substeps, discretisation):
        return steps_problem(substeps, discretisation)

    def decided_by(self, plant: Plant, ports: tuple[str, ...]) -> dict[str, Any]:
        eq, turns = equations_of(plant), steps(self.settings)
        moving = noisy(plant, eq)
        n, d, m = len(eq.states), len(moving), sum(eq.ports[p] for p in ports)
        speeds = tuple(k for k, name in enumerate(eq.states) if name.partition("[")[0] == "qd")
        parts: dict[str, Any] = {"nn": n * n, "nm": n * m, "d": d, "turns": turns, "speeds": speeds}
        parts |= self.laws(plant, ports, moving)
        parts |= {f"{port_name(state)}_hat": port_like(plant, state, "estimated") for state in state_names(eq)}
        if speeds:
            unit = plant.kind.declared["qdd"].unit if "qdd" in plant.kind.declared else ""
            parts["qdd_hat"] = outport("estimated acceleration over the last interval", unit, len(speeds))
        return parts

    @abstractmethod
    def laws(self, plant: Plant, ports: tuple[str, ...], moving: list[str]) -> dict[str, Any]:
        """What it knows of the plant, of which these ports are measured and these parameters are noisy."""


class EKF(StateFilter):
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

    icon = "0,1 0.25,0.72 0.55,0.6 1,0.56; 0,0 0.25,0.28 0.55,0.4 1,0.44"
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

    P_next: Any = memory(0.0, "its covariance, row by row", size="nn", array=True, internal=True)

    @staticmethod
    def output(y, x_next, P_next, rate, readings, variances, values, n, m, speeds):
        reading = readings(x_next, x_next, values)
        h, H = part(reading, 0, m), rows(reading, m, n, m)
        x, P, nis, K = after_readings(part(x_next, 0, n), rows(P_next, n, n), y, h, H, variances, m)
        gain = divide(multiply(P, transpose(H)), variances) if m > 1 else K  # of all readings at once
        return x, P, subtract(y, h), nis, gain, x, chosen(rate, speeds)

    @staticmethod
    def update(x_hat, P, u, x_next, P_next, rate, rates, values, noise, drift, Ts, n, d, turns):
        """x' = x + Ts f, P' = F P F^T + G W G^T + Q (Tout 2022, eq. 10)."""
        x, F, G = transition(rates, x_hat, u, values, Ts, n, d, turns)
        P_new = spread_on(F, G, rows(P, n, n), noise, drift)
        return {"x_next": x, "P_next": P_new, "rate": divide(subtract(x, x_hat), Ts)}

    @staticmethod
    def table_P_next(model, parameters, measures, P0, R, sensor, m):
        return np.diag(first_variances(model, parameters, measures, P0, R, sensor, m))

    def laws(self, plant: Plant, ports: tuple[str, ...], moving: list[str]) -> dict[str, Any]:
        return {"readings": readings_of(plant, ports), "rates": rates_of(plant, moving)}


def first_variances(model, parameters, measures, P0, R, sensor, m):
    """The variances of the first state: as given, or those of the readings and 0.1 for what is not measured."""
    plant = known_plant(model, parameters)
    states = equations_of(plant).states
    if P0 is not None:
        return spread_over(P0, states, "P0")
    first = np.full(len(states), UNMEASURED)
    where = places(equations_of(plant), measured_ports(plant, measures))
    if where is not None:
        first[list(where)] = reading_variance(R, sensor, m)
    return first


def believed(plant: Plant, parameters: Mapping[str, Any] | None, factor: float) -> tuple[Plant, np.ndarray]:
    """The plant as the filter sees it, and its parameters in the order of its equations."""
    scaled = plant.changed({n: factor * plant.settings[n] for n in plant.standard})
    belief = known_plant(scaled, parameters)
    return belief, values_of(belief, equations_of(belief).parameters)


def noisy(plant: Plant, eq: Equations) -> list[str]:
    """The parameters that process noise multiplies: those of the inverse model that the equations read."""
    return [n for n in plant.parameters if n in eq.parameters]


def noise_variances(plant: Plant, values: np.ndarray, sigma_w2: Any) -> np.ndarray:
    """The variances of the parameters that process noise multiplies."""
    eq = equations_of(plant)
    moving = noisy(plant, eq)
    own = np.array([values[eq.parameters.index(name)] for name in moving])
    return spread_over(sigma_w2, moving, "sigma_w2") * own**2
