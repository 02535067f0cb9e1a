"""Explicit Runge-Kutta steps, written out from a tableau. Text for the generated program."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .tableaus import RODAS4, Rosenbrock, Tableau

ARGUMENTS = "x, p, m, a, noise, o"
STATE = "y, p, m, a, noise, o"


def number(value: Fraction | float) -> str:
    return repr(float(value))


def combination(weights: Sequence[Fraction | float], first: int = 1, index: str = "[i]") -> str:
    """b1 * k1[i] + b2 * k2[i] + ..., without the zeros and the ones."""
    parts = [f"k{j}{index}" if w == 1 else f"{number(w)} * k{j}{index}" for j, w in enumerate(weights, first) if w]
    return " + ".join(parts).replace("+ -", "- ")


def rows_of(tableau: Tableau) -> int:
    """Rows of k: stages, the spare row, and for error control the errors."""
    return len(tableau.c) + (2 if tableau.e else 1)


def step_text(tableau: Tableau, adaptive: bool) -> str:
    """The function `attempt`: one step of size h from x into y."""
    stages = len(tableau.c)
    lines = ["def attempt(now, h, f, k, y, x, p, m, a, noise, o):"]
    lines += [f"    k{j} = k[{j - 1}]" for j in range(1, stages + 1)]
    if adaptive:  # the last stage of a step is the first of the next
        lines += [
            "    if f[FRESH] < 0.5:",
            f"        derivative(now, k1, {ARGUMENTS})",
            "    elif f[FRESH] < 1.5:",
            "        for i in range(NX):",
            f"            k1[i] = k{stages}[i]",
            "    f[FRESH] = 2.0",
        ]
    else:
        lines.append(f"    derivative(now, k1, {ARGUMENTS})")
    for j in range(2, stages + 1):
        lines += ["    for i in range(NX):", f"        y[i] = x[i] + h * ({combination(tableau.a[j - 1])})"]
        at = "now" if tableau.c[j - 1] == 0 else "now + h" if tableau.c[j - 1] == 1 else f"now + {number(tableau.c[j - 1])} * h"
        lines.append(f"    derivative({at}, k{j}, {STATE})")
    if tableau.b[:-1] != tableau.a[-1] or tableau.b[-1] != 0:  # else y is the last stage's argument already
        lines += ["    for i in range(NX):", f"        y[i] = x[i] + h * ({combination(tableau.b)})"]
    lines.append(f"    f[EVALUATIONS] += {float(stages)}")
    if not adaptive:
        return "\n".join([*lines, "    return 0.0", ""])
    lines += [
        "    total = 0.0",
        f"    errors = k[{stages + 1}]",
        "    for i in range(NX):",
        f"        errors[i] = h * ({combination(tableau.e)})",
        "        scale = f[ATOL] + f[RTOL] * maximum(abs(x[i]), abs(y[i]))",
        "        ratio = errors[i] / scale",
        "        total = total + ratio * ratio",
        "    if NX == 0:",
        "        return 0.0",
        "    return sqrt(total / NX)",
        "",
    ]
    return "\n".join(lines)


def dense_text(tableau: Tableau, adaptive: bool) -> str:
    """The function `interpolate`: the method's dense output, or for fixed steps a shorter step (full order at any time)."""
    head = "def interpolate(theta, now, h, f, k, y, z, x, p, m, a, noise, o):"
    if not adaptive:
        return f"{head}\n    attempt(now, theta * h, f, k, z, {ARGUMENTS})\n"
    lines = [
        head,
        *(f"    k{j} = k[{j - 1}]" for j in range(1, len(tableau.c) + 1)),
        "    rest = 1.0 - theta",
        "    for i in range(NX):",
        "        change = y[i] - x[i]",
        "        bend = h * k1[i] - change",
        f"        twist = change - h * k{len(tableau.c)}[i] - bend",
        f"        last = h * ({combination(tableau.d)})",
        "        z[i] = x[i] + theta * (change + rest * (bend + theta * (twist + rest * last)))",
    ]
    return "\n".join([*lines, ""])


def first_step_text(order: int) -> str:
    """Hairer, Norsett & Wanner II.4: a first step from the sizes of x, f and the change of f."""
    return f"""def first_step(now, f, k, y, x, p, m, a, noise, o):
    k1 = k[0]
    k2 = k[1]
    derivative(now, k1, {ARGUMENTS})
    size = 0.0
    slope = 0.0
    for i in range(NX):
        scale = f[ATOL] + f[RTOL] * abs(x[i])
        size = size + (x[i] / scale) * (x[i] / scale)
        slope = slope + (k1[i] / scale) * (k1[i] / scale)
    if NX == 0:
        return f[H_MAX]
    size = sqrt(size / NX)
    slope = sqrt(slope / NX)
    h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    h = minimum(h, f[H_MAX])
    for i in range(NX):
        y[i] = x[i] + h * k1[i]
    derivative(now + h, k2, {STATE})
    bend = 0.0
    for i in range(NX):
        scale = f[ATOL] + f[RTOL] * abs(x[i])
        bend = bend + ((k2[i] - k1[i]) / scale) * ((k2[i] - k1[i]) / scale)
    bend = sqrt(bend / NX) / h
    f[EVALUATIONS] += 2.0
    steep = maximum(slope, bend)
    reach = maximum(1e-6, h * 1e-3) if steep <= 1e-15 else power(0.01 / steep, {1 / (order + 1)!r})
    return minimum(minimum(100.0 * h, reach), f[H_MAX])
"""


def stages_text(method: Rosenbrock = RODAS4) -> str:
    """The stages of a Rosenbrock method; `backsolve` applies the factorised matrix."""
    count = len(method.alpha)
    lines = ["def stages(now, h, f, k, y, x, p, m, a, noise, o):", *(f"    k{j} = k[{j - 1}]" for j in range(1, count + 1))]
    lines += ["    slope = k[SLOPE]", "    time = k[TIME]"]
    for j in range(1, count + 1):
        alpha, drift = method.alpha[j - 1], method.d[j - 1]
        source = "slope"
        if j > 1:
            lines += ["    for i in range(NX):"]
            lines += [
                f"        y[i] = x[i] + {combination(method.a[j - 1])}" if j < count else f"        y[i] = y[i] + k{j - 1}[i]"
            ]
            at = "now + h" if alpha == 1 else f"now + {number(alpha)} * h"
            lines.append(f"    derivative({at}, k[RIGHT], {STATE})")
            source = "k[RIGHT]"
        pull = f" + ({combination(method.c[j - 1])}) / h" if j > 1 else ""
        push = f" + {number(drift)} * h * time[i]" if drift else ""
        lines += ["    for i in range(NX):", f"        k{j}[i] = {source}[i]{pull}{push}", f"    backsolve(k{j}, k)"]
    lines += ["    for i in range(NX):", f"        y[i] = y[i] + k{count}[i]"]
    for row, weights in zip(("DENSE", "DENSE2"), method.dense, strict=True):
        lines += ["    for i in range(NX):", f"        k[{row}][i] = {combination(weights)}"]
    lines.append(f"    f[EVALUATIONS] += {count - 1}.0")
    return "\n".join([*lines, ""])
