"""The starts of an output error's search: which are tried, with which weights, and when others are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .free_parameters import drawn
from .search import Search, Task, ascertained, descend

WEIGHT_ROUNDS = 10  # of weighting outputs by their residuals
POOR = 0.5  # share of what was measured: a fit that leaves more is tried from other starts
REACHES = (10.0, 10.0, 100.0, 100.0, 1000.0)  # factors within which those are drawn
SAME = 1e-4  # relative: searches that end at costs so near have found the same minimum


def whole_search(block: Any, task: Task) -> Search:
    """From the starts of the block, to an end that was judged; from others where that explains little."""
    return restarted(block, task, judged_end(block, task, with_weights(block, task)))


def judged_end(block: Any, task: Task, search: Search) -> Search:
    """The end of a search, judged by central differences."""
    return ascertained(task, search, block.tol, block.max_iterations) if search.ok else search


def restarted(block: Any, task: Task, best: Search) -> Search:
    """Where one start led to no end, or to one that explains little: the best of some others, ever further away.

    A second search that ends where the first did confirms it: then noise is all that is left.
    """
    random, costs = np.random.default_rng(block.seed), [best.cost if best.ok else math.nan]
    for reach in REACHES if block.starts == 1 else ():
        if best.ok and task.unexplained(best.theta) < POOR:
            break
        first = np.array([drawn(s, random, reach) for s in task.free])
        again = judged_end(block, task, descend(task, first, block.tol, block.max_iterations))
        costs.append(again.cost if again.ok else math.nan)
        same = best.ok and again.ok and abs(again.cost - best.cost) <= SAME * best.cost
        best = again if again.ok and (not best.ok or again.cost < best.cost) else best
        best.costs = costs
        if same:
            break
    return best


def with_weights(block: Any, task: Task) -> Search:
    """From every start; with several series and no weights, again with those of the residuals, until they stay."""
    weights = block.settings["weights"]
    if weights is None:
        task.weights = [inverse_of(np.std(m, axis=0)) for m in task.measured]
    else:
        task.weights = [np.full(m.shape[1], float(w)) for t in task.trials for w, m in zip(weights, t.measured, strict=True)]
    best = from_starts(block, task)
    several = sum(m.shape[1] for m in task.measured) > 1
    for _ in range(WEIGHT_ROUNDS if best.ok and weights is None and several else 0):
        sizes = [np.sqrt(np.mean(r**2, axis=0)) for r in task.rest_rows(best.theta)]
        before, task.weights = task.weights, [inverse_of(size) for size in sizes]
        again = descend(task, best.theta, block.tol, block.max_iterations)
        if not again.ok:
            break
        again.costs, again.iterations, best = best.costs, best.iterations + again.iterations, again
        if np.allclose(np.concatenate(task.weights), np.concatenate(before), rtol=0.01):
            break
    return best


def from_starts(block: Any, task: Task) -> Search:
    random = np.random.default_rng(block.seed)
    firsts = [np.array([s.start for s in task.free])]
    firsts += [np.array([drawn(s, random) for s in task.free]) for _ in range(block.starts - 1)]
    searches = [descend(task, first, block.tol, block.max_iterations) for first in firsts]
    best = min(searches, key=lambda s: s.cost if s.ok else math.inf)
    best.costs = [s.cost if s.ok else math.nan for s in searches]
    return best


def inverse_of(sizes: np.ndarray) -> np.ndarray:
    """1 / sizes, 1 where there is none."""
    return 1 / np.where(sizes > 0, sizes, 1.0)
