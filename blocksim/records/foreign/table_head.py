"""Where the table of a text file begins: its encoding, what stands between its columns, their names, the lines above it."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from ...errors import RecordError
from ..conversion import name_and_unit, unit_in_row
from ..description import column_label
from ..writing import cell_text
from .cells import is_number_row, split_cells

CSV_MARK = "# blocksim record 1"
MAX_LINE = 64 << 20
LOOK_AHEAD = 200  # lines among which the table of somebody's file begins
STEADY_ROWS = 3  # rows of numbers alike that are a table
REMARK = re.compile(r"^\s*(#|%|//|;|\*)+\s*")  # how a line of remarks begins
SEPARATOR = re.compile(r'"?sep=.?"?\s*')  # a line for spreadsheets
BYTE_ORDER = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class TableHead:
    """The names of the columns, the delimiter, the line after which numbers start; our own description ('' in a foreign file)."""

    heads: list[str]
    delimiter: str
    start: int
    description: str = ""
    encoding: str = "utf-8-sig"
    above: int = 0  # lines above the names that are no part of the table


def count_lines(source: Path) -> tuple[int, str]:
    """How many lines, none of them endless or binary, and their encoding: UTF-8, UTF-16 by its mark, else Windows' own."""
    number = 0
    with open(source, "rb") as file:
        encoding = BYTE_ORDER.get(file.read(2), "utf-8-sig")
        file.seek(0)
        while line := file.readline(MAX_LINE + 1):
            number += 1
            zero = b"\0" in line and encoding != "utf-16"
            if len(line) > MAX_LINE or zero:
                reason = "a zero byte" if zero else f"more than {MAX_LINE} bytes"
                raise RecordError(f"line {number} has {reason}; text with one row of numbers a line is wanted.")
            if encoding == "utf-8-sig" and not line.isascii():
                try:
                    line.decode()
                except UnicodeDecodeError:
                    encoding = "cp1252"
    return number, encoding


def table_head(source: Path, encoding: str) -> TableHead:
    """What the top of a file says of its table."""
    comments: list[str] = []
    with open(source, encoding=encoding) as file:
        for line in file:
            if line.strip() and not line.startswith("#") and not SEPARATOR.fullmatch(line):
                break
            comments.append(line.strip())
        else:
            raise RecordError("is empty; a row of names such as t,q,tau and rows of numbers are wanted.")
        following = list(itertools.islice(file, LOOK_AHEAD))
    number = len(comments) + 1
    ours = bool(comments) and comments[0] == CSV_MARK
    delimiter = "," if ours else delimiter_of(line, source.suffix)
    heads = split_cells(line, delimiter)
    if ours:
        return TableHead([cell_text(h) for h in heads], delimiter, number, "".join(c[1:] for c in comments[1:]), encoding)
    if is_number_row(heads, delimiter):
        # numpy.savetxt writes its header as a comment.
        names = split_cells(comments[-1].lstrip("# "), delimiter) if comments else []
        if len(names) != len(heads):  # no names: columns are called by their numbers, from 1
            names = [str(k + 1) for k in range(len(heads))]
        return TableHead(names, delimiter, number - 1, "", encoding)
    below = split_cells(next((text for text in following if text.strip()), ""), delimiter)
    plain = len(below) == len(heads) and (is_number_row(below, delimiter) or units_in(below))
    if not plain and (table := below_a_preamble([line, *following])):
        names, delimiter, rows, above = table
        return TableHead(names, delimiter, number - 1 + rows, "", encoding, number - 1 + above)
    return TableHead(*with_units(heads, following, delimiter, number), "", encoding)


def delimiter_of(line: str, suffix: str) -> str:
    """What stands between the cells of a line; '' for blanks."""
    delimiter = max(",;\t|", key=line.count) if re.search("[,;\t|]", line) else ""
    blanks = "+" if suffix.lower() == ".csv" else "*"
    if delimiter == "," and re.fullmatch(rf"\s*[+-]?\d+,\d+(\s+[+-]?\d+,\d+){blanks}\s*", line):
        return ""  # decimal commas between blanks
    return delimiter


def with_units(heads: list[str], following: list[str], delimiter: str, number: int) -> tuple[list[str], str, int]:
    """The heads with the units of the row below them, where that has any; and where the numbers start then."""
    below = split_cells(following[0], delimiter) if following else []
    units = units_in(below) if len(below) == len(heads) else []
    if not units:
        return heads, delimiter, number
    pairs = zip(map(name_and_unit, heads), units, strict=True)
    return [column_label(*(pair if pair[1] else (pair[0], unit))) for pair, unit in pairs], delimiter, number + 1


def units_in(cells: list[str]) -> list[str]:
    """The units in a row of them, where all of its cells are units or empty; else nothing."""
    units = [unit_in_row(cell) for cell in cells]
    return [unit or "" for unit in units] if any(units) and None not in units else []


def number_delimiter(lines: list[str]) -> str | None:
    """What stands between the numbers of these lines, as many in each, two at least; None where they are no rows of numbers."""
    for delimiter in ("\t", ";", "|", ",", ""):  # a comma beside a tab or a semicolon is a decimal one
        rows = [split_cells(line, delimiter) for line in lines]
        width = len(rows[0])
        if width > 1 and all(len(row) == width and is_number_row(row, delimiter) for row in rows):
            return delimiter
    return None


def below_a_preamble(lines: list[str]) -> tuple[list[str], str, int, int] | None:
    """Names, delimiter and start of a table below other lines, as instruments write them, and how many these are; else None.

    Rows of numbers with the same number of cells are a table where a line above them has as many names.
    """
    for k in range(len(lines) - 1):
        delimiter = number_delimiter(lines[k : k + STEADY_ROWS])
        if delimiter is None:
            continue
        width = len(split_cells(lines[k], delimiter))
        above = [text for text in lines[:k] if text.strip()]
        if len(above) == 2 and not REMARK.match(above[0]) and len(split_cells(above[0], delimiter)) == width:
            return None  # names and a row of words below them: which are the names?
        units: list[str] = []
        for text in reversed(above[-3:]):
            cells = split_cells(REMARK.sub("", text, count=1).rstrip("\n"), delimiter)
            if len(cells) == width + 1:  # a column of remarks, or a delimiter at the end of the line
                cells = cells[:-1]
            if len(cells) != width or is_number_row(cells, delimiter):
                return None
            if not units and (units := units_in(cells)):
                continue
            pairs = zip(cells, units or [""] * width, strict=True)
            return [column_label(cell, unit) for cell, unit in pairs], delimiter, k, lines.index(text)
        return None
    return None
