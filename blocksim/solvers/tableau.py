"""Tableaus: a solver is its coefficients, which are checked when it is made; what it can do follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import SolverDefinitionError
from .trees import ROUNDING_OF_CONDITIONS, broken, broken_inside, dot_product, elementary

Row = tuple[Fraction, ...]


def numbers(text: str) -> Row:
    """'1/5 -0.3 2' as exact numbers."""
    return tuple(Fraction(word) for word in text.split())


def rows(*lines: str) -> tuple[Row, ...]:
    return tuple(numbers(line) for line in lines)


def refuse(name: str, *checks: Callable[[], str]) -> None:
    """An error with the first problem there is."""
    for check in checks:
        problem = check()
        if problem:
            raise SolverDefinitionError(f"solver '{name}': {problem}.")


def square_rows(a: tuple[Row, ...]) -> list[list[Fraction]]:
    """Rows below the diagonal as a matrix."""
    return [[*row, *[Fraction(0)] * (len(a) - len(row))] for row in a]


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge-Kutta method, k_i = f(t + c_i h, x + h sum_j a_ij k_j), y = x + h sum b_i k_i.

    e   b minus the weights of the embedded method: the step's error is h sum e_i k_i, and steps are chosen by it
    d   dense output of order 4: theta^2 (1 - theta)^2 h sum d_i k_i on top of the cubic through both ends, which alone is of
        order 3; where the last stage is not the slope at the end, one weight more belongs to that slope
    """

    name: str
    order: int
    c: Row
    a: tuple[Row, ...]
    b: Row
    e: Row = ()
    d: Row = ()
    embedded: int = 0  # order of the embedded method; 0: one less than the method's
    when: str = ""  # when to use it

    compiled, implicit = True, False

    @property
    def adaptive(self) -> bool:
        return bool(self.e)

    @property
    def stages(self) -> int:
        return len(self.c)

    @property
    def fsal(self) -> bool:
        """Whether the last stage is the slope at the end, the first of the next step."""
        return self.c[-1] == 1 and self.a[-1] == self.b[:-1] and self.b[-1] == 0

    @property
    def error_order(self) -> int:
        """The power of h in the error estimate is one more."""
        return min(self.order, self.embedded or self.order - 1)

    def __post_init__(self) -> None:
        refuse(self.name, self.shape_problem, self.row_problem, self.order_problem, self.dense_problem)

    def shape_problem(self) -> str:
        count = len(self.c)
        if not count or self.order < 1:
            return "at least one stage and an order of at least 1 are wanted"
        if [len(row) for row in self.a] != list(range(count)):
            return f"row i of a has i entries below the diagonal, for {count} stages 0 to {count - 1}: found {self.lengths()}"
        if len(self.b) != count or len(self.e) not in (0, count):
            return f"b and e have one weight per stage, {count}: found {len(self.b)} and {len(self.e)}"
        return "e is zero everywhere: it estimates no error" if self.e and not any(self.e) else ""

    def lengths(self) -> str:
        return ", ".join(str(len(row)) for row in self.a) or "nothing"

    def row_problem(self) -> str:
        for i, row in enumerate(self.a):
            if abs(sum(row, Fraction(0)) - self.c[i]) > ROUNDING_OF_CONDITIONS:
                return f"row {i} of a adds up to {sum(row, Fraction(0))}, but c[{i}] is {self.c[i]}"
        return ""

    def order_problem(self) -> str:
        order = self.embedded or self.order - 1
        values = elementary(max(order, self.order), square_rows(self.a))
        missing = broken("b", self.b, self.order, values)
        if missing:
            return f"{missing}. A coefficient is wrong, or the order is not {self.order}"
        if self.e:
            missing = broken("(b - e)", [b - e for b, e in zip(self.b, self.e, strict=True)], order, values)
            if missing:
                return f"{missing}. A coefficient is wrong, or the embedded method is not of order {order}"
        return ""

    def dense_problem(self) -> str:
        """The cubic through both ends is of order 3; d is there to make it 4."""
        method = self.ended
        if self.d and (not self.e or len(self.d) != len(method.c)):
            return f"d has {self.ends} weights and belongs to an error row e: found {len(self.d)} and {len(self.e)}"
        if not self.e:
            return ""
        order = min(self.order, 4 if self.d else 3)
        missing = broken_inside(method.powers, order, elementary(order, square_rows(method.a)))
        return f"{missing}. A coefficient of d is wrong" if missing else ""

    @property
    def ends(self) -> int:
        """Stages with the slope at the end."""
        return self.stages + (not self.fsal)

    @cached_property
    def ended(self) -> Coefficients:
        """The method as it runs: under error control the slope at the end is its last stage, and the next step's first."""
        if self.fsal or not self.e:
            return Coefficients(self.c, self.a, self.b, self.e, self.d)
        zero, one = (Fraction(0),), (Fraction(1),)
        return Coefficients(self.c + one, (*self.a, self.b), self.b + zero, self.e + zero, self.d)

    def numbers(self) -> dict[str, Any]:
        """What the text of a step is written with."""
        method = self.ended
        count = len(method.c)
        return {
            "STAGES": count,
            "A": [[float(v) for v in row] for row in method.a],
            **{n: [float(v) for v in getattr(method, n.lower())] for n in "BCED"},
            "DENSE": bool(self.d),
            "DONE": method.b[-1] == 0 and method.a[-1] == method.b[:-1],  # y is the last stage's argument already
            "SPARE": count,
            "ERRORS": count + 1,
        }

    def work(self) -> list[int]:
        """Lengths of the rows of work, as powers of the number of states."""
        return [1] * (len(self.ended.c) + (2 if self.e else 1))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """A tableau's numbers, the slope at the end among the stages."""

    c: Row
    a: tuple[Row, ...]
    b: Row
    e: Row
    d: Row

    @property
    def powers(self) -> list[list[Fraction]]:
        """Dense output, theta b + theta (1 - theta) (bend + theta twist + theta (1 - theta) d), by powers of theta."""
        count = len(self.c)
        first, last = ([Fraction(i == k) for i in range(count)] for k in (0, count - 1))
        d = self.d or [Fraction(0)] * count
        parts = list(zip(self.b, first, last, d, strict=True))
        return [
            first,
            [3 * b - 2 * s - e + d for b, s, e, d in parts],
            [s + e - 2 * b - 2 * d for b, s, e, d in parts],
            [d for *_, d in parts],
        ]


@dataclass(frozen=True, eq=False)
class Rosenbrock:
    """A stiffly accurate Rosenbrock method in the transformed form of Hairer & Wanner (7.25'), such as their RODAS:

        (1/(h gamma) - J) u_i = f(t + alpha_i h, x + sum_j a_ij u_j) + sum_j c_ij u_j / h + drift_i h df/dt

    The argument of the last stage is that of the one before plus its u, and is the embedded result; plus the last u, the result.
    """

    name: str
    order: int
    gamma: float
    a: tuple[tuple[float, ...], ...]  # rows of all stages but the last
    c: tuple[tuple[float, ...], ...]
    alpha: tuple[float, ...]
    drift: tuple[float, ...]
    dense: tuple[tuple[float, ...], tuple[float, ...]]  # of theta (1 - theta) and theta^2 (1 - theta)
    when: str = ""

    compiled, adaptive, implicit, fsal = True, True, True, False

    @property
    def stages(self) -> int:
        return len(self.alpha)

    @property
    def error_order(self) -> int:
        return self.order - 1

    def __post_init__(self) -> None:
        refuse(self.name, self.shape_problem, self.order_problem)

    def shape_problem(self) -> str:
        count = len(self.alpha)
        if [len(row) for row in self.a] != list(range(count - 1)) or [len(row) for row in self.c] != list(range(count)):
            return f"row i of a and c has i entries below the diagonal, for {count} stages, a without the last stage"
        if len(self.drift) != count or [len(row) for row in self.dense] != [count - 1] * 2:
            return f"drift has {count} entries, and dense two rows of {count - 1}"
        return ""

    def order_problem(self) -> str:
        """Back from the transformed form: Gamma^-1 = 1/gamma - c, alpha_ij = a Gamma, b = m Gamma; then the trees."""
        count = len(self.alpha)
        gamma = inverse([[*(-v for v in row), 1 / self.gamma] for row in self.c])
        padded = [[*row, *[0.0] * (count - len(row))] for row in (*self.a, (*self.a[-1], 1.0))]
        alpha = [[dot_product(row, column) for column in zip(*gamma, strict=True)] for row in padded]
        beta = [[u + v for u, v in zip(*pair, strict=True)] for pair in zip(alpha, gamma, strict=True)]
        for name, matrix, sums in (("alpha", alpha, self.alpha), ("drift", gamma, self.drift)):
            for i, row in enumerate(matrix):
                if abs(sum(row) - sums[i]) > ROUNDING_OF_CONDITIONS:
                    return f"{name}[{i}] is {sums[i]:.9g}, but the coefficients of its stage add up to {float(sum(row)):.9g}"

        def weights(row: list[float]) -> list[float]:
            return [dot_product(row, column) for column in zip(*gamma, strict=True)]

        last, values = [*padded[-1][:-1], 1.0], elementary(self.order, alpha, beta)
        missing = broken("b", weights(last), self.order, values)
        missing = missing or broken("(b - e)", weights(padded[-1]), self.error_order, values)
        first, second = ([*row, 0.0] for row in self.dense)
        powers = [
            [u + v for u, v in zip(last, first, strict=True)],
            [v - u for u, v in zip(first, second, strict=True)],
            [-v for v in second],
        ]
        missing = missing or broken_inside([weights(row) for row in powers], min(self.order, 3), values)
        return f"{missing}. A coefficient is wrong, or the order is not {self.order}" if missing else ""

    def numbers(self) -> dict[str, Any]:
        """What the text of a step is written with, and which row of work is what."""
        count = self.stages
        names = ("SPARE", "ERRORS", "SLOPE", "RIGHT", "BEND", "TWIST", "JACOBIAN", "FACTORS", "PIVOTS", "TIME")
        own = {"A": self.a, "C": self.c, "ALPHA": self.alpha, "DRIFT": self.drift, "DENSE": self.dense, "GAMMA": self.gamma}
        return {"STAGES": count, "LAST": count - 1, **own, **{n: count + i for i, n in enumerate(names)}}

    def work(self) -> list[int]:
        """Lengths of the rows of work, as powers of the number of states: the Jacobian and its factors are matrices."""
        places = self.numbers()
        return [2 if i in (places["JACOBIAN"], places["FACTORS"]) else 1 for i in range(places["TIME"] + 1)]


def inverse(rows: list[list[float]]) -> list[list[float]]:
    """The inverse of a lower triangular matrix, rows up to the diagonal, as a square one."""
    count = len(rows)
    result = [[0.0] * count for _ in rows]
    for i, row in enumerate(rows):
        for j in range(i + 1):
            result[i][j] = (float(i == j) - sum(row[k] * result[k][j] for k in range(j, i))) / row[i]
    return result


@dataclass(frozen=True)
class ScipyMethod:
    """One of scipy's methods: an independent reference, which runs the program's functions under CPython."""

    name: str
    compiled, adaptive = False, True

    @property
    def method(self) -> str:
        return self.name.partition(":")[2]
