"""The solver's part of a generated program: the driver with its numbers folded, and the method written from its coefficients."""

from __future__ import annotations

import ast
import functools
from typing import Any

from ..contract import syntax
from ..solvers import driver as shared
from ..solvers import events, explicit, implicit, kernel, loops
from ..solvers.tableaus import EXPLICIT, RODAS4
from ..tracing.specialise import Specialiser, constant, specialise
from .slots import Slots

NAMES = (
    "TICK",
    "HANDLED",
    "START",
    "NUMERATOR",
    "DENOMINATOR",
    "STEP",
    "GRID",
    "H",
    "FRESH",
    "ERROR",
    "RTOL",
    "ATOL",
    "H_MAX",
    "NOW",
    "EVENT",
    "EVENTS",
    "FIRED",
    "STEPS",
    "REJECTED",
    "EVALUATIONS",
    "COUNTED",
    "BUDGET",
    "PAUSED",
    "CHATTERING",
    "DIVERGED",
    "TOLERANCE",
    "LOOP",
)


def fold_text(text: str, numbers: dict[str, Any]) -> str:
    """Generated text with the named numbers folded, like the functions that are read from a module."""
    tree = syntax.parse(text)
    folder = Specialiser(fold_text, {n: constant(v) for n, v in numbers.items()}, {})
    for function in tree.body:
        assert isinstance(function, ast.FunctionDef)
        function.body = folder.body(function.body)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


@functools.lru_cache(maxsize=200)
def driver(solver: str, states: int, memory: int, groups: int, guards: int, logs: int, loop_count: int) -> tuple[str, ...]:
    """Everything after the diagram's own functions; it depends on counts only."""
    adaptive = solver in ("dopri5", "rodas4")
    numbers: dict[str, Any] = {n: getattr(kernel, n) for n in NAMES}
    numbers |= {
        "NX": states,
        "GROUPS": groups,
        "GUARDS": guards,
        "LOGS": logs,
        "MEMORY": memory,
        "LOOPS": loop_count,
        "LOOP_FLAG": memory - 1,
        "ADAPTIVE": adaptive,
        "LOG": shared.LOG,
        "FIXED": not adaptive,
    }
    if solver == "rodas4":
        names = ("SPARE", "ERRORS", "SLOPE", "RIGHT", "DENSE", "DENSE2", "JACOBIAN", "FACTORS", "PIVOTS", "TIME")
        numbers |= {n: getattr(implicit, n) for n in names} | {"GAMMA": RODAS4.gamma, "ORDER": 0.25}
        functions = [implicit.linearise, implicit.factorise, implicit.backsolve]
        method = [folded(f, numbers) for f in functions] + [fold_text(explicit.stages_text(), numbers)]
        method += [folded(f, numbers) for f in (implicit.attempt, implicit.interpolate)]
        method.append(fold_text(explicit.first_step_text(RODAS4.order), numbers))
    else:
        tableau = EXPLICIT[solver]
        numbers |= {"SPARE": len(tableau.c), "ORDER": 1 / tableau.order}
        method = [
            fold_text(explicit.step_text(tableau, adaptive), numbers),
            fold_text(explicit.dense_text(tableau, adaptive), numbers),
        ]
        if adaptive:
            method.append(fold_text(explicit.first_step_text(tableau.order), numbers))
    if guards:
        method += [folded(f, numbers) for f in (events.settle, events.fires, events.rearms, events.crossing)]
    base = [
        shared.seconds,
        shared.all_finite,
        *([shared.next_size, shared.fitting, shared.shrink] if adaptive else []),
        *([shared.count_event] if guards else []),
        *([shared.rows] if logs else []),
    ]
    end = [folded(f, numbers) for f in (*base, shared.integrate, shared.advance)]
    return (*method, *end, entry_text(solver))


def entry_text(solver: str) -> str:
    """`enter` hands the arrays to `advance` as bare pointers."""
    names = ("clock", "hits", "logs", "record", "g", "armed", "f", "k", "y", "x", "p", "m", "a", "noise", "o")
    rows = ", ".join(f"pointer(k[{i}])" for i in range(k_rows(solver)[0]))
    passed = [f"({rows},)" if n == "k" else f"pointer({n})" for n in names]
    return f"def enter(end, {', '.join(names)}):\n    return advance(end, {', '.join(passed)})\n"


def folded(function: Any, numbers: dict[str, Any]) -> str:
    """A function of a solver module as text, with its numbers folded."""
    return specialise(function, function.__name__, {n: constant(v) for n, v in numbers.items()}, {}) + "\n"


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
    env = {n: constant(v) for n, v in numbers.items()}
    text = specialise(loops.solve_loop, f"solve_loop_{number}", env, {}).replace("residual(", f"loop_{number}(")
    first = specialise(loops.eliminate, "eliminate", {}, {}) + "\n\n\n" if number == 0 else ""
    return first + text + "\n"


def k_rows(solver: str) -> tuple[int, list[int]]:
    """How many rows of work the solver needs, and the lengths of those that are matrices (as a power of the states)."""
    if solver == "rodas4":
        powers = [1] * 16
        powers[implicit.JACOBIAN] = powers[implicit.FACTORS] = 2
        return 16, powers
    rows = explicit.rows_of(EXPLICIT[solver])
    return rows, [1] * rows
