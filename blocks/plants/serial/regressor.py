"""The regressor of a chain: tau = W(q, qd, qdd) x, linear in the standard parameters, for all samples of a record at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.syntax import compiled
from blocksim.tracing.graph import Graph
from blocksim.tracing.straight_line import function_text

from .chain import INERTIAL, Chain
from .dynamics import along_axis, frames_of, handed_down, motion_of, number, wrench
from .texts import vector_of

PIECE = 1024  # samples that are worked on together: their columns stay in the cache


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
    q, v, a = (vector_of(graph, name, n) for name in "qva")
    frames = frames_of(graph, chain, q)
    motion = motion_of(chain, frames, v, a)
    rows, columns, results = [], [], []
    for j in range(n):
        for k in range(len(INERTIAL)):
            unit = [number(graph, float(i == k)) for i in range(len(INERTIAL))]
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
    entries, n = inertial_columns(chain), len(chain)
    W = np.zeros((n, len(INERTIAL) * n, len(q)))
    for start in range(0, len(q), PIECE):
        part = slice(start, start + PIECE)
        values = entries.function(*(np.ascontiguousarray(x[part].T) for x in (q, qd, qdd)))
        for i, j, value in zip(entries.rows, entries.columns, values, strict=True):
            W[i, j, part] = value
    return W.transpose(2, 0, 1)


def standard_names(chain: Chain) -> tuple[str, ...]:
    """Of each joint its link, its motor and its friction; then those of motors that several joints turn."""
    own = [f"{symbol}{j}" for j in range(1, len(chain) + 1) for symbol in (*INERTIAL, "Ia", "Fv", "Fc", "off")]
    return (*own, *(f"{symbol}{k + 1}" for k in chain.coupled for symbol in ("Iam", "Fvm", "Fcm")))


def standard_regressor(chain: Chain, q: Any, qd: Any, qdd: Any, sign: Callable[[Any], Any]) -> np.ndarray:
    """(samples, joints, parameters) in the order of `standard_names`; `sign` is the law of dry friction."""
    q, qd, qdd = (np.asarray(x, dtype=float).reshape(len(x), len(chain)) for x in (q, qd, qdd))
    names = standard_names(chain)
    place = {name: k for k, name in enumerate(names)}
    W = np.zeros((len(q), len(chain), len(names)))
    inertial = inertial_regressor(chain, q, qd, qdd)
    dry = sign(qd)
    for j in range(len(chain)):
        ten = len(INERTIAL) * j
        first = place[f"XX{j + 1}"]
        W[:, :, first : first + len(INERTIAL)] = inertial[:, :, ten : ten + len(INERTIAL)]
        for symbol, column in (("Ia", qdd[:, j]), ("Fv", qd[:, j]), ("Fc", dry[:, j]), ("off", 1.0)):
            W[:, j, place[f"{symbol}{j + 1}"]] = column
    for k in chain.coupled:
        row = np.array(chain.coupling[k])
        others = np.outer(row, row)
        np.fill_diagonal(others, 0.0)
        W[:, :, place[f"Iam{k + 1}"]] = qdd @ others
        W[:, :, place[f"Fvm{k + 1}"]] = qd @ others
        W[:, :, place[f"Fcm{k + 1}"]] = sign(qd @ row)[:, None] * row
    return W
