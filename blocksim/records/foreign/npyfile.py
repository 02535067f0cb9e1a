"""One array of numpy, .npy: a matrix whose columns are data[0], data[1], ... Read only, and nothing in it is unpickled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import RecordError
from ..description import measurement, within_limit
from ..grid import TimeAxis
from ..record import Record


def read(path: Path, max_bytes: int, axis: TimeAxis) -> Record:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    columns = {name: array[name] for name in array.dtype.names} if array.dtype.names else {"data": array}
    for name, values in columns.items():
        if values.dtype.kind not in "fiub":
            raise RecordError(f"'{name}' holds {values.dtype}; a record holds plain real numbers.")
    within_limit(8 * sum(values.size for values in columns.values()), max_bytes)
    return measurement(path, {name: np.array(values, dtype=float) for name, values in columns.items()}, axis)
