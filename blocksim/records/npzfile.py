"""Records as npz: numpy's archive of arrays, read without unpickling anything."""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path

import numpy as np

from ..errors import RecordError
from .description import MARK, describe, measurement, refuse_twice, restore, within_limit
from .grid import Axis
from .record import Record


def write(record: Record, path: Path) -> None:
    description, arrays = describe(record, lambda name: re.sub(r"[/\\:]|\.\.", "_", name))
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in {MARK: np.array(description.encode()), **arrays}.items():
            # A bare ZipInfo carries no clock: the same record gives the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read(path: Path, max_bytes: int, axis: Axis) -> Record:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        names = [m.filename for m in members]
        for name in names:
            if not name.endswith(".npy") or name.startswith("/") or re.search(r"(^|[/\\])\.\.([/\\]|$)|\\", name):
                raise RecordError(f"holds a member {name!r}, which is no array of a record.")
        refuse_twice("member", names)
        within_limit(sum(m.file_size for m in members), max_bytes)
        arrays = {m.filename[:-4]: read_npy(archive, m) for m in members}
    if MARK in arrays:
        return restore(arrays[MARK].item().decode(), arrays)
    return measurement(path, arrays, axis)


def read_npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array, its header checked before anything is allocated."""
    with archive.open(member) as file:
        newer = np.lib.format.read_magic(file) != (1, 0)
        shape, _, dtype = (np.lib.format.read_array_header_2_0 if newer else np.lib.format.read_array_header_1_0)(file)
        start = file.tell()
    name = member.filename[:-4]
    if dtype.kind not in "fiub" and not (dtype.kind in "SU" and shape == ()):
        raise RecordError(
            f"'{name}' holds {'pickled Python objects' if dtype.hasobject else dtype}; a record holds plain "
            "real numbers, and nothing in it is ever unpickled."
        )
    if math.prod(shape) * dtype.itemsize + start != member.file_size:
        raise RecordError(f"'{name}' says its shape is {shape}, but {member.file_size - start} bytes follow.")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
