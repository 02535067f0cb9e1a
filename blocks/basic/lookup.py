"""Tables of measured values, of one input and of two, with straight lines between."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from blocksim.contract.block import Block, inport, outport, required, static
from blocksim.contract.vocabulary import maximum, minimum

from ..sources.curves import bracket

__all__ = ["LookupTable", "LookupTable2D"]


class LookupTable(Block):
    """y = values at u, straight lines between points: a measured characteristic. Outside it clips or extrapolates."""

    family = "nonlinear"
    icon = "0,0.1 0.3,0.2 0.6,0.75 1,0.9; 0,0 0,1; 0,0 1,0"
    formula = r"y = v_{i} + \frac{u - p_{i}}{p_{i+1} - p_{i}} \, (v_{i+1} - v_{i}), \quad p_{i} \le u < p_{i+1}"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  flow:  {type: Ramp, slope: 3.0}
  valve: {type: LookupTable, points: [0, 1, 2], values: [0, 0.2, 1.0], in: flow}
"""

    points: Any = required("where the values are known, rising", shape=(None,))
    values: Any = required("value at each point", shape=(None,))
    outside: str = static("clip", "beyond the first and last point", choices=("clip", "extrapolate"))
    u = inport("input")
    y = outport("interpolated value")

    @staticmethod
    def output(u, points, values, outside):
        if outside == "clip":
            x = minimum(maximum(u, points[0]), points[len(points) - 1])
        else:
            x = u
        i = bracket(x, points)
        return values[i] + (x - points[i]) * (values[i + 1] - values[i]) / (points[i + 1] - points[i])

    @staticmethod
    def check(points, values):
        if len(points) != len(values):
            return f"points has {len(points)} numbers, values has {len(values)}; one value for each point is wanted."
        return rising_problem("points", points)


class LookupTable2D(Block):
    """y = values at (u, v), straight lines between points in either direction: a measured map. Outside it clips or extrapolates.

    values has a row for each of `rows`, the points of u, and in it a number for each of `columns`, the points of v. Between four
    points it is bilinear.
    """

    family = "nonlinear"
    icon = "0,0 1,0 1,1 0,1 0,0; 0.33,0 0.33,1; 0.67,0 0.67,1; 0,0.33 1,0.33; 0,0.67 1,0.67"
    formula = (
        r"y = \begin{pmatrix} 1 - \alpha & \alpha \end{pmatrix} \begin{pmatrix} v_{ij} & v_{i,j+1} \\ v_{i+1,j} & v_{i+1,j+1} "
        r"\end{pmatrix} \begin{pmatrix} 1 - \beta \\ \beta \end{pmatrix}, \quad \alpha = \frac{u - r_{i}}{r_{i+1} - r_{i}}, \; "
        r"\beta = \frac{v - c_{j}}{c_{j+1} - c_{j}}"
    )
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  speed: {type: Ramp, slope: 3.0}
  load:  {type: Sine, frequency: 1.0}
  loss:  {type: LookupTable2D, rows: [0, 1, 3], columns: [-1, 1], values: [[0, 1], [2, 4], [3, 8]], in: {u: speed, v: load}}
"""

    rows: Any = required("points of u, rising", shape=(None,))
    columns: Any = required("points of v, rising", shape=(None,))
    values: Any = required("values, one list for each of rows", shape=(None, None))
    outside: str = static("clip", "beyond the first and last point", choices=("clip", "extrapolate"))
    u = inport("input along the rows")
    v = inport("input along the columns")
    y = outport("interpolated value")

    @staticmethod
    def output(u, v, rows, columns, values, outside):
        if outside == "clip":
            u = minimum(maximum(u, rows[0]), rows[len(rows) - 1])
            v = minimum(maximum(v, columns[0]), columns[len(columns) - 1])
        i, j = bracket(u, rows), bracket(v, columns)
        down = (u - rows[i]) / (rows[i + 1] - rows[i])
        across = (v - columns[j]) / (columns[j + 1] - columns[j])
        left = values[i, j] + down * (values[i + 1, j] - values[i, j])
        right = values[i, j + 1] + down * (values[i + 1, j + 1] - values[i, j + 1])
        return left + across * (right - left)

    @staticmethod
    def check(rows, columns, values):
        size = (len(values), len(values[0]))
        if size != (len(rows), len(columns)):
            return f"values is {size[0]} x {size[1]}; {len(rows)} x {len(columns)} is wanted, the numbers of rows and columns."
        return rising_problem("rows", rows) or rising_problem("columns", columns)


def rising_problem(name: str, points: Any) -> str | None:
    """What is wrong with the points of a table."""
    if len(points) < 2:
        return f"{name}: at least two are wanted."
    for first, second in pairwise(points):
        if second <= first:
            return f"{name}: must rise, found {first:g} before {second:g}."
    return None
