"""What a name of a followed function may stand for: a node, a tuple of values, and what is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .code import Code
from .graph import Graph, Term


class Untraceable(Exception):
    """A function that cannot be followed and must stay a function, and why in words."""


class Missing:
    """A name without a value here; asking for it is an error, having it is not."""

    def __init__(self, why: str):
        self.why = why


class Array:
    """A small array that a function may change: one thing, by whatever names it goes. Its numbers stand in the tracer's heap."""

    def __init__(self, name: str):
        self.name = name


@dataclass(frozen=True)
class View:
    """An array of the run, read and changed at places that are known only then."""

    code: Code
    length: Code  # of its first axis
    axes: int = 1
    own: bool = False  # whether the function may change it


@dataclass(frozen=True)
class Fields:
    """What a reset returns: new values by name."""

    values: dict[str, Any]


Value = Any  # a Node, a tuple of values, a Missing, an Array, a View, Fields; None where nothing is returned
Env = dict[str, Value]


def as_value(graph: Graph, value: Any) -> Value:
    """Something that is known when the program is written."""
    return tuple(as_value(graph, v) for v in value) if isinstance(value, (list, tuple)) else graph.constant(value)


def size_text(value: Value) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} values"
    return "an array" if isinstance(value, (Array, View)) else "one value" if isinstance(value, Term) else "nothing"


def replaced(value: Value, places: list[int], new: Value) -> Value:
    """A nested tuple with one element another."""
    if not places:
        return new
    items = list(value)
    items[places[0]] = replaced(items[places[0]], places[1:], new)
    return tuple(items)
