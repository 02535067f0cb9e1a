"""Physical estimates: what is said of estimates no physical robot has, and least squares among those that one has.

A plant whose class has `feasibility` and `nearest_physical` knows which parameters belong to bodies and motors that can be.
Hints say what usually stands behind a bad fit of a robot: joints at rest, efforts of the wrong sign, other kinematics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError, listing
from blocksim.estimation.estimates import Estimates

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

    from .regression.system.solution import LinearSolution
    from .regression.system.task import LinearTask

PHYSICAL = ("untold", "told", "required")
AT_REST = 0.01  # of a joint's top speed
REST_SHARE = 0.05  # of its samples, from which on they matter
FEWEST_NEGATIVE = 2  # parameters of a plant that say so together
BEYOND_DOUBT = 5.0  # standard deviations
WIDE_TURN, FAST_TURN, WIDE_SLIDE, FAST_SLIDE = 40.0, 60.0, 20.0, 20.0  # rad, rad/s, m, m/s: beyond any arm's joint
LEFT_OVER, ROW_CORRELATION = 25.0, 0.5  # % of a joint's effort, and the correlation from row to row that no noise has


def with_physical(estimates: Estimates, plant: Plant) -> Estimates:
    """The estimates with a word on whether a physical plant has them, where the plant knows; details say why it does not."""
    kind: Any = plant.kind
    if not hasattr(kind, "feasibility"):
        return estimates
    try:
        answer = kind.feasibility(estimates)
    except RecordError as error:  # the solver is an extra: without it nothing is lost but this word
        return replace(estimates, details={**estimates.details, "physical": None, "physical_reasons": [str(error)]})
    details = {**estimates.details, "physical": answer.physical, "physical_distance": answer.distance,
               "physical_reasons": list(answer.reasons), "nearest_physical": dict(zip(answer.names, answer.nearest, strict=True)),
               }  # fmt: skip
    result = replace(estimates, details=details)
    return result if answer.physical else result.warned(f"{answer}.")


def physical_found(free: LinearSolution, task: LinearTask, plant: Plant) -> tuple[LinearSolution, dict[str, Any]]:
    """The least squares estimates among those of physical plants; intervals stay those of the free ones."""
    kind: Any = plant.kind
    if not hasattr(kind, "nearest_physical"):
        raise RecordError(
            f"physical: required: {plant.name} does not say which of its parameters are physical; SerialRobot does."
        )
    if missing := [n for n in plant.parameters if n not in free.names]:
        raise RecordError(f"physical: required estimates all parameters; {listing(missing)} is not among them.")
    one = free.fit
    information = np.linalg.pinv(one.bread, rcond=1e-14, hermitian=True) / max(one.sigma, 1e-300) ** 2
    answer = kind.nearest_physical(dict(zip(free.names, one.values, strict=True)), information)
    values = np.array(answer.nearest)
    residuals = one.residuals - task.W[:, [task.names.index(n) for n in free.names]] @ (values - one.values)
    fit = replace(one, values=values, residuals=residuals, scores=residuals * one.weights)
    details = {
        "free": dict(zip(free.names, one.values, strict=True)),
        "moved": dict(zip(free.names, answer.moves, strict=True)),
        "standard": answer.standard,
        "physical": True,
        "physical_distance": answer.distance,
    }
    return replace(free, fit=fit), details


def rest_hints(plant: Plant, drop_slow: float, signals: Mapping[str, Any]) -> list[str]:
    """Rows at rest, which shrink dry friction by their share."""
    if drop_slow or not plant.grouping or "qd" not in signals:
        return []
    speed = np.abs(np.asarray(signals["qd"], dtype=float).reshape(len(signals["qd"]), -1))
    shares = np.mean(speed < AT_REST * speed.max(axis=0, initial=0.0), axis=0)
    if shares.max(initial=0.0) < REST_SHARE:
        return []
    joints = [f"{j + 1} ({100 * share:.0f} %)" for j, share in enumerate(shares) if share >= REST_SHARE]
    return [
        f"joints at rest: {listing(joints)} of the samples, where the sign of the speed is noise and dry friction comes out too "
        "small. Leave them out with drop_slow: 0.02."
    ]


def unit_hints(plant: Plant, signals: Mapping[str, Any]) -> list[str]:
    """Joints that go farther, or faster, than any does: degrees taken for radians, millimetres for metres."""
    shape: Any = getattr(plant.kind, "shape_here", None)
    if shape is None or not {"q", "qd"} <= signals.keys():
        return []
    q, qd = (np.asarray(signals[n], dtype=float).reshape(len(signals[n]), -1) for n in ("q", "qd"))
    links, odd = shape.chain.links, []
    for j, link in enumerate(links):
        reach, speed = (WIDE_SLIDE, FAST_SLIDE) if link.prismatic else (WIDE_TURN, FAST_TURN)
        if np.ptp(q[:, j]) > reach or np.abs(qd[:, j]).max() > speed:
            odd.append(j)
    if not odd:
        return []
    ways = [f"{j + 1} through {np.ptp(q[:, j]):.3g} {links[j].unit}" for j in odd]
    units = [({"m": "mm", "rad": "deg"} if j in odd else {}).get(link.unit, link.unit) for j, link in enumerate(links)]
    words = units[0] if len(set(units)) == 1 else f"[{', '.join(units)}]"
    kinds = listing(dict.fromkeys(units[j] for j in odd))
    return [
        f"no joint goes so far or so fast: {listing(ways)}. Are these columns in {kinds}, or "
        f"of motors before their gears? Say so where they are mapped, {{column: [...], unit: {words}}}, or divide by the "
        "ratios in a Gain."
    ]


def sign_hints(plant: Plant, values: Mapping[str, float], stds: Mapping[str, float]) -> list[str]:
    """Joints whose friction gives energy, as it seems where an effort or an angle has the other sign."""
    turn = "Turn it where the column is mapped, scale: -1, or in a Gain."
    if not plant.grouping:
        sure = [n for n in values if plant.declared(n).problems(-1.0) and abs(values[n]) > BEYOND_DOUBT * stds[n]]
        if len(sure) < FEWEST_NEGATIVE or any(values[n] > 0 for n in sure):
            return []
        return [
            f"{listing(sure)} are negative beyond doubt, all at once: does the effort have the other sign than the motion? {turn}"
        ]
    joints = []
    for name in values:
        number = name.removeprefix("Fc")
        pair = [f"Fv{number}", f"Fc{number}"] if number.isdigit() else []
        sizes = [values[n] / max(stds[n], 1e-300) for n in pair if n in values]
        if len(sizes) == 2 and min(sizes) < -BEYOND_DOUBT and max(sizes) < BEYOND_DOUBT:
            joints.append(number)
    if not joints:
        return []
    return [
        f"friction of joint {listing(joints)} is negative beyond doubt: does its effort have the other sign than its motion? "
        + turn
    ]


def model_hints(plant: Plant, errors: Sequence[float], correlations: Sequence[float]) -> list[str]:
    """Joints that do not follow the model at all."""
    bad = [j + 1 for j, (e, r) in enumerate(zip(errors, correlations, strict=True)) if e > LEFT_OVER and r > ROW_CORRELATION]
    if not plant.grouping or not bad:
        return []
    return [
        f"the model does not explain joint {listing(bad)}: {listing(f'{errors[j - 1]:.0f} %' for j in bad)} of the effort is "
        "left, and it repeats from row to row: no noise does. Look at the convention of the table (modified or classical), "
        "the zeros of the joints (theta), the direction of gravity, and at units, signs and order of the columns."
    ]
