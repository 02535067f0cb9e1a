"""What the arguments of a plant's functions stand for while they are followed: nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..contract.block import Block
from ..contract.declarations import Fixed, Inport, Memory, Noise, Outport, Param, Period, State, Static, Table
from ..contract.definition import arguments
from ..errors import BlockDefinitionError, DiagramError
from .graph import Graph, Term
from .tracer import Tracer
from .values import Missing, Untraceable, Value, as_value


class Bindings:
    """One plant while its functions are followed: what each of their arguments stands for."""

    def __init__(
        self, kind: type[Block], variant: type[Block], settings: Mapping[str, Any], graph: Graph | None = None, prefix: str = ""
    ):
        self.kind, self.variant, self.settings, self.prefix = kind, variant, settings, prefix
        self.graph = graph or Graph()
        self.sizes = self.find_sizes()
        memories = variant.of(Memory)
        self.states = self.scalars(n for n in variant.of(State) if n not in memories)
        self.inputs = self.scalars(n for n, d in variant.of(Inport).items() if not (d.many or d.optional))
        self.numbers = [prefix + n for n, d in variant.of(Param).items() if not isinstance(d, State) and not d.shape]

    def find_sizes(self) -> dict[str, int]:
        """The sizes of ports and states, and those the block computes itself."""
        sizes: dict[str, int] = {n: d.default for n, d in self.variant.of(Fixed).items() if isinstance(d.default, int)}
        values: dict[str, Any] = {**{n: d.size for n, d in self.variant.of(Inport).items()}, **self.settings}
        for name, function in self.variant.functions.items():
            if name.startswith("size_"):
                sizes[name[5:]] = int(function(**{a: values[a] for a in arguments(function)}))
        for name, declaration in self.variant.of(Inport, Outport, State).items():
            size = declaration.size
            if isinstance(size, str):
                size = sizes.get(size, self.settings.get(size))
            if not isinstance(size, int):
                raise DiagramError(
                    f"{self.kind.__name__} has no equations of its own: the size of '{name}' is that of what is connected."
                )
            sizes[name] = size
            initial = self.settings.get(name) if isinstance(declaration, State) else None
            if size == 1 and isinstance(initial, (list, tuple)) and len(initial) > 1:
                raise DiagramError(self.widened(name))
        for name, number in self.variant.of(Param).items():
            if not isinstance(number, State) and not number.shape and isinstance(self.settings.get(name), (list, tuple)):
                raise DiagramError(self.widened(name))
        return sizes

    def widened(self, name: str) -> str:
        return (
            f"{self.kind.__name__} has several numbers for '{name}', which makes it several plants. Ask for the equations of "
            "one, with one number for each setting."
        )

    def scalars(self, names: Any) -> tuple[str, ...]:
        return tuple(s for n in names for s in self.elements(n))

    def elements(self, name: str) -> list[str]:
        declared = self.variant.declared[name]
        whole = self.prefix + name
        return [whole] if declared.size == 1 else [f"{whole}[{k}]" for k in range(self.sizes[name])]  # type: ignore[attr-defined]

    def followed(self, law: Callable[..., Any], count: int) -> tuple[Term, ...]:
        """What one of its functions computes, scalar by scalar."""
        try:
            values = {name: self.bound(name) for name in arguments(law) if name != "out"}
            if "out" in arguments(law):
                values["out"] = tuple(Missing(f"{law.__qualname__} does not fill out[{k}]") for k in range(count))
            results = scalars_of(Tracer(self.graph).run(law, values))
        except (Untraceable, BlockDefinitionError) as error:
            text = str(error)
            raise DiagramError(text if text.startswith(self.kind.__name__) else f"{self.kind.__name__}: {text}") from None
        if len(results) != count:
            raise DiagramError(f"{self.kind.__name__}: {law.__qualname__} gives {len(results)} values where {count} are wanted.")
        return tuple(results)

    def bound(self, name: str) -> Value:
        """What an argument stands for."""
        graph, declaration = self.graph, self.variant.declared.get(name)
        if name == "t":
            return graph.read("time", "t")
        match declaration:
            case None:
                return graph.constant(False if name.startswith("has_") else self.sizes[name])  # observers know no optional input
            case Inport(optional=True):
                return graph.constant(float(declaration.default))
            case Static():
                return as_value(graph, self.settings[name])
            case Fixed():
                return as_value(graph, declaration.default)
            case Memory():
                return Missing(self.remembers(name))
            case State() | Inport(many=False):
                store = "state" if isinstance(declaration, State) else "input"
                nodes = tuple(graph.read(store, n) for n in self.elements(name))
                return nodes[0] if declaration.size == 1 else nodes
            case Param(shape=()):
                if self.settings[name] is None:
                    return graph.constant(None)
                return graph.read("parameter", self.prefix + name)
        words = {
            Table: "a table",
            Noise: "a random draw",
            Period: "a sample time",
            Param: "an array",
            Inport: "any number of inputs",
        }
        what = next((text for cls, text in words.items() if isinstance(declaration, cls)), "not a number")
        return Missing(f"{self.kind.__name__} depends on '{name}', which is {what}; equations for observers take scalars only.")

    def remembers(self, memory: str) -> str:
        variant = "" if self.variant is self.kind else f" (as {self.variant.__name__})"
        return (
            f"{self.kind.__name__}{variant} depends on its memory '{memory}', which an observer does not have. Give the class a "
            f"static function equations(...): the rates of its states without '{memory}', from states, inputs and parameters."
        )


def port_function(kind: type[Block], port: str) -> tuple[str, list[str]]:
    """The function that gives a port to those without memory, and all the ports it gives: equations_<port> goes first."""
    for name in (f"equations_{port}", f"output_{port}"):
        if name in kind.functions:
            return name, [port]
    return "output", [p for p in kind.of(Outport) if f"output_{p}" not in kind.functions]


def port_nodes(plant: Bindings, port: str) -> dict[str, tuple[Term, ...]]:
    """What a port is, and what the function that gives it gives besides."""
    name, ports = port_function(plant.variant, port)
    if name not in plant.variant.functions:
        raise DiagramError(f"{plant.kind.__name__} gives '{port}' at sample hits only.")
    nodes = plant.followed(plant.variant.functions[name], sum(plant.sizes[p] for p in ports))
    signals = {}
    for one in ports:
        signals[one], nodes = nodes[: plant.sizes[one]], nodes[plant.sizes[one] :]
    return signals


def scalars_of(value: Value) -> list[Term]:
    """A result as a flat list."""
    if isinstance(value, Missing):
        raise Untraceable(value.why)
    return [n for item in value for n in scalars_of(item)] if isinstance(value, tuple) else [value]
