"""Records as files (npz, csv, mat, parquet): written whole or not at all, read without trusting what they say of themselves.

Every file written here carries one JSON description (grids, names, units, flags, provenance) beside plain arrays that
other tools read. A file without it is somebody's measurement: a time named t or time, and arrays of its length.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import re
import secrets
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from .errors import RecordError, listing
from .record import Grid, Record, Signal, brief_listing, extra, floats, measured_signal, time_keys, time_problem

#: The name under which the description travels: a member, a variable, a metadata key.
MARK = "blocksim"
CSV_MARK = "# blocksim record 1"
MAX_COLUMNS = 10_000
MAX_LINE = 64 << 20
#: Codes of the level 5 MAT-file format: how numbers are stored, and what the classes of variables are to a record.
MAT_MATRIX, MAT_COMPRESSED = 14, 15
MAT_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MAT_CLASSES = {1: "ignored", 2: "ignored", 4: "text", 5: "ignored", **dict.fromkeys(range(6, 16), "numbers")}

Arrays = dict[str, np.ndarray]


def write(record: Record, path: str | os.PathLike) -> None:
    """Write the file the suffix asks for, beside its place first, then move it there in one step."""
    target = Path(os.path.realpath(path))
    writer = format_of(target)[1]
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            writer(record, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except FileNotFoundError:
        raise RecordError(f"{target}: the folder {target.parent} does not exist; create it first.") from None
    except RecordError as error:
        raise RecordError(f"{target}: {error}") from error
    except Exception as error:
        raise RecordError(f"{target}: cannot be written: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def read(path: str | os.PathLike, max_bytes: int) -> Record:
    """Read a file by its suffix. Whatever is wrong with it comes back as one RecordError that names it."""
    source = Path(path)
    reader = format_of(source)[0]
    try:
        if not os.path.isfile(source):
            found = "is not a file" if os.path.exists(source) else "does not exist"
            raise RecordError(f"{found}; the path of a .npz, .csv, .mat or .parquet file is wanted.")
        within_limit(source.stat().st_size, max_bytes)
        return reader(source, max_bytes)
    except RecordError as error:
        raise RecordError(f"{source}: {error}") from error
    except PermissionError as error:
        raise RecordError(f"{source}: may not be read; change its permissions.") from error
    except Exception as error:  # the parsers behind this raise nearly anything on a damaged file
        raise RecordError(f"{source}: cannot be read as {source.suffix}: {error or type(error).__name__}. "
                          "The file is damaged or is not what its name says; write it again.") from error


def format_of(path: Path) -> tuple[Callable[[Path, int], Record], Callable[[Record, IO[bytes]], None]]:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise RecordError(f"{path}: no format '{path.suffix}'. The suffix chooses one of: {listing(FORMATS)}.") from None


def within_limit(needed: int, max_bytes: int) -> None:
    if needed > max_bytes:
        raise RecordError(f"needs {needed} bytes, more than max_bytes={max_bytes}. If you trust it, raise max_bytes.")


def refuse_twice(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RecordError(f"holds the {what} '{name}' twice; names must differ.")
        seen.add(name)


def describe(record: Record, key: Callable[[str], str]) -> tuple[str, Arrays]:
    """The description as JSON, and the arrays under keys a format can spell, told apart where two would collide."""
    arrays: Arrays = {MARK: np.empty(0)}
    grids = []

    def put(name: str, values: np.ndarray) -> str:
        spelled = next(k for k in itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2))) if k not in arrays)
        arrays[spelled] = values
        return spelled

    times = [put(k, g.t) for k, g in zip(time_keys(record), record.grids, strict=True)]
    for time, grid in zip(times, record.grids, strict=True):
        signals = [{"name": n, "key": put(key(n), s.values), "unit": s.unit, "doc": s.doc, "measured": s.measured,
                    "hold": s.hold, "width": s.values.shape[1] if s.values.ndim == 2 else None}
                   for n, s in grid.signals.items()]
        grids.append({"key": time, "signals": signals})
    del arrays[MARK]
    whole = {"format": 1, "grids": grids, "aliases": record.aliases, "provenance": record.provenance}
    try:
        return json.dumps(whole, indent=1, default=plain), arrays
    except (TypeError, ValueError) as error:
        raise RecordError(f"provenance cannot be written as JSON: {error}.") from None


def plain(value: Any) -> Any:
    """What JSON has no word for: numpy's numbers and arrays, paths, fractions."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def restore(description: str, arrays: Arrays) -> Record:
    """The record that `describe` described."""
    whole = json.loads(description)
    if whole["format"] != 1:
        raise RecordError(f"has record format {whole['format']!r}; this version reads format 1. Install a newer blocksim.")
    grids = []
    for grid in whole["grids"]:
        t = floats(arrays[grid["key"]]).reshape(-1)
        signals = {}
        for s in grid["signals"]:
            shape = (len(t),) if s["width"] is None else (len(t), s["width"])
            flags = bool(s["measured"]), bool(s["hold"])
            signals[s["name"]] = Signal(arrays[s["key"]].reshape(shape), s["unit"], s["doc"], *flags)
        grids.append(Grid(t, signals))
    return Record(grids, whole["provenance"], whole["aliases"])


def measurement(source: Path, arrays: Arrays, units: dict[str, str] | None = None, ignored: Iterable[str] = ()) -> Record:
    """A record from somebody's arrays: single numbers become provenance['constants'], the rest must match the time."""
    units = units or {}
    key = time_name(arrays)
    if units.get(key, "s") not in ("s", "sec", "seconds"):
        raise RecordError(f"its time '{key}' is in {units[key]}; convert it to seconds.")
    t = flat(arrays[key])
    if not len(t):
        raise RecordError(f"its time '{key}' has no samples.")
    constants: dict[str, Any] = {}
    signals = {}
    for name, array in arrays.items():
        values = flat(array)
        if name == key:
            continue
        if values.dtype.kind in "SU" or (values.size == 1 and len(t) > 1):
            constants[name] = values.reshape(-1)[0].item() if values.size else ""
        elif values.ndim not in (1, 2) or len(values) != len(t):
            raise RecordError(f"'{name}' has shape {array.shape} but the time '{key}' has {len(t)} samples. Transpose or "
                              "remove it, or load the arrays yourself and use Record.from_arrays.")
        else:
            signals[name] = measured_signal(name, values, units.get(name, ""))
    found = {"constants": constants, "ignored": list(ignored)}
    return Record([Grid(t, signals)], {"source": source.name, **{k: v for k, v in found.items() if v}})


def flat(array: np.ndarray) -> np.ndarray:
    """N x 1 and 1 x N, the way MATLAB keeps a signal, as N."""
    return array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array


def time_name(names: Iterable[str]) -> str:
    """Exactly t or time first: beside a column 't', a column 'T' is a temperature."""
    names = list(names)
    exact = [n for wanted in ("t", "time") for n in names if n == wanted]
    alike = [n for n in names if n.lower() in ("t", "time")]
    if not alike:
        raise RecordError(f"no time: found {brief_listing(names)}. Name the time 't' or 'time'.")
    return (exact or alike)[0]


def write_npz(record: Record, file: IO[bytes]) -> None:
    description, arrays = describe(record, lambda name: re.sub(r"[/\\:]|\.\.", "_", name))
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in {MARK: np.array(description.encode()), **arrays}.items():
            # A bare ZipInfo carries no clock: the same record gives the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_npz(source: Path, max_bytes: int) -> Record:
    with zipfile.ZipFile(source) as archive:
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
    return measurement(source, arrays)


def read_npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array, its header checked before anything is allocated."""
    with archive.open(member) as file:
        newer = np.lib.format.read_magic(file) != (1, 0)
        shape, _, dtype = (np.lib.format.read_array_header_2_0 if newer else np.lib.format.read_array_header_1_0)(file)
        start = file.tell()
    name = member.filename[:-4]
    if dtype.kind not in "fiub" and not (dtype.kind in "SU" and shape == ()):
        raise RecordError(f"'{name}' holds {'pickled Python objects' if dtype.hasobject else dtype}; a record holds plain "
                          "real numbers, and nothing in it is ever unpickled.")
    if math.prod(shape) * dtype.itemsize + start != member.file_size:
        raise RecordError(f"'{name}' says its shape is {shape}, but {member.file_size - start} bytes follow.")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def write_mat(record: Record, file: IO[bytes]) -> None:
    from scipy.io import savemat

    def spelled(name: str) -> str:
        ascii_name = re.sub(r"[^A-Za-z0-9_]", "_", name)[:55]
        return ascii_name if ascii_name[0].isalpha() else f"s{ascii_name}"

    description, arrays = describe(record, spelled)
    savemat(cast(Any, file), {MARK: description, **arrays}, oned_as="column")  # its stubs know paths only


def read_mat(source: Path, max_bytes: int) -> Record:
    """Level 5 MAT-files, read here and not by scipy.io.loadmat: a damaged or hostile file makes that one crash the process."""
    data = memoryview(source.read_bytes())
    header = bytes(data[:128])
    if not header.startswith(b"MATLAB 5.0 MAT-file") or header[126:] not in (b"IM", b"MI"):
        found = "a MATLAB 7.3 (HDF5) file" if header.startswith(b"MATLAB 7.") else f"a file starting with {header[:16]!r}"
        raise RecordError(f"is {found}; a level 5 MAT-file is wanted. In MATLAB: save('file.mat', ..., '-v7').")
    order = "<" if header[126:] == b"IM" else ">"
    arrays: Arrays = {}
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
        name, array = mat_variable(body, order)
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
    return measurement(source, arrays, ignored=sorted(ignored - {""}))


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


def mat_variable(body: memoryview, order: str) -> tuple[str, np.ndarray | None]:
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


def label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def name_and_unit(head: str) -> tuple[str, str]:
    """'q [rad]' -> ('q', 'rad'); but 'q[1]' is an element and has no unit."""
    match = re.fullmatch(r"(.+?)(?:\s+\[(.*)\]|\[([^\[\]]*[^\d\[\]][^\[\]]*)\])", head)
    return (match[1], (match[2] or match[3] or "").strip()) if match else (head, "")


def gather(description: str, columns: Arrays, with_units: bool) -> Arrays:
    """A table's columns as the arrays its description speaks of: vectors put together again."""
    grid = json.loads(description)["grids"][0]
    left = dict(columns)
    try:
        arrays = {grid["key"]: left.pop(label("t", "s" * with_units))}
        for s in grid["signals"]:
            unit = s["unit"] * with_units
            if s["width"] is None:
                arrays[s["key"]] = left.pop(label(s["name"], unit))
            else:
                arrays[s["key"]] = np.column_stack([left.pop(label(f"{s['name']}[{i}]", unit)) for i in range(s["width"])])
    except KeyError as error:
        left = {str(error.args[0]): np.empty(0)}
    if left:
        raise RecordError(f"its table and its description disagree about {listing(left)}. If columns were changed by hand, "
                          "delete the description (the lines starting with #) to read it as a plain table.")
    return arrays


def write_csv(record: Record, file: IO[bytes]) -> None:
    columns = record.columns()
    heads = [label("t", "s"), *(label(name, record.unit(name)) for name in columns)]
    refuse_twice("column", heads)
    top = [CSV_MARK, *(f"# {line}" for line in describe(record, str)[0].splitlines()), ""]
    file.write("\n".join(top).encode())
    file.write((",".join('"' + h.replace('"', '""') + '"' if re.search('[",]', h) else h for h in heads) + "\n").encode())
    for start in range(0, len(record.t), 4096):
        block = np.column_stack([x[start : start + 4096] for x in (record.t, *columns.values())])
        file.write("".join(",".join(map(repr, row)) + "\n" for row in block.tolist()).encode())


def read_csv(source: Path, max_bytes: int) -> Record:
    lines = count_lines(source)
    description, heads, delimiter, start = csv_head(source)
    if len(heads) > MAX_COLUMNS:
        raise RecordError(f"line {start} has {len(heads)} columns; at most {MAX_COLUMNS} are read. Use .npz for more.")
    refuse_twice("column", heads)
    within_limit(8 * lines * len(heads), max_bytes)
    table = csv_table(source, heads, delimiter, start)
    columns = dict(zip(heads, table.T, strict=True))
    if description:
        time, arrays = label("t", "s"), gather(description, columns, with_units=True)
    else:
        named = {h: name_and_unit(h) for h in heads}
        refuse_twice("column", [name for name, _ in named.values()])
        arrays, units = {named[h][0]: x for h, x in columns.items()}, dict(named.values())
        time = next(h for h in heads if named[h][0] == time_name(arrays))
    problem = time_problem(columns[time])
    if problem:
        line = next(itertools.islice(csv_rows(source, delimiter, start), problem[0], None))[0]
        raise RecordError(f"line {line}: {problem[1]}")
    return restore(description, arrays) if description else measurement(source, arrays, {k: v for k, v in units.items() if v})


def count_lines(source: Path) -> int:
    """How many lines, none of them endless or binary."""
    number = 0
    with open(source, "rb") as file:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE or b"\0" in line:
                found = "a zero byte" if b"\0" in line else f"more than {MAX_LINE} bytes"
                raise RecordError(f"line {number} has {found}; text with one row of numbers a line is wanted.")
    return number


def csv_head(source: Path) -> tuple[str, list[str], str, int]:
    """The description ('' in a foreign file), the column heads, the delimiter, and the line after which the numbers start."""
    comments: list[str] = []
    with open(source, encoding="utf-8-sig") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                break
            comments.append(line.strip())
        else:
            raise RecordError("is empty; a row of names such as t,q,tau and rows of numbers are wanted.")
    number = len(comments) + 1
    ours = bool(comments) and comments[0] == CSV_MARK
    delimiter = "," if ours else max(",;\t", key=line.count)
    heads = split(line, delimiter)
    if all(map(is_number, heads)):
        # numpy.savetxt writes its header as a comment.
        heads = split(comments[-1].lstrip("# "), delimiter) if comments else []
        if len(heads) != len(split(line, delimiter)):
            raise RecordError(f"line {number} holds numbers where the names are wanted. Add a row of names such as t,q,tau.")
        number -= 1
    return "".join(c[1:] for c in comments[1:]) if ours else "", heads, delimiter, number


def split(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def csv_rows(source: Path, delimiter: str, start: int) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row of numbers."""
    with open(source, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if number > start and line.strip("\n"):
                yield number, split(line, delimiter)


def csv_table(source: Path, heads: list[str], delimiter: str, start: int) -> np.ndarray:
    """All numbers at once; the slow walk that knows line numbers only when something is wrong."""
    with open(source, encoding="utf-8-sig") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are no rows is said elsewhere
        for _ in range(start):
            file.readline()
        try:
            table = np.loadtxt(file, delimiter=delimiter, quotechar='"', comments=None, ndmin=2)
            if not table.size:
                return np.empty((0, len(heads)))
            if table.shape[1] == len(heads):
                return table
            problem = f"has {table.shape[1]} columns"
        except ValueError as error:
            problem = str(error)
    for number, cells in csv_rows(source, delimiter, start):
        if len(cells) != len(heads):
            raise RecordError(f"line {number} has {len(cells)} cells, the header has {len(heads)}: {brief_listing(heads)}.")
        for head, cell in zip(heads, cells, strict=True):
            if not is_number(cell):
                raise RecordError(f"line {number}, column '{head}': found {cell!r}; a number is wanted, nan where it is missing.")
    raise RecordError(problem)


def write_parquet(record: Record, file: IO[bytes]) -> None:
    pyarrow, parquet = extra("pyarrow", "parquet"), extra("pyarrow.parquet", "parquet")
    table = pyarrow.table({"t": record.t, **record.columns()})
    parquet.write_table(table.replace_schema_metadata({MARK: describe(record, str)[0]}), file)


def read_parquet(source: Path, max_bytes: int) -> Record:
    pyarrow, parquet = extra("pyarrow", "parquet"), extra("pyarrow.parquet", "parquet")
    with parquet.ParquetFile(source) as file:
        schema = file.schema_arrow
        refuse_twice("column", schema.names)
        for field in schema:
            kinds = pyarrow.types
            if not (kinds.is_floating(field.type) or kinds.is_integer(field.type) or kinds.is_boolean(field.type)):
                raise RecordError(f"column '{field.name}' holds {field.type}; real numbers are wanted.")
        within_limit(8 * file.metadata.num_rows * len(schema.names), max_bytes)
        table = file.read()
    columns = {name: floats(table.column(name).to_numpy()).copy() for name in schema.names}  # Arrow's memory is read-only
    description = (schema.metadata or {}).get(MARK.encode(), b"").decode()
    return restore(description, gather(description, columns, with_units=False)) if description else measurement(source, columns)


FORMATS: dict[str, tuple[Callable[[Path, int], Record], Callable[[Record, IO[bytes]], None]]] = {
    ".npz": (read_npz, write_npz),
    ".csv": (read_csv, write_csv),
    ".mat": (read_mat, write_mat),
    ".parquet": (read_parquet, write_parquet),
}
