"""The diagram of a twin: that of a run with recorded signals in place, ideal sensors, and only what is asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..contract.block import Block, outport, param, table
from ..contract.declarations import Model, Param
from ..contract.plant import changes_within
from ..diagram.diagram import Diagram, Node, Ref, named_blocks, reference, resolve
from ..diagram.spec import LogSpec
from ..simulation.overrides import Overrides
from .process import Run
from .replay import Samples

if TYPE_CHECKING:
    import numpy as np
    from scipy.interpolate import CubicSpline

FINER = 8  # points of a spline to a sample, joined by straight lines
SMOOTHER = 3.0  # times nearer that a cubic must come to samples that are left out than a line does
FEWEST_TO_TELL = 16  # samples of which that can be told


class Lines(Block):
    """y(t) = straight lines between the samples of a recorded signal; its end values hold before and after."""

    values_: Any = Param(default=[[0.0]], doc="a row per sample", shape=(None, None))
    begin: float = param(0.0, "time of the first sample", "s")
    interval: float = param(1.0, "time between samples", "s", above=0)
    values = table("a row per sample", shape=(None, None))
    y = outport("the recorded signal", size="columns")

    @staticmethod
    def table_values(values_: Any) -> Any:
        return values_

    @staticmethod
    def size_columns(values_: Any) -> int:
        return len(values_[0])

    @staticmethod
    def output(t: float, values: Any, begin: float, interval: float, columns: int, out: Any) -> None:
        last = len(values) - 1
        place = min(max((t - begin) / interval, 0.0), float(last))
        i = min(int(place), max(last - 1, 0))
        following = min(i + 1, last)
        for j in range(columns):
            out[j] = values[i, j] + (place - i) * (values[following, j] - values[i, j])


@dataclass(frozen=True)
class Played:
    """A recorded signal that takes the place of a signal of the diagram, or only of what arrives at one input of one block."""

    signal: str  # 'ref.q', or 'joint.tau' where `port` says that it is an input
    values: np.ndarray
    hold: str = "linear"  # or 'zero', what a digital controller does
    port: bool = False
    finer: int = 1  # of its rows to one of the record, where it was made of more than straight lines


def played_source(name: str, values: np.ndarray) -> Played:
    """A recorded source as it went on between its samples: by a spline where the record shows that it is smooth."""
    if not is_smooth(values):
        return Played(name, values)
    curve, rows = spline_points(values)
    return Played(name, curve(rows), finer=FINER)


def is_smooth(values: np.ndarray) -> bool:
    """Whether cubics through its neighbours come much nearer to each sample than lines do: not so of noise, steps, corners."""
    import numpy as np

    y = values.reshape(len(values), -1)
    if len(y) < FEWEST_TO_TELL or not np.isfinite(y).all():
        return False
    middle = y[3:-3]
    near = y[2:-4] + y[4:-2]
    line = middle - near / 2
    cubic = middle - (9 * near - y[:-6] - y[6:]) / 16
    return bool(np.linalg.norm(cubic) * SMOOTHER < np.linalg.norm(line))


def spline_points(values: np.ndarray) -> tuple[CubicSpline, np.ndarray]:
    """The spline through samples at 0, 1, 2, ..., and where its points lie."""
    import numpy as np
    from scipy.interpolate import CubicSpline

    curve: Any = CubicSpline(np.arange(len(values)), values, axis=0)
    return curve, np.arange(FINER * (len(values) - 1) + 1) / FINER


def twin_diagram(run: Run, signals: Sequence[str], played: Sequence[Played], begin: Fraction, every: Fraction) -> Diagram:
    """The diagram with recorded signals in place, without all that the wanted signals do not depend on, and ideal sensors."""
    diagram = run.diagram
    for one in played:
        *scope, block, port = one.signal.split(".")
        diagram = edited(diagram, scope, functools.partial(playing, one=one, source=(block, port), begin=begin, every=every))
    diagram = pruned(diagram, {name.partition(".")[0] for name in signals})
    diagram = idealised(diagram, "", Overrides(run.changes))
    return replace(diagram, log=[LogSpec(name) for name in signals])


def player_path(one: Played) -> str:
    """Where the block stands that plays a recorded signal."""
    *scope, block, port = one.signal.split(".")
    return ".".join([*scope, f"{block}_{port}_recorded"])


def edited(diagram: Diagram, scope: Sequence[str], edit: Callable[[Diagram], Diagram]) -> Diagram:
    """A copy of a diagram with one of its subsystems, by the names on the way to it, changed."""
    if not scope:
        return edit(diagram)
    node = diagram.nodes[scope[0]]
    assert isinstance(node.block, Diagram)
    return replace(diagram, nodes={**diagram.nodes, node.name: replace(node, block=edited(node.block, scope[1:], edit))})


def playing(part: Diagram, one: Played, source: tuple[str, str], begin: Fraction, every: Fraction) -> Diagram:
    """A diagram in which a recorded signal stands where the signal, or the input, `source` was."""
    columns = one.values.reshape(len(one.values), -1)
    blank = [[0.0] * columns.shape[1]] * 2
    if one.hold == "zero":
        block: Block = Samples(Ts=str(every), offset=str(begin % every), values_=blank)
    else:
        block = Lines(begin=float(begin), interval=float(every) / one.finer, values_=blank)
    block.settings["values_"] = columns
    name = f"{source[0]}_{source[1]}_recorded"
    links = resolve(part)
    nodes = {}
    for node in part.nodes.values():
        inputs: dict[str, Any] = {}
        for port, refs in links[node.name].items():
            here = one.port and (node.name, port) == source
            texts = [redirected(r, source, name) if not one.port else spelled(r) for r in refs]
            if texts or here:
                inputs[port] = f"{name}.y" if here else texts[0] if len(texts) == 1 else texts
        nodes[node.name] = replace(node, inputs=inputs) if inputs else node
    nodes[name] = Node(name, block)
    ports = part.ports
    if ports is not None and not one.port:
        references = {n: (reference(part, text, lambda _: None), text) for n, text in ports.outputs.items()}
        outputs = {n: text if ref is None else redirected(ref, source, name) for n, (ref, text) in references.items()}
        ports = replace(ports, outputs=outputs)
    return replace(part, nodes=nodes, ports=ports)


def redirected(ref: Ref, source: tuple[str, str], name: str) -> str:
    return spelled(Ref(name, "y", ref.element) if (ref.block, ref.port) == source else ref)


def spelled(ref: Ref) -> str:
    """A reference as people write it; an input of the subsystem itself goes by its name."""
    return str(ref) if ref.block else str(ref).removeprefix(".")


def pruned(diagram: Diagram, names: set[str]) -> Diagram:
    """Without the blocks that those wanted do not depend on: records, scopes, filters, a loop that drives nothing any more."""
    links = resolve(diagram)
    waiting, needed = list(names), set(names)
    while waiting:
        for refs in links[waiting.pop()].values():
            for ref in refs:
                if ref.block not in needed:
                    needed.add(ref.block)
                    waiting.append(ref.block)
    return replace(diagram, nodes={n: node for n, node in diagram.nodes.items() if n in needed}, known=named_blocks(diagram))


def models_named(diagram: Diagram, prefix: str = "") -> set[str]:
    """Paths of the blocks whose equations and values running blocks use."""
    names = set()
    for node in diagram.nodes.values():
        if isinstance(node.block, Diagram):
            names |= models_named(node.block, f"{prefix}{node.name}.")
        elif not node.block.after_run:
            names |= {f"{prefix}{node.block.settings[s]}" for s in node.block.of(Model) if node.block.settings[s]}
    return names


def idealised(part: Diagram, prefix: str, overrides: Overrides) -> Diagram:
    """Every sensor as its ideal; what an observer in the loop knows of the plant stays what it was in the run."""
    nodes, models, blocks = {}, dict(part.known), named_blocks(part)
    for name, node in part.nodes.items():
        block = node.block
        if isinstance(block, Diagram):
            nodes[name] = replace(node, block=idealised(block, f"{prefix}{name}.", overrides))
            continue
        ideal = block.ideal()
        named = {s: ideal.settings[s] for s in ideal.of(Model) if ideal.settings[s] in blocks}
        for model in named.values():
            own = changes_within(f"{prefix}{model}", blocks[model].settings, overrides.by_path)
            models[as_it_was(model)] = type(blocks[model])(**{**blocks[model].settings, **own})
        if named:
            ideal = type(ideal)(**{**ideal.settings, **{s: as_it_was(model) for s, model in named.items()}})
        nodes[name] = replace(node, block=ideal)
    return replace(part, nodes=nodes, known=models)


def as_it_was(model: str) -> str:
    return f"{model} in the run"
