"""The stacked system W x = y of a plant along a motion, and the inputs that it is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.contract.block import inport
from blocksim.contract.declarations import Inport
from blocksim.errors import RecordError, did_you_mean, listing

from ...arm_channel import balanced
from ...physical import rest_hints, unit_hints
from ..ends import ends_of, slow_rows
from ..regression import all_present

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant


@dataclass(frozen=True)
class RowChoice:
    """The regressor (samples, joints, parameters) and the effort (samples, joints)."""

    W: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class LinearTask:
    """The stacked system: the rows of joint 1 in the order of time, then those of joint 2."""

    W: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    used: np.ndarray
    names: tuple[str, ...]
    held: dict[str, float]
    effort: np.ndarray  # y with the part of the known parameters
    told: tuple[str, ...] = ()  # warnings so far


def rows_at_once(plant: Plant) -> int:
    """How many equations a plant has, by the effort of a drive of its size; 0 where the size is not known yet."""
    size = plant.kind.of(Inport)[plant.drive].size
    if not isinstance(size, int):
        return 0
    return plant.effort(np.zeros(2) if size == 1 else np.zeros((2, size))).shape[1]


def motion_ports(plant: Plant, optional: Collection[str] = ()) -> dict[str, Any]:
    """Inputs for what a plant's regressor asks for and for what drives it; some may be left open."""
    ports: dict[str, Any] = {}
    for name in (*plant.motion, plant.drive):
        declaration = plant.kind.declared.get(name)  # an acceleration may be no output of the plant
        if declaration is None:
            ports[name] = inport(f"{name} of the plant's regressor", size="any")
        else:
            size = getattr(declaration, "size", "any")
            ports[name] = inport(declaration.doc, declaration.unit, size=size if isinstance(size, int) else "any",
                                 optional=name in optional)  # fmt: skip
    return ports


def open_signals(plant: Plant) -> Mapping[str, str]:
    """Signals of a regressor that may be left open where their parameter is 0, such as hysteresis, and that parameter."""
    return getattr(plant.kind, "open_signals", {})


def absent_parameters(plant: Plant, connected: Collection[str], values: Mapping[str, float] | None) -> tuple[str, ...]:
    """The parameters of signals that were left open: they are 0, and not looked for."""
    absent = {signal: name for signal, name in open_signals(plant).items() if signal not in connected}
    for signal, name in absent.items():
        if (values or {}).get(name, plant.values[name]):
            raise RecordError(f"'{name}' of {plant.name} is not 0, so that '{signal}' is needed: connect it, or set {name}: 0.")
    return tuple(absent.values())


def rows_of(plant: Plant, signals: Mapping[str, np.ndarray]) -> RowChoice:
    all_present(signals)
    W, y = plant.regressor(signals), plant.effort(signals[plant.drive])
    if W.shape[:2] != y.shape:
        raise RecordError(f"the regressor of {plant.name} has {W.shape[1]} joints, and '{plant.drive}' has {y.shape[1]}.")
    return RowChoice(W, y)


def chosen_names(
    plant: Plant, parameters: list[str] | None, constants: Mapping[str, float] | None, absent: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The parameters to estimate, in the plant's order; what belongs to a signal that was left open is absent."""
    for name in (*(parameters or ()), *(constants or ())):
        if name not in plant.parameters:
            raise RecordError(
                f"'{name}' is no parameter of the inverse model of {plant.name}. It has: {listing(plant.parameters)}."
                + did_you_mean(str(name), plant.parameters)
            )
    both = [n for n in parameters or () if n in (constants or {})]
    if both:
        raise RecordError(f"{listing(both)}: either estimated or known, not both.")
    if dark := [n for n in absent if n in (parameters or ())]:
        raise RecordError(f"{listing(dark)} cannot be found while its signal is left open.")
    left_out = {*(constants or {}), *absent}
    names = tuple(n for n in plant.parameters if (parameters is None or n in parameters) and n not in left_out)
    if not names:
        raise RecordError("no parameter is left to estimate.")
    return names


def task_of(
    block: Any, t: np.ndarray, rows: RowChoice, signals: Mapping[str, np.ndarray], names: tuple[str, ...], plant: Plant
) -> LinearTask:
    """The system to solve: known parameters to the other side, columns decimated, slow and outer rows marked."""
    values = block.settings["known"] or {}
    rest = [n for n in plant.parameters if n not in names]
    constants = {n: float(values.get(n, plant.values[n])) for n in rest}
    ends = ends_of(t, block.skip, block.decimate, block.settings["edges"])
    used = fast_rows(block.drop_slow, signals, rows.y.shape, plant, block.settings["drop_slow_motors"])[ends.picked]
    if not used.any():
        raise RecordError(no_rows(block, len(used), bool(np.any(signals.get("qd", 1.0)))))
    W, effort = balanced(ends.rows(rows.W), plant), balanced(ends.rows(rows.y), plant)
    y = effort - W[:, :, [plant.parameters.index(n) for n in rest]] @ np.array([constants[n] for n in rest])
    W = joint_after_joint(W[:, :, [plant.parameters.index(n) for n in names]])
    groups = np.repeat(np.arange(y.shape[1]), len(y))
    leaked = [n for n in rest if plant.truth and n not in values and n not in absent_parameters(plant, signals, values)]
    warnings = (
        (f"leak of truth: {listing(leaked)} held at the plant's own value; give it under `known` instead.",) if leaked else ()
    )
    remarks = (*warnings, *unit_hints(plant, signals), *rest_hints(plant, block.drop_slow, signals))
    return LinearTask(W, y.T.ravel(), groups, used.T.ravel(), names, constants, effort.T.ravel(), remarks)


def joint_after_joint(W: np.ndarray) -> np.ndarray:
    """Rows (samples, joints, columns) one joint after another."""
    return W.transpose(1, 0, 2).reshape(-1, W.shape[2])


def fast_rows(
    share: float, signals: Mapping[str, np.ndarray], shape: tuple[int, ...], plant: Plant, motor_share: float | None = None
) -> np.ndarray:
    """Which rows are of a joint that moves, and that no resting motor drives."""
    if not share:
        return np.ones(shape, dtype=bool)
    if "qd" not in signals:
        raise RecordError("drop_slow: this plant has no signal 'qd' to tell a slow joint by.")
    return np.broadcast_to(~slow_rows(share, motor_share, signals["qd"], plant), shape)


def no_rows(block: Any, left: int, moves: bool) -> str:
    if moves:
        return f"no row is left: drop_slow: {block.drop_slow:g} drops all of the {left} rows that skip and edges leave."
    return f"no row is left: no joint moves, so that drop_slow: {block.drop_slow:g} drops every row."
