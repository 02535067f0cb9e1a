"""Wires as `in:` writes them: one signal, a list in port order, or a mapping of ports; each is changed in the form it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import did_you_mean, listing
from .operations import Change, Meaning, block_of, refusal_of, with_block, with_entry

#: The inputs of a block in order; True for one that takes many signals.
Ports = Mapping[str, bool]
#: Settings with one character for each signal of such an input, and the one that a new signal gets.
SIGN_SETTINGS = {"signs": "+", "operations": "*"}


def connect_input(meaning: Meaning, block: str, port: str, signal: str, ports: Ports) -> Change:
    """Let an input read a signal; one that takes many reads it beside those it has."""
    known_port(block, port, ports)
    entry = block_of(meaning, block)
    if signal in signals_at(entry.get("in"), port, ports):
        raise refusal_of(f"block '{block}': input '{port}' reads '{signal}' already.")
    count = len(signals_at(entry.get("in"), port, ports))
    inputs = inputs_with(entry.get("in"), port, signal, ports)
    if ports[port]:
        entry = {k: v + SIGN_SETTINGS[k] if k in SIGN_SETTINGS and v and len(v) == count else v for k, v in entry.items()}
    return Change(with_block(meaning, block, with_entry(entry, "in", inputs, ("flip", "enable"))), f"{signal} to {block}.{port}")


def disconnect_input(meaning: Meaning, block: str, port: str, ports: Ports, signal: str = "") -> Change:
    """Let an input read nothing; of one that takes many, `signal` says which goes."""
    known_port(block, port, ports)
    entry = block_of(meaning, block)
    present = signals_at(entry.get("in"), port, ports)
    if not present or (signal and signal not in present):
        raise refusal_of(f"block '{block}': input '{port}' reads {listing(present)}" + (f", not '{signal}'." if signal else "."))
    at = present.index(signal or present[-1])
    inputs = inputs_without(entry.get("in"), port, present[at], ports)
    if ports[port] and inputs is not None:
        entry = unmarked(entry, len(present), {at})
    rest = {key: value for key, value in entry.items() if key != "in"}
    new = rest if inputs is None else with_entry(entry, "in", inputs)
    return Change(with_block(meaning, block, new), f"{block}.{port} disconnected")


def unmarked(entry: dict[str, Any], count: int, places: set[int]) -> dict[str, Any]:
    """A block's entry whose signs lack those at some places; where there is one sign for each of `count` signals."""
    fitting = [key for key in SIGN_SETTINGS if isinstance(entry.get(key), str) and len(entry[key]) == count > len(places)]
    return {k: "".join(c for i, c in enumerate(v) if i not in places) if k in fitting else v for k, v in entry.items()}


def known_port(block: str, port: str, ports: Ports) -> None:
    if port not in ports:
        raise refusal_of(f"block '{block}' has no input '{port}'. It has: {listing(ports)}." + did_you_mean(port, ports))


def by_port(inputs: Any, ports: Ports) -> dict[str, list[str]]:
    """What each port reads, whichever form it is written in; ports that read nothing are left out."""
    if inputs is None:
        return {}
    if isinstance(inputs, dict):
        result: dict[str, list[str]] = {}
        for key, value in inputs.items():
            numbered = re.match(r"(.*?)\d+\Z", key)
            name = key if key in ports or not numbered or numbered[1] not in ports else numbered[1]
            result.setdefault(name, []).extend(value if isinstance(value, list) else [value])
        return result
    queue = list(inputs) if isinstance(inputs, list) else [inputs]
    spare = len(queue) - (len(ports) - 1)
    result = {}
    for name, many in ports.items():
        count = max(spare, 1) if many else 1
        if queue[:count]:
            result[name] = queue[:count]
        queue = queue[count:]
    return result


def signals_at(inputs: Any, port: str, ports: Ports) -> list[str]:
    return by_port(inputs, ports).get(port, [])


def in_port_order(links: Mapping[str, list[str]], ports: Ports) -> list[str] | None:
    """The signals as one list in port order, where a list says the same; else None."""
    names = list(ports)
    filled = [name for name in names if links.get(name)]
    if filled != names[: len(filled)] or (any(ports[n] for n in names) and len(filled) < len(names)):
        return None
    return [signal for name in filled for signal in links[name]]


def inputs_with(inputs: Any, port: str, signal: str, ports: Ports) -> Any:
    """`in:` with one signal more, or another one."""
    if isinstance(inputs, dict):
        if ports[port] and port not in inputs and any(re.fullmatch(rf"{port}\d+", key) for key in inputs):
            number = 1 + max(int(key[len(port) :]) for key in inputs if re.fullmatch(rf"{port}\d+", key))
            return {**inputs, f"{port}{number}": signal}
        if ports[port] and port in inputs:
            present = inputs[port] if isinstance(inputs[port], list) else [inputs[port]]
            return {**inputs, port: [*present, signal]}
        return {**inputs, port: signal}
    links = by_port(inputs, ports)
    links[port] = [*links.get(port, []), signal] if ports[port] else [signal]
    return plainest(links, ports, keep_list=isinstance(inputs, list))


def inputs_without(inputs: Any, port: str, signal: str, ports: Ports) -> Any:
    """`in:` without one signal; None where nothing is left."""
    if isinstance(inputs, dict):
        result = dict(inputs)
        for key, value in inputs.items():
            if key != port and not (ports[port] and re.fullmatch(rf"{port}\d+", key)):
                continue
            if isinstance(value, list) and len(value) > 1 and signal in value:
                left = [item for i, item in enumerate(value) if i != value.index(signal)]
                return {**result, key: left}
            if value in (signal, [signal]):
                del result[key]
                return renumbered(result, port, ports) or None
        return result
    links = by_port(inputs, ports)
    links[port].remove(signal)
    return plainest({name: signals for name, signals in links.items() if signals}, ports, keep_list=isinstance(inputs, list))


def renumbered(inputs: dict[str, Any], port: str, ports: Ports) -> dict[str, Any]:
    """Numbered inputs, u1, u2, without a hole."""
    keys = [key for key in inputs if ports[port] and re.fullmatch(rf"{port}\d+", key)]
    ranks = {key: f"{port}{n}" for n, key in enumerate(sorted(keys, key=lambda k: int(k[len(port) :])), 1)}
    return {ranks.get(key, key): value for key, value in inputs.items()}


def plainest(links: Mapping[str, list[str]], ports: Ports, keep_list: bool) -> Any:
    """The shortest form that says it: nothing, a signal, a list, or a mapping."""
    if not links:
        return None
    row = in_port_order(links, ports)
    if row is not None:
        return row if keep_list or len(row) > 1 else row[0]
    return {name: items if len(items) > 1 else items[0] for name, items in links.items()}
