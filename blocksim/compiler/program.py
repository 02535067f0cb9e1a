"""Source -> Program: the same text under CPython (at once, with breakpoints) and numba (at the speed of C)."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import linecache
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..contract.portable.bits import binary_exponent as plain_exponent
from ..contract.portable.bits import two_to as plain_power
from ..contract.portable.careful import IEEE, ieee
from ..contract.syntax import compiled
from ..solvers import find_tableau
from ..solvers.stores import REAL, ROWS, STORES, WHOLE
from . import cache
from .codegen import Source
from .native.loading import load_entry
from .native.refusal import UnsupportedError

if TYPE_CHECKING:
    import numpy as np

#: The function of a program that is called from outside.
ENTRY = "enter"
#: What reads and writes the exponent of a number, under CPython.
PLAIN_BITS = {"two_to": plain_power, "binary_exponent": plain_exponent}
#: Runs in lockstep: as many as AVX-512 has lanes of doubles; more need more registers than there are.
LANES = 8
#: Programs up to this many characters are compiled into one function.
INLINE = 30_000
LONG_BODY = 8_000  # characters of one function from which on calls cost little beside it


class ProgramText:
    """A program's text with its functions, under CPython and compiled; one per text in a process (see `code_of`)."""

    def __init__(self, text: str, solver: str):
        self.text, self.solver = text, solver
        self.key = hashlib.sha256(text.encode()).hexdigest()[:32]
        self.compiled: Any = None
        self.spent = 0.0  # seconds that runs of it took under CPython
        self.lockstep: Any = None  # the same for several runs at a time, or why not
        self.asked = 0  # steps of runs that were asked for several at a time
        self.beside: Any = None  # the process that was asked to compile it
        self.compiling = False  # now, in this process
        self.compile_seconds = 0.0  # that compiling it, or loading what was compiled, took in this process
        self.lock = threading.Lock()

    @property
    def rows(self) -> int:
        """How many rows of work the solver has."""
        return len(find_tableau(self.solver).work())

    @property
    def filename(self) -> str:
        return f"<blocksim program {self.key[:8]}>"

    @functools.cached_property
    def plain(self) -> dict[str, Any]:
        """The functions under CPython; tracebacks and debuggers show the program's lines."""
        linecache.cache[self.filename] = (len(self.text), None, self.text.splitlines(True), self.filename)
        names: dict[str, Any] = {"__name__": "blocksim_program", "view": view, "matrix": matrix, **PLAIN_BITS}
        exec(compiled(self.text, self.filename, "exec"), names)
        return names

    @functools.cached_property
    def careful(self) -> dict[str, Any]:
        """The functions under CPython with IEEE rules: 1/0 is inf, as in the compiled program, instead of an exception."""
        return self.namespace()

    def namespace(self) -> dict[str, Any]:
        """The same once more, for who puts functions of their own in place of some."""
        names: dict[str, Any] = {"__name__": "blocksim_program", "view": view, "matrix": matrix, **PLAIN_BITS}
        tree = ieee(self.text)
        exec(compiled(tree, self.filename, "exec"), names)
        own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        names.update({name: function for name, function in IEEE.items() if name not in own})
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

    def wide(self) -> Any:
        """The compiled `enter` for several runs in lockstep."""
        reason = self.why_narrow()
        if reason:
            raise UnsupportedError(reason)
        return self.lockstep

    def why_narrow(self) -> str:
        """Why there is none; '' where there is one, compiled now if it was not."""
        with self.lock:
            if self.lockstep is None:
                self.lockstep = compile_wide(self)
            return self.lockstep if isinstance(self.lockstep, str) else ""


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
    """Compile; the result is kept on disk under the text's hash; what is there but cannot be loaded is dropped.

    Where the disk does not take it, it is compiled and not kept.
    """
    try:
        with cache.folder(code.key, code.text) as place:
            return compile_at(code, place)
    except Exception:  # a full disk, or whatever a pickle of another installation raises
        return compile_code(code) if cache.drop(code.key) else compile_at(code, None)


def compile_at(code: ProgramText, place: Path | None) -> Any:
    """Compile, or load from the folder of the cache: by LLVM itself, or by numba where that cannot."""
    if os.environ.get("BLOCKSIM_COMPILER") != "numba":
        with contextlib.suppress(UnsupportedError):
            return load_entry(code.text, code.rows, 1, place)
    return compile_with_numba(code, place)


def compile_wide(code: ProgramText) -> Any:
    """The program for several runs in lockstep, from the cache or compiled now; a text where it cannot be had."""
    key = hashlib.sha256(f"{LANES} lanes\0{code.text}".encode()).hexdigest()[:32]
    try:
        with cache.folder(key, code.text) as place:
            return load_entry(code.text, code.rows, LANES, place)
    except UnsupportedError as error:
        return f"it has {error}"
    except Exception:  # a full disk, or a file that is not what it was
        cache.drop(key)
        try:
            return load_entry(code.text, code.rows, LANES, None)
        except UnsupportedError as error:
            return f"it has {error}"


def compile_with_numba(code: ProgramText, place: Path | None) -> Any:
    from numba import njit, types

    from .pointers import binary_exponent, libm_pow, matrix, pointer, register_power, two_to, view

    register_power()

    real = types.float64[::1]
    kinds = {REAL: real, WHOLE: types.int64[::1], ROWS: types.UniTuple(real, code.rows)}
    signature = types.int64(types.int64, *(kinds[store.kind] for store in STORES))
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    # Calls with fifteen arguments cost a quarter of a small loop's time.
    options["forceinline"] = len(code.text) < INLINE and longest_function(code.text) < LONG_BODY
    inner = njit(**options)
    module = load_module(code, place)
    functions = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
    for name in functions:
        if name != ENTRY:
            setattr(module, name, inner(getattr(module, name)))
    module.__dict__.update(pointer=pointer, view=view, matrix=matrix, two_to=two_to, binary_exponent=binary_exponent)
    if "libm_pow" not in functions:
        module.__dict__["libm_pow"] = libm_pow
    return njit(signature, error_model="numpy", nogil=True, cache=place is not None)(getattr(module, ENTRY))


def longest_function(text: str) -> int:
    """Characters of a program's longest function: one such, within each of its callers, would be compiled again and again."""
    return max(len(body) for body in text.split("\ndef "))


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
