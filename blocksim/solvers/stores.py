"""Stores: where a program keeps its numbers, declared once; argument lists, types and fields follow from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WHOLE, REAL, ROWS = "whole", "real", "rows"  # rows: several arrays of real numbers


@dataclass(frozen=True)
class Storage:
    """An array that a program is handed: its name, the kind of its numbers, the functions that get it, what it holds."""

    name: str
    kind: str
    functions: tuple[str, ...]
    meaning: str


#: The functions of a program, with what they are handed before the stores.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "derivative": ("t", "dx"),
    "guards": ("t",),
    "reset": ("i", "t"),
    "retain": ("t",),
    "settle": ("t",),
    "compute_ahead": ("end",),
    "hit": ("tick", "t"),
    "advance": ("end",),
}
EVERY, SOLVER, INSTANT = tuple(ARGUMENTS), ("advance",), ("hit", "advance")
WATCHING, TIMED = ("settle", *INSTANT), ("compute_ahead", "advance")

#: In the order in which functions take them.
STORES = (
    Storage("clock", WHOLE, TIMED, "where in time the run is"),
    Storage("hits", WHOLE, (*INSTANT, "compute_ahead"), "for each rate the tick of its next hit and the ticks between hits"),
    Storage(
        "logs", WHOLE, INSTANT, "for each log grid: next tick, ticks between rows, next row, rows in all, start in the record"
    ),
    Storage("record", REAL, INSTANT, "logged signals, the rows of each one after the other"),
    Storage("g", REAL, ("guards", *WATCHING), "margins of the guards"),
    Storage("armed", REAL, WATCHING, "of every guard: armed, side watched from, 0 if both, armed since, fired last"),
    Storage("f", REAL, WATCHING, "the solver's numbers"),
    Storage("k", ROWS, INSTANT, "the solver's rows of work: slopes of the stages, a spare row, errors"),
    Storage("y", REAL, SOLVER, "continuous states at the end of a step"),
    Storage("x", REAL, EVERY, "continuous states"),
    Storage("p", REAL, EVERY, "parameters"),
    Storage("m", REAL, EVERY, "memories and signals held between hits"),
    Storage("a", REAL, EVERY, "arrays: tables, vectors, matrices"),
    Storage("noise", REAL, EVERY, "random numbers of the run, stream after stream"),
    Storage("ahead", REAL, EVERY, "signals that depend on time alone, where they were computed ahead of the run: a row a hit"),
    Storage("o", WHOLE, EVERY, "where arrays begin and end in a, the next number of each stream of noise, the next row of ahead"),
)
NAMES = tuple(store.name for store in STORES)
#: Numbers per log grid in `logs`.
LOG = 5


def passed(function: str) -> tuple[str, ...]:
    """The stores a function of a program gets."""
    return tuple(store.name for store in STORES if function in store.functions)


def handed(function: str, *own: Any, **by_name: Any) -> tuple[Any, ...]:
    """What to call a function of a program with: its own arguments, and the stores it gets out of those given by name.

    Where nothing was computed ahead of a run, as for what only looks at an instant, that store need not be given.
    """
    by_name.setdefault("ahead", ())
    return (*own, *(by_name[name] for name in passed(function)))


def signature(function: str) -> str:
    """The arguments of a function of a program, as text."""
    return ", ".join((*ARGUMENTS[function], *passed(function)))


#: What is in `clock` and in `f`, in order.
CLOCK = {
    "TICK": "the tick reached",
    "HANDLED": "1 when what happens at that tick is done",
    "START": "added to the numerator of every time",
    "NUMERATOR": "seconds of a tick, times the denominator",
    "DENOMINATOR": "of the seconds of a tick",
    "STEP": "ticks of a fixed step; 0 under error control",
    "GRID": "the tick at which the next fixed step ends",
}
F = {
    "H": "step wanted next [s]",
    "FRESH": "0: no slope is known at the start of the step, 1: that of the last stage, 2: in place",
    "ERROR": "error of the last step in units of the tolerance",
    "RTOL": "relative tolerance",
    "ATOL": "absolute tolerance",
    "H_MAX": "longest step [s]",
    "NOW": "time reached [s]",
    "EVENT": "time of the last event [s]",
    "EVENTS": "events so far",
    "FIRED": "the guard that fired last",
    "STEPS": "steps tried so far",
    "REJECTED": "steps that missed the tolerance",
    "EVALUATIONS": "evaluations of the slopes",
    "COUNTED": "events in a row with next to no time between them",
    "BUDGET": "steps at which the run pauses",
}
TICK, HANDLED, START, NUMERATOR, DENOMINATOR, STEP, GRID = range(len(CLOCK))
H, FRESH, ERROR, RTOL, ATOL, H_MAX, NOW, EVENT, EVENTS, FIRED, STEPS, REJECTED, EVALUATIONS, COUNTED, BUDGET = range(len(F))
