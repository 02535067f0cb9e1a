"""Records as files: the suffix chooses the format; written whole or not at all, read without trusting what they say.

A format is a module or an object with read(path) -> Record and, where it can be written, write(record, path): ours in the
table here, others' in the entry points `blocksim.formats`. `read` may also ask, by these names, for `max_bytes` (what the
user allows to be allocated) and `axis` (which column is the time).
"""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from ..diagram.files import whole_file
from ..errors import RecordError, listing
from ..extensions import entries, extension
from .description import within_limit
from .grid import TimeAxis, TimeProblem
from .record import Record

#: The module of each suffix; loaded when first used.
FORMATS = {".npz": "npzfile", ".csv": "csvfile", ".mat": "matfile", ".parquet": "parquetfile"}
#: Tables by other names: read as .csv, and never written.
FORMATS |= dict.fromkeys((".txt", ".dat", ".tsv", ".asc", ".log", ".lvm"), "textfile")
FORMATS |= {".h5": "hdf5file", ".hdf5": "hdf5file", ".npy": "foreign.npyfile"}
SPREADSHEETS = (".xls", ".xlsx", ".xlsm", ".ods")


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write the file the suffix asks for, beside its place first, then move it there in one step."""
    target = Path(os.path.realpath(path))
    form = format_of(target)
    if not hasattr(form, "write"):
        able = [suffix for suffix in suffixes() if hasattr(format_of(Path(f"a{suffix}")), "write")]
        raise RecordError(f"{target}: {target.suffix} is a format that is read only. Files are written as: {listing(able)}.")
    if not target.parent.is_dir():
        raise RecordError(f"{target}: the folder {target.parent} does not exist; create it first.")
    try:
        with whole_file(target) as scratch:
            form.write(record, scratch)
    except RecordError as error:
        raise RecordError(f"{target}: {error}") from error
    except Exception as error:
        raise RecordError(f"{target}: cannot be written: {error}") from error


def read_record(path: str | os.PathLike[str], max_bytes: int, axis: TimeAxis = TimeAxis()) -> Record:  # noqa: B008 (it is frozen)
    """Read a file by its suffix. Whatever is wrong with it comes back as one RecordError that names it."""
    source = Path(path)
    form = format_of(source)
    try:
        if not os.path.isfile(source):
            problem = "is not a file" if os.path.exists(source) else "does not exist"
            *most, last = suffixes()
            raise RecordError(f"{problem}; the path of a {', '.join(most)} or {last} file is wanted.")
        within_limit(source.stat().st_size, max_bytes)
        record = form.read(source, **asked(form.read, source.suffix, max_bytes, axis))
        if not isinstance(record, Record):
            raise RecordError(f"the format {source.suffix} gave {type(record).__name__} where a Record is wanted.")
        record.file = os.fspath(path)
        return record
    except RecordError as error:
        raise (TimeProblem if isinstance(error, TimeProblem) else RecordError)(f"{source}: {error}") from error
    except PermissionError as error:
        raise RecordError(f"{source}: may not be read; change its permissions.") from error
    except Exception as error:  # the parsers behind this raise nearly anything on a damaged file
        raise RecordError(
            f"{source}: cannot be read as {source.suffix}: {error or type(error).__name__}. "
            "The file is damaged or is not what its name says; write it again."
        ) from error


def asked(reader: Any, suffix: str, max_bytes: int, axis: TimeAxis) -> dict[str, Any]:
    """What a reader asks for beside the path; a time it does not ask for cannot be chosen."""
    names = inspect.signature(reader).parameters
    if axis != TimeAxis() and "axis" not in names:
        raise RecordError(f"a {suffix} file says itself what its time is; leave out the column of time and the interval.")
    return {name: value for name, value in (("max_bytes", max_bytes), ("axis", axis)) if name in names}


def suffixes() -> list[str]:
    """Every suffix there is a format for, ours first."""
    return list(dict.fromkeys([*FORMATS, *(entry.name for entry in entries("formats"))]))


def format_of(path: Path) -> Any:
    """What reads and writes the files of a path's suffix."""
    suffix = path.suffix.lower()
    theirs = [entry.value for entry in entries("formats") if entry.name == suffix]
    if suffix in FORMATS and theirs:
        raise RecordError(f"{theirs[0]} adds the format '{suffix}' to blocksim, which has one already. Remove that package.")
    if suffix in FORMATS:
        return import_module(f".{FORMATS[suffix]}", __package__)
    if not theirs:
        hint = " Save the sheet as .csv." if suffix in SPREADSHEETS else ""
        if path.is_dir():
            raise RecordError(f"{path}: a folder; name one of its files. Formats: {listing(suffixes())}.")
        raise RecordError(f"{path}: no format '{path.suffix}'. The suffix chooses one of: {listing(suffixes())}.{hint}")
    return extension("formats", suffix)
