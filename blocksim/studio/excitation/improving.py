"""Improve: a design search in a thread of its own, told while it goes on, stopped when asked; its best is kept."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import BlocksimError, listing
from ...planning.design.design import DesignResult, design
from ...planning.design.families import FAMILIES
from ...planning.design.spec import CRITERIA, DesignSpec, SearchSpec
from ...planning.information import information
from ...records.record import scalar_columns
from ..handlers import Request, handles
from ..protocol import Answer
from .experiment import Question, played_run, question_of, source_signals
from .grips import rows_by_joint
from .requests import runnable_diagram, source_block

if TYPE_CHECKING:
    from ...contract.block import Block
    from ...diagram.diagram import Diagram
    from ...planning.design.searching.search import SearchProgress
    from ..session import Session

#: The family that varies a source of a type.
FAMILY_OF = {
    "Multisine": "multisine", "FourierTrajectory": "fourier", "PolynomialTrajectory": "polynomial",
    "TrapezoidTrajectory": "trapezoid", "LevelSequence": "levels", "PRBS": "prbs", "Chirp": "chirp",
}  # fmt: skip


def family_words(block: Block, question: Question, family: str, duration: float, start: list[float]) -> dict[str, Any]:
    """What one entry of `vary:` says for this source: its own lines or points, within its own limit."""
    s = block.settings
    peak = next((k["peak"] for name, k in question.limits.items() if name.split(".")[0] == question.source and "peak" in k), None)
    if peak is None:
        raise BlocksimError(f"Improve needs a limit of the source: give '{question.source}' a peak.")
    own = FAMILY_OF.get(type(block).__name__) == family
    if family == "multisine":
        lines = {k: s[k] for k in ("f_min", "f_max", "lines")} if own and s["frequencies"] is None else None
        if own and lines is None:
            return {"family": family, "frequencies": list(s["frequencies"]), "peak": peak}
        return {"family": family, **(lines or {"f_min": 1 / duration, "f_max": 20 / duration, "lines": 20}), "peak": peak}
    if family == "fourier":
        rows = rows_by_joint(s["a"]) if own else [[0.0] * 5]
        base = float(s["base_frequency"]) if own else 1 / duration
        reach = [max(peak - abs(first), 0.05 * peak) for first in start[: len(rows)]]  # of the way from where it starts
        return {"family": family, "base_frequency": base, "harmonics": max(len(rows[0]), 2), "joints": len(rows),
                "peak": reach, "start": start[: len(rows)]}  # fmt: skip
    if family in ("polynomial", "trapezoid"):
        rows = rows_by_joint(s["points"]) if own else [[0.0] * 8]
        more = {k: s[k] for k in ("speed", "acceleration", "pause") if own and family == "trapezoid" and s.get(k) is not None}
        first = [row[0] for row in rows] if own else start
        return {"family": family, "points": max(len(rows[0]) - 2, 1), "joints": len(rows), "min": -peak, "max": peak,
                "start": first if len(rows) > 1 else first[0], **more}  # fmt: skip
    if family == "prbs":
        return {"family": family, "bits": s.get("bits", 7), "clock": s.get("clock", duration / 127), "peak": peak}
    if family == "chirp":
        return {"family": family, "f_min": 1 / duration, "f_max": max(float(s.get("f_end", 10.0)), 2 / duration), "peak": peak}
    if family == "switching":
        return {"family": family, "switches": 20, "peak": peak}
    return {"family": family, "clock": float(s["clock"]) if "clock" in s else duration / 100, "peak": peak}


def design_of(session: Session, request: Request) -> DesignSpec:
    """The design that Improve runs, on the diagram as it is open here."""
    diagram = runnable_diagram(session)
    question = question_of(diagram, request)
    block = source_block(diagram, question)
    family = str(request.get("family") or FAMILY_OF.get(type(block).__name__, "multisine"))
    criterion = str(request.get("criterion") or "worst")
    if family not in FAMILIES:
        raise BlocksimError(f"there is no family '{family}'. Families are: {listing(FAMILIES)}.")
    if criterion not in CRITERIA[:4]:
        raise BlocksimError(f"there is no criterion '{criterion}'. Here are: {listing(CRITERIA[:4])}.")
    from ...contract.times import exact

    duration = float(exact(diagram.simulate.stop or 1))
    record = played_run(diagram, question, source_signals(diagram, question.source))
    start = [float(values[0]) for _, values in scalar_columns("", record[source_signals(diagram, question.source)[0]])]
    vary = {question.source: family_words(block, question, family, duration, start)}
    search = SearchSpec(seconds=float(request.get("seconds") or 30.0), seed=int(request.get("seed") or 0), candidates=32, jobs=1)
    return DesignSpec(
        title=f"{question.source} improved in the studio",
        diagram=diagram,  # type: ignore[arg-type]  # one that is open is taken as it is
        parameters=dict.fromkeys(question.parameters, 1.0),
        outputs=output_noise(diagram, question),
        vary=vary,
        limits=question.limits,
        criterion=criterion,
        search=search,
    )


def output_noise(diagram: Diagram, question: Question) -> dict[str, Any]:
    """The standard deviation of every output by the diagram's own noise, as a design takes it."""
    info = information(diagram, question.parameters, question.outputs, params=question.settings)
    result: dict[str, Any] = {}
    for name in question.outputs:
        pairs = zip(info.readings, info.noise_stds, strict=True)
        stds = [float(std) for reading, std in pairs if reading.split("[")[0].startswith(name)]
        if not stds or not all(s > 0 for s in stds):
            raise BlocksimError(
                f"'{name}' has no noise, so nothing is uncertain. Give its sensor some, or choose another output."
            )
        result[name] = stds[0] if len(stds) == 1 else stds
    return result


@handles("excitation.improve", lane="improve")
def improve(session: Session, request: Request) -> Iterator[Answer]:
    """Search, telling the best so far; the last answer has its settings, what it teaches, and what was there before."""
    spec = design_of(session, request)
    stop = threading.Event()
    session.shelf.setdefault("excitation", {})["stop"] = stop
    news: queue.Queue[Any] = queue.Queue()

    def watch(progress: SearchProgress) -> None:
        if stop.is_set() and not progress.stop:
            raise KeyboardInterrupt  # as Ctrl-C in a terminal: the best so far is kept
        news.put(progress_data(progress))

    def work() -> None:
        try:
            news.put(design(spec, progress=watch))
        except BaseException as error:
            news.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            item = news.get()
            while isinstance(item, dict) and not news.empty():
                item = news.get()  # only the newest is told
            if isinstance(item, dict):
                yield Answer(item)
            elif isinstance(item, BaseException):
                raise item if isinstance(item, BlocksimError) else BlocksimError(f"the search ended: {item}")
            else:
                yield Answer(result_data(item, next(iter(spec.vary))))
                return
    finally:
        stop.set()  # also where nobody listens any more


@handles("excitation.stop", lane="stop")
def stop_improving(session: Session, request: Request) -> Answer:
    event = session.shelf.get("excitation", {}).get("stop")
    if event is not None:
        event.set()
    return Answer({"stopped": event is not None})


def progress_data(progress: SearchProgress) -> dict[str, Any]:
    best = progress.best
    return {
        "seconds": progress.seconds,
        "simulations": progress.simulations,
        "share": progress.share,
        "words": progress.summary(),
        "stds": None if best is None else best.stds.tolist(),
        "history": [list(entry) for entry in progress.history],
    }


def one_row(value: Any) -> Any:
    """What a source of one joint has: its row rather than a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def result_data(result: DesignResult, source: str) -> dict[str, Any]:
    from ...planning.design.design import file_numbers

    kind = type(result.diagram.nodes[source].block).__name__
    settings = {f"{source}.{key}": file_numbers(one_row(value)) for key, value in result.settings[source].items()}
    return {
        **progress_data(result.progress),
        "done": True,
        "type": kind,
        "settings": settings,
        "criterion": result.criterion,
        "before": result.criterion_before,
        "margins": [str(margin) for margin in result.margins],
        "words": f"{result.spec.criterion} {result.criterion_before:.3g} before, {result.criterion:.3g} now; "
        f"{result.simulations} simulations in {result.progress.seconds:.3g} s; ended because {result.stop}",
    }
