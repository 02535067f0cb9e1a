"""Arrays as signatures name them. For type checkers only: rooms that must not load numpy import these under TYPE_CHECKING."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Numbers: signals, parameters, matrices.
FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
#: Places in another array, and which of its elements are meant.
IndexArray = npt.NDArray[np.int64]
MaskArray = npt.NDArray[np.bool_]
