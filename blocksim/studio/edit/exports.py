"""Exports: the diagram as a picture, its text, the last run's record, as files that the page hands over."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from ...diagram.editing.sketch import sketch
from ...errors import BlocksimError, DiagramError
from ..handlers import Request, handles
from ..protocol import Answer
from .requests import document_of

if TYPE_CHECKING:
    from ...diagram.diagram import Diagram
    from ..session import Session


@handles("edit.export")
def export_file(session: Session, request: Request) -> Answer:
    """The diagram as a picture, the text, or the last run's record, as a file for the page to hand over."""
    document, what = document_of(session), str(request.get("what"))
    stem = document.path.rpartition("/")[2].rpartition(".")[0] or "diagram"
    if what == "yaml":
        return Answer(file_data(f"{stem}.yaml", "application/yaml", document.text.encode()))
    if what == "record":
        return Answer(file_data(f"{stem}.csv", "text/csv", record_bytes(session)))
    diagram, problems = sketch(document.text, document.path, session.allow_outside)
    if diagram is None:
        raise DiagramError(problems)
    if what not in ("svg", "png"):
        raise BlocksimError(f"cannot export '{what}'. svg, png, yaml and record are there.")
    return Answer(file_data(f"{stem}.{what}", f"image/{'svg+xml' if what == 'svg' else 'png'}", picture_bytes(diagram, what)))


@handles("bench.picture", lane="picture")
def scopes_picture(session: Session, request: Request) -> Answer:
    """The scopes of the bench as a figure for a page: the same signals on the same axes, in the same window."""
    import io

    from ...pictures.plots import plot, write_figure

    live = session.shelf.get("bench", {}).get("run")
    if live is None:
        raise BlocksimError("nothing has run yet.")
    groups = [[str(name) for name in group if name in live.record] for group in request.get("groups") or []]
    figure = plot(live.record, [group for group in groups if group] or None)
    if request.get("window"):
        for axes in figure.axes:
            axes.set_xlim(*(float(t) for t in request["window"]))
    stream = io.StringIO()
    write_figure(figure, stream, "svg")
    stem = session.path.rpartition("/")[2].rpartition(".")[0] or "scopes"
    return Answer(file_data(f"{stem}_scopes.svg", "image/svg+xml", stream.getvalue().encode()))


def picture_bytes(diagram: Diagram, what: str) -> bytes:
    import tempfile
    from pathlib import Path

    from ...pictures.draw import draw

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"picture.{what}"
        draw(diagram, path)
        return path.read_bytes()


def record_bytes(session: Session) -> bytes:
    import tempfile
    from pathlib import Path

    live = session.shelf.get("bench", {}).get("run")
    if live is None:
        raise BlocksimError("nothing has run yet; the bench makes the record.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.csv"
        live.record.save(path)
        return path.read_bytes()


def file_data(name: str, mime: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "mime": mime, "content": base64.b64encode(content).decode()}
