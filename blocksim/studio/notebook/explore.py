"""explore(): sliders, scopes and estimates of a diagram below a notebook's cell.

explorer = bs.explore("one_dof/identify", gain=(0.25, 4), **{"smooth.bandwidth": (5, 60)})
explorer.values["gain"], explorer.record["joint.q"], explorer.estimates["ls"]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ...diagram.diagram import Diagram
from ...errors import BlocksimError, DiagramError, did_you_mean, listing
from ...simulation.prepare import experiment
from ..bench import variant_of
from ..handlers import answers, handler_of
from ..protocol import Answer, buffers, failure_data, header
from ..running.fields import block_fields, file_fields, first_pins, with_elements
from ..session import Session, diagram_data

if TYPE_CHECKING:
    from ...diagram.build import DiagramSource
    from ...records.record import Record

NEEDS_WIDGET = "explore needs anywidget: pip install 'blocksim[notebook]'."
LOG_FROM = 10.0  # a range that ends at so many times its beginning is logarithmic


def explore(diagram: DiagramSource, seed: int | None = None, /, **ranges: Any) -> Any:
    """Show a diagram's bench in a notebook, with a slider for each range.

    A name is a parameter of the file (`gain`), a setting of a block ("smooth.bandwidth", passed with **), or an element of a list
    ("pd.kp[0]"). A range is (low, high), or (low, high, first value). Without ranges, sliders are chosen. The result has
    `values`, the sliders' values, which may be set too; `record` and `estimates` are those of `simulate` with these values.
    """
    session = opened_session(diagram)
    pins = [field_of(session, name, limits) for name, limits in ranges.items()] if ranges else suggested(session)
    return widget_class()(session, pins, seed)


def opened_session(source: DiagramSource) -> Session:
    """A session on whatever names a diagram."""
    from ...diagram.build import open_diagram

    session = Session(name=source.name if isinstance(source, Diagram) else str(source).partition("\n")[0])
    session.diagram = open_diagram(source)
    session.path = session.diagram.path
    if session.diagram.ports is not None:
        raise DiagramError(f"'{session.name}' has ports: it is a part of other diagrams and cannot be run.")
    session.experiment = experiment(session.diagram)
    session.version = 1
    return session


def suggested(session: Session) -> list[dict[str, Any]]:
    return [] if session.diagram is None else first_pins(session.diagram, 4)


def field_of(session: Session, name: str, limits: Any) -> dict[str, Any]:
    """The slider of a setting or a parameter between these limits."""
    assert session.diagram is not None
    block = name.rpartition(".")[0]
    nodes = session.diagram.nodes
    if block and block.partition(".")[0] not in nodes:
        raise DiagramError(f"'{name}': there is no block '{block}'. Blocks are: {listing(nodes)}." + did_you_mean(block, nodes))
    fields = block_fields(nodes[block]) if block in nodes else [] if block else file_fields(session.diagram)
    own = {field["path"]: field for field in with_elements(fields)}
    if name not in own:
        whose = f"block '{block}'" if block else "the diagram"
        kind = "setting" if block else "parameter"
        text = f"{whose} has no {kind} '{name.rpartition('.')[2]}'. It has: {listing(f['name'] for f in fields)}."
        raise DiagramError(text + did_you_mean(name, own))
    field = dict(own[name])
    try:
        low, high, *first = (float(value) for value in limits)
    except (TypeError, ValueError):
        raise BlocksimError(f"'{name}': found {limits!r}. A range is wanted: (low, high) or (low, high, first value).") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or len(first) > 1:
        raise BlocksimError(f"'{name}': found {limits!r}. A range goes from low to high: (0.5, 4), or (0.5, 4, 1).")
    field["slider"] = {"low": low, "high": high, "log": low > 0 and high / low >= LOG_FROM, "whole": field["kind"] == "whole"}
    if first:
        field["first"] = first[0]
    return field


@cache
def widget_class() -> type[Any]:
    """The widget, made when it is first needed: anywidget is an extra."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise BlocksimError(NEEDS_WIDGET) from error
    from .front import joined_module, scoped_sheet

    class Explorer(anywidget.AnyWidget):
        """The bench of a diagram in a notebook. `values` has the sliders' values; `record` and `estimates` are of these."""

        _esm = joined_module()
        _css = scoped_sheet()
        values = traitlets.Dict().tag(sync=True)
        start = traitlets.Dict().tag(sync=True)

        def __init__(self, session: Session, pins: list[dict[str, Any]], seed: int | None):
            self.session, self.seed = session, seed
            self.run_of: tuple[dict[str, Any], Record] | None = None
            shown_diagram = {**diagram_data(session), "svg": "", "text": ""}
            values = {field["path"]: field.get("first", field["value"]) for field in pins}
            super().__init__(values=values, start={"diagram": shown_diagram, "pins": pins})
            self.on_msg(lambda _, content, __: self.take(content))

        def take(self, request: Mapping[str, Any]) -> None:
            """Answer one request of the front end."""
            kind, number = str(request.get("kind")), request.get("id")
            if kind == "bench.run" and request.get("seed") is None and self.seed is not None:
                request = {**request, "seed": self.seed}
            try:
                for answer in answers(self.session, handler_of(kind), request):
                    self.say(answer, kind, number)
            except BlocksimError as error:
                self.say(Answer({"error": failure_data(error)}), kind, number)

        def say(self, answer: Answer, kind: str, number: Any) -> None:
            self.send(header(answer, kind, number), buffers(answer))

        @property
        def record(self) -> Record:
            """What `simulate` gives with the sliders where they are; run when it is asked for."""
            from ...running.simulate import simulate

            key = dict(self.values)
            if self.run_of is None or self.run_of[0] != key:
                base, changes = variant_of(self.session, {"changes": key})
                self.run_of = key, simulate(base, params=changes, seed=self.seed)
            record: Record = self.run_of[1]
            return record

        @property
        def estimates(self) -> dict[str, Any]:
            return self.record.estimates

    return Explorer
