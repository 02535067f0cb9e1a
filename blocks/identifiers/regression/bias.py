"""The bias of a regression in which noise of the sensors and filters make the regressor wrong: from draws of that very noise.

Noise in the regressor shrinks an estimate, a filter bends it, and noise that went around the loop is correlated with what it did
there. To first order all of that is the same at the estimate as at the truth. So the experiment is simulated again, the estimates
being the plant's parameters, with other draws of its noise, through the same filters and the same regression: what that finds on
average less what was put in is the bias.

Residuals tell of noise only as far as it goes on as it was. A rounding that nothing dithers does not: it is a function of the
position, and its part that a fit takes is not like its neighbours. Nor does a drift of which most is fitted away. What the
diagram says of its sensors is then the better witness: the same loop, the same motion, the same identifier, other draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blocksim.contract.block import Block
from blocksim.errors import DiagramError, RecordError
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.process import Run
from blocksim.estimation.twin_diagram import pruned

RUN_OPTIONS = ("solver", "rtol", "atol", "max_step", "algebraic_loops", "math", "step", "every", "start", "stop")
STREAM = 20011  # beside the seed of the run, so that no draw is that of the run itself
FEWEST_DRAWS = 2  # draws that must lead to an estimate
MUCH_LEFT, MUCH_MOVED = (
    10.0,
    0.1,
)  # % of a measured effort that is left, and share of an estimate, from which noise is asked about


@dataclass(frozen=True)
class Bias:
    """The mean error of so many draws, of each parameter, and its standard deviation."""

    values: np.ndarray
    std: np.ndarray
    draws: int

    noise: Mapping[str, float] = field(default_factory=dict)  # that was added again to what was measured

    def text(self, names: Sequence[str], estimates: np.ndarray) -> str:
        """'bias of J -0.5 %, Fv +0.1 % (16 draws)'; in the parameter's unit where the estimate is 0."""
        shares = [
            f"{n} {100 * b / abs(v):+.2g} %" if v else f"{n} {b:+.2g}"
            for n, b, v in zip(names, self.values, estimates, strict=True)
        ]
        again = ", ".join(f"{std:.2g} to {signal}" for signal, std in self.noise.items())
        return f"bias {', '.join(shares)} ({self.draws} draws{f' of noise added again: {again}' if again else ''})"


class UnphysicalPlantError(RecordError):
    """Estimates that no plant can have for parameters."""


def drawn_bias(run: Run, model: str, names: Sequence[str], values: np.ndarray, draws: int) -> Bias:
    """The bias of the regression at run.path, at these estimates."""
    if not run.simulated:
        from ..added_noise import added_noise_bias

        return added_noise_bias(run, names, values, draws)
    table = drawn_values(run, {f"{model}.{n}": float(v) for n, v in zip(names, values, strict=True)}, names, draws, {}, "bias")
    return mean_bias(table, values)


def mean_bias(table: np.ndarray, values: np.ndarray) -> Bias:
    return Bias(table.mean(axis=0) - values, table.std(axis=0, ddof=1) / np.sqrt(len(table)), len(table))


def drawn_values(
    run: Run, truth: Mapping[str, float], names: Sequence[str], draws: int, settings: Mapping[str, Any], setting: str
) -> np.ndarray:
    """What the identifier at run.path finds, a row for each draw of the noise, where these paths have the values of the estimate.

    `settings` are changed in the identifier; `setting` is the one that asks for this, named where it cannot be done.
    """
    from blocksim.running.simulate import simulate_many

    if not run.simulated:
        raise RecordError(
            f"{setting}: the noise of a measured record cannot be drawn again; simulate the same loop to tell what it does."
        )
    top, _, inner = run.path.partition(".")
    if inner:
        raise RecordError(f"{setting}: {run.path} is inside a subsystem; it works where the block stands in the diagram itself.")
    diagram = pruned(run.diagram, {top})
    node = diagram.nodes[top]
    assert isinstance(node.block, Block)
    silent = {n: v for n, v in (("bias", "untold"), ("errors", "white")) if n in node.block.settings}
    quiet = type(node.block)(**{**node.block.settings, **silent, **settings})
    diagram = replace(diagram, nodes={**diagram.nodes, top: replace(node, block=quiet)}, log=kept_log(diagram))
    provenance = run.record.provenance
    options = {n: provenance[n] for n in RUN_OPTIONS if provenance.get(n) is not None}
    changes = {n: v for n, v in run.changes.items() if "." not in n or n.partition(".")[0] in diagram.nodes}
    changes = {
        n: v for n, v in changes.items() if n.removeprefix(f"{top}.") not in {**silent, **settings} or not n.startswith(top)
    }
    changes |= truth
    seeds = np.random.SeedSequence([int(provenance.get("seed") or 0), STREAM]).generate_state(draws).tolist()

    def collected(record: Any) -> np.ndarray | None:
        return values_of_run(record.estimates, top, names)

    try:
        rows = simulate_many(diagram, params=[changes], seeds=seeds, collect=collected, on_error="keep", **options)
    except DiagramError as error:  # a value that its block cannot have
        words = "; ".join(problem.what for problem in error.problems)
        raise UnphysicalPlantError(f"{setting}: with these estimates the experiment cannot be simulated again: {words}") from None
    table = np.array([row for row in rows if isinstance(row, np.ndarray) and np.isfinite(row).all()])
    if len(table) < FEWEST_DRAWS:
        raise RecordError(f"{setting}: with the estimates for parameters only {len(table)} of {draws} runs led to an estimate.")
    return table


def kept_log(diagram: Any) -> list[Any]:
    """Of the log what blocks that are left make."""
    return [one for one in diagram.log or [] if one.signal.partition(".")[0].partition("[")[0] in diagram.nodes]


def values_of_run(estimates: Mapping[str, Estimates], path: str, names: Sequence[str]) -> np.ndarray | None:
    entries = estimates.get(path)
    return None if entries is None else np.array([entries[n].value if n in entries else 0.0 for n in names])


def with_bias(estimates: Estimates, bias: Bias, use: str, instead: str = "another filter, InstrumentalVariable") -> Estimates:
    """The estimates with their bias told, and taken away (`corrected`) or added to the standard deviations (`widened`)."""
    names, values, std = list(estimates), estimates.vector(), estimates.std_vector()
    quantiles = np.array([e.quantile for e in estimates.entries])
    text = bias.text(names, values)
    beyond = [n for n, b, reach in zip(names, bias.values, quantiles * std, strict=True) if abs(b) > reach]
    remarks = []
    if beyond and use == "told":
        remarks.append(
            f"the bias of {', '.join(beyond)} is more than the 95 % interval: noise is left in the motion, or its filter bends "
            f"it. Take {instead}, or bias: corrected or widened"
        )
    extra = {"corrected": bias.std**2, "widened": bias.std**2 + bias.values**2}.get(use, np.zeros(len(names)))
    moved = values - bias.values if use == "corrected" else values
    entries = tuple(
        replace(e, value=float(v), std=float(np.sqrt(s**2 + more)))
        for e, v, s, more in zip(estimates.entries, moved, std, extra, strict=True)
    )
    covariance = None if estimates.covariance is None else estimates.covariance + np.diag(extra)
    words = {"corrected": f"{text}, taken away", "widened": f"{text}, in the standard deviations"}.get(use, text)
    details = {**estimates.details, "bias": bias.values, "bias_std": bias.std, "bias_draws": bias.draws}
    details |= {"bias_noise": dict(bias.noise)} if bias.noise else {}
    return replace(
        estimates.warned(*remarks), entries=entries, covariance=covariance, reason=f"{estimates.reason}; {words}", details=details
    )


def with_noise_told(estimates: Estimates, run: Run) -> Estimates:
    """The estimates of a measured record of which much is left, with a warning where its noise, added again, moves them much."""
    left = estimates.details.get("relative_error")
    if run.simulated or not isinstance(left, float) or not MUCH_LEFT < left < 100:
        return estimates
    names, values = list(estimates), estimates.vector()
    try:
        bias = drawn_bias(run, "", names, values, FEWEST_DRAWS)
    except RecordError:
        return estimates
    moved = {n: b / abs(v) for n, b, v in zip(names, bias.values, values, strict=True) if abs(b) > MUCH_MOVED * abs(v) > 0}
    if not moved:
        return estimates
    shares = ", ".join(f"{n} {100 * share:+.0f} %" for n, share in moved.items())
    return estimates.warned(
        f"noise is left in the motion and biases the estimates: as much of it once more moves {shares}. Filter the motion more "
        "(a narrower band), read finer encoders, or see bias: told, corrected"
    )


def with_draws(estimates: Estimates, run: Run, paths: Mapping[str, str], draws: int, settings: Mapping[str, Any]) -> Estimates:
    """The estimates with the spread of as many draws for standard deviations, and Student's quantile for that many.

    `paths` says where each estimated name stands in the diagram. A bias that shows in the draws is told, and is in the standard
    deviations as far as it is more than their scatter: an interval that holds has to reach over it.
    """
    from scipy.special import stdtrit

    names, values = list(estimates), estimates.vector()
    if not np.isfinite(values).all():
        return estimates
    table = drawn_values(run, {paths[n]: float(v) for n, v in zip(names, values, strict=True)}, names, draws, settings, "errors")
    bias, spread = mean_bias(table, values), np.atleast_2d(np.cov(table, rowvar=False))
    beyond = np.maximum(bias.values**2 - bias.std**2, 0.0)
    std = np.sqrt(np.diag(spread) + beyond)
    quantile = float(stdtrit(len(table) - 1, 0.975))
    entries = tuple(replace(e, std=float(d), quantile=quantile) for e, d in zip(estimates.entries, std, strict=True))
    details = {
        **estimates.details,
        "std_residuals": estimates.std_vector(),
        "freedom": np.full(len(names), len(table) - 1.0),
        "bias": bias.values,
        "bias_std": bias.std,
        "bias_draws": bias.draws,
    }
    reason = f"{estimates.reason}; standard deviations from other draws of the noise; {bias.text(names, values)}"
    return replace(estimates, entries=entries, covariance=spread + np.diag(beyond), reason=reason, details=details)
