"""Feasibility: whether estimates are those of a physical robot, and the nearest ones that are (Sousa and Cortesao 2014).

Base parameters are combinations of standard ones. They are physical where some standard parameters give them of which every link
is a body, its pseudo-inertia positive semidefinite (Wensing et al. 2018), motors have inertias and friction takes energy: a
semidefinite program, solved by Clarabel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from blocksim.errors import RecordError, listing

from .chain import INERTIAL, Chain
from .grouping import Grouping
from .soundness import pseudo_inertia

LINK_LENGTH = 0.1  # m: lengths within a link are measured in it, so that inertias and masses are of one size
SMALLEST_BODY = 1e-6  # kg, and times LINK_LENGTH^2 kg m^2: what every link has at least where estimates have to be physical
NEGLIGIBLE = 0.05  # standard deviations by which an estimate may be off a physical one and still count as one
BLAMED = 0.05  # share of the largest price of a constraint from which on it is named
REASONS = 2  # that are printed
PULL = 1e-6  # towards what a set of standard parameters was, per unit^2: they are not unique
CONE_ROUNDING = 1e-5  # by which a solver may leave a cone


@dataclass(frozen=True)
class Feasibility:
    """Whether base parameters belong to a physical robot; if not, how far the nearest ones are, and what stands in the way."""

    physical: bool
    distance: float  # of the nearest physical estimates, in standard deviations over all parameters
    names: tuple[str, ...]
    values: tuple[float, ...]  # the estimates
    nearest: tuple[float, ...]  # the nearest ones that a physical robot has
    moves: tuple[float, ...]  # how far that is from each, in standard deviations
    standard: dict[str, float]  # standard parameters that give them: one choice among many
    reasons: tuple[str, ...]  # what stands in the way, by link or joint

    def __str__(self) -> str:
        if self.physical:
            return "a physical robot has these parameters"
        order = np.argsort(np.abs(self.moves))[::-1][:3]
        changes = [f"{self.names[k]} = {self.nearest[k]:.3g} instead of {self.values[k]:.3g}" for k in order]
        near = f"; the nearest, {self.distance:.2g} standard deviations off in all, has {', '.join(changes)}"
        more = len(self.reasons) - REASONS
        reasons = "; ".join(self.reasons[:REASONS]) + (f" ({more} more)" if more > 0 else "")
        return f"no physical robot has these parameters: {reasons}{near}"


def solver_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("clarabel") is not None


def missing_solver() -> str:
    return "physical estimates are found by the solver Clarabel, which is not installed: pip install 'blocksim[feasible]'."


@dataclass(frozen=True)
class Constraints:
    """A x <= b and the cones of a robot's standard parameters: numbers not below 0, then a pseudo-inertia per body."""

    A: Any
    b: np.ndarray
    signs: tuple[str, ...]  # what each number that is not below 0 is
    bodies: tuple[str, ...]


def body_names(chain: Chain, standard: Sequence[str]) -> dict[str, list[str]]:
    """The ten names of every body: links, and the payload where there is one."""
    bodies = {f"link {j}": [f"{symbol}{j}" for symbol in INERTIAL] for j in range(1, len(chain) + 1)}
    return bodies | ({"the payload": [f"{symbol}L" for symbol in INERTIAL]} if "ML" in standard else {})


def sign_rows(chain: Chain, standard: Sequence[str]) -> list[tuple[str, dict[str, float]]]:
    """What is not below 0: motors and friction of joints less what coupled motors have of them, and those of these motors."""
    rows: list[tuple[str, dict[str, float]]] = []
    kinds = ("Ia", "Iam", "inertia of the motor"), ("Fv", "Fvm", "viscous friction"), ("Fc", "", "Coulomb friction")
    for symbol, shared, words in kinds:
        for j in range(len(chain)):
            shares = {f"{shared}{k + 1}": -(chain.coupling[k][j] ** 2) for k in chain.coupled if shared and chain.coupling[k][j]}
            rows.append((f"joint {j + 1}: negative {words}", {f"{symbol}{j + 1}": 1.0, **shares}))
    for k in chain.coupled:
        rows += [(f"motor {k + 1}: negative {symbol}{k + 1}", {f"{symbol}{k + 1}": 1.0}) for symbol in ("Iam", "Fvm", "Fcm")]
    return [(words, row) for words, row in rows if all(name in standard for name in row)]


def upper_triangle(matrix: np.ndarray) -> np.ndarray:
    """Of a symmetric matrix column by column, off the diagonal times sqrt(2): how Clarabel takes it."""
    return np.array([matrix[i, j] * (1.0 if i == j else math.sqrt(2.0)) for j in range(len(matrix)) for i in range(j + 1)])


def scaled_pseudo_inertia(ten: Any) -> np.ndarray:
    scale = np.array([1 / LINK_LENGTH, 1 / LINK_LENGTH, 1 / LINK_LENGTH, 1.0])
    return pseudo_inertia(ten) * np.outer(scale, scale)


def constraints_of(chain: Chain, standard: Sequence[str], smallest: float) -> Constraints:
    """In the form of the solver: b - A x lies in the cones."""
    place = {name: k for k, name in enumerate(standard)}
    signs, bodies = sign_rows(chain, standard), body_names(chain, standard)
    rows: list[np.ndarray] = []
    for _, row in signs:
        line = np.zeros(len(standard))
        line[[place[n] for n in row]] = list(row.values())
        rows.append(-line[None, :])
    for names in bodies.values():
        block = np.zeros((10, len(standard)))
        for k, name in enumerate(names):
            block[:, place[name]] = upper_triangle(scaled_pseudo_inertia(np.eye(10)[k]))
        rows.append(-block)
    b = np.concatenate([np.zeros(len(signs)), *([-smallest * upper_triangle(np.eye(4))] * len(bodies))])
    return Constraints(sparse.csc_matrix(np.vstack(rows)), b, tuple(words for words, _ in signs), tuple(bodies))


def nearest_physical(
    chain: Chain, grouping: Grouping, values: Mapping[str, float], information: np.ndarray, smallest: float = 0.0
) -> Feasibility:
    """min (base - values)' information (base - values) over physical robots."""
    if not solver_installed():
        raise RecordError(missing_solver())
    import clarabel

    names, standard = tuple(values), grouping.standard
    K = np.array([grouping.matrix[grouping.names.index(n)] for n in names])
    target = np.array([float(values[n]) for n in names])
    start = np.array(list(grouping.settings([values.get(n, 0.0) for n in grouping.names]).values()))  # gives these values
    w, v = np.linalg.eigh((information + information.T) / 2)
    A = (v * np.sqrt(np.maximum(w, 0.0))).T @ K  # |A (x - start)| is the distance
    limits = constraints_of(chain, standard, smallest)
    cones = [clarabel.NonnegativeConeT(len(limits.signs)), *(clarabel.PSDTriangleConeT(4) for _ in limits.bodies)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.csc_matrix(np.triu(A.T @ A + PULL * np.eye(len(start))))
    room = limits.b - limits.A @ start
    answer = clarabel.DefaultSolver(P, np.zeros(len(start)), limits.A, room, cones, settings).solve()
    if outside(limits, limits.b - limits.A @ (start + np.array(answer.x))) > CONE_ROUNDING:
        raise RecordError(f"no physical robot near the estimates was found: the solver ended as {answer.status}.")
    move = np.array(answer.x)
    distance = float(np.linalg.norm(A @ move))
    physical = distance <= NEGLIGIBLE
    spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information, rcond=1e-14, hermitian=True)), 1e-300))
    return Feasibility(
        physical, distance, names, tuple(target.tolist()), tuple((target + K @ move).tolist()),
        tuple((K @ move / spread).tolist()), dict(zip(standard, (start + move).tolist(), strict=True)),
        () if physical else blamed(limits, np.array(answer.z), K, K @ move),
    )  # fmt: skip


def outside(limits: Constraints, slack: np.ndarray) -> float:
    """How far standard parameters are from physical ones: the most negative number or eigenvalue."""
    if not np.isfinite(slack).all():
        return math.inf
    count = len(limits.signs)
    least = [float(v) for v in slack[:count]]
    least += [float(np.linalg.eigvalsh(full_matrix(part))[0]) for part in slack[count:].reshape(-1, 10)]
    return -min(least)


def blamed(limits: Constraints, prices: np.ndarray, K: np.ndarray, move: np.ndarray) -> tuple[str, ...]:
    """What stands in the way, in words: the share of each constraint in the push that moves the estimates."""
    count = len(limits.signs)
    parts = [slice(k, k + 1) for k in range(count)] + [
        slice(count + 10 * k, count + 10 * k + 10) for k in range(len(limits.bodies))
    ]
    shares = []
    for part in parts:
        push = limits.A[part].T @ prices[part]
        shares.append(float(-move @ np.linalg.lstsq(K.T, push, rcond=None)[0]))
    words = list(limits.signs)
    for name, part in zip(limits.bodies, parts[count:], strict=True):
        words.append(body_words(name, np.linalg.eigh(full_matrix(prices[part]))[1][:, -1]))
    order = np.argsort(shares)[::-1]
    return tuple(words[k] for k in order if shares[k] > BLAMED * max(shares))


def full_matrix(triangle: np.ndarray) -> np.ndarray:
    """The symmetric 4 x 4 matrix of an upper triangle."""
    matrix, k = np.zeros((4, 4)), 0
    for j in range(4):
        for i in range(j + 1):
            matrix[i, j] = matrix[j, i] = triangle[k] / (1.0 if i == j else math.sqrt(2.0))
            k += 1
    return matrix


def body_words(name: str, direction: np.ndarray) -> str:
    """What of a body is negative: the second moment of its mass along a direction, about a point of it."""
    along, mass = direction[:3], abs(direction[3])
    size = float(np.linalg.norm(along))
    if size < 0.2 * mass:
        return f"{name} would have a negative mass"
    axis = along / size * np.sign(along[np.argmax(np.abs(along))])
    text = ", ".join(f"{v:.2f}" for v in axis + 0.0)
    where = "" if mass < 0.2 * size else f", {LINK_LENGTH * mass / size:.2g} m off its origin"
    return f"the mass of {name} would have a negative second moment along ({text}){where}"


def feasibility(chain: Chain, grouping: Grouping, estimates: Any) -> Feasibility:
    """Of Estimates of a robot's base parameters, distances by their covariance."""
    names = [n for n in estimates if n in grouping.names]
    if not names:
        raise RecordError(f"these are no base parameters of the robot, which has {listing(grouping.names)}.")
    places = [list(estimates).index(n) for n in names]
    information = np.diag([1.0 / max(abs(estimates[n].value), 1e-6) ** 2 for n in names]) * 1e4
    if estimates.covariance is not None:
        covariance = estimates.covariance[np.ix_(places, places)]
        sure = np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0)
        scale = np.sqrt(np.where(sure, np.diag(covariance), 1.0))
        inner = np.where(np.outer(sure, sure), covariance, 0.0) / np.outer(scale, scale)
        information = np.linalg.pinv(inner, rcond=1e-10, hermitian=True) / np.outer(scale, scale)
    return nearest_physical(chain, grouping, {n: estimates[n].value for n in names}, information)
