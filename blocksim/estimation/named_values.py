"""Starting values by the name of the block that found them, as numbers: {k1: response} -> {k1: 1.46e6}."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..contract.block import Block
from ..errors import RecordError, listing
from ..records.record import Record
from ..schedule.named_starts import TRUTH, describes, neighbour
from ..schedule.schedule import Unit
from .estimates import Estimates


def with_values(block: Block, unit: Unit, record: Record) -> Block:
    """The block with numbers where its settings name other blocks."""
    new = {}
    for setting in unit.kind.starts_from:
        value = block.settings.get(setting)
        if isinstance(value, str) and value not in unit.kind.start_words:
            values = everything(estimates_of(setting, value, unit, record))
            new[setting] = {n: v for n, v in values.items() if n in unit.kind.estimated} if unit.kind.estimated else values
        elif isinstance(value, Mapping):
            new[setting] = {key: one_value(setting, key, one, unit, record) for key, one in value.items()}
    if all(new[setting] == block.settings[setting] for setting in new):
        return block
    changed = type(block)(**{**block.settings, **new})
    changed.bound = block.bound
    return changed


def one_value(setting: str, key: str, value: Any, unit: Unit, record: Record) -> Any:
    """A number for the name of a block; everything else as it was."""
    if isinstance(value, Mapping) and isinstance(value.get("start"), str):
        return {**value, "start": one_value(setting, key, value["start"], unit, record)}
    if not isinstance(value, str) or value == TRUTH or describes(unit, key):
        return value
    estimates = estimates_of(setting, value, unit, record)
    for name in (key, key.rpartition(".")[2]):
        if name in estimates and math.isfinite(estimates[name].value):
            return float(estimates[name].value)
    alike = [n for n in estimates if n.rpartition(".")[2] == key.rpartition(".")[2]]  # k1 of the gear for k1 of the robot
    if len(alike) == 1 and math.isfinite(estimates[alike[0]].value):
        return float(estimates[alike[0]].value)
    raise RecordError(
        f"{setting}: '{value}' found no {key}. It found: {listing(everything(estimates))}. {estimates.reason}".strip()
    )


def everything(estimates: Estimates) -> dict[str, float]:
    return {name: float(one.value) for name, one in estimates.items() if math.isfinite(one.value)}


def estimates_of(setting: str, name: str, unit: Unit, record: Record) -> Estimates:
    if neighbour(unit, name) not in record.estimates:
        raise RecordError(
            f"{setting}: '{name}' has found nothing before this block. Estimates are there of: {listing(record.estimates)}."
        )
    return record.estimates[neighbour(unit, name)]
