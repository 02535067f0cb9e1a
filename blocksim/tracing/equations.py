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
from ..contract.declarations import Inport, Outport
from ..contract.expression import function
from ..contract.plant import Composite
from ..errors import DiagramError, did_you_mean, listing
from .bindings import Bindings, port_nodes
from .derivative_rules import differentiate
from .graph import Graph, Term, reached
from .straight_line import function_text
from .wiring import Wiring

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
    rates: tuple[Term, ...] = field(repr=False, compare=False)
    signals: dict[str, tuple[Term, ...]] = field(repr=False, compare=False)
    refused: dict[str, str] = field(repr=False, compare=False)  # other outports, and why
    functions: dict[Any, Callable[..., Any]] = field(default_factory=dict, repr=False, compare=False)  # made so far

    def layout(
        self, outputs: Sequence[str] = ("f", "dfdx"), wrt_parameters: Sequence[str] | None = None, ports: Sequence[str] = ()
    ) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Where each output begins in the flat result, and its shape: {'f': (0, (2,)), 'dfdx': (2, (2, 2))}."""
        self.check(outputs, wrt_parameters, ports)
        columns = {"x": len(self.states), "u": len(self.inputs), "p": len(self.wrt(wrt_parameters))}
        rows = {"f": len(self.rates), "y": sum(len(self.signals[p]) for p in ports)}
        places: dict[str, tuple[int, tuple[int, ...]]] = {}
        start = 0
        for name in outputs:
            shape = (rows[name],) if name in rows else (rows[name[1]], columns[name[3]])
            places[name] = (start, shape)
            start += shape[0] * (shape[1] if len(shape) > 1 else 1)
        return places

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
        results: list[Term] = []
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

    def reads(self, graph: Graph) -> dict[Term, str]:
        """How the written function gets at what it reads."""
        stores = (("state", "x", self.states), ("input", "u", self.inputs), ("parameter", "p", self.parameters))
        texts = {graph.read(kind, n): f"{store}[{k}]" for kind, store, names in stores for k, n in enumerate(names)}
        return {**texts, graph.read("time", "t"): "t"}

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
    """The continuous equations of a plant with these settings: those of its variant's `equations`, or else `derivative`.

    Of a subsystem, those of its parts.
    """
    if issubclass(kind, Composite):
        wiring = Wiring(kind, settings)
        return with_outputs(kind, settings, wiring, wiring.rates(), {p: wiring.output for p in kind.of(Outport)})
    block = kind(**settings)
    variant = block.variant(sum(not d.optional for d in kind.of(Inport).values()))
    law = variant.functions.get("equations") or variant.functions.get("derivative")
    if law is None:
        raise DiagramError(f"{kind.__name__} has no continuous states, so it has no equations an observer could use.")
    plant = Bindings(kind, variant, block.settings)
    rates = plant.followed(law, len(plant.states))
    outputs = {p: lambda port: port_nodes(plant, port)[port] for p in variant.of(Outport)}
    return with_outputs(kind, block.settings, plant, rates, outputs)


def with_outputs(
    kind: type[Block],
    settings: Mapping[str, Any],
    plant: Bindings | Wiring,
    rates: tuple[Term, ...],
    outputs: Mapping[str, Callable[[str], tuple[Term, ...]]],
) -> Equations:
    """Rates and those outputs that can be followed, with what they read."""
    signals: dict[str, tuple[Term, ...]] = {}
    refused: dict[str, str] = {}
    for port, follow in outputs.items():
        try:
            signals[port] = follow(port)
        except DiagramError as error:
            refused[port] = str(error).rstrip(".")
    read = {(n.op, n.value) for n in reached([*rates, *(n for nodes in signals.values() for n in nodes)])}
    used = tuple(n for n in plant.numbers if ("parameter", n) in read)
    values = tuple(float(settings[n]) for n in used)
    sizes = {p: len(nodes) for p, nodes in signals.items()}
    timed = ("time", "t") in read
    return Equations(kind.__name__, plant.states, plant.inputs, used, values, sizes, timed, plant.graph, rates, signals, refused)
