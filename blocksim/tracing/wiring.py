"""The equations of a subsystem: those of its parts, with what arrives at each followed from the parts that make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..contract.declarations import Inport, Outport
from ..contract.plant import Composite, Part, PartSignal
from ..errors import DiagramError
from .bindings import Bindings, port_nodes
from .graph import Graph, Term
from .values import Missing, Value


class Wiring:
    """A subsystem while its parts are followed: signals known so far, and those being followed."""

    def __init__(self, kind: type[Composite], settings: Mapping[str, Any]):
        self.kind, self.graph = kind, Graph()
        self.parts = {part.name: PartBindings(self, part, settings) for part in kind.parts}
        self.inputs = tuple(kind.of(Inport))
        self.states = tuple(s for part in self.parts.values() for s in part.states)
        self.numbers = [n for part in self.parts.values() for n in part.numbers]
        self.sizes = {n: 1 if not isinstance(d.size, int) else d.size for n, d in kind.of(Outport).items()}
        self.signals: dict[tuple[str, str], tuple[Term, ...]] = {}
        self.pending: list[str] = []

    def rates(self) -> tuple[Term, ...]:
        """The rates of all states, part by part."""
        rates: list[Term] = []
        for part in self.parts.values():
            if part.states:
                functions = part.variant.functions
                rates += part.followed(functions.get("equations") or functions["derivative"], len(part.states))
        if not rates:
            raise DiagramError(f"{self.kind.__name__} has no continuous states, so it has no equations an observer could use.")
        return tuple(rates)

    def output(self, port: str) -> tuple[Term, ...]:
        """What one output of the whole is."""
        return self.wire(dict(self.kind.outputs)[port])

    def wire(self, wire: PartSignal) -> tuple[Term, ...]:
        """The scalars of a signal."""
        nodes = (self.graph.read("input", wire.port),) if not wire.part else self.signal(wire.part, wire.port)
        return nodes if wire.element is None else (nodes[wire.element],)

    def signal(self, name: str, port: str) -> tuple[Term, ...]:
        """An output of a part, followed once; a circle has no equations."""
        if (name, port) not in self.signals:
            if f"{name}.{port}" in self.pending:
                circle = self.pending[self.pending.index(f"{name}.{port}") :]
                raise DiagramError(
                    f"{self.kind.__name__} has an algebraic loop, {' -> '.join([*circle, circle[0]])}, and no equations an "
                    "observer could use."
                )
            self.pending.append(f"{name}.{port}")
            self.signals |= {(name, one): nodes for one, nodes in port_nodes(self.parts[name], port).items()}
            self.pending.pop()
        return self.signals[(name, port)]


class PartBindings(Bindings):
    """One part: its states and parameters by their dotted names, its inputs what arrives there."""

    def __init__(self, whole: Wiring, part: Part, settings: Mapping[str, Any]):
        self.whole, self.part = whole, part
        block = part.block(settings)
        super().__init__(part.kind, part.variant(settings), block.settings, whole.graph, f"{part.name}.")

    def bound(self, name: str) -> Value:
        declaration = self.variant.declared.get(name)
        if declaration is None and name.startswith("has_"):
            return self.graph.constant(bool(self.part.wires_to(name[4:])))
        if not isinstance(declaration, Inport):
            return super().bound(name)
        signals = [self.whole.wire(wire) for wire in self.part.wires_to(name)]
        if declaration.many:
            return tuple(self.fitting(name, nodes) for nodes in signals)
        return self.fitting(name, signals[0]) if signals else self.graph.constant(float(declaration.default))

    def fitting(self, port: str, nodes: tuple[Term, ...]) -> Value:
        """A signal as its port takes it: a number, or a vector of the port's size."""
        declaration = self.variant.declared[port]
        size = self.sizes.get(port, 1)
        if len(nodes) != size:
            return Missing(
                f"input '{port}' of '{self.part.name}' gets {len(nodes)} elements where its equations take {size}; "
                "equations for observers take scalars only."
            )
        return nodes[0] if getattr(declaration, "size", 1) == 1 else nodes
