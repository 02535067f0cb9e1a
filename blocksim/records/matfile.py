"""Records as level 5 MAT-files: written by scipy, read here within bounds that are checked before they are believed."""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..errors import RecordError
from .description import MARK, describe, measurement, restore, within_limit
from .grid import TimeAxis
from .hdf5file import hdf5_arrays
from .record import Record

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Codes of the level 5 MAT-file format: how numbers are stored, and what the classes of variables are to a record.
MAT_MATRIX, MAT_COMPRESSED = 14, 15
MAT_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MAT_CLASSES = {1: "ignored", 2: "ignored", 4: "text", 5: "ignored", **dict.fromkeys(range(6, 16), "numbers")}


def write(record: Record, path: Path) -> None:
    from scipy.io import savemat

    def spelled(name: str) -> str:
        ascii_name = re.sub(r"[^A-Za-z0-9_]", "_", name)[:55]
        return ascii_name if ascii_name[0].isalpha() else f"s{ascii_name}"

    description, arrays = describe(record, spelled)
    with open(path, "wb") as file:
        savemat(cast(Any, file), {MARK: description, **arrays}, oned_as="column")  # its stubs know paths only


def read(path: Path, max_bytes: int, axis: TimeAxis) -> Record:
    """Level 5 MAT-files, read here and not by scipy.io.loadmat: a damaged or hostile file makes that one crash the process."""
    data = memoryview(path.read_bytes())
    header = bytes(data[:128])
    if not header.startswith(b"MATLAB 5.0 MAT-file") or header[126:] not in (b"IM", b"MI"):
        if header.startswith((b"MATLAB 7.", b"\x89HDF")):
            arrays, unread, _ = hdf5_arrays(path, max_bytes)
            return measurement(path, arrays, axis, ignored=unread)
        raise RecordError(
            f"is a file starting with {header[:16]!r}; a level 5 MAT-file is wanted. In MATLAB: save('file.mat', ..., '-v7')."
        )
    order = "<" if header[126:] == b"IM" else ">"
    arrays = {}
    ignored: set[str] = set()
    total = 0
    for kind, body in mat_elements(data[128:], order):
        if kind == MAT_COMPRESSED:
            stream = zlib.decompressobj()
            inflated = stream.decompress(body, max_bytes - total + 1)
            within_limit(total + len(inflated), max_bytes)
            if not stream.eof:
                raise RecordError("is cut short or damaged: a compressed variable has no end. Save it again.")
            kind, body = next(mat_elements(memoryview(inflated), order))
        if kind != MAT_MATRIX:
            raise RecordError(f"holds an element of kind {kind} where a variable is wanted. Save it again.")
        for name, array in mat_members(body, order):
            if name in arrays or name in ignored:
                raise RecordError(f"holds the variable '{name}' twice; names must differ.")
            if array is None:
                ignored.add(name)
            else:
                arrays[name] = array
                total += 8 * array.size
                within_limit(total, max_bytes)
    if MARK in arrays:
        return restore(str(arrays[MARK]), arrays)
    return measurement(path, arrays, axis, ignored=sorted(ignored - {""}))


def mat_elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """The (kind, bytes) elements of a stretch of a MAT-file, each within its bounds."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(f"{order}II", bytes(data[at : at + 8]).ljust(8, b"\xff"))
        if kind >> 16:  # a small element lives inside its own tag
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            start, end = at + 8, len(data)
        if start + size > end:
            raise RecordError(f"is cut short or damaged: an element says {size} bytes, {end - start} follow. Save it again.")
        yield kind, data[start : start + size]
        at = at + 8 if start == at + 4 else start + (size if kind == MAT_COMPRESSED else -(-size // 8) * 8)


def mat_members(body: memoryview, order: str, name: str = "", depth: int = 0) -> Iterator[tuple[str, FloatArray | None]]:
    """A variable, or what a struct (data.q) or a cell array (data{1}) holds, by its name; None for what cannot be read."""
    parts = list(mat_elements(body, order))
    kind = struct.unpack_from(f"{order}I", parts[0][1])[0] & 0xFF if parts else 0
    if kind not in (1, 2) or depth > 8 or len(parts) < 3:
        own, array = mat_variable(body, order) if kind in MAT_CLASSES else (mat_name(parts), None)
        yield name or own, array
        return
    title = name or mat_name(parts)
    count = math.prod(np.frombuffer(parts[1][1], f"{order}i4").tolist())
    if kind == 1:
        inner = [(f"{title}{{{k + 1}}}", part) for k, (_, part) in enumerate(parts[3:])]
    else:
        width = struct.unpack_from(f"{order}i", parts[3][1])[0]
        raw = bytes(parts[4][1])
        fields = (
            [raw[k : k + width].split(b"\0")[0].decode("ascii", "replace") for k in range(0, len(raw), width)]
            if width > 0
            else []
        )
        titles = [title] if count == 1 else [f"{title}({k + 1})" for k in range(count)]
        inner = list(zip([f"{one}.{field}" for one in titles for field in fields], (p for _, p in parts[5:]), strict=False))
    if not inner:
        yield title, None
    for own, part in inner:
        yield from mat_members(part, order, own, depth + 1)


def mat_name(parts: list[tuple[int, memoryview]]) -> str:
    """The name of a variable; an object's stands where there is room for it, or nowhere."""
    texts = [bytes(raw).decode("ascii", "replace") for kind, raw in parts[1:4] if kind == 1 and len(raw)]
    return texts[0] if texts and texts[0].isprintable() else "unreadable"


def mat_variable(body: memoryview, order: str) -> tuple[str, FloatArray | None]:
    """Name and values of one variable; None for what a record has no place for (cells, structs, sparse matrices)."""
    parts = list(mat_elements(body, order))
    flags = struct.unpack_from(f"{order}I", parts[0][1])[0]
    kind = flags & 0xFF
    if kind not in MAT_CLASSES:
        raise RecordError(f"holds a MATLAB function, object or unknown variable (class {kind}); save plain arrays only.")
    shape, name = np.frombuffer(parts[1][1], f"{order}i4"), bytes(parts[2][1]).decode("ascii")
    if MAT_CLASSES[kind] == "ignored" or (MAT_CLASSES[kind] == "text" and shape[0] > 1):
        return name, None
    if flags & 0x800:
        raise RecordError(f"variable '{name}' is complex; real numbers are wanted.")
    stored, raw = parts[3]
    if MAT_CLASSES[kind] == "text":
        wide = "utf-16-le" if order == "<" else "utf-16-be"
        return name, np.array(bytes(raw).decode(wide if stored in (4, 17) else "utf-8", "replace"))
    values = np.frombuffer(raw, order + MAT_NUMBERS[stored]).astype(np.float64)
    if values.size != math.prod(shape.tolist()):
        raise RecordError(f"variable '{name}' says its shape is {tuple(shape.tolist())}, but holds {values.size} numbers.")
    return name, values.reshape(shape, order="F")
