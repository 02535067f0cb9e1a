"""Records as csv: a table whose heads carry the units, below the description as comments; anybody's table is read too."""

from __future__ import annotations

import csv
import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordError
from .conversion import name_and_unit, unit_in_row
from .description import column_label, describe, gather, measurement, refuse_twice, restore, time_name, within_limit
from .grid import TimeAxis, axis_problem
from .record import Record, brief_listing
from .writing import cell_text, text_cell

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

CSV_MARK = "# blocksim record 1"
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d)?")
TIME_WORDS = {"t", "time"}
MAX_COLUMNS = 10_000
MAX_LINE = 64 << 20


def write(record: Record, path: Path) -> None:
    columns = record.columns()
    heads = [column_label("t", "s"), *(column_label(name, record.unit(name)) for name in columns)]
    refuse_twice("column", heads)
    top = [CSV_MARK, *(f"# {line}" for line in describe(record, str)[0].splitlines())]
    head = ",".join('"' + h.replace('"', '""') + '"' if re.search('[",]', h) else h for h in map(text_cell, heads))
    with open(path, "wb") as file:
        file.write("\n".join([*top, head, ""]).encode())
        for start in range(0, len(record.t), 4096):
            block = np.column_stack([x[start : start + 4096] for x in (record.t, *columns.values())])
            file.write("".join(",".join(map(repr, row)) + "\n" for row in block.tolist()).encode())


def read(path: Path, max_bytes: int, axis: TimeAxis) -> Record:
    lines = count_lines(path)
    description, heads, delimiter, start = csv_head(path)
    style = CellStyle() if description else cell_style(path, delimiter, start)
    if len(heads) > MAX_COLUMNS:
        raise RecordError(f"line {start} has {len(heads)} columns; at most {MAX_COLUMNS} are read. Use .npz for more.")
    refuse_twice("column", heads)
    within_limit(8 * lines * len(heads), max_bytes)
    table = csv_table(path, heads, delimiter, start, style)
    repeats = np.zeros(0)
    if not description:
        table, repeats = without_repeated_samples(table, style.stamps)
    columns = dict(zip(heads, table.T, strict=True))
    if description:
        time, arrays = column_label("t", "s"), gather(description, columns, with_units=True)
        axis = TimeAxis()
    else:
        arrays = columns
        names = {name_and_unit(h)[0]: h for h in heads}
        if len(style.stamps) == 1 and not axis.column and axis.every is None and not TIME_WORDS & {n.lower() for n in names}:
            axis = TimeAxis(name_and_unit(heads[style.stamps[0]])[0], "s")
        time = "" if axis.every is not None else names[time_name(names, axis)]
        if time and heads.index(time) in style.stamps:
            columns[time] = columns[time] - columns[time][0]
    problem = axis_problem(columns[time]) if time else None
    if problem:
        line = next(itertools.islice(number_rows(path, delimiter, start), problem[0], None))[0]
        raise RecordError(f"line {line}: {problem[1]}")
    if description:
        return restore(description, arrays)
    record = measurement(path, arrays, axis)
    if len(repeats):
        record.provenance["repeated_rows"] = len(repeats)
    return record


def count_lines(source: Path) -> int:
    """How many lines, none of them endless or binary."""
    number = 0
    with open(source, "rb") as file:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE or b"\0" in line:
                reason = "a zero byte" if b"\0" in line else f"more than {MAX_LINE} bytes"
                raise RecordError(f"line {number} has {reason}; text with one row of numbers a line is wanted.")
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
    delimiter = "," if ours else max(",;\t", key=line.count) if re.search("[,;\t]", line) else ""
    blanks = "+" if source.suffix.lower() == ".csv" else "*"
    if delimiter == "," and re.fullmatch(rf"\s*[+-]?\d+,\d+(\s+[+-]?\d+,\d+){blanks}\s*", line):
        delimiter = ""  # decimal commas between blanks
    heads = split_cells(line, delimiter)
    if all(
        is_number_text(h) or (delimiter != "," and DECIMAL_COMMA.fullmatch(h)) or seconds_of_stamp(h) is not None for h in heads
    ):
        # numpy.savetxt writes its header as a comment.
        heads = split_cells(comments[-1].lstrip("# "), delimiter) if comments else []
        if len(heads) != len(split_cells(line, delimiter)):  # no names: columns are called by their numbers, from 1
            heads = [str(k + 1) for k in range(len(split_cells(line, delimiter)))]
        number -= 1
    if ours:
        return "".join(c[1:] for c in comments[1:]), [cell_text(head) for head in heads], delimiter, number
    if units := unit_row(source, number, len(heads), delimiter):
        heads, number = [column_label(*(pair if pair[1] else (pair[0], unit))) for pair, unit in
                         zip(map(name_and_unit, heads), units, strict=True)], number + 1  # fmt: skip
    return "", heads, delimiter, number


def unit_row(source: Path, number: int, count: int, delimiter: str) -> list[str]:
    """The units in the row below the names, where all of its cells are units or empty; else nothing."""
    with open(source, encoding="utf-8-sig") as file:
        line = next(itertools.islice(file, number, None), "")
    units = [unit_in_row(cell) for cell in split_cells(line, delimiter)]
    return [unit or "" for unit in units] if any(units) and None not in units and len(units) == count else []


def split_cells(line: str, delimiter: str) -> list[str]:
    if not delimiter:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def is_number_text(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def number_rows(source: Path, delimiter: str, start: int) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row of numbers."""
    with open(source, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if number > start and line.strip("\n"):
                yield number, split_cells(line, delimiter)


@dataclass(frozen=True)
class CellStyle:
    """How the cells of a foreign table write their numbers: with decimal commas, and as time stamps in some columns."""

    comma: bool = False
    stamps: tuple[int, ...] = ()

    def number(self, cell: str, column: int) -> float:
        if column in self.stamps:
            return seconds_of_stamp(cell) or 0.0
        return float((cell.replace(",", ".", 1) if self.comma else cell) or "nan")


def cell_style(source: Path, delimiter: str, start: int) -> CellStyle:
    """What the first rows of a table show of it."""
    rows = [cells for _, cells in itertools.islice(number_rows(source, delimiter, start), 20)]
    comma = delimiter != "," and any(DECIMAL_COMMA.fullmatch(cell) for cells in rows for cell in cells)
    stamps = [k for k, cell in enumerate(rows[0]) if seconds_of_stamp(cell) is not None] if rows else []
    return CellStyle(comma, tuple(stamps))


def seconds_of_stamp(cell: str) -> float | None:
    """The seconds of an ISO time stamp, 2026-03-01T12:00:00.25; None where it is none."""
    if not ISO.match(cell):
        return None
    try:
        return datetime.fromisoformat(cell.replace(",", ".").replace("Z", "+00:00")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def without_repeated_samples(table: FloatArray, stamps: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """The table without rows that say again what the one before them said, all of it; and which those are."""
    if len(table) < 2:
        return table, np.zeros(0)
    same = (table[1:] == table[:-1]) | (np.isnan(table[1:]) & np.isnan(table[:-1]))
    again = np.flatnonzero(same.all(axis=1)) + 1
    others = np.setdiff1d(np.arange(len(table) - 1), again - 1)
    steady = table.shape[1] < 2 or not np.asarray((np.diff(table, axis=0) > 0).any(axis=1))[others].all()
    if not len(again) or steady:  # without a column that grows, rows alike are a signal that stands still
        return table, np.zeros(0)
    return np.delete(table, again, axis=0), again.astype(float)


def csv_table(source: Path, heads: list[str], delimiter: str, start: int, style: CellStyle) -> FloatArray:
    """All numbers at once; the slow walk that knows line numbers only when something is wrong."""
    with open(source, encoding="utf-8-sig") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are no rows is said elsewhere
        for _ in range(start):
            file.readline()
        try:
            lines = (line.replace(",", ".") for line in file) if style.comma else file
            turn: Any = {k: lambda cell: seconds_of_stamp(cell) or 0.0 for k in style.stamps} or None
            table = np.loadtxt(lines, delimiter=delimiter or None, quotechar='"', comments=None, ndmin=2, converters=turn)
            if not table.size:
                return np.empty((0, len(heads)))
            if table.shape[1] == len(heads):
                return table
            problem = f"has {table.shape[1]} columns"
        except ValueError as error:
            problem = str(error)
    rows = []
    for number, cells in number_rows(source, delimiter, start):
        if len(cells) != len(heads):
            twice = len(cells) == 2 * len(heads) and delimiter == ","
            hint = " Commas in the numbers and between them cannot be told apart: save it with semicolons." if twice else ""
            raise RecordError(f"line {number} has {len(cells)} cells, the header has {len(heads)}: {brief_listing(heads)}.{hint}")
        for column, (head, cell) in enumerate(zip(heads, cells, strict=True)):
            plain = cell.replace(",", ".", 1) if style.comma else cell
            if cell and not is_number_text(plain) and not (column in style.stamps and seconds_of_stamp(cell) is not None):
                hint = " Other rows have no decimal commas." if is_number_text(cell.replace(",", ".", 1)) else ""
                what = f"found {cell!r}; a number is wanted, nan or nothing where it is missing.{hint}"
                raise RecordError(f"line {number}, column '{head}': {what}")
        rows.append([style.number(cell, column) for column, cell in enumerate(cells)])
    if not rows:
        raise RecordError(problem)
    return np.array(rows)
