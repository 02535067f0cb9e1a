"""Shape: what the settings of a serial robot decide beside its numbers, and the class that is parameters of it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.block import Block, fixed, inport, memory, outport, param, state
from blocksim.contract.declarations import Param
from blocksim.errors import did_you_mean, listing

from .chain import (
    DRIVE,
    INERTIAL,
    SPRING,
    Chain,
    chain_of,
    coupling_problem,
    flexible_joints,
    flexible_problem,
    gravity_problem,
    modified_rows,
    number_problem,
    table_problem,
)
from .equations import robot_functions
from .grouping import Grouping, regrouped
from .regressor import standard_names, standard_regressor
from .table import TABLE_ENDINGS, table_rows

BODY_WORDS = {
    "XX": ("inertia about x of its frame", "kg m^2"),
    "XY": ("product of inertia, - sum m x y", "kg m^2"),
    "XZ": ("product of inertia, - sum m x z", "kg m^2"),
    "YY": ("inertia about y of its frame", "kg m^2"),
    "YZ": ("product of inertia, - sum m y z", "kg m^2"),
    "ZZ": ("inertia about z of its frame, the joint's axis", "kg m^2"),
    "MX": ("first moment along x", "kg m"),
    "MY": ("first moment along y", "kg m"),
    "MZ": ("first moment along z", "kg m"),
    "M": ("mass", "kg"),
}
POSITIVE = ("Fc", "Fcm", *SPRING)


@dataclass(frozen=True)
class RobotShape:
    """A chain and the numbers its rows give: what makes two robots of one class."""

    chain: Chain
    defaults: tuple[tuple[str, float], ...]
    friction: str
    motors: bool  # driven by torques of the motors
    payload: bool

    @functools.cached_property
    def standard(self) -> tuple[str, ...]:
        names = standard_names(self.chain)
        return (*names, *(f"{symbol}L" for symbol in INERTIAL)) if self.payload else names

    def rows(self, q: Any, qd: Any, qdd: Any, friction: str, beta: float, names: tuple[str, ...] | None = None) -> np.ndarray:
        """The regressor of these standard parameters, or of all; the payload is one more body on the last link."""
        law = np.sign if friction == "sign" else lambda v: np.tanh(beta * v)
        columns = self.standard if names is None else names
        own = dict.fromkeys(last_link(name, len(self.chain)) for name in columns)
        W = standard_regressor(self.chain, q, qd, qdd, law, tuple(own))
        return W if len(own) == len(columns) else W[:, :, [list(own).index(last_link(n, len(self.chain))) for n in columns]]

    @functools.cached_property
    def grouping(self) -> Grouping:
        return regrouped(self.standard, lambda q, qd, qdd: self.rows(q, qd, qdd, "sign", 1.0), len(self.chain))


def last_link(name: str, joints: int) -> str:
    """The parameter of the last link whose column a number of the payload has."""
    return f"{name[:-1]}{joints}" if name.endswith("L") else name


def shape_problem(settings: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong with the settings that decide a shape: the setting, and words; two '' where nothing is."""
    rows, file = settings.get("joints"), settings.get("file")
    if (rows is None) == (file is None):
        return "joints", "give `joints`, a table with a row per joint, or `file`, such a table or a URDF file; one of the two."
    if file is not None:
        if text := file_problem(os.fspath(file), settings):
            return "file", text
    elif text := table_problem(rows):
        return "joints", text
    links, numbers = links_and_numbers(settings)
    joints = len(links)
    checks = (("gravity", gravity_problem(settings.get("gravity", [0, 0, 0]))),
              ("coupling", coupling_problem(settings.get("coupling"), joints)),
              ("payload", payload_problem(settings.get("payload"))))  # fmt: skip
    key, text = next(((key, text) for key, text in checks if text), ("", ""))
    text = text or flexible_problem(settings.get("flexible"), numbers, settings.get("coupling"))
    return key or ("flexible" if text else ""), text


def file_problem(file: str, settings: Mapping[str, Any]) -> str:
    """What is wrong with a file of joints, in words; '' where nothing is."""
    if file.endswith(TABLE_ENDINGS):
        text = table_rows(file)[1]
        return f"file: {os.path.basename(file)}: {text}" if text else ""
    if settings.get("convention", "modified") != "modified":
        return "convention: a URDF file has poses, not Denavit-Hartenberg parameters; leave it out."
    from .urdf import urdf_problem

    return urdf_problem(file, settings.get("tip"))


def payload_problem(payload: Any) -> str:
    if payload is None:
        return ""
    if not isinstance(payload, Mapping):
        return f"payload: found {payload!r}; a mapping such as {{M: 1.0, MZ: 0.1}} is wanted."
    for key, value in payload.items():
        if key not in INERTIAL:
            return f"payload has no '{key}'. It takes: {listing(INERTIAL)}." + did_you_mean(str(key), INERTIAL)
        if number_problem(value):
            return f"payload: {key}: found {value!r}; a finite number is wanted."
    return ""


def links_and_numbers(settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """The links, by whichever way they are described, and the numbers given with each."""
    file = os.fspath(settings.get("file") or "")
    if file and not file.endswith(TABLE_ENDINGS):
        from .urdf import urdf_links

        return urdf_links(file, settings.get("tip"))
    rows = modified_rows(table_rows(file)[0] if file else settings["joints"], settings.get("convention", "modified"))
    chain = chain_of(rows, (0.0, 0.0, 0.0), None)
    return chain.links, [{k: v for k, v in row.items() if k in (*INERTIAL, *DRIVE, *SPRING)} for row in rows]


def robot_shape(settings: Mapping[str, Any]) -> RobotShape:
    """The shape of settings that `shape_problem` has passed."""
    links, numbers = links_and_numbers(settings)
    gravity = settings.get("gravity", (0.0, 0.0, -9.81))
    coupling = tuple(tuple(float(v) for v in row) for row in settings.get("coupling") or ())
    chain = Chain(tuple(links), (float(gravity[0]), float(gravity[1]), float(gravity[2])), coupling,
                  flexible_joints(settings.get("flexible"), numbers))  # fmt: skip
    values = {f"{key}{j}": float(value) for j, row in enumerate(numbers, 1) for key, value in row.items()}
    payload = settings.get("payload")
    values |= {f"{key}L": float(value) for key, value in (payload or {}).items()}
    motors = settings.get("input", "joint") == "motor"
    return RobotShape(chain, tuple(values.items()), settings.get("friction", "tanh"), motors, payload is not None)


ROBOT_CLASSES: dict[Any, type[Block]] = {}


def shaped_class(root: type[Any], shape: RobotShape) -> type[Any]:
    """The class of robots of this shape: a parameter for each number of each link, and functions with the chain written out."""
    key = (root, shape)
    if key not in ROBOT_CLASSES:
        members: dict[str, Any] = {"__doc__": root.__doc__, "__module__": root.__module__, "__qualname__": root.__qualname__}
        members |= {"shape_here": shape, "inverse_parameters": shape.standard, **declarations(shape)}
        members |= {
            name: staticmethod(f) for name, f in robot_functions(shape.chain, shape.friction, shape.motors, shape.payload).items()
        }
        members["regressor"] = staticmethod(regressor_of(shape))
        ROBOT_CLASSES[key] = type(root.__name__, (root,), members)
    return ROBOT_CLASSES[key]


def regressor_of(shape: RobotShape) -> Any:
    def regressor(q, qd, qdd, friction, beta):
        """Rows of the inverse dynamic model: regressor @ standard parameters = effort, shape (samples, joints, parameters)."""
        return shape.rows(q, qd, qdd, friction, beta)

    return regressor


def declarations(shape: RobotShape) -> dict[str, Param]:
    """A parameter for every number, with what the table gives as its default."""
    chain, table = shape.chain, dict(shape.defaults)
    parameters: dict[str, Any] = {"joint_count": fixed(len(chain), "joints"), **ports(chain)}

    def declare(name: str, doc: str, unit: str, symbol: str, default: float = 0.0) -> None:
        limits: Any = {"min": 0} if symbol in POSITIVE else {}
        parameters[name] = param(table.get(name, default), doc, unit, **limits)

    for j, link in enumerate(chain.links, 1):
        for symbol, (doc, unit) in BODY_WORDS.items():
            declare(f"{symbol}{j}", f"link {j}: {doc}", unit, symbol)
        inertia = "kg" if link.prismatic else "kg m^2"
        declare(f"Ia{j}", f"inertia of motor {j}, on the joint's side", inertia, "Ia")
        declare(f"Fv{j}", f"viscous friction of joint {j}", f"{link.effort} s/{link.unit}", "Fv")
        declare(f"Fc{j}", f"Coulomb friction of joint {j}", link.effort, "Fc")
        declare(f"off{j}", f"offset of the effort of joint {j}", link.effort, "off")
        if j - 1 in chain.flexible:
            declare(f"K{j}", f"stiffness between motor {j} and its link", f"{link.effort}/{link.unit}", "K")
            declare(f"Kc{j}", f"cubic stiffness between motor {j} and its link", f"{link.effort}/{link.unit}^3", "Kc")
            declare(f"D{j}", f"damping between motor {j} and its link", f"{link.effort} s/{link.unit}", "D")
        if shape.motors:
            declare(f"N{j}", f"gear ratio of joint {j}: turns of the motor by those of the joint", "", "N", 1.0)
    for k in chain.coupled:
        declare(f"Iam{k + 1}", f"inertia of motor {k + 1} felt by one joint from another", "kg m^2", "Iam")
        declare(f"Fvm{k + 1}", f"viscous friction of motor {k + 1} felt by one joint from another", "N m s/rad", "Fvm")
        declare(f"Fcm{k + 1}", f"Coulomb friction of motor {k + 1}", "N m", "Fcm")
    for symbol, (doc, unit) in BODY_WORDS.items() if shape.payload else ():
        declare(f"{symbol}L", f"payload: {doc}", unit, symbol)
    if shape.friction == "sign":
        parameters["mode"] = memory(0.0, "of each joint: 1 slips forward, -1 slips backward, 0 sticks", size=vector_size(chain))
    return parameters


def vector_size(chain: Chain) -> Any:
    """The size of a port: a number that whoever names the robot can copy; of one joint by name, so that it stays a vector."""
    return len(chain) if len(chain) > 1 else "joint_count"


def ports(chain: Chain) -> dict[str, Any]:
    """The vectors of a robot, in units of its joints where these agree."""
    size, kinds = vector_size(chain), {link.prismatic for link in chain.links}
    place, effort = {frozenset({False}): ("rad", "N m"), frozenset({True}): ("m", "N")}.get(frozenset(kinds), ("", ""))
    rate, rise = (f"{place}/s", f"{place}/s^2") if place else ("", "")
    return {
        "tau": inport("efforts of the joints, or torques of the motors", effort, size=size),
        "q": state(0.0, "joint positions", place, size=size, port=True),
        "qd": state(0.0, "joint speeds", rate, size=size, port=True),
        "qdd": outport("joint accelerations", rise, size=size),
        **(flexible_ports(chain, (place, rate, effort)) if chain.flexible else {}),
    }


def flexible_ports(chain: Chain, units: tuple[str, str, str]) -> dict[str, Any]:
    """What springs between motors and links add: their twist and the motors' speeds as states, and the motors as outputs."""
    (place, rate, effort), size = units, vector_size(chain)
    count: Any = len(chain.flexible) if len(chain.flexible) > 1 else "flexible_count"
    return {
        "flexible_count": fixed(len(chain.flexible), "flexible joints"),
        "torsion": state(0.0, "of each flexible joint: motor less link, on the joint's side", place, size=count, port=True),
        "wm": state(0.0, "of each flexible joint: speed of its motor, on the joint's side", rate, size=count, port=True),
        "qm": outport("positions of the motors, on the joints' side", place, size=size, measured=True),
        "qmd": outport("speeds of the motors, on the joints' side", rate, size=size),
        "tau_s": outport("of each flexible joint: effort of its spring on the link", effort, size=count),
    }
