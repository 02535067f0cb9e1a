"""`${name}` and `${expression}`: the parameters of a file put in their places."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..contract.vocabulary import CONSTANTS
from ..errors import did_you_mean, listing
from .checks import is_number, is_reference

WHOLE_EXPRESSION = re.compile(r"\$\{([^{}]*)\}\Z")
NAME_WORD = re.compile(r"[A-Za-z_]\w*")
#: How many values references to lists may repeat in one build; nested references would otherwise grow without bound.
MAX_REPEATED = 100_000


@dataclass
class Meter:
    """What is left of the values that references may repeat."""

    left: int = MAX_REPEATED

    def spend(self, value: Any) -> None:
        if self.left >= 0 and isinstance(value, (list, dict)):
            self.left -= value_count(value)
        if self.left < 0:
            raise ValueError(f"references to parameters repeat more than {MAX_REPEATED} values.")


@dataclass
class ParameterScope:
    """The parameters a file can refer to. A name in `spoiled` has a problem of its own, already reported."""

    values: dict[str, Any] = field(default_factory=dict)
    spoiled: set[str] = field(default_factory=set)
    meter: Meter = field(default_factory=Meter)


class SpoiledError(ValueError):
    """A reference to a parameter whose own problem has been reported: nothing more to say."""


def substituted(value: Any, scope: ParameterScope, time: bool = False) -> Any:
    """The value with every ${...} in it replaced. ValueError, in words, where one cannot be."""
    if isinstance(value, list):
        return [substituted(item, scope) for item in value]
    if isinstance(value, dict):
        return {key: substituted(item, scope) for key, item in value.items()}
    if not is_reference(value):
        return value
    match = WHOLE_EXPRESSION.match(value)
    if not match:
        raise ValueError(f"'{value}' mixes text with a parameter. A value is text, or one \"${{...}}\" as a whole.")
    result = parameter_value(match[1].strip(), scope)
    return simplest(result) if time and isinstance(result, float) else result


def parameter_value(text: str, scope: ParameterScope) -> Any:
    """The value of a name, whatever its kind, or of an arithmetic expression of names."""
    if text in scope.values:
        scope.meter.spend(scope.values[text])
        return scope.values[text]
    words = set(NAME_WORD.findall(text))
    if words & scope.spoiled:
        raise SpoiledError
    if text in words and text not in CONSTANTS:
        names = list(scope.values)
        raise ValueError(f"there is no parameter '{text}'. Parameters are: {listing(names)}." + did_you_mean(text, names))
    for word in sorted(words & scope.values.keys()):
        if not is_number(scope.values[word]):
            raise ValueError(f"'${{{text}}}': parameter '{word}' is no number and is used as a whole: \"${{{word}}}\".")
    from ..contract.expression import evaluate

    try:
        result = evaluate(text, {name: float(v) for name, v in scope.values.items() if is_number(v)})
    except ValueError as error:
        raise ValueError(f"'${{{text[:60]}}}': {error}") from None
    # n + 1 stays a whole number where n is one, because sizes are made of it.
    whole = result.is_integer() and abs(result) < 2**53 and all(isinstance(scope.values.get(w, 0), int) for w in words)
    return int(result) if whole and "." not in text else result


def scope_of(
    defaults: Mapping[str, Any], changes: Mapping[str, Any], meter: Meter
) -> tuple[ParameterScope, list[tuple[str, str]]]:
    """Parameters as they stand after overriding, each seeing those above it; and what is wrong, as (name, words)."""
    scope = ParameterScope(meter=meter)
    problems = []
    for name, value in defaults.items():
        try:
            if name in changes:
                text = other_kind(value, changes[name])
                if text:
                    raise ValueError(text)
                scope.values[name] = changes[name]
            elif value is None:
                raise ValueError("has no value of its own and must be given.")
            else:
                scope.values[name] = substituted(value, scope)
        except ValueError as error:
            scope.spoiled.add(name)
            if not isinstance(error, SpoiledError):
                problems.append((name, str(error)))
    return scope, problems


def other_kind(default: Any, value: Any) -> str:
    """Why a value cannot take the place of a default, in words: a text where a number stood."""
    if is_number(default) and not is_number(value) and not isinstance(value, list):
        return f"found {value!r}. A number is wanted, as its default {default} is."
    return ""


def simplest(seconds: float) -> float | str:
    """The time that was meant where arithmetic left rounding behind: 3 * 0.1 is 0.3, 1 / 3 is '1/3'."""
    short = float(f"{seconds:.14g}")
    if Fraction(repr(short)).denominator <= 10**12 or not math.isfinite(seconds):
        return short
    fraction = Fraction(seconds).limit_denominator(1_000_000)
    return f"{fraction.numerator}/{fraction.denominator}" if abs(float(fraction) - seconds) <= 4 * math.ulp(seconds) else seconds


def value_count(value: Any) -> int:
    """How many values a list or mapping holds, all the way down."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + sum(map(value_count, value)) if isinstance(value, list) else 1
