"""Source -> Program: the same text under CPython (at once, with breakpoints) and numba (at the speed of C)."""

from __future__ import annotations

import hashlib
import linecache
import math
import threading
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import cache
from .codegen import Source
from .solvers import driver_text

if TYPE_CHECKING:
    import numpy as np


@dataclass
class Program:
    """A generated program, run by CPython or compiled."""

    source: Source
    solver: str
    key: str = ""
    _plain: dict[str, Any] | None = None
    _careful: dict[str, Any] | None = None
    _fast: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.key = hashlib.sha256(self.source.text.encode()).hexdigest()[:32]

    @property
    def filename(self) -> str:
        return f"<blocksim program {self.key[:8]}>"

    def plain(self) -> dict[str, Any]:
        """The functions under CPython; tracebacks and debuggers show the program's lines."""
        if self._plain is None:
            linecache.cache[self.filename] = (len(self.source.text), None, self.source.text.splitlines(True), self.filename)
            self._plain = {"__name__": "blocksim_program"}
            exec(compile(self.source.text, self.filename, "exec"), self._plain)
        return self._plain

    def careful(self) -> dict[str, Any]:
        """The functions under CPython with IEEE rules: 1/0 is inf, as in the compiled program, instead of an exception."""
        if self._careful is None:
            self._careful = {"__name__": "blocksim_program"}
            exec(compile(ieee(self.source.text), self.filename, "exec"), self._careful)
            self._careful.update(IEEE)
        return self._careful

    @property
    def compiled(self) -> bool:
        """Whether the fast form is in memory."""
        return self._fast is not None

    def cached(self) -> bool:
        """Whether the fast form is on disk."""
        return self.compiled or cache.has(self.key)

    def fast(self) -> Any:
        """The compiled `advance`: from memory, from disk, or compiled now."""
        with self._lock:
            if self._fast is None:
                self._fast = compile_program(self)
            return self._fast


def compile_program(program: Program) -> Any:
    """Compile with numba; the result is kept on disk under the text's own hash."""
    from numba import njit, types

    from .pointers import pointer

    real, whole = types.float64[::1], types.int64[::1]
    rows = types.UniTuple(real, driver_text.k_rows(program.solver)[0])
    signature = types.int64(
        types.int64, whole, whole, whole, real, real, real, real, rows, real, real, real, real, real, real, whole
    )
    with cache.folder(program.key, program.source.text) as place:
        module = load_module(program, place)
        functions = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        for name in functions:
            if name != program.source.entry:
                setattr(module, name, njit(error_model="numpy", nogil=True)(getattr(module, name)))
        module.__dict__["pointer"] = pointer
        return njit(signature, error_model="numpy", nogil=True, cache=place is not None)(getattr(module, program.source.entry))


def load_module(program: Program, place: Any) -> ModuleType:
    """The text as a module of its own, from its file where there is one (numba's cache goes by the file)."""
    import sys

    name = f"blocksim_program_{program.key}"
    module = ModuleType(name)
    filename = program.filename if place is None else str(place / "program.py")
    module.__dict__["__file__"] = filename
    sys.modules[name] = module
    if place is None:
        linecache.cache[filename] = (len(program.source.text), None, program.source.text.splitlines(True), filename)
    exec(compile(program.source.text, filename, "exec"), module.__dict__)
    return module


def ieee(text: str) -> Any:
    """The text with every division as a call that never raises."""
    import ast

    class Divisions(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.op, ast.Div):
                return ast.copy_location(ast.Call(ast.Name("divide", ast.Load()), [node.left, node.right], []), node)
            return node

    return ast.fix_missing_locations(Divisions().visit(ast.parse(text)))


def divide(a: float, b: float) -> float:
    """a / b by IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or a == 0:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def forgiving(function: Any, overflow: Any) -> Any:
    """A libm function that gives nan outside its domain and overflows to infinity."""

    def wrapped(*values: float) -> float:
        try:
            return function(*values)
        except OverflowError:
            return overflow(*values)
        except ValueError:
            return poles(function, *values)

    return wrapped


def poles(function: Any, *values: float) -> float:
    """What C gives where Python raises ValueError: -inf for log(0), nan elsewhere."""
    if function in (math.log, math.log10) and values[0] == 0:
        return -math.inf
    if function is math.log1p and values[0] == -1:
        return -math.inf
    if function is math.pow and values[0] == 0 and values[1] < 0:
        odd = values[1] % 2 == 1
        return math.copysign(math.inf, values[0]) if odd else math.inf
    return math.nan


def power_overflow(a: float, b: float) -> float:
    return -math.inf if a < 0 and b % 2 == 1 else math.inf


IEEE: dict[str, Any] = {
    "divide": divide,
    "libm_pow": forgiving(math.pow, power_overflow),
    **{n: forgiving(getattr(math, n), lambda *v: math.copysign(math.inf, v[0]) if v[0] < 0 else math.inf) for n in ("sinh",)},
    **{
        n: forgiving(getattr(math, n), lambda *v: math.inf)
        for n in ("sin", "cos", "tan", "asin", "acos", "exp", "expm1", "cosh", "log", "log10", "log1p", "sqrt")
    },
}


@dataclass
class Machine:
    """Everything that changes while a program runs; `advance` carries it from tick to tick."""

    program: Program
    clock: np.ndarray
    hits: np.ndarray
    logs: np.ndarray
    log: np.ndarray
    g: np.ndarray
    armed: np.ndarray
    f: np.ndarray
    k: tuple[np.ndarray, ...]
    y: np.ndarray
    x: np.ndarray
    p: np.ndarray
    m: np.ndarray
    a: np.ndarray
    noise: np.ndarray
    o: np.ndarray

    def stores(self) -> tuple[Any, ...]:
        return (
            self.clock,
            self.hits,
            self.logs,
            self.log,
            self.g,
            self.armed,
            self.f,
            self.k,
            self.y,
            self.x,
            self.p,
            self.m,
            self.a,
            self.noise,
            self.o,
        )

    def run_fast(self, end: int) -> int:
        """Compiled, without the GIL."""
        return int(self.program.fast()(end, *self.stores()))

    def run_plain(self, end: int, debug: bool = False) -> int:
        """Under CPython, on lists of floats; the arrays hold the result afterwards."""
        import numpy as np

        before = [None if s is self.k else s.copy() for s in self.stores()]
        with np.errstate(all="ignore"):
            try:
                return self.interpret(self.program.plain()["advance"], end)
            except (ZeroDivisionError, OverflowError, ValueError):
                if debug:
                    raise
                for store, kept in zip(self.stores(), before, strict=True):
                    if kept is not None:
                        store[:] = kept
                return self.interpret(self.program.careful()["advance"], end)

    def interpret(self, advance: Any, end: int) -> int:
        lists: list[Any] = []
        for store in self.stores():
            if store is self.k:
                lists.append(tuple(row.tolist() for row in self.k))
            elif store is self.a or store is self.noise:
                lists.append(store)  # arrays are passed in slices, which must be views
            else:
                lists.append(store.tolist())
        status = advance(end, *lists)
        for store, values in zip(self.stores(), lists, strict=True):
            if store is self.k:
                for row, new in zip(self.k, values, strict=True):
                    row[:] = new
            elif values is not store:
                store[:] = values
        return int(status)
