"""A value as YAML in the manner of what stands there already: the same quotes, the same way to write numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..writer import LINE_WIDTH, flow, text
from .spans import Span


def scalar_text(value: Any, like: Span | None = None, source: str = "") -> str:
    """A scalar; where it takes the place of another one (`like`, in the text `source`), in its manner."""
    if isinstance(value, str) and like is not None and like.quote in ("'", '"'):
        double = text(value + "\n").removesuffix('\\n"') + '"'  # a line break is always quoted
        return "'" + value.replace("'", "''") + "'" if like.quote == "'" and value.isprintable() else double
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value, source[like.start : like.stop] if like is not None and not like.quote else "")
    return flow(value)


def number_text(value: float, like: str = "") -> str:
    """A number that reads back the same: whole beside whole ones, with an exponent beside those that have one."""
    if isinstance(value, int) or not math.isfinite(value):
        return flow(value)
    digits = Decimal(repr(value)).normalize()
    exponent = digits.adjusted()
    mantissa = f"{digits.scaleb(-exponent):f}"
    if "e" in like.lower() and exponent and value:
        return f"{mantissa}e{exponent}"
    plain = repr(value)
    if "e" in plain:
        return f"{mantissa}e{exponent}"
    return plain.removesuffix(".0") if like.lstrip("+-").isdigit() and value else plain


def flow_lines(value: Any, column: int, width: int = LINE_WIDTH, newline: str = "\n") -> str:
    """A value in flow style that starts at a column; a long list or mapping is broken between its items."""
    whole = flow(value)
    if not isinstance(value, (list, Mapping)) or column + len(whole) <= width:
        return whole
    if isinstance(value, Mapping):
        heads = [(f"{text(str(key))}: ", item) for key, item in value.items()]
    else:
        heads = [("", item) for item in value]
    margin = newline + " " * (column + 1)
    result, at = whole[0], column + 1
    for number, (head, item) in enumerate(heads):
        comma = "" if number == len(heads) - 1 else ", "
        piece = head + flow(item)
        if number and at + len(piece) + 1 > width:
            result, at = result.rstrip() + margin, column + 1
        if at + len(piece) + 1 > width:
            piece = head + flow_lines(item, at + len(head), width, newline)
        result += piece + comma
        at = len(result) - result.rfind("\n") - 1 if "\n" in piece else at + len(piece) + len(comma)
    return result + whole[-1]


def block_lines(value: Mapping[str, Any], margin: str, newline: str) -> str:
    """A mapping in block style, one entry to a line."""
    return newline + newline.join(f"{margin}{text(str(key))}: {flow_lines(item, len(margin) + 8)}" for key, item in value.items())
