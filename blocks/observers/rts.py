"""Fixed-interval smoother: the state of a plant given all readings, before and after, from the pass of an EKF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, fixed, inport, model, outport
from blocksim.contract.plant import Plant
from blocksim.contract.times import exact
from blocksim.errors import DiagramError, RecordError
from blocksim.tracing.equations import Equations

from ..smoothing.filters import sample_time
from .ekf import EKF, believed, noise_variances, noisy, spread_on
from .observed import equations_of, known_plant, port_like, port_name, spread, state_names
from .transition import rates_of, steps, transition

__all__ = ["RTSSmoother"]

LARGE = 400  # samples from which compiling pays, in a study at the latest
LOST = 1e-13  # share of a variance that is left by rounding alone


def smoother_gain(C, P, S, P_next, n, columns, work):
    """C = P F^T P_next^-1 by the factors L D L^T of P_next; a direction that has no variance takes no correction."""
    for j in range(n):
        pivot = P_next[j * n + j]
        for k in range(j):
            pivot = pivot - work[j * n + k] * work[j * n + k] * work[n * n + k]
        if pivot <= LOST * P_next[j * n + j]:
            pivot = 0.0
        work[n * n + j] = pivot
        for i in range(j + 1, n):
            total = P_next[i * n + j]
            for k in range(j):
                total = total - work[i * n + k] * work[j * n + k] * work[n * n + k]
            work[i * n + j] = total / pivot if pivot > 0.0 else 0.0
    for r in range(n):
        for i in range(n):
            total = 0.0
            for k in range(n):
                total = total + P[r * n + k] * S[i * columns + k]
            for k in range(i):
                total = total - work[i * n + k] * C[r * n + k]
            C[r * n + i] = total
        for i in range(n):
            C[r * n + i] = C[r * n + i] / work[n * n + i] if work[n * n + i] > 0.0 else 0.0
        for turn in range(n):
            i = n - 1 - turn
            for k in range(i + 1, n):
                C[r * n + i] = C[r * n + i] - work[k * n + i] * C[r * n + k]


def backward(rates, x, P, u, x_s, P_s, values, noise, drift, Ts, n, d, turns, x_next, P_next, S, C, work):
    """From the last sample to the first: x_s and P_s hold the filter's x and P and are replaced by the smoother's."""
    for turn in range(len(x) - 1):
        k = len(x) - 2 - turn
        transition(rates, x_next, S, x[k], u[k], values, Ts, n, d, turns, work)
        spread_on(P_next, S, P[k], noise, drift, n, d, work)
        smoother_gain(C, P[k], S, P_next, n, n + d, work)
        for i in range(n):
            for j in range(n):
                x_s[k, i] = x_s[k, i] + C[i * n + j] * (x_s[k + 1, j] - x_next[j])
                total = 0.0
                for r in range(n):
                    total = total + C[i * n + r] * (P_s[k + 1, r * n + j] - P_next[r * n + j])
                work[i * n + j] = total
        for i in range(n):
            for j in range(i, n):
                total = P_s[k, i * n + j]
                for r in range(n):
                    total = total + work[i * n + r] * C[j * n + r]
                P_s[k, i * n + j] = total
                P_s[k, j * n + i] = total


class RTSSmoother(RecordBlock):
    """x_s[k] = x[k] + C (x_s[k+1] - f(x[k], u[k])), C = P F^T P'^-1: an EKF's states given all readings (Rauch et al. 1965).

    `ekf: ekf` names the filter; x_hat and P are its outputs and u is what drives it. The smoother goes back over them with the
    filter's own f, F and P' = F P F^T + G W G^T + Q, in either discretisation: u[k] acts between the samples k and k+1. Every
    sample of the filter must be logged.

    `x`, and each state by name, such as q_s and qd_s; `std`, their standard deviations, never above the filter's; P. They hold
    as far as the filter's model does, and P is that of a linear model: errors of its linearisation are not in it.
    """

    family = "observers"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [4.0, -2.0], b: [1.0, 2.0]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 1.0, ki: 10.0, kd: 0.025, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 2000, in: joint.q}
  ekf:     {type: EKF, Ts: 1e-3, model: joint, sigma_w2: 0.09, in: {y: encoder, u: pid}}
  smooth:  {type: RTSSmoother, ekf: ekf, in: {x_hat: ekf.x_hat, P: ekf.P, u: pid}}
"""

    ekf: str = model("the EKF whose estimates are smoothed")

    # What the filter's plant decides; these stand for one state.
    n = fixed(1, "states")
    nn = fixed(1, "elements of P")
    inputs = fixed(1, "inputs of the plant")

    x_hat = inport("the filter's estimates", size="n")
    P = inport("their covariance, row by row", size="nn")
    u = inport("what drives the filter", size="inputs")
    x = outport("smoothed state", size="n")
    std = outport("its standard deviations", size="n")
    P_s = outport("its covariance, row by row", size="nn")

    def process(self, t, x_hat, P, u, ekf):
        plant, values = believed(ekf.plants["model"], ekf.settings["parameters"], ekf.settings["factor"])
        eq, turns = equations_of(plant), steps(ekf.settings)
        n, d = len(eq.states), len(noisy(plant, eq))
        Ts = float(exact(ekf.settings["Ts"]))
        check_samples(t, Ts, ekf.name)
        noise, drift = noise_variances(plant, values, ekf.settings["sigma_w2"]), spread(ekf.settings["Q"], eq.states, "Q")
        given = [np.array(values, dtype=float).reshape(len(t), -1) for values in (x_hat, P, u)]
        for name, rows in zip(("x_hat", "P", "u"), given, strict=True):
            if not np.isfinite(rows).all():
                raise RecordError(f"{name} is not finite everywhere; the smoother needs every sample of the filter.")
        x_s, P_s = given[0].copy(), given[1].copy()
        room = [np.zeros(size) for size in (n, n * n, n * (n + d), n * n, max(3 * n * (1 + n + d), n * n + n))]
        run = backward_pass(rates_of(plant, noisy(plant, eq)), len(t) > LARGE)
        run(*given, x_s, P_s, values, noise, drift, Ts, n, d, turns, *room)
        std = np.sqrt(np.maximum(P_s[:, :: n + 1], 0.0))
        return x_s, std, P_s, *by_name(eq, x_s)

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        ekf = plants["ekf"]
        if not issubclass(ekf.kind, EKF) or "model" not in ekf.plants:
            raise DiagramError(f"ekf: the name of a block of type EKF is wanted, found {ekf.name}.")
        plant = known_plant(ekf.plants["model"], ekf.settings["parameters"])
        eq = equations_of(plant)
        parts: dict[str, Any] = {"n": len(eq.states), "nn": len(eq.states) ** 2, "inputs": len(eq.inputs)}
        return {**parts, **{f"{port_name(state)}_s": port_like(plant, state, "smoothed") for state in state_names(eq)}}


def check_samples(t: np.ndarray, Ts: float, name: str) -> None:
    """Every step of the filter is gone back over, so that every one must be there."""
    every = sample_time(t)
    if abs(every - Ts) > 1e-6 * Ts:
        raise RecordError(f"{name} acts every {Ts:g} s and its signals are there every {every:g} s. Log every sample of it.")


def by_name(eq: Equations, x: np.ndarray) -> list[np.ndarray]:
    """The columns of each state, vectors together."""
    where = {name: [k for k, s in enumerate(eq.states) if s.partition("[")[0] == name] for name in state_names(eq)}
    return [x[:, places[0]] if len(places) == 1 else x[:, places] for places in where.values()]


@cache
def backward_pass(rates: Callable[..., Any], compiled: bool) -> Callable[..., None]:
    """`backward` of a plant with these rates, as it stands or the same text compiled, which is kept on disk."""
    if not compiled:
        return partial(backward, rates)
    import inspect

    from numba import njit, types

    from blocksim.compiler import cache as disk
    from blocksim.compiler.program import Code, load_module

    code = Code(program_text(backward, rates), "")
    row, rows, real, whole = types.float64[::1], types.float64[:, ::1], types.float64, types.int64
    signature = types.void(*[rows] * 5, row, row, row, real, whole, whole, whole, *[row] * 5)
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True}
    with disk.folder(code.key, code.text) as place:
        module = load_module(code, place)
        functions = {name: value for name, value in vars(module).items() if inspect.isfunction(value)}
        private: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        inner = njit(**options, **private)
        module.__dict__.update({name: inner(value) for name, value in functions.items() if name != "backward"})
        return njit(signature, **options, cache=place is not None)(functions["backward"])


def program_text(function: Callable[..., Any], rates: Callable[..., Any]) -> str:
    """A function with all it calls, as one text."""
    from blocksim.compiler.codegen import helper_functions, prelude
    from blocksim.contract.vocabulary import LIBM
    from blocksim.tracing.specialise import Helpers, bound, specialise

    helpers: Helpers = {}
    entry = specialise(bound(function, {"rates": rates}), "backward", {}, helpers)
    code = "\n\n".join([*helper_functions(helpers), entry])
    head = f"from math import {', '.join((*LIBM, 'inf', 'nan'))}\nfrom math import pow as libm_pow\n"
    return "\n\n".join([head, *prelude(code), code]) + "\n"
