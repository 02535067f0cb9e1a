"""Control that knows a robot: its inverse model as a block, and computed torque for as many joints as it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from blocksim.contract.block import Block, fixed, inport, law, model, outport, period, static, table
from blocksim.contract.decision import decided_class
from blocksim.contract.declarations import Param, Static
from blocksim.contract.times import exact
from blocksim.errors import DiagramError, did_you_mean, listing

from .scara import ComputedTorque
from .serial.inverse import control_law, inverse_law, inverse_values

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

    from .serial.shape import RobotShape

__all__ = ["InverseDynamics"]


def robot_of(plant: Plant, beliefs: Mapping[str, Any] | None) -> Plant:
    """The robot as a controller believes it to be."""
    if getattr(plant.kind, "shape_here", None) is None:
        raise DiagramError(f"model: {plant.name} is no SerialRobot; an inverse model of n joints is written out for that alone.")
    takes = [n for n, d in plant.kind.declared.items() if isinstance(d, Param) and not isinstance(d, Static)]
    for name in beliefs or {}:
        if name not in takes:
            raise DiagramError(
                f"parameters: {plant.name} has no number '{name}'. It takes: {listing(takes)}." + did_you_mean(str(name), takes)
            )
    return plant.changed(dict(beliefs or {}))


def shape_of_robot(robot: Plant) -> RobotShape:
    """Its chain, motors and frictions, which `robot_of` has made sure of."""
    return cast("RobotShape", getattr(robot.kind, "shape_here", None))


def robot_ports(plant: Plant) -> dict[str, Any]:
    """Ports of a controller in the sizes and units of the robot's own."""
    own = plant.kind.declared
    size = getattr(own["q"], "size", "n")
    size = size if isinstance(size, int) else "n"
    place, rate, rise, effort = (own[name].unit for name in ("q", "qd", "qdd", "tau"))
    return {"size": size, "place": place, "rate": rate, "rise": rise, "effort": effort}


class InverseDynamics(Block):
    """tau = M(q) qdd + c(q, qd) + g(q) + friction: what a SerialRobot has to be driven with for a motion.

    With q alone it holds the robot: gravity and offsets. With all three at the reference it is the feedforward of the whole
    model, for `ff` of a PID; with the measured q and qd and a wanted acceleration it is computed torque. `model` names the robot,
    `parameters` are numbers of it as they are believed to be, {M3: 2.0}; the others are its own. Springs are taken for stiff,
    dry friction is tanh(beta qd). Where the robot is driven by motors, so is what comes out.
    """

    family = "control"
    icon = "0,0 0.2,0; 0.1,0 0.1,0.4 0.3,0.95 0.55,0.8; 0.6,0.35 0.95,0.35; 0.85,0.6 0.95,0.35 0.85,0.1"
    formula = r"\tau = M(q) \, \ddot{q} + c(q, \dot{q}) + g(q) + F_{v} \dot{q} + F_{c} \tanh(\beta \dot{q}) + \mathrm{off}"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0.0, 1.0, 2.0], points: [[0.0, 1.0, 0.0], [0.0, -0.8, 0.3]]}
  model: {type: InverseDynamics, model: robot, parameters: {M2: 1.2}, Ts: 1e-3, in: {q: ref.q, qd: ref.qd, qdd: ref.qdd}}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, kp: [400.0, 100.0], kd: [40.0, 10.0], in: {e: error, qd_hat: slip, ff: model}}
  slip:  {type: Sum, signs: "+-", in: [robot.qd, ref.qd]}
  robot:
    type: SerialRobot
    joints:
      - {alpha: "${pi / 2}", ZZ: 0.4, M: 3.0, MX: 0.6, Fv: 1.0, Fc: 0.5}
      - {a: 0.4, ZZ: 0.1, M: 1.0, MX: 0.2, Fv: 0.4, Fc: 0.2}
    in: pd
"""

    model: str = model("the robot whose inverse model it is")
    parameters: Any = static(None, "numbers of the robot as they are believed to be, {M3: 2.0}", kind=dict)
    Ts = period(0, "sample time; 0 acts continuously", optional=True)
    n = fixed(1, "joints")
    still = fixed((0.0,), "no motion")
    values = table("the robot's numbers")
    inverse = law("efforts for a motion (q, qd, qdd) and numbers")
    q = inport("positions", "rad", size="n")
    qd = inport("speeds; none are 0", "rad/s", size="n", optional=True)
    qdd = inport("accelerations; none are 0", "rad/s^2", size="n", optional=True)
    tau = outport("efforts", "N m", size="n")

    @staticmethod
    def output(q, qd, qdd, inverse, values, still, has_qd, has_qdd):
        return inverse(q, qd if has_qd else still, qdd if has_qdd else still, values)

    @staticmethod
    def table_values(model, parameters):
        plant = robot_of(model, parameters)
        return inverse_values(inverse_law(shape_of_robot(plant))[1], plant.settings)

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        if "model" not in plants:
            return {}
        plant = robot_of(plants["model"], self.settings["parameters"])
        units = robot_ports(plant)
        size = units["size"]
        return {
            "n": len(shape_of_robot(plant).chain),
            "still": (0.0,) * len(shape_of_robot(plant).chain),
            "inverse": inverse_law(shape_of_robot(plant))[0],
            "q": inport("positions", units["place"], size=size),
            "qd": inport("speeds; none are 0", units["rate"], size=size, optional=True),
            "qdd": inport("accelerations; none are 0", units["rise"], size=size, optional=True),
            "tau": outport("efforts", units["effort"], size=size),
        }

    def variant(self, inputs: int = 1) -> type[Block]:
        kind = self.bound or type(self)
        return sampled_class(kind) if exact(self.settings["Ts"]) else kind


SAMPLED: dict[type[Block], type[Block]] = {}


def sampled_class(kind: type[Block]) -> type[Block]:
    """The same block at its sample hits, what it gives held between them."""
    if kind not in SAMPLED:
        SAMPLED[kind] = type(kind.__name__, (kind,), {"__doc__": kind.__doc__, "__module__": kind.__module__, "sampled": True})
    return SAMPLED[kind]


class RobotTorque(ComputedTorque):
    """tau = inverse model of (q, qd, qdd_ref + kd (qd_ref - qd) + kp (q_ref - q)): ComputedTorque of a SerialRobot."""

    abstract = True
    n = fixed(1, "joints")
    values = table("the robot's numbers")
    gains = table("kp of each joint, then kd")
    control = law("efforts at (q_ref, qd_ref, qdd_ref, q, qd, gains, values)")

    @staticmethod
    def output(q_ref, qd_ref, qdd_ref, q, qd, gains, values, control):
        return control(q_ref, qd_ref, qdd_ref, q, qd, gains, values)

    @staticmethod
    def table_values(model, parameters):
        plant = robot_of(model, parameters)
        return inverse_values(inverse_law(shape_of_robot(plant))[1], plant.settings)

    @staticmethod
    def table_gains(model, kp, kd):
        n = len(shape_of_robot(robot_of(model, None)).chain)
        return np.concatenate([joint_gains(name, value, n) for name, value in (("kp", kp), ("kd", kd))])


def robot_torque(plant: Plant, settings: Mapping[str, Any]) -> type[Block]:
    """The class of ComputedTorque for this robot."""
    robot = robot_of(plant, settings["parameters"])
    for name in ("kp", "kd"):
        joint_gains(name, settings[name], len(shape_of_robot(robot).chain))
    units = robot_ports(robot)
    size = units["size"]
    parts = {
        "n": len(shape_of_robot(robot).chain),
        "control": control_law(shape_of_robot(robot), settings["form"]),
        "q_ref": inport("wanted positions", units["place"], size=size),
        "qd_ref": inport("wanted speeds", units["rate"], size=size),
        "qdd_ref": inport("wanted accelerations", units["rise"], size=size),
        "q": inport("measured positions", units["place"], size=size),
        "qd": inport("measured speeds", units["rate"], size=size),
        "tau": outport("efforts", units["effort"], size=size),
    }
    kind = decided_class(RobotTorque, parts)
    return sampled_class(kind) if exact(settings["Ts"]) else kind


def joint_gains(name: str, value: Any, n: int) -> np.ndarray:
    numbers = np.atleast_1d(np.asarray(value, dtype=float))
    if len(numbers) != n and len(set(numbers.tolist())) > 1:
        raise DiagramError(f"{name}: {n} numbers are wanted, one for each joint; found {len(numbers)}.")
    return np.broadcast_to(numbers if len(numbers) == n else numbers[0], (n,)).astype(float)
