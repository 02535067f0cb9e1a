"""Schedule -> source text: one flat, readable Python program.

    derivative(t, dx, x, ...)   dx = f: the continuous signals it needs, in feedthrough order, then every derivative
    guards(t, g, x, ...)        the margin of every guard; reset(i, ...) applies one
    hit(tick, t, x, ...)        what happens at an instant: due outputs, log, due memories
    advance(end, ...)           the solver's loop from stop to stop

The same text runs under CPython (lists of floats) and numba (arrays), so it uses indices and scalars only.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from .algebraic import make_loop, solve
from .declarations import Memory, Noise, State
from .emitter import STORES, Emitter
from .errors import BlockDefinitionError
from .flatten import Element, Evaluation, Schedule, Unit, evaluation_of, functions_of, output_functions
from .fold import specialise
from .roll import parts, roll
from .scope import Scope, indented
from .slots import Slot, Slots
from .vocabulary import LIBM, PRELUDE

HIT = f"tick, t, hits, logs, record, g, armed, f, {STORES}"
Pending = dict[tuple[int, str, int], str]


@dataclass
class LogGroup:
    """Signals that share a log grid."""

    every: Fraction
    signals: list[tuple[str, list[Element]]]  # shown name, elements
    follows: int | None = None  # the sample group whose hits are exactly this grid

    @property
    def width(self) -> int:
        return sum(len(elements) for _, elements in self.signals)


@dataclass
class Source:
    """A generated program and what its numbers mean."""

    text: str
    slots: Slots
    guards: list[tuple[Unit, str, int]]  # unit, name, direction: one per copy
    loops: list[list[Evaluation]]
    entry: str = "enter"


class Generator(Emitter):
    """Writes the functions of one schedule."""

    def __init__(self, schedule: Schedule, logs: list[LogGroup]):
        super().__init__(schedule)
        self.logs = logs
        self.guards = [(u, n[6:], getattr(f, "direction", 1)) for u in self.units for n, f in functions_of(u, "guard").items()
                       for _ in range(u.width)]
        self.part_functions: list[str] = []
        loops = [entry for entry in schedule.order if len(entry) > 1 or entry[0] in schedule.needs[entry[0]]]
        self.loops = [make_loop(self, number, entry) for number, entry in enumerate(loops)]

    # ---- signals ---------------------------------------------------------------------------------------------------

    def needed(self, targets: Iterable[Evaluation], held: bool) -> list[list[Evaluation]]:
        """What must be evaluated for these targets, in order; with `held`, sampled outputs are read, not computed."""
        wanted: set[Evaluation] = set()
        stack = list(targets)
        loop_of = {e: loop.evaluations for loop in self.loops for e in loop.evaluations}
        while stack:
            evaluation = stack.pop()
            if evaluation in wanted or (held and self.units[evaluation[0]].kind.sampled):
                continue
            wanted.add(evaluation)
            stack += [*self.schedule.needs[evaluation], *loop_of.get(evaluation, [])]  # a loop is solved as a whole
        entries = [entry for entry in self.schedule.order if entry[0] in wanted]
        return self.clustered(entries) if self.large else entries

    def clustered(self, entries: list[list[Evaluation]]) -> list[list[Evaluation]]:
        """Another feedthrough order, with blocks of a kind next to each other where they can be."""
        owner = {e: i for i, entry in enumerate(entries) for e in entry}
        waits = [{owner[s] for e in entry for s in self.schedule.needs[e] if s in owner and owner[s] != i} for i, entry in enumerate(entries)]
        feeds: list[list[int]] = [[] for _ in entries]
        for i, sources in enumerate(waits):
            for source in sources:
                feeds[source].append(i)
        kinds = [self.units[entry[0][0]].kind for entry in entries]
        ready: dict[type, list[int]] = {}
        left = [len(w) for w in waits]
        for i in reversed(range(len(entries))):
            if not left[i]:
                ready.setdefault(kinds[i], []).append(i)
        done: list[list[Evaluation]] = []
        kind = None
        while ready:
            kind = kind if kind in ready else next(iter(ready))
            i = ready[kind].pop()
            if not ready[kind]:
                del ready[kind]
            done.append(entries[i])
            for target in feeds[i]:
                left[target] -= 1
                if not left[target]:
                    ready.setdefault(kinds[target], []).append(target)
        return done

    def compute(self, scope: Scope, targets: Iterable[Evaluation], held: bool = True) -> None:
        """Write what these targets need and is not there yet."""
        for entry in self.needed(targets, held):
            if entry[0] not in scope.done:
                self.write_entry(scope, entry)

    def write_entry(self, scope: Scope, entry: list[Evaluation]) -> None:
        scope.done.update(entry)
        loop = next((loop for loop in self.loops if loop.evaluations == entry), None)
        if loop:
            solve(self, scope, loop)
        else:
            self.evaluate(scope, entry[0])

    def finish(self, scope: Scope, name: str, inputs: str, free: Scope | None = None) -> list[str]:
        """The scope as text blocks, followed by pieces in free order; rolled and cut where the diagram is large."""
        if not self.large:
            return scope.blocks() + (free.blocks() if free else [])
        blocks = roll(scope.written(), self.number_table) + (roll(free.written(), self.number_table, free=True) if free else [])
        blocks, functions = parts(name, inputs, blocks)
        self.part_functions += functions
        return blocks

    def number_table(self, values: list[int]) -> int:
        """Whole numbers a loop reads; their place in o."""
        start = self.slots.o
        self.slots.constants.append((start, values))
        self.slots.o += len(values)
        return start

    # ---- derivative, guards ----------------------------------------------------------------------------------------

    def derivative(self) -> str:
        scope, slopes = Scope(), Scope()
        moving = [u for u in self.units if "derivative" in u.kind.functions]
        self.compute(scope, [e for u in moving for e in self.inputs_of(u, [u.kind.functions["derivative"]])])
        slopes.signals = scope.signals
        for unit in moving:
            states = {n: unit.sizes.get(n, 1) for n, d in unit.kind.of(State).items() if not isinstance(d, Memory)}
            for copy in range(unit.width):
                slopes.begin(f"{unit.path}: {unit.kind.__name__}")
                given = self.apply(slopes, unit, "derivative", [(f"d{n}", s) for n, s in states.items()], copy)
                for name in states:
                    for address, part in zip(self.slots.of(unit, name, copy), given[f"d{name}"], strict=True):
                        slopes.write(f"dx[{address}] = {ast.unparse(part)}")
        inputs = f"t, dx, {STORES}"
        return function_text("derivative", inputs, self.finish(scope, "derivative", inputs, slopes))

    def guard_functions(self) -> list[str]:
        """`guards` fills g with every margin; `reset` applies one reset."""
        scope, resets = Scope(), Scope()
        watching = list(dict.fromkeys((u.index, n) for u, n, _ in self.guards))
        self.compute(scope, [e for u, n in watching for e in self.inputs_of(self.units[u], [self.units[u].kind.functions[f"guard_{n}"]])])
        number = 0
        for index, name in watching:
            unit = self.units[index]
            for copy in range(unit.width):
                scope.begin(f"{unit.path}: {name}")
                (margin,) = self.apply(scope, unit, f"guard_{name}", [(f"margin_{name}", 1)], copy)[f"margin_{name}"]
                scope.write(f"g[{number}] = {ast.unparse(margin)}")
                branch = Scope()
                self.compute(branch, self.inputs_of(unit, [unit.kind.functions[f"reset_{name}"]]))
                branch.begin(f"{unit.path}: {name}")
                self.assign_states(branch, unit, f"reset_{name}", copy, unit.kind.of(State))
                resets.nest(f"if i == {number}:", branch.blocks())
                number += 1
        inputs = f"t, g, {STORES}"
        return [function_text("guards", inputs, self.finish(scope, "guards", inputs)), function_text("reset", f"i, t, {STORES}", resets.blocks())]

    def assign_states(self, scope: Scope, unit: Unit, name: str, copy: int, states: dict[str, State]) -> None:
        """Write new values of states and memories, all computed before any is stored; arrays are changed in place."""
        scalar = {n: d for n, d in states.items() if not (isinstance(d, Memory) and d.array)}
        function = unit.kind.functions[name]
        if not scalar:
            self.call(scope, unit, name, [], copy, [])
            return
        given = self.apply(scope, unit, name, [(n, unit.sizes.get(n, 1)) for n in scalar], copy)
        left, right = [], []
        for state, values in given.items():
            if state not in scalar:
                raise BlockDefinitionError(f"{function.__qualname__} sets '{state}', which it cannot.")
            store = "m" if isinstance(unit.kind.declared[state], Memory) else "x"
            for address, part in zip(self.slots.of(unit, state, copy), values, strict=True):
                left.append(f"{store}[{address}]")
                right.append(ast.unparse(part))
        if left:
            scope.write(f"{', '.join(left)} = {', '.join(right)}")

    # ---- what happens at an instant --------------------------------------------------------------------------------

    def hit(self) -> str:
        """Due outputs, log, due memories; where there are guards, outputs again until no guard fires."""
        scope = Scope()
        groups = range(len(self.schedule.groups))
        for g in groups:
            scope.write(f"due_{g} = tick == hits[{2 * g}]")
        for j, group in enumerate(self.logs):
            scope.write(f"log_{j} = tick == logs[{3 * j}]" if group.follows is None else f"log_{j} = due_{group.follows}")
        acting = [[u for u in self.units if u.group == g] for g in groups]
        pending = self.pending(scope, acting)
        settling = bool(self.guards and acting)
        outputs = Scope()
        known = self.due_outputs(outputs, pending)
        if settling:
            outputs.write(f"fired = settle(t, g, armed, f, {STORES})\nif fired < 0:\n    return CHATTERING\nfiring = fired > 0")
            scope.write("firing = True")
            scope.nest("while firing:", outputs.blocks())
            known = {}  # a reset may have changed them
        else:
            scope.pieces += outputs.pieces
        for j, group in enumerate(self.logs):
            self.log_rows(scope, j, group, known.get(f"due_{group.follows}", Scope()))
        for g, units in enumerate(acting):
            self.due_memories(scope, g, units, pending, known.get(f"due_{g}", Scope()))
        if settling:
            scope.write(f"if settle(t, g, armed, f, {STORES}) < 0:\n    return CHATTERING")
        scope.write("return 0")
        return function_text("hit", HIT, scope.blocks())

    def pending(self, scope: Scope, acting: list[list[Unit]]) -> Pending:
        """Places for memories that `step` computes before they may be stored."""
        places: Pending = {}
        for unit in (u for units in acting for u in units if "step" in u.kind.functions):
            for name, declaration in unit.kind.of(Memory).items():
                for k in range(0 if declaration.array else unit.width * unit.sizes.get(name, 1)):
                    places[(unit.index, name, k)] = (f"m[{self.wire((unit.index, f'next {name}', k))}]" if self.large
                                                     else f"{self.names[unit.index]}_next_{name}" + (f"_{k}" if k else ""))
        if not self.large:
            for name in places.values():
                scope.write(f"{name} = 0.0")
        return places

    def due_outputs(self, scope: Scope, pending: Pending) -> dict[str, Scope]:
        """Outputs of all sampled blocks in feedthrough order, each when it is due, with the continuous signals they read.

        Gives, for each group alone, the signals that are known while it is due.
        """
        targets = [(u.index, f) for u in self.units if u.kind.sampled for f in output_functions(u.kind)]
        entries = self.needed(targets, held=False)
        conditions = self.conditions(entries)
        shared = Scope()
        runs: list[tuple[str, Scope]] = []
        for entry in entries:
            condition = " or ".join(f"due_{g}" for g in sorted(conditions[entry[0]]))
            if not runs or runs[-1][0] != condition:
                runs.append((condition, Scope(signals=shared.signals, done=shared.done)))
            unit = self.units[entry[0][0]]
            if unit.kind.sampled:
                shared.done.update(entry)
                self.sampled_output(runs[-1][1], unit, entry[0][1], pending)
            else:
                self.write_entry(runs[-1][1], entry)
        for number, (condition, inner) in enumerate(runs):
            scope.nest(f"if {condition}:", self.finish(inner, f"outputs_{number}", HIT))
        known = {}
        for g in range(len(self.schedule.groups)):
            done = {e for e in shared.done if g in conditions[e]}
            mine = {k: v for k, v in shared.signals.items() if evaluation_of(self.units[k[0]], k[1]) in done}
            known[f"due_{g}"] = Scope(signals=mine, done=done)
        return known

    def conditions(self, entries: list[list[Evaluation]]) -> dict[Evaluation, set[int]]:
        """For each evaluation, the groups it is evaluated for: its own, or those of the sampled blocks that read it."""
        wanted: dict[Evaluation, set[int]] = {}
        for entry in reversed(entries):
            for evaluation in entry:
                unit = self.units[evaluation[0]]
                if unit.kind.sampled:
                    wanted[evaluation] = {unit.group if unit.group is not None else 0}
            union = set().union(*(wanted.get(e, set()) for e in entry))
            for evaluation in entry:
                wanted[evaluation] = union
                for source in self.schedule.needs[evaluation]:
                    if not self.units[source[0]].kind.sampled and source not in entry:
                        wanted.setdefault(source, set()).update(union)
        return wanted

    def sampled_output(self, scope: Scope, unit: Unit, function: str, pending: Pending) -> None:
        scope.begin(f"{unit.path}: {unit.kind.__name__}")
        ports = output_functions(unit.kind)[function]
        memories = [n for n, d in unit.kind.of(Memory).items() if not d.array] if function == "step" else []
        for copy in range(unit.width):
            self.shadow(scope, unit, function, copy)
            results = [(n, 1 if unit.wide else unit.sizes.get(n, 1)) for n in ports]
            results += [(f"next_{n}", unit.sizes.get(n, 1)) for n in memories]
            given = self.apply(scope, unit, function, results, copy)
            for port in ports:
                for k, part in enumerate(given[port]):
                    scope.write(f"{ast.unparse(self.held((unit.index, port, copy if unit.wide else k)))} = {ast.unparse(part)}")
            for name in memories:
                for k, part in enumerate(given[f"next_{name}"]):
                    target, text = pending[(unit.index, name, copy * unit.sizes.get(name, 1) + k)], ast.unparse(part)
                    if target != text:
                        scope.write(f"{target} = {text}")

    def shadow(self, scope: Scope, unit: Unit, function: str, copy: int) -> None:
        """Where outputs may be computed again, `step` changes a copy of its array memories, stored with the other memories."""
        if function != "step" or not self.guards:
            return
        for name, declaration in unit.kind.of(Memory).items():
            if declaration.array:
                own = self.slots.array(unit, name, copy)
                region = self.slots.region(unit.index, f"{name}.shadow", (), unit.sizes.get(name, 1), copy)
                self.shadows[(unit.index, name, copy)] = region
                scope.write(f"for i in range(o[{own.index + 1}] - o[{own.index}]):\n    a[o[{region.index}] + i] = a[o[{own.index}] + i]")

    def log_rows(self, scope: Scope, j: int, group: LogGroup, known: Scope) -> None:
        inner = Scope(signals=dict(known.signals), done=set(known.done))
        elements = [e for _, es in group.signals for e in es]
        self.compute(inner, [evaluation_of(self.units[e[0]], e[1]) for e in elements])
        row = f"logs[{3 * j + 2}]"
        if not self.large:
            inner.begin()
            inner.write(f"row = {row}")
            row = "row"
        for k, element in enumerate(elements):
            if self.large:
                inner.begin()
            inner.write(f"record[{row} + {k}] = {ast.unparse(self.signal(inner, element))}")
        inner.begin()
        inner.write(f"logs[{3 * j + 2}] = {row} + {len(elements)}\nlogs[{3 * j}] = tick + logs[{3 * j + 1}]")
        scope.nest(f"if log_{j}:", self.finish(inner, f"log_{j}", HIT))

    def due_memories(self, scope: Scope, g: int, units: list[Unit], pending: Pending, known: Scope) -> None:
        """Updates of one group: every input is computed before any memory changes, then the group's next hit is set."""
        inner = Scope(signals=dict(known.signals), done=set(known.done))
        updating = [u for u in units if "update" in u.kind.functions]
        self.compute(inner, [e for u in updating for e in self.inputs_of(u, [u.kind.functions["update"]])])
        for unit in updating:
            for copy in range(unit.width):
                inner.begin(f"{unit.path}: {unit.kind.__name__}")
                self.assign_states(inner, unit, "update", copy, unit.kind.of(Memory))
        for (index, name, k), local in pending.items():
            if self.units[index].group == g:
                inner.begin()
                inner.write(f"m[{self.slots.where[(index, name)][k]}] = {local}")
        for (index, name, copy), region in self.shadows.items():
            if self.units[index].group == g:
                own = self.slots.array(self.units[index], name, copy)
                inner.begin()
                inner.write(f"for i in range(o[{own.index + 1}] - o[{own.index}]):\n    a[o[{own.index}] + i] = a[o[{region.index}] + i]")
        for address in (a for u in units for n in u.kind.of(Noise) for a in self.slots.where[(u.index, n)]):
            inner.begin()
            inner.write(f"o[{address}] += 1")
        inner.begin()
        inner.write(f"hits[{2 * g}] = tick + hits[{2 * g + 1}]")
        scope.nest(f"if due_{g}:", self.finish(inner, f"memories_{g}", HIT))


def function_text(name: str, inputs: str, blocks: list[str]) -> str:
    real = any(not line.strip().startswith("#") for block in blocks for line in block.splitlines())
    return f"def {name}({inputs}):\n{indented(blocks if real else [*blocks, 'pass'])}\n"


def prelude(text: str) -> list[str]:
    """The prelude functions a text uses, each after those it uses itself."""
    from . import vocabulary

    used: list[str] = []

    def include(body: str) -> None:
        names = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name)}
        for name in PRELUDE:
            if name in names and name not in used:
                used.append(name)
                include(specialise(getattr(vocabulary, name), name, {}, {}))

    include(text)
    return [specialise(getattr(vocabulary, n), n, {}, {}) + "\n" for n in sorted(used)]


def helper_functions(helpers: dict[str, Callable]) -> list[str]:
    """Functions of the block authors' own modules, with those they call."""
    written: dict[str, str] = {}
    waiting = dict(helpers)
    while waiting:
        name, function = waiting.popitem()
        if name not in written:
            more: dict[str, Callable] = {}
            written[name] = specialise(function, name, {}, more) + "\n"
            waiting.update({n: f for n, f in more.items() if n not in written})
    return [written[n] for n in sorted(written)]


def generate(schedule: Schedule, logs: list[LogGroup], solver: str) -> Source:
    """The whole program for a schedule, its log and a solver."""
    from .solvers import driver_text

    made = Generator(schedule, logs)
    guards = made.guard_functions() if made.guards else []
    body = [made.derivative(), *guards, made.hit().replace("CHATTERING", str(driver_text.kernel.CHATTERING))]
    if made.loops:  # the last memory tells that a loop found no solution
        made.slots.m.append(Slot("", "loop"))
    loops = [loop.text for loop in made.loops] + [driver_text.loop_solver(n, made.slots) for n in range(len(made.loops))]
    driver = driver_text.driver(solver, made.slots, len(schedule.groups), len(made.guards), len(logs), len(made.loops))
    functions = [text + "\n" for _, text in made.functions.values()]
    code = [*helper_functions(made.helpers), *functions, *loops, *made.part_functions, *body, *driver]
    title = (schedule.name or "diagram").replace("\\", " ").replace('"', "'").replace("\n", " ")
    head = [f'"""blocksim program of: {title}"""\n\nfrom math import {", ".join((*LIBM, "inf", "nan"))}\nfrom math import pow as libm_pow\n']
    return Source("\n\n".join([*head, *prelude("\n".join(code)), *code]), made.slots, made.guards, [loop.evaluations for loop in made.loops])
