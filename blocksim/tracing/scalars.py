"""Scalar: a node as a number, so that the words for matrices work on graphs as they work on floats.

What is zero or one by structure disappears: a row of an identity costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .graph import Graph, Term


class Scalar:
    """A number of a graph."""

    def __init__(self, graph: Graph, node: Term):
        self.graph, self.node = graph, node

    def other(self, value: Any) -> Term:
        return value.node if isinstance(value, Scalar) else self.graph.constant(value)

    def __add__(self, other: Any) -> Scalar:
        return Scalar(self.graph, self.graph.plus(self.node, self.other(other)))

    def __radd__(self, other: Any) -> Scalar:
        return Scalar(self.graph, self.graph.plus(self.other(other), self.node))

    def __sub__(self, other: Any) -> Scalar:
        return Scalar(self.graph, self.graph.minus(self.node, self.other(other)))

    def __mul__(self, other: Any) -> Scalar:
        return Scalar(self.graph, self.graph.times(self.node, self.other(other)))

    def __truediv__(self, other: Any) -> Scalar:
        return Scalar(self.graph, self.graph.over(self.node, self.other(other)))


def applied(graph: Graph, word: Callable[..., Any], values: list[Any], keywords: dict[str, Any]) -> Any:
    """What a word for matrices makes of values of a graph."""
    return unwrapped(
        graph, word(*[scalar_form(graph, v) for v in values], **{k: scalar_form(graph, v) for k, v in keywords.items()})
    )


def scalar_form(graph: Graph, value: Any) -> Any:
    """Nodes as scalars; whole numbers that are known as they are, for sizes and places."""
    if isinstance(value, tuple):
        return tuple(scalar_form(graph, v) for v in value)
    return value.value if value.known and type(value.value) is int else Scalar(graph, value)


def unwrapped(graph: Graph, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(unwrapped(graph, v) for v in value)
    return value.node if isinstance(value, Scalar) else graph.constant(float(value))
