"""Grips: the spectral lines, way points and levels of a source that a hand can drag, and the settings that come of it.

Sources are known by the names of their types, as families of designs are; the library is not imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...contract.definition import arguments
from ...errors import BlocksimError

if TYPE_CHECKING:
    from ...contract.block import Block

Settings = dict[str, Any]


@dataclass(frozen=True)
class Grip:
    """One thing to drag up and down: a line of the spectrum (x in Hz) or a point in time (x in s).

    A point whose time is a setting goes from side to side, too, `between` its neighbours.
    """

    kind: str  # line or point
    x: float
    y: float
    signal: int = 0  # of a vector, which element
    between: tuple[float, float] | None = None


def source_table(block: Block, name: str) -> Any:
    """A table of a block as it is computed before the run."""
    function = getattr(type(block), f"table_{name}")
    return function(*(block.settings[argument] for argument in arguments(function)))


def rows_by_joint(value: Any) -> list[list[float]]:
    """A list of numbers, or one for each joint, as rows."""
    values = value.tolist() if hasattr(value, "tolist") else list(value)
    return [list(row) for row in values] if values and isinstance(values[0], (list, tuple)) else [list(values)]


def like(value: Any, rows: list[list[float]]) -> Any:
    """Rows in the form that the setting has."""
    values = value.tolist() if hasattr(value, "tolist") else list(value)
    return rows if values and isinstance(values[0], (list, tuple)) else rows[0]


def multisine_grips(block: Block, duration: float) -> list[Grip]:
    f, re, im = (source_table(block, name) for name in ("f", "re", "im"))
    size = block.settings["amplitude"]
    return [Grip("line", float(x), float(size * math.hypot(a, b))) for x, a, b in zip(f, re, im, strict=True)]


def multisine_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    amplitudes = [grip.y for grip in multisine_grips(block, 0.0)]
    phases = [math.atan2(b, a) for a, b in zip(source_table(block, "re"), source_table(block, "im"), strict=True)]
    amplitudes[number] = max(y, 0.0)
    return {"amplitude": 1.0, "amplitudes": [few_digits(a) for a in amplitudes], "phases": [few_digits(p) for p in phases]}


def fourier_grips(block: Block, duration: float) -> list[Grip]:
    base = float(block.settings["base_frequency"])
    a, b = rows_by_joint(block.settings["a"]), rows_by_joint(block.settings["b"])
    return [
        Grip("line", (k + 1) * base, math.hypot(a[joint][k], b[joint][k]), joint)
        for joint in range(len(a))
        for k in range(len(a[joint]))
    ]


def fourier_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    a, b = rows_by_joint(block.settings["a"]), rows_by_joint(block.settings["b"])
    joint, k = divmod(number, len(a[0]))
    size = math.hypot(a[joint][k], b[joint][k])
    a[joint][k], b[joint][k] = (
        (few_digits(a[joint][k] * y / size), few_digits(b[joint][k] * y / size)) if size > 0 else (few_digits(max(y, 0.0)), 0.0)
    )
    return {"a": like(block.settings["a"], a), "b": like(block.settings["b"], b)}


def polynomial_grips(block: Block, duration: float) -> list[Grip]:
    """Way points at their own times."""
    times = [float(t) for t in block.settings["times"]]
    room = [-math.inf, *times, math.inf]
    rows = rows_by_joint(block.settings["points"])
    return [
        Grip("point", t, float(row[k]), joint, (max(room[k], 0.0), min(room[k + 2], max(duration, t))))
        for joint, row in enumerate(rows)
        for k, t in enumerate(times)
    ]


def polynomial_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    settings = point_dragged(block, number, y)
    grip = polynomial_grips(block, math.inf)[number]
    times, (low, high) = [float(t) for t in block.settings["times"]], grip.between or (grip.x, grip.x)
    least = 1e-3 * (times[-1] - times[0])  # two points at one time would be a jump
    if x is None or not low + least < x < high - least:
        return settings
    times[number % len(times)] = few_digits(x)
    return {**settings, "times": times}


def trapezoid_grips(block: Block, duration: float) -> list[Grip]:
    """Way points when they are left, the last when it is reached: their times follow from limits of speed and acceleration."""
    times = source_table(block, "begins")
    rows = rows_by_joint(block.settings["points"])
    return [
        Grip("point", float(t), float(value), joint)
        for joint, row in enumerate(rows)
        for t, value in zip(times, row, strict=True)
    ]


def point_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    rows = rows_by_joint(block.settings["points"])
    joint, k = divmod(number, len(rows[0]))
    rows[joint][k] = few_digits(y)
    return {"points": like(block.settings["points"], rows)}


def level_values(block: Block) -> list[float]:
    values = block.settings.get("values")
    return [] if values is None else [float(v) for v in values]


def level_grips(block: Block, duration: float) -> list[Grip]:
    clock, size = float(block.settings["clock"]), float(block.settings["amplitude"])
    return [Grip("point", (k + 0.5) * clock, size * v) for k, v in enumerate(level_values(block)) if k * clock < duration]


def level_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    values = level_values(block)
    values[number] = few_digits(min(1.0, max(-1.0, y / (float(block.settings["amplitude"]) or 1.0))))
    return {"values": values}


def step_grips(block: Block, duration: float) -> list[Grip]:
    """The corner of a step, which moves in time too, and the value before it where there is a time before."""
    s = block.settings
    time = float(s["time"])
    before = [Grip("point", 0.5 * time, float(s["before"]))] if time > 0 else []
    return [Grip("point", time, float(s["after"]), 0, (0.0, max(duration, time))), *before]


def step_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    if number:
        return {"before": few_digits(y)}
    return {"after": few_digits(y), **({} if x is None or x <= 0 else {"time": few_digits(x)})}


def constant_grips(block: Block, duration: float) -> list[Grip]:
    """A constant in the middle of the run, of a vector each element."""
    return [Grip("point", 0.5 * duration, value, element) for element, value in enumerate(constant_values(block))]


def constant_values(block: Block) -> list[float]:
    value = block.settings["value"]
    values = value.tolist() if hasattr(value, "tolist") else value
    return [float(v) for v in values] if isinstance(values, (list, tuple)) else [float(values)]


def constant_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    values = constant_values(block)
    values[number] = few_digits(y)
    return {"value": values if len(values) > 1 or hasattr(block.settings["value"], "__len__") else values[0]}


def size_grips(block: Block, duration: float) -> list[Grip]:
    """Of any other source its amplitude, at its frequency."""
    size = block.settings.get("amplitude")
    if not isinstance(size, (int, float)):
        return []
    frequency = next(
        (block.settings[key] for key in ("frequency", "f_start", "f_end") if block.settings.get(key)), 1.0 / duration
    )
    return [Grip("line", float(frequency), float(size))]


def size_dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    return {"amplitude": few_digits(max(y, 0.0))}


Grasp = tuple[Callable[["Block", float], list[Grip]], Callable[["Block", int, float, "float | None"], Settings]]
GRASPS: dict[str, Grasp] = {
    "Multisine": (multisine_grips, multisine_dragged),
    "FourierTrajectory": (fourier_grips, fourier_dragged),
    "PolynomialTrajectory": (polynomial_grips, polynomial_dragged),
    "TrapezoidTrajectory": (trapezoid_grips, point_dragged),
    "LevelSequence": (level_grips, level_dragged),
    "Step": (step_grips, step_dragged),
    "Constant": (constant_grips, constant_dragged),
}


def grips(block: Block, duration: float) -> list[Grip]:
    """What can be dragged of a source."""
    return GRASPS.get(type(block).__name__, (size_grips, size_dragged))[0](block, duration)


def dragged(block: Block, number: int, y: float, x: float | None = None) -> Settings:
    """The settings after one grip was dragged to y, and to the time x where it has one."""
    if not 0 <= number < len(grips(block, 1.0)) and type(block).__name__ != "LevelSequence":
        raise BlocksimError(f"there is no line or point {number} to drag.")
    return GRASPS.get(type(block).__name__, (size_grips, size_dragged))[1](block, number, y, x)


def few_digits(value: float) -> float:
    """A dragged number in digits a person would keep."""
    return float(f"{value:.5g}")
