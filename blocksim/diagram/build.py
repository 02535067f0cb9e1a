"""Spec -> Diagram: parameters put in, blocks made, subsystems read, links resolved; all problems reported together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from ..contract.block import Block
from ..contract.declarations import Model, Period, Static
from ..contract.library import library as all_blocks
from ..contract.library import unknown_type
from ..errors import DiagramError, Place, Problem, did_you_mean, listing
from .checks import note, raise_all, record_problems, simulate_problems, time_problem
from .diagram import Complain, Diagram, inports, reference, resolve, signals
from .enabling import enable_problem
from .files import Folders, folders_for, is_subsystem, read_file
from .loader import MAX_BLOCKS, load, parse_spec
from .parameters import Meter, ParameterScope, SpoiledError, scope_of, substituted
from .spec import BlockSpec, EnableSpec, LogSpec, PortSpec, RecordSpec, SimulateSpec, Spec

MAX_NESTING = 20

#: Whatever names a diagram: a path, a bundled name, YAML text, a Spec, or a Diagram.
DiagramSource: TypeAlias = str | os.PathLike[str] | Spec | Diagram


def open_diagram(source: DiagramSource, parameters: Mapping[str, Any] | None = None, *, allow_outside: bool = False) -> Diagram:
    """A Diagram from whatever names one: a path, a bundled name, YAML text, a Spec, or a Diagram; its ${parameters} changed."""
    if not isinstance(source, Diagram):
        spec = source if isinstance(source, Spec) else load(source, allow_outside=allow_outside)
        return build(spec, parameters=parameters or None, allow_outside=allow_outside)
    if not parameters:
        return source
    if source.spec is None:
        raise DiagramError(f"this diagram has no parameters of its own; found {', '.join(parameters)}. Write block.parameter.")
    rebuilt = build(source.spec, parameters={**source.given, **parameters})
    for name, node in source.nodes.items():  # what was added in Python stays
        rebuilt.nodes.setdefault(name, node)
    logged_signals = {entry.signal for entry in rebuilt.log or ()}
    more = [entry for entry in source.log or () if entry.signal not in logged_signals]
    return replace(rebuilt, log=[*(rebuilt.log or ()), *more]) if more else rebuilt


def build(
    spec: Spec,
    library: Mapping[str, type[Block]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    allow_outside: bool = False,
) -> Diagram:
    """Make the diagram a Spec describes. `parameters` replaces values of its `parameters:`."""
    folders = folders_for(spec.path, allow_outside or spec.allow_outside)
    site = Site(all_blocks() if library is None else library, folders)
    values = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in (parameters or {}).items()}
    for name in values:
        if name not in spec.parameters:
            site.complain(
                f"the diagram has no parameter '{name}'. It has: {listing(spec.parameters)}."
                + did_you_mean(name, spec.parameters),
                None,
            )
    diagram = assemble(spec, values, site)
    raise_all(site.problems)
    return diagram


@dataclass
class Site:
    """What all files of one build share: the blocks known, the folders allowed, the problems found, the cost so far."""

    library: Mapping[str, type[Block]]
    folders: Folders
    problems: list[Problem] = field(default_factory=list)
    meter: Meter = field(default_factory=Meter)
    specs: dict[str, Spec | None] = field(default_factory=dict)  # by real path; None for a file that cannot be read
    files: dict[str, str] = field(default_factory=dict)  # open now, outermost first: real path -> path
    blocks: int = 0

    def complain(self, what: str, where: Place | None) -> None:
        note(self.problems, what, where)

    def complaint(self, head: str, where: Place | None) -> Complain:
        """What takes problems of one place, under one head."""
        return lambda text: self.complain(head + text, where)


def assemble(spec: Spec, values: Mapping[str, Any], site: Site) -> Diagram:
    """One file's diagram. It is complete enough to be referred to even when it has problems."""
    scope, problems = scope_of(spec.parameters, values, site.meter)
    for name, text in problems:
        site.complain(f"parameter '{name}': {text}", spec.places.get(f"parameters.{name}", spec.places.get("parameters")))
    diagram = Diagram(spec.name, spec.description, path=spec.path, spec=spec, parameters=scope.values, given=dict(values))
    real = os.path.realpath(spec.path) if spec.path else ""
    site.files[real] = spec.path
    diagram.simulate = simulate_of(spec, scope, site)
    diagram.ports = ports_of(spec, scope, site)
    for entry in spec.blocks.values():
        add_block(diagram, entry, scope, site)
    try:
        resolve(diagram)
    except DiagramError as error:
        site.problems += error.problems
    check_outputs(diagram, site)
    diagram.log = log_of(diagram, spec, scope, site)
    diagram.scopes = spec.scopes
    for axis in (axis for entry in spec.scopes or () for axis in ([entry] if isinstance(entry, str) else entry)):
        for name in axis.split(" - "):
            signals(diagram, name, site.complaint("scopes: ", spec.places.get("scopes")))
    diagram.record = record_of(diagram, spec, scope, site)
    del site.files[real]
    return diagram


def resolved_value(
    text: Any, scope: ParameterScope, site: Site, what: str, where: Place | None, time: bool = False
) -> tuple[Any, bool]:
    """A value with its parameters in place, and whether it could be had."""
    try:
        return substituted(text, scope, time), True
    except SpoiledError:
        pass
    except ValueError as error:
        site.complain(f"{what}: {error}", where)
    return None, False


def simulate_of(spec: Spec, scope: ParameterScope, site: Site) -> SimulateSpec:
    simulate = replace(spec.simulate)
    for item in fields(SimulateSpec):
        text = getattr(simulate, item.name)
        time = item.name in ("start", "stop", "step", "every")
        value, ok = resolved_value(text, scope, site, f"simulate: {item.name}", spec.places.get(f"simulate.{item.name}"), time)
        setattr(simulate, item.name, value if ok else item.default)
    site.problems += simulate_problems(simulate, spec.places)
    return simulate


def ports_of(spec: Spec, scope: ParameterScope, site: Site) -> PortSpec | None:
    if spec.ports is None:
        return None
    sizes = {}
    for name, text in spec.ports.inputs.items():
        place = spec.ports.places.get(f"in.{name}")
        size, ok = resolved_value(text, scope, site, f"ports: in: {name}", place)
        if ok and (type(size) is not int or size < 1):
            site.complain(f"ports: in: {name}: found {size!r}. A size is wanted, 1 or more.", place)
        sizes[name] = size if type(size) is int else 1
    return replace(spec.ports, inputs=sizes)


def add_block(diagram: Diagram, entry: BlockSpec, scope: ParameterScope, site: Site) -> None:
    """Make one block, or note that it cannot be made."""
    site.blocks += 1
    if site.blocks > MAX_BLOCKS:
        raise DiagramError([Problem(f"more than {MAX_BLOCKS} blocks, subsystems counted in.", entry.place)])
    settings, missing = {}, set()
    part = is_subsystem(entry.type)
    kind = None if part else site.library.get(entry.type)
    for key, text in entry.settings.items():
        time = kind is not None and isinstance(kind.declared.get(key), Period)
        if text is None and kind is not None and key in kind.declared and kind.declared[key].required:
            continue  # an empty key gives nothing
        value, ok = resolved_value(text, scope, site, f"block '{entry.name}': {key}", entry.places.get(key, entry.place), time)
        if ok and key == "file" and isinstance(value, str) and (part or (kind and isinstance(kind.declared.get(key), Static))):
            value, ok = file_path(diagram, entry, value, site)
        if ok:
            settings[key] = value
        else:
            missing.add(key)
    block: Block | Diagram | None
    if part:
        block = subsystem(diagram, entry, settings, missing, site)
    elif kind is None:
        block = None
        site.complain(f"block '{entry.name}': {unknown_type(entry.type, site.library)}", entry.places.get("type", entry.place))
    else:
        block = made(kind, entry, settings, missing, site)
    if block is None:
        diagram.unmade.add(entry.name)
        return
    try:
        enable = enable_in(entry, scope, site)
        diagram.add(entry.name, block, entry.inputs, flip=entry.flip, place=entry.place, places=entry.places, enable=enable)
    except DiagramError as error:
        site.problems += [Problem(p.what, entry.place) for p in error.problems]


def enable_in(entry: BlockSpec, scope: ParameterScope, site: Site) -> EnableSpec | None:
    """`enable:` with its parameters in place."""
    if entry.enable is None:
        return None
    head, where = f"block '{entry.name}': enable: ", entry.places.get("enable", entry.place)
    keys = ("states", "outputs")
    values = [resolved_value(getattr(entry.enable, key), scope, site, f"{head}{key}", where) for key in keys]
    spec = replace(entry.enable, **{key: value for key, (value, ok) in zip(keys, values, strict=True) if ok})
    if all(ok for _, ok in values) and (text := enable_problem(spec)):
        site.complain(head + text, where)
    return spec


def made(kind: type[Block], entry: BlockSpec, settings: dict[str, Any], missing: set[str], site: Site) -> Block:
    """The block with these settings; with the defaults in place of bad ones, so that its ports can still be checked."""
    problems = time_texts(kind, settings)
    missing = missing | {key for key, _ in problems}
    try:
        own = kind.problems({key: value for key, value in settings.items() if key not in missing})
        problems += [(key, text) for key, text in own if key not in missing]
    except Exception as error:  # a library's own check met something it did not foresee; the user still needs the line
        problems.append(("", f"its settings cannot be checked: {type(error).__name__}: {error}"))
    for key, text in problems:
        verb = " has " if text.startswith("no parameter") else ": "
        hint = input_hint(kind, key) if verb == " has " else ""
        site.complain(f"block '{entry.name}'{verb}{text}{hint}", entry.places.get(key, entry.place))
    if not problems and not missing:
        return kind(**settings)
    stand_in = kind.__new__(kind)
    stand_in.settings = {name: d.default for name, d in kind.declared.items() if d.settable}
    if kind.of(Model):  # its ports follow what it names
        bad = missing | {key for key, _ in problems}
        stand_in.settings |= {key: value for key, value in settings.items() if key in kind.of(Static) and key not in bad}
    return stand_in


def time_texts(kind: type[Block], settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Times given as texts that are none; looked at before exact() would multiply out something like '1e999999999'."""
    texts = {k: v for k, v in settings.items() if isinstance(v, str) and isinstance(kind.declared.get(k), Period)}
    return [(key, f"{key}: {text}") for key, value in texts.items() if (text := time_problem(value, zero=True))]


def input_hint(kind: type[Block], key: str) -> str:
    if key in inports(kind.__new__(kind)):
        return f" '{key}' is an input: write in: {{{key}: <block>}}."
    if key == "enable":
        return " `enable:` switches subsystems: put the block into a file with ports:."
    return " Inputs are written in: <block>." if key in ("input", "inputs", "from") else ""


def file_path(diagram: Diagram, entry: BlockSpec, name: str, site: Site) -> tuple[str, bool]:
    """The absolute path of the file a block reads."""
    try:
        return os.path.abspath(site.folders.locate(name, diagram.path)), True
    except ValueError as error:
        site.complain(f"block '{entry.name}': file: {error}", entry.places.get("file", entry.place))
        return name, False


def subsystem(diagram: Diagram, entry: BlockSpec, settings: dict[str, Any], missing: set[str], site: Site) -> Diagram | None:
    """The diagram of another file as one block, its `parameters:` being the settings."""
    where = entry.places.get("type", entry.place)
    spec = None
    try:
        path = site.folders.locate(entry.type, diagram.path)
        spec = subsystem_spec(path, entry, where, site)
    except ValueError as error:
        site.complain(f"block '{entry.name}': {error}", where)
    if spec is None:
        return None
    if spec.ports is None:
        site.complain(
            f"block '{entry.name}': '{entry.type}' has no ports. A subsystem has ports: {{in: [...], out: {{...}}}}.", where
        )
        return None
    for key in [k for k in settings if k not in spec.parameters]:
        del settings[key]
        site.complain(
            f"block '{entry.name}' has no parameter '{key}'. {entry.type} takes: {listing(spec.parameters)}."
            + did_you_mean(key, spec.parameters),
            entry.places.get(key, entry.place),
        )
    before = len(site.problems)
    part = assemble(spec, {**dict.fromkeys(missing & spec.parameters.keys(), 0), **settings}, site)
    if missing:
        del site.problems[before:]  # found with stand-in numbers: not the user's mistakes
    blame(site, before, entry, where)
    return part


def subsystem_spec(path: str, entry: BlockSpec, where: Place | None, site: Site) -> Spec | None:
    """The Spec of a subsystem's file, read once. ValueError, in words, where it cannot be used at all."""
    real = os.path.realpath(path)
    if real in site.files:
        cycle = list(site.files.values())[list(site.files).index(real) :]
        raise ValueError(f"a subsystem cannot contain itself: {' -> '.join([*cycle, path])}.")
    if len(site.files) > MAX_NESTING:
        raise ValueError(f"subsystems are nested deeper than {MAX_NESTING} levels.")
    if real not in site.specs:
        site.specs[real] = None
        before = len(site.problems)
        try:
            site.specs[real] = parse_spec(read_file(path, path), path)
        except DiagramError as error:
            site.problems += error.problems
            blame(site, before, entry, where)
    return site.specs[real]


def blame(site: Site, before: int, entry: BlockSpec, where: Place | None) -> None:
    """Say which block uses the file in which the problems since `before` were found; a repeated problem is said once."""
    earlier = {p.what.split(" (used by ")[0] + str(p.where) for p in site.problems[:before]}
    fresh = [p for p in site.problems[before:] if p.what.split(" (used by ")[0] + str(p.where) not in earlier]
    user = f" (used by block '{entry.name}'" + (f", {where})" if where else ")")
    site.problems[before:] = [Problem(p.what + user, p.where) for p in fresh]


def check_outputs(diagram: Diagram, site: Site) -> None:
    """Each output of a subsystem must carry a signal of its own."""
    for name, signal in (diagram.ports.outputs if diagram.ports else {}).items():
        place = diagram.ports.places.get(name) if diagram.ports else None
        reference(diagram, signal, site.complaint(f"ports: out: {name}: ", place))


def log_of(diagram: Diagram, spec: Spec, scope: ParameterScope, site: Site) -> list[LogSpec] | None:
    if spec.log is None:
        return None
    entries = []
    for entry in spec.log:
        every, ok = resolved_value(entry.every, scope, site, "log: every", entry.place, time=True)
        if ok and (text := time_problem(every)):
            site.complain(f"log: every: {text}", entry.place)
        signals(diagram, entry.signal, site.complaint("log: ", entry.place))
        entries.append(replace(entry, every=every))
    return entries


def record_of(diagram: Diagram, spec: Spec, scope: ParameterScope, site: Site) -> RecordSpec | None:
    """How a measured record is read, every signal it names being one of the diagram's."""
    if spec.record is None:
        return None
    record = replace(spec.record)

    def value(text: Any, key: str, time: bool = False) -> Any:
        return resolved_value(text, scope, site, f"record: {key}", record.places.get(key), time)[0]

    record.file, record.time, record.missing = (value(getattr(record, key), key) for key in ("file", "time", "missing"))
    record.every, record.resample = (value(getattr(record, key), key, time=True) for key in ("every", "resample"))
    record.signals = {
        signal: replace(column, **{key: value(getattr(column, key), f"signals.{signal}") for key in ("scale", "offset", "delay")})
        for signal, column in record.signals.items()
    }
    site.problems += record_problems(record)
    for signal in record.signals:
        place = record.places.get(f"signals.{signal}")
        refs = signals(diagram, signal, site.complaint("record: signals: ", place))
        if len(refs) > 1:
            site.complain(f"record: signals: '{signal}' has several outputs; say which: {listing(map(str, refs))}.", place)
    return record
