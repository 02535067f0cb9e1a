"""Spec or Diagram -> YAML that loads to the same: one line per block, parameter references kept."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from ..contract.block import Block
from ..errors import DiagramError, Problem
from .checks import is_reference
from .diagram import Diagram, Node
from .files import is_subsystem, write_whole
from .parameters import ParameterScope, substituted
from .spec import FORMAT, BlockSpec, ColumnSpec, EnableSpec, LogSpec, PortSpec, RecordSpec, SimulateSpec, Spec
from .yaml_lines import UNREADABLE, scalar

LINE_WIDTH = 120
PLAIN = re.compile(r"[A-Za-z_./][\w./+-]*(?: [\w./+()-]+)*\Z", re.ASCII)
ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def save(source: Diagram | Spec, path: str | os.PathLike[str]) -> None:
    """Write a diagram to a file; subsystem files it names keep being found from there."""
    spec = as_spec(source)
    old, new = os.path.dirname(os.path.abspath(spec.path)), os.path.dirname(os.path.abspath(os.fspath(path)))
    if spec.path and os.path.realpath(old) != os.path.realpath(new):
        blocks = {name: moved(block, old, new) for name, block in spec.blocks.items()}
        spec = replace(spec, blocks=blocks, record=moved_record(spec.record, old, new))
    try:
        write_whole(path, dump(spec))
    except OSError as error:
        raise DiagramError(f"'{os.fspath(path)}' cannot be written: {error.strerror or error}.") from None


def dump(source: Diagram | Spec) -> str:
    """The YAML text of a diagram."""
    spec = as_spec(source)
    lines = [f"format: {FORMAT}"]
    if spec.name:
        lines.append(f"name: {text(spec.name)}")
    if spec.description:
        lines.append(f"description: {paragraph(spec.description)}")
    simulate = {f.name: v for f in fields(SimulateSpec) if (v := getattr(spec.simulate, f.name)) != f.default}
    if simulate:
        lines.append(wrapped("simulate: ", simulate))
    if spec.parameters:
        lines.append(wrapped("parameters: ", spec.parameters))
    if spec.ports is not None:
        lines.append(wrapped("ports: ", ports_entry(spec.ports)))
    lines.append("blocks:" if spec.blocks else "blocks: {}")
    column = min(max(map(len, spec.blocks), default=0), 16) + 2
    for name, block in spec.blocks.items():
        lines.append(wrapped("  " + f"{name}:".ljust(column), block_entry(block)))
    if spec.log is not None:
        lines.append("log: " + flow([e.signal if e.every is None else {"signal": e.signal, "every": e.every} for e in spec.log]))
    if spec.scopes is not None:
        lines.append("scopes: " + flow(spec.scopes))
    if spec.record is not None:
        lines += ["record:", *(f"  {key}: {flow(value)}" for key, value in record_entry(spec.record).items())]
    return "\n".join(lines) + "\n"


def block_entry(block: BlockSpec) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": block.type, **block.settings}
    if block.inputs is not None:
        entry["in"] = block.inputs
    if block.flip is not None:
        entry["flip"] = block.flip
    if block.enable is not None:
        entry["enable"] = block.enable.plain()
    return entry


def ports_entry(ports: PortSpec) -> dict[str, Any]:
    plain = all(size == 1 for size in ports.inputs.values())
    entry = {"in": list(ports.inputs) if plain else ports.inputs, "out": ports.outputs}
    return {key: value for key, value in entry.items() if value}


def record_entry(record: RecordSpec) -> dict[str, Any]:
    """`record:` with the keys that differ from their defaults."""
    plain = [f for f in fields(RecordSpec) if f.name not in ("places", "signals")]
    entry = {f.name: value for f in plain if (value := getattr(record, f.name)) != f.default}
    signals = {name: column_entry(column) for name, column in record.signals.items()}
    return {**entry, "signals": signals} if signals or not entry else entry


def column_entry(column: ColumnSpec) -> Any:
    more = {"unit": column.unit or None, "scale": column.scale, "offset": column.offset, "file": column.file or None}
    more["delay"] = column.delay
    more = {key: value for key, value in more.items() if value is not None}
    return {"column": column.column, **more} if more else column.column


def moved_record(record: RecordSpec | None, old: str, new: str) -> RecordSpec | None:
    """The same section written in another folder; a file that does not lie beside the diagram is found as before."""
    if record is None or record.file is None:
        return record

    def again(file: str) -> str:
        beside = not is_reference(file) and os.path.isfile(os.path.join(old, file))
        return os.path.relpath(os.path.join(old, file), new) if beside else file

    return replace(record, file=[again(f) for f in record.file] if isinstance(record.file, list) else again(record.file))


def moved(block: BlockSpec, old: str, new: str) -> BlockSpec:
    """The same block written in another folder: the relative paths of its files lead to where they led."""

    def again(path: str) -> str:
        there = os.path.relpath(os.path.join(old, path), new)
        return path if os.path.isabs(path) else there if there.startswith("..") else f"./{there}"

    settings = dict(block.settings)
    if isinstance(settings.get("file"), str) and not is_reference(settings["file"]):
        settings["file"] = again(settings["file"])
    return replace(block, type=again(block.type) if is_subsystem(block.type) else block.type, settings=settings)


def as_spec(source: Diagram | Spec) -> Spec:
    """The Spec of a diagram as it stands now: what was written in its file where that is still true."""
    if isinstance(source, Spec):
        return source
    origin: Spec = source.spec or Spec()
    scope = ParameterScope(source.parameters)
    simulate = SimulateSpec(
        **{
            f.name: text_or_value(getattr(origin.simulate, f.name), getattr(source.simulate, f.name), scope)
            for f in fields(SimulateSpec)
        }
    )
    grids = {e.signal: e.every for e in origin.log or []}
    log = (
        None
        if source.log is None
        else [LogSpec(e.signal, text_or_value(grids.get(e.signal), e.every, scope)) for e in source.log]
    )
    blocks = {name: block_spec(node, origin.blocks.get(name), scope, source.path) for name, node in source.nodes.items()}
    parameters = {name: text_or_value(origin.parameters.get(name), value, scope) for name, value in source.parameters.items()}
    record = record_spec(source.record, origin.record, scope)
    return Spec(
        source.name, source.description, simulate, parameters, blocks, log, source.ports, record, source.scopes, path=source.path
    )


def record_spec(now: RecordSpec | None, origin: RecordSpec | None, scope: ParameterScope) -> RecordSpec | None:
    if now is None:
        return None
    before = origin or RecordSpec()
    keys = ("file", "time", "every", "resample", "missing", "assume")
    values = {key: text_or_value(getattr(before, key), getattr(now, key), scope) for key in keys}
    signals = {
        name: before.signals[name] if name in before.signals and column_is(before.signals[name], column, scope) else column
        for name, column in now.signals.items()
    }
    return RecordSpec(**values, signals=signals)


def column_is(origin: ColumnSpec, now: ColumnSpec, scope: ParameterScope) -> bool:
    """Whether what was written still means the present column."""
    return (origin.column, origin.unit, origin.file) == (now.column, now.unit, now.file) and all(
        text_or_value(getattr(origin, key), getattr(now, key), scope) is getattr(origin, key)
        for key in ("scale", "offset", "delay")
    )


def block_spec(node: Node, origin: BlockSpec | None, scope: ParameterScope, path: str) -> BlockSpec:
    before = origin.settings if origin else {}
    if isinstance(node.block, Block):
        kind, declared = type(node.block).__name__, type(node.block).declared
        now = {k: v for k, v in node.block.settings.items() if k in before or not same(v, declared[k].default)}
    else:
        kind = origin.type if origin and is_subsystem(origin.type) else subsystem_type(node, node.block, path)
        now = {k: v for k, v in node.block.parameters.items() if k in before or not is_default(node.block, k)}
    # In the order of the file first, so that what was written stays as it was.
    order = [*(k for k in before if k in now), *(k for k in now if k not in before)]
    settings = {k: before[k] if k == "file" and k in before else text_or_value(before.get(k), now[k], scope) for k in order}
    return BlockSpec(node.name, kind, node.inputs, settings, node.flip, enable_spec(node.enable, origin, scope))


def enable_spec(now: EnableSpec | None, origin: BlockSpec | None, scope: ParameterScope) -> EnableSpec | None:
    if now is None or origin is None or origin.enable is None:
        return now
    before = origin.enable
    return replace(now, **{key: text_or_value(getattr(before, key), getattr(now, key), scope) for key in ("states", "outputs")})


def subsystem_type(node: Node, part: Diagram, path: str) -> str:
    """The file of a subsystem as the diagram at `path` names it."""
    if not part.path:
        raise DiagramError(
            [
                Problem(
                    f"subsystem '{node.name}' was made in Python and has no file. Save it to one, then add the "
                    "diagram loaded from there.",
                    node.place,
                )
            ]
        )
    there = os.path.relpath(part.path, os.path.dirname(path) or ".")
    return there if there.startswith("..") else f"./{there}"


def is_default(part: Diagram, name: str) -> bool:
    """Whether a subsystem's parameter has the value its own file gives it."""
    default = part.spec.parameters.get(name) if part.spec else None
    return text_or_value(default, part.parameters[name], ParameterScope(part.parameters)) is default


def text_or_value(text: Any, now: Any, scope: ParameterScope) -> Any:
    """What was written, if it still means the present value; else the present value."""
    try:
        if same(substituted(text, scope), now) or same(substituted(text, scope, time=True), now):
            return text
    except ValueError:
        pass
    return now


def same(a: Any, b: Any) -> bool:
    a, b = (x.tolist() if hasattr(x, "tolist") else x for x in (a, b))
    return bool(a == b)


def wrapped(head: str, entry: Mapping[str, Any]) -> str:
    """A mapping in flow style, broken between its keys where the line would be too long."""
    parts = [f"{text(key)}: {flow(value)}" for key, value in entry.items()]
    lines, line = [], head + "{"
    for number, part in enumerate(parts):
        piece = part + ("}" if number == len(parts) - 1 else ", ")
        if number and len(line) + len(piece.rstrip()) > LINE_WIDTH:
            lines.append(line.rstrip())
            line = " " * (len(head) + 1)
        line += piece
    return "\n".join([*lines, line if parts else line + "}"])


def flow(value: Any) -> str:
    """A value in flow style."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        special = ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
        return repr(value) if math.isfinite(value) else special
    if isinstance(value, (str, Fraction)):
        return text(str(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(str(k))}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(flow, value)) + "]"
    raise DiagramError(f"{value!r} cannot be written to a file; numbers, texts and lists can.")


def text(value: str) -> str:
    """A text, quoted where it could be read as something else."""
    if PLAIN.match(value) and isinstance(plain_value(value), str):
        return value
    escaped = "".join(ESCAPES.get(c) or (f"\\U{ord(c):08x}" if needs_escape(c) else c) for c in value)
    return f'"{escaped}"'


def plain_value(value: str) -> Any:
    try:
        return scalar(value)
    except ValueError:
        return None


def needs_escape(character: str) -> bool:
    """Whether a reader of YAML would fold, drop or refuse the character."""
    return not character.isprintable() or bool(UNREADABLE.match(character)) or character == "\ufeff"


def paragraph(value: str) -> str:
    """A longer text: its lines as they are where YAML can carry them, else quoted."""
    lines = value.removesuffix("\n").split("\n")
    simple = all(line == line.rstrip() and not any(map(needs_escape, line)) for line in lines)
    if len(lines) == 1 or not simple or not lines[-1] or lines[0][:1] in ("", " "):
        return text(value)
    mark = "|" if value.endswith("\n") else "|-"
    return "\n".join([mark, *("  " + line if line else "" for line in lines)])
