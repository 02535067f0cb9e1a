"""Where the motion of a record began: position and speed of plants whose position was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contract.declarations import Inport, Memory, Outport, State
from ...schedule.schedule import Schedule, Unit

#: Samples from which position and speed at the start are taken.
FIRST_SAMPLES = 20
NEAR_SAMPLES = 3  # on either side of a row further on


def first_states(
    schedule: Schedule, readings: Mapping[str, tuple[np.ndarray, np.ndarray]], row: int | None = None
) -> dict[str, Any]:
    """The first position and speed of plants, by path: a parabola through the first samples of each reading.

    With `row`, position and speed there, by the samples around it. `readings` are times and values by the signal that was read,
    'joint.q' itself or that of a sensor, a channel, a hold of it.
    """
    start: dict[str, Any] = {}
    for signal, (t, values) in readings.items():
        path, position = source_read(schedule, signal)
        unit = schedule.by_path.get(path)
        if unit is None or position not in moving_states(unit):
            continue
        near = slice(0, FIRST_SAMPLES) if row is None else slice(max(row - NEAR_SAMPLES, 0), row + NEAR_SAMPLES + 1)
        at, parts = t[near] - t[row or 0], np.asarray(values, dtype=float)[near]
        parabola = np.polynomial.polynomial.polyfit(at, parts.reshape(len(at), -1), min(2, len(at) - 1))
        for state, numbers in zip((position, speed_name(position)), parabola, strict=False):
            if state in moving_states(unit):
                start.setdefault(f"{path}.{state}", numbers.tolist() if len(numbers) > 1 else float(numbers[0]))
    return start


def moving_states(unit: Unit) -> list[str]:
    """The continuous states of a block."""
    return [name for name, declared in unit.kind.of(State).items() if not isinstance(declared, Memory)]


def speed_name(position: str) -> str:
    """What a plant calls the speed of a position: qd of q, w_a of phi_a."""
    return position.replace("phi", "w", 1) if position.startswith("phi") else f"{position}d"


def source_read(schedule: Schedule, signal: str) -> tuple[str, str]:
    """The block and port that a reading is of, behind sensors and channels."""
    if signal in schedule.by_path and len(schedule.by_path[signal].kind.of(Outport)) == 1:
        block, port = signal, next(iter(schedule.by_path[signal].kind.of(Outport)))
    else:
        block, _, port = signal.rpartition(".")
    unit = schedule.by_path.get(block)
    while unit is not None and reads_one(unit):
        ref = next(ref for refs in unit.inputs.values() for ref in refs)
        block, port = ref.block, ref.port
        unit = schedule.by_path.get(block)
    return block, port


def reads_one(unit: Unit) -> bool:
    """Whether a block only hands on one signal: a sensor, a channel, a hold, a delay."""
    refs = [ref for refs in unit.inputs.values() for ref in refs]
    passing = unit.kind.same_unit and len(unit.kind.of(Inport)) == 1 and len(unit.kind.of(Outport)) == 1
    return passing and len(refs) == 1 and not unit.after
