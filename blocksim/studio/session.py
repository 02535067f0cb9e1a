"""Session: what one tab of the page has open: a file, its text, the diagram and the experiment made of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..diagram.build import open_diagram
from ..diagram.diagram import Diagram
from ..diagram.editing.sketch import sketch
from ..diagram.files import bundled_root, find_diagram, read_file
from ..diagram.loader import parse_spec
from ..errors import BlocksimError, DiagramError
from .handlers import Request, handles
from .protocol import Answer, failure_data
from .recent import files_data, remember

if TYPE_CHECKING:
    from ..simulation.experiment import Experiment

FIRST_DIAGRAM = "one_dof/identify"


@dataclass
class Session:
    """One tab. `text` is what is edited; `diagram` and `experiment` are of the last text without a mistake.

    `changes` are settings beside the file, as sliders have them. `shelf` holds what a pane keeps between requests, by its name.
    """

    name: str = ""  # as it was asked for: a path or a bundled name
    path: str = ""
    text: str = ""
    version: int = 0  # of the diagram: whoever keeps what was made of it compares this
    diagram: Diagram | None = None
    experiment: Experiment | None = None
    allow_outside: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    shelf: dict[str, dict[str, Any]] = field(default_factory=dict)
    at_end: dict[str, Callable[[], None]] = field(default_factory=dict)  # what a pane does when its page has left
    push: Callable[[str, Answer], None] = lambda kind, answer: None  # tell the page something nobody asked for

    def open(self, name: str) -> None:
        """Read a file, or a bundled diagram by its name; one with mistakes is opened too, as text."""
        path = find_diagram(name)
        text = read_file(path, path)
        self.name, self.path, self.changes, self.diagram, self.experiment = name, path, {}, None, None
        self.shelf = {pane: job for pane, job in self.shelf.items() if pane == "study"}  # one at work goes on, and can be ended
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Another text of the same file. Where it has mistakes, DiagramError tells, and the last good diagram stays."""
        from ..simulation.prepare import experiment

        self.text = text
        diagram = open_diagram(parse_spec(text, self.path), allow_outside=self.allow_outside)
        self.diagram, self.experiment = diagram, None
        self.version += 1
        if diagram.ports is None:
            self.experiment = experiment(diagram)

    @property
    def is_bundled(self) -> bool:
        """Whether the file comes with blocksim, and is therefore not written to."""
        return os.path.realpath(self.path).startswith(os.path.realpath(bundled_root()) + os.sep)

    def ready(self) -> Experiment:
        """The experiment, or why there is none, in words."""
        if self.experiment is None:
            part = self.diagram is not None and self.diagram.ports is not None
            why = "it has ports: it is a part of other diagrams" if part else "it has mistakes"
            raise BlocksimError(f"'{self.name}' cannot be run: {why}." if self.text else "no file is open yet.")
        return self.experiment


@handles("open")
def open_named(session: Session, request: Request) -> Answer:
    """Open a file and tell all that panes share of it; who named none is welcomed with the first."""
    name, problems = str(request.get("name") or session.name), []
    try:
        session.open(name or FIRST_DIAGRAM)
    except DiagramError as error:
        if not session.text:
            raise
        problems = failure_data(error)["problems"]
    if not session.is_bundled:
        remember(session.path)
    return Answer({**diagram_data(session), "problems": problems, "welcome": not name})


@handles("files")
def files(session: Session, request: Request) -> Answer:
    """What may be opened by name: what was open lately, the diagrams of the folder the studio was started in, bundled ones."""
    return Answer(files_data())


def diagram_data(session: Session) -> dict[str, Any]:
    """The diagram as every pane sees it."""
    from .picture import blocks_data, diagram_svg
    from .running.defects import defects_data
    from .running.methods import methods_data

    diagram = session.diagram
    facts: dict[str, Any] = {
        "name": session.name,
        "path": session.path,
        "bundled": session.is_bundled,
        "text": session.text,
        "version": session.version,
        "problems": [],
    }
    if diagram is None:
        sketched, _ = sketch(session.text, session.path, session.allow_outside)
        svg = "" if sketched is None else diagram_svg(sketched)
        return {**facts, "title": session.name, "description": "", "svg": svg, "blocks": [], "methods": [], "defects": []}
    return {
        **facts,
        "title": diagram.name or session.name,
        "description": diagram.description,
        "svg": diagram_svg(diagram),
        "blocks": blocks_data(diagram),
        "methods": methods_data(session.experiment.schedule) if session.experiment else [],
        "defects": defects_data(diagram),
        "runnable": session.experiment is not None,
    }
