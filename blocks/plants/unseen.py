"""Why a run tells little of a robot's parameters: what its wind-up, its hysteresis and its speed did not do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: The cubic spring shows where its torque is at least this share of the linear one.
CUBIC = 0.01
#: A hysteresis is bent where the wind-up swings by this share of 1/alpha, and saturated near this share of A/alpha.
BENT, SATURATED = 1.0, 0.9
#: tanh(x) is x to a per cent below.
LINEAR_TANH = 0.2
#: Share of a run in which a gear may take up its play at the start.
TAKEN_UP = 0.05


def unseen_in_gear(settings: Mapping[str, Any], names: Sequence[str], windup: Any, z: Any) -> str:
    """Of the gap, the hysteresis and the springs of a gear."""
    import numpy as np

    largest, swing = float(np.abs(windup).max()), float(np.ptp(windup))
    gap, alpha, A = (float(settings[n]) for n in ("q", "alpha", "A"))
    if "q" in names and gap > 0:
        outside = np.abs(windup) > gap / 2
        if not outside.any():
            return f"the gap never closes: the wind-up stays within {largest:.2g} rad, and half the gap is {gap / 2:.2g} rad"
        contact = int(np.argmax(outside))  # where the play that a run may start in is taken up
        if contact <= TAKEN_UP * len(windup) and outside[contact:].all() and one_sided(windup[contact:]):
            return f"the gap never opens{' again' if contact > 1 else ''}: the gear stays in contact on one side"
    if {"alpha", "A"} & set(names) and alpha > 0 and A > 0:
        share = float(np.mean(np.abs(z) > SATURATED * A / alpha))
        if share > 0.5:
            return f"the hysteresis is saturated at A/alpha = {A / alpha:.3g} N m for {100 * share:.0f} % of the time"
        if swing < BENT / alpha:
            return f"the wind-up swings by {swing:.2g} rad only, and the hysteresis bends over 1/alpha = {1 / alpha:.2g} rad"
    if "k3" in names and settings["k1"] > 0 and settings["k3"] * largest**2 < CUBIC * settings["k1"]:
        share = 100 * settings["k3"] * largest**2 / settings["k1"]
        return f"the wind-up stays below {largest:.2g} rad, where the cubic spring gives {share:.2g} % of the linear one"
    return ""


def one_sided(values: Any) -> bool:
    """Whether all lie on one side of zero."""
    return bool((values > 0).all() or (values < 0).all())


def unseen_friction(settings: Mapping[str, Any], names: Sequence[str], speed: Any) -> str:
    """Of viscous and dry friction."""
    import numpy as np

    if not {"Fv", "Fc"} & set(names):
        return ""
    fastest, beta = float(np.abs(speed).max()), float(settings["beta"])
    if settings["friction"] == "tanh" and fastest < LINEAR_TANH / beta:
        return f"the motor stays below {fastest:.2g} rad/s, where tanh(beta w) is beta w: only Fv + beta Fc acts"
    if fastest == 0.0:
        return "the motor never moves"
    moving = np.abs(speed) > 0.05 * fastest
    if {"Fv", "Fc"} <= set(names) and np.ptp(np.abs(speed[moving])) < 0.2 * fastest:
        return f"the motor keeps near one speed, {fastest:.2g} rad/s, where viscous and dry friction are one torque"
    return ""
