"""A block function of matrices in loops: its arguments as arrays, its results in a stretch of the array store."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..contract.definition import arguments
from ..contract.syntax import parsed
from ..schedule.schedule import Unit
from ..tracing.code import Code, code, joined
from ..tracing.lazy import Room
from ..tracing.lazy import element_of as array
from ..tracing.looping import Looping
from ..tracing.specialise import Bound, Helpers, bound, constant
from .following import Binding, Results, element_of, is_constant, split, written
from .scope import Scope, Signal
from .slots import Region

if TYPE_CHECKING:
    from .emitter import Emitter


def looped_text(
    target: Callable[..., Any] | Bound,
    title: str,
    env: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    helpers: Helpers,
    results: Results,
) -> tuple[str, dict[str, int]]:
    """The function's text in loops, and the arrays it wants beside its arguments, with their lengths.

    `env` are arguments that are known, `shapes` those that are arrays. What it returns is filled into `out`, in the order of the
    results; what it returns for an array memory, by its name, into that.
    """
    function, laws = (target.function, dict(target.laws)) if isinstance(target, Bound) else (target, {})
    tree, room = parsed(function), Room()
    inputs = [a.arg for a in tree.args.args if a.arg not in env and a.arg not in laws]
    values = {n: array(n, shapes[n]) if n in shapes else ast.Name(n, ast.Load()) for n in inputs}
    looping = Looping(function, {**env, **values}, helpers, laws, room, "")
    changed = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for name in changed & set(env):
        looping.name_it(name, looping.env[name])
    looping.write(copy.deepcopy(tree.body))
    looping.finish(looping.result, results, shapes)
    names = [*inputs, *room.arrays, *(["out"] if results else [])]
    made = ast.FunctionDef(
        title, ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, []), room.lines or [ast.Pass()], []
    )
    if "type_params" in ast.FunctionDef._fields:  # from Python 3.12 on
        setattr(made, "type_params", [])  # noqa: B010
    return ast.unparse(ast.fix_missing_locations(made)), room.arrays


def call_looped(
    emitter: Emitter, scope: Scope, unit: Unit, name: str, results: Results, bindings: dict[str, Binding]
) -> dict[str, list[Signal]]:
    """Write a call of the function in loops; gives an expression per scalar of each result."""
    function = unit.kind.functions[name]
    env: dict[str, Any] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    laws: dict[str, Callable[..., Any]] = {}
    passed: list[Code] = []
    for argument in arguments(function):
        value: Any = bindings[argument]
        if callable(value):
            laws[argument] = value
        elif is_constant(unit, argument):
            env[argument] = constant(value)
        elif isinstance(value, tuple):
            shapes[argument] = (len(value), len(value[0])) if value and isinstance(value[0], tuple) else (len(value),)
            passed.append(emitter.gather(scope, unit, f"{name}.{argument}", value))
        elif isinstance(value, Region):
            shapes[argument] = value.shape or (
                emitter.slots.fix(emitter.schedule, emitter.slots.array(unit, argument, 0), value),
            )
            passed.append(stretch(value))
        else:
            passed.append(written(value))
    law = bound(function, laws)
    key = (law, tuple((k, ast.dump(v)) for k, v in env.items()), tuple(shapes.items()), tuple(results))
    if key not in emitter.loops_of:
        title = emitter.unused(f"{unit.kind.__name__}_{name}_{len(emitter.functions)}")
        text, arrays = looped_text(law, title, env, shapes, emitter.helpers, results)
        emitter.functions[key] = (title, text)
        emitter.loops_of[key] = arrays
    passed += [stretch(emitter.scratch(unit, f"{name}.{array}", size)) for array, size in emitter.loops_of[key].items()]
    count = sum(size for _, size in results)
    out = emitter.scratch(unit, f"{name}.out", count) if count else None
    scope.write(code(f"{emitter.functions[key][0]}(", joined(", ", [*passed, *([stretch(out)] if out else [])]), ")"))
    return split(function, results, [element_of(out, k) for k in range(count)]) if out else {}


def stretch(region: Region) -> Code:
    """An array of the store, row by row, whatever its shape."""
    return code("view(a, o[", region.index, "], o[", region.index + 1, "])")
