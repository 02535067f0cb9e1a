"""What is kept of a run: estimates as plain numbers, what identifiers say beside them, statistics of signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import StudyError, listing

if TYPE_CHECKING:
    from ...estimation.estimates import Estimates
    from ...records.record import Record


def run_result(
    record: Record,
    blocks: tuple[str, ...] | None,
    signals: tuple[tuple[str, str], ...],
    bound: Mapping[str, float] | None = None,
    unbound: str = "",
    details: tuple[tuple[str, str], ...] = (),
) -> dict[str, Any]:
    """What is kept of a run; `unbound` says why it has no Cramer-Rao bound where one was asked for."""
    names = record.estimates if blocks is None else [name for name in blocks if name in record.estimates]
    reports = {name: record.estimates[name].warned(*([unbound] if unbound else [])) for name in names}
    result: dict[str, Any] = {"estimates": {name: estimates_told(estimates, bound or {}) for name, estimates in reports.items()}}
    if signals or details:
        result["signals"] = {label: value for name, kind in signals for label, value in statistic(record, name, kind)}
        for block, detail in details:
            if block in record.estimates:  # else another method's, or one that found nothing in this run
                result["signals"] |= detail_told(record.estimates[block].details, block, detail)
    return result


def detail_told(details: Mapping[str, Any], block: str, detail: str) -> dict[str, float]:
    """A number that an identifier says beside its estimates; yes and no are 1 and 0, so that their mean is a share."""
    numbers = {name: float(value) for name, value in details.items() if isinstance(value, (bool, int, float))}
    if detail not in details:
        raise StudyError(f"collect: '{block}' says no '{detail}' beside its estimates; it says {listing(numbers)}.")
    return {f"{detail}({block})": numbers[detail]} if detail in numbers else {}


def estimates_told(estimates: Estimates, computed: Mapping[str, float]) -> dict[str, Any]:
    """An identifier's estimates as plain numbers; of its covariance the lower triangle."""
    items = list(estimates.values())
    plain: dict[str, Any] = {"names": [e.name for e in items]}
    for key, attribute in (("values", "value"), ("stds", "std"), ("truths", "truth"), ("quantiles", "quantile")):
        plain[key] = [float(getattr(e, attribute)) for e in items]
    plain["units"] = [e.unit for e in items]
    if not all(e.learnt for e in items):
        plain["still"] = [float(not e.learnt) for e in items]
    if estimates.covariance is not None:
        plain["covariance"] = [float(v) for row, line in enumerate(estimates.covariance) for v in line[: row + 1]]
    bound = estimates.details.get("crb_std")
    if isinstance(bound, Mapping):
        plain["crb"] = [float(bound.get(e.name, float("nan"))) for e in items]
    elif bound is not None:
        plain["crb"] = [float(v) for v in bound]
    if computed:
        short = {name.rpartition(".")[2]: std for name, std in computed.items()}
        plain["crb"] = [computed.get(e.name, short.get(e.name, float("nan"))) for e in items]
    if not estimates.converged:
        plain["converged"] = False
    if estimates.reason:
        plain["reason"] = estimates.reason
    if estimates.warnings:
        plain["warnings"] = list(estimates.warnings)
    return plain


def statistic(record: Record, name: str, kind: str) -> Iterator[tuple[str, float]]:
    """One number of a signal, or of each of its elements."""
    import numpy as np

    base, _, element = name.partition("[")
    values = np.asarray(record[base], dtype=float)
    if element:
        values = values[:, int(element.rstrip("]"))]
    columns = [(name, values)] if values.ndim == 1 else [(f"{name}[{i}]", values[:, i]) for i in range(values.shape[1])]
    for label, x in columns:
        yield f"{kind}({label})", float(STATISTIC[kind](x)) if len(x) else float("nan")


STATISTIC: dict[str, Callable[[Any], Any]] = {
    "rms": lambda x: (x**2).mean() ** 0.5,
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(),
    "min": lambda x: x.min(),
    "max": lambda x: x.max(),
    "peak": lambda x: abs(x).max(),
    "final": lambda x: x[-1],
}
