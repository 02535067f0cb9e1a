"""table_rows(): the joints of a robot from a file beside the diagram: a CSV, units in its head, or a YAML list as `joints`."""

from __future__ import annotations

import csv
import functools
import os
from typing import Any

from blocksim.diagram.files import read_file
from blocksim.diagram.parameters import ParameterScope, parameter_value, substituted
from blocksim.diagram.yaml_lines import read_yaml
from blocksim.errors import DiagramError, did_you_mean, listing
from blocksim.records.conversion import name_and_unit, unit_factor

from .chain import DRIVE, GEOMETRY, INERTIAL, SPRING, table_problem

TABLE_ENDINGS = (".csv", ".yaml", ".yml")
JOINT_COLUMNS = ("joint", "name", *GEOMETRY, *INERTIAL, *DRIVE, *SPRING)
#: What a column is in where its head names no unit; columns of drives are in the units of their joint.
JOINT_UNITS = {
    **dict.fromkeys(("alpha", "theta"), "rad"),
    **dict.fromkeys(("a", "d"), "m"),
    **dict.fromkeys(INERTIAL[:6], "kg m^2"),
    **dict.fromkeys(INERTIAL[6:9], "kg m"),
    "M": "kg",
}


def chain_rows(text: str) -> list[dict[str, Any]]:
    """Rows of a table such as 'alpha [deg], a [mm], d [mm]'; ValueError, in words, where it is none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        raise ValueError("a line of names and a line for each joint are wanted.")
    separator = next((mark for mark in (";", "\t") if mark in lines[0]), ",")
    table = [[cell.strip() for cell in cells] for cells in csv.reader(lines, delimiter=separator)]
    heads = [joint_column(cell) for cell in table[0]]
    rows = []
    for number, cells in enumerate(table[1:], 1):
        if len(cells) != len(heads):
            raise ValueError(f"joint {number}: {len(cells)} cells for {len(heads)} columns.")
        rows.append({name: joint_cell(c, name, factor) for c, (name, factor) in zip(cells, heads, strict=True) if c})
    return rows


def joint_column(cell: str) -> tuple[str, float]:
    """'a [mm]' -> ('a', 0.001)."""
    name, unit = name_and_unit(cell)
    name = name.strip()
    if name not in JOINT_COLUMNS:
        raise ValueError(
            f"there is no column '{name}'. Columns are: {listing(JOINT_COLUMNS)}." + did_you_mean(name, JOINT_COLUMNS)
        )
    factor = unit_factor(unit, JOINT_UNITS.get(name, unit)) if unit else 1.0
    if factor is None:
        raise ValueError(f"column '{cell}': {name} is in {JOINT_UNITS[name]}, which cannot be made of {unit}.")
    return name, factor


def joint_cell(cell: str, name: str, factor: float) -> Any:
    """A number, a formula such as -pi/2, or a word where the column has words."""
    if name in ("joint", "name"):
        return cell
    value = parameter_value(cell, ParameterScope())
    return value * factor if isinstance(value, (int, float)) and not isinstance(value, bool) else value


@functools.lru_cache(maxsize=32)
def cached_table(path: str, stamp: tuple[int, int]) -> tuple[list[dict[str, Any]], str]:
    try:
        text = read_file(path, os.path.basename(path))
        if path.endswith(".csv"):
            rows = chain_rows(text)
        else:
            tree, problems = read_yaml(text, os.path.basename(path))
            if problems:
                return [], str(DiagramError(problems))
            rows = substituted(tree.plain(), ParameterScope())
    except (ValueError, DiagramError) as error:
        return [], str(error)
    return rows, table_problem(rows)


def table_rows(path: str) -> tuple[list[dict[str, Any]], str]:
    """The rows of a file, and what is wrong with it in words; '' where nothing is."""
    try:
        status = os.stat(path)
    except OSError as error:
        return [], f"cannot be read: {error.strerror}."
    return cached_table(path, (status.st_mtime_ns, status.st_size))
