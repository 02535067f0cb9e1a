"""The plan of a study: its diagrams opened and checked, every run numbered, every seed known before the first run.

A row is a method, a point of the sweep and an arm of the ablation; each row is run once with each seed, so that run k has the
same noise in every row. Run number = row * repeat + k.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import __version__
from .ablation import arms, distinct
from .build import build
from .changes import changed_numbers, find_setting, shaping, subsystem_parameters
from .checks import raise_all
from .copying import write_copy
from .declarations import Outport
from .diagram import Diagram, signals, walk
from .errors import DiagramError, Place, Problem, did_you_mean, listing
from .experiment import Experiment, make_experiment
from .loader import load
from .simulate import prepared
from .spec import LogSpec
from .study_batch import Job, Piece
from .study_file import MethodSpec, StudySpec, written

ELEMENT = re.compile(r"\[\d+\]\Z")


@dataclass
class Variant:
    """One of the things compared: a diagram with settings, under a name; '' where the study names no methods."""

    name: str
    diagram: Diagram
    params: dict[str, Any]
    home: str  # where its diagram stands in the study's folder
    blocks: list[str] | None = None  # identifiers collected from it; None: all there are


@dataclass(frozen=True)
class Row:
    """What one line of the study's table of runs changes."""

    variant: int
    point: int
    arm: int


@dataclass
class Plan:
    """A study ready to run."""

    spec: StudySpec
    variants: list[Variant]
    points: list[dict[str, Any]]
    arms: list[tuple[str, dict[str, Any]]]
    stands: dict[str, str]  # for each arm of the ablation, the one that is run for it
    seeds: list[int]
    data: dict[str, str] = field(default_factory=dict)  # hashes of the data files the diagrams read

    @property
    def repeat(self) -> int:
        return len(self.seeds)

    @property
    def rows(self) -> int:
        return len(self.variants) * len(self.points) * len(self.arms)

    @property
    def runs(self) -> int:
        return self.rows * self.repeat

    def row(self, number: int) -> Row:
        rest, arm = divmod(number, len(self.arms))
        return Row(*divmod(rest, len(self.points)), arm)

    def changes(self, row: Row) -> dict[str, Any]:
        """The settings of a row: the study's, the method's, the point's, the ablation's; later ones win."""
        return {**self.spec.params, **self.variants[row.variant].params, **self.points[row.point], **self.arms[row.arm][1]}

    def batch(self, runs: Sequence[int]) -> list[Piece]:
        """Some runs as pieces of one row each."""
        pieces = []
        for number, group in itertools.groupby(runs, key=lambda run: run // self.repeat):
            row = self.row(number)
            numbered = tuple((run, self.seeds[run % self.repeat]) for run in group)
            pieces.append(Piece(row.variant, self.changes(row), numbered))
        return pieces

    def label(self, variant: int, block: str) -> str:
        """The name of a method in tables: the identifier's, the variant's where it has one identifier, else both."""
        name, blocks = self.variants[variant].name, self.variants[variant].blocks
        return block if not name else name if blocks is not None and len(blocks) == 1 else f"{name}.{block}"


def make_plan(spec: StudySpec, allow_outside: bool = False) -> Plan:
    """Open the diagrams, check every name and value of the study against them, and number the runs."""
    variants = [open_variant(spec, method, allow_outside) for method in spec.methods or [MethodSpec("")]]
    points = [
        {name: value for axis, step in zip(spec.axes, steps, strict=True) for name, value in zip(axis.names, step, strict=True)}
        for steps in itertools.product(*(axis.values for axis in spec.axes))
    ]
    kept, stands = distinct(arms(spec.ablate, spec.alone))
    plan = Plan(spec, variants, points, kept, stands, seeds_of(spec.seed, spec.repeat), data_of(variants))
    problems: list[Problem] = []
    for number, variant in enumerate(variants):
        problems += check_variant(plan, number, variant)
    problems += check_collected(spec, variants)
    raise_all(problems)
    return plan


def seeds_of(master: int, count: int) -> list[int]:
    """The seeds of the repetitions; more of them keep the first. 53 bits, which every reader of JSON keeps."""
    import numpy as np

    return (np.random.SeedSequence(master).generate_state(count, np.uint64) >> np.uint64(11)).tolist()


# ---- diagrams -----------------------------------------------------------------------------------------------------------


def open_variant(spec: StudySpec, method: MethodSpec, allow_outside: bool) -> Variant:
    own = bool(method.diagram)
    place = method.places.get("diagram") if own else spec.places.get("diagram")
    with placed(place, "diagram: ", unplaced_only=True):
        diagram = build(load(diagram_source(spec, method.diagram or spec.diagram), allow_outside=allow_outside))
    home = f"methods/{method.name}" if own else ""
    return Variant(method.name, diagram, method.params, home)


def diagram_source(spec: StudySpec, name: str) -> str:
    """A file beside the study, or what `load` makes of the name."""
    beside = name if "\n" in name else os.path.join(os.path.dirname(spec.path), name)
    return beside if "\n" not in name and os.path.isfile(beside) else name


def data_of(variants: Iterable[Variant]) -> dict[str, str]:
    """Hashes of the data files that blocks read: other data is another study."""
    files = {str(node.block.settings["file"]) for v in variants for _, node in walk(v.diagram)
             if not isinstance(node.block, Diagram) and isinstance(node.block.settings.get("file"), str)}  # fmt: skip
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in sorted(files) if os.path.isfile(name)}


def copies(plan: Plan, folder: Path) -> dict[str, str]:
    """The diagrams and their subsystems as texts, by the path they have in the study's folder.

    Written first to a folder beside it, from where relative paths lead to the same data, so that nothing in the study's folder
    changes before it is known to hold this study.
    """
    found: dict[str, str] = {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for variant in {v.home: v for v in plan.variants}.values():
            home = scratch / variant.home
            home.mkdir(parents=True, exist_ok=True)
            write_copy(variant.diagram, home / "diagram.yaml")
        for path in sorted(p for p in scratch.rglob("*.yaml")):
            found[path.relative_to(scratch).as_posix()] = path.read_text(encoding="utf-8")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return found


def study_text(plan: Plan) -> str:
    """The study as it stands in its folder: the diagrams it names are the copies beside it."""
    plain = {k: v for k, v in plan.spec.plain.items() if k not in ("diagram", "methods")}
    if any(not v.home for v in plan.variants):
        plain["diagram"] = "diagram.yaml"
    if plan.spec.methods:
        plain["methods"] = {
            m.name: {
                **({"diagram": f"methods/{m.name}/diagram.yaml"} if m.diagram else {}),
                **({"params": m.params} if m.params else {}),
            }
            for m in plan.spec.methods
        }
    order = ("format", "study", "description", "diagram")
    return written({**{k: plain[k] for k in order if k in plain}, **{k: v for k, v in plain.items() if k not in order}})


def identity_of(plan: Plan, texts: Mapping[str, str]) -> str:
    """A hash of all that the numbers depend on; titles are not among it."""
    plain = {k: v for k, v in plan.spec.plain.items() if k not in ("study", "description", "diagram")}
    whole = json.dumps([plain, dict(texts), plan.data, __version__], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def job_of(plan: Plan, identity: str, texts: Mapping[str, str], folder: Path, classes: bytes) -> Job:
    """What workers are told."""
    diagrams = []
    for variant in plan.variants:
        prefix = f"{variant.home}/" if variant.home else ""
        elsewhere = () if prefix else ("methods/",)
        own = {path: text for path, text in texts.items() if path.startswith(prefix) and not path.startswith(elsewhere)}
        diagrams.append((f"{prefix}diagram.yaml", own))
    blocks = None if plan.spec.blocks is None else tuple(name for name, _ in plan.spec.blocks)
    asked = tuple((s.signal, s.statistic) for s in plan.spec.signals)
    return Job(identity, tuple(diagrams), str(folder.resolve()), dict(plan.spec.simulate), blocks, asked, classes)


# ---- checks -------------------------------------------------------------------------------------------------------------


def check_variant(plan: Plan, number: int, variant: Variant) -> Iterator[Problem]:
    """Every name and value of the study against one diagram; what is collected is logged."""
    spec = plan.spec
    with placed(spec.places.get("simulate"), "", unplaced_only=True):
        ready = make_experiment(variant.diagram, **spec.simulate)
    missing = wanted_signals(spec, variant, ready)
    if isinstance(missing, Problem):
        yield missing
        missing = []
    if missing and variant.diagram.log is not None:
        variant.diagram = replace(variant.diagram, log=[*variant.diagram.log, *(LogSpec(name) for name in missing)])
        ready = make_experiment(variant.diagram, **spec.simulate)
    suffix = f" (method '{variant.name}')" if variant.name else ""
    said = set()
    base: dict[str, Any] = {}
    for name, changes, places in settings_of(plan, number):
        problem = check_changes(ready, variant, spec, base, changes, places)
        if problem is not None and problem not in said:
            said.add(problem)
            yield Problem(problem.what + suffix, problem.where)
        if problem is None and name == "fixed":
            base.update(changes)


def settings_of(plan: Plan, number: int) -> Iterator[tuple[str, dict[str, Any], dict[str, Place | None]]]:
    """The changes that are checked together, each set with its places: those always made, then every value by itself."""
    spec = plan.spec
    yield "fixed", spec.params, {n: spec.places.get(f"params.{n}") for n in spec.params}
    if spec.methods:
        method = spec.methods[number]
        yield "fixed", method.params, {n: method.places.get(f"params.{n}") for n in method.params}
    for axis in spec.axes:
        for step in axis.values:
            yield "sweep", dict(zip(axis.names, step, strict=True)), dict(axis.places)
    for name, changes in spec.ablate.items():
        yield "ablate", changes, {n: spec.places.get(f"ablate.{name}.{n}") for n in changes}


def check_changes(
    ready: Experiment, variant: Variant, spec: StudySpec, base: dict[str, Any], changes: dict[str, Any], places: Mapping[str, Any]
) -> Problem | None:
    """What is wrong with some changes on top of others, and where."""
    for name in changes:
        try:
            if not known(ready, variant, name):
                find_setting(ready.schedule, name)
        except DiagramError as error:
            return Problem(error.problems[0].what, places.get(name))
    if not changes:
        return None
    try:
        whole = {**base, **changes}
        if not shaping(ready, whole):
            changed_numbers(ready, whole)
        else:
            made, left = prepared(variant.diagram, whole, dict(spec.simulate))
            changed_numbers(made, left)
    except DiagramError as error:
        written = ", ".join(f"{name} = {value!r}" for name, value in changes.items())
        return Problem(f"{written}: {error.problems[0].what}", places.get(next(iter(changes))))
    return None


def known(ready: Experiment, variant: Variant, name: str) -> bool:
    """Whether a name is a parameter of the diagram or of a subsystem; other names are settings of blocks."""
    if "." not in name and variant.diagram.spec is not None and name in variant.diagram.spec.parameters:
        return True
    return bool(subsystem_parameters(ready.diagram, [name]))


def wanted_signals(spec: StudySpec, variant: Variant, ready: Experiment) -> list[str] | Problem:
    """The collected signals that the diagram does not log yet."""
    logged = {column[0] for grid in ready.columns for column in grid}
    late = {f"{u.path}.{port}" for u in ready.schedule.after_run for port in u.kind.of(Outport)}
    missing = []
    for asked in spec.signals:
        said: list[str] = []
        refs = signals(variant.diagram, ELEMENT.sub("", asked.signal), said.append)
        if said or len(refs) != 1:
            text = said[0] if said else f"'{asked.signal}' has several outputs; say which: {listing(refs)}."
            return Problem(f"collect: {text}", asked.place)
        name = f"{refs[0].block}.{refs[0].port}"
        if name not in logged and name not in late and name not in missing:
            missing.append(name)
    return missing


def check_collected(spec: StudySpec, variants: list[Variant]) -> Iterator[Problem]:
    """Every collected identifier is in a diagram, and every diagram has something to collect."""
    there = [identifiers(v.diagram) for v in variants]
    names = list(dict.fromkeys(name for found in there for name in found))
    for name, place in spec.blocks or []:
        if name not in names:
            has = f"Blocks that may leave estimates are: {listing(names)}."
            yield Problem(f"collect: no diagram has an identifier '{name}'. {has}" + did_you_mean(name, names), place)
    for variant, found in zip(variants, there, strict=True):
        variant.blocks = None if spec.blocks is None else [name for name, _ in spec.blocks if name in found]
        empty = not found if variant.blocks is None else not variant.blocks
        if empty and not spec.signals and not (spec.blocks and any(n not in names for n, _ in spec.blocks)):
            of = f" of method '{variant.name}'" if variant.name else ""
            yield Problem(
                f"the diagram{of} has nothing to collect: it needs an identifier, such as LeastSquares, or collect: "
                "[{signal: block.port, statistic: rms}].",
                spec.places.get("collect") or spec.places.get("diagram"),
            )


def identifiers(diagram: Diagram) -> list[str]:
    """The blocks that may leave estimates: those that work after the run, and those that estimate while they run."""
    from .block import Block, RecordBlock

    blocks = [(path, node.block) for path, node in walk(diagram) if isinstance(node.block, Block)]
    return [path for path, block in blocks if isinstance(block, RecordBlock) or (block.bound or type(block)).estimated]


@contextmanager
def placed(where: Place | None, prefix: str, unplaced_only: bool) -> Iterator[None]:
    """Errors without a place get the line of the study that led to them."""
    try:
        yield
    except DiagramError as error:
        raise DiagramError(p if p.where and unplaced_only else Problem(prefix + p.what, where) for p in error.problems) from None
