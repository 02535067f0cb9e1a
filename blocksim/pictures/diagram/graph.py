"""Diagram -> Graph: what is to be drawn and which port each wire joins, before any position is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...contract.block import Block
from ...contract.declarations import Memory, State
from ...diagram.diagram import Diagram, Node, Ref, inports_of, outports, reference, resolve_node, walk
from ...notation import FRACTION_BAR, brief, unit_label
from .lettering import LONGEST_NAME, clean, cut_short, settings_lines

#: A circle has room for one wire on each of its three other sides.
MOST_AT_CIRCLE = 3
#: Families whose blocks are no plants, though they have states.
NOT_PLANTS = ("control", "sensors", "observers", "friction")
#: Characters of a gain in its triangle, and of a polynomial above or below its bar.
LONGEST_GAIN, LONGEST_POLYNOMIAL = 12, 30


@dataclass
class Port:
    """A place where a wire meets a block: its name, and what the picture writes beside it."""

    name: str
    label: str = ""


@dataclass
class Item:
    """A block or a terminal of the diagram, as the picture needs it."""

    key: str
    name: str
    shape: str
    colour: str
    lines: list[str]
    title: str
    index: int
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    signs: str = ""
    icon: str = ""
    hint: bool | None = None
    double: bool = False
    record: bool = False
    sink: bool = False
    plant: bool = False  # by its class, not merely dynamic
    dynamic: bool = False  # has continuous states, itself or inside
    sampled: bool = False


@dataclass(frozen=True)
class Link:
    """A wire: output `port` of `source` to input `slot` of `target`, both counted from the top."""

    source: str
    port: int
    target: str
    slot: int
    element: int | None = None
    dashed: bool = False

    @property
    def net(self) -> tuple[str, int]:
        return self.source, self.port


@dataclass
class BlockGraph:
    items: dict[str, Item] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)

    def into(self, key: str) -> list[Link]:
        return [link for link in self.links if link.target == key]

    def out_of(self, key: str) -> list[Link]:
        return [link for link in self.links if link.source == key]


def read_graph(diagram: Diagram) -> BlockGraph:
    """The graph of a diagram, complete or not: what cannot be resolved is left out."""
    graph = BlockGraph()
    connections: list[tuple[str, int, Ref]] = []
    for name in diagram.ports.inputs if diagram.ports else {}:
        graph.items[f">{name}"] = terminal(f">{name}", name, "source", len(graph.items))
    for node in diagram.nodes.values():
        item = graph.items[node.name] = item_of(node, len(graph.items))
        for port, refs in resolve_node(diagram, node, []).items():
            connections += slots(item, node, port, refs)
    for name, signal in diagram.ports.outputs.items() if diagram.ports else []:
        item = graph.items[f"{name}>"] = terminal(f"{name}>", name, "sink", len(graph.items))
        ref = reference(diagram, signal, lambda text: None)
        item.inputs.append(Port(name))
        connections += [(item.key, 0, ref)] if ref else []
    connect(graph, diagram, connections)
    for item in graph.items.values():
        if item.shape == "circle" and len(item.inputs) > MOST_AT_CIRCLE:
            item.shape, item.lines = "box", ["Σ" if item.signs else item.lines[0]]
            for entry, sign in zip(item.inputs, item.signs, strict=False):
                entry.label = sign.replace("-", "−")
    return graph


def slots(item: Item, node: Node, port: str, refs: list[Ref]) -> list[tuple[str, int, Ref]]:
    """Add the input's ports to the item; one for each signal of a port that takes many."""
    declared = inports_of(node)
    label = clean(port) if len(declared) > 1 else ""
    if not refs and not declared[port].optional:
        item.inputs.append(Port(port, label))
    result = []
    for ref in refs:
        item.inputs.append(Port(port, label))
        result.append((item.key, len(item.inputs) - 1, ref))
    return result


def connect(graph: BlockGraph, diagram: Diagram, connections: list[tuple[str, int, Ref]]) -> None:
    """Make the links, and give every block the outputs that are used, in their declared order."""
    used = {((ref.block or f">{ref.port}"), ref.port) for _, _, ref in connections}
    for key, item in graph.items.items():
        if key in diagram.nodes:
            names = list(outports(diagram.nodes[key].block))
            item.outputs = [Port(p, clean(p) if len(names) > 1 else "") for p in names if (key, p) in used]
        else:
            item.outputs = [Port(item.name)] if (key, item.name) in used else []
    for target, slot, ref in connections:
        source = ref.block or f">{ref.port}"
        port = [p.name for p in graph.items[source].outputs].index(ref.port)
        graph.links.append(Link(source, port, target, slot, ref.element, graph.items[target].record))


def terminal(key: str, name: str, colour: str, index: int) -> Item:
    return Item(key, clean(name), "oval", colour, [cut_short(clean(name))], clean(name), index, sink=colour == "sink")


def item_of(node: Node, index: int) -> Item:
    """A block as the picture shows it."""
    block, name = node.block, clean(node.name)
    if isinstance(block, Diagram):
        title = f"{name}: subsystem {block.name or block.path}, {len(block.nodes)} blocks"
        if node.enable is not None:
            states, outputs = node.enable.states, node.enable.outputs
            title += f"\non while {node.enable.signal} is above 0.5; states {states}; outputs {outputs} while it is off"
        return Item(
            node.name,
            name,
            "box",
            "plain",
            [cut_short(clean(block.name or name), LONGEST_NAME)],
            title,
            index,
            hint=node.flip,
            double=True,
            dynamic=any(is_dynamic(n.block) for _, n in walk(block)),
        )
    lines = label_lines(block)
    signs = str(block.settings.get("signs") or "") if block.shape == "circle" else ""
    many = len(node.inputs) if isinstance(node.inputs, (list, tuple, dict)) else 1
    if block.shape == "circle" and "signs" in block.settings:
        signs = signs.ljust(many, "+")
    return Item(
        node.name,
        name,
        block.shape,
        block_colour(block),
        lines,
        tooltip(name, block),
        index,
        signs=signs,
        icon=block.icon,
        hint=node.flip,
        record=block.after_run,
        sink=not outports(block),
        plant=block.colour == "plant",
        dynamic=is_dynamic(block),
        sampled=block.sampled,
    )


def gain_text(block: Block, lines: list[str]) -> str:
    """What stands in a triangle: the gain's value."""
    if len(lines) > 1:
        return lines[1].rpartition("=")[2]
    return brief(block.settings["k"]) if "k" in block.settings else lines[0]


def label_lines(block: Block) -> list[str]:
    """What stands in the shape, each line short enough: what it is and its settings, or a fraction with its bar."""
    lines = [clean(line) for line in block.label()] or [type(block).__name__]
    if block.shape == "triangle":
        return [cut_short(gain_text(block, lines), LONGEST_GAIN)]
    if FRACTION_BAR in lines:
        return [line if line == FRACTION_BAR else cut_short(line, LONGEST_POLYNOMIAL) for line in lines[:3]]
    return [cut_short(lines[0], LONGEST_NAME), *(part for line in lines[1:2] for part in settings_lines(line))]


def block_colour(block: Block) -> str:
    """Its colour; a continuous system that claims none is drawn like a plant, unless its family says what it is."""
    system = block.colour == "plain" and is_dynamic(block) and type(block).family not in NOT_PLANTS
    return "plant" if system else block.colour


def is_dynamic(block: Block | Diagram) -> bool:
    """Whether it has continuous states of its own."""
    return isinstance(block, Block) and any(not isinstance(d, Memory) for d in block.of(State).values())


def tooltip(name: str, block: Block) -> str:
    """Name, type and every setting with its unit."""
    declared = type(block).declared
    rows = [
        f"{k} = {cut_short(clean(brief(v)), 60)}" + (f" {unit_label(declared[k].unit)}" if declared[k].unit else "")
        for k, v in block.settings.items()
    ]
    return "\n".join([f"{name}: {type(block).__name__}", *rows])
