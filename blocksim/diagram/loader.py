"""Text -> Spec, checked against the format, and back: every problem of a file in one error, each with its line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from ..errors import Place, Problem, did_you_mean, listing
from .checks import brief_value, is_reference, note, raise_all, record_problems, simulate_problems, time_problem
from .diagram import NAME
from .enabling import enable_of
from .files import bundled, bundled_root, find_diagram, is_subsystem, read_file
from .spec import FORMAT, BlockSpec, ColumnSpec, LogSpec, PortSpec, RecordSpec, SimulateSpec, Spec
from .writer import dump, save
from .yaml_lines import Lined, read_yaml

__all__ = ["bundled", "bundled_root", "dump", "find_diagram", "load", "save"]

DIAGRAM_KEYS = ("format", "name", "description", "simulate", "parameters", "blocks", "log", "scopes", "ports", "record")
#: Keys of a block that are not its settings.
RESERVED = ("type", "in", "flip")
MAX_BLOCKS = 20_000


def load(source: str | os.PathLike[str], *, allow_outside: bool = False) -> Spec:
    """Read a diagram: a path, a bundled name such as 'one_dof/pid', or YAML text (anything with a line break)."""
    if isinstance(source, str) and "\n" in source:
        return parse_spec(source, "", allow_outside)
    path = find_diagram(source)
    return parse_spec(read_file(path, path), path, allow_outside)


def parse_spec(text: str, path: str, allow_outside: bool = False) -> Spec:
    """The Spec of a text that came from this path ('' for none)."""
    spec, problems = readable_part(text, path, allow_outside)
    raise_all(problems)
    return spec


def readable_part(text: str, path: str, allow_outside: bool = False) -> tuple[Spec, list[Problem]]:
    """What can be read of a text, and what is wrong with the rest."""
    file = path or "<text>"
    root, problems = read_yaml(text, file)
    reader = SpecReader(file, problems)
    spec = reader.spec(root)
    spec.path, spec.text, spec.allow_outside = path, text, allow_outside
    return spec, reader.problems


class SpecReader:
    """Reads one file's tree into a Spec, collecting what is wrong on the way."""

    def __init__(self, file: str, problems: list[Problem]):
        self.file = file
        self.problems = problems

    def complain(self, what: str, at: Lined) -> None:
        note(self.problems, what, self.place(at))

    def place(self, at: Lined) -> Place:
        return Place(self.file, at.line)

    def spec(self, root: Lined) -> Spec:
        spec = Spec()
        top = self.mapping(root, "a diagram file")
        if not self.format_is_known(root, top):
            return spec
        self.known_keys(top, DIAGRAM_KEYS, "a diagram file")
        spec.places = {key: self.place(item) for key, item in top.items()}
        for key in ("name", "description"):
            setattr(spec, key, self.text(top[key], key) if key in top else "")
        if "simulate" in top:
            self.simulate(top["simulate"], spec)
        if "parameters" in top:
            self.parameters(top["parameters"], spec)
        if "blocks" in top:
            self.blocks(top["blocks"], spec)
        else:
            self.complain("there is no 'blocks:'. A diagram names its blocks there: blocks: {name: {type: ...}}.", root)
        if "log" in top and top["log"].value is not None:
            spec.log = [entry for item in self.sequence(top["log"], "log") if (entry := self.log_entry(item))]
        if "scopes" in top and top["scopes"].value is not None:
            spec.scopes = [axis for item in self.sequence(top["scopes"], "scopes") if (axis := self.scope(item))]
        if "ports" in top and top["ports"].value is not None:
            spec.ports = self.ports(top["ports"], spec)
        if "record" in top and top["record"].value is not None:
            spec.record = self.record(top["record"])
        return spec

    def format_is_known(self, root: Lined, top: dict[str, Lined]) -> bool:
        """Whether reading on makes sense: a newer format may mean anything by its keys."""
        if "study" in top or "design" in top:
            kind = "study" if "study" in top else "design"
            self.complain(f"this is a {kind}, not a diagram; it only names one. Run it with: blocksim {kind}.", top[kind])
            return False
        if not isinstance(root.value, dict):
            return False
        if "format" not in top:
            self.complain(f"the format is missing. Write format: {FORMAT} at the top.", root)
            return True
        number = top["format"].value
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            self.complain(f"format: found {brief_value(number)}. Write format: {FORMAT}.", top["format"])
        elif number > FORMAT:
            self.complain(f"format {number} is newer than this blocksim reads ({FORMAT}). Update blocksim.", top["format"])
            return False
        return True

    def simulate(self, at: Lined, spec: Spec) -> None:
        allowed = [f.name for f in fields(SimulateSpec)]
        entries = self.mapping(at, "simulate")
        self.known_keys(entries, allowed, "simulate")
        for key, item in entries.items():
            spec.places[f"simulate.{key}"] = self.place(item)
            if key in allowed and item.value is not None:
                setattr(spec.simulate, key, item.plain())
        self.problems += simulate_problems(spec.simulate, spec.places)

    def parameters(self, at: Lined, spec: Spec) -> None:
        for name, item in self.mapping(at, "parameters").items():
            spec.places[f"parameters.{name}"] = self.place(item)
            if not NAME.match(name) or name in RESERVED:
                self.complain(f"'{name}' cannot name a parameter; letters, digits and _ can, except {listing(RESERVED)}.", item)
            elif isinstance(item.value, dict):
                self.complain(f"parameter '{name}': found a mapping. A number, a text or a list is wanted.", item)
            else:
                spec.parameters[name] = item.plain()

    def blocks(self, at: Lined, spec: Spec) -> None:
        entries = self.mapping(at, "blocks")
        if not entries and isinstance(at.value, (dict, type(None))):
            self.complain("'blocks:' is empty. A diagram has at least one: blocks: {name: {type: ...}}.", at)
        if len(entries) > MAX_BLOCKS:
            self.complain(f"{len(entries)} blocks; at most {MAX_BLOCKS} are read.", at)
            return
        for name, item in entries.items():
            if not NAME.match(name):
                self.complain(f"'{name}' cannot name a block; letters, digits and _ can, and no digit first.", item)
            elif block := self.block(name, item):
                spec.blocks[name] = block

    def block(self, name: str, at: Lined) -> BlockSpec | None:
        if not isinstance(at.value, dict):
            self.complain(f"block '{name}': found {brief_value(at.plain())}. Write {name}: {{type: ..., in: ...}}.", at)
            return None
        entries: dict[str, Lined] = at.value
        kind = entries.get("type")
        if kind is None:
            self.complain(f"block '{name}' has no type. Write {name}: {{type: ...}}." + did_you_mean("type", entries), at)
            return None
        if not isinstance(kind.value, str) or not kind.value:
            self.complain(f"block '{name}': type: found {brief_value(kind.value)}. The name of a block type is wanted.", kind)
            return None
        block = BlockSpec(name, kind.value, place=self.place(at), places={key: self.place(item) for key, item in entries.items()})
        switch = "enable" if is_subsystem(block.type) else ""  # of a block it would be a setting
        block.settings = {key: item.plain() for key, item in entries.items() if key not in RESERVED and key != switch}
        if switch in entries:
            try:
                block.enable = enable_of(entries[switch].plain())
            except ValueError as error:
                self.complain(f"block '{name}': enable: {error}", entries[switch])
        if "in" in entries:
            block.inputs = self.inputs(name, entries["in"])
        if "flip" in entries:
            block.flip = entries["flip"].value
            if not isinstance(block.flip, bool):
                self.complain(f"block '{name}': flip: found {brief_value(block.flip)}. true or false is wanted.", entries["flip"])
        return block

    def inputs(self, name: str, at: Lined) -> Any:
        """`in:` as written: a signal, a list of them, or a mapping of ports to them."""

        def is_signal(item: Any) -> bool:
            return isinstance(item, str) and bool(item)

        def are_signals(items: Any) -> bool:
            return is_signal(items) or (isinstance(items, list) and bool(items) and all(map(is_signal, items)))

        value = at.plain()
        if value is None or are_signals(value) or (isinstance(value, dict) and all(map(are_signals, value.values()))):
            return value
        self.complain(f"block '{name}': in: found {brief_value(value)}. Write in: block, [a, b.y] or {{port: block}}.", at)
        return None

    def log_entry(self, at: Lined) -> LogSpec | None:
        if isinstance(at.value, str) and at.value:
            return LogSpec(at.value, place=self.place(at))
        if not isinstance(at.value, dict):
            self.complain(f"log: found {brief_value(at.plain())}. Write a signal or {{signal: block.port, every: seconds}}.", at)
            return None
        self.known_keys(at.value, ("signal", "every"), "a log entry")
        signal = at.value.get("signal", at)
        if not isinstance(signal.value, str):
            self.complain("log: an entry names its signal: {signal: block.port, every: seconds}.", signal)
            return None
        every = at.value["every"].plain() if "every" in at.value else None
        if text := time_problem(every):
            self.complain(f"log: every: {text}", at.value["every"])
        return LogSpec(signal.value, every, self.place(at))

    def scope(self, at: Lined) -> str | list[str] | None:
        axis: str | list[str] = at.plain()
        if axis and (isinstance(axis, str) or (isinstance(axis, list) and all(isinstance(name, str) for name in axis))):
            return axis
        self.complain(f"scopes: found {brief_value(axis)}. Write a signal, or a list of signals that share an axis.", at)
        return None

    def ports(self, at: Lined, spec: Spec) -> PortSpec:
        ports = PortSpec()
        entries = self.mapping(at, "ports")
        self.known_keys(entries, ("in", "out"), "ports")
        inputs = entries.get("in", Lined(None, at.line))
        if isinstance(inputs.value, list):
            sizes = [(item.value, Lined(1, item.line)) for item in inputs.value]
        else:
            sizes = list(self.mapping(inputs, "ports: in").items())
        for name, size in sizes:
            ports.places[f"in.{name}"] = self.place(size)
            if not isinstance(name, str) or not NAME.match(name):
                self.complain(f"ports: {brief_value(name)} cannot name an input; letters, digits and _ can.", size)
            elif name in ports.inputs or name in spec.blocks:
                self.complain(f"ports: the name '{name}' is taken by {'an input' if name in ports.inputs else 'a block'}.", size)
            elif not is_reference(size.value) and (type(size.value) is not int or size.value < 1):
                self.complain(f"ports: in: {name}: found {brief_value(size.value)}. A size is wanted, 1 or more.", size)
            else:
                ports.inputs[name] = size.value
        for name, signal in self.mapping(entries.get("out", Lined(None, at.line)), "ports: out").items():
            ports.places[name] = self.place(signal)
            if not NAME.match(name):
                self.complain(f"ports: '{name}' cannot name an output; letters, digits and _ can.", signal)
            elif not isinstance(signal.value, str):
                self.complain(f"ports: out: {name}: found {brief_value(signal.plain())}. A signal is wanted: block.port.", signal)
            else:
                ports.outputs[name] = signal.value
        return ports

    def record(self, at: Lined) -> RecordSpec:
        record = RecordSpec()
        allowed = [f.name for f in fields(RecordSpec) if f.name != "places"]
        entries = self.mapping(at, "record")
        self.known_keys(entries, allowed, "record")
        record.places = {key: self.place(item) for key, item in entries.items()}
        for key, item in entries.items():
            if key in allowed and key != "signals" and item.value is not None:
                setattr(record, key, item.plain())
        for signal, item in self.mapping(entries.get("signals", Lined(None, at.line)), "record: signals").items():
            record.places[f"signals.{signal}"] = self.place(item)
            if column := self.column(signal, item):
                record.signals[signal] = column
        self.problems += record_problems(record)
        return record

    def column(self, signal: str, at: Lined) -> ColumnSpec | None:
        """One signal's column: a name, a list of names for a vector, or a mapping with unit, scale and offset."""
        keys = ("column", "unit", "scale", "offset", "file", "delay")
        entries = at.value if isinstance(at.value, dict) else {"column": at}
        self.known_keys(entries, keys, f"record: signals: {signal}")
        column = entries["column"].plain() if "column" in entries else None
        names = column if isinstance(column, list) else [column]
        if not names or not all(isinstance(name, (str, int)) and name not in ("", True, False) for name in names):
            self.complain(
                f"record: signals: {signal}: found {brief_value(column)}. The name of a column is wanted, a list of "
                "them for a vector, or {column: name, unit: mm, scale: 1, offset: 0}.",
                at,
            )
            return None
        options = {key: entries[key].plain() for key in keys[1:] if key in entries}
        return ColumnSpec(
            [str(n) for n in names] if isinstance(column, list) else str(column),
            [str(u) for u in units] if isinstance(units := options.get("unit"), list) else str(units or ""),
            options.get("scale"),
            options.get("offset"),
            self.place(at),
            str(options.get("file") or ""),
            options.get("delay"),
        )

    def mapping(self, at: Lined, where: str) -> dict[str, Lined]:
        if not isinstance(at.value, dict):
            if at.value is not None:
                self.complain(f"{where}: found {brief_value(at.plain())}. A mapping is wanted: key: value.", at)
            return {}
        return at.value

    def sequence(self, at: Lined, where: str) -> list[Lined]:
        if not isinstance(at.value, list):
            self.complain(f"{where}: found {brief_value(at.plain())}. A list is wanted: [a, b].", at)
            return []
        return at.value

    def text(self, at: Lined, key: str) -> str:
        if isinstance(at.value, (dict, list)):
            self.complain(f"{key}: found {brief_value(at.plain())}. A text is wanted.", at)
            return ""
        return "" if at.value is None else str(at.value)

    def known_keys(self, entries: dict[str, Lined], allowed: Iterable[str], where: str) -> None:
        options = list(allowed)
        for key, item in entries.items():
            if key not in options:
                self.complain(f"{where} has no key '{key}'. It takes: {listing(options)}." + did_you_mean(key, options), item)
