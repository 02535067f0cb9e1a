"""What the Study pane asks for: what can be varied, the study's text, running, cancelling, one run again on the bench."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...diagram.diagram import outports
from ...diagram.files import write_whole
from ...diagram.writer import flow, text
from ...errors import BlocksimError
from ...simulation.many.threads import cores
from ...studies.file import load_study
from ...studies.plan import make_plan
from ...studies.spec import STATISTICS
from ...studies.store import FILE
from ..edit.requests import document_of
from ..handlers import Request, handles
from ..protocol import Answer
from ..running.fields import all_fields
from ..running.methods import methods_data
from .running_study import StudyAtWork, ending_words, study_at_work, wait_for_news

if TYPE_CHECKING:
    from ..session import Session

#: s between looks at the results of a running study.
PAUSE = 0.25
#: What a study that has ended leaves: scores of estimates, of signals, or both.
SCORES = ("scores.csv", "signal_scores.csv")


@handles("study.offer")
def offer(session: Session, request: Request) -> Answer:
    """Every number of the diagram that can be swept, what can be collected, and names for the study's file and folder."""
    diagram = session.diagram
    if diagram is None or session.experiment is None:
        raise BlocksimError(f"'{session.name}' cannot be run, so there is nothing to study; mend it in the Edit pane.")
    numbers = [
        {k: f[k] for k in ("path", "value", "unit", "doc", "slider")}
        for f in all_fields(diagram)
        if f["slider"] and f["value"] is not None
    ]
    stem = Path(session.path).stem
    return Answer(
        {
            "fields": numbers,
            "methods": [method["name"] for method in methods_data(session.experiment.schedule)],
            "signals": [f"{name}.{port}" for name, node in diagram.nodes.items() for port in outports(node.block)],
            "statistics": list(STATISTICS),
            "title": f"{diagram.name or stem}: a study",
            "file": f"{stem}_study.yaml",
        }
    )


def text_of_study(session: Session, request: Request) -> str:
    """The study as its file has it."""
    document = document_of(session)
    file = Path(str(request.get("file") or "study.yaml"))
    lines = ["format: 1", f"study: {text(str(request.get('title') or 'A study'))}"]
    if document.dirty:
        indented = "\n".join("  " + line if line else "" for line in document.text.rstrip("\n").split("\n"))
        lines.append(f"diagram: |\n{indented}")
    else:
        lines.append(f"diagram: {text(diagram_name(session, file))}")
    for key in ("params", "sweep"):
        if request.get(key):
            lines.append(f"{key}: {flow(swept(request[key]) if key == 'sweep' else request[key])}")
    lines += [f"repeat: {int(request.get('repeat') or 10)}", f"seed: {int(request.get('seed') or 0)}"]
    if request.get("collect"):
        lines.append(f"collect: {flow(request['collect'])}")
    return "\n".join(lines) + "\n"


def swept(axes: Mapping[str, Any]) -> dict[str, Any]:
    """The values of every axis: from low to high, evenly or by equal factors, in few digits."""
    result: dict[str, Any] = {}
    for path, axis in axes.items():
        low, high, count = float(axis["low"]), float(axis["high"]), max(int(axis["count"]), 1)
        shares = [k / max(count - 1, 1) for k in range(count)]
        even = not (axis.get("log") and low > 0 and high > 0)
        values = [low + (high - low) * s if even else low * (high / low) ** s for s in shares]
        result[path] = [round(v) if axis.get("whole") else float(f"{v:.4g}") for v in values]
    return result


def diagram_name(session: Session, file: Path) -> str:
    """The diagram as the study's file names it: a bundled name, or the way from its folder."""
    if session.is_bundled:
        from ...diagram.files import bundled_root

        return os.path.relpath(session.path, bundled_root()).removesuffix(".yaml").replace(os.sep, "/")
    return os.path.relpath(session.path, file.parent).replace(os.sep, "/")


@handles("study.text", lane="plan", latest=True)
def plan_study(session: Session, request: Request) -> Answer:
    """The study's text and how many runs it is; what is wrong with it is said as `blocksim study` says it."""
    words = text_of_study(session, request)
    plan = make_plan(load_study(at_its_place(words, session, request)), session.allow_outside)
    return Answer({"text": words, "runs": plan.runs, "points": len(plan.points)})


def at_its_place(words: str, session: Session, request: Request) -> str:
    """The text with its diagram found from here, for checking before it is a file."""
    file = Path(str(request.get("file") or "study.yaml"))
    name = diagram_name(session, file)
    return words.replace(f"diagram: {text(name)}\n", f"diagram: {text(os.path.abspath(session.path))}\n", 1)


def write_study(session: Session, request: Request) -> Path:
    """The study as a file; one of the same name that says something else is only overwritten where asked."""
    file = Path(str(request.get("file") or "study.yaml"))
    words = text_of_study(session, request)
    if file.exists() and file.read_text(encoding="utf-8") != words and not request.get("force"):
        raise BlocksimError(f"there is a file '{file}' already that says something else. Choose another name, or overwrite it.")
    try:
        write_whole(file, words)
    except OSError as error:
        raise BlocksimError(f"'{file}' cannot be written: {error.strerror or error}.") from None
    return file


@handles("study.save")
def save_study(session: Session, request: Request) -> Answer:
    return Answer({"file": str(write_study(session, request))})


@handles("study.run", lane="study")
def run_in_pane(session: Session, request: Request) -> Iterator[Answer]:
    """Save it, run it, and tell its estimates as they come; what its folder holds already is told first."""
    file = write_study(session, request)
    folder = Path(str(request.get("out") or file.with_suffix("")))
    if (folder / FILE).exists() and not request.get("resume"):
        raise BlocksimError(f"'{folder}' holds the results of a study already. Resume it, or choose another folder.")
    work = study_at_work(file, folder, session.allow_outside)
    session.shelf["study"] = {"work": work, "path": session.path, "text": document_of(session).text}
    session.at_end["study"] = work.cancel  # a page that leaves, or a studio that ends, ends it; its folder can be resumed
    begin = time.monotonic()
    yield Answer(beginning(work))
    work.start(int(request.get("jobs") or cores()), session.allow_outside)
    try:
        while work.running():
            wait_for_news(work, PAUSE)
            if fresh := work.read():
                yield Answer(
                    {
                        "dots": work.dots(fresh),
                        "done": len(work.results),
                        "total": work.plan.runs,
                        "words": work.tally().summary(),
                    }
                )
    finally:
        if work.running():  # nobody listens any more
            work.cancel()
    fresh = work.read()
    yield Answer(
        {
            "dots": work.dots(fresh),
            "done": len(work.results),
            "total": work.plan.runs,
            "ended": True,
            "complete": any((folder / name).is_file() for name in SCORES) and len(work.results) == work.plan.runs,
            "folder": str(folder),
            "words": ending_words(work, time.monotonic() - begin),
        }
    )


def beginning(work: StudyAtWork) -> dict[str, Any]:
    """The points of the study, by row, before anything has run."""
    plan = work.plan
    rows = [plan.row(number) for number in range(plan.rows)]
    points = [{k: v for k, v in plan.points[row.point].items()} for row in rows]
    return {"rows": points, "swept": list(plan.points[0]) if plan.points else [], "repeat": plan.repeat, "total": plan.runs,
            "done": 0, "dots": [], "words": "starting", "folder": str(work.folder)}  # fmt: skip


@handles("study.cancel", lane="stop")
def cancel_study(session: Session, request: Request) -> Answer:
    """End a running study at once; its folder can be resumed."""
    work = session.shelf.get("study", {}).get("work")
    begin = time.monotonic()
    if work is not None:
        work.cancel()
    return Answer({"seconds": time.monotonic() - begin})


@handles("study.one")
def one_run(session: Session, request: Request) -> Answer:
    """What one run of the study changes, and its seed, to have that very run on the bench."""
    shelf = session.shelf.get("study")
    if shelf is None:  # the line was lost meanwhile: the study's own file has all of it
        file = Path(str(request.get("file") or "study.yaml"))
        if not file.is_file():
            raise BlocksimError("no study has run here yet.")
        work = study_at_work(file, file.with_suffix(""), session.allow_outside)
        shelf = session.shelf["study"] = {"work": work, "path": session.path, "text": document_of(session).text}
    work = shelf["work"]
    if shelf["path"] != session.path:
        raise BlocksimError(f"this run is of '{shelf['path']}'; open that file first.")
    number = int(request["run"])
    row = work.plan.row(number // work.plan.repeat)
    seed = work.plan.seeds[number % work.plan.repeat]
    edited = shelf["text"] != document_of(session).text
    return Answer({"run": number, "changes": work.plan.changes(row), "seed": seed, "edited": edited})
