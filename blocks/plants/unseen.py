"""Why a run tells little of a robot's parameters: what its wind-up, its hysteresis and its speed did not do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

#: The cubic spring shows where its torque is at least this share of the linear one.
CUBIC = 0.01
#: A hysteresis is bent where the wind-up swings by this share of 1/alpha, and saturated near this share of A/alpha.
BENT, SATURATED = 1.0, 0.9
#: tanh(x) is x to a per cent below.
LINEAR_TANH = 0.2
#: What the friction of a joint is called, before its number.
JOINT_FRICTION = {"Fv": ("Fv", "Fvm"), "Fc": ("Fc", "Fs", "Fcm"), "offset": ("off", "offset")}
#: Share of a run in which a gear may take up its play at the start.
TAKEN_UP = 0.05


def unseen_in_gear(settings: Mapping[str, Any], names: Sequence[str], windup: Any, z: Any) -> str:
    """Of the gap, the hysteresis and the springs of a gear."""
    return (
        unseen_gap(settings, names, windup)
        or unseen_hysteresis(settings, names, z, float(windup.max() - windup.min()))
        or unseen_spring(settings, names, windup)
    )


def unseen_gap(settings: Mapping[str, Any], names: Sequence[str], windup: Any) -> str:
    """Of a gap of width q."""
    import numpy as np

    gap = float(settings["q"])
    if "q" not in names or not gap > 0:
        return ""
    outside = np.abs(windup) > gap / 2
    if not outside.any():
        largest = float(np.abs(windup).max())
        return f"the gap never closes: the wind-up stays within {largest:.2g} rad, and half the gap is {gap / 2:.2g} rad"
    contact = int(np.argmax(outside))  # where the play that a run may start in is taken up
    if contact <= TAKEN_UP * len(windup) and outside[contact:].all() and one_sided(windup[contact:]):
        return f"the gap never opens{' again' if contact > 1 else ''}: the gear stays in contact on one side"
    return ""


def unseen_hysteresis(settings: Mapping[str, Any], names: Sequence[str], z: Any, swing: float | None = None) -> str:
    """Of alpha and A, by the torque z, and by how far the wind-up swings where that is known."""
    import numpy as np

    alpha, A = float(settings["alpha"]), float(settings["A"])
    if not {"alpha", "A"} & set(names) or not (alpha > 0 and A > 0):
        return ""
    share = float(np.mean(np.abs(z) > SATURATED * A / alpha))
    if share > 0.5:
        return f"the hysteresis is saturated at A/alpha = {A / alpha:.3g} N m for {100 * share:.0f} % of the time"
    largest = float(np.abs(z).max()) * alpha / A
    if swing is None and largest < 1.0 - math.exp(-BENT):  # what a swing of 1/alpha from rest would make
        return f"the hysteresis is hardly bent: its torque stays at {100 * largest:.2g} % of A/alpha = {A / alpha:.3g} N m"
    if swing is not None and swing < BENT / alpha:
        return f"the wind-up swings by {swing:.2g} rad only, and the hysteresis bends over 1/alpha = {1 / alpha:.2g} rad"
    return ""


def unseen_spring(settings: Mapping[str, Any], names: Sequence[str], windup: Any) -> str:
    """Of the cubic spring, beyond the gap where there is one."""
    import numpy as np

    largest = max(float(np.abs(windup).max()) - float(settings.get("q", 0.0)) / 2, 0.0)
    if "k3" in names and settings["k1"] > 0 and settings["k3"] * largest**2 < CUBIC * settings["k1"]:
        share = 100 * settings["k3"] * largest**2 / settings["k1"]
        return f"the wind-up stays below {largest:.2g} rad, where the cubic spring gives {share:.2g} % of the linear one"
    return ""


def one_sided(values: Any) -> bool:
    """Whether all lie on one side of zero."""
    return bool((values > 0).all() or (values < 0).all())


def unseen_friction(
    settings: Mapping[str, Any],
    names: Sequence[str],
    speed: Any,
    law: str = "friction",
    words: tuple[str, str] = ("the motor", "rad/s"),
) -> str:
    """Of viscous and dry friction; `law` is the setting that says how the dry one behaves at rest, `words` what moves."""
    import numpy as np

    if not {"Fv", "Fc", "offset"} & set(names):
        return ""
    (body, unit), fastest, beta = words, float(np.abs(speed).max()), float(settings["beta"])
    if fastest == 0.0:
        return f"{body} never moves"
    if settings[law] == "tanh" and fastest < LINEAR_TANH / beta:
        return f"{body} stays below {fastest:.2g} {unit}, where tanh(beta w) is beta w: only Fv + beta Fc acts"
    moving = speed[np.abs(speed) > 0.05 * fastest]
    if {"Fc", "offset"} <= set(names) and one_sided(moving):
        return f"{body} never turns back, and dry friction and the offset are one effort in one direction"
    if {"Fv", "Fc"} <= set(names) and np.ptp(np.abs(moving)) < 0.2 * fastest:
        return f"{body} keeps near one speed, {fastest:.2g} {unit}, where viscous and dry friction are one effort"
    return ""


def unseen_at_joints(settings: Mapping[str, Any], names: Sequence[str], speeds: Any) -> str:
    """Of the friction of a robot's joints, Fv1, Fc1 or Fs1 and offset1 or off1, by the speeds of all joints."""
    import numpy as np

    if not np.any(speeds):
        return "no joint moves"
    for k, speed in enumerate(np.atleast_2d(speeds.T), start=1):
        own = [word for word, keys in JOINT_FRICTION.items() if any(f"{key}{k}" in names for key in keys)]
        if text := unseen_friction(settings, own, speed, words=(f"joint {k}", "rad/s")):
            return text
    return ""
