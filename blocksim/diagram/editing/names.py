"""The names of blocks wherever a file uses them: a block renamed or deleted, and all that speaks of it follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ...contract.declarations import Model, Static
from ...contract.library import library
from ..diagram import NAME
from .operations import Change, Meaning, block_of, port_names, refusal_of
from .wires import Ports, by_port, plainest, unmarked

#: Between two signals whose difference is shown.
MINUS_SIGN = " - "
BLOCK_HEAD = re.compile(r"([A-Za-z_]\w*)(.*)\Z", re.DOTALL)


def rename_block(meaning: Meaning, old: str, new: str) -> Change:
    """Another name for a block: wires, models, starts, the log, outputs and columns follow. `${...}` names no block."""
    block_of(meaning, old)
    if not NAME.match(new):
        raise refusal_of(f"'{new}' cannot name a block; letters, digits and _ can, and no digit first.")
    if new in meaning["blocks"] or new in port_names(meaning):
        raise refusal_of(f"there is a block or an input '{new}' already. Choose another name.")

    def again(signal: Any) -> Any:
        return renamed(signal, old, new)

    result = dict(meaning)
    entries = {name: block_again(meaning, entry, again) for name, entry in meaning["blocks"].items()}
    result["blocks"] = {new if name == old else name: entry for name, entry in entries.items()}
    if isinstance(meaning.get("log"), list):
        result["log"] = [log_again(entry, again) for entry in meaning["log"]]
    if isinstance(meaning.get("scopes"), list):
        result["scopes"] = nested(meaning["scopes"], again)
    if isinstance(meaning.get("ports"), dict) and isinstance(meaning["ports"].get("out"), dict):
        outputs = {name: again(signal) for name, signal in meaning["ports"]["out"].items()}
        result["ports"] = {**meaning["ports"], "out": outputs}
    renames: dict[tuple[str, ...], str] = {("blocks", old): new}
    record = meaning.get("record")
    if isinstance(record, dict) and isinstance(record.get("signals"), dict):
        result["record"] = {**record, "signals": {again(name): column for name, column in record["signals"].items()}}
        renames |= {("record", "signals", name): again(name) for name in record["signals"] if again(name) != name}
    news = (f"Studies and scripts that say {old}.* elsewhere still say {old}.",)
    return Change(result, f"{old} renamed to {new}", renames, news)


def renamed(signal: Any, old: str, new: str) -> Any:
    """'old', 'old.port', 'old.port[1]' with the other name; anything else as it is."""
    match = BLOCK_HEAD.match(signal) if isinstance(signal, str) else None
    if match is None or match[1] != old or (match[2] and match[2][0] not in ".["):
        return signal
    return new + match[2]


def block_again(meaning: Meaning, entry: Any, again: Callable[[Any], Any]) -> Any:
    """A block's entry whose signals, models and starts have their other names."""
    if not isinstance(entry, dict):
        return entry
    return {key: spoken(meaning, entry, key, value, again) for key, value in entry.items()}


def spoken(meaning: Meaning, entry: Mapping[str, Any], key: str, value: Any, again: Callable[[Any], Any]) -> Any:
    """One key of a block with the blocks it names put through `again`."""
    kind = library().get(entry.get("type", ""))
    if key == "enable" and kind is None:  # of a subsystem
        return log_again(value, again)
    if key == "in":
        if isinstance(value, dict):
            return {port: [again(s) for s in item] if isinstance(item, list) else again(item) for port, item in value.items()}
        return [again(s) for s in value] if isinstance(value, list) else again(value)
    if kind is None:
        return value
    if isinstance(kind.declared.get(key), Model):
        return again(value)
    if key not in kind.starts_from:
        return value
    if isinstance(value, str):
        return value if value in kind.start_words else again(value)
    if not isinstance(value, dict):
        return value
    return {name: start_again(meaning, entry, name, first, again) for name, first in value.items()}


def start_again(meaning: Meaning, entry: Mapping[str, Any], name: str, first: Any, again: Callable[[Any], Any]) -> Any:
    """A starting value that names a block; a word for a setting of the plant, `friction: tanh`, names none."""
    if isinstance(first, dict):
        return {**first, "start": again(first["start"])} if isinstance(first.get("start"), str) else first
    plant = (meaning.get("blocks") or {}).get(entry.get("model", ""), {})
    kind = library().get(plant.get("type", "") if isinstance(plant, dict) else "")
    return first if kind is not None and isinstance(kind.declared.get(name), Static) else again(first)


def log_again(entry: Any, again: Callable[[Any], Any]) -> Any:
    return {**entry, "signal": again(entry.get("signal"))} if isinstance(entry, dict) else again(entry)


def nested(signals: Any, again: Callable[[Any], Any]) -> Any:
    """Signals in lists in lists, and differences of two, `a - b`, as `scopes:` has them."""
    if isinstance(signals, list):
        return [nested(item, again) for item in signals]
    return MINUS_SIGN.join(again(part) for part in signals.split(MINUS_SIGN)) if isinstance(signals, str) else signals


def signals_left(signals: list[Any], is_gone: Callable[[Any], bool]) -> list[Any]:
    """The same without what is gone, and without lists that are empty then."""
    items = [signals_left(item, is_gone) if isinstance(item, list) else item for item in signals]
    return [item for item in items if item != [] and not (isinstance(item, str) and any(map(is_gone, item.split(MINUS_SIGN))))]


def delete_block(meaning: Meaning, name: str, ports: Mapping[str, Ports]) -> Change:
    """A block less: what read it is disconnected, logged or put out no more; models that name it are told, not changed.

    `ports` has the inputs of the blocks that read it.
    """
    block_of(meaning, name)

    def is_gone(signal: Any) -> bool:
        return bool(renamed(signal, name, name + "_") != signal)

    news: list[str] = []
    result = dict(meaning)
    result["blocks"] = {}
    for other, entry in meaning["blocks"].items():
        if other != name:
            result["blocks"][other] = without(meaning, other, entry, is_gone, ports.get(other), news)
    if not result["blocks"]:
        raise refusal_of(f"'{name}' is the last block; a diagram has at least one.")
    log = meaning.get("log")
    if isinstance(log, list):
        rest = [entry for entry in log if not is_gone(entry.get("signal") if isinstance(entry, dict) else entry)]
        news += ["no longer logged."] * (len(rest) < len(log))
        result = {key: rest if key == "log" else value for key, value in result.items() if key != "log" or rest}
    if isinstance(meaning.get("scopes"), list):
        axes = signals_left(meaning["scopes"], is_gone)
        result = {key: axes if key == "scopes" else value for key, value in result.items() if key != "scopes" or axes}
    outputs = (meaning.get("ports") or {}).get("out")
    if isinstance(outputs, dict):
        kept_outputs = {port: signal for port, signal in outputs.items() if not is_gone(signal)}
        news += [f"output '{port}' of the subsystem is gone with it." for port in outputs if port not in kept_outputs]
        result["ports"] = {**meaning["ports"], "out": kept_outputs}
    record = meaning.get("record")
    if isinstance(record, dict) and isinstance(record.get("signals"), dict):
        columns = {signal: column for signal, column in record["signals"].items() if not is_gone(signal)}
        result["record"] = {**record, "signals": columns}
    return Change(result, f"{name} deleted", news=tuple(f"{name} deleted: {text}" for text in news))


def without(
    meaning: Meaning, other: str, entry: Any, is_gone: Callable[[Any], bool], ports: Ports | None, news: list[str]
) -> Any:
    """Another block's entry once the block is gone."""
    if not isinstance(entry, dict):
        return entry
    for key, value in entry.items():
        if key != "in" and spoken(meaning, entry, key, value, lambda s: None if is_gone(s) else s) != value:
            news.append(f"{other}: {key}: {value} names it still; name another one.")
    inputs = entry.get("in")
    groups = inputs.values() if isinstance(inputs, dict) else [inputs]
    signals = [signal for group in groups for signal in (group if isinstance(group, list) else [group])]
    if not any(map(is_gone, signals)):
        return entry
    news.append(f"{other} no longer reads it.")
    rest = remaining(inputs, is_gone, ports)
    if len(ports or ()) == 1 and next(iter((ports or {}).values())):
        entry = unmarked(entry, len(signals), {i for i, signal in enumerate(signals) if is_gone(signal)})
    return {key: rest if key == "in" else value for key, value in entry.items() if key != "in" or rest is not None}


def remaining(inputs: Any, is_gone: Callable[[Any], bool], ports: Ports | None) -> Any:
    """`in:` with the signals of the block gone; None where none is left."""
    if isinstance(inputs, dict):
        left: dict[str, Any] = {}
        for port, value in inputs.items():
            if isinstance(value, list):
                value = [s for s in value if not is_gone(s)] or None
            if value is not None and not is_gone(value):
                left[port] = value
        return left or None
    if not isinstance(inputs, list):
        return None
    if ports is None:  # a type nobody knows: what is left closes up
        return [s for s in inputs if not is_gone(s)] or None
    links = {port: [s for s in items if not is_gone(s)] for port, items in by_port(inputs, ports).items()}
    return plainest({port: items for port, items in links.items() if items}, ports, keep_list=True)
