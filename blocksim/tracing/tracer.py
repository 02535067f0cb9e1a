"""Tracer: follows the text of a block function, and of the functions it calls, into a graph of scalars.

The one reading of block functions: programs are written from it, and a plant's equations differentiated. Loops are run through,
decided branches followed; an undecided branch is followed both ways, and what differs becomes a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..contract.syntax import parsed
from ..errors import BlockDefinitionError
from .graph import Graph, Term
from .specialise import Helpers, bound, results_of, stores_into_arguments, title_of, uses_matrices
from .statement_trace import Trace
from .values import Array, Env, Fields, Missing, Untraceable, Value, View, size_text

#: Calls within calls, statements of one function with its loops written out, numbers of one with its matrices written out.
DEEP, LENGTH, NUMBERS = 40, 20000, 10**6


class Tracer:
    """Follows functions into one graph.

    With `helpers`, a called function that cannot be followed stays a function of the program: it is put there by its title.
    """

    def __init__(
        self, graph: Graph, helpers: Helpers | None = None, longest: int = LENGTH, turns: int = LENGTH, numbers: int = NUMBERS
    ):
        self.graph, self.helpers, self.longest, self.turns, self.numbers = graph, helpers, longest, turns, numbers
        self.assumed: dict[Term, bool] = {}  # the undecided tests on the way here
        self.heap: dict[Array, Value] = {}
        self.stores: list[tuple[View, tuple[Term, ...], Term]] = []  # into arrays of the run, in order
        self.depth = 0
        self.statements = 0

    def run(self, function: Callable[..., Any], values: Mapping[str, Value]) -> Value:
        """What the function returns for these arguments, or what it fills into `out`."""
        env = dict(values)
        if isinstance(env.get("out"), tuple):
            env["out"], content = Array("out"), env["out"]
            self.heap[env["out"]] = content
        result = self.follow(function, env)
        return self.heap[env["out"]] if "out" in env else result

    def follow(self, function: Callable[..., Any], env: Env) -> Value:
        if self.depth >= DEEP:
            raise BlockDefinitionError(f"{function.__qualname__} calls itself, or calls go deeper than {DEEP}")
        self.depth += 1
        try:
            return Trace(self, function).block(list(parsed(function).body), dict(env))
        finally:
            self.depth -= 1

    def call(self, function: Callable[..., Any], env: Env) -> Value:
        """A function called by another: followed, or left as it is where it cannot be."""
        before, count = dict(self.heap), self.statements
        try:
            if self.helpers is not None and getattr(function, "__stays__", False):  # its author says: one text, called
                raise Untraceable(f"{function.__qualname__} stays a function")
            return self.follow(function, env)
        except Untraceable:
            if self.helpers is None or stores_into_arguments(function) or uses_matrices(function):
                raise
        self.heap, self.statements = before, count
        inputs: list[Term] = []
        laws = {name: value for name, value in env.items() if callable(value)}
        pattern = tuple(self.passed(value, inputs) for name, value in env.items() if name not in laws)
        result = self.graph.node("call", tuple(inputs), (title_of(bound(function, laws), self.helpers), pattern))
        count = results_of(function)
        return result if count == 1 else tuple(self.graph.node("item", (result,), k) for k in range(count))

    def passed(self, value: Value, inputs: list[Term]) -> Any:
        """How an argument of a call is made: None for one of the inputs, a tuple of such, or code."""
        if isinstance(value, Missing):  # of an array that is only filled in part
            raise Untraceable(value.why)
        if isinstance(value, (tuple, Array)):
            return tuple(self.passed(v, inputs) for v in self.items(value))
        if isinstance(value, View):
            if any(view == value for view, _, _ in self.stores):
                raise Untraceable("an array is handed on after it has been changed")
            return value.code
        inputs.append(value)
        return None

    def items(self, value: Value) -> tuple[Value, ...]:
        """The elements of a tuple or of a small array."""
        if isinstance(value, View):
            raise Untraceable("an array is longer than what is written out")
        content = self.heap[value] if isinstance(value, Array) else value
        if not isinstance(content, tuple):
            raise BlockDefinitionError(f"{size_text(content)} stands where several are wanted.")
        return content

    def content(self, value: Value) -> Value:
        """A value with small arrays as the numbers they have now."""
        if isinstance(value, Missing):
            raise BlockDefinitionError(value.why)
        if isinstance(value, (tuple, Array, View)):
            return tuple(self.content(v) for v in self.items(value))
        return value

    # ---- arrays of the run -----------------------------------------------------------------------------------------

    def element(self, view: View, places: list[Term], where: str) -> Term:
        if len(places) != view.axes:
            raise Untraceable(f"{where} a row of an array")
        if any(stored == view for stored, _, _ in self.stores):
            raise Untraceable(f"{where} an array after it has been changed")
        return self.graph.node("element", tuple(places), view.code)

    def store(self, view: View, places: list[Term], value: Term) -> None:
        if self.graph.facts or not view.own or len(places) != view.axes:
            raise Untraceable("an array is changed in a branch")
        self.stores.append((view, tuple(places), value))

    # ---- branches --------------------------------------------------------------------------------------------------

    def decide(self, test: Term) -> bool | None:
        """What a test gives on this way, if that is known."""
        if test.known:
            return bool(test.value)
        if test.op == "not":
            inner = self.decide(test.inputs[0])
            return None if inner is None else not inner
        return self.assumed.get(test)

    def both(self, test: Term, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """One value of two ways, each followed from here."""
        before = self.heap
        first = self.assuming(test, True, yes)
        heap, self.heap = self.heap, before
        second = self.assuming(test, False, no)
        self.heap |= {k: self.merged(test, v, self.heap[k]) if k in before else v for k, v in heap.items()}
        return self.merged(test, first, second)

    def assuming(self, test: Term, outcome: bool, follow: Callable[[], Value]) -> Value:
        before, self.heap = dict(self.assumed), dict(self.heap)
        self.assume(test, outcome)
        try:
            return self.graph.where(test, outcome, follow)
        finally:
            self.assumed = before

    def assume(self, test: Term, outcome: bool) -> None:
        self.assumed[test] = outcome
        if test.op == "not":
            self.assume(test.inputs[0], not outcome)
        if test.op == "choice":  # a and b: both hold; a or b: neither does
            condition, yes, no = test.inputs
            if outcome and no.known and not no.value:
                self.assume(condition, True)
                self.assume(yes, True)
            if not outcome and yes.known and yes.value:
                self.assume(condition, False)
                self.assume(no, False)

    def merged(self, test: Term, yes: Value, no: Value) -> Value:
        """One value of two, as the test says."""
        if yes is no:
            return yes
        yes, no = (self.heap[v] if isinstance(v, Array) else v for v in (yes, no))
        for value in (yes, no):
            if isinstance(value, Missing):
                return value
        if isinstance(yes, Fields) and isinstance(no, Fields) and set(yes.values) == set(no.values):
            return Fields({k: self.merged(test, v, no.values[k]) for k, v in yes.values.items()})
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            return tuple(self.merged(test, a, b) for a, b in zip(yes, no, strict=True))
        if not (isinstance(yes, Term) and isinstance(no, Term)):
            return Missing(f"a value is {size_text(yes)} in one branch and {size_text(no)} in the other; give it one form.")
        return self.graph.choose(test, yes, no)
