"""What the Excitation pane asks for: a look at the source, its dragging, what it teaches, its export."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...contract.block import Block
from ...contract.library import find
from ...diagram.writer import flow
from ...errors import BlocksimError, listing
from ...notation import unit_label
from ...planning.design.design import file_numbers
from ...planning.information import information_of
from ...planning.measuring.measuring import measuring_of
from ...records.record import scalar_columns
from ...running.signals import Analysis, sources
from ...simulation.prepare import prepared
from ..edit.exports import file_data
from ..edit.keeping import write_settings
from ..edit.requests import document_of
from ..handlers import Request, handles
from ..protocol import Answer
from ..running.envelopes import envelope
from .experiment import (
    Question,
    blocks_by_path,
    first_limits,
    margins,
    played_run,
    question_of,
    sought_choices,
    source_signals,
    watched,
)
from .grips import dragged, grips

if TYPE_CHECKING:
    import numpy as np

    from ...diagram.diagram import Diagram
    from ...planning.information import Information
    from ...records.record import Record
    from ..session import Session

TIME_COLUMNS, AMPLITUDE_BINS, MOST_LINES = 700, 41, 2000
ROUNDED = 1e-12  # a line below this share of the signal is one of rounding


def runnable_diagram(session: Session) -> Diagram:
    session.ready()
    assert session.diagram is not None
    return session.diagram


def source_block(diagram: Diagram, question: Question) -> Block:
    """The source with the settings that were changed here."""
    block = diagram.nodes[question.source].block
    assert isinstance(block, Block)
    own = {key.partition(".")[2]: value for key, value in question.settings.items() if key.startswith(f"{question.source}.")}
    given_keys = {key: value for key, value in block.settings.items()}
    return find(type(block).__name__)(**{**given_keys, **own}) if own else block


@handles("excitation.look", lane="look", latest=True)
def look_at_source(session: Session, request: Request) -> Answer:
    """The source with these settings: its curves, spectrum, amplitudes, its limits, and what can be dragged."""
    diagram = runnable_diagram(session)
    question = question_of(diagram, request)
    names = list(dict.fromkeys([*source_signals(diagram, question.source), *watched(diagram, question.source), *question.limits]))
    record = played_run(diagram, question, names)
    if request.get("limits") is None:
        question = Question(
            question.source, question.settings, first_limits(diagram, question, record), question.parameters, question.outputs
        )
    main = source_signals(diagram, question.source)[0]
    element = int(request.get("element") or 0)
    columns = scalar_columns(main, record[main])
    label, values = columns[min(element, len(columns) - 1)]
    analysis = Analysis(label, record.unit(main), record.time(main), values)
    data, arrays = curve_data(record, question, [label], [n for n in names if n in question.limits and n != main])
    arrays |= spectrum_arrays(analysis)
    block = source_block(diagram, question)
    duration = float(record.t[-1] - record.t[0])
    return Answer(
        {
            **data,
            "source": question.source,
            "sources": [name for name in sources(diagram) if "." not in name],
            "type": type(block).__name__,
            "signal": label,
            "elements": len(columns),
            "unit": unit_label(record.unit(main)),
            "units": {name: unit_label(record.unit(name)) for name in record},
            "numbers": analysis.numbers(),
            "grips": [
                {"number": n, **asdict(grip)}
                for n, grip in enumerate(grips(block, duration))
                if grip.signal == element and (grip.kind == "line" or grip.x <= float(record.t[-1]))
            ],
            "limits": question.limits,
            "margins": [margin_data(m) for m in margins(question, record)],
            "watched": list(record),
            "parameters": question.parameters,
            "choices": sought_choices(diagram),
            "outputs": question.outputs,
            "span": [float(record.t[0]), float(record.t[-1])],
        },
        arrays,
    )


def margin_data(margin: Any) -> dict[str, Any]:
    return {**asdict(margin), "excess": margin.excess, "broken": margin.broken, "words": str(margin)}


def curve_data(
    record: Record, question: Question, labels: list[str], others: list[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The source's signal and the limited ones over time, as a plot needs them."""
    low, high = float(record.t[0]), float(record.t[-1])
    series, arrays = [], {}
    for number, name in enumerate([*labels, *(label for other in others for label, _ in scalar_columns(other, record[other]))]):
        kind, parts = envelope(record.time(name), record[name], low, high, TIME_COLUMNS)
        bounds = question.limits.get(name) or question.limits.get(name.partition("[")[0]) or {}
        series.append({"name": name, "unit": unit_label(record.unit(name)), "kind": kind, "limits": bounds})
        arrays[f"{number}.0"], arrays[f"{number}.1"] = parts
    return {"series": series}, arrays


def spectrum_arrays(analysis: Analysis) -> dict[str, np.ndarray]:
    """Lines up to three times the bandwidth, and how often each amplitude occurs."""
    import numpy as np

    top = max(3.0 * analysis.bandwidth, 10.0 * float(analysis.frequency[1]))
    some = (analysis.frequency <= top) & (analysis.frequency > 0)
    f, a = analysis.frequency[some], analysis.amplitude[some]
    a = np.where(a > ROUNDED * float(np.abs(analysis.values).max()), a, 0.0)
    if len(f) > MOST_LINES:  # of neighbours the greatest
        width = -(-len(f) // MOST_LINES)
        pad = -len(f) % width
        a = np.pad(a, (0, pad)).reshape(-1, width).max(axis=1)
        f = f[::width]
    counts, edges = np.histogram(analysis.values, AMPLITUDE_BINS)
    return {"f": f, "a": a, "counts": counts / counts.max(), "edges": edges}


@handles("excitation.drag")
def drag(session: Session, request: Request) -> Answer:
    """The settings after a line or a point was dragged."""
    diagram = runnable_diagram(session)
    question = question_of(diagram, request)
    block = source_block(diagram, question)
    x = request.get("x")
    changes = dragged(block, int(request["number"]), float(request["y"]), None if x is None else float(x))
    return Answer({"settings": {**question.settings, **{f"{question.source}.{key}": value for key, value in changes.items()}}})


@handles("excitation.information", lane="information", latest=True)
def foretell(session: Session, request: Request) -> Answer:
    """What the experiment with these settings will teach: `bs.information` by the diagram's own noise.

    While a hand drags, `quick`: the experiment stays prepared, noise comes from few runs, slopes are not checked.
    """
    diagram = runnable_diagram(session)
    question = question_of(diagram, request)
    if not question.parameters or not question.outputs:
        raise BlocksimError("no block of the diagram is a robot. Choose below which numbers are to be found.")
    shelf = session.shelf.setdefault("excitation", {})
    key = (session.version, question.source, tuple(question.parameters), tuple(question.outputs), repr(request.get("noise")))
    last = shelf.get("measured") if request.get("quick") else None
    quick = last[1].with_settings(question.settings) if last is not None and last[0] == key else None
    if last is not None and quick is not None:
        info = information_of(quick, checked=False, answers=last[2])
    else:
        ready, changes = prepared(diagram, question.settings, {})
        measuring = measuring_of(ready, changes, (tuple(question.parameters), ()), question.outputs, request.get("noise"))
        info = information_of(measuring)
        shelf["measured"] = (key, measuring, info.surroundings.answers)
    ellipse = {"covariance": info.covariance.tolist(), "parameters": list(info.parameters), "quick": quick is not None}
    return Answer(
        {**info.plain(), **ellipse, "verdict": gathered_verdict(info), "units": parameter_units(diagram, list(info.parameters))}
    )


def gathered_verdict(info: Information) -> str:
    """The verdict; parameters that no output depends on are told in one sentence."""
    lost = [name for finding in info.findings if finding.kind == "dead" for name in finding.parameters]
    if len(lost) < 2:
        return info.verdict
    words = f"{listing(lost)} are dead here: no output depends on them at all. The bounds of the others are those without them."
    return "\n".join([words, *(finding.words for finding in info.findings if finding.kind != "dead")])


def parameter_units(diagram: Diagram, names: list[str]) -> dict[str, str]:
    """The unit of each setting, as its block declares it; '' for a parameter of the file."""
    units, blocks = {}, blocks_by_path(diagram)
    for name in names:
        block = blocks.get(name.rpartition(".")[0])
        declared = None if block is None else type(block).declared.get(name.rpartition(".")[2].partition("[")[0])
        units[name] = unit_label(declared.unit) if declared is not None else ""
    return units


def refuse_broken(diagram: Diagram, question: Question) -> Record:
    """The run at every step of the solver. Refused, in words, where it breaks a limit."""
    names = list(dict.fromkeys([*source_signals(diagram, question.source), *question.limits]))
    record = played_run(diagram, question, names, every_step=True)
    broken = [str(margin) for margin in margins(question, record) if margin.broken]
    if broken:
        raise BlocksimError(f"a signal over its limit is not exported: {'; '.join(broken)}. Make it smaller, or Improve it.")
    return record


@handles("excitation.export")
def export_source(session: Session, request: Request) -> Answer:
    """The source as lines of YAML, or its signals as CSV for the real robot; never over a limit."""
    diagram = runnable_diagram(session)
    question = question_of(diagram, request)
    record = refuse_broken(diagram, question)
    if request.get("what") == "yaml":
        return Answer(file_data(f"{question.source}.yaml", "application/yaml", source_yaml(diagram, question).encode()))
    return Answer(file_data(f"{question.source}.csv", "text/csv", source_csv(record, source_signals(diagram, question.source))))


def source_yaml(diagram: Diagram, question: Question) -> str:
    """The source as a line of `blocks:`."""
    node = diagram.nodes[question.source]
    block = source_block(diagram, question)
    written_keys = {key for key in node.places if key not in ("type", "in", "flip")}
    own = {key.partition(".")[2] for key in question.settings}
    settings = {key: file_numbers(plain_setting(value)) for key, value in block.settings.items() if key in written_keys | own}
    return f"{question.source}: {flow({'type': type(block).__name__, **settings})}\n"


def plain_setting(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, tuple) else value


def source_csv(record: Record, names: list[str]) -> bytes:
    """Time and the source's signals, one row for each step, their units in the heads."""
    import io

    import numpy as np

    columns = [(label, record.unit(name), values) for name in names for label, values in scalar_columns(name, record[name])]
    heads = ["t [s]", *(f"{label} [{unit}]" if unit else label for label, unit, _ in columns)]
    stream = io.BytesIO()
    rows = np.column_stack([record.time(names[0]), *(values for _, _, values in columns)])
    np.savetxt(stream, rows, fmt="%.12g", delimiter=",", header=",".join(heads), comments="")
    return stream.getvalue()


@handles("excitation.keep", lane="edit")
def keep(session: Session, request: Request) -> Answer:
    """Write the settings into the file's text, one edit that undo takes back."""
    diagram = runnable_diagram(session)
    question = question_of(diagram, request)
    refuse_broken(diagram, question)
    write_settings(document_of(session), diagram, question.settings, f"{question.source} from Excitation")
    return Answer({"words": f"{question.source} is in the text; Save in the Edit pane writes the file."})
