"""The solver's part of a generated program: the driver with its numbers folded, and the method written from its coefficients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..solvers import control, events, explicit, find_tableau, implicit, loops, stores
from ..solvers import driver as shared
from ..solvers.text import folded
from .slots import Slots


@functools.lru_cache(maxsize=200)
def driver(
    solver: str,
    states: int,
    memory: int,
    groups: int,
    guards: int,
    logs: int,
    loop_count: int,
    gates: int,
    shared_slope: bool = False,
) -> tuple[str, ...]:
    """Everything after the diagram's own functions; it depends on counts only."""
    method = find_tableau(solver)
    numbers: dict[str, Any] = {
        "NX": states,
        "GROUPS": groups,
        "GUARDS": guards,
        "LOGS": logs,
        "MEMORY": memory,
        "LOOPS": loop_count,
        "GATES": gates,
        "LOOP_FLAG": memory - 1,
        "ADAPTIVE": method.adaptive,
        "SHARED_SLOPE": shared_slope,
        "FIXED": not method.adaptive,
        "ORDER": 1 / (method.error_order + 1),
        "FIRST": 1 / (method.order + 1),
        **method.numbers(),
    }
    functions: list[Callable[..., Any]] = [shared.seconds, shared.credible, shared.take]
    if method.implicit:
        functions += [implicit.linearise, implicit.factorise, implicit.backsolve, implicit.stages]
        functions += [implicit.attempt, implicit.interpolate]
    else:
        functions += [explicit.attempt, explicit.interpolate]
    if method.adaptive:
        functions += [control.first_step, control.step_length, control.plan_next, control.fitting, control.shrink]
    if guards:
        functions += [events.settle, events.react, events.fires, events.rearms, events.crossing]
        functions += [shared.end_at_event, shared.count_event]
    if logs:
        functions.append(shared.rows)
    functions += [shared.integrate, shared.advance]
    return (*(folded(function, numbers) for function in functions), entry_text(solver))


def entry_text(solver: str) -> str:
    """`enter` hands the arrays to `advance` as bare pointers."""
    rows = ", ".join(f"pointer(k[{i}])" for i in range(len(find_tableau(solver).work())))
    passed = [f"({rows},)" if store.kind == stores.ROWS else f"pointer({store.name})" for store in stores.STORES]
    return f"def enter({stores.signature('advance')}):\n    return advance(end, {', '.join(passed)})\n"


def loop_solver(number: int, slots: Slots) -> str:
    """Newton's method for loop `number`."""
    key = -1 - number
    numbers = {
        "K": slots.scratch[slots.arrays[(key, "z")].index],
        "NUMBER": number,
        "FLAG": len(slots.m) - 1,
        "Z": slots.arrays[(key, "z")].index,
        "R": slots.arrays[(key, "r")].index,
        "Q": slots.arrays[(key, "q")].index,
        "JACOBIAN": slots.arrays[(key, "jacobian")].index,
    }
    text = folded(loops.solve_loop, numbers, f"solve_loop_{number}").replace("residual(", f"loop_{number}(")
    return (folded(loops.eliminate, {}) + "\n\n" if number == 0 else "") + text
