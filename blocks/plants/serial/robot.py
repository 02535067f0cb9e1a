"""SerialRobot: an open chain of revolute and prismatic joints, its dynamics written out for its own geometry."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from blocksim.contract.block import Block, fixed, inport, outport, param, state, static
from blocksim.errors import DiagramError

from ..unseen import unseen_at_joints
from .chain import DRIVE, INERTIAL, SPRING
from .grouping import Grouping
from .places import joint_places
from .shape import RobotShape, robot_shape, shape_problem, shaped_class
from .soundness import pivot_problem, robot_inertia_problem, with_payload

if TYPE_CHECKING:
    from .feasible import Feasibility

__all__ = ["SerialRobot"]

#: What the parameters of joints, coupled motors and the payload are called.
JOINT_PARAMETER = re.compile(rf"({'|'.join((*INERTIAL, *DRIVE, *SPRING, 'Iam', 'Fvm', 'Fcm'))})(\d+|L)|mode|torsion|wm")


class SerialRobot(Block):
    """M(q) qdd = tau - c(q, qd) - g(q) - Fv qd - Fc sign(qd) - off: an open chain of 1 to 20 revolute and prismatic joints.

    `joints` is a table with a row per joint, modified Denavit-Hartenberg parameters in rad and m (a quarter turn is
    "${pi / 2}"): Rot(x, alpha) Trans(x, a) Rot(z, theta + q) Trans(z, d), or with `joint: prismatic` q is added to d. With
    `convention: classical` its rows are Rot(z, theta + q) Trans(z, d) Trans(x, a) Rot(x, alpha). Or `file` is such a table (.csv,
    .yaml) or a URDF file. A row may also hold the numbers of its link and drive; each is a parameter of the block, named with the
    number of its joint, `ZZ1`, `MX2`, `Fv3`, which wins over the row; frames are those on the joints' own axes, as in the
    modified table:

        XX XY XZ YY YZ ZZ    inertia about the origin of the link's frame     MX MY MZ    first moments     M    mass
        Ia    inertia of the motor, on the joint's side     Fv Fc off    friction and offset     N    gear ratio

    `coupling` says which joints turn which motor: speeds of the motors, on the joints' side, by speeds of the joints, with ones
    on its diagonal. A motor k that several joints turn has Iamk, Fvmk and Fcmk beside: what one joint feels of another through
    it, so that a rotor of inertia J on joints 5 and 6 is Ia6 = Iam6 = J, and J within Ia5. `input: motor` takes torques of the
    motors, tau_joint = coupling' N tau. `payload` is a body held by the last link, in its frame: XXL, ..., ML.

    A row with K has a spring between motor and link, `flexible: [1, 3]` says the same of a file's joints. The link is then moved
    by K twist + Kc twist^3 + D twist', the motor, of inertia Ia, by tau less that and friction: two masses (Spong 1987). States
    `torsion` (motor less link) and `wm` (speed of the motor) have an element per flexible joint; `qm` and `qmd` are the motors of
    all joints, `tau_s` the efforts of the springs. The inverse model stays that of the rigid robot.

    `friction: tanh` smooths the sign to tanh(beta qd). With `friction: sign` each joint sticks on its own, its speed exactly 0,
    while what it has to hold, the pull of the others included, is at most its Fc; Fcm of coupled motors stays smooth.

    The inverse model is linear in base parameters such as ZZ1R, which regroup those that motion cannot tell apart: identifiers
    estimate these, and the details of their estimates say what each is made of (`formulas`).
    """

    abstract = True
    family = "robots"
    icon = "0.1,0 0.4,0; 0.25,0 0.25,0.35 0.6,0.95 1,0.75"
    formula = (
        r"M(q) \, \ddot{q} = \tau - c(q, \dot{q}) - g(q) - F_{v} \dot{q} - F_{c} \operatorname{sign}(\dot{q}) - "
        r"\mathrm{off}"
    )
    colour = "plant"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0.0, 1.0, 2.0], points: [[0.0, 1.0, 0.0], [0.0, -0.8, 0.3]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, kp: [400.0, 100.0], kd: [40.0, 10.0], in: {e: error, qd_hat: robot.qd}}
  robot:
    type: SerialRobot
    joints:
      - {alpha: "${pi / 2}", ZZ: 0.4, M: 3.0, MX: 0.6, Fv: 1.0, Fc: 0.5}
      - {a: 0.4, ZZ: 0.1, M: 1.0, MX: 0.2, Fv: 0.4, Fc: 0.2}
    in: pd
"""

    #: What the chain decides; the class of a robot has its own.
    shape_here: ClassVar[RobotShape | None] = None
    inverse_parameters: tuple[str, ...] = ("ZZ1",)  # of the least chain there is

    joints: list[dict[str, Any]] | None = static(None, "a row of modified Denavit-Hartenberg parameters per joint", kind=list)
    convention: str = static("modified", "of Denavit and Hartenberg, of the table's rows", choices=("modified", "classical"))
    file: str | None = static(None, "a table (.csv, .yaml) or a URDF file instead, in the diagram's folder", kind=str)
    tip: str | None = static(None, "last link of the URDF file that is used, where it branches", kind=str)
    gravity: list[float] = static([0.0, 0.0, -9.81], "acceleration of gravity in the frame of the base, m/s^2", kind=list)
    coupling: list[list[float]] | None = static(None, "speeds of motors by speeds of joints; each its own unless said", kind=list)
    flexible: list[int] | None = static(None, "joints with a spring between motor and link; rows with K are", kind=list)
    payload: dict[str, float] | None = static(None, "a body held by the last link: {M: 1.0, MZ: 0.1, ...}", kind=dict)
    input: str = static("joint", "what drives it: efforts of joints, or torques of motors", choices=("joint", "motor"))
    friction: str = static("tanh", "law of the dry friction", choices=("tanh", "sign"))
    beta: float = param(100.0, "steepness of tanh(beta qd)", "s/rad", above=0)
    joint_count = fixed(1, "joints")
    tau = inport("efforts of the joints, or torques of the motors", "N m", size="joint_count")
    q: Any = state(0.0, "joint positions", "rad", size="joint_count", port=True)
    qd: Any = state(0.0, "joint speeds", "rad/s", size="joint_count", port=True)
    qdd = outport("joint accelerations", "rad/s^2", size="joint_count")

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_at_joints(self.settings, names, signals["qd"])

    @staticmethod
    def regressor(q, qd, qdd):
        """Rows of the inverse model; the class of a chain has its own."""
        raise DiagramError(f"SerialRobot without a chain has no inverse model: {shape_problem({})[1]}")

    def __new__(cls, **settings: Any) -> SerialRobot:
        kind = class_for(cls, settings)
        robot = object.__new__(kind)
        if not issubclass(kind, cls):  # another chain than this class is of
            robot.__init__(**settings)  # type: ignore[misc]
        return robot

    @classmethod
    def problems(cls, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
        key, text = shape_problem(settings)
        if text:  # which joints there are is not known then, so nothing is said of their parameters
            every = {name: value for name, value in settings.items() if not JOINT_PARAMETER.fullmatch(str(name))}
            return [(key, text), *(problem for problem in super().problems(every) if problem[0] != key)]
        kind = class_for(cls, settings)
        problems = super(SerialRobot, kind).problems(settings)
        if problems:
            return problems
        values = {n: settings.get(n, d.default) for n, d in kind.declared.items() if d.settable}
        assert kind.shape_here is not None
        text = robot_inertia_problem(kind.shape_here.chain, values)
        return [("joints", text)] if text else []

    @classmethod
    def grouping(cls) -> Grouping | None:
        """The base parameters of this chain; None of a robot without one."""
        return None if cls.shape_here is None else cls.shape_here.grouping

    @classmethod
    def shared_motors(cls) -> tuple[tuple[float, ...], ...]:
        """Of each motor that several joints turn: its speed by theirs."""
        chain = None if cls.shape_here is None else cls.shape_here.chain
        return () if chain is None else tuple(chain.coupling[k] for k in chain.coupled)

    @classmethod
    def feasibility(cls, estimates: Any) -> Feasibility:
        """Whether a physical robot has these Estimates of base parameters; if not, why, and the nearest that one has."""
        from .feasible import feasibility

        assert cls.shape_here is not None
        return feasibility(cls.shape_here.chain, cls.shape_here.grouping, estimates)

    @classmethod
    def nearest_physical(cls, values: Mapping[str, float], information: Any) -> Feasibility:
        """The nearest base parameters that a physical robot has, bodies a little better than possible."""
        from .feasible import SMALLEST_BODY, nearest_physical

        assert cls.shape_here is not None
        return nearest_physical(cls.shape_here.chain, cls.shape_here.grouping, values, information, SMALLEST_BODY)

    @classmethod
    def rows(cls, names: tuple[str, ...], q: Any, qd: Any, qdd: Any, friction: str, beta: float) -> Any:
        """The regressor's columns of these standard parameters alone."""
        assert cls.shape_here is not None
        return cls.shape_here.rows(q, qd, qdd, friction, beta, names)

    @classmethod
    def why(cls, settings: Mapping[str, Any], states: Mapping[str, Any]) -> str:
        """Why it cannot move where it is, in words; '' where it can."""
        if cls.shape_here is None:
            return ""
        chain = cls.shape_here.chain
        numbers = {name: float(settings[name]) for name in cls.inverse_parameters}
        for j in chain.flexible:
            if not float(settings[f"Ia{j + 1}"]) > 0:
                return f"Joint {j + 1} is flexible, and its motor has no inertia, Ia{j + 1} = {float(settings[f'Ia{j + 1}']):g}."
        text = pivot_problem(chain, with_payload(chain, numbers), [float(v) for v in states["q"]])
        return text[:1].upper() + text[1:]

    def element_units(self) -> Mapping[str, tuple[str, ...]]:
        """Of a chain with both kinds of joints, element by element; efforts are those of the joints."""
        links = self.shape_here.chain.links if self.shape_here else ()
        if len({link.prismatic for link in links}) < 2:
            return {}
        places, efforts = tuple(link.unit for link in links), tuple(link.effort for link in links)
        rates, rises = tuple(f"{unit}/s" for unit in places), tuple(f"{unit}/s^2" for unit in places)
        motions = {"q": places, "qd": rates, "qdd": rises, "qm": places, "qmd": rates}
        return motions if self.settings.get("input") == "motor" else {**motions, "tau": efforts}

    def figure(self) -> dict[str, Any]:
        if self.shape_here is None:
            return {}
        return {"kind": "chain", "signals": ("q",), "points": functools.partial(joint_places, self.shape_here.chain), "unit": "m"}

    def label(self) -> list[str]:
        return [type(self).__name__, f"{self.declared['joint_count'].default} joints"]


def class_for(cls: type[SerialRobot], settings: Mapping[str, Any]) -> type[SerialRobot]:
    """The class of a robot with these settings; the plain one where they describe none."""
    if not settings or shape_problem(settings)[1]:
        return cls
    return shaped_class(SerialRobot, robot_shape(settings))
