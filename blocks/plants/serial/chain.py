"""Chain: the joints of a serial robot from its base to its last link, from rows of modified Denavit-Hartenberg parameters.

The frame of link j follows from that of link j - 1 by Rot(x, alpha) Trans(x, a) Rot(z, theta + q) Trans(z, d), q being added to
d where the joint is prismatic (Khalil and Dombre 2002, ch. 3; Craig's convention). The classical table of Denavit and Hartenberg,
Rot(z, theta + q) Trans(z, d) Trans(x, a) Rot(x, alpha), is the same chain cut one step later. A joint of a URDF file is any pose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blocksim.errors import did_you_mean, listing

Triple = tuple[float, float, float]
RotationMatrix = tuple[Triple, Triple, Triple]

#: Lengths and angles of a row, each 0 where it is left out.
GEOMETRY = ("alpha", "a", "theta", "d")
#: Numbers of a link in the order of the literature: inertia about the frame's origin, first moments, mass.
INERTIAL = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
#: Numbers of a joint and its motor, on the joint's side.
DRIVE = ("Ia", "Fv", "Fc", "off", "N")
#: Numbers of a spring between a motor and its link: stiffness, cubic stiffness, damping.
SPRING = ("K", "Kc", "D")
SNAP = 2e-11  # what is nearer to 0 or 1 is meant to be it: cos(pi/2) is 6e-17
MOST_JOINTS = 20  # joints


@dataclass(frozen=True)
class ChainLink:
    """A joint and the link it moves: the pose of its frame in that of the link before at q = 0, and the joint's axis in it."""

    rotation: RotationMatrix
    place: Triple
    axis: Triple = (0.0, 0.0, 1.0)
    prismatic: bool = False
    name: str = ""

    @property
    def unit(self) -> str:
        return "m" if self.prismatic else "rad"

    @property
    def effort(self) -> str:
        return "N" if self.prismatic else "N m"


@dataclass(frozen=True)
class Chain:
    """The links in their order, and the acceleration of gravity in the frame of the base."""

    links: tuple[ChainLink, ...]
    gravity: Triple = (0.0, 0.0, -9.81)
    coupling: tuple[tuple[float, ...], ...] = ()  # motor speeds on the joints' side, by joint speeds; () where each has its own
    flexible: tuple[int, ...] = ()  # joints with a spring between motor and link

    def __len__(self) -> int:
        return len(self.links)

    @property
    def coupled(self) -> tuple[int, ...]:
        """Motors that more than one joint turns."""
        return tuple(k for k, row in enumerate(self.coupling) if any(value for j, value in enumerate(row) if j != k))


def snapped(value: float) -> float:
    whole = float(round(value))
    return whole if abs(value - whole) < SNAP and abs(whole) <= 1 else value


def turned(alpha: float, theta: float) -> RotationMatrix:
    """Rot(x, alpha) Rot(z, theta), quarter turns exact."""
    ca, sa, ct, st = (snapped(f(angle)) for angle in (alpha, theta) for f in (math.cos, math.sin))
    return ((ct, -st, 0.0), (snapped(ca * st), snapped(ca * ct), -sa), (snapped(sa * st), snapped(sa * ct), ca))


def link_of(row: Mapping[str, Any]) -> ChainLink:
    """A row of modified Denavit-Hartenberg parameters."""
    alpha, a, theta, d = (float(row.get(key, 0.0)) for key in GEOMETRY)
    ca, sa = snapped(math.cos(alpha)), snapped(math.sin(alpha))
    prismatic = row.get("joint", "revolute") == "prismatic"
    place = (a, 0.0 - sa * d, ca * d)
    return ChainLink(turned(alpha, theta), place, prismatic=prismatic, name=str(row.get("name", "")))


def modified_rows(rows: Sequence[Mapping[str, Any]], convention: str) -> list[Mapping[str, Any]]:
    """The rows of a modified table. Those of a classical one have alpha and a of the joint's far end: they belong to the next."""
    if convention == "modified":
        return list(rows)
    far = [{}, *rows[:-1]]
    return [{**row, "alpha": end.get("alpha", 0.0), "a": end.get("a", 0.0)} for row, end in zip(rows, far, strict=True)]


def chain_of(rows: Sequence[Mapping[str, Any]], gravity: Sequence[float], coupling: Sequence[Sequence[float]] | None) -> Chain:
    """The chain of a table that `table_problems` has passed."""
    g = (float(gravity[0]), float(gravity[1]), float(gravity[2]))
    matrix = tuple(tuple(float(v) for v in row) for row in coupling or ())
    return Chain(tuple(link_of(row) for row in rows), g, matrix)


def number_problem(value: Any) -> bool:
    return isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)


def table_problem(rows: Any) -> str:
    """What is wrong with a table of joints, in words; '' where nothing is."""
    if not isinstance(rows, (list, tuple)) or not rows:
        return "joints: a list with a row for each joint is wanted, from the base out, such as {alpha: 0, a: 0, theta: 0, d: 0}."
    if len(rows) > MOST_JOINTS:
        return f"joints: {len(rows)} rows; chains of up to {MOST_JOINTS} joints are written out."
    allowed = (*GEOMETRY, "joint", "name", *INERTIAL, *DRIVE, *SPRING)
    for number, row in enumerate(rows, 1):
        where = f"joints: row {number}"
        if not isinstance(row, Mapping):
            return f"{where}: found {row!r}; a mapping such as {{alpha: 0, a: 0, theta: 0, d: 0}} is wanted."
        for key, value in row.items():
            if key in ("parent", "child", "children", "branch"):
                return (
                    f"{where}: '{key}': an open chain has one link after another, without branches and loops; a row follows "
                    "the one before it."
                )
            if key not in allowed:
                return f"{where} has no '{key}'. A row takes: {listing(allowed)}." + did_you_mean(str(key), allowed)
            if key == "joint":
                if value not in ("revolute", "prismatic"):
                    return f"{where}: joint: {value!r} is not one of revolute, prismatic."
            elif key != "name" and number_problem(value):
                return f"{where}: {key}: found {value!r}; a finite number is wanted."
    return ""


def coupling_problem(coupling: Any, joints: int) -> str:
    """What is wrong with a matrix of motor speeds by joint speeds; '' where nothing is."""
    if coupling is None:
        return ""
    square = isinstance(coupling, (list, tuple)) and len(coupling) == joints
    square = square and all(isinstance(row, (list, tuple)) and len(row) == joints for row in coupling)
    if not square or any(number_problem(value) for row in coupling for value in row):
        return (
            f"coupling: a matrix of {joints} rows of {joints} numbers is wanted: motor speeds, on the joints' side, by joint "
            "speeds."
        )
    if any(coupling[k][k] != 1 for k in range(joints)):
        return "coupling: its diagonal is 1, motor speeds being on the joints' side; the ratios of gears are N1, N2, ..."
    return ""


def gravity_problem(gravity: Any) -> str:
    words = "gravity: three numbers are wanted, the acceleration of gravity in the frame of the base, such as [0, 0, -9.81]."
    fine = isinstance(gravity, (list, tuple)) and len(gravity) == 3 and not any(number_problem(v) for v in gravity)
    return "" if fine else words


def flexible_joints(flexible: Any, numbers: Sequence[Mapping[str, float]]) -> tuple[int, ...]:
    """The joints with a spring, from 0: those that are named, and those whose row has a stiffness."""
    return tuple(sorted({int(k) - 1 for k in flexible or ()} | {j for j, row in enumerate(numbers) if "K" in row}))


def flexible_problem(flexible: Any, numbers: Sequence[Mapping[str, float]], coupling: Any) -> str:
    """What is wrong with the springs of joints; '' where nothing is."""
    count = len(numbers)
    whole = isinstance(flexible or [], (list, tuple)) and all(type(k) is int and 1 <= k <= count for k in flexible or ())
    if not whole:
        return f"flexible: a list of joints is wanted, each from 1 to {count}; found {flexible!r}."
    joints = flexible_joints(flexible, numbers)
    for j, row in enumerate(numbers):
        if j not in joints and (stray := next((key for key in SPRING if key in row), "")):
            return f"joints: row {j + 1}: {stray} belongs to a spring between motor and link: give its stiffness K, too."
    shared = {
        j for k, row in enumerate(coupling or ()) if any(v for i, v in enumerate(row) if i != k) for j in range(count) if row[j]
    }
    if both := [j + 1 for j in joints if j in shared]:
        return f"flexible: joint {both[0]} takes part in the coupling; a motor that several joints turn has no spring here."
    return ""
