"""Fixed-interval smoother: the state of a plant given all readings, before and after, from the pass of an EKF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, fixed, inport, model, outport
from blocksim.contract.plant import Plant
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import multiply, rows, subtract, symmetric, transpose, zeros
from blocksim.errors import DiagramError, RecordError
from blocksim.tracing.equations import Equations

from ..smoothing.filters import sample_time
from .ekf import EKF, believed, noise_variances, noisy
from .observed import equations_of, known_plant, port_like, port_name, spread_over, state_names
from .transition import rates_of, spread_on, steps, transition

__all__ = ["RTSSmoother"]

MANY_SAMPLES = 400  # samples from which compiling pays, in a study at the latest
LOST = 1e-13  # share of a variance that is left by rounding alone


def smoother_gain(P, F, P_next, n):
    """C = P F^T P_next^-1 by the factors L D L^T of P_next; a direction that has no variance takes no correction."""
    L, D, C = zeros(n, n), zeros(n), zeros(n, n)
    for j in range(n):
        pivot = P_next[j][j]
        for k in range(j):
            pivot = pivot - L[j, k] * L[j, k] * D[k]
        D[j] = pivot if pivot > LOST * P_next[j][j] else 0.0
        for i in range(j + 1, n):
            total = P_next[i][j]
            for k in range(j):
                total = total - L[i, k] * L[j, k] * D[k]
            L[i, j] = total / D[j] if D[j] > 0.0 else 0.0
    PF = multiply(P, transpose(F))
    for r in range(n):
        for i in range(n):
            total = PF[r][i]
            for k in range(i):
                total = total - L[i, k] * C[r, k]
            C[r, i] = total
        for i in range(n):
            C[r, i] = C[r, i] / D[i] if D[i] > 0.0 else 0.0
        for turn in range(n):
            i = n - 1 - turn
            for k in range(i + 1, n):
                C[r, i] = C[r, i] - L[k, i] * C[r, k]
    return C


def smoothed(x, P, u, x_s, P_s, values, noise, drift, Ts, n, d, turns, rates):
    """The smoother's x and P at a sample from the filter's and from the smoother's at the next (Rauch et al. 1965)."""
    x_next, F, G = transition(rates, x, u, values, Ts, n, d, turns)
    before, ahead, P_next = rows(P, n, n), rows(P_s, n, n), spread_on(F, G, rows(P, n, n), noise, drift)
    C = smoother_gain(before, F, P_next, n)
    P_new = symmetric(multiply(multiply(C, subtract(ahead, P_next)), transpose(C), plus=before))
    return multiply(C, subtract(x_s, x_next), plus=x), P_new


class RTSSmoother(RecordBlock):
    """x_s[k] = x[k] + C (x_s[k+1] - f(x[k], u[k])), C = P F^T P'^-1: an EKF's states given all readings (Rauch et al. 1965).

    `ekf: ekf` names the filter; x_hat and P are its outputs and u is what drives it. The smoother goes back over them with the
    filter's own f, F and P' = F P F^T + G W G^T + Q, in either discretisation: u[k] acts between the samples k and k+1. Every
    sample of the filter must be logged.

    `x`, and each state by name, such as q_s and qd_s; `std`, their standard sigmas_of, never above the filter's; P. They hold
    as far as the filter's model does, and P is that of a linear model: errors of its linearisation are not in it.
    """

    family = "observers"
    icon = "0,1 0.25,0.65 0.5,0.58 0.75,0.65 1,1; 0,0 0.25,0.35 0.5,0.42 0.75,0.35 1,0"
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
        noise, drift = noise_variances(plant, values, ekf.settings["sigma_w2"]), spread_over(ekf.settings["Q"], eq.states, "Q")
        signals = [np.array(values, dtype=float).reshape(len(t), -1) for values in (x_hat, P, u)]
        for name, signal in zip(("x_hat", "P", "u"), signals, strict=True):
            if not np.isfinite(signal).all():
                raise RecordError(f"{name} is not finite everywhere; the smoother needs every sample of the filter.")
        x_s, P_s = signals[0].copy(), signals[1].copy()
        law = rates_of(plant, noisy(plant, eq))
        if len(t) > MANY_SAMPLES:
            run = backward_pass(law, n, d, turns, signals[2].shape[1], len(values))
            run(*signals, x_s, P_s, values, noise, drift, Ts)
        else:
            for k in range(len(t) - 2, -1, -1):
                x_k, P_k, u_k = (signal[k] for signal in signals)
                x_s[k], P_new = smoothed(x_k, P_k, u_k, x_s[k + 1], P_s[k + 1], values, noise, drift, Ts, n, d, turns, law)
                P_s[k] = np.ravel(P_new)
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


BACKWARD = """
def backward(x, P, u, x_s, P_s, values, noise, drift, Ts, {arrays}, out):
    for turn in range(len(x) - 1):
        k = len(x) - 2 - turn
        smoothed(x[k], P[k], u[k], x_s[k + 1], P_s[k + 1], values, noise, drift, Ts, {arrays}, out)
        for i in range({n}):
            x_s[k, i] = out[i]
        for i in range({n} * {n}):
            P_s[k, i] = out[{n} + i]
"""


@cache
def backward_pass(rates: Callable[..., Any], n: int, d: int, turns: int, inputs: int, count: int) -> Callable[..., None]:
    """`smoothed` from the last sample to the first, compiled; what is compiled is kept on disk."""
    import inspect

    from numba import njit, types

    from blocksim.compiler import cache as disk
    from blocksim.compiler.program import ProgramText, load_module

    text, arrays = program_text(rates, n, d, turns, inputs, count)
    code = ProgramText(text, "")
    row, table, real = types.float64[::1], types.float64[:, ::1], types.float64
    signature = types.void(*[table] * 5, row, row, row, real, *[row] * (len(arrays) + 1))
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True}
    with disk.folder(code.key, code.text) as place:
        module = load_module(code, place)
        functions = {name: value for name, value in vars(module).items() if inspect.isfunction(value)}
        private: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        inner = njit(**options, **private)
        module.__dict__.update({name: inner(value) for name, value in functions.items() if name != "backward"})
        run = njit(signature, **options, cache=place is not None)(functions["backward"])
    return lambda *signals: run(*signals, *[np.zeros(size) for size in arrays.values()], np.zeros(n + n * n))


def program_text(rates: Callable[..., Any], n: int, d: int, turns: int, inputs: int, count: int) -> tuple[str, dict[str, int]]:
    """`smoothed` in loops with all it calls and the pass over the samples, and the arrays it wants, with their lengths."""
    from blocksim.compiler.codegen import helper_functions, prelude_texts
    from blocksim.contract.vocabulary import LIBM
    from blocksim.tracing.loops.entry import looped_text
    from blocksim.tracing.specialise import Helpers, bound, constant

    helpers: Helpers = {}
    shapes = {"x": n, "P": n * n, "u": inputs, "x_s": n, "P_s": n * n, "values": count, "noise": d, "drift": n}
    env = {"n": constant(n), "d": constant(d), "turns": constant(turns)}
    entry, arrays = looped_text(
        bound(smoothed, {"rates": rates}),
        "smoothed",
        env,
        {name: (size,) for name, size in shapes.items()},
        helpers,
        [("x", n), ("P", n * n)],
    )
    code = "\n\n".join([*helper_functions(helpers), entry, BACKWARD.format(arrays=", ".join(arrays), n=n)])
    head = f"from math import {', '.join((*LIBM, 'inf', 'nan'))}\nfrom math import pow as libm_pow\n"
    return "\n\n".join([head, *prelude_texts(code), code]) + "\n", arrays
