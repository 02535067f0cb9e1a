"""Fields: the settings of a block as a person changes them, with unit, limits and meaning, and the slider that fits each."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...contract.block import Block
from ...contract.declarations import Declared, Model, Param, Period, State, Static
from ...contract.limits import Interval
from ...diagram.diagram import Diagram
from ...notation import unit_label
from ...simulation.elements import element_numbers, split_element

if TYPE_CHECKING:
    from ...diagram.diagram import Node

#: A slider of a positive number goes from the value over this to the value times this.
FACTOR = 10.0
#: A slider of a sample time or of a whole number, whose change makes the program anew, goes less far.
NEAR_FACTOR = 4.0
#: Of a list or matrix with more numbers than this, single ones cannot be pinned.
MOST_PINNABLE = 100


def block_fields(node: Node) -> list[dict[str, Any]]:
    """Every setting of a block, a list with its elements; of a subsystem its parameters."""
    block = node.block
    if isinstance(block, Diagram):
        return [parameter_field(node.name, name, value) for name, value in block.parameters.items()]
    declared = type(block).declared
    return [field_data(f"{node.name}.{name}", declared[name], value, block) for name, value in block.settings.items()]


def file_fields(diagram: Diagram) -> list[dict[str, Any]]:
    """The parameters of the file itself."""
    return [parameter_field("", name, value) for name, value in diagram.parameters.items()]


def all_fields(diagram: Diagram) -> list[dict[str, Any]]:
    """Every setting that has a name of its own, elements of lists too: the file's parameters, then block by block."""
    return with_elements([*file_fields(diagram), *(field for node in diagram.nodes.values() for field in block_fields(node))])


def with_elements(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fields, each followed by those of its elements."""
    return [one for field in fields for one in (field, *field["elements"])]


def parameter_field(path: str, name: str, value: Any) -> dict[str, Any]:
    """A parameter of a file or a subsystem: a name with a value and nothing said about it."""
    full = f"{path}.{name}" if path else name
    whose = "of the subsystem" if path else "of the file"
    number = number_of(value)
    facts = {"path": full, "name": name, "value": value, "unit": "", "doc": f"parameter {whose}", "limits": "", "choices": []}
    if number is not None:
        return {**facts, "kind": "number", "slider": slider(number), "elements": []}
    elements = element_fields(facts, value, Interval())
    return {**facts, "kind": "list" if elements else "text", "slider": None, "elements": elements}


def element_fields(field: dict[str, Any], value: Any, limits: Interval) -> list[dict[str, Any]]:
    """The numbers of a list or matrix, each a field that a slider can be made of."""
    numbers = element_numbers(value, field["path"])
    if len(numbers) > MOST_PINNABLE:
        return []
    most = max(map(abs, numbers.values()), default=0.0) or 1.0
    signed = limits == Interval() and any(number <= 0 for number in numbers.values())
    return [
        {
            **field,
            "path": path,
            "name": path[len(field["path"]) - len(field["name"]) :],
            "value": number,
            "kind": "number",
            "slider": slider(number, Interval(-2 * most, 2 * most) if signed else limits),
            "elements": [],
        }
        for path, number in numbers.items()
    ]


def field_data(path: str, declared: Declared, value: Any, block: Block) -> dict[str, Any]:
    """One setting: what it is, what it may be, and how it is slid."""
    number = number_of(value)
    limits = declared.limits if isinstance(declared, Param) else Interval(0.0, open_low=True)
    kind, choices, scale = kind_of_field(declared, value, number, limits)
    words = str(limits) if isinstance(declared, Param) else "above 0" if isinstance(declared, Period) else ""
    field = {
        "path": path,
        "name": path.rpartition(".")[2],
        "value": value if number is None else number,
        "text": str(value) if isinstance(value, Fraction) else None,
        "unit": unit_label(declared.unit),
        "doc": declared.doc,
        "limits": words,
        "choices": choices,
        "kind": kind,
        "slider": scale,
        "start": isinstance(declared, State),
        "elements": [],
    }
    field["elements"] = element_fields(field, value, limits if isinstance(declared, Param) else Interval())
    return field


def kind_of_field(
    declared: Declared, value: Any, number: float | None, limits: Interval
) -> tuple[str, list[Any], dict[str, Any] | None]:
    """Whether a setting is typed, chosen or slid; what there is to choose from; the slider's range."""
    if isinstance(declared, (Param, State)):
        if number is None:
            return "list", [], None
        unlimited = isinstance(declared, State) and limits == Interval()  # a first value may as well be negative
        return "number", [], slider(number, Interval(-4 * abs(number) - 1, 4 * abs(number) + 1) if unlimited else limits)
    if isinstance(declared, Period):
        return "text" if number is None else "number", [], slider(number, limits, NEAR_FACTOR) if number else None
    if not isinstance(declared, Static) or isinstance(declared, Model):
        return "text", [], None
    if isinstance(value, bool) or declared.choices:
        return "choice", [False, True] if isinstance(value, bool) else list(declared.choices), None
    if isinstance(value, int):
        return "whole", [], slider(value, Interval(min(value, 1)), NEAR_FACTOR, whole=True)
    if number is not None:
        return "number", [], slider(number)
    return "list" if element_numbers(value, "") else "text", [], None


def number_of(value: Any) -> float | None:
    """A value as a number; None for what is none, a text such as '1/3' for a time included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float, Fraction)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        try:
            return float(Fraction(value))
        except (ValueError, ZeroDivisionError):
            return None
    return None


def slider(value: float, limits: Interval | None = None, factor: float = FACTOR, whole: bool = False) -> dict[str, Any]:
    """Its range: the limits where both are there, else a factor of the value; logarithmic where only positive values are."""
    interval = limits or Interval()
    low, high = interval.closed()
    if whole:
        return {"low": max(low, math.floor(value / factor)), "high": max(value * factor, value + 8), "log": False, "whole": True}
    if math.isfinite(low) and math.isfinite(high):
        return {"low": low, "high": high, "log": False, "whole": False}
    if value > 0 and (low >= 0 or interval == Interval()):
        return {"low": max(low, value / factor), "high": min(high, value * factor), "log": True, "whole": False}
    if value == 0:
        return {"low": max(low, -1.0), "high": min(high, 1.0), "log": False, "whole": False}
    reach = 2 * abs(value)
    return {"low": max(low, value - reach), "high": min(high, value + reach), "log": False, "whole": False}


def first_pins(diagram: Diagram, most: int) -> list[dict[str, Any]]:
    """Fields worth a slider before anybody chose: those that were written for a smoother, a controller, a sensor, a plant.

    From each kind of block the first number that its file gives, in this order, until there are enough.
    """
    order = ("record", "control", "sensors", "robots", "drives", "friction", "sources")
    families = {node.name: getattr(type(node.block), "family", "") for node in diagram.nodes.values()}
    nodes = [node for node in diagram.nodes.values() if families[node.name] in order]
    ranked = sorted(nodes, key=lambda node: order.index(families[node.name]))
    pinned: list[dict[str, Any]] = []
    for node in ranked:
        fields = with_elements(block_fields(node))
        fields = [f for f in fields if f["slider"] and f["kind"] == "number" and not f["start"] and f["value"]]
        explicit = [f for f in fields if split_element(f["name"])[0] in node.places and f["unit"] != "s"] or fields
        pinned += explicit[:1]
    return pinned[:most]
