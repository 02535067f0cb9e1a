"""Composite: the class of a subsystem that is taken for one plant, its parts' settings under dotted names.

It describes: parts, each with its class and where its inputs come from, and which signals of theirs are the outputs. What the
whole computes is followed from part to part (`tracing.wiring`); a diagram runs the parts themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..errors import DiagramError
from .block import Block
from .declarations import Declared, Inport, Outport


@dataclass(frozen=True)
class PartSignal:
    """A signal within a subsystem: the output of a part, or, where no part is named, an input of the whole."""

    part: str
    port: str
    element: int | None = None


@dataclass(frozen=True)
class Part:
    """A block of a subsystem: its dotted name, its class, and the signals at each of its inputs."""

    name: str
    kind: type[Block]
    wires: tuple[tuple[str, tuple[PartSignal, ...]], ...]

    def wires_to(self, port: str) -> tuple[PartSignal, ...]:
        return dict(self.wires).get(port, ())

    def own(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Its settings among those of the whole."""
        return {n: settings[f"{self.name}.{n}"] for n, d in self.kind.declared.items() if d.settable}

    def block(self, settings: Mapping[str, Any]) -> Block:
        return self.kind(**{n: v for n, v in self.own(settings).items() if v is not None})

    def variant(self, settings: Mapping[str, Any]) -> type[Block]:
        """The class whose functions run for these settings."""
        return self.block(settings).variant(sum(len(wires) for _, wires in self.wires))


class Composite(Block):
    """A subsystem taken for one plant; each has a class of its own."""

    abstract = True
    colour = "plant"
    parts: ClassVar[tuple[Part, ...]] = ()
    outputs: ClassVar[tuple[tuple[str, PartSignal], ...]] = ()

    @classmethod
    def problems(cls, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
        texts = super().problems(settings)
        for part in cls.parts if not texts else ():
            own = {n: v for n, v in part.own({**defaults(cls), **settings}).items() if v is not None}
            texts += [(f"{part.name}.{n}" if n else "", f"{part.name}.{text}") for n, text in part.kind.problems(own)]
        return texts

    def variant(self, inputs: int = 1) -> type[Block]:
        """Its own class; but that the parts' are what they are is found out here, where a setting may change them."""
        return type(self)


#: Classes by what they are made of: equal subsystems share one, and observers of them a program.
COMPOSITES: dict[Any, type[Composite]] = {}


def defaults(kind: type[Block]) -> dict[str, Any]:
    return {n: d.default for n, d in kind.declared.items() if d.settable}


def composite_class(
    name: str, parts: tuple[Part, ...], inputs: tuple[str, ...], outputs: tuple[tuple[str, PartSignal], ...]
) -> type[Composite]:
    """The class of a subsystem with these parts, inputs and outputs."""
    key = name, parts, inputs, outputs
    if key not in COMPOSITES:
        members: dict[str, Any] = {"__doc__": f"{name}: a subsystem as one plant.", "abstract": True}
        members |= {"parts": parts, "outputs": outputs}
        for part in parts:
            members |= {f"{part.name}.{n}": inner(d) for n, d in part.kind.declared.items() if d.settable}
        kinds = {part.name: part.kind for part in parts}
        members |= {port: Inport(doc=f"input of {name}", unit=unit_at(parts, port)) for port in inputs}
        for port, wire in outputs:
            declared = kinds[wire.part].declared[wire.port] if wire.part else Inport(doc="input passed on")
            size = 1 if wire.element is not None else getattr(declared, "size", 1)
            members[port] = Outport(doc=declared.doc, unit=declared.unit, size=size)
        COMPOSITES[key] = type(name, (Composite,), members)
    return COMPOSITES[key]


def inner(declared: Declared) -> Declared:
    """A part's declaration as one of the whole: of a state that is a port, only the state."""
    if isinstance(declared, Outport):
        from .declarations import State

        return State(doc=declared.doc, unit=declared.unit, default=declared.default, size=declared.size)
    return replace(declared, name="")


def unit_at(parts: tuple[Part, ...], port: str) -> str:
    """The unit of an input of the whole: that of the first input it is wired to."""
    for part in parts:
        for name, wires in part.wires:
            if PartSignal("", port) in wires and part.kind.declared[name].unit:
                return part.kind.declared[name].unit
    return ""


def refuse_sampled(name: str, part: Part, settings: Mapping[str, Any]) -> None:
    """A plant moves continuously: what acts at samples is no part of one."""
    variant = part.variant(settings)
    if variant.sampled or variant.after_run:
        raise DiagramError(
            f"{name} is no plant: its block '{part.name}' ({part.kind.__name__}) "
            + ("works after the run." if variant.after_run else "acts at sample hits.")
            + " Put it outside the subsystem."
        )
