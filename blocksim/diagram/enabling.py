"""`enable:` of a subsystem, read: the signal that switches it on and off, what becomes of states and outputs meanwhile.

regulator: {type: ./regulator.yaml, in: error, enable: moving}                          # everything is held
regulator: {type: ./regulator.yaml, in: error, enable: {signal: moving, states: reset, outputs: 0}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import did_you_mean, listing
from .checks import brief_value, is_number, is_reference
from .spec import EnableSpec

STATE_CHOICES = ("hold", "reset")


def enable_of(value: Any) -> EnableSpec:
    """What follows `enable:`; ValueError, in words, where it means nothing."""
    if isinstance(value, EnableSpec):
        return value
    if isinstance(value, str) and value:
        return EnableSpec(value)
    advice = "Write a signal, or {signal: block.port, states: reset, outputs: 0}."
    if not isinstance(value, Mapping):
        raise ValueError(f"found {brief_value(value)}. {advice}")
    keys = ("signal", "states", "outputs")
    for key in value:
        if key not in keys:
            raise ValueError(f"has no key '{key}'. It takes: {listing(keys)}." + did_you_mean(str(key), keys))
    if not isinstance(value.get("signal"), str) or not value["signal"]:
        raise ValueError(f"found {brief_value(dict(value))}. {advice}")
    spec = EnableSpec(**value)
    if problem := enable_problem(spec):
        raise ValueError(problem)
    return spec


def enable_problem(spec: EnableSpec) -> str:
    """What is wrong with its values; a ${parameter} is looked at once its value is there."""
    if spec.states not in STATE_CHOICES and not is_reference(spec.states):
        return f"states: found {brief_value(spec.states)}. Write hold or reset."
    number = is_number(spec.outputs) and math.isfinite(spec.outputs)
    if spec.outputs != "hold" and not number and not is_reference(spec.outputs):
        return f"outputs: found {brief_value(spec.outputs)}. Write hold, or the number they have while it is off."
    return ""
