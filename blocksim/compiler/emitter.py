"""Emitter: the code of one block at a time, with its arguments bound to addresses and its outputs given names."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..contract.declarations import Fixed, Inport, Law, Memory, Noise, Outport, State, Static
from ..contract.definition import arguments
from ..contract.vocabulary import LIBM, PRELUDE
from ..schedule.schedule import Element, Evaluation, Schedule, Unit, evaluation_of, output_functions
from ..schedule.sizes import shape_of
from ..solvers.stores import ARGUMENTS, NAMES, passed
from ..tracing.code import Code, code, joined
from ..tracing.loops.entry import looped_text
from ..tracing.loops.matrix_loops import Results
from ..tracing.specialise import Helpers, bound, constant, of_arrays, specialise
from ..tracing.values import Untraceable
from .following import Binding, Following, array_view, element_of, flat_binding, is_constant, split, written
from .scope import Operand, Scope
from .slots import Region, Slot, lay_out

#: What every function of a program passes on.
STORE_LIST = ", ".join(passed("derivative"))
#: From this many blocks on, signals live in memory, so that equal blocks can share a loop and long functions be cut.
LARGE_PROGRAM = 60


class Emitter:
    """Writes block functions of a schedule into scopes."""

    def __init__(self, schedule: Schedule):
        self.schedule, self.units = schedule, schedule.units
        self.slots = lay_out(schedule)
        self.large = len(self.units) > LARGE_PROGRAM
        self.names = unique_names(self.units)
        self.helpers: Helpers = {}
        self.functions: dict[tuple[object, ...], tuple[str, str]] = {}  # functions that stay functions: key -> name, text
        self.loops_of: dict[tuple[object, ...], dict[str, int]] = {}  # of those in loops: the arrays they want, with lengths
        self.shadows: dict[tuple[int, str, int], Region] = {}  # copies of array memories while `step` may run more than once
        self.wires: dict[Element, int] = {}  # large diagrams: where in m a signal is kept

    # ---- arguments -------------------------------------------------------------------------------------------------

    def held(self, element: Element) -> Code:
        """A sampled output between its hits."""
        unit, port, k = element
        return code("m[", self.slots.where[(unit, port)][k], "]")

    def signal(self, scope: Scope, element: Element) -> Operand:
        if element in scope.signals:
            return scope.signals[element]
        if self.units[element[0]].kind.sampled:
            return self.held(element)
        raise KeyError(f"{self.units[element[0]].path}.{element[1]} was not computed")  # a defect of the generator

    def binding(self, scope: Scope, unit: Unit, name: str, copy: int) -> Binding:
        """What one argument of a block function stands for, in one copy of the unit."""
        declaration = unit.kind.declared.get(name)
        if name == "t":
            return code("t")
        if declaration is None:
            return bool(unit.elements.get(name[4:])) if name.startswith("has_") else unit.sizes[name]
        if isinstance(declaration, Fixed):
            return declaration.default
        if isinstance(declaration, Law):
            return declaration.function
        if isinstance(declaration, Static):
            return unit.settings[name]
        if isinstance(declaration, Inport):
            return self.arriving(scope, unit, name, declaration, copy)
        if isinstance(declaration, Outport) and not isinstance(declaration, State):
            size = unit.sizes[name]
            own = tuple(self.signal(scope, (unit.index, name, copy * size + k)) for k in range(size))
            return own[0] if declaration.size == 1 else in_rows(unit, declaration, own)
        if isinstance(declaration, Noise):
            place = self.slots.of(unit, name, copy)[0]
            self.slots.drawn.add(place)
            return code("noise[o[", place, "]]")
        if (unit.index, name) in self.slots.arrays or (unit.index, name, copy) in self.slots.arrays:
            return self.shadows.get((unit.index, name, copy)) or self.slots.array(unit, name, copy)
        store = "p" if not isinstance(declaration, State) else "m" if isinstance(declaration, Memory) else "x"
        where = [code(f"{store}[", k, "]") for k in self.slots.of(unit, name, copy)]
        return in_rows(unit, declaration, where) if isinstance(declaration, State) and declaration.size != 1 else where[0]

    def arriving(self, scope: Scope, unit: Unit, port: str, declaration: Inport, copy: int) -> Binding:
        """The signal(s) at an input: a scalar, a tuple for a vector, a tuple of those for a port that takes many."""
        incoming = unit.elements.get(port, [])
        if not incoming and not declaration.many:
            return float(declaration.default)

        def one(elements: list[Element]) -> Binding:
            if declaration.size == 1:
                return self.signal(scope, elements[copy if len(elements) > 1 else 0])
            return in_rows(unit, declaration, [self.signal(scope, e) for e in elements])

        return tuple(one(elements) for elements in incoming) if declaration.many else one(incoming[0])

    def elements_read(self, unit: Unit, functions: Iterable[Callable[..., Any]]) -> list[Element]:
        """The signals these functions ask for."""
        names = {a for f in functions for a in arguments(f)}
        return [e for port in unit.kind.of(Inport) if port in names for elements in unit.elements.get(port, []) for e in elements]

    def inputs_of(self, unit: Unit, functions: Iterable[Callable[..., Any]]) -> list[Evaluation]:
        """The evaluations whose outputs these functions ask for."""
        return [evaluation_of(self.units[e[0]], e[1]) for e in self.elements_read(unit, functions)]

    # ---- block functions -------------------------------------------------------------------------------------------

    def apply(self, scope: Scope, unit: Unit, name: str, results: Results, copy: int = 0) -> dict[str, list[Operand]]:
        """Write the code of one block function; gives an expression per scalar of each result."""
        function = unit.kind.functions[name]
        bound = {n: self.binding(scope, unit, n, copy) for n in arguments(function) if n != "out"}
        for flat in (True, False):
            trace = Following(self, unit, function, results)
            try:
                trace.follow(bound, flat)
            except Untraceable:
                continue
            return trace.write(scope, "u_" if self.large else self.prefix(unit, name, copy))
        if of_arrays(function):
            return self.call_looped(scope, unit, name, results, bound)
        return self.call(scope, unit, name, results, bound)

    def prefix(self, unit: Unit, function: str, copy: int) -> str:
        """What the locals of one function of one copy start with: signals keep the plain names, nothing else may reuse them."""
        role = "" if function in ("output", "step") else f"{function}_"
        return f"{self.names[unit.index]}_{role}" + (f"{copy}_" if unit.wide else "")

    def call(self, scope: Scope, unit: Unit, name: str, results: Results, bound: dict[str, Binding]) -> dict[str, list[Operand]]:
        """A function that stays a function: vectors are passed as arrays, `out` is a stretch of the array store."""
        function = unit.kind.functions[name]
        count = sum(size for _, size in results)
        known_here: dict[str, Any] = {}
        laws: dict[str, Callable[..., Any]] = {}
        passed: list[Code] = []
        for argument in arguments(function):
            value: Any = bound.get(argument)
            if argument == "out":
                passed.append(array_view(self.scratch(unit, f"{name}.out", count)))
            elif callable(value):
                laws[argument] = value
            elif is_constant(unit, argument):
                known_here[argument] = constant(value)
            elif isinstance(value, tuple):
                passed.append(self.gather(scope, unit, f"{name}.{argument}", value))
            else:
                passed.append(array_view(value) if isinstance(value, Region) else written(value))
        title = self.title(unit, name, known_here, laws)
        called = code(f"{title}(", joined(", ", passed), ")")
        if "out" in arguments(function) or not count:
            scope.write(called)
            region = self.scratch(unit, f"{name}.out", count) if count else None
            return split(function, results, [element_of(region, k) for k in range(count)]) if region else {}
        prefix = "u_" if self.large else self.prefix(unit, name, 0)
        targets = [f"{prefix}{n}" + ("" if size == 1 else f"_{k}") for n, size in results for k in range(size)]
        scope.write(code(", ".join(targets), " = ", called))
        return split(function, results, [code(t) for t in targets])

    def call_looped(
        self, scope: Scope, unit: Unit, name: str, results: Results, bindings: dict[str, Binding]
    ) -> dict[str, list[Operand]]:
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
                passed.append(self.gather(scope, unit, f"{name}.{argument}", value))
            elif isinstance(value, Region):
                shapes[argument] = value.shape or (self.slots.fix(self.schedule, self.slots.array(unit, argument, 0), value),)
                passed.append(stretch(value))
            else:
                passed.append(written(value))
        law = bound(function, laws)
        key = (law, tuple((k, ast.dump(v)) for k, v in env.items()), tuple(shapes.items()), tuple(results))
        if key not in self.loops_of:
            title = self.unused(f"{unit.kind.__name__}_{name}_{len(self.functions)}")
            text, arrays = looped_text(law, title, env, shapes, self.helpers, results)
            self.functions[key] = (title, text)
            self.loops_of[key] = arrays
        passed += [stretch(self.scratch(unit, f"{name}.{array}", size)) for array, size in self.loops_of[key].items()]
        count = sum(size for _, size in results)
        out = self.scratch(unit, f"{name}.out", count) if count else None
        scope.write(code(f"{self.functions[key][0]}(", joined(", ", [*passed, *([stretch(out)] if out else [])]), ")"))
        return split(function, results, [element_of(out, k) for k in range(count)]) if out else {}

    def title(self, unit: Unit, name: str, env: dict[str, Any], laws: dict[str, Callable[..., Any]]) -> str:
        """The name of a function of the program, specialised for these arguments."""
        function = bound(unit.kind.functions[name], laws)
        key = (function, tuple((k, ast.dump(v)) for k, v in env.items()))
        if key not in self.functions:
            title = self.unused(f"{unit.kind.__name__}_{name}" + (f"_{len(self.functions)}" if env or laws else ""))
            self.functions[key] = (title, specialise(function, title, env, self.helpers, tuple(env)))
        return self.functions[key][0]

    def unused(self, title: str) -> str:
        """A title that no function has yet, not even of another class with the same name."""
        while any(title == other for other, _ in self.functions.values()):
            title += "_"
        return title

    def scratch(self, unit: Unit, name: str, length: int) -> Region:
        return self.slots.arrays.get((unit.index, name)) or self.slots.region(unit.index, name, (), length)

    def gather(self, scope: Scope, unit: Unit, name: str, values: tuple[Binding, ...]) -> Code:
        """A vector as a stretch of the array store."""
        parts = flat_binding(values)
        region = self.scratch(unit, name, len(parts))
        for k, part in enumerate(parts):
            scope.write(code(element_of(region, k), " = ", written(part)))
        return array_view(region)

    # ---- outputs ---------------------------------------------------------------------------------------------------

    def evaluate(self, scope: Scope, evaluation: Evaluation) -> None:
        """Outputs of one continuous unit become expressions: names where they are names, else variables."""
        unit = self.units[evaluation[0]]
        ports = output_functions(unit.kind)[evaluation[1]]
        scope.begin(f"{unit.path}: {unit.kind.__name__}")
        for copy in range(unit.width):
            results = [(p, unit.sizes[p]) for p in ports]
            for port, parts in self.apply(scope, unit, evaluation[1], results, copy).items():
                for k, part in enumerate(parts):
                    index = copy if unit.wide else k
                    scope.signals[(unit.index, port, index)] = self.keep(scope, unit, port, index, part)

    def keep(self, scope: Scope, unit: Unit, port: str, index: int, value: Operand) -> Operand:
        """Give a computed output a name, unless it is one already or cannot change."""
        if not isinstance(value, Code) or value.shape in (("x[", None, "]"), ("p[", None, "]")):
            return value
        if self.large:
            name = code("m[", self.wire((unit.index, port, index)), "]")
        elif value.name:
            return value
        else:
            name = code(f"{self.names[unit.index]}_{port}" + (f"_{index}" if unit.port(port) > 1 else ""))
        scope.write(code(name, " = ", value))
        return name

    def wire(self, element: Element) -> int:
        """A place in memory for a signal of a large diagram."""
        if element not in self.wires:
            self.wires[element] = len(self.slots.m)
            self.slots.m.append(Slot(self.units[element[0]].path, element[1], element[2]))
        return self.wires[element]


def in_rows(unit: Unit, declaration: Any, values: Sequence[Binding]) -> Binding:
    """A vector as a tuple, a matrix as a tuple of its rows."""
    if not isinstance(declaration.size, tuple):
        return tuple(values)
    rows, columns = shape_of(unit, declaration.size)
    return tuple(tuple(values[r * columns : (r + 1) * columns]) for r in range(rows))


def unique_names(units: list[Unit]) -> list[str]:
    """Dotted paths as Python names, all different and none a word of the program."""
    arguments = {name for names in ARGUMENTS.values() for name in names}
    words = {"row", "count", "start", "view", "matrix", "pointer", "firing", "fired", "turns", "status"}
    reserved = {*NAMES, *arguments, *words, *LIBM, *PRELUDE, *keyword.kwlist, *dir(builtins)}
    raw = [unit.path.replace(".", "_") for unit in units]
    starts = {name[:i] for name in raw for i, letter in enumerate(name) if letter == "_"}
    names = []
    for name in raw:
        while name in reserved or name in starts:  # 'joint' beside 'joint_q' becomes 'joint_', so that joint_q_y means one thing
            name += "_"
        reserved.add(name)
        names.append(name)
    return names


def stretch(region: Region) -> Code:
    """An array of the store, row by row, whatever its shape."""
    return code("view(a, o[", region.index, "], o[", region.index + 1, "])")
