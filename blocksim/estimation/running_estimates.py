"""Estimates of blocks that estimate while they run: what they say at the end of a record, kept as any identifier's.

A block class with `estimated`, the names of its parameters, has outputs `theta` and `std`, whose last elements belong to them;
and perhaps `P`, whose last rows and columns do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..contract.block import Block
from ..contract.declarations import Outport, Param
from ..contract.plant import Plant
from ..errors import listing
from .estimates import Estimates
from .input_warnings import first_state_words, true_states

if TYPE_CHECKING:
    import numpy as np

    from ..records.record import Record
    from ..schedule.schedule import Schedule, Unit

#: A standard deviation from here on stands for "not known yet".
ENDLESS = 1e30
#: Factor between the mean nis and the number of readings from which the variances of a filter do not fit its readings.
SURPRISE = 3.0
#: Of a standard deviation at the start: what is left of it at the end where nothing was learnt.
UNLEARNT = 0.95
#: Where in a record estimates are asked what they claim, and how many standard deviations they may move on from there.
LATE, MOST_MOVED = 0.8, 6.0
STILL = "moved nothing: every estimate is still where it started, so these numbers are the start, and no finding"


def estimators(schedule: Schedule) -> list[Unit]:
    """The blocks that estimate while they run."""
    return [unit for unit in [*schedule.units, *schedule.after_run] if unit.kind.estimated]


def running_estimates(unit: Unit, block: Block, record: Record, plants: Mapping[str, Plant | None]) -> Estimates | None:
    """The last estimates of a block with their standard deviations; None where they are not in the record."""
    import numpy as np

    names, theta, std = unit.kind.estimated, f"{unit.path}.theta", f"{unit.path}.std"
    if theta not in record or std not in record or not len(record[theta]):
        return None
    values = np.atleast_1d(record[theta][-1])
    spread = np.atleast_1d(record[std][-1])[-len(names) :]
    spread = np.where(spread >= ENDLESS, np.inf, spread)
    whole = f"{unit.path}.P"
    uncertainty: Any = spread if whole not in record else covariance(np.atleast_1d(record[whole][-1]), spread)
    plant = plants.get("model")
    still = bool(len(record[theta]) > 1 and (record[theta] == record[theta][0]).all())
    remarks = (
        *([STILL] if still else []),
        *unphysical(plant, names, values),
        *surprised(unit, record),
        *late_motion(names, record[theta], record[std]),
        *true_start(block, plant),
    )
    unlearnt = unlearnt_names(names, record[std])
    if unlearnt:
        remarks += (
            f"not determined: of {listing(unlearnt)} nothing was learnt; its standard deviation is still that of the start",
        )
    reason = f"at {record.time(theta)[-1]:g} s"
    details: dict[str, Any] = {**({"converged": False} if still else {}), **({"unlearnt": unlearnt} if unlearnt else {})}
    priors = block.prior({setting: one for setting, one in plants.items() if one is not None})
    more: dict[str, Any] = {"reason": reason, "warnings": remarks, "details": details, "priors": priors}
    return Estimates.of(unit.kind.__name__, names, values, uncertainty, plant, **more)


def true_start(block: Block, plant: Plant | None) -> list[str]:
    """Said where a filter begins in the plant's true first state, which nobody told it."""
    if plant is None or not plant.path or "x0" not in block.settings or block.settings["x0"] is not None:
        return []
    states = true_states(plant)
    return [first_state_words(states, "give x0")] if states else []


def unlearnt_names(names: tuple[str, ...], std: np.ndarray) -> list[str]:
    """Parameters of which a filter knows at the end what it knew at the start."""
    import numpy as np

    rows = std.reshape(len(std), -1)[:, -len(names) :]
    first, last = rows[0], rows[-1]
    same = (first > 0) & np.isfinite(first) & (last > UNLEARNT * first) & (first < ENDLESS)
    return [name for name, lost in zip(names, same, strict=True) if lost]


def late_motion(names: tuple[str, ...], theta: np.ndarray, std: np.ndarray) -> list[str]:
    """Said where estimates moved on, near the end, by many times what they claimed to be known by then.

    Of a filter that is right, what it says later differs from what it says now by less than its standard deviation now.
    """
    import numpy as np

    values = theta.reshape(len(theta), -1)[:, -len(names) :]
    spreads = std.reshape(len(std), -1)[:, -len(names) :]
    at = int(LATE * (len(values) - 1))
    steps, claims = np.abs(values[-1] - values[at]), spreads[at]
    on = {n: step / s for n, step, s in zip(names, steps, claims, strict=True) if 0 < s < ENDLESS and step > MOST_MOVED * s}
    if not on:
        return []
    times = listing(f"{name} {factor:.0f}" for name, factor in on.items())
    return [
        f"not settled: in the last fifth of the run estimates moved on by many times the standard deviation claimed until then "
        f"({times}); the run is too short, or the model, the start or the noises it believes in are wrong"
    ]


def unphysical(plant: Plant | None, names: tuple[str, ...], values: np.ndarray) -> list[str]:
    """Values the plant itself would refuse."""
    declared = {name: plant.kind.of(Param)[name] for name in names} if plant is not None else {}
    return [
        f"unphysical: {name} = {value:.4g}, but {one.doc} is {str(one.limits) or 'finite'}."
        for (name, one), value in zip(declared.items(), values, strict=False)
        if one.problems(float(value))
    ]


def surprised(unit: Unit, record: Record) -> list[str]:
    """What the innovations of a filter say of its variances, in the second half of the record, after it has settled."""
    import numpy as np

    if f"{unit.path}.nis" not in record or "innovation" not in unit.kind.of(Outport):
        return []
    nis, expected = record[f"{unit.path}.nis"], unit.port("innovation")
    mean = float(np.mean(nis[len(nis) // 2 :]))
    words = f"mean nis {mean:.3g} where {expected} is right"
    if mean > SURPRISE * expected:
        return [f"{words}: its readings surprise it, and its standard deviations are too small"]
    return [f"{words}: Q or R is too large, so that it hardly listens"] if mean * SURPRISE < expected else []


def covariance(P: np.ndarray, std: np.ndarray) -> np.ndarray:
    """The covariance with these standard deviations and the correlations of P's last rows, whatever units P is in."""
    import numpy as np

    size = round(len(P) ** 0.5)
    part = P.reshape(size, size)[-len(std) :, -len(std) :]
    scale = np.sqrt(np.where(np.diag(part) > 0, np.diag(part), np.inf))
    if not np.isfinite(std).all():
        return np.diag(std**2)
    correlation: np.ndarray = part / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    return correlation * np.outer(std, std)
