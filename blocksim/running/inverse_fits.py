"""The inverse model of a diagram's identifiers with fixed values: the effort that it says, beside the one that acted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..contract.block import RecordBlock
from ..contract.plant import Plant
from ..errors import RecordError
from ..estimation.encoder_pair import shifted_by
from ..estimation.estimates import Estimates
from ..estimation.process import Run, arriving, in_turn
from ..estimation.validation import SignalFit, fit_of
from ..schedule.schedule import Unit
from .identify import MeasuredData
from .planner import Planner


def removed_channel(estimates: Any) -> dict[str, float]:
    """Lag and zero of an arm's encoder that the identifier took out before it found these values."""
    channel = estimates.details.get("arm_encoder", {}) if isinstance(estimates, Estimates) else {}
    return channel if channel.get("removed") else {}


def without_channel(plant: Plant, t: np.ndarray, inputs: dict[str, Any], channel: Mapping[str, float]) -> dict[str, Any]:
    """The signals of the arm moved to when they happened, its zero taken away: as the identifier saw them."""
    late = getattr(plant.kind, "late_signals", ())
    if not late or not channel:
        return inputs
    samples = channel["lag"] * (len(t) - 1) / float(t[-1] - t[0])
    moved = {name: shifted_by(np.asarray(inputs[name], dtype=float), samples) for name in late}
    return {**inputs, **moved, late[0]: moved[late[0]] - channel["zero"]}


def inverse_fits(
    data: MeasuredData, base: Mapping[str, float], channel: Mapping[str, float], skip: float = 0.0
) -> tuple[list[SignalFit], list[str]]:
    """The effort that the inverse model says, beside the one that acted, for every identifier that has both."""
    schedule = data.schedule
    planner = Planner(set(data.signals), {u.path: u for u in [*schedule.units, *schedule.after_run]})
    judged = [unit for unit in schedule.after_run if is_inverse(unit) and not planner.obtain(unit)]
    if not judged:
        raise RecordError("no block of the diagram compares an inverse model with the effort that acted: add a LeastSquares.")
    others = [unit for unit in planner.order if unit not in judged]
    record, failures = in_turn(others, data.record, lambda unit, r: Run(schedule.diagram, {}, r, unit.path, False), data.signals)
    if failures:
        raise failures[0]
    fits: list[SignalFit] = []
    notes: list[str] = []
    for unit in judged:
        plant = unit.plants["model"]
        t, inputs = arriving(unit, record)
        inputs = without_channel(plant, t, inputs, channel)
        effort = plant.effort(inputs[plant.drive])
        judged_values = base if plant.grouping else {}
        beta = np.array([judged_values.get(f"{unit_model(unit)}.{n}", float(plant.values[n])) for n in plant.parameters])
        model = np.einsum("kij,j->ki", plant.regressor({s: inputs[s] for s in plant.motion if s in inputs}), beta)
        label = f"{unit.path}.{plant.drive}"
        unit_text = plant.effort_unit
        inside = without_ends(t, unit, skip)
        motion = {s: np.asarray(inputs[s])[inside] for s in plant.motion if s in inputs}
        counted = unit.block.judged_rows(plant, inputs) if isinstance(unit.block, RecordBlock) else None
        counted = None if counted is None else counted[inside]
        entry = fit_of(label, unit_text, t[inside], effort[inside].squeeze(), model[inside].squeeze(), motion, counted)
        if not any(same_judgement(entry, other) for other in fits):  # identifiers that differ in what they hold fixed alone
            fits.append(entry)
            notes += effort_notes(entry)
    lag = [f"note: the arm's encoder was moved by {1e3 * channel['lag']:.4g} ms, as in the fit."] if channel else []
    return fits, lag + notes


def same_judgement(one: SignalFit, other: SignalFit) -> bool:
    """Whether two identifiers say the same of the same rows."""
    pairs = ((one.t, other.t), (one.measured, other.measured), (one.model, other.model), (one.counted, other.counted))
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)


def effort_notes(entry: SignalFit) -> list[str]:
    """Joint by joint, and what is left out of the scores."""
    notes = []
    if len(entry.relative_errors) > 1:
        shares = ", ".join(f"{100 * e:.3g} %" if np.isfinite(e) else "no effort acts" for e in entry.relative_errors)
        notes.append(f"note: relative error of {entry.name} by joint: {shares}.")
    if entry.counted is not None and not entry.counted.all():
        whole = 100 * replace(entry, counted=None).relative_error
        notes.append(
            f"note: {100 * float(np.mean(~entry.counted)):.2g} % of the rows of {entry.name} do not count, as in the fit "
            f"(drop_slow: at rest dry friction has no sign); with them the relative error is {whole:.3g} %."
        )
    return notes


def without_ends(t: np.ndarray, unit: Unit, skip: float) -> np.ndarray:
    """The rows that the identifier itself would use: at the ends its filters see one side only."""
    own = np.atleast_1d(np.asarray(unit.block.settings.get("skip", 0.0), dtype=float))
    first, last = max(float(own[0]), skip), max(float(own[-1]), skip)
    inside = (t >= t[0] + first) & (t <= t[-1] - last)
    if not inside.any():
        raise RecordError(f"skip: {first:g} and {last:g} s at the ends leave nothing of a record of {np.ptp(t):g} s.")
    return np.asarray(inside)


def unit_model(unit: Unit) -> str:
    """The path of the plant that a record block names."""
    inside = unit.path.rpartition(".")[0]
    name = str(unit.block.settings["model"])
    return f"{inside}.{name}" if inside else name


def is_inverse(unit: Unit) -> bool:
    """Whether a record block has the motion and the drive of a plant whose inverse model is known."""
    plant = unit.plants.get("model")
    if plant is None or "regressor" not in plant.kind.functions or not plant.parameters:
        return False
    needed = {plant.drive, *plant.motion} - set(getattr(plant.kind, "open_signals", ()))
    return all(unit.inputs.get(port) for port in needed)
