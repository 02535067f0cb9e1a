"""Arrays as bare pointers inside compiled programs: no reference counts, no bounds, one word per argument."""

from __future__ import annotations

from typing import Any

from numba import carray, njit, types
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


OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
compiled = njit(**OPTIONS)


@compiled
def view(a: Any, start: int, end: int) -> Any:
    """A stretch of the array store as an array."""
    return carray(shifted(a, start), (end - start,))  # type: ignore[call-arg]


@compiled
def matrix(a: Any, start: int, rows: int, columns: int) -> Any:
    """A stretch of the array store as a matrix."""
    return carray(shifted(a, start), (rows, columns))  # type: ignore[call-arg]
