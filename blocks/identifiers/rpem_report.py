"""What an RPEM hybrid reports of its search: the estimates, and what a reader must know of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.errors import listing
from blocksim.estimation.estimates import NORMAL, Estimate, Estimates
from blocksim.estimation.input_warnings import first_state_words, true_states

from .rpem_search import SearchProblem, SearchState, coloured_spread, white_covariance, whiteness

COLOURED = 1e-3  # probability of white residuals below which they are called coloured


def report_of(method: str, problem: SearchProblem, search: SearchState, plant: Plant, errors: str = "white") -> Estimates:
    """What was found; nan with the reason where the model could not be simulated."""
    truths = [float(plant.settings[n]) if plant.path else math.nan for n in problem.names]
    units = [plant.kind.declared[n].unit for n in problem.names]
    details: dict[str, Any] = {
        "simulations": search.simulations, "iterations": len(search.halvings), "halvings": search.halvings,
        "history": np.array(search.history), "loss": np.array(search.losses), "horizons": search.ends,
        "converged": search.converged,
        "assumed": {"type": plant.kind.__name__, "settings": held_settings(problem, plant)},
    }  # fmt: skip
    method = f"RPEM hybrid, {method}"
    if search.failed or search.psi is None or search.residual is None:
        nothing = tuple(Estimate(n, math.nan, truth=v, unit=u) for n, v, u in zip(problem.names, truths, units, strict=True))
        return Estimates(method, nothing, model=plant.path, warnings=(search.reason,), reason=search.reason, details=details)
    visible = np.linalg.norm(search.psi, axis=0) * problem.scale > 1e-12 * np.linalg.norm(search.y_hat)
    covariance, quantile = white_covariance(search, visible), np.full(len(visible), NORMAL)
    if errors == "coloured" and visible.any():
        spread = coloured_spread(search, visible)
        covariance[np.ix_(visible, visible)], quantile[visible] = spread.claim, spread.quantile
        details.update(freedom=spread.freedom, smoothing_lines=spread.lines)
    correlation, probability = whiteness(search.residual.reshape(-1, 1 if search.y_hat.ndim == 1 else search.y_hat.shape[1]))
    details.update(sigma=math.sqrt(search.loss), autocorrelation=correlation, whiteness=probability)
    entries = tuple(
        Estimate(n, float(value), float(std), truth, unit, quantile=float(q), start=float(start))
        for n, value, std, truth, unit, start, q in zip(
            problem.names, search.values, np.sqrt(np.diag(covariance)), truths, units, problem.start, quantile, strict=True
        )
    )
    warnings = tuple(doubts(problem, search, visible, probability, errors) + leak(problem, plant))
    return Estimates(method, entries, covariance, plant.path, warnings, search.reason, details)


def doubts(problem: SearchProblem, search: SearchState, visible: np.ndarray, probability: float, errors: str) -> list[str]:
    """What a reader of the numbers must know, in words."""
    remarks = []
    blind = [n for n, sight in zip(problem.names, visible, strict=True) if not sight]
    if blind:
        remarks.append(f"the output does not depend on {listing(blind)} here: the gradient vanishes and the start was kept.")
    at = [
        n
        for n, v, a, b in zip(problem.names, search.values, problem.low, problem.high, strict=True)
        if v <= a or v >= b
    ]  # fmt: skip
    if at:
        remarks.append(f"{listing(at)} ended at a limit; its standard deviation does not hold there.")
    if not search.converged:
        first = problem.names[0]
        remarks.append(
            f"not converged: {search.reason} Begin where another identifier ended (start: {{{first}: cloe}}, a chain), or let "
            "horizons grow."
        )
    if probability < COLOURED:
        small = ", and standard deviations are too small (errors: coloured)" if errors == "white" else ""
        remarks.append(f"the residuals are coloured: the model misses something{small}.")
    if search.psi is not None and visible.sum() > 1:
        psi = search.psi[:, visible]
        spread = np.linalg.svd(psi / np.linalg.norm(psi, axis=0), compute_uv=False)
        if spread[-1] < 1e-3 * spread[0]:
            remarks.append(f"the parameters act almost alike on y (condition {spread[0] / max(spread[-1], 1e-300):.2g}).")
    return remarks


def leak(problem: SearchProblem, plant: Plant) -> list[str]:
    """A word on what was taken from the simulated plant itself."""
    constants = [n for n, v in plant.truth.items() if v and n not in problem.names and n not in problem.known]
    words = (
        [f"leak of truth: {listing(constants)} held at the plant's own value; give it under `known` instead."]
        if constants
        else []
    )
    states = true_states(plant, (*problem.names, *problem.known)) if plant.path else []
    return words + ([first_state_words(states, "give it under `known` or `start`")] if states else [])


def held_settings(problem: SearchProblem, plant: Plant) -> dict[str, Any]:
    return {n: problem.known.get(n, v) for n, v in plant.settings.items() if n not in problem.names}
