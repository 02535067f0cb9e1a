"""Every name and value of a study against its diagrams, before the first run; mistakes have the line of the study."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Outport
from ..diagram.diagram import Diagram, signals, walk
from ..diagram.spec import LogSpec
from ..errors import DiagramError, Place, Problem, did_you_mean, listing
from ..simulation.elements import split_element
from ..simulation.experiment import Experiment, make_experiment
from ..simulation.overrides import Overrides
from ..simulation.prepare import prepared
from ..simulation.settings import find_setting, subsystem_parameters
from .spec import SignalSpec

if TYPE_CHECKING:
    from .plan import Plan, Variant
    from .spec import StudySpec

ELEMENT_SUFFIX = re.compile(r"\[\d+\]\Z")


def check_variant(plan: Plan, number: int, variant: Variant) -> Iterator[Problem]:
    """Every name and value of the study against one diagram; what is collected is logged."""
    spec = plan.spec
    with placing(spec.places.get("simulate"), "", unplaced_only=True):
        ready = make_experiment(variant.diagram, **spec.simulate)
    missing = wanted_signals(spec, variant, ready)
    if isinstance(missing, Problem):
        yield missing
        missing = []
    if missing and variant.diagram.log is not None:
        variant.diagram = replace(variant.diagram, log=[*variant.diagram.log, *(LogSpec(name) for name in missing)])
        ready = make_experiment(variant.diagram, **spec.simulate)
    suffix = f" (method '{variant.name}')" if variant.name else ""
    yield from (Problem(p.what + suffix, p.where) for p in check_bound(spec, variant, ready))
    earlier = set()
    base: dict[str, Any] = {}
    for name, changes, places in settings_of(plan, number):
        problem = check_changes(ready, base, changes, places)
        if problem is not None and problem not in earlier:
            earlier.add(problem)
            yield Problem(problem.what + suffix, problem.where)
        if problem is None and name == "fixed":
            base.update(changes)


def check_bound(spec: StudySpec, variant: Variant, ready: Experiment) -> Iterator[Problem]:
    """The parameters are numbers of running blocks, outputs and inputs signals, noises numbers."""
    if spec.bound is None:
        return
    stds = [std for std in spec.bound.outputs.values() if isinstance(std, str)]
    for key, names in (("parameters", spec.bound.parameters), ("outputs", stds)):
        for name in names:
            try:
                unit, setting = find_setting(ready.schedule, name)
            except DiagramError as error:
                yield Problem(f"bound: {key}: {error.problems[0].what}", spec.places.get(f"bound.{key}"))
                continue
            if unit.after or type(unit.settings.get(setting)) not in (int, float):
                yield Problem(f"bound: {key}: {name} is no single number of a running block.", spec.places.get(f"bound.{key}"))
    for key, names in (("outputs", tuple(spec.bound.outputs)), ("inputs", spec.bound.inputs)):
        for name in names:
            texts: list[str] = []
            refs = signals(variant.diagram, name, texts.append)
            if texts or len(refs) != 1:
                text = texts[0] if texts else f"'{name}' has several outputs; say which: {listing(refs)}."
                yield Problem(f"bound: {key}: {text}", spec.places.get(f"bound.{key}"))


def settings_of(plan: Plan, number: int) -> Iterator[tuple[str, dict[str, Any], dict[str, Place | None]]]:
    """The changes that are checked together, each set with its places: those always made, then every value by itself."""
    spec = plan.spec
    yield "fixed", spec.params, {n: spec.places.get(f"params.{n}") for n in spec.params}
    if spec.methods:
        method = spec.methods[number]
        yield "fixed", method.params, {n: method.places.get(f"params.{n}") for n in method.params}
    if plan.variants[number].home in {variant.home for variant in plan.variants[:number]}:
        return  # the same diagram was checked with these values already; with many methods that takes longer than a run
    for axis in spec.axes:
        for step in axis.values:
            yield "sweep", dict(zip(axis.names, step, strict=True)), dict(axis.places)
    for name, changes in spec.ablate.items():
        yield "ablate", changes, {n: spec.places.get(f"ablate.{name}.{n}") for n in changes}


def check_changes(ready: Experiment, base: dict[str, Any], changes: dict[str, Any], places: Mapping[str, Any]) -> Problem | None:
    """What is wrong with some changes on top of others, and where."""
    for name in changes:
        try:
            if not is_parameter(ready.diagram, name):
                find_setting(ready.schedule, split_element(name)[0])
        except DiagramError as error:
            return Problem(error.problems[0].what, places.get(name))
    if not changes:
        return None
    try:
        experiment, numbers = prepared(ready, {**base, **changes}, {})
        Overrides(numbers).numbers(experiment)
    except DiagramError as error:
        text = ", ".join(f"{name} = {value!r}" for name, value in changes.items())
        return Problem(f"{text}: {error.problems[0].what}", places.get(next(iter(changes))))
    return None


def is_parameter(diagram: Diagram, name: str) -> bool:
    """Whether a name is a parameter of the diagram or of a subsystem, or an element of one; others are settings of blocks."""
    name, _ = split_element(name)
    if "." not in name and diagram.spec is not None and name in diagram.spec.parameters:
        return True
    return bool(subsystem_parameters(diagram, [name]))


def wanted_signals(spec: StudySpec, variant: Variant, ready: Experiment) -> list[str] | Problem:
    """The collected signals that the diagram does not log yet."""
    logged = {column[0] for grid in ready.columns for column in grid}
    late = {f"{u.path}.{port}" for u in ready.schedule.after_run for port in u.kind.of(Outport)}
    missing = []
    inputs = spec.bound.inputs if spec.bound is not None else ()
    for entry in [*spec.signals, *(SignalSpec(name, "") for name in inputs)]:
        texts: list[str] = []
        refs = signals(variant.diagram, ELEMENT_SUFFIX.sub("", entry.signal), texts.append)
        if (texts or len(refs) != 1) and not entry.statistic:
            continue  # check_bound has a word for it
        if texts or len(refs) != 1:
            text = texts[0] if texts else f"'{entry.signal}' has several outputs; say which: {listing(refs)}."
            return Problem(f"collect: {text}", entry.place)
        name = f"{refs[0].block}.{refs[0].port}"
        if name not in logged and name not in late and name not in missing:
            missing.append(name)
    return missing


def check_collected(spec: StudySpec, variants: list[Variant]) -> Iterator[Problem]:
    """Every collected identifier is in a diagram, and every diagram has something to collect."""
    there = [identifiers(v.diagram) for v in variants]
    names = list(dict.fromkeys(name for blocks in there for name in blocks))
    for name, place in [
        *(spec.blocks or []),
        *((d.block, d.place) for d in spec.details),
        *((h.block, h.place) for h in spec.held_back),
    ]:
        if name not in names:
            has = f"Blocks that may leave estimates are: {listing(names)}."
            yield Problem(f"collect: no diagram has an identifier '{name}'. {has}" + did_you_mean(name, names), place)
    for variant, blocks in zip(variants, there, strict=True):
        variant.blocks = None if spec.blocks is None else [name for name, _ in spec.blocks if name in blocks]
        empty = not blocks if variant.blocks is None else not variant.blocks
        if empty and not spec.signals and not (spec.blocks and any(n not in names for n, _ in spec.blocks)):
            of = f" of method '{variant.name}'" if variant.name else ""
            yield Problem(
                f"the diagram{of} has nothing to collect: it needs an identifier, such as LeastSquares, or collect: "
                "[{signal: block.port, statistic: rms}].",
                spec.places.get("collect") or spec.places.get("diagram"),
            )


def identifiers(diagram: Diagram) -> list[str]:
    """The blocks that may leave estimates: those that work after the run, and those that estimate while they run."""
    from ..contract.block import Block, RecordBlock

    blocks = [(path, node.block) for path, node in walk(diagram) if isinstance(node.block, Block)]
    return [path for path, block in blocks if isinstance(block, RecordBlock) or (block.bound or type(block)).estimated]


@contextmanager
def placing(where: Place | None, prefix: str, unplaced_only: bool) -> Iterator[None]:
    """Errors without a place get the line of the study that led to them."""
    try:
        yield
    except DiagramError as error:
        raise DiagramError(p if p.where and unplaced_only else Problem(prefix + p.what, where) for p in error.problems) from None
