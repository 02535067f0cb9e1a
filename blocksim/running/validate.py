"""validate(): estimates held fixed, judged on a record that was not used to find them.

    found = bs.identify("emps/least_squares", "first.csv").estimates["ls"]
    held = bs.validate("emps/cascade", "second.csv", estimates=found.as_params("carriage"))
    held["encoder"].fit, held["loop"].relative_error

The loop is simulated with the references that the record holds, or the inverse model is evaluated on its motion.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..contract.block import Block
from ..contract.declarations import Inport, Outport
from ..contract.plant import Plant
from ..diagram.build import open_diagram
from ..diagram.diagram import Diagram, walk
from ..errors import DiagramError, RecordError, listing
from ..estimation.estimate_files import read_estimates
from ..estimation.estimates import Estimates
from ..estimation.process import Run
from ..estimation.several.first_state import first_states
from ..estimation.twin import recorded_sources, twin_of
from ..estimation.validation import SignalFit, Validation, fit_of
from ..records.record import Record
from ..schedule.schedule import Schedule
from ..simulation.elements import whole_settings
from .identify import MeasuredData, Reading, identify, read_measured
from .inverse_fits import inverse_fits, removed_channel
from .predicting import measured_drives, predicted_fits

MODES = ("loop", "predict", "inverse")
SETTLING_PIECES = 200  # of a record, to see where its loop has settled
RESTLESS, SETTLES = 3.0, 1.5  # times the usual residual: at the beginning of one that has to settle, and at the end of that
DRIFTED = 0.95  # a fit below which a simulated motion has gone its own way


def validate(
    diagram: str | os.PathLike[str] | Diagram,
    record: str | os.PathLike[str] | Record | None = None,
    estimates: str | os.PathLike[str] | Estimates | Mapping[str, Any] | None = None,
    *,
    block: str = "",
    split: float | None = None,
    mode: str = "loop",
    horizon: float = 0.1,
    initial: str = "record",
    skip: float = 0.0,
    first: str | os.PathLike[str] | Record | None = None,
    columns: Mapping[str, Any] | None = None,
    time: Any = None,
    every: Any = None,
    resample: Any = None,
    missing: str | None = None,
    assume: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Validation:
    """Score a diagram with fixed values on a measured record, every signal that both have.

    `estimates` are an `estimates.json`, Estimates, or settings by path; `block` says of which identifier where there are several.
    `split=0.7` finds them on the first 70 % of the record and judges them by the rest. `mode='loop'` simulates the diagram with
    ideal sensors, the references played from the record, from its first position and speed (`initial='record'`) or from the
    diagram's, and does not compare the first `skip` seconds, in which a controller whose memory nobody measured settles.
    `mode='predict'` drives the plants by what was recorded of their drive, and begins again every `horizon` seconds at what was
    measured. `mode='inverse'` evaluates the inverse model of the diagram's identifiers on their own filtered signals, without
    the ends that they leave out. `first` is the record that the estimates come from: its scores stand beside, as `there`.
    `columns`, `time` and the rest are those of `identify`.
    """
    refuse_options(mode, horizon, initial)
    reading = Reading(columns or {}, time, every, resample, missing, assume)
    if split is not None:
        if estimates is not None:
            raise DiagramError("split finds the estimates itself; give either split or estimates.")
        first, record = cut_in_two(diagram, record, split, params, reading)
        estimates = chosen_estimates(identify(diagram, first, params=params, **reading.options()), block)
    if mode == "inverse" and isinstance(estimates, (str, os.PathLike)):
        estimates = read_estimates(estimates, block)
    base = base_values(open_diagram(diagram), estimates) if mode == "inverse" else {}
    values = {} if base else fixed_values(open_diagram(diagram), estimates, block)
    data = read_measured(diagram, record, {**(params or {}), **values}, reading)
    notes = [f"note: {text}" for text in data.notes]
    if mode == "loop":
        entries, more = loop_fits(data, initial, skip)
    elif mode == "predict":
        entries, more = predicted_fits(data, horizon, comparable(data)[0])
    else:
        entries, more = inverse_fits(data, base, removed_channel(estimates), skip)
    source = str(data.record.provenance.get("source", ""))
    numbers = base or {n: v for n, v in values.items() if isinstance(v, (int, float))}
    same: dict[str, Any] = {"block": block, "mode": mode, "horizon": horizon, "initial": initial, "skip": skip, "params": params}
    there = None if first is None else validate(diagram, first, estimates, **same, **reading.options())
    return Validation(mode, tuple(entries), source, numbers, (*notes, *more), there)


def refuse_options(mode: str, horizon: float, initial: str) -> None:
    """Refuse options that nothing stands for."""
    if mode not in MODES:
        raise DiagramError(f"there is no mode '{mode}'. Modes are: {listing(MODES)}.")
    if not horizon > 0:
        raise DiagramError(f"horizon: found {horizon}. A time above 0 s is wanted.")
    if initial not in ("record", "diagram"):
        raise DiagramError(f"initial: found '{initial}'. The first state comes from the record or the diagram.")


def fixed_values(diagram: Diagram, estimates: Any, block: str = "") -> dict[str, Any]:
    """The settings that estimates stand for, by path."""
    if estimates is None:
        return {}
    if isinstance(estimates, (str, os.PathLike)):
        estimates = read_estimates(estimates, block)
    if not isinstance(estimates, Estimates):
        return dict(estimates)
    owner = owner_of(estimates, diagram)
    plant = plant_at(diagram, owner)
    if plant is None or not plant.grouping:
        blocks = {path: node.block for path, node in walk(diagram)}
        constants = {f"{owner}.{n}": v for n, v in estimates.details.get("held", {}).items()} if owner else {}  # by `known`
        return whole_settings({**constants, **estimates.as_params(owner)}, lambda name: setting_in(blocks, name))
    standard = estimates.details.get("standard")  # of a physical robot, where one was asked for
    values = {**plant.values, **{n: e.value for n, e in estimates.items()}}
    return {f"{owner}.{n}": float(v) for n, v in (standard or plant.settings_of(values)).items()}


def setting_in(blocks: Mapping[str, Any], name: str) -> Any:
    """A setting of a block by path; None where there is none."""
    path, _, key = name.rpartition(".")
    return blocks[path].settings.get(key) if isinstance(blocks.get(path), Block) else None


def plant_at(diagram: Diagram, path: str) -> Plant | None:
    """The plant at a path of a diagram."""
    block = {place: node.block for place, node in walk(diagram)}.get(path)
    return Plant(type(block), block.settings, path) if isinstance(block, Block) else None


def base_values(diagram: Diagram, estimates: Any) -> dict[str, float]:
    """Base parameters among estimates, by path: an inverse model takes them as they are, be they physical or not."""
    if not isinstance(estimates, Estimates):
        return {}
    owner = owner_of(estimates, diagram)
    plant = plant_at(diagram, owner)
    if plant is None or not plant.grouping:
        return {}
    if strange := [name for name in estimates if name not in (*plant.parameters, *plant.kind.declared)]:
        raise DiagramError(
            f"these are not estimates of '{owner}': its inverse model has no {listing(strange)}. Base parameters belong to one "
            "table of joints, in one convention; identify with this diagram."
        )
    return {f"{owner}.{n}": float(e.value) for n, e in estimates.items()}


def chosen_estimates(record: Record, block: str) -> Estimates:
    """What one identifier found in a record."""
    if not record.estimates:
        raise DiagramError("the diagram has no identifier whose estimates could be judged.")
    if block not in record.estimates and (block or len(record.estimates) > 1):
        raise DiagramError(f"there are estimates of {listing(record.estimates)}; say which with block= (--estimates-of).")
    return record.estimates[block] if block else next(iter(record.estimates.values()))


def owner_of(estimates: Estimates, diagram: Diagram) -> str:
    """The block of a diagram whose parameters these are, '' where they are paths themselves.

    Estimates from a measured record know the type of their plant only; it is the one block of that type then.
    """
    blocks = {path: node.block for path, node in walk(diagram) if not isinstance(node.block, Diagram)}
    kind = estimates.details.get("assumed", {}).get("type", "")
    if estimates.model in blocks:
        return estimates.model
    same = [path for path, one in blocks.items() if type(one).__name__ == kind]
    if kind and len(same) != 1:
        raise DiagramError(
            f"these are estimates of {estimates.model or 'a'} ({kind}); of that type the diagram has "
            f"{', '.join(same) or 'no block'}. One is wanted."
        )
    return same[0] if same else ""


def cut_in_two(
    diagram: str | os.PathLike[str] | Diagram, record: Any, share: float, params: Mapping[str, Any] | None, reading: Reading
) -> tuple[Record, Record]:
    """A record cut in two: the first `share` of its time to identify on, the rest to judge by."""
    if not 0 < share < 1:
        raise DiagramError(f"split: found {share}. A share of the record between 0 and 1 is wanted, e.g. 0.7.")
    before, after = cut_record(diagram, record, [share], params, reading)
    return before, after


def cut_record(
    diagram: str | os.PathLike[str] | Diagram,
    record: Any,
    shares: Sequence[float],
    params: Mapping[str, Any] | None,
    reading: Reading,
) -> list[Record]:
    """A record cut where these shares of its time have passed; no sample is in two pieces."""
    source = read_measured(diagram, record, params, reading).source
    t = source.t
    ends = [int(np.argmin(np.abs(t - (t[0] + share * (t[-1] - t[0]))))) for share in shares]
    pieces = list(zip([0, *(end + 1 for end in ends)], [*ends, len(t) - 1], strict=True))
    if any(end - begin < 2 for begin, end in pieces):
        raise RecordError(f"{len(t)} rows cannot be cut into {len(pieces)} pieces of at least 3.")
    return [source.between(t[begin], t[end]) for begin, end in pieces]


# ---- the loop ----------------------------------------------------------------------------------------------------------


def loop_fits(data: MeasuredData, initial: str, skip: float) -> tuple[list[SignalFit], list[str]]:
    """The loop simulated again, beside every signal that was measured in it."""
    schedule, record = data.schedule, data.record
    t = record.time(next(iter(data.signals)))
    run = Run(schedule.diagram, {}, record, "", simulated=False)
    names, played = comparable(data)
    start = first_states(schedule, {n: (record.time(n), record[n]) for n in record}) if initial == "record" else {}
    twin = twin_of(run, t, names, start=start)
    signals = twin.run({})
    late = t >= t[0] + skip
    if not late.any():
        raise RecordError(f"skip: {skip:g} s leave nothing of a record of {np.ptp(t):g} s.")
    inputs = {name: record[name][late] for name in played}
    fits = []
    for name in names:
        measured, model = (np.asarray(values, dtype=float).reshape(len(t), -1) for values in (record[name], signals[name]))
        fits.append(fit_of(name, record.unit(name), t[late], measured[late].squeeze(), model[late].squeeze(), inputs))
    notes = (
        [f"note: {listing(sorted(twin.assumed))} acted as in the diagram: the record does not hold it."] if twin.assumed else []
    )
    return fits, notes + drift_notes(data, fits, played) + settling_notes(fits, skip)


def drift_notes(data: MeasuredData, fits: list[SignalFit], played: set[str]) -> list[str]:
    """What to do where a plant that only the record drives went elsewhere: no controller of the diagram holds it."""
    alone = [name for name in measured_drives(data) if name in played]
    if not alone or min(fit.fit for fit in fits) > DRIFTED:
        return []
    return [
        f"note: nothing holds the simulated plant: it is driven by {listing(alone)} alone and may drift, however good the model. "
        "--mode predict begins again every --horizon at what was measured, --mode inverse simulates nothing."
    ]


def settling_notes(fits: list[SignalFit], skip: float) -> list[str]:
    """Said where the beginning is much worse than the rest: what moved in the loop when the record began nobody measured."""
    end = 0.0
    for fit in fits if not skip else []:
        rest = np.abs(fit.residual.reshape(len(fit.t), -1)).max(axis=1)
        pieces = (
            [float(np.sqrt(np.mean(piece**2))) for piece in np.array_split(rest, SETTLING_PIECES)]
            if len(rest) > SETTLING_PIECES
            else [0.0]
        )
        usual = float(np.median(pieces))
        if pieces[0] > RESTLESS * usual > 0:
            last = next((n for n, piece in enumerate(pieces) if piece < SETTLES * usual), SETTLING_PIECES)
            end = max(end, last / SETTLING_PIECES * float(fit.t[-1] - fit.t[0]) if last < SETTLING_PIECES / 2 else 0.0)
    if not end:
        return []
    return [
        f"note: the first {end:.2g} s are worse than the rest: what the controller remembered and how far a gear was twisted "
        f"nobody measured. --skip {end:.2g} leaves them out."
    ]


def comparable(data: MeasuredData) -> tuple[list[str], set[str]]:
    """The measured signals that a simulation makes too, and those of sources, which it plays."""
    record = data.record
    t = record.time(next(iter(data.signals)))
    played = {p.signal for p in recorded_sources(Run(data.schedule.diagram, {}, record, "", simulated=False), t)}
    outputs = running_signals(data.schedule)
    names = [n for n in data.signals if n not in played and n in outputs and len(record.time(n)) == len(t)]
    if not names:
        raise RecordError(
            f"nothing can be compared: none of the measured signals {listing(data.signals)} is made by a running block that has "
            "inputs. Map what was measured in the loop, e.g. --map encoder=COLUMN."
        )
    return names, played


def running_signals(schedule: Schedule) -> set[str]:
    """The outputs of blocks that run and have inputs: what a loop makes, not what is asked of it."""
    return {
        f"{unit.path}.{port}"
        for unit in schedule.units
        if isinstance(unit.block, Block) and unit.kind.of(Inport)
        for port in unit.kind.of(Outport)
    }
