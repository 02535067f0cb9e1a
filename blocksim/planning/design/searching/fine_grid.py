"""The end of a search judged with the diagram's own solver, limits at every step of it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....contract.times import exact
from ....errors import DiagramError
from ..bench import Bench
from ..limits import tightened
from ..spec import DesignSpec
from .search import DesignSearch, SearchProgress
from .trial import Trial

if TYPE_CHECKING:
    from ....contract.arrays import FloatArray

#: Of the simulations and seconds of a search, what may be spent on keeping a limit that only the fine grid shows to be broken.
REPAIR_SHARE = 0.1
#: By how much more than its excess, as a share, such a limit is lowered.
REPAIR_SPARE = 1e-4


def best_on_fine_grid(spec: DesignSpec, bench: Bench, ending: SearchProgress) -> tuple[FloatArray, Trial]:
    """The best candidate judged with the diagram's own step; where it breaks a limit there, one near it that keeps all."""
    fine_keys = {**spec.simulate, **fine_log(bench)}
    last = bench.on_grid(ending.bests[-1].x)
    own = Bench(replace(spec, every=spec.every or bench.interval, simulate=fine_keys), learnt=bench.learnt, first=last)
    first = own.try_out(last)
    if first.allowed:
        return last, first
    for candidate in (repaired(bench, ending, first), *reversed(ending.bests[:-1])):
        x = bench.on_grid(candidate.x)
        trial = own.try_out(x)
        if trial.allowed:
            return x, trial
    broken = "; ".join(str(margin) for margin in first.margins if margin.broken)
    raise DiagramError(
        f"the best candidates keep their limits while searching, and break them on the fine grid: {broken}. Ask for a little "
        "less, or search with a finer step."
    )


def repaired(bench: Bench, ending: SearchProgress, fine: Trial) -> Trial:
    """The best near the last one, within limits lowered by what the fine grid showed: rounding, or tops between two rows."""
    near = copy.copy(bench)
    near.limits = tightened(bench.limits, fine.margins, REPAIR_SPARE)
    search = bench.spec.search
    more, seconds = max(int(REPAIR_SHARE * ending.simulations), 1), max(REPAIR_SHARE * ending.seconds, 1.0)
    near.spec = replace(bench.spec, search=replace(
        search, candidates=1, simulations=bench.simulations + more, seconds=seconds, target=0.0))  # fmt: skip
    again = DesignSearch(near, start=ending.bests[-1].x).run()
    ending.simulations = near.simulations
    return again.best or ending.bests[-1]


def fine_log(bench: Bench) -> dict[str, Any]:
    """A log at every step of a fixed-step solver, in whole parts of the one that is read."""
    step, every = (bench.spec.simulate.get(key) or getattr(bench.diagram.simulate, key) for key in ("step", "every"))
    if step is None or every is None:
        return {}
    return {"every": str(exact(every) / math.ceil(exact(every) / exact(step)))}
