"""A plant's continuous equations as flat scalar code with exact partial derivatives: what observers are generated from.

    eq = equations(GravityJoint, {"friction": "sign"})
    step = eq.function("joint", ("f", "dfdx", "dfdp"), wrt_parameters=("J", "Fc"))
    values = step(x, u, p)                      # one flat tuple; eq.layout(...) says what is where

The text of the plant's own functions is followed into a graph, differentiated, and written out again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..contract.block import Block
from ..contract.declarations import Fixed, Inport, Memory, Noise, Outport, Param, Period, State, Static, Table
from ..contract.definition import arguments
from ..contract.expression import function
from ..errors import BlockDefinitionError, DiagramError, did_you_mean, listing
from .derivative_rules import differentiate
from .graph import Graph, Node, reached
from .straight_line import function_text
from .tracer import Tracer
from .values import Missing, Untraceable, Value, known

#: What a text may give, each row by row: rates, outputs, and their derivatives by states, parameters and inputs.
OUTPUTS = ("f", "dfdx", "dfdp", "dfdu", "y", "dydx", "dydp", "dydu")


@dataclass(frozen=True, eq=False)
class Equations:
    """x' = f(x, u, p) and y = h(x, u, p) of one plant, scalar by scalar."""

    plant: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    values: tuple[float, ...]  # the parameters' numbers in the plant's settings
    #: Outports that can be written as functions of states, inputs and parameters, with their sizes.
    ports: dict[str, int] = field(hash=False)
    timed: bool  # whether anything depends on the time, which is then a fourth argument
    graph: Graph = field(repr=False, compare=False)
    rates: tuple[Node, ...] = field(repr=False, compare=False)
    signals: dict[str, tuple[Node, ...]] = field(repr=False, compare=False)
    refused: dict[str, str] = field(repr=False, compare=False)  # other outports, and why
    functions: dict[Any, Callable[..., Any]] = field(default_factory=dict, repr=False, compare=False)  # made so far

    def layout(
        self, outputs: Sequence[str] = ("f", "dfdx"), wrt_parameters: Sequence[str] | None = None, ports: Sequence[str] = ()
    ) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Where each output begins in the flat result, and its shape: {'f': (0, (2,)), 'dfdx': (2, (2, 2))}."""
        self.check(outputs, wrt_parameters, ports)
        columns = {"x": len(self.states), "u": len(self.inputs), "p": len(self.wrt(wrt_parameters))}
        rows = {"f": len(self.rates), "y": sum(len(self.signals[p]) for p in ports)}
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        start = 0
        for name in outputs:
            shape = (rows[name],) if name in rows else (rows[name[1]], columns[name[3]])
            found[name] = (start, shape)
            start += shape[0] * (shape[1] if len(shape) > 1 else 1)
        return found

    def text(
        self,
        name: str,
        outputs: Sequence[str] = ("f", "dfdx"),
        wrt_parameters: Sequence[str] | None = None,
        ports: Sequence[str] = (),
    ) -> str:
        """The source of `def name(x, u, p)`, which returns these outputs, one after another, row by row, as one flat tuple.

        p holds all parameters; derivatives are by `wrt_parameters` of them (all unless told), y is made of these ports.
        """
        self.check(outputs, wrt_parameters, ports)
        graph = self.graph.copy()  # a text depends on what is asked now, not on what was asked before
        kinds = {"x": ("state", self.states), "u": ("input", self.inputs), "p": ("parameter", self.wrt(wrt_parameters))}
        rows = {"f": self.rates, "y": tuple(n for p in ports for n in self.signals[p])}
        by = dict.fromkeys(o[3] for o in outputs if o.startswith("d"))
        variables = {letter: [graph.read(kinds[letter][0], n) for n in kinds[letter][1]] for letter in by}
        roots = [n for o in outputs for n in rows[o[1] if o.startswith("d") else o]]
        partials = differentiate(graph, roots, [v for letter in by for v in variables[letter]])
        results: list[Node] = []
        for output in outputs:
            if output in rows:
                results += [graph.as_float(n) for n in rows[output]]
            else:
                results += [graph.as_float(partials[n].get(v, graph.zero)) for n in rows[output[1]] for v in variables[output[3]]]
        return function_text(graph, name, self.arguments(), self.reads(graph), results)

    def function(
        self,
        name: str,
        outputs: Sequence[str] = ("f", "dfdx"),
        wrt_parameters: Sequence[str] | None = None,
        ports: Sequence[str] = (),
    ) -> Callable[..., tuple[float, ...]]:
        """The text as a function that plain Python can call and that block functions may call too, as a `law`."""
        key = (name, *(None if part is None else tuple(part) for part in (outputs, wrt_parameters, ports)))
        if key not in self.functions:
            self.functions[key] = function(self.text(name, outputs, wrt_parameters, ports))
        return self.functions[key]

    def arguments(self) -> tuple[str, ...]:
        return ("x", "u", "p", "t") if self.timed else ("x", "u", "p")

    def wrt(self, parameters: Sequence[str] | None) -> tuple[str, ...]:
        return self.parameters if parameters is None else tuple(parameters)

    def reads(self, graph: Graph) -> dict[Node, str]:
        """How the written function gets at what it reads."""
        stores = (("state", "x", self.states), ("input", "u", self.inputs), ("parameter", "p", self.parameters))
        found = {graph.read(kind, n): f"{store}[{k}]" for kind, store, names in stores for k, n in enumerate(names)}
        return {**found, graph.read("time", "t"): "t"}

    def check(self, outputs: Sequence[str], wrt_parameters: Sequence[str] | None, ports: Sequence[str]) -> None:
        """Refuse what this plant does not have."""
        for output in outputs:
            if output not in OUTPUTS:
                raise DiagramError(
                    f"equations of {self.plant}: no output '{output}'. There are: {listing(OUTPUTS)}."
                    + did_you_mean(output, OUTPUTS)
                )
        for name in self.wrt(wrt_parameters):
            if name not in self.parameters:
                raise DiagramError(
                    f"equations of {self.plant}: they do not depend on a parameter '{name}'. With these settings they depend on: "
                    f"{listing(self.parameters)}." + did_you_mean(name, self.parameters)
                )
        for port in ports:
            if port not in self.signals:
                why = f" because {self.refused[port]}" if port in self.refused else f": {self.plant} has no such outport"
                raise DiagramError(
                    f"equations of {self.plant}: '{port}' cannot be measured{why}. What can be: {listing(self.signals)}."
                    + ("" if port in self.refused else did_you_mean(port, self.signals))
                )


def equations(kind: type[Block], settings: Mapping[str, Any]) -> Equations:
    """The continuous equations of a plant with these settings: those of its variant's `equations`, or else `derivative`."""
    block = kind(**settings)
    variant = block.variant(len(kind.of(Inport)))
    law = variant.functions.get("equations") or variant.functions.get("derivative")
    if law is None:
        raise DiagramError(f"{kind.__name__} has no continuous states, so it has no equations an observer could use.")
    plant = Bindings(kind, variant, block.settings)
    rates = plant.followed(law, len(plant.states))
    signals: dict[str, tuple[Node, ...]] = {}
    refused: dict[str, str] = {}
    for name, ports in output_ports(variant).items():
        widths = [plant.sizes[p] for p in ports]
        try:
            found = plant.followed(variant.functions[name], sum(widths))
        except DiagramError as error:
            refused |= dict.fromkeys(ports, str(error).rstrip("."))
            continue
        for port, width in zip(ports, widths, strict=True):
            signals[port], found = found[:width], found[width:]
    read = {(n.op, n.value) for n in reached([*rates, *(n for nodes in signals.values() for n in nodes)])}
    used = tuple(n for n in plant.numbers if ("parameter", n) in read)
    values = tuple(float(block.settings[n]) for n in used)
    sizes = {p: len(nodes) for p, nodes in signals.items()}
    timed = ("time", "t") in read
    return Equations(kind.__name__, plant.states, plant.inputs, used, values, sizes, timed, plant.graph, rates, signals, refused)


class Bindings:
    """One plant while its functions are followed: what each of their arguments stands for."""

    def __init__(self, kind: type[Block], variant: type[Block], settings: Mapping[str, Any]):
        self.kind, self.variant, self.settings = kind, variant, settings
        self.graph = Graph()
        self.sizes = self.find_sizes()
        memories = variant.of(Memory)
        self.states = self.scalars(n for n in variant.of(State) if n not in memories)
        self.inputs = self.scalars(n for n, d in variant.of(Inport).items() if not d.many)
        self.numbers = [n for n, d in variant.of(Param).items() if not isinstance(d, State) and not d.shape]

    def find_sizes(self) -> dict[str, int]:
        """The sizes of ports and states, and those the block computes itself."""
        sizes: dict[str, int] = {n: d.default for n, d in self.variant.of(Fixed).items() if isinstance(d.default, int)}
        values: dict[str, Any] = {**{n: d.size for n, d in self.variant.of(Inport).items()}, **self.settings}
        for name, made in self.variant.functions.items():
            if name.startswith("size_"):
                sizes[name[5:]] = int(made(**{a: values[a] for a in arguments(made)}))
        for name, declaration in self.variant.of(Inport, Outport, State).items():
            size = declaration.size
            if isinstance(size, str):
                size = sizes.get(size, self.settings.get(size))
            if not isinstance(size, int):
                raise DiagramError(
                    f"{self.kind.__name__} has no equations of its own: the size of '{name}' is that of what is connected."
                )
            sizes[name] = size
            given = self.settings.get(name) if isinstance(declaration, State) else None
            if size == 1 and isinstance(given, (list, tuple)) and len(given) > 1:
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
        return [name] if declared.size == 1 else [f"{name}[{k}]" for k in range(self.sizes[name])]  # type: ignore[attr-defined]

    def followed(self, law: Callable[..., Any], count: int) -> tuple[Node, ...]:
        """What one of its functions computes, scalar by scalar."""
        try:
            asked = {name: self.bound(name) for name in arguments(law) if name != "out"}
            if "out" in arguments(law):
                asked["out"] = tuple(Missing(f"{law.__qualname__} does not fill out[{k}]") for k in range(count))
            found = scalars_of(Tracer(self.graph).run(law, asked))
        except (Untraceable, BlockDefinitionError) as error:
            text = str(error)
            raise DiagramError(text if text.startswith(self.kind.__name__) else f"{self.kind.__name__}: {text}") from None
        if len(found) != count:
            raise DiagramError(f"{self.kind.__name__}: {law.__qualname__} gives {len(found)} values where {count} are wanted.")
        return tuple(found)

    def bound(self, name: str) -> Value:
        """What an argument stands for."""
        graph, declaration = self.graph, self.variant.declared.get(name)
        if name == "t":
            return graph.read("time", "t")
        match declaration:
            case None:
                return graph.constant(True if name.startswith("has_") else self.sizes[name])
            case Static():
                return known(graph, self.settings[name])
            case Memory():
                return Missing(self.remembers(name))
            case State() | Inport(many=False):
                store = "state" if isinstance(declaration, State) else "input"
                found = tuple(graph.read(store, n) for n in self.elements(name))
                return found[0] if declaration.size == 1 else found
            case Param(shape=()):
                if self.settings[name] is None:
                    return graph.constant(None)
                return graph.read("parameter", name)
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


def output_ports(kind: type[Block]) -> dict[str, list[str]]:
    """Output function -> the ports it gives."""
    ports = list(kind.of(Outport))
    alone = {f"output_{p}": [p] for p in ports if f"output_{p}" in kind.functions}
    rest = [p for p in ports if f"output_{p}" not in kind.functions]
    return {"output": rest, **alone} if rest and "output" in kind.functions else alone


def scalars_of(value: Value) -> list[Node]:
    """A result as a flat list."""
    if isinstance(value, Missing):
        raise Untraceable(value.why)
    return [n for item in value for n in scalars_of(item)] if isinstance(value, tuple) else [value]
