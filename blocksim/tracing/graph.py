"""A computation as a graph of scalars: every value is there once, whoever asks for it.

A branch is a choice between two values. What is known is computed while the graph grows; the rest keeps the operations of the
text it came from, in their order, so that it gives the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..contract.portable.choice import function_in_use
from ..contract.vocabulary import FUNCTIONS
from .code import Code

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "negative": operator.neg,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
#: What a node may do: the vocabulary's functions of numbers, arithmetic and comparisons.
OPERATIONS: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    **COMPARISONS,
    **{name: word.meaning for name, word in FUNCTIONS.items()},
    "not": operator.not_,
}
#: Of whole numbers they make whole numbers.
WHOLE_OPERATIONS = ("+", "-", "*", "//", "%", "negative", "abs", "maximum", "minimum")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Term:
    """One scalar: a constant, a name that is read, an operation on others, or a choice (test, yes, no).

    Beside the operations: `element` of an array (its value) at a place known only at the run, `call` of a function that stays
    one (its value says which, and how its arguments are made of the inputs), and `item`, a part of what that returns.
    """

    index: int
    op: str
    inputs: tuple[Term, ...] = ()
    value: Any = None
    whole: bool = False

    @property
    def known(self) -> bool:
        return self.op == "constant"

    def is_number(self, number: float) -> bool:
        return self.known and isinstance(self.value, (int, float)) and not isinstance(self.value, bool) and self.value == number


#: What is known where something is computed: undecided tests with the outcomes that lead there.
Facts = frozenset[tuple[Term, bool]]


class Graph:
    """Grows one computation; equal operations on equal nodes are one node. Inputs always come before what uses them."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[Any, ...], Term] = {}
        self.names: dict[Term, str] = {}  # what the text calls a node
        self.facts: Facts = frozenset()  # what is known where the graph grows now
        self.homes: dict[Term, tuple[Facts, ...]] = {}  # what was known where the text computes a node: there it cannot fail

    def copy(self) -> Graph:
        """A graph that grows on its own from here."""
        graph = Graph()
        graph.nodes, graph.names, graph.homes = dict(self.nodes), dict(self.names), dict(self.homes)
        return graph

    def node(self, op: str, inputs: tuple[Term, ...] = (), value: Any = None) -> Term:
        key = (op, *[n.index for n in inputs], type(value), value if isinstance(value, Code) else repr(value))
        if key not in self.nodes:
            self.nodes[key] = Term(len(self.nodes), op, inputs, value, is_whole(op, inputs, value))
        node = self.nodes[key]
        if inputs:
            homes = self.homes.get(node, ())
            if not any(home <= self.facts for home in homes):
                self.homes[node] = (*homes, self.facts)
        return node

    def where(self, test: Term, outcome: bool, grow: Callable[[], Any]) -> Any:
        """What grows where this test has this outcome."""
        before = self.facts
        self.facts = before | {(test, outcome)}
        try:
            return grow()
        finally:
            self.facts = before

    def constant(self, value: Any) -> Term:
        return self.node("constant", (), value)

    def read(self, kind: str, name: str | Code) -> Term:
        """A number from outside: kind is 'state', 'input', 'parameter' or 'time', or 'read' with the code that reads it."""
        return self.node(kind, (), name)

    def apply(self, op: str, *inputs: Term) -> Term:
        """An operation, computed at once where all is known and it has a value."""
        if all(n.known for n in inputs):
            try:
                return self.constant(function_in_use(op, OPERATIONS[op])(*[n.value for n in inputs]))
            except (ArithmeticError, ValueError):
                pass  # the run shall meet it, if it ever gets there
        return self.node(op, inputs)

    def choose(self, test: Term, yes: Term, no: Term) -> Term:
        if test.known:
            return yes if test.value else no
        if not (yes.whole and no.whole):
            yes, no = self.as_float(yes), self.as_float(no)
        return yes if yes is no else self.node("choice", (test, yes, no))

    def as_float(self, node: Term) -> Term:
        """A whole number as a float: both sides of a choice and all results have one type."""
        return self.constant(float(node.value)) if node.known and type(node.value) is int else node

    # ---- arithmetic of derivatives: zeros and ones disappear --------------------------------------------------------

    @property
    def zero(self) -> Term:
        return self.constant(0.0)

    def plus(self, a: Term, b: Term) -> Term:
        if a.is_number(0.0):
            return b
        if b.is_number(0.0):
            return a
        if b.op == "negative":
            return self.minus(a, b.inputs[0])
        if a.op == "negative":
            return self.minus(b, a.inputs[0])
        return self.apply("+", a, b)

    def minus(self, a: Term, b: Term) -> Term:
        if b.is_number(0.0):
            return a
        if a.is_number(0.0):
            return self.negative(b)
        if b.op == "negative":
            return self.plus(a, b.inputs[0])
        return self.zero if a is b else self.apply("-", a, b)

    def negative(self, a: Term) -> Term:
        if a.is_number(0.0):
            return self.zero
        return a.inputs[0] if a.op == "negative" else self.apply("negative", a)

    def times(self, a: Term, b: Term) -> Term:
        if a.is_number(0.0) or b.is_number(0.0):
            return self.zero
        for one, other in ((a, b), (b, a)):
            if one.is_number(1.0):
                return other
            if one.is_number(-1.0):
                return self.negative(other)
            if one.op == "negative":
                return self.negative(self.times(one.inputs[0], other))
        return self.apply("*", a, b)

    def over(self, a: Term, b: Term) -> Term:
        if a.is_number(0.0) or b.is_number(1.0):
            return a
        return self.negative(self.over(a.inputs[0], b)) if a.op == "negative" else self.apply("/", a, b)

    def call(self, name: str, *inputs: Term | float) -> Term:
        return self.apply(name, *[n if isinstance(n, Term) else self.constant(n) for n in inputs])


def is_whole(op: str, inputs: tuple[Term, ...], value: Any) -> bool:
    """Whether a node is a whole number by its making, as an index must be, or may be one."""
    if op == "constant":
        return type(value) is int
    if op == "choice":
        return inputs[1].whole and inputs[2].whole
    return op in ("int", "call", "item") or (op in WHOLE_OPERATIONS and all(n.whole for n in inputs))


def reached(roots: Iterable[Term]) -> list[Term]:
    """Everything these nodes need, themselves included, inputs first."""
    nodes: set[Term] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack += node.inputs
    return sorted(nodes, key=lambda n: n.index)
