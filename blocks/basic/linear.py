"""What linear blocks share while they are built: checks in words, the canonical realisation, labels for the picture."""

from __future__ import annotations

from typing import Any

from blocksim.contract.declarations import inport, outport, param, required, table
from blocksim.notation import FRACTION_BAR, raised_number, superscript


def elements(value: Any) -> list[float]:
    """A number or a list of them, as a list."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else [value]


def order_problem(low_name: str, low: Any, high_name: str, high: Any, equal: bool = False) -> str | None:
    """What is wrong with two limits of a block, numbers or one per element."""
    lows, highs = elements(low), elements(high)
    if len(lows) != len(highs) and 1 not in (len(lows), len(highs)):
        return f"{low_name} has {len(lows)} elements, {high_name} has {len(highs)}; one for each, or a single number, is wanted."
    size = max(len(lows), len(highs))
    pairs = zip(lows * (size // len(lows)), highs * (size // len(highs)), strict=True)
    for below, above in pairs:
        if below > above or (below == above and not equal):
            rule = "must not be above" if equal else "must be below"
            return f"{low_name} {rule} {high_name}, found {low_name} = {below:g} and {high_name} = {above:g}."
    return None


def stripped(coefficients: Any) -> list[float]:
    """A polynomial without leading zeros."""
    numbers = list(coefficients)
    while len(numbers) > 1 and numbers[0] == 0:
        numbers.pop(0)
    return numbers


def strictly_proper(settings: dict[str, Any]) -> bool:
    """Whether a transfer function has no direct feedthrough."""
    return len(stripped(settings["num"])) < len(settings["den"])


def fraction_problem(num: Any, den: Any, variable: str) -> str | None:
    """What is wrong with a transfer function."""
    if len(den) < 2:
        return f"den: {list(den)} has no power of {variable}; a Gain is a transfer function without one."
    if den[0] == 0:
        return f"den: its first coefficient, of {variable}^{len(den) - 1}, cannot be 0, found {list(den)}."
    if len(stripped(num)) > len(den):
        return (
            f"num has degree {len(stripped(num)) - 1}, den {len(den) - 1}: more zeros than poles cannot be computed. "
            "Add a pole to den, e.g. a fast lag."
        )
    return None


def realisation(num: Any, den: Any) -> tuple[Any, Any, Any]:
    """The controllable canonical form of num/den: first row of -A, output row, feedthrough."""
    import numpy as np

    lead = float(den[0])
    a = np.asarray(den, float) / lead
    b = np.asarray(stripped(num), float) / lead
    b = np.concatenate([np.zeros(len(a) - len(b)), b])
    return a[1:].copy(), b[1:] - b[0] * a[1:], b[:1].copy()


def strictly_causal(settings: dict[str, Any]) -> bool:
    """Whether a state space has no direct feedthrough."""
    return settings["D"] is None or not any(any(row) for row in settings["D"])


def feedthrough(B: Any, C: Any, D: Any) -> Any:
    """D, or zeros of its size."""
    import numpy as np

    return np.zeros((len(C), len(B[0]))) if D is None else np.asarray(D, float)


def matrices_problem(A: Any, B: Any, C: Any, D: Any) -> str | None:
    """What is wrong with the sizes of a state space."""

    def size(matrix: Any) -> str:
        return f"{len(matrix)} x {len(matrix[0])}"

    n = len(A)
    if len(A[0]) != n:
        return f"A must be square, found {size(A)}."
    if len(B) != n:
        return f"B must have as many rows as A, {n}, found {size(B)}."
    if len(C[0]) != n:
        return f"C must have as many columns as A, {n}, found {size(C)}."
    if D is not None and (len(D), len(D[0])) != (len(C), len(B[0])):
        return f"D must be {len(C)} x {len(B[0])}, the rows of C by the columns of B, found {size(D)}."
    return None


def fraction(num: Any, den: Any, variable: str) -> list[str]:
    """A transfer function for the picture: numerator, bar, denominator."""
    if any(isinstance(c, (list, tuple)) for c in (*num, *den)):
        return [f"num({variable})", FRACTION_BAR, f"den({variable})"]
    return [polynomial(num, variable), FRACTION_BAR, polynomial(den, variable)]


def polynomial(coefficients: Any, variable: str) -> str:
    """[2, 0, -1] -> '2s² - 1'."""
    text = ""
    for power, c in zip(range(len(coefficients) - 1, -1, -1), coefficients, strict=True):
        if c == 0:
            continue
        base = "" if power == 0 else variable if power == 1 else variable + superscript(power)
        size = "" if abs(c) == 1 and power else raised_number(abs(c))
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        text += sign + size + base
    return text or "0"


class Fraction:
    """What a transfer function declares, in s or in z: its polynomials and their controllable canonical realisation."""

    num: Any = required("numerator coefficients, highest power first", shape=(None,))
    den: Any = required("denominator coefficients, highest power first", shape=(None,))
    u = inport("input")
    y = outport("filtered input")
    a = table("denominator over its first coefficient, without it")
    c = table("output row of the realisation")
    d = table("direct feedthrough, one number")

    @staticmethod
    def size_n(den):
        return len(den) - 1

    @staticmethod
    def table_a(num, den):
        return realisation(num, den)[0]

    @staticmethod
    def table_c(num, den):
        return realisation(num, den)[1]

    @staticmethod
    def table_d(num, den):
        return realisation(num, den)[2]

    @staticmethod
    def output(x, c, n):
        y = c[0] * x[0]
        for i in range(1, n):
            y = y + c[i] * x[i]
        return y


class PassingFraction(Fraction):
    """The output of a transfer function whose num and den have one degree: part of the input passes directly."""

    @staticmethod
    def output(x, u, c, d, n):
        y = d[0] * u
        for i in range(n):
            y = y + c[i] * x[i]
        return y


class Matrices:
    """What a linear system declares, in continuous or in discrete time: its matrices, and the output without feedthrough."""

    A: Any = required("system matrix, n rows of n", shape=(None, None))
    B: Any = required("input matrix, n rows", shape=(None, None))
    C: Any = required("output matrix, rows of n", shape=(None, None))
    D: Any = param(None, "feedthrough matrix; zero when left out", shape=(None, None))
    u = inport("input", size="inputs")
    y = outport("output", size="outputs")
    feed = table("D, or zeros", shape=(None, None))

    @staticmethod
    def size_n(A):
        return len(A)

    @staticmethod
    def size_inputs(B):
        return len(B[0])

    @staticmethod
    def size_outputs(C):
        return len(C)

    @staticmethod
    def table_feed(B, C, D):
        return feedthrough(B, C, D)

    @staticmethod
    def output(x, C, n, outputs, out):
        for i in range(outputs):
            total = 0.0
            for j in range(n):
                total = total + C[i, j] * x[j]
            out[i] = total

    @staticmethod
    def check(A, B, C, D):
        return matrices_problem(A, B, C, D)


class PassingMatrices(Matrices):
    """The output of a linear system whose D is not zero."""

    @staticmethod
    def output(x, u, C, feed, n, inputs, outputs, out):
        for i in range(outputs):
            total = 0.0
            for j in range(n):
                total = total + C[i, j] * x[j]
            for j in range(inputs):
                total = total + feed[i, j] * u[j]
            out[i] = total
