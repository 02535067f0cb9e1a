"""Schedule -> source text: one flat, readable Python program.

    derivative(t, dx, x, ...)   dx = f: the continuous signals it needs, in feedthrough order, then every derivative
    guards(t, g, x, ...)        the margin of every guard; reset(i, ...) applies one
    hit(tick, t, x, ...)        what happens at an instant: due outputs, log, due memories
    advance(end, ...)           the solver's loop from stop to stop

The same text runs under CPython (lists of floats) and numba (arrays), so it uses indices and scalars only.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from ..contract.portable.choice import SYSTEM, with_math
from ..contract.vocabulary import LIBM, PRELUDE, WORDS
from ..schedule.schedule import Evaluation, LogGroup, Schedule, Unit
from ..solvers import find_tableau
from ..tracing.specialise import Helpers, specialise
from .at_instants.ahead import ahead_function
from .at_instants.first_slope import with_shared_slope
from .at_instants.hits import hit_text
from .gates import retain_text, switches
from .generator import Generator
from .slots import Slot, Slots

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Source:
    """A generated program and what its numbers mean."""

    text: str
    slots: Slots
    guards: list[tuple[Unit, str, int]]  # unit, name, direction: one per copy
    loops: list[list[Evaluation]]


def prelude_texts(text: str) -> list[str]:
    """The prelude functions a text uses, each after those it uses itself."""
    used: set[str] = set()
    texts = [text]
    while texts:
        words = (set(IDENTIFIER.findall(texts.pop())) & set(PRELUDE)) - used
        used |= words
        texts += [prelude_text(name) for name in words]
    return [prelude_text(name) for name in sorted(used)]


@functools.cache
def prelude_text(name: str) -> str:
    return specialise(WORDS[name].meaning, name, {}, {}) + "\n"


def words(code: list[str], math: str) -> list[str]:
    """The head of a program: the words that its functions use."""
    preludes = prelude_texts("\n".join(code))
    if math == SYSTEM:
        names = ", ".join((*LIBM, "inf", "nan"))
        return [f'"""A blocksim program."""\n\nfrom math import {names}\nfrom math import pow as libm_pow\n', *preludes]
    from ..contract.portable.text import EXACT_WORDS, portable_texts

    used = {name for text in (*preludes, *code) for name in IDENTIFIER.findall(text)}
    head = f'"""A blocksim program."""\n\nfrom math import {", ".join((*EXACT_WORDS, "inf", "nan"))}\n'
    return [head, *portable_texts(used & {*LIBM, "libm_pow"}), *preludes]


def helper_functions(helpers: Helpers) -> list[str]:
    """Functions of the block authors' own modules, with those they call."""
    texts: dict[str, str] = {}
    while len(texts) < len(helpers):
        for name, function in list(helpers.items()):
            if name not in texts:
                texts[name] = specialise(function, name, {}, helpers) + "\n"
    return [texts[n] for n in sorted(texts)]


def generate(schedule: Schedule, logs: list[LogGroup], solver: str, math: str = SYSTEM) -> Source:
    """The whole program for a schedule, its log, a solver and a choice of elementary functions."""
    with with_math(math):
        return write_source(schedule, logs, solver, math)


def write_source(schedule: Schedule, logs: list[LogGroup], solver: str, math: str) -> Source:
    from . import driver_text

    generator = Generator(schedule, logs)
    guards = generator.guard_functions() if generator.guards else []
    gates = switches(generator)
    retain = [retain_text(generator)] if gates else []
    slope, hit = generator.derivative(), hit_text(generator)
    if generator.loops:  # the last memory tells that a loop found no solution
        generator.slots.m.append(Slot("", "loop"))
    loops = [loop.text for loop in generator.loops] + [
        driver_text.loop_solver(n, generator.slots) for n in range(len(generator.loops))
    ]
    loose = sum(group.follows is None for group in logs)  # logged inside steps too
    counts = (len(schedule.groups), len(generator.guards), len(logs) if loose else 0, len(generator.loops), len(gates))
    method = find_tableau(solver)
    plain = not (guards or generator.loops or loose or generator.large or method.adaptive or method.implicit)
    shared = with_shared_slope(slope, hit) if plain else None
    driver = driver_text.driver(solver, len(generator.slots.x), len(generator.slots.m), *counts, shared is not None)
    body = [slope, *guards, *retain, shared or hit, *ahead_function(generator.ahead_text)]
    functions = [text + "\n" for _, text in generator.functions.values()]
    code = [*helper_functions(generator.helpers), *functions, *loops, *generator.part_functions, *body, *driver]
    return Source(
        "\n\n".join([*words(code, math), *code]),
        generator.slots,
        generator.guards,
        [loop.evaluations for loop in generator.loops],
    )
