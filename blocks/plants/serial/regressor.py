"""The regressor of a chain: tau = W(q, qd, qdd) x, linear in the standard parameters, for all samples of a record at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.syntax import compiled
from blocksim.tracing.graph import Graph
from blocksim.tracing.straight_line import function_text

from .chain import INERTIAL, Chain
from .dynamics import along_axis, constant_of, frames_of, handed_down, motion_of, wrench
from .texts import joint_vector

SAMPLES_AT_ONCE = 1024  # samples that are worked on together: their columns stay in the cache


@dataclass(frozen=True)
class Columns:
    """The entries of a regressor that are not 0 by structure: joint, parameter, and the function that gives them all."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    function: Callable[..., Any]


@functools.lru_cache(maxsize=64)
def inertial_columns(chain: Chain) -> Columns:
    """The efforts of the joints for each number of each link being 1, all others 0."""
    graph, n = Graph(), len(chain)
    q, v, a = (joint_vector(graph, name, n) for name in "qva")
    frames = frames_of(graph, chain, q)
    motion = motion_of(chain, frames, v, a)
    rows, columns, results = [], [], []
    for j in range(n):
        for k in range(len(INERTIAL)):
            unit = [constant_of(graph, float(i == k)) for i in range(len(INERTIAL))]
            force, moment = wrench(unit, motion.w[j], motion.dw[j], motion.a[j])
            for i in reversed(range(j + 1)):
                node = along_axis(chain, frames, i, force, moment).node
                if not node.is_number(0.0):
                    rows.append(i)
                    columns.append(j * len(INERTIAL) + k)
                    results.append(node)
                if i:
                    force, moment = handed_down(frames, i, force, moment)
    places = {graph.read("state", f"{vector}{k}"): f"{vector}[{k}]" for vector in "qva" for k in range(n)}
    space: dict[str, Any] = {"cos": np.cos, "sin": np.sin}
    exec(compiled(function_text(graph, "columns", "qva", places, results), "<regressor>", "exec"), space)
    return Columns(tuple(rows), tuple(columns), space["columns"])


def inertial_regressor(chain: Chain, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(samples, joints, 10 joints): columns XX1, XY1, ..., M1, XX2, ..."""
    W = np.zeros((len(chain), len(INERTIAL) * len(chain), len(q)))
    fill_inertial(W, {k: k for k in range(W.shape[1])}, chain, q, qd, qdd)
    return W.transpose(2, 0, 1)


def fill_inertial(W: np.ndarray, places: Mapping[int, int], chain: Chain, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> None:
    """Put the inertial columns into W, (joints, columns, samples): number k at places[k], where it is wanted."""
    entries = inertial_columns(chain)
    for start in range(0, len(q), SAMPLES_AT_ONCE):
        part = slice(start, start + SAMPLES_AT_ONCE)
        values = entries.function(*(np.ascontiguousarray(x[part].T) for x in (q, qd, qdd)))
        for i, j, value in zip(entries.rows, entries.columns, values, strict=True):
            if j in places:
                W[i, places[j], part] = value


def standard_names(chain: Chain) -> tuple[str, ...]:
    """Of each joint its link, its motor and its friction; then those of motors that several joints turn."""
    own = [f"{symbol}{j}" for j in range(1, len(chain) + 1) for symbol in (*INERTIAL, "Ia", "Fv", "Fc", "off")]
    return (*own, *(f"{symbol}{k + 1}" for k in chain.coupled for symbol in ("Iam", "Fvm", "Fcm")))


def standard_regressor(
    chain: Chain, q: Any, qd: Any, qdd: Any, sign: Callable[[Any], Any], names: Sequence[str] | None = None
) -> np.ndarray:
    """(samples, joints, parameters), of these parameters or of all `standard_names`; `sign` is the law of dry friction.

    The samples of an entry lie side by side, since filters work along them.
    """
    q, qd, qdd = (np.asarray(x, dtype=float).reshape(len(x), len(chain)) for x in (q, qd, qdd))
    place = {name: k for k, name in enumerate(standard_names(chain) if names is None else names)}
    W = np.zeros((len(chain), len(place), len(q)))
    bodies = [f"{symbol}{j}" for j in range(1, len(chain) + 1) for symbol in INERTIAL]
    fill_inertial(W, {k: place[name] for k, name in enumerate(bodies) if name in place}, chain, q, qd, qdd)
    for j in range(len(chain)):
        for symbol, column in (("Ia", qdd[:, j]), ("Fv", qd[:, j]), ("Fc", sign(qd[:, j])), ("off", 1.0)):
            if (name := f"{symbol}{j + 1}") in place:
                W[j, place[name]] = column
    for k in chain.coupled:
        row = np.array(chain.coupling[k])
        others = np.outer(row, row)
        np.fill_diagonal(others, 0.0)
        columns = {"Iam": qdd @ others, "Fvm": qd @ others, "Fcm": sign(qd @ row)[:, None] * row}
        for symbol, values in columns.items():
            if (name := f"{symbol}{k + 1}") in place:
                W[:, place[name]] = values.T
    return W.transpose(2, 0, 1)
