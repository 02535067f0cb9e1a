"""Trajectories: position, speed and acceleration of one joint or several, each the exact derivative of the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from blocksim.contract.block import Block, brief, outport, param, static, table
from blocksim.contract.declarations import Param, array_problems
from blocksim.contract.vocabulary import cos, maximum, minimum, sin, tau

from .curves import bracket, ramp, ramp_bend, ramp_speed

__all__ = ["FourierTrajectory", "PolynomialTrajectory", "TrapezoidTrajectory"]


class RowsParam(Param):
    """A list of numbers per joint; one list alone is that of a single joint."""

    def problems(self, value: Any) -> list[str]:
        nested = isinstance(value, (list, tuple)) and any(isinstance(item, (list, tuple)) for item in value)
        return array_problems(self, value, 2 if nested or getattr(value, "ndim", 1) == 2 else 1)


class PerJoint(Param):
    """A number per joint, or one for all."""

    def problems(self, value: Any) -> list[str]:
        return array_problems(self, value, 1 if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1 else 0)


class Trajectory(Block):
    """q, qd, qdd = a motion and its first two derivatives."""

    abstract = True
    family = "sources"
    colour = "source"

    q = outport("position", "rad or m", size="joints")
    qd = outport("speed, the exact derivative of q", size="joints", rate_of="q")
    qdd = outport("acceleration, the exact derivative of qd", size="joints", rate_of="qd")


class FourierTrajectory(Trajectory):
    """q = offset + sum_k a_k sin(k w t) + b_k cos(k w t), w = 2 pi base_frequency, k = 1, 2 ...: periodic excitation.

    With coefficients: velocity, a and b are those of the speed, as Swevers et al. (1997) write them:
    q = offset + sum_k a_k / (k w) sin(k w t) - b_k / (k w) cos(k w t). Lists of lists serve several joints. It runs from
    t = 0 on without coming to rest: a plant that starts still, or elsewhere, sees a jump of its reference.
    """

    icon = (
        "0,0.651 0.05,0.772 0.1,0.816 0.15,0.788 0.2,0.72 0.25,0.649 0.3,0.606 0.35,0.603 0.4,0.631 0.45,0.658 "
        "0.5,0.651 0.55,0.587 0.6,0.463 0.65,0.303 0.7,0.149 0.75,0.0485 0.8,0.035 0.85,0.118 0.9,0.278 0.95,0.473 "
        "1,0.651"
    )
    example = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-2}
blocks:
  ref: {type: FourierTrajectory, base_frequency: 0.1, a: [[1.0, 0.4], [0.5, 0.0]], b: [[0.3, -0.2], [0.0, 0.1]]}
  way: {type: Integrator, in: ref.qd}
"""

    base_frequency: float = param(0.1, "frequency of the first harmonic", "Hz", above=0)
    a: Any = RowsParam(doc="sine coefficients, from the first harmonic on", shape=(None, None), required=True)
    b: Any = RowsParam(doc="cosine coefficients, as many; zero when left out", shape=(None, None))
    offset: Any = PerJoint(doc="mean position", shape=(None,), default=0.0)
    coefficients: str = static("position", "what a and b are coefficients of", choices=("position", "velocity"))
    S = table("sine coefficients of the position, a row per joint", shape=(None, None))
    C = table("cosine coefficients of the position, a row per joint", shape=(None, None))
    centre = table("mean position of each joint")

    def label(self) -> list[str]:
        count, base = len(numbers_of(self.settings["a"])), brief(self.settings["base_frequency"])
        return ["FourierTrajectory", f"{count} harmonics of {base} Hz"]

    @staticmethod
    def size_joints(a):
        return len(joint_rows(a))

    @staticmethod
    def size_harmonics(a):
        return len(joint_rows(a)[0])

    @staticmethod
    def table_S(a, base_frequency, coefficients):
        return joint_rows(a) / harmonics_of_speed(joint_rows(a), base_frequency, coefficients)

    @staticmethod
    def table_C(a, b, base_frequency, coefficients):
        cosines = 0.0 * joint_rows(a) if b is None else joint_rows(b)
        return cosines / -harmonics_of_speed(cosines, base_frequency, coefficients) if coefficients == "velocity" else cosines

    @staticmethod
    def table_centre(a, offset):
        return per_joint(offset, len(joint_rows(a)))

    @staticmethod
    def output_q(t, base_frequency, S, C, centre, joints, harmonics, out):
        for j in range(joints):
            out[j] = centre[j]
        for k in range(harmonics):
            w = tau * base_frequency * (k + 1.0)
            s = sin(w * t)
            c = cos(w * t)
            for j in range(joints):
                out[j] = out[j] + S[j, k] * s + C[j, k] * c

    @staticmethod
    def output_qd(t, base_frequency, S, C, joints, harmonics, out):
        for j in range(joints):
            out[j] = 0.0
        for k in range(harmonics):
            w = tau * base_frequency * (k + 1.0)
            s = w * sin(w * t)
            c = w * cos(w * t)
            for j in range(joints):
                out[j] = out[j] + S[j, k] * c - C[j, k] * s

    @staticmethod
    def output_qdd(t, base_frequency, S, C, joints, harmonics, out):
        for j in range(joints):
            out[j] = 0.0
        for k in range(harmonics):
            w = tau * base_frequency * (k + 1.0)
            s = w * w * sin(w * t)
            c = w * w * cos(w * t)
            for j in range(joints):
                out[j] = out[j] - S[j, k] * s - C[j, k] * c

    @staticmethod
    def check(a, b, offset):
        if b is not None and joint_rows(a).shape != joint_rows(b).shape:
            return f"a is {shape_words(a)}, b is {shape_words(b)}; both have one coefficient for each joint and harmonic."
        return per_joint_problem("offset", offset, len(joint_rows(a)))


class PolynomialTrajectory(Trajectory):
    """q = fifth-order polynomials through `points` at `times`, speed and acceleration continuous everywhere.

    Without `velocities` and `accelerations` every way point is a rest: q = p + d (10 s^3 - 15 s^4 + 6 s^5). Before the first
    and after the last point the joint rests there, so both are zero at the ends. Lists of lists serve several joints.
    """

    icon = (
        "0,0.05 0.0833,0.0546 0.167,0.0819 0.25,0.143 0.333,0.239 0.417,0.362 0.5,0.5 0.583,0.638 0.667,0.761 "
        "0.75,0.857 0.833,0.918 0.917,0.945 1,0.95"
    )
    formula = r"q(t) = \sum_{j=0}^{5} c_{ij} \, (t - t_{i})^{j}, \quad q(t_{i}) = p_{i}, \quad q \in C^{2}"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-2}
blocks:
  move: {type: PolynomialTrajectory, times: [0.5, 1.5, 3.0], points: [0.0, 1.0, -0.5]}
"""

    times: Any = param([0.0, 1.0], "when each way point is reached, rising", "s", shape=(None,))
    points: Any = RowsParam(doc="way points, one for each time", shape=(None, None), required=True)
    velocities: Any = RowsParam(doc="speed at each way point; zero when left out", shape=(None, None))
    accelerations: Any = RowsParam(doc="acceleration at each way point; zero when left out", shape=(None, None))
    legs = table("coefficients from (t - time)^0 up, a row for each joint and leg", shape=(None, 6))

    def label(self) -> list[str]:
        return ["PolynomialTrajectory", f"{len(self.settings['times'])} way points"]

    @staticmethod
    def size_joints(points):
        return len(joint_rows(points))

    @staticmethod
    def table_legs(times, points, velocities, accelerations):
        return quintics(times, points, velocities, accelerations)

    @staticmethod
    def output_q(t, times, legs, joints, out):
        i = bracket(t, times)
        last = len(times) - 1
        x = minimum(maximum(t, times[0]), times[last]) - times[i]
        for j in range(joints):
            r = j * last + i
            out[j] = legs[r, 0] + x * (legs[r, 1] + x * (legs[r, 2] + x * (legs[r, 3] + x * (legs[r, 4] + x * legs[r, 5]))))

    @staticmethod
    def output_qd(t, times, legs, joints, out):
        i = bracket(t, times)
        last = len(times) - 1
        x = minimum(maximum(t, times[0]), times[last]) - times[i]
        for j in range(joints):
            r = j * last + i
            out[j] = legs[r, 1] + x * (2.0 * legs[r, 2] + x * (3.0 * legs[r, 3] + x * (4.0 * legs[r, 4] + x * 5.0 * legs[r, 5])))

    @staticmethod
    def output_qdd(t, times, legs, joints, out):
        i = bracket(t, times)
        last = len(times) - 1
        x = minimum(maximum(t, times[0]), times[last]) - times[i]
        for j in range(joints):
            r = j * last + i
            out[j] = 2.0 * legs[r, 2] + x * (6.0 * legs[r, 3] + x * (12.0 * legs[r, 4] + x * 20.0 * legs[r, 5]))

    @staticmethod
    def check(times, points, velocities, accelerations):
        if len(times) < 2 or any(b <= a for a, b in pairwise(times)):
            return f"times: at least two, rising, are wanted, found {list(times)}."
        if joint_rows(points).shape[1] != len(times):
            return f"points: one for each of the {len(times)} times is wanted, found {shape_words(points)}."
        for name, rates in (("velocities", velocities), ("accelerations", accelerations)):
            if rates is None:
                continue
            if joint_rows(rates).shape != joint_rows(points).shape:
                return f"{name}: one for each point is wanted, {shape_words(points)}, found {shape_words(rates)}."
            if joint_rows(rates)[:, [0, -1]].any():
                return f"{name}: the first and the last must be 0, because the joint rests before and after."
        return None


class TrapezoidTrajectory(Trajectory):
    """q goes from way point to way point with a trapezoid of speed whose ramps are smooth, within speed and acceleration limits.

    The smoothed bang-bang law of Khalil and Dombre (2002, 13.3.4): during a ramp the acceleration is a parabola, zero at both
    ends, so it never jumps; its peak, and the speed between the ramps, reach the limits where the way is long enough. Several
    joints move along one line: the slowest sets the time of all. It starts at `start` and rests for `pause` at every point.
    """

    icon = "0,0.05 0.25,0.9 0.75,0.9 1,0.05"
    formula = (
        r"q(t_{i}) = p_{i}, \quad \ddot{q} = \pm 4 a \, s \, (1 - s) \text{ on a ramp, } 0 \le s \le 1, \quad "
        r"|\dot{q}| \le v"
    )
    example = """
format: 1
simulate: {stop: 6.0, solver: rk4, step: 1e-2}
blocks:
  move: {type: TrapezoidTrajectory, points: [[0, 2, 0], [0, 0.5, 1]], speed: 1.5, acceleration: [4.0, 2.0], pause: 0.2}
"""

    points: Any = RowsParam(doc="way points, at least two", shape=(None, None), required=True)
    speed: Any = PerJoint(doc="largest speed", shape=(None,), required=True, above=0)
    acceleration: Any = PerJoint(doc="largest acceleration", shape=(None,), required=True, above=0)
    pause: float = param(0.0, "rest at every way point", "s", min=0)
    start: float = param(0.0, "when the first move begins", "s")
    begins = table("start of each leg, and the end of the last", "s")
    legs = table("of each leg: length of a ramp, time between the ramps, share of the way per second", shape=(None, 3))
    places = table("way points, a row per joint", shape=(None, None))

    def label(self) -> list[str]:
        return ["TrapezoidTrajectory", f"{len(numbers_of(self.settings['points']))} way points"]

    @staticmethod
    def size_joints(points):
        return len(joint_rows(points))

    @staticmethod
    def table_begins(points, speed, acceleration, pause, start):
        return timed_legs(points, speed, acceleration, pause, start)[0]

    @staticmethod
    def table_legs(points, speed, acceleration, pause, start):
        return timed_legs(points, speed, acceleration, pause, start)[1]

    @staticmethod
    def table_places(points):
        return joint_rows(points)

    @staticmethod
    def output_q(t, begins, legs, places, joints, out):
        i = bracket(t, begins)
        x = t - begins[i]
        until = legs[i, 0] + legs[i, 1]
        share = 1.0
        if x < until + legs[i, 0]:
            share = legs[i, 2] * (ramp(x, legs[i, 0]) - ramp(x - until, legs[i, 0]))
        for j in range(joints):
            out[j] = places[j, i] + share * (places[j, i + 1] - places[j, i])

    @staticmethod
    def output_qd(t, begins, legs, places, joints, out):
        i = bracket(t, begins)
        x = t - begins[i]
        rate = legs[i, 2] * (ramp_speed(x, legs[i, 0]) - ramp_speed(x - legs[i, 0] - legs[i, 1], legs[i, 0]))
        for j in range(joints):
            out[j] = rate * (places[j, i + 1] - places[j, i])

    @staticmethod
    def output_qdd(t, begins, legs, places, joints, out):
        i = bracket(t, begins)
        x = t - begins[i]
        bend = legs[i, 2] * (ramp_bend(x, legs[i, 0]) - ramp_bend(x - legs[i, 0] - legs[i, 1], legs[i, 0]))
        for j in range(joints):
            out[j] = bend * (places[j, i + 1] - places[j, i])

    @staticmethod
    def check(points, speed, acceleration):
        places = joint_rows(points)
        if places.shape[1] < 2:
            return f"points: at least two are wanted, found {shape_words(points)}."
        still = abs(places[:, 1:] - places[:, :-1]).max(axis=0) == 0
        if still.any():
            return f"points: number {int(still.argmax()) + 2} is where the one before it is; 'pause' gives a rest."
        return per_joint_problem("speed", speed, len(places)) or per_joint_problem("acceleration", acceleration, len(places))


def timed_legs(points: Any, speed: Any, acceleration: Any, pause: float, start: float) -> tuple[Any, Any]:
    """Start times and (ramp, cruise, speed) of every leg; the way of a leg is 1, shared by all joints.

    A smooth ramp to the speed v takes 1.5 v / a, because the peak of its acceleration is 1.5 times the mean.
    """
    import numpy as np

    places = joint_rows(points)
    ways = np.abs(np.diff(places))
    with np.errstate(divide="ignore"):
        fastest = (per_joint(speed, len(places))[:, None] / ways).min(axis=0)
        strongest = (per_joint(acceleration, len(places))[:, None] / ways).min(axis=0)
    v = np.minimum(fastest, np.sqrt(strongest / 1.5))
    ramps = 1.5 * v / strongest
    cruises = np.maximum(1.0 / v - ramps, 0.0)
    begins = start + np.concatenate([[0.0], np.cumsum(2.0 * ramps + cruises + pause)])
    return begins, np.column_stack([ramps, cruises, v])


def quintics(times: Any, points: Any, velocities: Any, accelerations: Any) -> Any:
    """Coefficients of the fifth-order polynomial of every joint and leg, by its values and derivatives at both ends."""
    import numpy as np

    q = joint_rows(points)
    v, a = (0.0 * q if r is None else joint_rows(r) for r in (velocities, accelerations))
    h = np.diff(np.asarray(times, float))
    way = np.diff(q) - v[:, :-1] * h - 0.5 * a[:, :-1] * h**2
    rate = (np.diff(v) - a[:, :-1] * h) * h
    bend = np.diff(a) * h**2
    cubic = (10.0 * way - 4.0 * rate + 0.5 * bend) / h**3
    quartic = (-15.0 * way + 7.0 * rate - bend) / h**4
    quintic = (6.0 * way - 3.0 * rate + 0.5 * bend) / h**5
    return np.stack([q[:, :-1], v[:, :-1], 0.5 * a[:, :-1], cubic, quartic, quintic], axis=-1).reshape(-1, 6)


def harmonics_of_speed(rows: Any, base_frequency: float, coefficients: str) -> Any:
    """What turns a coefficient of the speed into one of the position: k w, or 1 where it is one already."""
    import numpy as np

    if coefficients == "position":
        return 1.0
    return tau * base_frequency * np.arange(1, rows.shape[1] + 1)


def numbers_of(value: Any) -> Any:
    """The list of the first joint."""
    return value[0] if isinstance(value[0], (list, tuple)) else value


def joint_rows(value: Any) -> Any:
    """A list per joint, as a matrix."""
    import numpy as np

    return np.atleast_2d(np.asarray(value, float))


def per_joint(value: Any, joints: int) -> Any:
    import numpy as np

    return np.broadcast_to(np.asarray(value, float).reshape(-1), (joints,)).copy()


def per_joint_problem(name: str, value: Any, joints: int) -> str | None:
    count = len(value) if isinstance(value, (list, tuple)) else 1
    if count in (1, joints):
        return None
    return f"{name}: one for each of the {joints} joint(s), or one for all, is wanted, found {count}."


def shape_words(value: Any) -> str:
    joints, numbers = joint_rows(value).shape
    return f"{numbers} for {joints} joint(s)"
