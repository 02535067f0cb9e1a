"""Records as csv: a table whose heads carry the units, below the description as comments; anybody's table is read too."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordError
from .conversion import name_and_unit
from .description import column_label, describe, gather, measurement, refuse_twice, restore, within_limit
from .foreign.cells import DAY, CellStyle, is_missing, is_number_text, seconds_of_stamp, split_cells, style_of
from .foreign.table_head import CSV_MARK, TableHead, count_lines, table_head
from .foreign.time_column import time_name
from .grid import TimeAxis, TimeProblem, axis_problem
from .record import Record, brief_listing
from .writing import text_cell

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

TIME_WORDS = {"t", "time"}
MAX_COLUMNS = 10_000


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
    lines, encoding = count_lines(path)
    head = table_head(path, encoding)
    if len(head.heads) > MAX_COLUMNS:
        raise RecordError(f"line {head.start} has {len(head.heads)} columns; at most {MAX_COLUMNS} are read. Use .npz for more.")
    within_limit(8 * lines * len(head.heads), max_bytes)
    return own_record(path, head) if head.description else foreign_record(path, head, axis)


def own_record(path: Path, head: TableHead) -> Record:
    """What `write` wrote."""
    refuse_twice("column", head.heads)
    columns = dict(zip(head.heads, number_table(path, head, CellStyle()).numbers.T, strict=True))
    arrays = gather(head.description, columns, with_units=True)
    refuse_times(path, head, columns[column_label("t", "s")])
    return restore(head.description, arrays)


def foreign_record(path: Path, head: TableHead, axis: TimeAxis) -> Record:
    """Somebody's table."""
    style = style_of([cells for _, cells in itertools.islice(number_rows(path, head), 20)], head.delimiter)
    table = number_table(path, head, style)
    remarks = [f"{head.above} lines above the table were left out"] if head.above > 0 else []
    if table.cut:
        remarks.append("the last line was not written to its end, and was left out")
    if head.encoding != "utf-8-sig":
        remarks.append(f"read as {head.encoding}")
    numbers, repeats = without_repeated_samples(table.numbers)
    heads, more = unlike_names(head.heads)
    keep = [k for k in range(len(heads)) if k not in table.words and (head.heads[k] or not np.isnan(numbers[:, k]).all())]
    columns = {heads[k]: numbers[:1, k] if alone_above(numbers[:, k]) else numbers[:, k] for k in keep}
    names = {name_and_unit(h)[0]: h for h in columns}
    stamps = [heads[k] for k in style.stamps]
    if len(stamps) == 1 and not axis.column and axis.every is None and not TIME_WORDS & {n.lower() for n in names}:
        axis = TimeAxis(name_and_unit(stamps[0])[0], "s")
    time = "" if axis.every is not None else names[time_name(names, axis, {n: columns[h] for n, h in names.items()})]
    if time in stamps:
        columns[time] = past_midnight(columns[time]) - columns[time][0]
    if time:
        refuse_times(path, head, columns[time])
    record = measurement(path, columns, axis, ignored=[heads[k] for k in table.words])
    if table.words:
        record.provenance["words"] = {heads[k]: text for k, text in table.words.items()}
    if len(repeats):
        record.provenance["repeated_rows"] = len(repeats)
    if remarks := [*remarks, *more, *record.provenance.get("remarks", ())]:
        record.provenance["remarks"] = remarks
    return record


def refuse_times(path: Path, head: TableHead, times: FloatArray) -> None:
    """Refuse a column of time that is none, with the line at which that shows."""
    if problem := axis_problem(times):
        line = next(itertools.islice(number_rows(path, head), problem[0], None))[0]
        raise TimeProblem(f"line {line}: {problem[1]}")


def unlike_names(heads: list[str]) -> tuple[list[str], list[str]]:
    """Heads of which no two have one name, and remarks on new ones: a nameless column is called by its number."""
    result: list[str] = []
    remarks: list[str] = []
    names: set[str] = set()
    for number, head in enumerate(heads, 1):
        name, unit = name_and_unit(head) if head else (str(number), "")
        free = next(n for n in itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2))) if n not in names)
        if free != name:
            remarks.append(f"column {number} is another '{name}' and is called '{free}'")
        names.add(free)
        result.append(column_label(free, unit))
    return result, remarks


def alone_above(values: FloatArray) -> bool:
    """Whether a column has one number, in its first row: a constant of the experiment, such as its interval."""
    return len(values) > 2 and bool(np.isfinite(values[0])) and bool(np.isnan(values[1:]).all())


def past_midnight(times: FloatArray) -> FloatArray:
    """Clock times that go on after midnight."""
    return times + DAY * np.concatenate(([0.0], np.cumsum(np.diff(times) < -DAY / 2)))


def number_rows(source: Path, head: TableHead) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row of numbers."""
    with open(source, encoding=head.encoding) as file:
        for number, line in enumerate(file, 1):
            if number > head.start and line.strip("\n"):
                yield number, split_cells(line, head.delimiter)


def without_repeated_samples(table: FloatArray) -> tuple[FloatArray, FloatArray]:
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


@dataclass(frozen=True)
class NumberTable:
    """The numbers of a table, nan where one is missing; `words` are the columns that hold text and no number."""

    numbers: FloatArray
    words: dict[int, str] = field(default_factory=dict)  # with the first of them
    cut: bool = False  # the last line was not written to its end, and is left out


def number_table(source: Path, head: TableHead, style: CellStyle) -> NumberTable:
    """All numbers at once; the slow walk, which knows words and line numbers, only where that fails."""
    with open(source, encoding=head.encoding) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are no rows is said elsewhere
        for _ in range(head.start):
            file.readline()
        try:
            lines = (line.replace(",", ".") for line in file) if style.comma else file
            turn: Any = {k: lambda cell: seconds_of_stamp(cell) or 0.0 for k in style.stamps} or None
            table = np.loadtxt(lines, delimiter=head.delimiter or None, quotechar='"', comments=None, ndmin=2, converters=turn)
            if not table.size:
                return NumberTable(np.empty((0, len(head.heads))))
            if table.shape[1] == len(head.heads):
                return NumberTable(table)
            problem = f"has {table.shape[1]} columns"
        except ValueError as error:
            problem = str(error)
    table_lines = list(number_rows(source, head))
    cut = len(table_lines) > 1 and len(table_lines[-1][1]) < len(head.heads) and not ends_with_a_line(source)
    rows = [numbers_in(number, cells, head, style) for number, cells in (table_lines[:-1] if cut else table_lines)]
    if not rows:
        raise RecordError(problem)
    words = [k for k in range(len(head.heads)) if any(row[k] is None for row in rows)]
    for column in words:
        refuse_some_words(column, rows, source, head)
    if len(words) == len(head.heads):
        raise RecordError(
            f"no column holds numbers: line {table_lines[0][0]} begins with {table_lines[0][1][0][:40]!r}. Commas, semicolons, "
            "tabs, bars or blanks are read between columns, and 1.5, 1,5 or 1e-3 as numbers."
        )
    samples = {k: next(cells[k] for _, cells in table_lines if not is_missing(cells[k])) for k in words}
    return NumberTable(np.array([[0.0 if value is None else value for value in row] for row in rows]), samples, cut)


def ends_with_a_line(source: Path) -> bool:
    """Whether the last line of a file was written to its end."""
    with open(source, "rb") as file:
        file.seek(-1, 2)
        return file.read(1) in b"\r\n"


def numbers_in(number: int, cells: list[str], head: TableHead, style: CellStyle) -> list[float | None]:
    """The numbers of a line, None for words."""
    if len(cells) == len(head.heads) + 1 and not cells[-1]:
        cells = cells[:-1]  # a delimiter at the end of the line
    if len(cells) != len(head.heads):
        twice = len(cells) == 2 * len(head.heads) and head.delimiter == ","
        hint = " Commas in the numbers and between them cannot be told apart: save it with semicolons." if twice else ""
        names = brief_listing(head.heads)
        raise RecordError(f"line {number} has {len(cells)} cells, the header has {len(head.heads)}: {names}.{hint}")
    return [style.number(cell, column) for column, cell in enumerate(cells)]


def refuse_some_words(column: int, rows: list[list[float | None]], source: Path, head: TableHead) -> None:
    """A column of text is left out; one of numbers in which a word stands is refused, with its line."""
    if all(row[column] is None or math.isnan(row[column] or 0.0) for row in rows):
        return
    first = next(k for k, row in enumerate(rows) if row[column] is None)
    line, cells = next(itertools.islice(number_rows(source, head), first, None))
    hint = " Other rows have no decimal commas." if is_number_text(cells[column].replace(",", ".", 1)) else ""
    what = f"found {cells[column]!r}; a number is wanted, nan or nothing where it is missing.{hint}"
    raise RecordError(f"line {line}, column '{head.heads[column]}': {what}")
