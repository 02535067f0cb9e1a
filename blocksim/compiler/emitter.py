"""Emitter: the code of one block at a time, with its arguments bound to addresses and its outputs given names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..contract.declarations import Fixed, Inport, Memory, Noise, Outport, State, Static
from ..contract.definition import arguments
from ..contract.vocabulary import LIBM, PRELUDE
from ..errors import BlockDefinitionError
from ..schedule.schedule import Element, Evaluation, Schedule, Unit, evaluation_of, output_functions
from ..tracing.fold import Env, NotInlinable, constant, expression, specialise
from ..tracing.inline import Fields, Inliner, flat
from .scope import Scope
from .slots import Region, Slot, lay_out

#: What every function of a program passes on.
STORES = "x, p, m, a, noise, o"
#: From this many blocks on, signals live in memory, so that equal blocks can share a loop and long functions be cut.
LARGE = 60
#: Arrays up to this length are written out element by element.
SMALL = 64
Results = Sequence[tuple[str, int]]


class Emitter:
    """Writes block functions of a schedule into scopes."""

    def __init__(self, schedule: Schedule):
        self.schedule, self.units = schedule, schedule.units
        self.slots = lay_out(schedule)
        self.large = len(self.units) > LARGE
        self.names = unique_names(self.units)
        self.helpers: dict[str, Callable[..., Any]] = {}
        self.functions: dict[tuple[object, ...], tuple[str, str]] = {}  # functions that stay functions: key -> name, text
        self.shadows: dict[tuple[int, str, int], Region] = {}  # copies of array memories while `step` may run more than once
        self.wires: dict[Element, int] = {}  # large diagrams: where in m a signal is kept

    # ---- arguments -------------------------------------------------------------------------------------------------

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

    def binding(self, scope: Scope, unit: Unit, name: str, copy: int, flat_arrays: bool = False) -> ast.expr:
        """What one argument of a block function stands for, in one copy of the unit; small arrays element by element if asked."""
        declaration = unit.kind.declared.get(name)
        if name == "t":
            return expression("t")
        if declaration is None:
            return constant(bool(unit.elements.get(name[4:])) if name.startswith("has_") else unit.sizes[name])
        if isinstance(declaration, Fixed):
            return constant(declaration.default)
        if isinstance(declaration, Static):
            return constant(unit.settings[name])
        if isinstance(declaration, Inport):
            return self.arriving(scope, unit, name, declaration, copy)
        if isinstance(declaration, Outport) and not isinstance(declaration, State):
            size = unit.sizes[name]
            own = [self.signal(scope, (unit.index, name, copy * size + k)) for k in range(size)]
            return own[0] if declaration.size == 1 else ast.Tuple(own, ast.Load())
        if isinstance(declaration, Noise):
            return expression(f"noise[o[{self.slots.of(unit, name, copy)[0]}]]")
        if (unit.index, name) in self.slots.arrays or (unit.index, name, copy) in self.slots.arrays:
            region = self.shadows.get((unit.index, name, copy)) or self.slots.array(unit, name, copy)
            return (self.array_elements(region, unit, name) if flat_arrays else None) or array_view(region)
        store = "p" if not isinstance(declaration, State) else "m" if isinstance(declaration, Memory) else "x"
        where = self.slots.of(unit, name, copy)
        if isinstance(declaration, State) and declaration.size != 1:
            return ast.Tuple([expression(f"{store}[{k}]") for k in where], ast.Load())
        return expression(f"{store}[{where[0]}]")

    def array_elements(self, region: Region, unit: Unit, name: str) -> ast.expr | None:
        """A small array as a tuple of its elements (of its rows, for a matrix); its length is then part of the code."""
        length = self.slots.length(self.schedule, self.slots.array(unit, name, 0))
        if length > SMALL:
            return None
        self.slots.fixed[region.index] = length
        items: list[ast.expr] = [expression(f"a[o[{region.index}] + {k}]") for k in range(length)]
        if not region.shape:
            return ast.Tuple(items, ast.Load())
        rows, columns = region.shape
        return ast.Tuple([ast.Tuple(items[r * columns : (r + 1) * columns], ast.Load()) for r in range(rows)], ast.Load())

    def arriving(self, scope: Scope, unit: Unit, port: str, declaration: Inport, copy: int) -> ast.expr:
        """The signal(s) at an input: a scalar, a tuple for a vector, a tuple of those for a port that takes many."""
        incoming = unit.elements.get(port, [])
        if not incoming and not declaration.many:
            return constant(float(declaration.default))

        def one(elements: list[Element]) -> ast.expr:
            if declaration.size == 1:
                return self.signal(scope, elements[copy if len(elements) > 1 else 0])
            return ast.Tuple([self.signal(scope, e) for e in elements], ast.Load())

        return ast.Tuple([one(elements) for elements in incoming], ast.Load()) if declaration.many else one(incoming[0])

    def elements_read(self, unit: Unit, functions: Iterable[Callable[..., Any]]) -> list[Element]:
        """The signals these functions ask for."""
        asked = {a for f in functions for a in arguments(f)}
        return [e for port in unit.kind.of(Inport) if port in asked for elements in unit.elements.get(port, []) for e in elements]

    def inputs_of(self, unit: Unit, functions: Iterable[Callable[..., Any]]) -> list[Evaluation]:
        """The evaluations whose outputs these functions ask for."""
        return [evaluation_of(self.units[e[0]], e[1]) for e in self.elements_read(unit, functions)]

    # ---- block functions -------------------------------------------------------------------------------------------

    def apply(self, scope: Scope, unit: Unit, name: str, results: Results, copy: int = 0) -> dict[str, list[ast.expr]]:
        """Write the code of one block function; gives an expression per scalar of each result."""
        function = unit.kind.functions[name]
        prefix = "u_" if self.large else self.prefix(unit, name, copy)
        targets = [f"{prefix}{n}" + ("" if size == 1 else f"_{k}") for n, size in results for k in range(size)]
        made = self.inlined(scope, unit, function, copy, prefix, targets)
        if made is None:
            return self.call(scope, unit, name, results, copy, targets)
        for statement in made.statements:
            scope.write(ast.unparse(ast.fix_missing_locations(statement)))
        if isinstance(made.result, Fields):
            unknown = set(made.result.fields) - set(unit.kind.of(State))
            if unknown:
                raise BlockDefinitionError(f"{function.__qualname__} sets {sorted(unknown)}, which is neither state nor memory.")
            return {n: flat(v) for n, v in made.result.fields.items()}
        if made.result is None:
            return {}
        return split(function, results, flat(made.result))

    def prefix(self, unit: Unit, function: str, copy: int) -> str:
        """What the locals of one function of one copy start with: signals keep the plain names, nothing else may reuse them."""
        role = "" if function in ("output", "step") else f"{function}_"
        return f"{self.names[unit.index]}_{role}" + (f"{copy}_" if unit.wide else "")

    def inlined(
        self, scope: Scope, unit: Unit, function: Callable[..., Any], copy: int, prefix: str, targets: list[str]
    ) -> Inliner | None:
        """The function inlined, its small arrays element by element or else as arrays; None where it must be called."""
        asked = arguments(function)
        for flat_arrays in (True, False):
            bound = {n: self.binding(scope, unit, n, copy, flat_arrays) for n in asked if n != "out"}
            if "out" in asked:
                if not flat_arrays:
                    return None
                bound["out"] = ast.Tuple([ast.Name(t, ast.Load()) for t in targets], ast.Load())
            try:
                return Inliner(function, bound, prefix, targets, self.helpers)
            except NotInlinable:
                continue
        return None

    def call(
        self, scope: Scope, unit: Unit, name: str, results: Results, copy: int, targets: list[str]
    ) -> dict[str, list[ast.expr]]:
        """A function that stays a function: vectors are passed as arrays, `out` is a stretch of the array store."""
        function = unit.kind.functions[name]
        asked = arguments(function)
        known: Env = {}
        passed: list[str] = []
        for argument in asked:
            if argument == "out":
                passed.append(view_text(self.scratch(unit, f"{name}.out", sum(s for _, s in results))))
                continue
            bound = self.binding(scope, unit, argument, copy)
            if is_constant(unit, argument):
                known[argument] = bound
            elif isinstance(bound, ast.Tuple):
                passed.append(self.gather(scope, unit, f"{name}.{argument}", bound))
            else:
                passed.append(ast.unparse(bound))
        key = (function, tuple((k, ast.dump(v)) for k, v in known.items()))
        if key not in self.functions:
            title = f"{unit.kind.__name__}_{name}" + (f"_{len(self.functions)}" if known else "")
            while any(title == taken for taken, _ in self.functions.values()):  # of another class with the same name
                title += "_"
            self.functions[key] = (title, specialise(function, title, known, self.helpers, tuple(known)))
        title = self.functions[key][0]
        if "out" in asked or not targets:
            scope.write(f"{title}({', '.join(passed)})")
            if not targets:
                return {}
            region = self.scratch(unit, f"{name}.out", len(targets))
            return split(function, results, [expression(f"a[o[{region.index}] + {k}]") for k in range(len(targets))])
        scope.write(f"{', '.join(targets)} = {title}({', '.join(passed)})")
        return split(function, results, [expression(t) for t in targets])

    def scratch(self, unit: Unit, name: str, length: int) -> Region:
        found = self.slots.arrays.get((unit.index, name))
        return found or self.slots.region(unit.index, name, (), length)

    def gather(self, scope: Scope, unit: Unit, name: str, values: ast.Tuple) -> str:
        """A vector as a stretch of the array store."""
        texts = [ast.unparse(v) for v in flat(values)]
        region = self.scratch(unit, name, len(texts))
        for k, text in enumerate(texts):
            scope.write(f"a[o[{region.index}] + {k}] = {text}")
        return view_text(region)

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

    def keep(self, scope: Scope, unit: Unit, port: str, index: int, value: ast.expr) -> ast.expr:
        """Give a computed output a name, unless it is one already or cannot change."""
        text = ast.unparse(value)
        if isinstance(value, ast.Constant) or (text.startswith(("x[", "p[")) and text.endswith("]") and text.count("[") == 1):
            return value
        if self.large:
            name = f"m[{self.wire((unit.index, port, index))}]"
        elif isinstance(value, ast.Name):
            return value
        else:
            name = f"{self.names[unit.index]}_{port}" + (f"_{index}" if unit.port(port) > 1 else "")
        scope.write(f"{name} = {text}")
        return expression(name)

    def wire(self, element: Element) -> int:
        """A place in memory for a signal of a large diagram."""
        if element not in self.wires:
            self.wires[element] = len(self.slots.m)
            self.slots.m.append(Slot(self.units[element[0]].path, element[1], element[2]))
        return self.wires[element]


def split(function: Callable[..., Any], results: Results, parts: list[ast.expr]) -> dict[str, list[ast.expr]]:
    """A flat result by the names it belongs to."""
    wanted = sum(size for _, size in results)
    if len(parts) != wanted:
        raise BlockDefinitionError(
            f"{function.__qualname__} returns {len(parts)} value(s) where {wanted} are wanted "
            f"({', '.join(f'{n}[{s}]' if s > 1 else n for n, s in results)})."
        )
    given, start = {}, 0
    for name, size in results:
        given[name] = parts[start : start + size]
        start += size
    return given


def is_constant(unit: Unit, argument: str) -> bool:
    """Whether an argument is known when the program is written."""
    declaration = unit.kind.declared.get(argument)
    return (declaration is None and argument != "t") or isinstance(declaration, (Static, Fixed))


def view_text(region: Region) -> str:
    return f"view(a, o[{region.index}], o[{region.index + 1}])"


def array_view(region: Region) -> ast.expr:
    if not region.shape:
        return expression(view_text(region))
    rows, columns = region.shape
    return expression(f"matrix(a, o[{region.index}], {rows}, {columns})")


def unique_names(units: list[Unit]) -> list[str]:
    """Dotted paths as Python names, all different and none a word of the program."""
    import builtins
    import keyword

    taken = {
        "t",
        "x",
        "p",
        "m",
        "a",
        "o",
        "g",
        "f",
        "k",
        "dx",
        "i",
        "tick",
        "noise",
        "hits",
        "logs",
        "record",
        "row",
        "count",
        "start",
        "view",
        "matrix",
        "pointer",
        "armed",
        "firing",
        "fired",
        "status",
        *LIBM,
        *PRELUDE,
        *keyword.kwlist,
        *dir(builtins),
    }
    raw = [unit.path.replace(".", "_") for unit in units]
    starts = {name[:i] for name in raw for i, letter in enumerate(name) if letter == "_"}
    names = []
    for name in raw:
        while name in taken or name in starts:  # 'joint' beside 'joint_q' becomes 'joint_', so that joint_q_y means one thing
            name += "_"
        taken.add(name)
        names.append(name)
    return names
