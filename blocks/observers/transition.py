"""From one sample to the next: a plant's state and its derivatives, by Euler's rule or one of order 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.plant import Plant
from blocksim.errors import DiagramError

from .observed import equations_of

__all__: list[str] = []


def carried(rates, x, S, u, p, h, turns, n, columns, inner, work):
    """Carry x and its derivatives S by `columns` quantities over `turns` steps of length h: Runge and Kutta's rule, order 4.

    `rates` gives the plant's f, df/dx and df/dp, one after another, row by row. Differentiating the rule is the same as applying
    it to S' = df/dx S + df/dp, so S becomes the exact derivative of the new x. The last `inner` columns of S belong to the
    parameters that `rates` is differentiated by, the others to first values. `work` holds three sets of x and S: a point between,
    the rate there, the sum of rates.
    """
    size = n + n * columns
    for _ in range(turns):
        for i in range(n):
            work[i], work[2 * size + i] = x[i], x[i]
        for i in range(n * columns):
            work[n + i], work[2 * size + n + i] = S[i], S[i]
        for stage in range(4):
            weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
            reach = h if stage == 2 else 0.5 * h
            found = rates(work, u, p)
            for i in range(n):
                work[size + i] = found[i]
                for j in range(columns):
                    total = found[n + n * n + i * inner + j - columns + inner] if j >= columns - inner else 0.0
                    for k in range(n):
                        total = total + found[n + i * n + k] * work[n + k * columns + j]
                    work[size + n + i * columns + j] = total
            for i in range(size):
                work[2 * size + i] = work[2 * size + i] + weight * work[size + i]
                work[i] = (x[i] if i < n else S[i - n]) + reach * work[size + i]
        for i in range(n):
            x[i] = work[2 * size + i]
        for i in range(n * columns):
            S[i] = work[2 * size + n + i]


def euler(rates, x_next, S, x_hat, u, p, Ts, n, d, work):
    """x_next and S, its derivatives by the state and by d parameters, row by row: Euler's rule (Tout 2022, eq. 10)."""
    columns = n + d
    found = rates(x_hat, u, p)
    for i in range(n):
        x_next[i] = x_hat[i] + Ts * found[i]
        for j in range(n):
            S[i * columns + j] = (1.0 if i == j else 0.0) + Ts * found[n + i * n + j]
        for j in range(d):
            S[i * columns + n + j] = Ts * found[n + n * n + i * d + j]


def rk4(rates, x_next, S, x_hat, u, p, Ts, n, d, turns, work):
    """The same by so many turns of the rule of order 4."""
    columns = n + d
    for i in range(n):
        x_next[i] = x_hat[i]
        for j in range(columns):
            S[i * columns + j] = 1.0 if i == j else 0.0
    carried(rates, x_next, S, u, p, Ts / turns, turns, n, columns, d, work)


def transition(rates, x_next, S, x_hat, u, p, Ts, n, d, turns, work):
    """x_next = x_hat + Ts f and S, its derivatives: by Euler's rule, or so many turns of the rule of order 4."""
    if turns > 0:
        rk4(rates, x_next, S, x_hat, u, p, Ts, n, d, turns, work)
    else:
        euler(rates, x_next, S, x_hat, u, p, Ts, n, d, work)


def steps(settings: Mapping[str, Any]) -> int:
    """Steps of order 4 per sample; none for Euler's rule."""
    return settings["substeps"] if settings["discretisation"] == "rk4" else 0


def steps_problem(substeps: int, discretisation: str) -> str | None:
    """What is wrong with these settings, in words."""
    if substeps < 1:
        return f"substeps: must be at least 1, found {substeps}."
    if substeps > 1 and discretisation == "euler":
        return "substeps: Euler's rule takes one step; for more, say discretisation: rk4."
    return None


def rates_of(plant: Plant, names: Sequence[str]) -> Any:
    """The plant's rates with their derivatives by the state and these parameters."""
    eq = equations_of(plant)
    if eq.timed:
        raise DiagramError(f"model: the equations of {plant.name} depend on the time, which an observer of states cannot follow.")
    return eq.function(f"{plant.kind.__name__}_rates", ("f", "dfdx", "dfdp"), tuple(names))
