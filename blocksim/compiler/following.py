"""Following: one block function, followed into a graph and written out as lines of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Fixed, Law, Memory, State, Static
from ..contract.definition import arguments
from ..errors import BlockDefinitionError
from ..schedule.schedule import Unit
from ..tracing.code import SUM, Code, code, joined, literal
from ..tracing.graph import Graph, Term
from ..tracing.loops.matrix_loops import Results
from ..tracing.specialise import of_arrays
from ..tracing.straight_line import Text
from ..tracing.tracer import Tracer
from ..tracing.values import Array, Fields, Missing, Untraceable, Value, View, as_value
from .scope import Operand, Scope
from .slots import Region

if TYPE_CHECKING:
    from .emitter import Emitter

#: Arrays up to this length are written out element by element, loops up to this many turns, functions up to this many statements.
SMALL_FUNCTION, TURNS, MOST_STATEMENTS = 64, 40, 200
#: Functions of matrices are written out up to this many numbers.
MATRICES = 1500
#: What an argument stands for: code, an array, a tuple of such, or something known.
Binding = Any


class Following:
    """One block function being followed and written out, its small arrays element by element or else as arrays."""

    def __init__(self, emitter: Emitter, unit: Unit, function: Callable[..., Any], results: Results):
        self.emitter, self.unit, self.function, self.results = emitter, unit, function, results
        self.graph = Graph()
        matrices = of_arrays(function)  # written out up to so many numbers, in loops from there on
        self.small = MATRICES if matrices else SMALL_FUNCTION
        limits = (MATRICES, MATRICES, MATRICES) if matrices else (MOST_STATEMENTS, TURNS)
        self.tracer = Tracer(self.graph, emitter.helpers, *limits)
        self.places: dict[Array, tuple[Region, Value]] = {}  # small array memories: where they are, and their first content
        self.reset = function.__name__.startswith("reset_")
        self.value: Value = None

    def follow(self, bound: dict[str, Binding], flat: bool) -> None:
        values = {name: self.stands_for(name, binding, flat) for name, binding in bound.items()}
        if "out" in arguments(self.function):
            if not flat:
                raise Untraceable("what fills `out` is written out whole or stays a function")
            count = sum(size for _, size in self.results)
            values["out"] = tuple(Missing(f"{self.function.__qualname__} does not fill out[{k}].") for k in range(count))
        self.value = self.tracer.run(self.function, values)

    def stands_for(self, name: str, binding: Binding, flat: bool) -> Value:
        """An argument's value in the graph."""
        if isinstance(binding, Code):
            return self.graph.read("read", binding)
        if isinstance(binding, Region):
            return self.array(name, binding, flat)
        if isinstance(binding, tuple) and not is_constant(self.unit, name):
            return tuple(self.stands_for(name, b, flat) for b in binding)
        return binding if callable(binding) else as_value(self.graph, binding)

    def array(self, name: str, region: Region, flat: bool) -> Value:
        """An array: a small one as a tuple of its elements (of its rows, for a matrix); its length is then part of the code."""
        slots, memory = self.emitter.slots, isinstance(self.unit.kind.declared[name], Memory)
        length = slots.length(self.emitter.schedule, slots.array(self.unit, name, 0)) if flat else self.small + 1
        if length > self.small:
            ends = code("o[", region.index + 1, "] - o[", region.index, "]")
            first = Code(ends.parts, SUM) if not region.shape else literal(region.shape[0])
            return View(array_view(region), first, len(region.shape) or 1, memory)
        slots.fix(self.emitter.schedule, slots.array(self.unit, name, 0), region)
        content: Value = tuple(self.graph.read("read", element_of(region, k)) for k in range(length))
        if region.shape:
            rows, columns = region.shape
            content = tuple(content[r * columns : (r + 1) * columns] for r in range(rows))
        if not memory:
            return content
        array = Array(name)
        self.tracer.heap[array], self.places[array] = content, (region, content)
        return array

    def write(self, scope: Scope, prefix: str) -> dict[str, list[Operand]]:
        """The lines, and then what is stored in arrays; gives an expression per scalar of each result."""
        fields, stores = self.fields(), self.stores()
        hints = [f"{name}_{k}" if len(nodes) > 1 else name for name, nodes in fields.items() for k in range(len(nodes))]
        results = [self.graph.as_float(n) for nodes in fields.values() for n in nodes]
        author = set(self.graph.names)
        self.graph.names |= dict(zip(results, hints, strict=True))
        occupied = {prefix + hint for hint in hints} - {prefix + self.graph.names[n] for n in results}
        changed = [n for _, places, value in stores for n in (*places, value)]
        lasting = [n for n in results if not n.known] if stores else []  # what they read may change
        text = Text(self.graph, [*results, *changed], occupied, prefix=prefix, author=author, lasting=lasting)
        for line in text.lines():
            scope.write(line)
        if stores:
            indices = [joined(", ", [text.expression(n) for n in at]) for _, at, _ in stores]
            places = [code(store[0], "[", i, "]") if store[1] else store[0] for store, i in zip(stores, indices, strict=True)]
            values = joined(", ", [text.expression(value) for _, _, value in stores])
            scope.write(code(joined(", ", places), " = ", values))
        parts: list[Operand] = [n.value if n.known else text.expression(n) for n in results]
        outcome: dict[str, list[Operand]] = {}
        for name, nodes in fields.items():
            outcome[name], parts = parts[: len(nodes)], parts[len(nodes) :]
        return outcome

    def fields(self) -> dict[str, list[Term]]:
        """What is returned, by the names it belongs to."""
        if isinstance(self.value, Fields) and not self.reset:
            return self.by_name(self.value.values)
        if isinstance(self.value, Fields):
            unknown = set(self.value.values) - set(self.unit.kind.of(State))
            if unknown:
                raise BlockDefinitionError(
                    f"{self.function.__qualname__} sets {sorted(unknown)}, which is neither state nor memory."
                )
            return {name: self.scalars(value) for name, value in self.value.values.items()}
        if not self.results:
            return {}
        if self.value is None:
            raise BlockDefinitionError(f"{self.function.__qualname__} does not return a value.")
        return split(self.function, self.results, self.scalars(self.value))

    def by_name(self, values: dict[str, Value]) -> dict[str, list[Term]]:
        """What is returned by name: results, and array memories, which are then as if filled."""
        arrays = {array.name: array for array in self.places}
        names = [name for name, _ in self.results]
        expected = {*names, *arrays}
        if set(names) - set(values) or set(values) - expected:
            returns, allowed = ", ".join(values), ", ".join([*names, *arrays])
            raise BlockDefinitionError(f"{self.function.__qualname__} returns {returns} by name where {allowed} are wanted.")
        for name in [n for n in values if n not in names]:
            new, old = self.scalars(values[name]), self.scalars(self.tracer.heap[arrays[name]])
            if len(new) != len(old):
                raise BlockDefinitionError(
                    f"{self.function.__qualname__} returns {len(new)} value(s) for {name}, which has {len(old)}."
                )
            self.tracer.heap[arrays[name]] = tuple(new)
        return split(self.function, self.results, [n for name in names for n in self.scalars(values[name])])

    def scalars(self, value: Value) -> list[Term]:
        if isinstance(value, Missing):
            raise BlockDefinitionError(value.why)
        if isinstance(value, (tuple, Array)):
            return [n for item in self.tracer.items(value) for n in self.scalars(item)]
        if not isinstance(value, Term):
            raise Untraceable("a whole array is returned")
        return [value]

    def stores(self) -> list[tuple[Code, tuple[Term, ...], Term]]:
        """Where arrays have new numbers: their elements one by one, and places known only at the run."""
        changed: list[tuple[Code, tuple[Term, ...], Term]] = []
        for array, (region, before) in self.places.items():
            pairs = zip(self.scalars(before), self.scalars(self.tracer.heap[array]), strict=True)
            changed += [(element_of(region, k), (), new) for k, (old, new) in enumerate(pairs) if new is not old]
        return changed + [(view.code, places, value) for view, places, value in self.tracer.stores]


def split(function: Callable[..., Any], results: Results, parts: list[Any]) -> dict[str, list[Any]]:
    """A flat result by the names it belongs to."""
    count = sum(size for _, size in results)
    if len(parts) != count:
        raise BlockDefinitionError(
            f"{function.__qualname__} returns {len(parts)} value(s) where {count} are wanted "
            f"({', '.join(f'{n}[{s}]' if s > 1 else n for n, s in results)})."
        )
    values, start = {}, 0
    for name, size in results:
        values[name] = parts[start : start + size]
        start += size
    return values


def is_constant(unit: Unit, argument: str) -> bool:
    """Whether an argument is known when the program is written."""
    declaration = unit.kind.declared.get(argument)
    return (declaration is None and argument != "t") or isinstance(declaration, (Static, Fixed, Law))


def written(signal: Operand) -> Code:
    return signal if isinstance(signal, Code) else literal(signal)


def flat_binding(binding: Binding) -> list[Binding]:
    return [b for item in binding for b in flat_binding(item)] if isinstance(binding, tuple) else [binding]


def element_of(region: Region, k: int) -> Code:
    """An element of an array in the store."""
    return code("a[o[", region.index, "] + ", k, "]")


def array_view(region: Region) -> Code:
    if not region.shape:
        return code("view(a, o[", region.index, "], o[", region.index + 1, "])")
    rows, columns = region.shape
    return code("matrix(a, o[", region.index, f"], {rows}, {columns})")
