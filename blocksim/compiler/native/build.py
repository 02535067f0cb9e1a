"""LLVM's language -> machine code of this processor, and where the functions of the system's library are."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from ...solvers import stores
from ...solvers.stores import ROWS, STORES, passed
from .arithmetic import LIBM_CALLS
from .lowering import ProgramUnit
from .memory import PLACE_TYPE
from .values import REAL_NUMBER, WHOLE_NUMBER, Content, LaneAddresses, Number, NumberKind, Pointer, codes_in

#: Real numbers that are the same for all runs in lockstep: the solver's.
SHARED_REALS = ("f", "g", "armed", "ahead")
#: Programs up to this many characters become one function.
ONE_FUNCTION = 30_000


@functools.cache
def native_target() -> Any:
    """LLVM made ready for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    add_library()
    return llvm.Target.from_triple(llvm.get_process_triple())


def target_machine() -> Any:
    """The processor this runs on; one for each use, as whoever is handed it may own it."""
    wanted_features = os.environ.get("BLOCKSIM_FEATURES")  # a blank one asks for none: LLVM takes no blank for a feature
    features = wanted_features.strip() if wanted_features else llvm.get_host_cpu_features().flatten()
    cpu = os.environ.get("BLOCKSIM_CPU") or llvm.get_host_cpu_name()
    return native_target().create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default", jit=True)


def add_library() -> None:
    """Names under which programs find libm: LLVM knows nothing of them, so that it puts no function of its own in their place."""
    library = ctypes.CDLL("ucrtbase") if os.name == "nt" else ctypes.CDLL(None)
    for name in LIBM_CALLS:
        function = getattr(library, "pow" if name == "libm_pow" else name)
        llvm.add_symbol(f"blocksim_{name}", ctypes.cast(function, ctypes.c_void_p).value)


def intermediate(text: str, rows: int, lanes: int) -> str:
    """A program as LLVM's language, with the two functions that are called from outside."""
    module = ir.Module("program")
    module.triple = llvm.get_process_triple()
    unit = ProgramUnit(text, module, lanes, len(text) < ONE_FUNCTION)
    exported(unit, "enter", "advance", rows, lanes)
    exported(unit, "compute_ahead", "compute_ahead", 0, 1)  # of one run, whose numbers all lanes share
    return str(module)


def exported(unit: ProgramUnit, title: str, name: str, rows: int, lanes: int) -> None:
    """A function that is handed the end and an address for each store, k's rows one by one, and calls one of the program's."""
    handed = [store for store in STORES if name in store.functions]
    names = [f"k{i}" if store.kind == ROWS else store.name for store in handed for i in range(rows if store.kind == ROWS else 1)]
    kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64), *(PLACE_TYPE for _ in names)])
    function = ir.Function(unit.module, kind, title)
    for argument, own in zip(function.args[1:], names, strict=True):
        argument.name = own
        argument.add_attribute("noalias")
    addresses = dict(zip(names, function.args[1:], strict=True))
    meanings: list[Content] = [Number(NumberKind(WHOLE_NUMBER), function.args[0])]
    for store in handed:
        if store.kind == ROWS:
            meanings.append(tuple(Pointer(NumberKind(REAL_NUMBER, lanes > 1), addresses[f"k{i}"]) for i in range(rows)))
        elif store.name in ("record", "noise") and lanes > 1:
            meanings.append(LaneAddresses(addresses[store.name]))
        else:
            real = store.kind == stores.REAL
            wide = lanes > 1 and real and store.name not in SHARED_REALS
            meanings.append(Pointer(NumberKind(REAL_NUMBER if real else WHOLE_NUMBER, wide), addresses[store.name]))
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    out = builder.alloca(ir.IntType(64))
    if name in unit.functions:
        compiled = unit.call(name, meanings, False)
        builder.call(compiled.code, [out, *(code for meaning in meanings for code in codes_in(meaning))])
    builder.ret(builder.load(out, typ=ir.IntType(64)))


def machine_code(intermediate_text: str, speed: int = 3) -> bytes:
    """Optimised machine code of a program."""
    module = llvm.parse_assembly(intermediate_text)
    module.verify()
    machine = target_machine()
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code


class NativeEntry:
    """`enter` of a program in memory, for one run or several in lockstep."""

    def __init__(self, code: bytes, rows: int, lanes: int):
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self.engine, self.lanes = engine, lanes  # the engine holds the memory
        self.function = self.called("enter", len(STORES) - 1 + rows)
        self.ahead = self.called("compute_ahead", len(passed("compute_ahead")))

    def called(self, title: str, addresses: int) -> Any:
        kinds = [ctypes.c_int64, *([ctypes.c_void_p] * addresses)]
        return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self.engine.get_function_address(title))

    def __call__(self, end: int, *arrays: Any) -> int:
        """Run up to a tick, without the interpreter's lock."""
        addresses = []
        for array in arrays:
            if isinstance(array, tuple):
                addresses += [row.__array_interface__["data"][0] for row in array]
            else:
                addresses.append(array.__array_interface__["data"][0])
        return int(self.function(end, *addresses))

    def compute_ahead(self, end: int, *arrays: Any) -> None:
        """Compute what depends on time alone, up to a tick."""
        self.ahead(end, *(array.__array_interface__["data"][0] for array in arrays))
