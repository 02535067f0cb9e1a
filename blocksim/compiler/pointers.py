"""What only compiled programs have: arrays as bare pointers (no reference counts, no bounds, one word each), and libm's pow."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from llvmlite import ir
from llvmlite.binding import add_symbol, address_of_symbol
from numba import carray, njit, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


@intrinsic
def pointer(typing_context: Any, array: Any) -> Any:
    """The address of a contiguous array's first element; the caller keeps the array alive."""
    signature = types.CPointer(array.dtype)(array)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, args[0]).data
        return impl_ret_borrowed(context, builder, signature.return_type, data)

    return signature, codegen


@intrinsic
def shifted(typing_context: Any, start: Any, index: Any) -> Any:
    """The address some elements further on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return start(start, types.intp), codegen


POWER = "blocksim_pow"


def register_power() -> None:
    """Make the name known to the linker; a program loaded from the cache asks for it too."""
    if address_of_symbol(POWER) is None:
        library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
        add_symbol(POWER, address_of_symbol("pow") or ctypes.cast(library.pow, ctypes.c_void_p).value)


@intrinsic
def libm_pow(typing_context: Any, base: Any, exponent: Any) -> Any:
    """libm's pow under a name the compiler does not know: it would make another function of a known base or exponent."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = context.get_value_type(types.float64)
        kind = ir.FunctionType(double, [double, double])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, POWER), args)

    return types.float64(types.float64, types.float64), codegen


@intrinsic
def two_to(typing_context: Any, n: Any) -> Any:
    """2^n for a whole n from -1022 to 1023, by its bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        long, double = ir.IntType(64), ir.DoubleType()
        bits = builder.bitcast(builder.fadd(args[0], ir.Constant(double, 4503599627370496.0 + 1023.0)), long)
        return builder.bitcast(builder.shl(bits, ir.Constant(long, 52)), double)

    return types.float64(types.float64), codegen


@intrinsic
def binary_exponent(typing_context: Any, x: Any) -> Any:
    """The exponent of a normal number above 0, by its bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        long, double = ir.IntType(64), ir.DoubleType()
        bits = builder.lshr(builder.bitcast(args[0], long), ir.Constant(long, 52))
        return builder.fsub(builder.sitofp(bits, double), ir.Constant(double, 1023.0))

    return types.float64(types.float64), codegen


OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
in_place = njit(**OPTIONS)


@in_place
def view(a: Any, start: int, end: int) -> Any:
    """A stretch of the array store as an array."""
    return carray(shifted(a, start), (end - start,))  # type: ignore[call-arg]


@in_place
def matrix(a: Any, start: int, rows: int, columns: int) -> Any:
    """A stretch of the array store as a matrix."""
    return carray(shifted(a, start), (rows, columns))  # type: ignore[call-arg]
