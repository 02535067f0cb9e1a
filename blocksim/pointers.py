"""Arrays as bare pointers inside compiled programs: no reference counts, no bounds, one word per argument."""

from __future__ import annotations

from typing import Any

from numba import types
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
