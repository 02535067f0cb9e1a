"""Records as csv: a table whose heads carry the units, below the description as comments; anybody's table is read too."""

from __future__ import annotations

import csv
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
    if len(heads) > MAX_COLUMNS:
        raise RecordError(f"line {start} has {len(heads)} columns; at most {MAX_COLUMNS} are read. Use .npz for more.")
    refuse_twice("column", heads)
    within_limit(8 * lines * len(heads), max_bytes)
    table = csv_table(path, heads, delimiter, start)
    columns = dict(zip(heads, table.T, strict=True))
    if description:
        time, arrays = column_label("t", "s"), gather(description, columns, with_units=True)
        axis = TimeAxis()
    else:
        arrays = columns
        names = {name_and_unit(h)[0]: h for h in heads}
        time = "" if axis.every is not None else names[time_name(names, axis)]
    problem = axis_problem(columns[time]) if time else None
    if problem:
        line = next(itertools.islice(number_rows(path, delimiter, start), problem[0], None))[0]
        raise RecordError(f"line {line}: {problem[1]}")
    if description:
        return restore(description, arrays)
    return measurement(path, arrays, axis)


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
    delimiter = "," if ours else max(",;\t", key=line.count)
    heads = split_cells(line, delimiter)
    if all(map(is_number_text, heads)):
        # numpy.savetxt writes its header as a comment.
        heads = split_cells(comments[-1].lstrip("# "), delimiter) if comments else []
        if len(heads) != len(split_cells(line, delimiter)):
            raise RecordError(f"line {number} holds numbers where the names are wanted. Add a row of names such as t,q,tau.")
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


def csv_table(source: Path, heads: list[str], delimiter: str, start: int) -> FloatArray:
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
    rows = []
    for number, cells in number_rows(source, delimiter, start):
        if len(cells) != len(heads):
            raise RecordError(f"line {number} has {len(cells)} cells, the header has {len(heads)}: {brief_listing(heads)}.")
        for head, cell in zip(heads, cells, strict=True):
            if cell and not is_number_text(cell):
                hint = " Decimal commas are not read: write points." if is_number_text(cell.replace(",", ".", 1)) else ""
                what = f"found {cell!r}; a number is wanted, nan or nothing where it is missing.{hint}"
                raise RecordError(f"line {number}, column '{head}': {what}")
        rows.append([float(cell or "nan") for cell in cells])
    if not rows:
        raise RecordError(problem)
    return np.array(rows)
