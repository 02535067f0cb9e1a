"""The plan of a study: its diagrams opened and checked, every run numbered, every seed known before the first run.

A row is a method, a point of the sweep and an arm of the ablation; each row is run once with each seed, so that run k has the
same noise in every row. Run number = row * repeat + k.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..diagram.build import open_diagram
from ..diagram.checks import raise_all
from ..diagram.copying import write_copy
from ..diagram.diagram import Diagram, walk
from ..diagram.files import find_bundled, folders_for, is_file, no_diagram
from ..errors import DiagramError, Problem
from .budget import arms, distinct
from .checks import check_collected, check_variant, placing
from .spec import MethodSpec, StudySpec, study_yaml
from .workers.batch import BatchPiece, Job, own_blocks


@dataclass
class Variant:
    """One of the things compared: a diagram with settings, under a name; '' where the study names no methods."""

    name: str
    diagram: Diagram
    params: dict[str, Any]
    home: str  # where its diagram stands in the study's folder
    blocks: list[str] | None = None  # identifiers collected from it; None: all there are


@dataclass(frozen=True)
class PlanRow:
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
    seeds: array[int]
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

    def row(self, number: int) -> PlanRow:
        rest, arm = divmod(number, len(self.arms))
        return PlanRow(*divmod(rest, len(self.points)), arm)

    def changes(self, row: PlanRow) -> dict[str, Any]:
        """The settings of a row: the study's, the method's, the point's, the ablation's; later ones win."""
        return {**self.spec.params, **self.variants[row.variant].params, **self.points[row.point], **self.arms[row.arm][1]}

    def batch(self, runs: Sequence[int]) -> list[BatchPiece]:
        """Some runs as pieces of one row each."""
        pieces = []
        for number, group in itertools.groupby(runs, key=lambda run: run // self.repeat):
            row = self.row(number)
            numbered = tuple((run, self.seeds[run % self.repeat]) for run in group)
            pieces.append(BatchPiece(row.variant, self.changes(row), numbered))
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
    distinct_arms, stands = distinct(arms(spec.ablate, spec.alone))
    plan = Plan(spec, variants, points, distinct_arms, stands, seeds_of(spec.seed, spec.repeat), data_of(variants))
    problems: list[Problem] = []
    for number, variant in enumerate(variants):
        problems += check_variant(plan, number, variant)
    problems += check_collected(spec, variants)
    raise_all(problems)
    return plan


def seeds_of(master: int, count: int) -> array[int]:
    """The seeds of the repetitions; more of them keep the first. 53 bits, which every reader of JSON keeps."""
    import numpy as np

    seeds = np.random.SeedSequence(master).generate_state(count, np.uint64) >> np.uint64(11)
    return array("q", seeds.astype(np.int64).tobytes())


# ---- diagrams -----------------------------------------------------------------------------------------------------------


def open_variant(spec: StudySpec, method: MethodSpec, allow_outside: bool) -> Variant:
    own = bool(method.diagram)
    place = method.places.get("diagram") if own else spec.places.get("diagram")
    with placing(place, "diagram: ", unplaced_only=True):
        source = diagram_source(spec, method.diagram or spec.diagram, allow_outside)
        diagram = open_diagram(source, allow_outside=allow_outside)
    home = f"methods/{method.name}" if own else ""
    return Variant(method.name, diagram, method.params, home)


def diagram_source(spec: StudySpec, name: str, allow_outside: bool) -> str:
    """What a study means by `diagram:`: YAML text, a file in its own folder, or a bundled diagram."""
    if "\n" in name:
        return name
    folders = folders_for(spec.path, allow_outside or spec.anywhere, "the study")
    beside = os.path.join(os.path.dirname(spec.path), name)
    readable = folders.holds(beside)
    if readable and is_file(beside):
        return beside
    if path := find_bundled(name):
        return path
    if readable:
        raise no_diagram(name)
    raise DiagramError(folders.refusal(name))


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
    texts: dict[str, str] = {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for variant in {v.home: v for v in plan.variants}.values():
            home = scratch / variant.home
            home.mkdir(parents=True, exist_ok=True)
            write_copy(variant.diagram, home / "diagram.yaml")
        for path in sorted(p for p in scratch.rglob("*.yaml")):
            texts[path.relative_to(scratch).as_posix()] = path.read_text(encoding="utf-8")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return texts


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
    return study_yaml({**{k: plain[k] for k in order if k in plain}, **{k: v for k, v in plain.items() if k not in order}})


def identity_of(plan: Plan, texts: Mapping[str, str]) -> str:
    """A hash of all that the numbers depend on; titles are not among it."""
    plain = {k: v for k, v in plan.spec.plain.items() if k not in ("study", "description", "diagram")}
    whole = json.dumps([plain, dict(texts), plan.data, __version__], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def job_of(plan: Plan, identity: str, texts: Mapping[str, str], folder: Path) -> Job:
    """What workers are told."""
    diagrams = []
    for variant in plan.variants:
        prefix = f"{variant.home}/" if variant.home else ""
        elsewhere = () if prefix else ("methods/",)
        own = {path: text for path, text in texts.items() if path.startswith(prefix) and not path.startswith(elsewhere)}
        diagrams.append((f"{prefix}diagram.yaml", own))
    blocks = None if plan.spec.blocks is None else tuple(name for name, _ in plan.spec.blocks)
    statistics = tuple((s.signal, s.statistic) for s in plan.spec.signals)
    details = tuple((d.block, d.detail) for d in plan.spec.details)
    home, options = str(folder.resolve()), dict(plan.spec.simulate)
    own_classes = own_blocks(texts.values())
    return Job(identity, tuple(diagrams), home, options, blocks, statistics, *own_classes, bound=plan.spec.bound, details=details,
               held_back=tuple(plan.spec.held_back))  # fmt: skip
