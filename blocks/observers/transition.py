"""From one sample to the next: a plant's state and its derivatives, by Euler's rule or one of order 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import add, diagonal, identity, multiply, part, rows, scale, symmetric, transpose, zeros
from blocksim.errors import DiagramError

from .observed import equations_of, substeps_problem

__all__: list[str] = []


def euler(rates, x, u, p, Ts, n, d):
    """x' = x + Ts f, F = I + Ts df/dx, G = Ts df/dp (Tout 2022, eq. 10)."""
    f = rates(x, u, p)
    F = add(identity(n), scale(rows(f, n, n, n), Ts))
    return add(x, scale(part(f, 0, n), Ts)), F, scale(rows(f, n, d, n + n * n), Ts)


def carried(rates, x, F, G, u, p, h, turns, n, d):
    """x, F, G over so many steps of length h by Runge and Kutta's rule of order 4.

    Differentiating the rule is the same as applying it to F' = df/dx F and G' = df/dx G + df/dp, so F and G become the exact
    derivatives of the new x by what they were derivatives of.
    """
    for _ in range(turns):
        x0, F0, G0 = x, F, G
        x_at, F_at, G_at = x, F, G
        for stage in range(4):
            weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
            reach = h if stage == 2 else 0.5 * h
            f = rates(x_at, u, p)
            dfdx, dx = rows(f, n, n, n), part(f, 0, n)
            dF = multiply(dfdx, F_at)
            dG = multiply(dfdx, G_at, plus=rows(f, n, d, n + n * n))
            x, x_at = add(x, scale(dx, weight)), add(x0, scale(dx, reach))
            F, F_at = add(F, scale(dF, weight)), add(F0, scale(dF, reach))
            G, G_at = add(G, scale(dG, weight)), add(G0, scale(dG, reach))
    return x, F, G


def transition(rates, x, u, p, Ts, n, d, turns):
    """The next x with its derivatives F by x and G by d parameters: Euler's rule, or so many turns of the rule of order 4."""
    if turns > 0:
        return carried(rates, x, identity(n), zeros(n, d), u, p, Ts / turns, turns, n, d)
    return euler(rates, x, u, p, Ts, n, d)


def spread_on(F, G, P, noise, drift):
    """P' = F P F^T + G W G^T + Q; W and Q are diagonal."""
    FPF = multiply(multiply(F, P), transpose(F), plus=diagonal(drift))
    return symmetric(multiply(scale(G, noise), transpose(G), plus=FPF))


def steps(settings: Mapping[str, Any]) -> int:
    """Steps of order 4 per sample; none for Euler's rule."""
    return settings["substeps"] if settings["discretisation"] == "rk4" else 0


def steps_problem(substeps: int, discretisation: str) -> str | None:
    """What is wrong with these settings, in words."""
    if problem := substeps_problem(substeps):
        return problem
    if substeps > 1 and discretisation == "euler":
        return "substeps: Euler's rule takes one step; for more, say discretisation: rk4."
    return None


def rates_of(plant: Plant, names: Sequence[str]) -> Any:
    """The plant's rates with their derivatives by the state and these parameters."""
    eq = equations_of(plant)
    if eq.timed:
        raise DiagramError(f"model: the equations of {plant.name} depend on the time, which an observer of states cannot follow.")
    return eq.function(f"{plant.kind.__name__}_rates", ("f", "dfdx", "dfdp"), tuple(names))
