"""Schedule -> source text: one flat, readable Python program.

    derivative(t, x, dx, ...)   dx = f: the continuous signals it needs, in feedthrough order, then every derivative
    guards(t, x, g, ...)        the margin of every guard; reset(i, ...) applies one
    hit(tick, t, x, ...)        what happens at an instant: due outputs, log, due memories
    advance(end, ...)           the solver's loop from stop to stop

The same text runs under CPython (lists of floats) and numba (arrays), so it uses indices and scalars only.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .contract import arguments
from .declarations import Inport, Memory, Noise, Outport, Param, Period, State, Static, Table
from .errors import BlockDefinitionError
from .flatten import Element, Evaluation, Schedule, Unit, evaluation_of, functions_of, output_functions
from .fold import Env, Fields, Inliner, NotInlinable, constant, expression, flat, parsed, specialise
from .slots import Region, Slot, Slots, lay_out
from .vocabulary import LIBM, PRELUDE

#: What every function of a program passes on.
STORES = "x, p, m, a, noise, o"
#: From this many blocks on, signals live in memory and equal blocks share one loop: compile time then grows with the
#: number of kinds of block, not with the number of blocks.
LARGE = 60


@dataclass
class LogGroup:
    """Signals that share a log grid."""

    every: object  # Fraction
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
    guards: list[tuple[Unit, str, int]]  # unit, name, direction
    logs: list[LogGroup]
    loops: list[list[Evaluation]]
    states: int
    entry: str = "enter"


@dataclass
class Scope:
    """One function being written: its lines, and the signals it has computed so far."""

    lines: list[str] = field(default_factory=list)
    indent: int = 1
    signals: dict[Element, ast.expr] = field(default_factory=dict)
    done: set[Evaluation] = field(default_factory=set)

    def write(self, text: str) -> None:
        self.lines += ["    " * self.indent + line for line in text.splitlines()]


class Generator:
    """Writes the functions of one schedule."""

    def __init__(self, schedule: Schedule, logs: list[LogGroup]):
        self.schedule, self.logs = schedule, logs
        self.units = schedule.units
        self.slots = lay_out(schedule)
        self.helpers: dict[str, Callable] = {}
        self.functions: dict[tuple[object, ...], tuple[str, str]] = {}  # functions that stay functions: key -> name, text
        self.names = unique_names(self.units)
        self.guards = [(u, n[6:], getattr(f, "direction", 1)) for u in self.units for n, f in functions_of(u, "guard").items()]
        self.loops = [entry for entry in schedule.order if len(entry) > 1 or entry[0] in schedule.needs[entry[0]]]
        self.loop_text: list[str] = []
        self.solved: dict[int, tuple[list[Element], dict[Element, int]]] = {}
        for number, loop in enumerate(self.loops):
            self.write_loop(number, loop)
        if self.loops:  # the last memory tells that a loop found no solution
            self.slots.m.append(Slot("", "loop"))

    # ---- names of things -------------------------------------------------------------------------------------------

    def held(self, element: Element) -> ast.expr:
        """A sampled output between its hits."""
        unit, port, k = element
        return expression(f"m[{self.slots.where[(unit, port)][k]}]")

    def signal(self, scope: Scope, element: Element) -> ast.expr:
        if element in scope.signals:
            return scope.signals[element]
        if self.units[element[0]].kind.sampled:
            return self.held(element)
        raise KeyError(f"{self.units[element[0]].path}.{element[1]} was not computed")  # a defect of the generator

    def needed(self, targets: Iterable[Evaluation], held: bool) -> list[list[Evaluation]]:
        """What must be evaluated for these targets, in order; with `held`, sampled outputs are read, not computed."""
        wanted: set[Evaluation] = set()
        stack = list(targets)
        while stack:
            evaluation = stack.pop()
            if evaluation in wanted or (held and self.units[evaluation[0]].kind.sampled):
                continue
            wanted.add(evaluation)
            stack += self.schedule.needs[evaluation]
        for loop in self.loops:  # a loop is solved as a whole
            if wanted & set(loop):
                extra = [n for e in loop for n in self.schedule.needs[e] if n not in loop]
                missing = [e for e in (*loop, *extra) if e not in wanted]
                if missing:
                    return self.needed([*wanted, *missing], held)
        return [entry for entry in self.schedule.order if entry[0] in wanted]

    def inputs_of(self, unit: Unit, functions: Iterable[Callable]) -> list[Evaluation]:
        """The evaluations whose outputs these functions ask for."""
        asked = {a for f in functions for a in arguments(f)}
        return [evaluation_of(self.units[e[0]], e[1]) for port in unit.kind.of(Inport) if port in asked
                for elements in unit.elements.get(port, []) for e in elements]

    # ---- arguments of a block function -----------------------------------------------------------------------------

    def bind(self, scope: Scope, unit: Unit, function: Callable, copy: int) -> Env:
        """What each argument of an inlined function stands for, in one copy of the unit."""
        return {name: self.binding(scope, unit, name, copy) for name in arguments(function)}

    def binding(self, scope: Scope, unit: Unit, name: str, copy: int) -> ast.expr:
        declaration = unit.kind.declared.get(name)
        where = self.slots.where.get((unit.index, name), [])
        if name == "t":
            return expression("t")
        if name.startswith("has_") and declaration is None:
            return constant(bool(unit.elements.get(name[4:])))
        if declaration is None:
            return constant(unit.sizes[name])
        if isinstance(declaration, Static):
            return constant(unit.settings[name])
        if isinstance(declaration, Inport):
            return self.arriving(scope, unit, name, declaration, copy)
        if isinstance(declaration, Noise):
            return expression(f"noise[o[{where[copy]}]]")
        if (unit.index, name) in self.slots.arrays:
            return self.array_argument(self.slots.arrays[(unit.index, name)], unit, declaration)
        store = "p" if not isinstance(declaration, State) else "m" if isinstance(declaration, Memory) else "x"
        if isinstance(declaration, State) and unit.sizes.get(name, 1) != 1 or (isinstance(declaration, State) and declaration.size != 1):
            return ast.Tuple([expression(f"{store}[{k}]") for k in where], ast.Load())
        return expression(f"{store}[{where[copy if len(where) > 1 else 0]}]")

    def arriving(self, scope: Scope, unit: Unit, port: str, declaration: Inport, copy: int) -> ast.expr:
        """The signal(s) at an input: a scalar, a tuple for a vector, a tuple of those for a port that takes many."""
        incoming = unit.elements.get(port, [])
        if not incoming and not declaration.many:
            return constant(float(declaration.default))
        scalar = declaration.size == 1

        def one(elements: list[Element]) -> ast.expr:
            if scalar:
                return self.signal(scope, elements[copy if len(elements) > 1 else 0])
            return ast.Tuple([self.signal(scope, e) for e in elements], ast.Load())

        if declaration.many:
            return ast.Tuple([one(elements) for elements in incoming], ast.Load())
        return one(incoming[0])

    def array_argument(self, region: Region, unit: Unit, declaration: object) -> ast.expr:
        view = f"a[o[{region.index}]:o[{region.index + 1}]]"
        if region.shape:
            view += f".reshape({region.shape})"
        return expression(view)

    # ---- calling block functions -----------------------------------------------------------------------------------

    def apply(self, scope: Scope, unit: Unit, name: str, results: Sequence[tuple[str, int]], copy: int = 0) -> dict[str, list[ast.expr]]:
        """Write the code of one block function; gives an expression per scalar of each result."""
        function = unit.kind.functions[name]
        prefix = self.names[unit.index] + (f"_{copy}_" if unit.wide else "_")
        targets = [f"{prefix}{n}" + ("" if size == 1 else f"_{k}") for n, size in results for k in range(size)]
        if "out" in arguments(function):
            return self.call(scope, unit, name, results, copy, targets)
        try:
            made = Inliner(function, self.bind(scope, unit, function, copy), prefix, targets, self.helpers)
        except NotInlinable:
            return self.call(scope, unit, name, results, copy, targets)
        for statement in made.statements:
            scope.write(ast.unparse(ast.fix_missing_locations(statement)))
        if isinstance(made.result, Fields):
            unknown = set(made.result.fields) - set(unit.kind.of(State))
            if unknown:
                raise BlockDefinitionError(f"{function.__qualname__} sets {sorted(unknown)}, which is neither state nor memory.")
            return {n: flat(v) for n, v in made.result.fields.items()}
        assert made.result is not None
        return self.split(function, results, flat(made.result))

    @staticmethod
    def split(function: Callable, results: Sequence[tuple[str, int]], parts: list[ast.expr]) -> dict[str, list[ast.expr]]:
        wanted = sum(size for _, size in results)
        if len(parts) != wanted:
            raise BlockDefinitionError(f"{function.__qualname__} returns {len(parts)} value(s) where {wanted} are wanted "
                                       f"({', '.join(f'{n}[{s}]' if s > 1 else n for n, s in results)}).")
        given, start = {}, 0
        for name, size in results:
            given[name] = parts[start : start + size]
            start += size
        return given

    def call(self, scope: Scope, unit: Unit, name: str, results: Sequence[tuple[str, int]], copy: int,
             targets: list[str]) -> dict[str, list[ast.expr]]:
        """A function that stays a function: vectors are passed as arrays, `out` is a stretch of the array store."""
        function = unit.kind.functions[name]
        asked = arguments(function)
        known: Env = {}
        passed: list[str] = []
        for argument in asked:
            if argument == "out":
                region = self.scratch(unit, f"{name}.out", sum(s for _, s in results))
                passed.append(f"a[o[{region.index}]:o[{region.index + 1}]]")
                continue
            bound = self.binding(scope, unit, argument, copy)
            if self.is_constant(unit, argument):
                known[argument] = bound
            elif isinstance(bound, ast.Tuple):
                passed.append(self.gather(scope, unit, f"{name}.{argument}", bound))
            else:
                passed.append(ast.unparse(bound))
        key = (function, tuple((k, ast.dump(v)) for k, v in known.items()))
        if key not in self.functions:
            title = f"{unit.kind.__name__}_{name}" + (f"_{len(self.functions)}" if known else "")
            self.functions[key] = (title, specialise(function, title, known, self.helpers, tuple(known)))
        title = self.functions[key][0]
        if "out" in asked:
            scope.write(f"{title}({', '.join(passed)})")
            region = self.slots.arrays[(unit.index, f"{name}.out")]
            return self.split(function, results, [expression(f"a[o[{region.index}] + {k}]") for k in range(len(targets))])
        scope.write(f"{', '.join(targets)} = {title}({', '.join(passed)})")
        return self.split(function, results, [expression(t) for t in targets])

    def is_constant(self, unit: Unit, argument: str) -> bool:
        declaration = unit.kind.declared.get(argument)
        return (declaration is None and argument != "t") or isinstance(declaration, Static)

    def scratch(self, unit: Unit, name: str, length: int) -> Region:
        found = self.slots.arrays.get((unit.index, name))
        return found or self.slots.region(unit.index, name, (), length)

    def gather(self, scope: Scope, unit: Unit, name: str, values: ast.Tuple) -> str:
        """A vector as a stretch of the array store."""
        texts = [ast.unparse(v) for v in flat(values)]
        region = self.scratch(unit, name, len(texts))
        for k, text in enumerate(texts):
            scope.write(f"a[o[{region.index}] + {k}] = {text}")
        return f"a[o[{region.index}]:o[{region.index + 1}]]"

    # ---- signals ---------------------------------------------------------------------------------------------------

    def compute(self, scope: Scope, targets: Iterable[Evaluation], held: bool = True) -> None:
        """Write what these targets need and is not there yet."""
        for entry in self.needed(targets, held):
            if entry[0] in scope.done:
                continue
            scope.done.update(entry)
            if entry in self.loops:
                self.solve(scope, self.loops.index(entry))
            else:
                self.evaluate(scope, entry[0])

    def evaluate(self, scope: Scope, evaluation: Evaluation) -> None:
        """Outputs of one continuous unit become expressions: copies of names where they are names, else variables."""
        unit = self.units[evaluation[0]]
        ports = output_functions(unit.kind)[evaluation[1]]
        scope.write(f"# {unit.path}: {unit.kind.__name__}")
        for copy in range(unit.width):
            results = [(p, 1 if unit.wide else unit.sizes[p]) for p in ports]
            given = self.apply(scope, unit, evaluation[1], results, copy)
            for port, parts in given.items():
                for k, part in enumerate(parts):
                    index = copy if unit.wide else k
                    scope.signals[(unit.index, port, index)] = self.keep(scope, unit, port, index, part)

    def keep(self, scope: Scope, unit: Unit, port: str, index: int, value: ast.expr) -> ast.expr:
        """Give a computed output a name, unless it is one already or cannot change."""
        text = ast.unparse(value)
        if isinstance(value, (ast.Name, ast.Constant)) or text.startswith(("x[", "p[")) and text.endswith("]") and text.count("[") == 1:
            return value
        name = f"{self.names[unit.index]}_{port}" + (f"_{index}" if unit.sizes[port] > 1 else "")
        scope.write(f"{name} = {text}")
        return expression(name)

    # ---- algebraic loops -------------------------------------------------------------------------------------------

    def write_loop(self, number: int, loop: list[Evaluation]) -> None:
        """The residual of one loop: what the blocks make of a guess z, minus z."""
        torn = tear(loop, self.schedule.needs)
        unknown: list[Element] = []
        for index, function in torn:
            for port in output_functions(self.units[index].kind)[function]:
                unknown += [(index, port, k) for k in range(self.units[index].sizes[port])]
        outside = list(dict.fromkeys(e for evaluation in loop for e in self.elements_read(evaluation)
                                     if evaluation_of(self.units[e[0]], e[1]) not in loop and not self.units[e[0]].kind.sampled))
        first = len(self.slots.m)
        self.slots.m += [Slot(self.units[e[0]].path, e[1], e[2]) for e in outside]
        borrowed = {e: first + i for i, e in enumerate(outside)}
        count = len(unknown)
        for part, length in (("z", count), ("r", count), ("q", count), ("jacobian", count * count)):
            self.slots.region(-1 - number, part, (), length)
        scope = Scope(signals={e: expression(f"z[{i}]") for i, e in enumerate(unknown)})
        scope.signals.update({e: expression(f"m[{i}]") for e, i in borrowed.items()})
        later = [e for entry in within(loop, torn, self.schedule.needs) for e in entry]
        guesses = dict(scope.signals)
        for evaluation in later:
            self.evaluate(scope, evaluation)
            if evaluation in torn:
                for i, e in enumerate(unknown):
                    if e[0] == evaluation[0] and evaluation_of(self.units[e[0]], e[1]) == evaluation:
                        scope.write(f"r[{i}] = {ast.unparse(scope.signals[e])} - z[{i}]")
                        scope.signals[e] = guesses[e]
        body = "\n".join(scope.lines)
        self.loop_text.append(f"def loop_{number}(z, r, t, {STORES}):\n{body}\n")
        self.solved[number] = (unknown, borrowed)

    def elements_read(self, evaluation: Evaluation) -> list[Element]:
        unit = self.units[evaluation[0]]
        asked = arguments(unit.kind.functions[evaluation[1]])
        return [e for port in unit.kind.of(Inport) if port in asked for elements in unit.elements.get(port, []) for e in elements]

    def solve(self, scope: Scope, number: int) -> None:
        """Solve a loop, then compute its signals from the solution."""
        unknown, borrowed = self.solved[number]
        for element, address in borrowed.items():
            scope.write(f"m[{address}] = {ast.unparse(self.signal(scope, element))}")
        scope.write(f"solve_loop_{number}(t, {STORES})")
        start = self.slots.arrays[(-1 - number, "z")].index
        for i, element in enumerate(unknown):
            unit = self.units[element[0]]
            scope.signals[element] = self.keep(scope, unit, element[1], element[2], expression(f"a[o[{start}] + {i}]"))
        torn = {evaluation_of(self.units[e[0]], e[1]) for e in unknown}
        for evaluation in (e for entry in within(self.loops[number], torn, self.schedule.needs) for e in entry):
            if evaluation not in torn:
                self.evaluate(scope, evaluation)

    # ---- the functions of the program ------------------------------------------------------------------------------

    def derivative(self) -> str:
        scope = Scope()
        moving = [u for u in self.units if "derivative" in u.kind.functions]
        self.compute(scope, [e for u in moving for e in self.inputs_of(u, [u.kind.functions["derivative"]])])
        for unit in moving:
            scope.write(f"# {unit.path}: {unit.kind.__name__}")
            states = {n: unit.sizes.get(n, 1) for n, d in unit.kind.of(State).items() if not isinstance(d, Memory)}
            for copy in range(unit.width):
                given = self.apply(scope, unit, "derivative", [(f"d{n}", s) for n, s in states.items()], copy)
                for name in states:
                    where = self.slots.where[(unit.index, name)]
                    parts = given[f"d{name}"]
                    for k, part in enumerate(parts):
                        scope.write(f"dx[{where[copy if unit.wide else k]}] = {ast.unparse(part)}")
        return function_text("derivative", f"t, dx, {STORES}", scope)

    def guard_functions(self) -> list[str]:
        """`guards` fills g with every margin; `reset` applies one reset."""
        scope = Scope()
        self.compute(scope, [e for u, n, _ in self.guards for e in self.inputs_of(u, [u.kind.functions[f"guard_{n}"]])])
        resets = Scope()
        number = 0
        copies = []
        for unit, name, direction in self.guards:
            for copy in range(unit.width):
                (margin,) = self.apply(scope, unit, f"guard_{name}", [(f"margin_{name}", 1)], copy)[f"margin_{name}"]
                scope.write(f"g[{number}] = {ast.unparse(margin)}")
                copies.append((unit, name, direction))
                resets.write(f"{'if' if number == 0 else 'elif'} i == {number}:  # {unit.path}: {name}")
                branch = Scope(indent=2)
                self.compute(branch, self.inputs_of(unit, [unit.kind.functions[f"reset_{name}"]]))
                self.assign_states(branch, unit, f"reset_{name}", copy, unit.kind.of(State))
                resets.lines += branch.lines or ["        pass"]
                number += 1
        self.guards = copies
        return [function_text("guards", f"t, g, {STORES}", scope), function_text("reset", f"i, t, {STORES}", resets)]

    def assign_states(self, scope: Scope, unit: Unit, name: str, copy: int, states: dict[str, State]) -> None:
        """Write new values of states and memories, all computed before any is stored."""
        scalar = {n: d for n, d in states.items() if not (isinstance(d, Memory) and d.array)}
        results = [(n, 1 if unit.wide else unit.sizes.get(n, 1)) for n in scalar]
        function = unit.kind.functions[name]
        if not scalar:  # only arrays, changed in place
            self.apply_in_place(scope, unit, name, copy)
            return
        given = self.apply(scope, unit, name, results, copy)
        left, right = [], []
        for state, parts in given.items():
            if state not in scalar:
                raise BlockDefinitionError(f"{function.__qualname__} sets '{state}', which it cannot.")
            store = "m" if isinstance(unit.kind.declared[state], Memory) else "x"
            where = self.slots.where[(unit.index, state)]
            for k, part in enumerate(parts):
                left.append(f"{store}[{where[copy if unit.wide else k]}]")
                right.append(ast.unparse(part))
        if left:
            scope.write(f"{', '.join(left)} = {', '.join(right)}")

    def apply_in_place(self, scope: Scope, unit: Unit, name: str, copy: int) -> None:
        self.call(scope, unit, name, [], copy, [])

    def hit(self) -> str:
        """Due outputs, log, due memories; where there are guards, outputs again until no guard fires."""
        scope = Scope()
        groups = range(len(self.schedule.groups))
        for g in groups:
            scope.write(f"due_{g} = tick == hits[{2 * g}]")
        for j, group in enumerate(self.logs):
            scope.write(f"log_{j} = tick == logs[{3 * j}]" if group.follows is None else f"log_{j} = due_{group.follows}")
        acting = [[u for u in self.units if u.group == g] for g in groups]
        pending = self.initial_values(scope, acting)
        settling = bool(self.guards and acting)
        if settling:
            scope.write("firing = True\nwhile firing:")
            scope.indent = 2
        known = self.due_outputs(scope, pending)
        if settling:
            scope.write(f"fired = settle(t, g, armed, f, {STORES})\nif fired < 0:\n    return CHATTERING\nfiring = fired > 0")
            scope.indent = 1
            known = {}  # a reset may have changed them
        for j, group in enumerate(self.logs):
            shared = known.get(f"due_{group.follows}", Scope())
            self.log_rows(scope, j, group, shared)
        for g, units in enumerate(acting):
            self.due_memories(scope, g, units, pending, known.get(f"due_{g}", Scope()))
        if settling:
            scope.write(f"if settle(t, g, armed, f, {STORES}) < 0:\n    return CHATTERING")
        scope.write("return 0")
        return function_text("hit", f"tick, t, hits, logs, log, g, armed, f, {STORES}", scope)

    def initial_values(self, scope: Scope, acting: list[list[Unit]]) -> dict[tuple[int, str, int], str]:
        """Names for memories that `step` computes before they may be stored."""
        pending = {}
        for units in acting:
            for unit in units:
                if "step" in unit.kind.functions:
                    for name, declaration in unit.kind.of(Memory).items():
                        for k in range(0 if declaration.array else unit.width * unit.sizes.get(name, 1)):
                            pending[(unit.index, name, k)] = f"{self.names[unit.index]}_next_{name}" + (f"_{k}" if k else "")
        for name in pending.values():
            scope.write(f"{name} = 0.0")
        return pending

    def due_outputs(self, scope: Scope, pending: dict[tuple[int, str, int], str]) -> dict[str, Scope]:
        """Outputs of all sampled blocks in feedthrough order, each when it is due, with the continuous signals they read.

        Gives, for each group alone, the signals that are known while it is due.
        """
        targets = [(u.index, f) for u in self.units if u.kind.sampled for f in output_functions(u.kind)]
        entries = self.needed(targets, held=False)
        conditions = self.conditions(entries)
        shared = Scope()
        open_condition = ""
        for entry in entries:
            condition = " or ".join(f"due_{g}" for g in sorted(conditions[entry[0]]))
            if condition != open_condition:
                scope.write(f"if {condition}:")
                open_condition = condition
            inner = Scope(indent=scope.indent + 1, signals=shared.signals, done=shared.done)
            inner.done.update(entry)
            unit = self.units[entry[0][0]]
            if unit.kind.sampled:
                self.sampled_output(inner, unit, entry[0][1], pending)
            elif entry in self.loops:
                self.solve(inner, self.loops.index(entry))
            else:
                self.evaluate(inner, entry[0])
            scope.lines += inner.lines
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

    def sampled_output(self, scope: Scope, unit: Unit, function: str, pending: dict[tuple[int, str, int], str]) -> None:
        scope.write(f"# {unit.path}: {unit.kind.__name__}")
        ports = output_functions(unit.kind)[function]
        memories = [n for n, d in unit.kind.of(Memory).items() if not d.array] if function == "step" else []
        for copy in range(unit.width):
            results = [(n, 1 if unit.wide else unit.sizes.get(n, 1)) for n in ports]
            results += [(f"next_{n}", 1 if unit.wide else unit.sizes.get(n, 1)) for n in memories]
            given = self.apply(scope, unit, function, results, copy)
            for port in ports:
                for k, part in enumerate(given[port]):
                    scope.write(f"{ast.unparse(self.held((unit.index, port, copy if unit.wide else k)))} = {ast.unparse(part)}")
            for name in memories:
                for k, part in enumerate(given[f"next_{name}"]):
                    target, text = pending[(unit.index, name, copy if unit.wide else k)], ast.unparse(part)
                    if target != text:
                        scope.write(f"{target} = {text}")

    def log_rows(self, scope: Scope, j: int, group: LogGroup, known: Scope) -> None:
        scope.write(f"if log_{j}:")
        inner = Scope(indent=scope.indent + 1, signals=dict(known.signals), done=set(known.done))
        elements = [e for _, es in group.signals for e in es]
        self.compute(inner, [evaluation_of(self.units[e[0]], e[1]) for e in elements])
        inner.write(f"row = logs[{3 * j + 2}]")
        for k, element in enumerate(elements):
            inner.write(f"log[row + {k}] = {ast.unparse(self.signal(inner, element))}")
        inner.write(f"logs[{3 * j + 2}] = row + {len(elements)}\nlogs[{3 * j}] = tick + logs[{3 * j + 1}]")
        scope.lines += inner.lines

    def due_memories(self, scope: Scope, g: int, units: list[Unit], pending: dict[tuple[int, str, int], str], known: Scope) -> None:
        """Updates of one group: every input is computed before any memory changes, then the group's next hit is set."""
        scope.write(f"if due_{g}:")
        inner = Scope(indent=scope.indent + 1, signals=dict(known.signals), done=set(known.done))
        updating = [u for u in units if "update" in u.kind.functions]
        self.compute(inner, [e for u in updating for e in self.inputs_of(u, [u.kind.functions["update"]])])
        for unit in updating:
            inner.write(f"# {unit.path}: {unit.kind.__name__}")
            for copy in range(unit.width):
                self.assign_states(inner, unit, "update", copy, unit.kind.of(Memory))
        for (index, name, k), local in pending.items():
            if self.units[index].group == g:
                inner.write(f"m[{self.slots.where[(index, name)][k]}] = {local}")
        for unit in units:
            for name in unit.kind.of(Noise):
                for address in self.slots.where[(unit.index, name)]:
                    inner.write(f"o[{address}] += 1")
        inner.write(f"hits[{2 * g}] = tick + hits[{2 * g + 1}]")
        scope.lines += inner.lines


def function_text(name: str, inputs: str, scope: Scope) -> str:
    body = "\n".join(scope.lines)
    real = [line for line in scope.lines if not line.strip().startswith("#")]
    return f"def {name}({inputs}):\n{body}{'' if real else chr(10) + '    pass' if body else '    pass'}\n"


def unique_names(units: list[Unit]) -> list[str]:
    """Dotted paths as Python names, all different and none a word of the program."""
    taken = {"t", "x", "p", "m", "a", "o", "g", "f", "k", "dx", "tick", "noise", "hits", "logs", "log", "row", "armed", *LIBM, *PRELUDE}
    names = []
    for unit in units:
        name = unit.path.replace(".", "_")
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def tear(loop: list[Evaluation], needs: dict[Evaluation, list[Evaluation]]) -> set[Evaluation]:
    """Few evaluations that, once guessed, leave the rest of a loop without a cycle."""
    import networkx as nx

    graph = nx.DiGraph((s, e) for e in loop for s in needs[e] if s in loop)
    torn: set[Evaluation] = set()
    while not nx.is_directed_acyclic_graph(graph):
        busiest = max(sorted(graph.nodes), key=lambda n: graph.in_degree(n) * graph.out_degree(n))
        torn.add(busiest)
        graph.remove_node(busiest)
    return torn


def within(loop: list[Evaluation], torn: Iterable[Evaluation], needs: dict[Evaluation, list[Evaluation]]) -> list[list[Evaluation]]:
    """A loop's evaluations in order, given the torn ones."""
    import networkx as nx

    torn = set(torn)
    graph = nx.DiGraph()
    graph.add_nodes_from(loop)
    graph.add_edges_from((s, e) for e in loop for s in needs[e] if s in loop and s not in torn)
    return [[n] for n in nx.lexicographical_topological_sort(graph)]


def prelude(text: str) -> list[str]:
    """The prelude functions a text uses, each after those it uses itself."""
    from . import vocabulary

    used: list[str] = []

    def include(body: str) -> None:
        names = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name)}
        for name in PRELUDE:
            if name in names and name not in used:
                source = specialise(getattr(vocabulary, name), name, {}, {})
                include(source.split("\n", 1)[1].replace("\n    ", "\n").lstrip())
                used.append(name)

    include(text)
    return [specialise(getattr(vocabulary, n), n, {}, {}) + "\n" for n in used]


def helper_functions(helpers: dict[str, Callable]) -> list[str]:
    """Functions of the block authors' own modules, with those they call."""
    written: dict[str, str] = {}
    waiting = dict(helpers)
    while waiting:
        name, function = waiting.popitem()
        if name in written:
            continue
        more: dict[str, Callable] = {}
        written[name] = specialise(function, name, {}, more) + "\n"
        waiting.update({n: f for n, f in more.items() if n not in written})
    return [written[n] for n in sorted(written)]


def generate(schedule: Schedule, logs: list[LogGroup], solver: str) -> Source:
    """The whole program for a schedule, its log and a solver."""
    from .solvers import driver_text

    gen = Generator(schedule, logs)
    guards = gen.guard_functions() if gen.guards else []
    body = [gen.derivative(), *guards, gen.hit()]
    states = len(gen.slots.x)
    loops = gen.loop_text + [driver_text.loop_solver(n, gen.slots) for n in range(len(gen.loops))]
    driver = driver_text.driver(solver, states, len(schedule.groups), len(gen.guards), len(logs), len(gen.loops), len(gen.slots.m),
                                bool(gen.slots.regions))
    functions = [text + "\n" for _, text in gen.functions.values()]
    code = [*helper_functions(gen.helpers), *functions, *loops, *body, *driver]
    start = prelude("\n".join(code))
    title = (schedule.name or "diagram").replace("\\", " ").replace('"', "'").replace("\n", " ")
    head = [f'"""blocksim program of: {title}"""\n', f"from math import {', '.join((*LIBM, 'inf', 'nan'))}\nfrom math import pow as libm_pow\n"]
    return Source("\n\n".join([*head, *start, *code]), gen.slots, gen.guards, logs, gen.loops, states)


__all__ = ["LogGroup", "Source", "generate", "inspect", "parsed", "Param", "Period", "Table", "Outport"]
