"""Source -> Program: the same text under CPython (at once, with breakpoints) and numba (at the speed of C)."""

from __future__ import annotations

import functools
import hashlib
import linecache
import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..contract.syntax import compiled, parse
from ..contract.vocabulary import WORDS, power_outside
from ..solvers import find_tableau
from ..solvers.stores import REAL, ROWS, STORES, WHOLE
from . import cache
from .codegen import Source

if TYPE_CHECKING:
    import numpy as np

#: The function of a program that is called from outside.
ENTRY = "enter"
#: Programs up to this many characters are compiled into one function.
INLINE = 30_000


class ProgramText:
    """A program's text with its functions, under CPython and compiled; one per text in a process (see `code_of`)."""

    def __init__(self, text: str, solver: str):
        self.text, self.solver = text, solver
        self.key = hashlib.sha256(text.encode()).hexdigest()[:32]
        self.compiled: Any = None
        self.spent = 0.0  # seconds that runs of it took under CPython
        self.beside: Any = None  # the process that was asked to compile it
        self.compiling = False  # now, in this process
        self.compile_seconds = 0.0  # that compiling it, or loading what was compiled, took in this process
        self.lock = threading.Lock()

    @property
    def filename(self) -> str:
        return f"<blocksim program {self.key[:8]}>"

    @functools.cached_property
    def plain(self) -> dict[str, Any]:
        """The functions under CPython; tracebacks and debuggers show the program's lines."""
        linecache.cache[self.filename] = (len(self.text), None, self.text.splitlines(True), self.filename)
        names: dict[str, Any] = {"__name__": "blocksim_program", "view": view, "matrix": matrix}
        exec(compiled(self.text, self.filename, "exec"), names)
        return names

    @functools.cached_property
    def careful(self) -> dict[str, Any]:
        """The functions under CPython with IEEE rules: 1/0 is inf, as in the compiled program, instead of an exception."""
        return self.namespace()

    def namespace(self) -> dict[str, Any]:
        """The same once more, for who puts functions of their own in place of some."""
        names: dict[str, Any] = {"__name__": "blocksim_program", "view": view, "matrix": matrix}
        exec(compiled(ieee(self.text), self.filename, "exec"), names)
        names.update(IEEE)
        return names

    def fast(self) -> Any:
        """The compiled `enter`: from memory, from disk, or compiled now."""
        with self.lock:
            if self.compiled is None:
                start, self.compiling = time.perf_counter(), True
                try:
                    self.compiled = compile_code(self)
                finally:
                    self.compiling = False
                    self.compile_seconds += time.perf_counter() - start
            return self.compiled


@functools.lru_cache(maxsize=100)
def code_of(text: str, solver: str) -> ProgramText:
    """The code of a text: a second experiment finds it compiled."""
    return ProgramText(text, solver)


@dataclass
class Program:
    """A generated program: what its numbers mean, and its code."""

    source: Source
    code: ProgramText

    @property
    def key(self) -> str:
        return self.code.key

    @property
    def solver(self) -> str:
        return self.code.solver

    @property
    def compiled(self) -> bool:
        """Whether the fast form is in memory."""
        return self.code.compiled is not None

    def cached(self) -> bool:
        """Whether the fast form is on disk."""
        return self.compiled or cache.has(self.key)

    def plain(self) -> dict[str, Any]:
        return self.code.plain

    def careful(self) -> dict[str, Any]:
        return self.code.careful

    def fast(self) -> Any:
        return self.code.fast()


def compile_program(source: Source, solver: str) -> Program:
    """Source -> Program: at once under CPython, under numba when `fast` is first asked for; one code for equal texts."""
    return Program(source, code_of(source.text, solver))


def view(a: np.ndarray, start: int, end: int) -> np.ndarray:
    """A stretch of the array store."""
    return a[start:end]


def matrix(a: np.ndarray, start: int, rows: int, columns: int) -> np.ndarray:
    """A stretch of the array store as a matrix."""
    return a[start : start + rows * columns].reshape(rows, columns)


def compile_code(code: ProgramText) -> Any:
    """Compile with numba; the result is kept on disk under the text's hash; what is there but cannot be loaded is dropped.

    Where the disk does not take it, it is compiled and not kept.
    """
    try:
        with cache.folder(code.key, code.text) as place:
            return compile_at(code, place)
    except Exception:  # a full disk, or whatever a pickle of another installation raises
        return compile_code(code) if cache.drop(code.key) else compile_at(code, None)


def compile_at(code: ProgramText, place: Path | None) -> Any:
    """Compile, or load from the folder of the cache."""
    from numba import njit, types

    from .pointers import libm_pow, matrix, pointer, register_power, view

    register_power()

    real = types.float64[::1]
    kinds = {REAL: real, WHOLE: types.int64[::1], ROWS: types.UniTuple(real, len(find_tableau(code.solver).work()))}
    signature = types.int64(types.int64, *(kinds[store.kind] for store in STORES))
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options["forceinline"] = len(code.text) < INLINE  # calls with fifteen arguments cost a quarter of a small loop's time
    inner = njit(**options)
    module = load_module(code, place)
    functions = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
    for name in functions:
        if name != ENTRY:
            setattr(module, name, inner(getattr(module, name)))
    module.__dict__.update(pointer=pointer, view=view, matrix=matrix, libm_pow=libm_pow)
    return njit(signature, error_model="numpy", nogil=True, cache=place is not None)(getattr(module, ENTRY))


def load_module(code: ProgramText, place: Any) -> ModuleType:
    """The text as a module of its own, from its file where there is one (numba's cache goes by the file)."""
    import sys

    name = f"blocksim_program_{code.key}"
    module = ModuleType(name)
    filename = code.filename if place is None else str(place / "program.py")
    module.__dict__["__file__"] = filename
    sys.modules[name] = module
    if place is None:
        linecache.cache[filename] = (len(code.text), None, code.text.splitlines(True), filename)
    exec(compiled(code.text, filename, "exec"), module.__dict__)
    return module


def ieee(text: str) -> Any:
    """The text with every division as a call that never raises."""
    import ast
    import copy

    words = {ast.Div: "divide", ast.Mod: "remainder", ast.FloorDiv: "quotient"}

    def divided(node: ast.BinOp | ast.AugAssign, left: ast.expr, right: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(words[type(node.op)], ast.Load()), [left, right], []), node)

    class Divisions(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            return divided(node, node.left, node.right) if type(node.op) in words else node

        def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
            self.generic_visit(node)
            if type(node.op) not in words:
                return node
            old = copy.deepcopy(node.target)
            old.ctx = ast.Load()
            return ast.copy_location(ast.Assign([node.target], divided(node, old, node.value)), node)

    return ast.fix_missing_locations(Divisions().visit(parse(text)))


def ieee_divide(a: float, b: float) -> float:
    """a / b by IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or a == 0:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def remainder(a: float, b: float) -> float:
    """a % b; nan where b is 0, and 0 of whole numbers, which have no nan."""
    try:
        return a % b
    except ZeroDivisionError:
        return 0 if isinstance(a, int) and isinstance(b, int) else math.nan


def ieee_quotient(a: float, b: float) -> float:
    """a // b; as a / b where b is 0, and 0 of whole numbers."""
    try:
        return a // b
    except ZeroDivisionError:
        return 0 if isinstance(a, int) and isinstance(b, int) else ieee_divide(a, b)


def forgiving(function: Any, outside: Any) -> Any:
    """A function of libm that gives what IEEE 754 says where CPython raises."""

    def wrapped(*values: float) -> float:
        try:
            return float(function(*values))
        except (OverflowError, ValueError):
            return float(outside(*values))

    return wrapped


#: What the functions of a program are by IEEE rules.
IEEE: dict[str, Any] = {
    "divide": ieee_divide,
    "remainder": remainder,
    "quotient": ieee_quotient,
    "libm_pow": forgiving(math.pow, power_outside),
    **{name: forgiving(word.meaning, word.outside) for name, word in WORDS.items() if word.outside},
}
