"""The dynamics of a chain as graphs of scalars, of which straight text is written: what is 0 or 1 by structure costs nothing.

Newton-Euler recursion outwards and inwards, composite bodies for the mass matrix, L D L' for its inverse (Khalil and Dombre 2002,
ch. 9; Featherstone 2008). Wrenches are about the origin of a link's own frame, and linear in the ten numbers of each link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blocksim.tracing.graph import Graph
from blocksim.tracing.scalars import Scalar

from .chain import INERTIAL, Chain

Spatial = Sequence[Any]  # of scalars


def cross(a: Spatial, b: Spatial) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def inner_product(a: Spatial, b: Spatial) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def plus(a: Spatial, b: Spatial) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def scaled_by(a: Spatial, k: Any) -> list[Any]:
    return [x * k for x in a]


def turned_by(R: Sequence[Spatial], v: Spatial) -> list[Any]:
    """R v."""
    return [inner_product(row, v) for row in R]


def turned_back_by(R: Sequence[Spatial], v: Spatial) -> list[Any]:
    """R^T v."""
    return [R[0][i] * v[0] + R[1][i] * v[1] + R[2][i] * v[2] for i in range(3)]


@dataclass
class LinkFrames:
    """Of each link: its rotation and place in the frame of the one before, and its axis; all scalars of one graph."""

    graph: Graph
    rotations: list[list[list[Any]]]
    places: list[list[Any]]
    axes: list[list[Any]]


def constant_of(graph: Graph, value: float) -> Scalar:
    return Scalar(graph, graph.constant(float(value)))


def values_read(graph: Graph, kind: str, names: Sequence[str]) -> list[Scalar]:
    return [Scalar(graph, graph.read(kind, name)) for name in names]


def frames_of(graph: Graph, chain: Chain, q: Sequence[Any]) -> LinkFrames:
    """The pose of each frame at this configuration."""
    rotations, places, axes = [], [], []
    for link, angle in zip(chain.links, q, strict=True):
        fixed = [[constant_of(graph, v) for v in row] for row in link.rotation]
        axis = [constant_of(graph, v) for v in link.axis]
        place = [constant_of(graph, v) for v in link.place]
        if link.prismatic:
            place = plus(place, scaled_by(turned_by(fixed, axis), angle))
        else:
            turn = about(graph, axis, angle)
            fixed = [[inner_product(row, [turn[k][j] for k in range(3)]) for j in range(3)] for row in fixed]
        rotations.append(fixed)
        places.append(place)
        axes.append(axis)
    return LinkFrames(graph, rotations, places, axes)


def about(graph: Graph, axis: Sequence[Any], angle: Any) -> list[list[Any]]:
    """The rotation about an axis of unit length: c 1 + s [axis] + (1 - c) axis axis^T."""
    c, s = (Scalar(graph, graph.call(name, angle.node)) for name in ("cos", "sin"))
    one, zero = constant_of(graph, 1.0), constant_of(graph, 0.0)
    x, y, z = axis
    skew = [[zero, zero - z, y], [z, zero, zero - x], [zero - y, x, zero]]
    turn = []
    for i in range(3):
        row = []
        for j in range(3):
            straight = axis[i] * axis[j]
            rest = (one - straight if i == j else zero - straight) * c
            row.append(straight + rest + skew[i][j] * s)
        turn.append(row)
    return turn


@dataclass
class LinkMotion:
    """Of each link, in its frame: angular speed and acceleration, and the acceleration of its origin less gravity."""

    w: list[list[Any]]
    dw: list[list[Any]]
    a: list[list[Any]]


def motion_of(chain: Chain, frames: LinkFrames, qd: Sequence[Any], qdd: Sequence[Any] | None) -> LinkMotion:
    """The recursion outwards. Without accelerations of the joints it is the motion that bias forces come from."""
    graph = frames.graph
    zero = constant_of(graph, 0.0)
    w, dw, a = [zero] * 3, [zero] * 3, [constant_of(graph, -g) for g in chain.gravity]
    motion = LinkMotion([], [], [])
    for j, link in enumerate(chain.links):
        R, p, axis = frames.rotations[j], frames.places[j], frames.axes[j]
        origin = plus(a, plus(cross(dw, p), cross(w, cross(w, p))))
        a = turned_back_by(R, origin)
        carried, dw = turned_back_by(R, w), turned_back_by(R, dw)
        along = scaled_by(axis, qd[j])
        w = carried
        if link.prismatic:
            a = plus(a, scaled_by(cross(carried, along), constant_of(graph, 2.0)))
            a = a if qdd is None else plus(a, scaled_by(axis, qdd[j]))
        else:
            dw = plus(dw, cross(carried, along))
            dw = dw if qdd is None else plus(dw, scaled_by(axis, qdd[j]))
            w = plus(carried, along)
        motion.w.append(w)
        motion.dw.append(dw)
        motion.a.append(a)
    return motion


def inertia_times(P: Sequence[Any], v: Spatial) -> list[Any]:
    """J v of the inertia (XX, XY, XZ, YY, YZ, ZZ)."""
    XX, XY, XZ, YY, YZ, ZZ = P[:6]
    return [inner_product((XX, XY, XZ), v), inner_product((XY, YY, YZ), v), inner_product((XZ, YZ, ZZ), v)]


def wrench(P: Sequence[Any], w: Spatial, dw: Spatial, a: Spatial) -> tuple[list[Any], list[Any]]:
    """Force and moment about the origin that move a body of these ten numbers so."""
    moment, mass = P[6:9], P[9]
    force = plus(scaled_by(a, mass), plus(cross(dw, moment), cross(w, cross(w, moment))))
    turning = plus(inertia_times(P, dw), plus(cross(w, inertia_times(P, w)), cross(moment, a)))
    return force, turning


def along_axis(chain: Chain, frames: LinkFrames, j: int, force: Spatial, moment: Spatial) -> Any:
    return inner_product(frames.axes[j], force if chain.links[j].prismatic else moment)


def handed_down(frames: LinkFrames, j: int, force: Spatial, moment: Spatial) -> tuple[list[Any], list[Any]]:
    """A wrench on link j in the frame of the link before it."""
    down = turned_by(frames.rotations[j], force)
    return down, plus(turned_by(frames.rotations[j], moment), cross(frames.places[j], down))


def bias_of(chain: Chain, frames: LinkFrames, motion: LinkMotion, P: Sequence[Sequence[Any]]) -> list[Any]:
    """The efforts of the joints for this motion: the recursion inwards."""
    zero = constant_of(frames.graph, 0.0)
    force, moment = [zero] * 3, [zero] * 3
    efforts: list[Any] = [zero] * len(chain)
    for j in reversed(range(len(chain))):
        own_force, own_moment = wrench(P[j], motion.w[j], motion.dw[j], motion.a[j])
        force, moment = plus(own_force, force), plus(own_moment, moment)
        efforts[j] = along_axis(chain, frames, j, force, moment)
        force, moment = handed_down(frames, j, force, moment)
    return efforts


def moved_body(R: Sequence[Spatial], p: Spatial, P: Sequence[Any]) -> list[Any]:
    """The ten numbers of a body in the frame before: J' = R J R' + shift by p, s' = R s + M p."""
    XX, XY, XZ, YY, YZ, ZZ = P[:6]
    J = ((XX, XY, XZ), (XY, YY, YZ), (XZ, YZ, ZZ))
    half = [[inner_product(row, (J[0][k], J[1][k], J[2][k])) for k in range(3)] for row in R]
    turned = {(i, k): inner_product(half[i], R[k]) for i in range(3) for k in range(i, 3)}
    s, mass = turned_by(R, P[6:9]), P[9]
    shifted = plus(s, scaled_by(p, mass))  # its first moments in the frame before
    both = plus(s, shifted)  # 2 s + M p
    across = [p[i] * both[i] for i in range(3)]
    J_new = [
        turned[0, 0] + across[1] + across[2],
        turned[0, 1] - (p[0] * shifted[1] + s[0] * p[1]),
        turned[0, 2] - (p[0] * shifted[2] + s[0] * p[2]),
        turned[1, 1] + across[0] + across[2],
        turned[1, 2] - (p[1] * shifted[2] + s[1] * p[2]),
        turned[2, 2] + across[0] + across[1],
    ]
    return [*J_new, *shifted, mass]


def mass_matrix(chain: Chain, frames: LinkFrames, P: Sequence[Sequence[Any]]) -> dict[tuple[int, int], Any]:
    """Its lower triangle, by composite bodies."""
    body = list(P[-1])
    M: dict[tuple[int, int], Any] = {}
    for j in reversed(range(len(chain))):
        axis, moment = frames.axes[j], body[6:9]
        if chain.links[j].prismatic:
            force, turning = scaled_by(axis, body[9]), cross(moment, axis)
        else:
            force, turning = cross(axis, moment), inertia_times(body, axis)
        for i in reversed(range(j + 1)):
            M[j, i] = along_axis(chain, frames, i, force, turning)
            if i:
                force, turning = handed_down(frames, i, force, turning)
        if j:
            body = plus(P[j - 1], moved_body(frames.rotations[j], frames.places[j], body))
    return M


def factorised(M: dict[tuple[int, int], Any], n: int) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """L and the pivots D of M = L D L'."""
    L: dict[tuple[int, int], Any] = {}
    D: list[Any] = []
    for j in range(n):
        scaled = [L[j, k] * D[k] for k in range(j)]
        pivot = M[j, j]
        for k in range(j):
            pivot = pivot - L[j, k] * scaled[k]
        D.append(pivot)
        for i in range(j + 1, n):
            rest = M[i, j]
            for k in range(j):
                rest = rest - L[i, k] * scaled[k]
            L[i, j] = rest / pivot
    return L, D


def solution(L: dict[tuple[int, int], Any], D: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """x of L D L' x = b."""
    n = len(D)
    x = list(b)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
    x = [value / pivot for value, pivot in zip(x, D, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
    return x


def inertial_names(chain: Chain) -> list[list[str]]:
    """XX1, ..., M1; XX2, ..."""
    return [[f"{symbol}{j}" for symbol in INERTIAL] for j in range(1, len(chain) + 1)]
