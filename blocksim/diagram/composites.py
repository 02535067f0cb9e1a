"""A subsystem as one block: its inner blocks as parts with dotted names, wires followed through its borders."""

from __future__ import annotations

from typing import Any

from ..contract.block import Block
from ..contract.plant import Part, PartSignal, composite_class, refuse_sampled
from ..errors import DiagramError
from .diagram import Diagram, Links, Ref, reference, resolve


def composite(diagram: Diagram, name: str) -> Block:
    """The subsystem as one plant, with the settings its blocks have."""
    if diagram.ports is None:
        raise DiagramError(f"{name} has no ports; a subsystem that is taken for a plant says what goes in and out.")
    scopes: dict[str, tuple[Diagram, Links]] = {}
    gather_parts(diagram, "", scopes)
    refuse_switches(scopes, name)
    parts: list[Part] = []
    settings: dict[str, Any] = {}
    for prefix, (part, links) in scopes.items():
        for node in part.nodes.values():
            if isinstance(node.block, Diagram):
                continue
            path = prefix + node.name
            wires = {port: [wire_source(scopes, prefix, ref) for ref in refs] for port, refs in links[node.name].items()}
            ends = tuple((port, tuple(w for w in arriving if w is not None)) for port, arriving in wires.items())
            parts.append(Part(path, type(node.block), tuple((port, arriving) for port, arriving in ends if arriving)))
            settings |= {f"{path}.{n}": v for n, v in node.block.settings.items()}
    for one in parts:
        refuse_sampled(name, one, settings)
    outputs = tuple((port, output_wire(scopes, name, port)) for port in diagram.ports.outputs)
    title = "".join(c if c.isalnum() else "_" for c in (diagram.name or name))
    kind = composite_class(title, tuple(parts), tuple(diagram.ports.inputs), outputs)
    return kind(**settings)


def refuse_switches(scopes: dict[str, tuple[Diagram, Links]], name: str) -> None:
    """A subsystem in it that is switched has no equations that hold at all times."""
    for prefix, (part, _) in scopes.items():
        for node in part.nodes.values():
            if node.enable is not None:
                raise DiagramError(
                    f"{name} has the subsystem '{prefix}{node.name}' with enable:, and what is switched is no plant."
                )


def gather_parts(part: Diagram, prefix: str, scopes: dict[str, tuple[Diagram, Links]]) -> None:
    scopes[prefix] = (part, resolve(part))
    for node in part.nodes.values():
        if isinstance(node.block, Diagram):
            gather_parts(node.block, f"{prefix}{node.name}.", scopes)


def output_wire(scopes: dict[str, tuple[Diagram, Links]], name: str, port: str) -> PartSignal:
    """Where an output of the whole comes from."""
    whole = scopes[""][0]
    assert whole.ports is not None
    texts: list[str] = []
    ref = reference(whole, whole.ports.outputs[port], texts.append)
    wire = wire_source(scopes, "", ref) if ref is not None else None
    if wire is None:
        raise DiagramError(f"output '{port}' of {name}: {texts[0] if texts else 'nothing makes it.'}")
    return wire


def wire_source(scopes: dict[str, tuple[Diagram, Links]], prefix: str, ref: Ref) -> PartSignal | None:
    """A signal followed through inner borders to the part that makes it; None where an optional input is open."""
    if not ref.block and not prefix:
        return PartSignal("", ref.port, ref.element)
    if not ref.block:
        outer, _, name = prefix.rstrip(".").rpartition(".")
        outer = f"{outer}." if outer else ""
        refs = scopes[outer][1][name][ref.port]
        return picked(wire_source(scopes, outer, refs[0]), ref.element) if refs else None
    block = scopes[prefix][0].nodes[ref.block].block
    if not isinstance(block, Diagram):
        return PartSignal(prefix + ref.block, ref.port, ref.element)
    assert block.ports is not None
    inside = reference(block, block.ports.outputs[ref.port], lambda _: None)
    return picked(wire_source(scopes, f"{prefix}{ref.block}.", inside), ref.element) if inside is not None else None


def picked(wire: PartSignal | None, element: int | None) -> PartSignal | None:
    return wire if wire is None or element is None or wire.element is not None else PartSignal(wire.part, wire.port, element)
