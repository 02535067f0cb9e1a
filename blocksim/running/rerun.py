"""rerun(): the run that made a record, once more from its provenance, which is checked as any input is.

A record that was read from a file may be a stranger's. It cannot say which files are read: not where its diagram lay, nor that
files outside a folder may be read, nor which file a block reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Unpack

from ..diagram.build import open_diagram
from ..diagram.checks import brief_value, is_number, simulate_problems
from ..diagram.files import bundled_root, folders_of
from ..diagram.loader import parse_spec
from ..diagram.spec import SimulateSpec
from ..errors import DiagramError, Problem, RecordError
from ..records.record import Record
from .simulate import SimulateOptions, simulate


def rerun(record: Record | str | os.PathLike[str], *, allow_outside: bool = False, **options: Unpack[SimulateOptions]) -> Record:
    """Run the diagram of a record, or of a file with one, again from its provenance; options change what they name: seed=4.

    A diagram that came from a file finds its subsystems and records beside that file. Where the record itself was read from a
    file, that holds for a diagram in the current folder or a bundled one; `allow_outside` believes the record for any other.
    """
    if not isinstance(record, Record):
        record = Record.load(record)
    if not record.provenance.get("diagram"):
        raise RecordError("this record carries no diagram: it was measured or made by hand, so there is nothing to run again.")
    about = checked_provenance(record)
    strange = bool(record.file) and not allow_outside
    path = about["path"]
    believed = not strange or folders_of(".", bundled_root()).holds(path)
    files = [name for name in about["params"] if name.rpartition(".")[2] == "file"]
    if strange and files:
        raise RecordError(
            f"{record.file}: its provenance says which file a block reads ({files[0]}), which a record that was read from a file "
            "may not. If you trust it: rerun(record, allow_outside=True)."
        )
    try:
        diagram = open_diagram(parse_spec(about["diagram"], path if believed else "", allow_outside))
    except DiagramError as error:
        if believed:
            raise
        hint = (
            f"{record.file}: that its diagram lay in '{os.path.dirname(path)}' is the record's own word. If you trust it: "
            "rerun(record, allow_outside=True)."
        )
        raise DiagramError([*error.problems, Problem(hint)]) from None
    earlier: Any = {**about["options"], "params": about["params"] or None}
    return simulate(diagram, **{**{n: v for n, v in earlier.items() if v is not None}, **options})


def checked_provenance(record: Record) -> dict[str, Any]:
    """diagram, path, options and params of a record's provenance, each of the kind it must be."""
    about, wrong = record.provenance, []
    for key in ("diagram", "path"):
        if not isinstance(about.get(key, ""), str):
            wrong.append(f"{key}: found {brief_value(about[key])}. A text is wanted.")
    params = about.get("parameters") or {}
    if not isinstance(params, Mapping) or not all(isinstance(name, str) and is_setting(v) for name, v in params.items()):
        wrong.append(f"parameters: found {brief_value(params)}. Numbers, texts or lists by name are wanted.")
    names = [field.name for field in fields(SimulateSpec)]
    options = {name: about[name] for name in names if about.get(name) is not None}
    wrong += [p.what.removeprefix("simulate: ") for p in simulate_problems(replace(SimulateSpec(), **options), {})]
    if wrong:
        raise RecordError(f"{record.file or 'this record'}: its provenance is not that of a run: {' '.join(wrong)}")
    return {"diagram": about["diagram"], "path": about.get("path", ""), "options": options, "params": dict(params)}


def is_setting(value: Any) -> bool:
    """Whether a value is one that a setting may have: a number, a text, or a list of such."""
    return (
        is_number(value) or isinstance(value, (str, bool)) or (isinstance(value, (list, tuple)) and all(map(is_setting, value)))
    )
