"""Generator: the continuous side of a program, signals in feedthrough order, derivatives, guards and resets."""

from __future__ import annotations

from collections.abc import Iterable

from ..contract.declarations import Memory, State
from ..errors import BlockDefinitionError
from ..schedule.enabling import EnableSwitch
from ..schedule.schedule import Evaluation, LogGroup, Schedule, Unit, functions_of
from ..solvers.stores import signature
from ..tracing.code import Code, code, joined
from .algebraic import make_loop, solution_call
from .emitter import Emitter
from .following import written
from .gates import gated, switched
from .roll import parts, roll
from .scope import Scope, indented


class Generator(Emitter):
    """Writes the functions of one schedule."""

    def __init__(self, schedule: Schedule, logs: list[LogGroup]):
        super().__init__(schedule)
        self.logs = logs
        self.guards = [
            (u, n[6:], getattr(f, "direction", 1))
            for u in self.units
            for n, f in functions_of(u, "guard").items()
            for _ in range(u.width)
        ]
        self.part_functions: list[str] = []
        self.ahead_text: list[str] = []
        loops = [entry for entry in schedule.order if len(entry) > 1 or entry[0] in schedule.needs[entry[0]]]
        self.loops = [make_loop(self, number, entry) for number, entry in enumerate(loops)]

    # ---- signals ---------------------------------------------------------------------------------------------------

    def needed(self, targets: Iterable[Evaluation], stored: bool) -> list[list[Evaluation]]:
        """What must be evaluated for these targets, in order; with `held`, sampled outputs are read, not computed."""
        necessary: set[Evaluation] = set()
        stack = list(targets)
        loop_of = {e: loop.evaluations for loop in self.loops for e in loop.evaluations}
        while stack:
            evaluation = stack.pop()
            if evaluation in necessary or (stored and self.units[evaluation[0]].kind.sampled):
                continue
            necessary.add(evaluation)
            stack += [*self.schedule.needs[evaluation], *loop_of.get(evaluation, [])]  # a loop is solved as a whole
        entries = [entry for entry in self.schedule.order if entry[0] in necessary]
        return self.clustered(entries) if self.large else entries

    def clustered(self, entries: list[list[Evaluation]]) -> list[list[Evaluation]]:
        """Another feedthrough order, with blocks of a kind next to each other where they can be."""
        owner = {e: i for i, entry in enumerate(entries) for e in entry}
        waits = [
            {owner[s] for e in entry for s in self.schedule.needs[e] if s in owner and owner[s] != i}
            for i, entry in enumerate(entries)
        ]
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
        kind: type = Emitter
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

    def compute(self, scope: Scope, targets: Iterable[Evaluation], stored: bool = True) -> None:
        """Write what these targets need and is not there yet."""
        for entry in self.needed(targets, stored):
            if entry[0] not in scope.done:
                self.write_entry(scope, entry)

    def write_entry(self, scope: Scope, entry: list[Evaluation]) -> None:
        scope.done.update(entry)
        loop = next((loop for loop in self.loops if loop.evaluations == entry), None)
        if loop:
            solution_call(self, scope, loop)
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
                inner, still = Scope(signals=slopes.signals), Scope()
                inner.begin(f"{unit.path}: {unit.kind.__name__}")
                outcome = self.apply(inner, unit, "derivative", [(f"d{n}", s) for n, s in states.items()], copy)
                for name in states:
                    for address, part in zip(self.slots.of(unit, name, copy), outcome[f"d{name}"], strict=True):
                        inner.write(code("dx[", address, "] = ", written(part)))
                        still.write(code("dx[", address, "] = 0.0"))
                gated(self, slopes, unit, inner, still)
        inputs = signature("derivative")
        return program_function("derivative", inputs, self.finish(scope, "derivative", inputs, slopes))

    def guard_functions(self) -> list[str]:
        """`guards` fills g with every margin; `reset` applies one reset."""
        scope, resets = Scope(), Scope()
        watching = list(dict.fromkeys((u.index, n) for u, n, _ in self.guards))
        self.compute(
            scope, [e for u, n in watching for e in self.inputs_of(self.units[u], [self.units[u].kind.functions[f"guard_{n}"]])]
        )
        number = 0
        for index, name in watching:
            unit = self.units[index]
            for copy in range(unit.width):
                inner, asleep = Scope(signals=scope.signals), Scope()
                inner.begin(f"{unit.path}: {name}")
                (margin,) = self.apply(inner, unit, f"guard_{name}", [(f"margin_{name}", 1)], copy)[f"margin_{name}"]
                inner.write(code("g[", number, "] = ", written(margin)))
                asleep.write(code("g[", number, "] = nan"))  # neither fires nor returns
                gated(self, scope, unit, inner, asleep)
                branch = Scope()
                self.compute(branch, self.inputs_of(unit, [unit.kind.functions[f"reset_{name}"]]))
                branch.begin(f"{unit.path}: {name}")
                self.assign_states(branch, unit, f"reset_{name}", copy, unit.kind.of(State))
                if isinstance(unit.block, EnableSwitch):
                    switched(self, branch, unit)
                resets.nest(f"if i == {number}:", branch.blocks())
                number += 1
        inputs = signature("guards")
        return [
            program_function("guards", inputs, self.finish(scope, "guards", inputs)),
            program_function("reset", signature("reset"), resets.blocks()),
        ]

    def assign_states(self, scope: Scope, unit: Unit, name: str, copy: int, states: dict[str, State]) -> None:
        """Write new values of states and memories, all computed before any is stored; arrays are changed in place."""
        scalar = {n: d for n, d in states.items() if not (isinstance(d, Memory) and d.array)}
        function = unit.kind.functions[name]
        if not scalar:
            self.apply(scope, unit, name, [], copy)
            return
        outcome = self.apply(scope, unit, name, [(n, unit.sizes.get(n, 1)) for n in scalar], copy)
        left: list[Code] = []
        right: list[Code] = []
        for state, values in outcome.items():
            if state not in scalar:
                raise BlockDefinitionError(f"{function.__qualname__} sets '{state}', which it cannot.")
            store = "m" if isinstance(unit.kind.declared[state], Memory) else "x"
            for address, part in zip(self.slots.of(unit, state, copy), values, strict=True):
                left.append(code(f"{store}[", address, "]"))
                right.append(written(part))
        if left:
            scope.write(code(joined(", ", left), " = ", joined(", ", right)))


def program_function(name: str, inputs: str, blocks: list[str]) -> str:
    real = any(not line.strip().startswith("#") for block in blocks for line in block.splitlines())
    return f"def {name}({inputs}):\n{indented(blocks if real else [*blocks, 'pass'])}\n"
