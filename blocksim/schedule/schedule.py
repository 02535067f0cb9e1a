"""Schedule: a flat diagram in the order it must be computed; what code generation reads."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..contract.block import Block
from ..contract.declarations import Outport
from ..contract.definition import kind_of
from ..contract.plant import Plant
from ..diagram.diagram import Diagram, Node, Ref
from ..errors import BlocksimError, DiagramError, Problem, RecordError, did_you_mean, listing

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: One scalar element of a signal: (unit, output port, index).
Element = tuple[int, str, int]
#: One evaluation: an output function of a unit.
Evaluation = tuple[int, str]


@dataclass
class Unit:
    """One block of the flat diagram, with everything fixed that the code depends on."""

    index: int
    path: str
    node: Node
    block: Block
    kind: type[Block]
    inputs: dict[str, list[Ref]] = field(default_factory=dict)  # Refs by flat path
    width: int = 1  # copies that run side by side when a scalar block is fed a vector
    sizes: dict[str, int] = field(default_factory=dict)  # per copy, of ports, states, memories and size names
    elements: dict[str, list[list[Element]]] = field(default_factory=dict)  # what arrives, element by element
    after: bool = False  # works after the run: a record block, or one that reads what a record block makes
    group: int | None = None  # which sample hits it acts at
    settings: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, FloatArray] = field(default_factory=dict)  # computed so far
    plants: dict[str, Plant] = field(default_factory=dict)  # by the setting that names each
    gates: tuple[str, ...] = ()  # paths of the switches of the subsystems it is in
    border: bool = False  # switches a subsystem or holds its output: no block of the file

    @property
    def wide(self) -> bool:
        return self.width > 1

    def port(self, name: str) -> int:
        """How many elements an output has, over all copies."""
        return self.width * self.sizes[name]


@dataclass
class Group:
    """Blocks that act at the same instants."""

    period: Fraction
    offset: Fraction


@dataclass
class Schedule:
    """All that code generation needs to know, and nothing about the text."""

    name: str
    units: list[Unit]
    groups: list[Group]
    order: list[list[Evaluation]]  # feedthrough order; a list of several is an algebraic loop to solve
    needs: dict[Evaluation, list[Evaluation]]  # direct feedthrough
    after_run: list[Unit]  # record blocks, in dependency order
    diagram: Diagram

    @functools.cached_property
    def by_path(self) -> dict[str, Unit]:
        return {u.path: u for u in self.units}

    @functools.cached_property
    def paths(self) -> list[str]:
        """Of all blocks, those that work after the run last."""
        return [*self.by_path, *(u.path for u in self.after_run)]

    @functools.cached_property
    def reports(self) -> bool:
        """Whether anything is left to do once the run has ended: record blocks, or estimates to keep."""
        return bool(self.after_run) or any(u.kind.estimated for u in self.units)

    def unit(self, path: str) -> Unit:
        """The block of that path, whether it runs or works after the run."""
        unit = self.by_path.get(path) or next((u for u in self.after_run if u.path == path), None)
        if unit is not None:
            return unit
        raise DiagramError(f"there is no block '{path}'. Blocks are: {listing(self.paths)}." + did_you_mean(path, self.paths))

    def __str__(self) -> str:
        lines = [f"{self.name or 'diagram'}: {len(self.units)} blocks"]
        for number, group in enumerate(self.groups):
            members = [u.path for u in self.units if u.group == number]
            lines.append(
                f"every {group.period} s" + (f" from {group.offset} s" if group.offset else "") + f": {listing(members)}"
            )
        for number, evaluations in enumerate(self.order, 1):
            text = " = ".join(f"{self.units[u].path}.{f.removeprefix('output_')}" for u, f in evaluations)
            rate = self.units[evaluations[0][0]].group
            holds = rate is not None and self.units[evaluations[0][0]].kind.sampled
            lines.append(
                f"{number:4}  {text}"
                + (f"  (every {self.groups[rate].period} s)" if holds and rate is not None else "")
                + ("  [algebraic loop]" if len(evaluations) > 1 else "")
            )
        return "\n".join(lines)


def output_functions(kind: type[Block]) -> dict[str, list[str]]:
    """Output function -> the ports it gives."""
    ports = list(kind.of(Outport))
    if "step" in kind.functions:
        return {"step": ports}
    alone = {f"output_{p}": [p] for p in ports if f"output_{p}" in kind.functions}
    rest = [p for p in ports if f"output_{p}" not in kind.functions]
    return {"output": rest, **alone} if rest else alone


def evaluation_of(unit: Unit, port: str) -> Evaluation:
    """Which function of a unit gives a port."""
    for function, ports in output_functions(unit.kind).items():
        if port in ports:
            return unit.index, function
    raise KeyError(port)


def functions_of(unit: Unit, kind: str) -> dict[str, Callable[..., Any]]:
    """A unit's functions of one kind, e.g. its guards by name."""
    return {n: f for n, f in unit.kind.functions.items() if kind_of(n) == kind}


@contextlib.contextmanager
def naming(path: str, node: Node) -> Iterator[None]:
    """Errors raised while a block is asked for its variant, sizes or tables carry its name and line."""
    try:
        yield
    except DiagramError as error:
        raise DiagramError([p if p.where else Problem(f"block '{path}': {p.what}", node.place) for p in error.problems]) from None
    except RecordError as error:
        raise DiagramError([Problem(f"block '{path}': {error}", node.place)]) from None
    except BlocksimError:
        raise
    except Exception as error:  # a library met something it did not foresee; the user still needs the line
        text = f"block '{path}': its settings cannot be used: {type(error).__name__}: {error}."
        raise DiagramError([Problem(text, node.place)]) from error


@dataclass
class LogGroup:
    """Signals that share a log grid."""

    every: Fraction
    signals: list[tuple[str, list[Element]]]  # shown name, elements
    follows: int | None = None  # the sample group whose hits are exactly this grid

    @property
    def width(self) -> int:
        return sum(len(elements) for _, elements in self.signals)
