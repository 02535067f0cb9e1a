"""Sizes of signals: they flow along the wires until nothing changes; then everything must fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..contract.block import Block
from ..contract.declarations import Fixed, Inport, Outport, Param, Size, State
from ..contract.definition import arguments
from ..diagram.diagram import Ref
from ..errors import DiagramError, Problem
from .ordering import circle
from .schedule import Element, Unit, naming

#: Elements of one signal, and of all signals together.
MOST_ELEMENTS, MOST_IN_ALL = 100_000, 2_000_000


def widenable(kind: type[Block]) -> bool:
    """Whether every port is scalar, so that a vector simply means several copies."""
    return all(d.size == 1 for d in kind.of(Inport, Outport).values()) and not kind.after_run


def settle_sizes(units: list[Unit]) -> None:
    """Sizes flow along the wires until nothing changes; then everything must fit."""
    by_path = {u.path: u for u in units}
    for unit in units:
        unit.sizes = {name: d.size if isinstance(d.size, int) else 1 for name, d in unit.kind.of(Outport).items()}
    for _ in range(len(units) + 2):
        changed = False
        for unit in units:
            before = (unit.width, dict(unit.sizes))
            with naming(unit.path, unit.node):
                fit_unit(unit, by_path)
            changed |= before != (unit.width, unit.sizes)
        if not changed:
            break
    else:
        raise endless(units)
    for unit in units:
        with naming(unit.path, unit.node):
            check_small(unit)
    total = sum(unit.port(port) for unit in units for port in unit.kind.of(Outport))
    if total > MOST_IN_ALL:
        raise DiagramError(f"the signals of this diagram have {total} elements in all; at most {MOST_IN_ALL} are carried.")
    problems = [p for unit in units for p in size_problems(unit, by_path)]
    if problems:
        raise DiagramError(problems)
    for unit in units:
        for port, refs in unit.inputs.items():
            unit.elements[port] = [elements_of(ref, by_path) for ref in refs]


def check_small(unit: Unit) -> None:
    """Refuse a signal that is joined with itself until it fills the memory."""
    largest = unit.width * max((unit.sizes[port] for port in unit.kind.of(Outport)), default=1)
    if largest > MOST_ELEMENTS:
        raise DiagramError(f"a signal of {largest} elements; at most {MOST_ELEMENTS} are carried by one.")


def endless(units: list[Unit]) -> DiagramError:
    """Why sizes do not settle: of the circles among the blocks, the one with the largest signals joins itself."""
    import networkx as nx

    by_path = {u.path: u for u in units}
    graph = nx.DiGraph((ref.block, u.path) for u in units for refs in u.inputs.values() for ref in refs)
    circles = [c for c in nx.strongly_connected_components(graph) if len(c) > 1 or any(graph.has_edge(n, n) for n in c)]
    largest = max(circles, key=lambda c: max(max(by_path[path].sizes.values(), default=0) for path in c))
    walk, node = circle(u for u in units if u.path in largest)
    return DiagramError(
        [
            Problem(
                f"the size of a signal has no end: {walk}. It joins itself each time around; a Select takes the elements "
                "that are meant to come back.",
                node.at("in"),
            )
        ]
    )


def connected(ref: Ref, by_path: dict[str, Unit]) -> int:
    return 1 if ref.element is not None else by_path[ref.block].port(ref.port)


def elements_of(ref: Ref, by_path: dict[str, Unit]) -> list[Element]:
    unit = by_path[ref.block]
    if ref.element is not None:
        return [(unit.index, ref.port, ref.element)]
    return [(unit.index, ref.port, k) for k in range(unit.port(ref.port))]


def fit_unit(unit: Unit, by_path: dict[str, Unit]) -> None:
    """Sizes of one block from what is connected to it now."""
    arriving = {port: [connected(r, by_path) for r in refs] for port, refs in unit.inputs.items()}
    kind = unit.kind
    if widenable(kind):
        lists = [
            len(v)
            for n, d in kind.of(Param).items()
            if not d.shape and getattr(d, "size", 1) == 1 and isinstance(v := unit.settings.get(n), (list, tuple))
        ]
        unit.width = max([1, *lists, *(n for sizes in arriving.values() for n in sizes)])
        unit.sizes = {n: d.size if isinstance(d.size, int) else 1 for n, d in kind.of(Outport, State).items()}
    ports = {p: (tuple(s) if kind.of(Inport)[p].many else (s[0] if s else 1)) for p, s in arriving.items()}
    unit.sizes |= {name: d.default for name, d in kind.of(Fixed).items() if isinstance(d.default, int)}
    for name, function in kind.functions.items():
        if name.startswith("size_"):
            values = {**unit.settings, **ports, **unit.plants}
            unit.sizes[name[5:]] = int(function(**{a: values[a] for a in arguments(function)}))
    for name, declaration in kind.of(State, Outport).items():
        if declaration.size != "any" and not isinstance(declaration.size, int):
            unit.sizes[name] = math.prod(shape_of(unit, declaration.size, ports))
        elif not widenable(kind):
            unit.sizes[name] = declaration.size if isinstance(declaration.size, int) else 1


def shape_of(unit: Unit, size: Size, ports: Mapping[str, Any] | None = None) -> tuple[int, ...]:
    """A declared size in numbers: one, or rows and columns. A name may be that of a size, a setting or an input."""
    names = {**(ports or {}), **unit.settings, **unit.sizes}
    values = [n if isinstance(n, int) else names.get(n) for n in (size if isinstance(size, tuple) else (size,))]
    return tuple(int(n) if n is not None else 1 for n in values)


def size_problems(unit: Unit, by_path: dict[str, Unit]) -> list[Problem]:
    """Everything that does not fit at one block, naming both ends and both sizes."""
    problems = []
    where = unit.node.at("in")
    wide = widenable(unit.kind)
    for port, refs in unit.inputs.items():
        declaration: Inport = unit.kind.of(Inport)[port]
        for ref in refs:
            source = by_path[ref.block]
            if ref.element is not None and not 0 <= ref.element < source.port(ref.port):
                problems.append(
                    Problem(
                        f"block '{unit.path}': '{ref}' asks for element {ref.element} of '{ref.block}.{ref.port}', which has "
                        f"{source.port(ref.port)} (counted from 0).",
                        where,
                    )
                )
                continue
            size = connected(ref, by_path)
            if wide:
                expected, allowed = unit.width, {1, unit.width}
            elif declaration.size == "any":
                continue
            else:
                expected = math.prod(shape_of(unit, declaration.size))
                allowed = {expected}
            if size not in allowed:
                problems.append(
                    Problem(
                        f"size mismatch: '{ref.block}.{ref.port}' ({type(source.block).__name__}) has {size} elements, input "
                        f"'{port}' of '{unit.path}' ({type(unit.block).__name__}) takes {expected}. Select takes one "
                        "element, Mux joins several.",
                        where,
                    )
                )
    for name, number in unit.kind.of(Param).items():
        value = unit.settings.get(name)
        if not number.shape and isinstance(value, (list, tuple)):
            vector = isinstance(number, State) and (not wide or number.size != 1)
            expected = unit.sizes[name] if vector else unit.width
            if len(value) not in (expected, 1):
                problems.append(
                    Problem(
                        f"block '{unit.path}': {name} has {len(value)} numbers; {expected} is wanted"
                        + (" (the size of its inputs)." if wide else "."),
                        unit.node.at(name),
                    )
                )
    return problems
