"""The rules a block class must meet, checked when the class is made, so that a mistake never reaches a diagram."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import BlockDefinitionError, did_you_mean, listing
from .declarations import Fixed, Inport, Law, Memory, Noise, Outport, Param, Period, State, StatePort, Static, Table
from .grammar import check_text

#: Functions the engine calls, and the kinds of name each may ask for (besides `t`, parameters, statics and tables).
ROLES: dict[str, tuple[type, ...]] = {
    "output": (State, Memory, Inport, Noise),
    "derivative": (State, Memory, Inport),
    "equations": (State, Inport),
    "update": (State, Memory, Inport, Noise, Outport),  # its own outputs of this hit
    "step": (State, Memory, Inport, Noise),
    "guard": (State, Memory, Inport),
    "reset": (State, Memory, Inport),
}
#: What may be returned by name, as a dict.
NAMED = ("output", "step", "update", "derivative", "reset")
ALWAYS = (Param, Static, Fixed, Law, Period, Table)
#: Ordinary Python, called while the diagram is built; `size_` may also ask for a port's size by the port's name.
BUILD_TIME = ("table_", "size_")
OTHER = ("check", "regressor", "effort", "variance", "process")


def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names a function asks for: its dependencies."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def kind_of(name: str) -> str:
    """'guard_impact' -> 'guard'; the function names the engine knows, or ''."""
    head = name.split("_", 1)[0]
    if name in ROLES:
        return name
    return head if head in ("output", "equations", "guard", "reset") and "_" in name else ""


def check_class(cls: Any) -> None:
    """Refuse a block class that contradicts itself, naming what is declared."""

    def refuse(text: str) -> None:
        raise BlockDefinitionError(f"block {cls.__name__}: {text}")

    if not inspect.getdoc(cls):
        refuse("has no docstring; its first line is the equation or the act.")
    for name, declaration in cls.declared.items():
        if name in ("t", "out", "type", "in", "label", "settings"):
            refuse(f"'{name}' cannot be declared: the name is the engine's own.")
        text = declaration.mistake()
        if text:
            refuse(f"{name}: {text}")
    for name, function in cls.functions.items():
        if not name.startswith("_"):
            check_function(cls, name, function, refuse)
    check_completeness(cls, refuse)
    check_texts(cls)


def check_texts(cls: Any) -> None:
    """Refuse functions whose text could not be compiled; those of a base have been read with it."""
    arrays = {n for n, d in cls.of(Memory).items() if d.array} | {"out"}
    inherited = {f for base in cls.__mro__[1:] for f in getattr(base, "functions", {}).values()}
    for name, function in cls.functions.items():
        if kind_of(name) and function not in inherited:
            laws = set(cls.of(Law)) & set(arguments(function))
            check_text(f"{cls.__name__}: {name}", function, arrays & set(arguments(function)), laws, kind_of(name) in NAMED)


def check_function(cls: Any, name: str, function: Callable[..., Any], refuse: Callable[[str], None]) -> None:
    """One static function: its name, the names it asks for, the names it uses."""
    roles = [*ROLES, "output_<port>", "equations_<port>", "guard_<name>", "reset_<name>", "table_<name>", "size_<name>", *OTHER]
    kind = kind_of(name)
    if not kind:
        if not name.startswith(BUILD_TIME) and name not in OTHER:
            refuse(f"has a function '{name}' that nothing calls. Functions are: {listing(roles)}." + did_you_mean(name, roles))
        return
    port = name.partition("_")[2] if kind in ("output", "equations") else ""
    if port and port not in cls.of(Outport):
        refuse(f"has '{name}' but no outport '{port}'. It has: {listing(cls.of(Outport))}.")
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount or function.__defaults__:
        refuse(f"{name}: takes plain arguments only (no *, **, defaults): each one is the name of a declaration.")
    allowed = list(cls.of(*ALWAYS, *ROLES[kind])) + [f[5:] for f in cls.functions if f.startswith("size_")] + ["t"]
    allowed += [f"has_{p}" for p, d in cls.of(Inport).items() if d.optional]
    if kind in ("output", "derivative", "equations", "update", "step"):
        allowed.append("out")
    for argument in arguments(function):
        if kind == "output" and argument in cls.of(Noise) and cls.of(Period) and not cls.sampled:
            refuse(
                f"{name} asks for the draw '{argument}', which is made at sample hits, but the outputs of a block that is not "
                "sampled are wanted between them too. Derive from SampledBlock, or keep the draw in a memory by 'update'."
            )
        if kind == "equations" and argument in cls.of(Memory):
            refuse(f"{name} asks for the memory '{argument}'; it is there for those who do not have the memory: observers.")
        if argument not in allowed:
            refuse(
                f"{name} asks for '{argument}', which is not declared. Declared for it: {listing(allowed)}."
                + did_you_mean(argument, allowed)
            )


def check_completeness(cls: Any, refuse: Callable[[str], None]) -> None:
    """The functions must fit the declarations: states need a derivative, guards a reset, outports an output."""
    functions, memories = cls.functions, cls.of(Memory)
    states = {n: d for n, d in cls.of(State).items() if n not in memories}
    if cls.__dict__.get("abstract"):
        return
    if cls.after_run:
        if not callable(getattr(cls, "process", None)):
            refuse("a record block needs a method process(self, t, <inports>).")
        return
    if states and "derivative" not in functions:
        refuse(f"declares the state {listing(states)} but no derivative.")
    if "derivative" in functions and not states:
        refuse("has a derivative but declares no state.")
    if "equations" in functions and not states:
        refuse("has equations but declares no state.")
    if cls.sampled and states:
        refuse("is sampled and cannot have continuous states; declare memory instead.")
    hits = bool(cls.of(Period))
    for name in ("update", "step"):
        if name in functions and not hits:
            refuse(f"has '{name}' but no sample time; derive from SampledBlock or declare Ts = period(...).")
    if cls.of(Noise) and not hits:
        refuse("draws random numbers but has no sample time to draw them at.")
    if "step" in functions and ("update" in functions or any(kind_of(f) == "output" for f in functions)):
        refuse("has 'step', which gives outputs and memory at once; 'output' and 'update' cannot stand beside it.")
    if "step" in functions and not cls.sampled:
        refuse("has 'step' but is not a SampledBlock; outputs between hits need 'output'.")
    if "update" in functions and not memories:
        refuse("has 'update' but declares no memory.")
    guards = {f[6:] for f in functions if f.startswith("guard_")}
    resets = {f[6:] for f in functions if f.startswith("reset_")}
    if guards != resets:
        refuse(f"every guard needs its reset and the other way round; alone: {listing(sorted(guards ^ resets))}.")
    if resets and not (states or memories):
        refuse("has a reset but neither state nor memory to reset.")
    ports = list(cls.of(Outport))
    alone = [p for p in ports if f"output_{p}" in functions]
    if "step" not in functions and "output" not in functions and len(alone) < len(ports):
        refuse(f"gives no output for: {listing(p for p in ports if p not in alone)}.")
    if "output" in functions and any(not isinstance(cls.declared[p], StatePort) for p in alone):
        refuse("has both 'output' and 'output_<port>'; use one way.")
    if "output" in functions and len(alone) == len(ports):
        refuse("has 'output', but every outport is a state already.")
