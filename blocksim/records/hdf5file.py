"""HDF5 files, plain or with the marks of MATLAB 7.3, read through h5py (pip install 'blocksim[hdf5]')."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecordError
from .description import Arrays, measurement, within_limit
from .grid import TimeAxis
from .record import Record

MATLAB_NUMBERS = ("double", "single", "logical", *(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)))


def read(path: Path, max_bytes: int, axis: TimeAxis) -> Record:
    """Plain HDF5: datasets by their paths with dots, units from their attributes."""
    arrays, unread, units = hdf5_arrays(path, max_bytes)
    return measurement(path, arrays, axis, units, unread)


def hdf5_arrays(path: Path, max_bytes: int) -> tuple[Arrays, list[str], dict[str, str]]:
    """Plain arrays by name, structs and groups as dotted names; what could not be read; units where attributes tell them."""
    try:
        import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise RecordError(
            "is an HDF5 file (MATLAB 7.3 writes them too), which takes h5py: pip install 'blocksim[hdf5]'. Or in MATLAB: "
            "save('file.mat', ..., '-v7')."
        ) from None
    arrays: Arrays = {}
    ignored: list[str] = []
    units: dict[str, str] = {}
    total = 0

    def walk(name: str, item: Any) -> None:
        nonlocal total
        kind = item.attrs.get("MATLAB_class", b"")
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if isinstance(item, h5py.Group):
            for key in item:
                walk(f"{name}.{key}", item[key])
        elif kind == "cell":
            for number, reference in enumerate(np.asarray(item).T.reshape(-1, order="F")):
                walk(f"{name}{{{number + 1}}}", item.file[reference])
        elif kind == "char":
            arrays[name] = np.array("".join(map(chr, np.asarray(item).T.reshape(-1))))
        elif kind in MATLAB_NUMBERS and item.dtype.kind in "fiub" and not item.attrs.get("MATLAB_empty", 0):
            total += 8 * int(item.size)
            within_limit(total, max_bytes)
            arrays[name] = np.asarray(item, dtype=float).T
        elif not kind and item.dtype.kind in "fiub":
            total += 8 * int(item.size)
            within_limit(total, max_bytes)
            arrays[name] = np.asarray(item, dtype=float)
            if isinstance(unit := item.attrs.get("unit", item.attrs.get("units")), str):
                units[name] = unit
        else:
            ignored.append(name)

    with h5py.File(path, "r") as file:
        for name in file:
            if not name.startswith("#"):
                walk(name, file[name])
    return arrays, ignored, units
