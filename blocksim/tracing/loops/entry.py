"""Entry: a whole function of matrices as a text of loops, with the arrays it wants beside its arguments."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import Any

from ...contract.syntax import parsed
from ..specialise import Bound, Helpers
from .lazy import Room, array_at
from .looping import Looping
from .matrix_loops import Results


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
    values = {n: array_at(n, shapes[n]) if n in shapes else ast.Name(n, ast.Load()) for n in inputs}
    looping = Looping(function, {**env, **values}, helpers, laws, room, "")
    changed = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for name in changed & set(env):
        looping.name_it(name, looping.env[name])
    looping.write(copy.deepcopy(tree.body))
    looping.finish(looping.result, results, shapes)
    names = [*inputs, *room.arrays, *(["out"] if results else [])]
    definition = ast.FunctionDef(
        title, ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, []), room.lines or [ast.Pass()], []
    )
    if "type_params" in ast.FunctionDef._fields:  # from Python 3.12 on
        setattr(definition, "type_params", [])  # noqa: B010
    return ast.unparse(ast.fix_missing_locations(definition)), room.arrays
