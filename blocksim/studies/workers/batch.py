"""A batch of runs, wherever it is made: simulate, identify, and tell each run in one line of JSON.

A worker is given a Job once: the diagrams as text, what to collect, blocks that only a script knows. Batches name runs by number.
"""

from __future__ import annotations

import contextlib
import functools
import json
import pickle
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...contract.library import register, registered
from ...errors import BlocksimError, DiagramError, StudyError
from ...simulation.many.threads import others_at_work
from .result import run_result

if TYPE_CHECKING:
    from ...records.record import Record
    from ...simulation.experiment import Experiment
    from ..spec import BoundSpec, HeldBackSpec

#: Experiments of different shape that a worker keeps ready.
MOST_SHAPES = 16

ResultLines = list[tuple[int, str]]


@dataclass(frozen=True)
class Job:
    """What a worker must know beside its batches."""

    key: str
    diagrams: tuple[tuple[str, Mapping[str, str]], ...]  # for each variant: path of its diagram, and texts by path
    folder: str  # where those texts are files, on a machine that has it
    options: Mapping[str, Any] = field(default_factory=dict)
    blocks: tuple[str, ...] | None = None  # identifiers collected; None: all
    signals: tuple[tuple[str, str], ...] = ()  # (signal, statistic)
    classes: bytes = b""  # blocks registered by a script, pickled
    stuck: tuple[str, ...] = ()  # those that only this process can know
    bound: BoundSpec | None = None
    details: tuple[tuple[str, str], ...] = ()  # (identifier, number it says beside its estimates)
    held_back: tuple[HeldBackSpec, ...] = ()
    version: str = __version__


@dataclass(frozen=True)
class BatchPiece:
    """Runs of one row of the study, with their numbers and seeds."""

    variant: int
    changes: Mapping[str, Any]
    runs: tuple[tuple[int, int], ...]


Batch = list[BatchPiece]


# ---- what a worker does -----------------------------------------------------------------------------------------------


def run_batch(job: Job, batch: Batch) -> ResultLines:
    """Simulate, identify, and tell each run in a line."""
    if job.version != __version__:
        raise StudyError(f"this worker has blocksim {__version__}, the study was started with {job.version}. Install the same.")
    for variant in {piece.variant for piece in batch}:
        ready_diagram(job, variant)
    with others_at_work():
        return [line for pieces in pieces_of_one_program(job, batch) for line in run_pieces(job, pieces)]


def ready_diagram(job: Job, variant: int) -> None:
    """What hinders a worker from the start is an error of the study, not a failure of a run."""
    try:
        shaped(job, variant, {})
    except Exception as error:
        raise StudyError(f"a worker cannot open the diagram: {reason_of(error)}") from None


def pieces_of_one_program(job: Job, batch: Batch) -> Iterator[Batch]:
    """Neighbours that differ in numbers only are made together, in lanes: where all that is asked of each is its record."""
    group: Batch = []
    same = None
    for piece in batch:
        try:
            ready = shaped(job, piece.variant, piece.changes)[0] if job.bound is None and not job.held_back else None
        except BlocksimError:  # what is wrong is told of its own runs
            ready = None
        if group and (ready is None or ready is not same):
            yield group
            group = []
        group.append(piece)
        same = ready
    if group:
        yield group


def run_pieces(job: Job, pieces: Batch) -> ResultLines:
    """Some pieces at once."""
    from ...running.simulate import simulate_table

    runs = [(row, seed) for row, piece in enumerate(pieces) for _, seed in piece.runs]
    try:
        shapes = [shaped(job, piece.variant, piece.changes) for piece in pieces]
        ready, collect = shapes[0][0], collector(job, pieces[0], *shapes[0])
        results = simulate_table(ready, [changes for _, changes in shapes], runs, 1, None, collect, "keep")
    except Exception:  # a block that breaks down in one run must not take the others with it
        results = [alone(job, pieces[row], seed) for row, seed in runs]
    numbered = [one for piece in pieces for one in piece.runs]
    return [(run, line_of(run, seed, told_of(job, result))) for (run, seed), result in zip(numbered, results, strict=True)]


def alone(job: Job, piece: BatchPiece, seed: int) -> Any:
    """One run by itself: its results, or what went wrong."""
    from ...running.simulate import simulate_many

    try:
        ready, changes = shaped(job, piece.variant, piece.changes)
        collect = collector(job, piece, ready, changes)
        return simulate_many(ready, params=[changes], seeds=[seed], jobs=1, collect=collect, on_error="keep")[0]
    except Exception as error:
        return error


def collector(job: Job, piece: BatchPiece, ready: Experiment, changes: dict[str, Any]) -> Callable[[Record], dict[str, Any]]:
    """What keeps of a record what the study asks for."""
    keep: Callable[[Record], dict[str, Any]]
    keep = functools.partial(run_result, blocks=job.blocks, signals=job.signals, details=job.details)
    if job.bound is not None:
        from ..bound import bound_of

        bound = functools.partial(bound_of, job.bound, ready, changes)
        keep = lambda record: run_result(record, job.blocks, job.signals, *bound(record), details=job.details)
    return with_second(job, piece, keep) if job.held_back else keep


def with_second(job: Job, piece: BatchPiece, keep: Callable[[Record], dict[str, Any]]) -> Callable[[Record], dict[str, Any]]:
    """What judges the estimates by second experiments as well."""
    from ..held_back import held_back_scores

    seconds = [(spec, *shaped(job, piece.variant, {**piece.changes, **spec.params})) for spec in job.held_back]

    def judge(record: Record) -> dict[str, Any]:
        result = keep(record)
        scores = {label: value for second in seconds for label, value in held_back_scores(second[0], record, *second[1:]).items()}
        return {**result, "signals": {**result.get("signals", {}), **scores}}

    return judge


def told_of(job: Job, result: dict[str, Any] | Exception) -> dict[str, Any]:
    """What a run tells: its results, or why it failed and what those found that did not."""
    if not isinstance(result, Exception):
        return result
    record = result.record if isinstance(result, DiagramError) else None
    if record is None:
        return {"failure": reason_of(result)}
    there = tuple((name, kind) for name, kind in job.signals if name.partition("[")[0] in record)
    return {"failure": reason_of(result), **run_result(record, job.blocks, there)}


def line_of(run: int, seed: int, result: dict[str, Any]) -> str:
    return json.dumps({"run": run, "seed": seed, **result}, separators=(",", ":"))


def reason_of(error: Exception) -> str:
    """Why a run failed, in a line; without places, which are those of a copy of the diagram."""
    text = "; ".join(p.what for p in error.problems) if isinstance(error, DiagramError) else str(error).replace("\n", "; ")
    return text if isinstance(error, BlocksimError) else f"{type(error).__name__}: {text}"


# ---- experiments that are ready ---------------------------------------------------------------------------------------

_ready: dict[tuple[str, int], Experiment] = {}
_ready_lock = threading.RLock()


def shaped(job: Job, variant: int, changes: Mapping[str, Any]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment a row runs on, made once for each shape of the code, and the changes left for the run."""
    from ...simulation.prepare import prepared

    with _ready_lock:
        base = experiment_of((job.key, variant), lambda: base_experiment(job, variant))
        return prepared(base, changes, {})


def experiment_of(key: tuple[str, int], make: Callable[[], Experiment]) -> Experiment:
    """From memory, or made now; those not used for longest are dropped."""
    experiment = _ready.pop(key, None) or make()
    _ready[key] = experiment
    while len(_ready) > MOST_SHAPES:
        del _ready[next(iter(_ready))]
    return experiment


def base_experiment(job: Job, variant: int) -> Experiment:
    """The diagram of a variant as the study's folder has it, or from the texts where that folder is out of reach."""
    from ...diagram.build import open_diagram
    from ...simulation.prepare import experiment

    if job.classes:
        know(job.classes)
    name, texts = job.diagrams[variant]
    with contextlib.ExitStack() as stack:
        folder = Path(job.folder)
        if not all(same_text(folder / path, text) for path, text in texts.items()):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blocksim-study-")))
            for path, text in texts.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
        return experiment(open_diagram(folder / name, allow_outside=True), {}, **job.options)


def same_text(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def own_blocks(texts: Iterable[str]) -> tuple[bytes, tuple[str, ...]]:
    """The blocks of a script that these diagrams name, pickled for other processes, and those of them that cannot go there.

    No other process can import what was made in a notebook, in a function, or in the script that is run.
    """
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    classes = [cls for cls in registered() if cls.__name__ in words]
    stuck = tuple(cls.__name__ for cls in classes if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__)
    return b"" if stuck or not classes else pickle.dumps(classes), stuck


def know(classes: bytes) -> None:
    """Register the blocks that came with a job, where they are not known already."""
    names = {cls.__name__ for cls in registered()}
    register(*(cls for cls in pickle.loads(classes) if cls.__name__ not in names))
