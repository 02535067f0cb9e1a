"""JSON Schema of the file format and of every block's settings: completion and checking in editors.

# yaml-language-server: $schema=blocksim.schema.json
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..contract.block import Block
from ..contract.declarations import Declared, Inport, Model, Param, Period, Static
from ..contract.library import library as all_blocks
from ..contract.limits import Interval
from ..contract.portable.choice import CHOICES
from .spec import FORMAT

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_]*$"
SUBSYSTEM = r"^\.{1,2}/|\.ya?ml$"
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", tuple: "array", dict: "object"}


def schema(library: Mapping[str, type[Block]] | None = None, solvers: Iterable[str] = ()) -> dict[str, Any]:
    """The schema of a diagram file for these blocks (default: every block known) and solvers (default: any name)."""
    blocks = all_blocks() if library is None else library
    choices = [
        {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": {"$ref": f"#/$defs/{name}"}}
        for name in blocks
    ]
    any_block = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {
                "description": "what the block is, or the file of a subsystem",
                "anyOf": [{"enum": list(blocks)}, {"type": "string", "pattern": SUBSYSTEM}],
            }
        },
        "allOf": [*choices, subsystem_schema()],
    }
    return {
        "$schema": DIALECT,
        "title": "blocksim diagram",
        "type": "object",
        "required": ["format", "blocks"],
        "additionalProperties": False,
        "properties": {
            "format": {"description": "version of the format", "const": FORMAT},
            "name": {"description": "title of the experiment", "type": ["string", "number"]},
            "description": {"description": "what it is about", "type": "string"},
            "simulate": simulate_schema(list(solvers)),
            "parameters": {
                "description": "values used below as ${name}; null must be given from outside",
                "type": "object",
                "propertyNames": {"pattern": NAME_PATTERN, "not": {"enum": ["type", "in", "flip"]}},
                "additionalProperties": {"type": ["number", "string", "boolean", "array", "null"]},
            },
            "blocks": {
                "description": "the blocks by name",
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": NAME_PATTERN},
                "additionalProperties": {"$ref": "#/$defs/_block"},
            },
            "log": log_schema(),
            "scopes": {
                "description": "what `run --plot` shows; a list inside the list shares an axis",
                "type": ["array", "null"],
                "items": {"anyOf": [{"$ref": "#/$defs/_scope"}, {"type": "array", "items": {"$ref": "#/$defs/_scope"}}]},
            },
            "ports": ports_schema(),
            "record": record_schema(),
        },
        "$defs": {"_block": any_block, **shared(), **{name: block_schema(name, cls) for name, cls in blocks.items()}},
    }


def shared() -> dict[str, Any]:
    """Shapes that several keys have, under names no public block has."""
    name = r"[A-Za-z_][\w.]*(\[-?\d+\])?"
    signal = {"type": "string", "pattern": f"^{name}$"}
    return {
        "_scope": {"description": "a signal, or a difference of two", "type": "string", "pattern": f"^{name}( - {name})?$"},
        "_reference": {"type": "string", "pattern": r"^\$\{[^{}]*\}$"},
        "_signal": signal,
        "_time": {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": r"^\s*[\d.]+\s*(/\s*\d+\s*)?$"},
                {"$ref": "#/$defs/_reference"},
            ]
        },
        "_signals": {
            "anyOf": [{"$ref": "#/$defs/_signal"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/_signal"}}]
        },
    }


def simulate_schema(solvers: list[str]) -> dict[str, Any]:
    time, reference = {"$ref": "#/$defs/_time"}, {"$ref": "#/$defs/_reference"}
    positive = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, reference]}
    names = {"anyOf": [{"enum": solvers}, reference]} if solvers else {"type": "string"}
    return {
        "description": "how to run it",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            "stop": {"description": "end of the run [s]", **time},
            "start": {"description": "begin of the run [s]", "default": 0, **time},
            "solver": {"description": "name of the solver, such as rk4 or dopri5", **names},
            "step": {"description": "step of a fixed-step solver [s]", **time},
            "rtol": {"description": "relative tolerance of an adaptive solver", **positive},
            "atol": {"description": "absolute tolerance of an adaptive solver", **positive},
            "max_step": {"description": "longest step of an adaptive solver [s]", **positive},
            "seed": {"description": "seed of all noise", "default": 0, "anyOf": [{"type": "integer", "minimum": 0}, reference]},
            "every": {"description": "interval of the log [s]", **time},
            "algebraic_loops": {"description": "what to do with them", "enum": ["refuse", "solve"], "default": "refuse"},
            "math": {"description": "elementary functions", "enum": list(CHOICES), "default": "libm"},
        },
    }


def log_schema() -> dict[str, Any]:
    entry = {
        "type": "object",
        "required": ["signal"],
        "additionalProperties": False,
        "properties": {
            "signal": {"$ref": "#/$defs/_signal"},
            "every": {"description": "interval of this signal [s]", "$ref": "#/$defs/_time"},
        },
    }
    return {
        "description": "signals to keep; without it, every output of every block",
        "type": ["array", "null"],
        "items": {"anyOf": [{"$ref": "#/$defs/_signal"}, entry]},
    }


def ports_schema() -> dict[str, Any]:
    size = {"anyOf": [{"type": "integer", "minimum": 1}, {"$ref": "#/$defs/_reference"}]}
    return {
        "description": "inputs and outputs of a subsystem",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            "in": {
                "description": "names of the inputs, or a mapping of names to sizes",
                "anyOf": [
                    {"type": "array", "items": {"type": "string", "pattern": NAME_PATTERN}, "uniqueItems": True},
                    {"type": "object", "propertyNames": {"pattern": NAME_PATTERN}, "additionalProperties": size},
                ],
            },
            "out": {
                "description": "the signal each output carries",
                "type": "object",
                "propertyNames": {"pattern": NAME_PATTERN},
                "additionalProperties": {"$ref": "#/$defs/_signal"},
            },
        },
    }


def record_schema() -> dict[str, Any]:
    time, number = {"$ref": "#/$defs/_time"}, {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/_reference"}]}
    names = [{"type": ["string", "integer"]}, {"type": "array", "minItems": 1, "items": {"type": ["string", "integer"]}}]
    units = [{"type": ["string", "null"]}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]
    guess = {"anyOf": [*number["anyOf"], {"const": "estimated"}]}
    column = {
        "type": "object",
        "required": ["column"],
        "additionalProperties": False,
        "properties": {
            "column": {"description": "the column, or a list of them for a vector", "anyOf": names},
            "unit": {"description": "unit of column * scale + offset, or a list of them for a vector", "anyOf": units},
            "scale": {"description": "multiplies the column", **number},
            "offset": {"description": "is added then; or estimated, from the other encoder of the axis", **guess},
            "file": {"description": "where it is not in the record's own", "type": ["string", "null"]},
            "delay": {"description": "how many seconds the column is late; or estimated, from the other encoder", **guess},
        },
    }
    clock = {
        "type": "object",
        "required": ["column"],
        "additionalProperties": False,
        "properties": {"column": {"type": ["string", "integer"]}, "unit": {"type": "string"}},
    }
    grid = {
        "type": "object",
        "required": ["every"],
        "additionalProperties": False,
        "properties": {"every": time, "method": {"enum": ["linear", "hold", "cubic"]}, "rows": {"enum": ["even"]}},
    }
    return {
        "description": "how a measured record is read as signals of the diagram",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            "file": {
                "description": "the record, beside this file or in the folder BLOCKSIM_DATA; a list of records fitted together",
                "type": ["string", "null", "array"],
                "items": {"type": "string"},
                "minItems": 1,
            },
            "time": {"description": "the column of time", "anyOf": [{"type": ["string", "integer", "null"]}, clock]},
            "every": {"description": "interval of the rows [s] where no column of time is read", **time},
            "resample": {"description": "put all on an even grid first", "anyOf": [time, grid, {"type": "null"}]},
            "missing": {"description": "what to do with nan", "enum": ["refuse", "bridge"], "default": "refuse"},
            "assume": {
                "description": "sources that acted as in the diagram, though the record does not hold them",
                "anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}],
            },
            "signals": {
                "description": "the column each signal of the diagram is read from",
                "type": ["object", "null"],
                "additionalProperties": {"anyOf": [*names, column]},
            },
        },
    }


def subsystem_schema() -> dict[str, Any]:
    """What a subsystem takes beside its parameters."""
    signal = {"type": "string", "minLength": 1}
    number = {"anyOf": [{"const": "hold"}, {"type": "number"}, {"$ref": "#/$defs/_reference"}]}
    states = {"anyOf": [{"enum": ["hold", "reset"]}, {"$ref": "#/$defs/_reference"}]}
    mapping = {
        "type": "object",
        "required": ["signal"],
        "additionalProperties": False,
        "properties": {
            "signal": {"description": "what switches: on above 0.5", **signal},
            "states": {"description": "what they do when it is switched on again: go on, or begin anew", **states},
            "outputs": {"description": "what they are while it is off: what they were, or a number", **number},
        },
    }
    enable = {"description": "a signal that switches the subsystem on and off", "anyOf": [signal, mapping]}
    is_subsystem = {"properties": {"type": {"pattern": SUBSYSTEM}}, "required": ["type"]}
    return {"if": is_subsystem, "then": {"properties": {"enable": enable}}}


def block_schema(name: str, cls: type[Block]) -> dict[str, Any]:
    """The keys one block type takes."""
    settings = {n: d for n, d in cls.declared.items() if d.settable}
    properties: dict[str, Any] = {"type": {"const": name}, "flip": {"description": "drawn right to left", "type": "boolean"}}
    if cls.of(Inport) or cls.of(Model):
        properties["in"] = inputs_schema(cls.of(Inport), follows=bool(cls.of(Model)))
    properties |= {n: setting_schema(d) for n, d in settings.items()}
    return {
        "title": name,
        "description": (inspect.getdoc(cls) or "").split("\n")[0],
        "type": "object",
        "required": ["type", *(n for n, d in settings.items() if d.required)],
        "properties": properties,
        "additionalProperties": False,
    }


def inputs_schema(ports: Mapping[str, Inport], follows: bool = False) -> dict[str, Any]:
    """`in:` of a block: a signal, signals in port order, or signals by port; more ports where they follow a plant."""
    more: Any = {"$ref": "#/$defs/_signals"} if follows else False
    mapping: dict[str, Any] = {"type": "object", "additionalProperties": more, "patternProperties": {}, "properties": {}}
    for name, port in ports.items():
        kind = "_signals" if port.many else "_signal"
        mapping["properties"][name] = {"description": port.meaning(), "$ref": f"#/$defs/{kind}"}
        if port.many:
            mapping["patternProperties"][rf"^{name}\d+$"] = {"description": port.meaning(), "$ref": "#/$defs/_signal"}
    ordered: dict[str, Any] = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/_signal"}}
    if not follows and not any(port.many for port in ports.values()):
        ordered["maxItems"] = len(ports)
    lines = [*(f"{n}: {p.meaning()}" for n, p in ports.items()), *(["and the signals of its model"] if follows else [])]
    return {"description": "; ".join(lines), "anyOf": [{"$ref": "#/$defs/_signal"}, ordered, mapping, {"type": "null"}]}


def setting_schema(declaration: Declared) -> dict[str, Any]:
    """One setting: its meaning, unit, limits, choices and default."""
    result: dict[str, Any] = {"description": declaration.meaning()}
    default = json_value(declaration.default)
    if default is not None and not declaration.required:
        result["default"] = default
    if isinstance(declaration, Period):
        return {**result, "$ref": "#/$defs/_time"}
    if isinstance(declaration, Param):
        options = number_schemas(declaration)
    elif isinstance(declaration, Static):
        options = static_schemas(declaration)
    else:
        options = [{}]
    if declaration.default is None and not declaration.required:
        options = [*options, {"type": "null"}]
    return result if {} in options else {**result, "anyOf": [*options, {"$ref": "#/$defs/_reference"}]}


def number_schemas(declaration: Param) -> list[dict[str, Any]]:
    """A number within its limits, a list or a matrix of them: the shapes the declaration itself accepts."""
    inside = declaration.limits
    ends = {
        "exclusiveMinimum" if inside.open_low else "minimum": inside.low,
        "exclusiveMaximum" if inside.open_high else "maximum": inside.high,
    }
    number = {"type": "number", **{key: end for key, end in ends.items() if math.isfinite(end)}}
    item = {"anyOf": [number, {"$ref": "#/$defs/_reference"}]}
    row = {"type": "array", "minItems": 1, "items": item}
    matrix = {"type": "array", "minItems": 1, "items": row}
    some = number_inside(inside)
    shapes = ((number, some), (row, [some]), (matrix, [[some]]))
    return [shape for shape, value in shapes if not declaration.problems(value)] or [{}]


def number_inside(limits: Interval) -> float:
    """Some number that meets the limits."""
    if math.isfinite(limits.low) and math.isfinite(limits.high):
        return (limits.low + limits.high) / 2
    return limits.low + 1 if math.isfinite(limits.low) else limits.high - 1 if math.isfinite(limits.high) else 1.0


def static_schemas(declaration: Static) -> list[dict[str, Any]]:
    if declaration.choices:
        return [{"enum": list(declaration.choices)}]
    kinds = declaration.kind if isinstance(declaration.kind, tuple) else (declaration.kind,)
    if not all(kind in JSON_TYPES for kind in kinds):
        return [{}]
    return [{"type": list(dict.fromkeys(JSON_TYPES[kind] for kind in kinds))}]


def json_value(value: Any) -> Any:
    """A default as JSON can carry it, or nothing."""
    value = value.tolist() if hasattr(value, "tolist") else value
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return None
