"""What an edit changes, as plain mappings: settings, keys of `simulate:`, parameters, the log, new blocks.

Each takes what the file means and gives a Change; none of them touches what it was given.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ...contract.declarations import Model, Param, Period, Static
from ...contract.library import library
from ...errors import DiagramError, did_you_mean, listing
from ..diagram import NAME
from ..files import is_subsystem
from ..loader import RESERVED
from ..spec import SimulateSpec

#: What a file means, without its lines.
Meaning = dict[str, Any]
#: The keys of a file in the order in which its makers write them.
KEY_ORDER = ("format", "name", "description", "simulate", "parameters", "ports", "blocks", "log", "scopes", "record")


@dataclass(frozen=True)
class Change:
    """What a file is to mean, what was done in words, the keys that have other names, and what else the user should hear."""

    meaning: Meaning
    words: str
    renames: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    news: tuple[str, ...] = ()


def refusal_of(text: str) -> DiagramError:
    return DiagramError(text)


def block_of(meaning: Meaning, name: str) -> dict[str, Any]:
    """A block's entry. DiagramError, in words, where there is none."""
    blocks = meaning.get("blocks") or {}
    if not isinstance(blocks.get(name), dict):
        raise refusal_of(f"there is no block '{name}'. Blocks are: {listing(blocks)}." + did_you_mean(name, blocks))
    entry: dict[str, Any] = blocks[name]
    return entry


def with_entry(mapping: Mapping[str, Any], key: str, value: Any, before: tuple[str, ...] = ()) -> dict[str, Any]:
    """The mapping with an entry set where it stands, or added: at the end, but before the keys of `before`."""
    if key in mapping:
        return {name: value if name == key else item for name, item in mapping.items()}
    result: dict[str, Any] = {}
    for name, item in mapping.items():
        if name in before and key not in result:
            result[key] = value
        result[name] = item
    return {**result, key: value} if key not in result else result


def with_section(meaning: Meaning, key: str, value: Any) -> Meaning:
    """The file with a top-level key set; a new one at its usual place."""
    later = KEY_ORDER[KEY_ORDER.index(key) + 1 :] if key in KEY_ORDER else ()
    return with_entry(meaning, key, value, later)


def with_block(meaning: Meaning, name: str, entry: dict[str, Any]) -> Meaning:
    return with_section(meaning, "blocks", with_entry(meaning.get("blocks") or {}, name, entry))


def set_setting(meaning: Meaning, block: str, key: str, value: Any) -> Change:
    """Give a block a setting, where it stands or before its inputs."""
    entry = block_of(meaning, block)
    if key in ("in", "flip", "enable"):
        before: tuple[str, ...] = ()
    else:
        before = ("in", "flip", "enable")
    return Change(with_block(meaning, block, with_entry(entry, key, value, before)), f"{block}.{key} = {value}")


def remove_setting(meaning: Meaning, block: str, key: str) -> Change:
    """Take a setting away: its default holds again."""
    entry = block_of(meaning, block)
    if key not in entry or key == "type":
        rest = listing(name for name in entry if name != "type")
        raise refusal_of(f"block '{block}' has no setting '{key}' in the file. It has: {rest}.")
    return Change(with_block(meaning, block, {k: v for k, v in entry.items() if k != key}), f"{block}.{key} removed")


def set_simulate(meaning: Meaning, key: str, value: Any) -> Change:
    """Set a key of `simulate:`; None takes it away."""
    options = [f.name for f in fields(SimulateSpec)]
    if key not in options:
        raise refusal_of(f"simulate has no key '{key}'. It takes: {listing(options)}." + did_you_mean(key, options))
    return set_in_section(meaning, "simulate", key, value)


def set_parameter(meaning: Meaning, name: str, value: Any) -> Change:
    """Set a parameter of the file, the value of "${name}"; None takes it away."""
    if not NAME.match(name) or name in RESERVED:
        raise refusal_of(f"'{name}' cannot name a parameter; letters, digits and _ can, except {listing(RESERVED)}.")
    return set_in_section(meaning, "parameters", name, value)


def set_in_section(meaning: Meaning, top: str, key: str, value: Any) -> Change:
    entries = meaning.get(top) or {}
    if value is not None:
        return Change(with_section(meaning, top, with_entry(entries, key, value)), f"{top}.{key} = {value}")
    rest = {name: item for name, item in entries.items() if name != key}
    new = with_section(meaning, top, rest) if rest else {name: item for name, item in meaning.items() if name != top}
    return Change(new, f"{top}.{key} removed")


def set_log(meaning: Meaning, signal: str, logged: bool) -> Change:
    """Log a signal, or no longer; without `log:` all outputs are logged."""
    entries = meaning.get("log")
    names = [entry.get("signal") if isinstance(entry, dict) else entry for entry in entries or []]
    if logged:
        if signal in names:
            raise refusal_of(f"'{signal}' is logged already.")
        return Change(with_section(meaning, "log", [*(entries or []), signal]), f"log {signal}")
    if signal not in names:
        raise refusal_of(f"'{signal}' is not in the log. The log has: {listing(names)}.")
    rest = [entry for entry, name in zip(entries or [], names, strict=True) if name != signal]
    new = with_section(meaning, "log", rest) if rest else {name: item for name, item in meaning.items() if name != "log"}
    return Change(new, f"{signal} no longer logged")


def fresh_name(meaning: Meaning, type_name: str) -> str:
    """A name for a new block that nothing has yet: gain, gain_2."""
    stem = type_name.rpartition("/")[2].removesuffix(".yaml").removesuffix(".yml").lower() or "block"
    stem = "".join(c if c.isalnum() else "_" for c in stem)
    stem = stem if NAME.match(stem) else f"block_{stem}"
    names = {*(meaning.get("blocks") or {}), *port_names(meaning)}
    return next(name for name in (stem, *(f"{stem}_{n}" for n in range(2, len(names) + 3))) if name not in names)


def port_names(meaning: Meaning) -> list[str]:
    """The inputs of a subsystem, which are named like blocks inside."""
    return list((meaning.get("ports") or {}).get("in") or [])


def insert_block(meaning: Meaning, type_name: str, name: str = "", settings: Mapping[str, Any] | None = None) -> Change:
    """A new block of a type at the end, with the settings it must have."""
    name = name or fresh_name(meaning, type_name)
    if not NAME.match(name):
        raise refusal_of(f"'{name}' cannot name a block; letters, digits and _ can, and no digit first.")
    if name in (meaning.get("blocks") or {}) or name in port_names(meaning):
        raise refusal_of(f"there is a block or an input '{name}' already. Choose another name.")
    first = dict(starter_settings(type_name, meaning))
    entry = {"type": type_name, **first, **(settings or {})}
    news = tuple(f"{name}: {key}: {value} is there to be changed." for key, value in first.items() if key not in (settings or {}))
    return Change(with_block(meaning, name, entry), f"{name} ({type_name}) added", news=news)


def starter_settings(type_name: str, meaning: Meaning) -> dict[str, Any]:
    """A value for each setting a type must be given: from its example, else a plain one within its limits."""
    if is_subsystem(type_name):
        return {}
    kind = library().get(type_name)
    if kind is None:
        from ...contract.library import unknown_type

        raise refusal_of(unknown_type(type_name, library()))
    example = example_settings(kind)
    plants = [n for n, b in (meaning.get("blocks") or {}).items() if isinstance(b, dict) and names_plant(b.get("type"))]
    result: dict[str, Any] = {}
    for key, declared in kind.declared.items():
        if not declared.required or not declared.settable:
            continue
        if isinstance(declared, Model):
            result[key] = plants[0] if plants else example.get(key, "plant")
        elif isinstance(declared, Period) and "Ts" in (meaning.get("parameters") or {}):
            result[key] = "${Ts}"
        else:
            result[key] = example[key] if key in example else value_within(declared)
    return {key: value for key, value in result.items() if value is not None}


def names_plant(type_name: Any) -> bool:
    kind = library().get(type_name) if isinstance(type_name, str) else None
    return kind is not None and ("regressor" in kind.functions or "plants" in kind.__module__)


def example_settings(kind: Any) -> dict[str, Any]:
    """The settings that a type's own example gives it, where they are plain values."""
    import yaml

    from ..yaml_lines import read_yaml

    try:
        blocks = read_yaml(kind.example or "", "<example>")[0].plain()["blocks"]
    except (yaml.YAMLError, DiagramError, KeyError, TypeError, AttributeError):
        return {}
    entry: dict[str, Any] = next((b for b in blocks.values() if b.get("type") == kind.__name__), {})
    return {key: copy.deepcopy(value) for key, value in entry.items() if key not in RESERVED and "${" not in str(value)}


def value_within(declared: Any) -> Any:
    """A value for a setting of which nothing but its declaration is known."""
    if isinstance(declared, Param):
        number = next((v for v in (1.0, 0.5, 0.1, 0.0, 2.0, 10.0) if not declared.problems(v)), None)
        return number if number is not None else next((v for v in ([1.0], [1.0, 1.0]) if not declared.problems(v)), None)
    if isinstance(declared, Period):
        return 1e-3
    return declared.choices[0] if isinstance(declared, Static) and declared.choices else None
