"""Cells of somebody's table: numbers with points or commas, words for what is missing, time stamps."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import UTC, datetime

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
ISO = re.compile(r"\d{4}[-/]\d\d[-/]\d\d([T ]\d\d:\d\d)?")
DAY_FIRST = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})\b")
CLOCK_TIME = re.compile(r"(\d{1,2}):(\d\d):(\d\d(?:[.,:]\d+)?)")
FORTRAN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[dD][+-]?\d+")
#: What loggers, spreadsheets and languages write where there is no number.
MISSING_WORDS = {"", "-", "--", "na", "n/a", "#n/a", "nan", "null", "none", "#num!", "#value!", "#div/0!", "1.#qnan", "-1.#ind"}
DAY = 86400.0


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


def is_missing(cell: str) -> bool:
    return cell.lower() in MISSING_WORDS


def seconds_of_stamp(cell: str) -> float | None:
    """The seconds of 2026-03-01T12:00:00.25, 01.03.2026 12:00:00,25 or 12:00:00.25; None where a cell is none of these."""
    if clock := CLOCK_TIME.fullmatch(cell):
        return 3600.0 * int(clock[1]) + 60.0 * int(clock[2]) + float(re.sub("[,:]", ".", clock[3]))
    day_last = DAY_FIRST.sub(r"\3-\2-\1", cell, count=1)
    if not ISO.match(day_last):
        return None
    text = day_last.replace("/", "-").replace(",", ".").replace("Z", "+00:00")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


@dataclass(frozen=True)
class CellStyle:
    """How the cells of a table write their numbers: with decimal commas, and as time stamps in some columns."""

    comma: bool = False
    stamps: tuple[int, ...] = ()

    def number(self, cell: str, column: int) -> float | None:
        """The number in a cell, nan where it is missing; None where it is a word."""
        if is_missing(cell):
            return float("nan")
        if column in self.stamps:
            return seconds_of_stamp(cell)
        plain = (cell.replace(",", ".", 1) if self.comma else cell).replace("\N{MINUS SIGN}", "-")
        if FORTRAN.fullmatch(plain):
            plain = plain.lower().replace("d", "e")
        return float(plain) if is_number_text(plain) else None


def style_of(rows: list[list[str]], delimiter: str) -> CellStyle:
    """What the first rows of a table show of it."""
    comma = delimiter != "," and any(DECIMAL_COMMA.fullmatch(cell) for cells in rows for cell in cells)
    stamps = [k for k, cell in enumerate(rows[0]) if seconds_of_stamp(cell) is not None] if rows else []
    return CellStyle(comma, tuple(stamps))


def is_number_row(cells: list[str], delimiter: str) -> bool:
    """Whether a row holds numbers, time stamps and gaps only, and not gaps alone."""
    style = style_of([cells], delimiter)
    return not all(map(is_missing, cells)) and all(style.number(cell, k) is not None for k, cell in enumerate(cells))
