"""Diagram: named blocks and where each input comes from; made from a file or from Python.

d = Diagram("PI loop")
d.add("ref", "Step", time=1)
d.add("error", "Sum", signs="+-", inputs=["ref", "plant"])
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from ..contract.block import Block
from ..contract.declarations import Inport, Model, Outport
from ..errors import BlocksimError, DiagramError, Place, Problem, did_you_mean, listing
from ..extensions import extension
from .spec import EnableSpec, LogSpec, PortSpec, RecordSpec, RunOptions, ScopeAxes, SimulateSpec, Spec

if TYPE_CHECKING:
    from blocksim import Simulation  # by the front door: what runs a diagram lives further down the road

#: What takes a problem, in words.
Complain = Callable[[str], None]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Beyond this many problems, or names in a message, nobody reads on.
MOST_PROBLEMS = 100
REFERENCE = re.compile(r"(?P<path>[A-Za-z_][\w.]*?)(?:\[(?P<element>-?\d+)\])?\Z")


@dataclass(frozen=True)
class Ref:
    """A signal of a diagram: a block's output port, whole or one element."""

    block: str
    port: str
    element: int | None = None

    def __str__(self) -> str:
        return f"{self.block}.{self.port}" + ("" if self.element is None else f"[{self.element}]")


@dataclass
class Node:
    """A block (or a subsystem) in its place: its name, its inputs as written, the lines it stands on."""

    name: str
    block: Block | Diagram
    inputs: Any = None
    flip: bool | None = None
    place: Place | None = None
    places: dict[str, Place] = field(default_factory=dict)
    enable: EnableSpec | None = None  # of a subsystem
    gates: tuple[str, ...] = ()  # of a block taken out of subsystems: the switches that still hold it

    def at(self, key: str) -> Place | None:
        return self.places.get(key, self.place)


@dataclass
class Diagram:
    """Blocks by name, in the order they were written."""

    name: str = ""
    description: str = ""
    simulate: SimulateSpec = field(default_factory=SimulateSpec)
    log: list[LogSpec] | None = None
    ports: PortSpec | None = None  # of a subsystem
    nodes: dict[str, Node] = field(default_factory=dict)
    path: str = ""
    spec: Spec | None = None  # the Spec it was built from, where there is one
    parameters: dict[str, Any] = field(default_factory=dict)  # the values it was built with
    given: dict[str, Any] = field(default_factory=dict)  # those of them that did not come from the file itself
    known: dict[str, Block] = field(default_factory=dict)  # plants beside its own that a model may name, by path
    record: RecordSpec | None = None  # how a measured record is read
    scopes: ScopeAxes | None = None  # what `run --plot` shows; None for what a person would look at
    unmade: set[str] = field(default_factory=set)  # blocks whose own problem is reported already: links to them are passed over

    def add(
        self,
        name: str,
        block: str | Block | Diagram,
        inputs: Any = None,
        *,
        flip: bool | None = None,
        place: Place | None = None,
        places: dict[str, Place] | None = None,
        enable: Any = None,
        **settings: Any,
    ) -> Node:
        """Put a block into the diagram: a type name with settings, a Block, or a Diagram with ports as subsystem."""
        if not NAME.match(name):
            raise DiagramError(f"'{name}' cannot name a block; letters, digits and _ can.")
        if name in self.nodes:
            raise DiagramError(f"there is a block '{name}' already: {self.nodes[name].block!r}.")
        if isinstance(block, str) and block.endswith((".yaml", ".yml")):
            from .build import build
            from .loader import load

            block = build(load(block), parameters=settings)
        elif isinstance(block, str):
            from ..contract.library import find

            kind = find(block)
            try:
                block = kind(**settings)
            except DiagramError as error:
                raise DiagramError([Problem(f"block '{name}': {p.what}", place) for p in error.problems]) from None
        elif settings:
            raise DiagramError(f"block '{name}': settings go to a type name, not to a made block.")
        node = Node(name, block, inputs, flip, place, places or {}, switch_of(name, block, enable, place))
        self.nodes[name] = node
        return node

    def __repr__(self) -> str:
        head = f"Diagram {self.name!r}: {len(self.nodes)} blocks"
        return head + "".join(
            f"\n  {n.name:12} {n.block!r:40.80}  <- {n.inputs}" if n.inputs is not None else f"\n  {n.name:12} {n.block!r:.80}"
            for n in self.nodes.values()
        )

    def _repr_svg_(self) -> str:
        return str(extension("views", "Diagram")(self))

    def start(
        self,
        *,
        params: Mapping[str, Any] | None = None,
        seed: int | None = None,
        engine: str = "auto",
        **options: Unpack[RunOptions],
    ) -> Simulation:
        """A simulation to step through by hand: `sim = diagram.start(); sim.step(); sim.set_input(...)`."""
        import blocksim

        return blocksim.start(self, params=params, seed=seed, engine=engine, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as YAML that loads to the same diagram."""
        from .loader import save

        save(self, path)


def switch_of(name: str, block: Block | Diagram, value: Any, place: Place | None) -> EnableSpec | None:
    """`enable=` of a subsystem, checked."""
    from .enabling import enable_of

    if value is None:
        return None
    if not isinstance(block, Diagram):
        raise DiagramError([Problem(f"block '{name}': enable switches subsystems: put the block into one.", place)])
    if block.ports and "enable" in block.ports.inputs:
        text = "the subsystem has an input 'enable' of its own: give that input another name."
        raise DiagramError([Problem(f"block '{name}': enable: {text}", place)])
    try:
        return enable_of(value)
    except ValueError as error:
        raise DiagramError([Problem(f"block '{name}': enable: {error}", place)]) from None


def outports(block: Block | Diagram) -> dict[str, Any]:
    """Output ports by name."""
    if isinstance(block, Diagram):
        return dict(block.ports.outputs) if block.ports else {}
    return (block.bound or type(block)).of(Outport)


#: The input that `enable:` gives to a subsystem.
ENABLE_PORT = Inport(doc="above 0.5 the subsystem is on", optional=True)


def inports_of(node: Node) -> dict[str, Inport]:
    """Input ports by name, with the one that switches it."""
    return inports(node.block) if node.enable is None else {**inports(node.block), "enable": ENABLE_PORT}


def inports(block: Block | Diagram) -> dict[str, Inport]:
    """Input ports by name."""
    if isinstance(block, Diagram):
        ports = block.ports.inputs if block.ports else {}
        return {n: Inport(doc="input of the subsystem", size=size) for n, size in ports.items()}
    return (block.bound or type(block)).of(Inport)


Links = dict[str, dict[str, list[Ref]]]


def resolve(diagram: Diagram) -> Links:
    """For every block, the signals at each of its inputs. All that is wrong is reported together.

    Inside a subsystem an input of its own is the Ref ('', name).
    """
    problems = bind_models(diagram)
    if problems:
        raise DiagramError(problems)
    links: Links = {}
    for node in diagram.nodes.values():
        links[node.name] = resolve_node(diagram, node, problems)
        if len(problems) > MOST_PROBLEMS:
            raise DiagramError(problems)
    if problems:
        raise DiagramError(problems)
    return links


def bind_models(diagram: Diagram) -> list[Problem]:
    """Give every block whose setting names a plant its class for that plant; what is wrong."""
    from ..contract.plant import bind, plants_of

    problems: list[Problem] = []
    blocks: dict[str, Block] = {}
    asking = [n for n in diagram.nodes.values() if isinstance(n.block, Block) and n.block.of(Model) and names_models(n.block)]
    for node in asking:
        try:
            blocks = blocks or named_blocks(diagram)
            others = {path: block for path, block in blocks.items() if path != node.name}
            bind(node.block, plants_of(node.block, others))  # type: ignore[arg-type]
        except DiagramError as error:
            problems += [Problem(f"block '{node.name}': {p.what}", node.at("model")) for p in error.problems]
        except BlocksimError:
            raise
        except Exception as error:  # a library met something it did not foresee; the user still needs the line
            text = f"block '{node.name}': its settings cannot be used: {type(error).__name__}: {error}."
            problems.append(Problem(text, node.place))
    return problems


def names_models(block: Block) -> bool:
    """Whether it names what it must; where it does not, that is reported already."""
    return all(block.settings.get(name) for name, declared in block.of(Model).items() if declared.required)


def named_blocks(diagram: Diagram) -> dict[str, Block]:
    """What a model may name: blocks by path, and of the subsystems those that one of this diagram names, each as one plant."""
    blocks = {**diagram.known, **{path: node.block for path, node in walk(diagram) if isinstance(node.block, Block)}}
    own = [node.block for node in diagram.nodes.values() if isinstance(node.block, Block)]
    names = {block.settings.get(setting) for block in own for setting in block.of(Model)} - blocks.keys() - {None}
    for path, node in walk(diagram) if names else ():
        if path in names and isinstance(node.block, Diagram):
            from .composites import composite

            blocks[path] = composite(node.block, f"'{path}'")
    return blocks


def resolve_node(diagram: Diagram, node: Node, problems: list[Problem]) -> dict[str, list[Ref]]:
    """One block's inputs, from `in: a`, `in: [a, b]` or `in: {port: a}`."""
    inputs = node.inputs
    switched = node.enable is not None and isinstance(inputs, dict) and "enable" in inputs  # a twin writes all wires there
    ports = inports_of(node) if switched else inports(node.block)

    def complain(text: str) -> None:
        problems.append(Problem(f"block '{node.name}': {text}", node.at("in")))

    def complain_of_switch(text: str) -> None:
        problems.append(Problem(f"block '{node.name}': enable: {text}", node.at("enable")))

    by_port: dict[str, list[Any]] = {}
    if inputs is None:
        pass
    elif not ports:
        complain(f"takes no input, found in: {inputs}.")
        return {}
    elif isinstance(inputs, dict):
        by_port = links_by_port(inputs, ports, complain)
    else:
        items = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        by_port = in_order(items, ports, complain)
    if node.enable is not None:
        by_port = {"enable": [node.enable.signal], **by_port}
        ports = inports_of(node)
    links: dict[str, list[Ref]] = {}
    for port, declaration in ports.items():
        complaint = complain_of_switch if port == "enable" and node.enable is not None else complain
        refs = [reference(diagram, item, complaint) for item in by_port.get(port, [])]
        links[port] = [r for r in refs if r is not None]
        if (
            port not in by_port
            and not declaration.optional
            and not any(p.where == node.at("in") and f"'{node.name}'" in p.what for p in problems)
        ):
            complain(f"input '{port}' ({declaration.meaning()}) is not connected. Say in: <block> or in: {{{port}: <block>}}.")
    return links


def links_by_port(inputs: dict[str, Any], ports: dict[str, Inport], complain: Complain) -> dict[str, list[Any]]:
    """Inputs given as {port: signal}; a port that takes many may be a list, or numbered: u1, u2."""
    links: dict[str, list[Any]] = {}
    numbers: dict[str, dict[int, Any]] = {}
    for key, value in inputs.items():
        numbered = re.match(r"(.*?)(\d+)\Z", str(key))
        if key in ports:
            many = isinstance(value, (list, tuple))
            if many and not ports[key].many:
                complain(f"input '{key}' takes one signal, found {len(value)}. A Mux makes one of several.")
                value = value[:1]
            links[key] = list(value) if many else [value]
        elif numbered and numbered[1] in ports and ports[numbered[1]].many:
            numbers.setdefault(numbered[1], {})[int(numbered[2])] = value
        else:
            complain(f"no input '{key}'. It has: {listing(ports)}." + did_you_mean(key, ports))
    for name, items in numbers.items():
        if name in links or sorted(items) != list(range(1, len(items) + 1)):
            complain(f"the inputs '{name}' are numbered {listing(sorted(items))}. Number them 1, 2, ... or list them.")
        links[name] = [items[n] for n in sorted(items)]
    return links


def in_order(items: list[Any], ports: dict[str, Inport], complain: Complain) -> dict[str, list[Any]]:
    """Inputs given as a list, in port order; a port that takes many takes what the others leave."""
    links: dict[str, list[Any]] = {}
    names = list(ports)
    spare = len(items) - (len(names) - 1)
    queue = list(items)
    for name in names:
        if not queue:
            break
        count = max(spare, 1) if ports[name].many else 1
        links[name] = [queue.pop(0) for _ in range(min(count, len(queue)))]
    if queue:
        complain(f"takes {len(names)} input{'s' if len(names) > 1 else ''} ({listing(names)}), found {len(items)}.")
    return links


def reference(diagram: Diagram, text: Any, complain: Complain) -> Ref | None:
    """'joint.q[1]' -> Ref; a block with one output may be named without it; deeper names reach into subsystems."""
    match = REFERENCE.match(text) if isinstance(text, str) else None
    if not match:
        complain(f"'{text}' is not a signal. Write block, block.port or block.port[element].")
        return None
    element = int(match["element"]) if match["element"] else None
    head, _, rest = match["path"].partition(".")
    if diagram.ports and head in diagram.ports.inputs and not rest:
        return Ref("", head, element)
    if head in diagram.unmade:
        return None
    if head not in diagram.nodes:
        blocks = [*diagram.nodes, *(diagram.ports.inputs if diagram.ports else {})]
        names = listing(blocks[:MOST_PROBLEMS]) + (", ..." if len(blocks) > MOST_PROBLEMS else "")
        complain(f"'{text}' names no block. Blocks are: {names}." + did_you_mean(head, blocks[: 10 * MOST_PROBLEMS]))
        return None
    outputs = outports(diagram.nodes[head].block)
    if not rest:
        if len(outputs) == 1:
            return Ref(head, next(iter(outputs)), element)
        has = f"has several outputs; say which: {listing(f'{head}.{p}' for p in outputs)}" if outputs else "has no output"
        complain(f"'{text}': block '{head}' ({kind(diagram.nodes[head].block)}) {has}.")
        return None
    if rest not in outputs:
        complain(
            f"'{text}': block '{head}' ({kind(diagram.nodes[head].block)}) has no output '{rest}'. It has: "
            f"{listing(outputs)}." + did_you_mean(rest, outputs)
        )
        return None
    return Ref(head, rest, element)


def signals(diagram: Diagram, text: Any, complain: Complain) -> list[Ref]:
    """What a log entry stands for, by dotted path: one signal, or all outputs of a block named without any."""
    match = REFERENCE.match(text) if isinstance(text, str) else None
    names = match["path"].split(".") if match else []
    part, prefix = diagram, ""
    while len(names) > 1 and names[0] in part.nodes:
        inner = part.nodes[names[0]].block
        if not isinstance(inner, Diagram) or names[1] in outports(inner):
            break
        part, prefix = inner, f"{prefix}{names.pop(0)}."
    if match and len(names) == 1 and not match["element"] and names[0] in part.nodes:
        outputs = outports(part.nodes[names[0]].block)
        if outputs:
            return [Ref(prefix + names[0], port) for port in outputs]
    rest = ".".join(names) + (f"[{match['element']}]" if match and match["element"] else "")
    ref = reference(part, rest if match else text, complain)
    return [] if ref is None else [Ref(prefix + ref.block, ref.port, ref.element)]


def kind(block: Block | Diagram) -> str:
    """Its type, for messages."""
    return f"subsystem {block.name or block.path}" if isinstance(block, Diagram) else type(block).__name__


def walk(diagram: Diagram, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Every block of the diagram and its subsystems by dotted path."""
    for node in diagram.nodes.values():
        yield prefix + node.name, node
        if isinstance(node.block, Diagram):
            yield from walk(node.block, f"{prefix}{node.name}.")
