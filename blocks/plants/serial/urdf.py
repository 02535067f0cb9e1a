"""URDF -> links: the chain of moving joints of a robot description; meshes are ignored.

What is fixed to a link counts to it, and so do grippers and other branches beside the chain, their joints held at 0. Only what
moves with the chain has to be sound: descriptions of whole robots have wheels that float and antennas of negative inertia.

A file is data from anywhere: document types and entities, deep nesting and huge files are refused first.
"""

from __future__ import annotations

import functools
import math
import os
import xml.parsers.expat as expat
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.errors import listing

from .chain import INERTIAL, MOST_JOINTS, ChainLink, snapped

URDF_BYTES, URDF_ELEMENTS, DEEPEST_ELEMENT = 5_000_000, 20_000, 30
MOVING, SEVERAL = ("revolute", "continuous", "prismatic"), ("floating", "planar", "spherical")


class UrdfError(ValueError):
    """What is wrong with a URDF file, in words."""


@dataclass
class XmlElement:
    """An element of the file with its line."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[XmlElement] = field(default_factory=list)

    def child(self, name: str) -> XmlElement | None:
        return next((c for c in self.children if c.name == name), None)

    def numbers(self, key: str, count: int, default: str) -> np.ndarray:
        """Numbers of an attribute."""
        text = self.attributes.get(key, default)
        try:
            values = np.array([float(part) for part in text.split()])
        except ValueError:
            values = np.zeros(0)
        if len(values) != count or not np.isfinite(values).all():
            raise UrdfError(f'line {self.line}: <{self.name}> {key}="{text[:40]}": {count} finite number(s) are wanted.')
        return values

    def text(self, key: str) -> str:
        if not self.attributes.get(key):
            raise UrdfError(f"line {self.line}: <{self.name}> has no {key}.")
        return self.attributes[key]


@dataclass
class Joint:
    """A joint of the file: what it joins, and the pose of its child in its parent at 0."""

    name: str
    kind: str
    parent: str
    child: str
    pose: np.ndarray
    axis: np.ndarray
    damping: float
    friction: float
    line: int
    problem: str  # why a chain cannot have it; held at 0 beside the chain it does no harm


def parsed_tree(text: bytes) -> XmlElement:
    """The elements of a file; UrdfError where it is malformed or hostile."""
    if len(text) > URDF_BYTES:
        raise UrdfError(
            f"more than {URDF_BYTES} bytes; a description of a robot is shorter. Meshes belong in files of their own."
        )
    parser = expat.ParserCreate()
    stack: list[XmlElement] = [XmlElement("", {}, 0)]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if count > URDF_ELEMENTS:
            raise UrdfError(f"line {line}: more than {URDF_ELEMENTS} elements.")
        if len(stack) > DEEPEST_ELEMENT:
            raise UrdfError(f"line {line}: elements are nested deeper than {DEEPEST_ELEMENT} levels.")
        if name.startswith("xacro:"):
            raise UrdfError(f"line {line}: <{name[:40]}>: this is a xacro file; expand it first: xacro arm.xacro > arm.urdf.")
        element = XmlElement(name, attributes, line)
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(*_: Any) -> None:
        raise UrdfError(f"line {parser.CurrentLineNumber}: a document type or an entity is not read; a URDF file needs neither.")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise UrdfError(f"line {error.lineno}: this is not XML: {expat.errors.messages[error.code]}.") from None
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        if isinstance(error, UrdfError):
            raise
        raise UrdfError(f"line 1: this is not XML: {error}.") from None
    root = stack[0].child("robot")
    if root is None:
        raise UrdfError("there is no <robot>; the file is no URDF (a xacro file is expanded first).")
    return root


def pose_of(origin: XmlElement | None) -> np.ndarray:
    """The 4 x 4 pose of an <origin>: Rz(yaw) Ry(pitch) Rx(roll), quarter turns exact."""
    pose = np.eye(4)
    if origin is None:
        return pose
    (r, p, y), place = origin.numbers("rpy", 3, "0 0 0"), origin.numbers("xyz", 3, "0 0 0")
    (cr, sr), (cp, sp), (cy, sy) = ((snapped(math.cos(a)), snapped(math.sin(a))) for a in (r, p, y))
    pose[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    pose[:3, :3] = [[snapped(float(v)) for v in row] for row in pose[:3, :3]]
    pose[:3, 3] = place
    return pose


def body_of(link: XmlElement) -> np.ndarray:
    """The ten numbers of a link about the origin of its frame; zeros where it says nothing."""
    inertial = link.child("inertial")
    if inertial is None:
        return np.zeros(10)
    mass, inertia = inertial.child("mass"), inertial.child("inertia")
    if mass is None or inertia is None:
        raise UrdfError(f"line {inertial.line}: <inertial> of link '{link.text('name')}' needs <mass> and <inertia>.")
    m = float(mass.numbers("value", 1, "")[0])
    xx, xy, xz, yy, yz, zz = (float(inertia.numbers(k, 1, "0")[0]) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if m < 0 or (m > 0 and np.linalg.eigvalsh(J)[0] < -1e-12 * max(np.abs(J).max(), 1e-300)):
        raise UrdfError(
            f"line {inertial.line}: link '{link.text('name')}' is no body: mass {m:g} kg, moments of inertia about its centre "
            f"{', '.join(f'{v:.3g}' for v in np.linalg.eigvalsh(J))} kg m^2; none is negative."
        )
    return moved_ten(pose_of(inertial.child("origin")), ten_of(J, np.zeros(3), m))


def ten_of(J: np.ndarray, moment: np.ndarray, mass: float) -> np.ndarray:
    return np.array([J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], *moment, mass])


def moved_ten(pose: np.ndarray, ten: np.ndarray) -> np.ndarray:
    """The ten numbers of a body in the frame in which its own has this pose."""
    R, p, mass = pose[:3, :3], pose[:3, 3], ten[9]
    J = R @ np.array([[ten[0], ten[1], ten[2]], [ten[1], ten[3], ten[4]], [ten[2], ten[4], ten[5]]]) @ R.T
    s = R @ ten[6:9]
    J = J + 2 * (p @ s) * np.eye(3) - np.outer(p, s) - np.outer(s, p) + mass * ((p @ p) * np.eye(3) - np.outer(p, p))
    return ten_of(J, s + mass * p, mass)


def joint_of(element: XmlElement) -> Joint:
    name, kind = element.text("name"), element.text("type")
    allowed = listing((*MOVING, "fixed"))
    if kind not in (*MOVING, *SEVERAL, "fixed"):
        raise UrdfError(f"line {element.line}: joint '{name}': {kind} is no type of joint; {allowed} are read.")
    problem = ""
    if kind in SEVERAL:
        problem = f"joint '{name}': {kind} has several degrees of freedom; {allowed} are read."
    elif element.child("mimic") is not None:
        problem = f"joint '{name}' mimics another one: a closed mechanism, no open chain."
    ends = {side: element.child(side) for side in ("parent", "child")}
    for side, end in ends.items():
        if end is None:
            raise UrdfError(f"line {element.line}: joint '{name}' has no <{side}>.")
    axis = element.child("axis")
    direction = np.array([1.0, 0.0, 0.0]) if axis is None or kind == "fixed" else axis.numbers("xyz", 3, "1 0 0")
    length = float(np.linalg.norm(direction))
    if length < 1e-9:
        problem = problem or f"joint '{name}': its axis has no direction."
        length = 1.0
    dynamics = element.child("dynamics")
    losses = [0.0 if dynamics is None else float(dynamics.numbers(key, 1, "0")[0]) for key in ("damping", "friction")]
    parent, child = (end.text("link") for end in ends.values() if end is not None)
    pose = pose_of(element.child("origin"))
    return Joint(name, kind, parent, child, pose, direction / length, losses[0], losses[1], element.line, problem)


@dataclass
class UrdfRobot:
    """The links of a file by name, the joints by their parent, and the link that carries all others."""

    links: dict[str, XmlElement]
    by_parent: dict[str, list[Joint]]
    root: str

    def moving(self, joint: Joint) -> bool:
        """Whether anything moves at a joint or beyond it."""
        return joint.kind != "fixed" or any(self.moving(j) for j in self.by_parent.get(joint.child, []))

    def leads(self, link: str, tip: str) -> bool:
        return link == tip or any(self.leads(j.child, tip) for j in self.by_parent.get(link, []))

    def ends(self, link: str) -> list[str]:
        """The last moving links of all branches beyond a link."""
        onward = [j for j in self.by_parent.get(link, []) if self.moving(j)]
        return [end for j in onward for end in self.ends(j.child)] or [link]

    def carried(self, link: str, skipped: Joint | None) -> np.ndarray:
        """The body of a link with all that it carries, joints held at 0, but for what lies behind the joint `skipped`."""
        total = body_of(self.links[link])
        for joint in self.by_parent.get(link, []):
            if joint is not skipped:
                total = total + moved_ten(joint.pose, self.carried(joint.child, None))
        return total


def read_robot(path: str) -> UrdfRobot:
    with open(path, "rb") as stream:
        root = parsed_tree(stream.read(URDF_BYTES + 1))
    links = {link.text("name"): link for link in named_once(root, "link")}
    if not links:
        raise UrdfError("it has no links: an empty robot, such as a xacro file of macros that nothing uses becomes.")
    joints = [joint_of(element) for element in named_once(root, "joint")]
    by_parent: dict[str, list[Joint]] = {}
    children: dict[str, Joint] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in links:
                raise UrdfError(f"line {joint.line}: joint '{joint.name}' names the link '{end}', which is not there.")
        if joint.child == joint.parent:
            raise UrdfError(f"line {joint.line}: joint '{joint.name}' joins the link '{joint.child}' to itself: a loop.")
        if joint.child in children:
            both = f"'{children[joint.child].name}' and '{joint.name}'"
            raise UrdfError(f"line {joint.line}: link '{joint.child}' hangs on two joints, {both}: a loop, no open chain.")
        children[joint.child] = joint
        by_parent.setdefault(joint.parent, []).append(joint)
    roots = [name for name in links if name not in children]
    if len(roots) != 1:
        state = f"the roots are {listing(roots)}" if roots else "none: the joints go round in a loop"
        raise UrdfError(f"one link must be the root of all others; {state}.")
    return UrdfRobot(links, by_parent, roots[0])


def named_once(root: XmlElement, kind: str) -> list[XmlElement]:
    """The links or joints of a file, no two of one name."""
    elements = [element for element in root.children if element.name == kind]
    first: dict[str, XmlElement] = {}
    for element in elements:
        name = element.text("name")
        if name in first:
            raise UrdfError(f"line {element.line}: there is a {kind} '{name}' already, in line {first[name].line}.")
        first[name] = element
    return elements


def next_joint(robot: UrdfRobot, here: str, tip: str | None, last: int) -> Joint | None:
    """The joint by which the chain goes on from a link; UrdfError where that is not clear or not to be had."""
    onward = [j for j in robot.by_parent.get(here, []) if robot.moving(j)]
    if tip is not None:
        onward = [j for j in robot.by_parent.get(here, []) if robot.leads(j.child, tip)] if here != tip else []
    if not onward:
        return None
    ending = f" tip: {here} ends the chain there and holds what is beyond at 0." if last >= 0 else ""
    if len(onward) > 1:
        raise UrdfError(
            f"link '{here}' branches to {listing(j.child for j in onward)}; name the last link of the chain that is meant: "
            f"tip: LINK, such as {listing(robot.ends(here))}.{ending}"
        )
    if onward[0].problem:
        raise UrdfError(f"line {onward[0].line}: {onward[0].problem}{ending}")
    return onward[0]


def urdf_chain(path: str, tip: str | None) -> tuple[tuple[ChainLink, ...], tuple[dict[str, float], ...]]:
    robot = read_robot(path)
    if tip is not None and tip not in robot.links:
        raise UrdfError(f"there is no link '{tip}' for the tip. Links are: {listing(robot.links)}.")
    links: list[ChainLink] = []
    numbers: list[dict[str, float]] = []
    here, pose, last = robot.root, np.eye(4), -1
    while True:
        after = next_joint(robot, here, tip, last)
        if last >= 0:
            ten = moved_ten(pose, robot.carried(here, after))
            for symbol, value in zip(INERTIAL, ten, strict=True):
                numbers[last][symbol] = numbers[last].get(symbol, 0.0) + float(value)
        if after is None:
            break
        pose = pose @ after.pose
        if after.kind != "fixed":
            rotation, place = (tuple(tuple(map(float, row)) for row in pose[:3, :3]), tuple(map(float, pose[:3, 3])))
            axis = tuple(snapped(float(v)) for v in after.axis)
            links.append(ChainLink(rotation, place, axis, after.kind == "prismatic", after.name))  # type: ignore[arg-type]
            numbers.append({"Fv": after.damping, "Fc": after.friction})
            pose, last = np.eye(4), last + 1
        here = after.child
    if not links:
        raise UrdfError("no joint of it moves.")
    if len(links) > MOST_JOINTS:
        raise UrdfError(f"{len(links)} joints move; chains of up to {MOST_JOINTS} are written out.")
    return tuple(links), tuple(numbers)


@functools.lru_cache(maxsize=32)
def cached_chain(path: str, tip: str | None, stamp: tuple[int, int]) -> Any:
    try:
        return urdf_chain(path, tip), ""
    except UrdfError as error:
        return None, str(error)
    except RecursionError:
        return None, "joints are nested too deeply."


def chain_or_problem(path: str, tip: str | None) -> Any:
    try:
        status = os.stat(path)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}."
    return cached_chain(path, tip, (status.st_mtime_ns, status.st_size))


def urdf_problem(path: str, tip: str | None) -> str:
    """Why a URDF file gives no chain, in words; '' where it does."""
    text = chain_or_problem(path, tip)[1]
    return f"file: {os.path.basename(path)}: {text}" if text else ""


def urdf_links(path: str, tip: str | None) -> tuple[tuple[ChainLink, ...], tuple[dict[str, float], ...]]:
    """The links of a file that `urdf_problem` has passed, and the numbers given with each."""
    return chain_or_problem(path, tip)[0]
