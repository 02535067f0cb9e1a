"""A graph as text: scalar assignments in order, and an if where values are chosen.

What is used once stands where it is used, unless its author gave it a name; what is used more often gets one. Nothing is
computed on a way that does not need it: a division that a branch guards stays within the branch.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..contract.vocabulary import FUNCTIONS, VOCABULARY
from .code import ATOM, Code, call, code, literal, operation
from .code import joined as listed
from .graph import COMPARISONS, Graph, Term, reached
from .ways import Way, joined_ways, operands, shortest, whole

#: Operations that never fail, whatever the numbers: these may be computed before it is known whether they are needed.
SAFE = {"+", "-", "*", "negative", "not", "choice", "constant", "state", "input", "parameter", "time", "read", *COMPARISONS} | {
    name for name, word in FUNCTIONS.items() if word.safe
}
#: Expressions nest up to this deep.
NESTED = 10
#: What no local of a program may be called.
OCCUPIED_WORDS = frozenset({*VOCABULARY, *keyword.kwlist, *dir(builtins)})


def function_text(graph: Graph, name: str, inputs: Sequence[str], reads: Mapping[Term, str], results: Sequence[Term]) -> str:
    """The text of a function that returns these nodes as one tuple; `reads` says how it gets at what it reads."""
    text = Text(graph, results, {name, *inputs}, {n: Code((r,)) for n, r in reads.items()})
    values = [str(c) for c in text.expressions()]
    lines = [*text.lines(), f"return ({', '.join(values)}{',' if len(values) == 1 else ''})"]
    body = "\n".join(str(line) for line in lines).replace("\n", "\n    ")
    return f"def {name}({', '.join(inputs)}):\n    {body}\n"


class Text:
    """One stretch of straight code being written.

    `prefix` starts every name; what the `author` of a function gave a name keeps it; nodes that are `kept` are computed before
    anything that follows the lines.
    """

    def __init__(
        self,
        graph: Graph,
        results: Sequence[Term],
        occupied: Iterable[str] = (),
        reads: Mapping[Term, Code] | None = None,
        prefix: str = "",
        author: Iterable[Term] = (),
        lasting: Iterable[Term] = (),
    ):
        self.results, self.reads, self.prefix = list(results), reads or {}, prefix
        self.hints, self.homes = graph.names, graph.homes
        self.taken = set(occupied)
        self.names: dict[Term, str] = {}
        self.nodes = reached(results)
        self.uses: dict[Term, int] = dict.fromkeys(self.nodes, 0)
        self.ways: dict[Term, list[Way]] = self.find_ways()
        self.stored: set[Term] = self.find_stored(set(author)) | set(lasting)
        self.statements: set[Term] = self.find_statements()
        self.stored |= self.statements
        #: What is only handed on to a choice has that one's name.
        self.handed = {n: c for c in self.statements for n in c.inputs[1:] if n in self.stored and self.uses[n] == 1}

    # ---- what goes where -------------------------------------------------------------------------------------------

    def find_ways(self) -> dict[Term, list[Way]]:
        """The ways on which each node is computed: those that need it, put together where they cover both outcomes of a test."""
        risky: set[Term] = set()
        for node in self.nodes:
            if node.op not in SAFE or any(n in risky for n in node.inputs):
                risky.add(node)
        routes: dict[Term, set[Way]] = {node: set() for node in self.nodes}
        for node in self.results:
            self.uses[node] += 1
            routes[node].add(())
        settled: dict[Term, list[Way]] = {}
        for node in reversed(self.nodes):
            ways = shortest(routes[node])
            homes = whole(self.homes[node]) if node in risky and len(ways) > 1 else {frozenset()}
            settled[node] = ways = joined_ways(ways, homes)
            for n, turn in operands(node):
                self.uses[n] += 1
                routes[n] |= {way + turn for way in ways}
        return settled

    def find_stored(self, author: set[Term]) -> set[Term]:
        """Nodes that get a name: used more than once, named by their author, or at the end of a deep expression."""
        stored: set[Term] = set()
        height: dict[Term, int] = {}
        for node in self.nodes:
            height[node] = 1 + max((0 if n in stored else height[n] for n in node.inputs), default=-1)
            if node.inputs and (self.uses[node] > 1 or node in author or height[node] > NESTED):
                stored.add(node)
        return stored

    def find_statements(self) -> set[Term]:
        """Choices that need an if statement: several with one test, or with something to store on one side."""
        choices = [(way, node) for node in self.nodes if node.op == "choice" for way in self.ways[node]]
        groups = Counter((way, node.inputs[0]) for way, node in choices)
        choosing = {node for way, node in choices if groups[way, node.inputs[0]] > 1 and not logical(node)}
        while True:
            busy = {way[:k] for node in self.stored | choosing for way in self.ways[node] for k in range(len(way) + 1)}
            inner = {node for way, node in choices if {(*way, (node.inputs[0], side)) for side in (True, False)} & busy}
            if inner <= choosing:
                return choosing
            choosing |= inner

    def way_of(self, node: Term, way: Way) -> Way:
        """Where on this way the node is computed."""
        return next(w for w in self.ways[node] if way[: len(w)] == w)

    def needs(self, node: Term, at: Way, block: Way, memo: dict[tuple[Term, Way], set[Term]]) -> set[Term]:
        """The stored nodes of a block that computing this node asks for; `at` is where it is computed."""
        key = (node, at)
        if key not in memo:
            nodes: set[Term] = set()
            for n, turn in operands(node):
                there = self.way_of(n, at + turn)
                if len(there) < len(block):
                    continue  # computed before the block
                if there == block and n in self.stored:
                    nodes.add(n)
                else:
                    nodes |= self.needs(n, there, block, memo)
            memo[key] = nodes
        return memo[key]

    # ---- text ------------------------------------------------------------------------------------------------------

    def lines(self) -> list[Code]:
        """Everything the results need, line by line."""
        return self.block((), self.results)

    def expressions(self) -> list[Code]:
        """The results themselves, once the lines are written."""
        return [self.expression(n) for n in self.results]

    def block(self, way: Way, targets: Sequence[Term]) -> list[Code]:
        """Everything these targets need that is computed on this way, in an order that works."""
        memo: dict[tuple[Term, Way], set[Term]] = {}
        waits: dict[Term, set[Term]] = {}
        stack: list[Term] = []
        for target in targets:
            there = self.way_of(target, way)
            if there == way:
                stack += [target] if target in self.stored else self.needs(target, way, way, memo)
        while stack:
            node = stack.pop()
            if node not in waits:
                waits[node] = self.needs(node, way, way, memo)
                stack += waits[node]
        pending = sorted(waits, key=lambda n: n.index)
        done: set[Term] = set()
        codes: list[Code] = []
        while pending:
            for node in pending:
                if node not in self.statements and waits[node] <= done:
                    codes.append(self.assignment(node, self.computed(node)))
                    done.add(node)
            ready = [n for n in pending if n in self.statements and waits[n] <= done]
            pending = [n for n in pending if n not in done]
            if ready:
                group = fullest(ready, pending)
                codes.append(self.choice(way, group))
                done |= set(group)
                pending = [n for n in pending if n not in done]
        return codes

    def choice(self, way: Way, group: list[Term]) -> Code:
        """One if for all choices of a group, which have one test."""
        test = group[0].inputs[0]
        sides: list[list[Code]] = []
        for outcome, place in ((True, 1), (False, 2)):
            values = [node.inputs[place] for node in group]
            side = self.block((*way, (test, outcome)), values)
            pairs = [(node, value) for node, value in zip(group, values, strict=True) if value not in self.handed]
            sides.append([*side, *(self.assignment(node, self.expression(value)) for node, value in pairs)])
        yes, no = (listed("\n", [line.indented() for line in side or [Code(("pass",))]]) for side in sides)
        return code("if ", self.expression(test), ":\n", yes, "\nelse:\n", no)

    def assignment(self, node: Term, value: Code) -> Code:
        return code(f"{self.name(node)} = ", value)

    def name(self, node: Term) -> str:
        if node in self.handed:
            return self.name(self.handed[node])
        if node not in self.names:
            hint = re.sub(r"\W+", "", self.hints.get(node, "")) or "v"
            name, count = self.prefix + hint, 1
            while name in self.taken or name in OCCUPIED_WORDS or (hint == "v" and count == 1):
                name, count = f"{self.prefix}{hint}{'' if hint == 'v' else '_'}{count}", count + 1
            self.taken.add(name)
            self.names[node] = name
        return self.names[node]

    def expression(self, node: Term) -> Code:
        return Code((self.name(node),), ATOM) if node in self.stored else self.computed(node)

    def computed(self, node: Term) -> Code:
        """A node as the expression that computes it."""
        if node.known:
            return literal(node.value)
        if not node.inputs and node.op != "call":
            return node.value if node.op == "read" else self.reads[node]
        parts = [self.expression(n) for n in node.inputs]
        if node.op == "element":
            return code(node.value, "[", listed(", ", parts), "]")
        if node.op == "item":
            return code(parts[0], f"[{node.value}]")
        if node.op == "call":
            title, pattern = node.value
            rest = iter(parts)
            return call(title, [passed_texts(p, rest) for p in pattern])
        kind = logical(node) if node.op == "choice" else ""
        if kind:
            parts = [parts[0], parts[1 if kind == "and" else 2]]
        return operation(kind or node.op, parts)


def passed_texts(pattern: Any, parts: Iterable[Code]) -> Code:
    """An argument of a call: one of the parts, a tuple of such, or code as it is."""
    if pattern is None:
        return next(iter(parts))
    if isinstance(pattern, Code):
        return pattern
    inner = listed(", ", [passed_texts(p, parts) for p in pattern])
    return code("(", inner, ",)" if len(pattern) == 1 else ")")


def logical(node: Term) -> str:
    """Whether a choice is `a and b` or `a or b`."""
    _, yes, no = node.inputs
    return "and" if no.known and no.value is False else "or" if yes.known and yes.value is True else ""


def fullest(ready: list[Term], pending: list[Term]) -> list[Term]:
    """The ready choices of one test: of the first test for which none is left behind, or else of the first."""
    tests = list(dict.fromkeys(n.inputs[0] for n in ready))
    for test in tests:
        group = [n for n in ready if n.inputs[0] is test]
        if len(group) == sum(n.op == "choice" and n.inputs[0] is test for n in pending):
            return group
    return [n for n in ready if n.inputs[0] is tests[0]]
