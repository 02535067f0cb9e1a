"""Reasons why a parameter is not seen, and advice: what its block says of it, a loop, a start, a run too short, a frequency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..fisher import fisher
from .wording import percent, two_digits

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ..information import Information
    from ..surroundings import Neighbour

#: More than this share of what is learnt in the first fifth of the run: a start that dies out.
EARLY = 0.9
#: A loop hides a parameter whose relative effect on what drives its block is so many times that on the outputs.
HIDDEN = 5.0
FIFTHS = 5
#: A drive has power where there is this share of its largest; in fewer lines than this share of all it is narrow.
NOTICEABLE, NARROW = 1e-3, 0.02


def reason(info: Information, names: Sequence[str]) -> str:
    """What the blocks themselves say of it."""
    texts = []
    for path in dict.fromkeys(name.rpartition(".")[0] for name in names):
        neighbour = info.surroundings.neighbours.get(path)
        own = [name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == path]
        if neighbour is not None and (text := block_reason(neighbour, own)):
            texts.append(f" Because {text}.")
    return "".join(texts)


def block_reason(neighbour: Neighbour, names: Sequence[str]) -> str:
    try:
        return neighbour.block.unseen(names, neighbour.signals)
    except (KeyError, IndexError, TypeError, ValueError):  # a port it looks at is not connected, or it is a row of blocks
        return ""


def is_hidden(info: Information, place: int) -> bool:
    """Whether a controller makes up for the parameter: its block's drive answers, and the outputs hardly do."""
    import numpy as np

    column = info.columns[place]
    neighbour = info.surroundings.of(column.name)
    answer = neighbour.feedback.get(column.name, 0.0) if neighbour else 0.0
    if answer < 1e-6 or neighbour is None or neighbour.drive in {r.partition("[")[0] for r in info.readings}:
        return False
    size = info.surroundings.output_size
    effect = float(np.linalg.norm(column.slope * column.value)) / size if size > 0 else math.inf
    return answer > HIDDEN * effect


def hiding(info: Information, name: str) -> str:
    neighbour = info.surroundings.of(name)
    drive = neighbour.drive if neighbour else ""
    return f" The controller hides it: the loop holds the outputs and '{drive}' answers instead. Read '{drive}' too."


def early_share(info: Information, place: int) -> float:
    """The share of what is learnt of a parameter in the first fifth of the run."""
    return float(info.by_time(FIFTHS)[1][info.columns[place].name][0])


def growth(info: Information, place: int, alone: bool = False) -> float:
    """How many times the bound of half the run is that of all of it; 1 where either is infinite."""
    half = fisher(info.psi[: len(info.psi) // 2].reshape(-1, len(info.columns)), info.fisher.floor**0.5)
    before, after = (float((one.alone if alone else one.stds)[place]) for one in (half, info.fisher))
    return before / after if math.isfinite(before) and math.isfinite(after) else 1.0


def shortness(info: Information, place: int, alone: bool = False) -> str:
    ratio = growth(info, place, alone)
    words = f"half of it would give a bound {two_digits(ratio)} times as large"
    return f" The run is too short: {words}, so a longer one teaches far more."


def dying(info: Information, place: int) -> str:
    edges, shares = info.by_time(100)
    until = edges[1 + int((shares[info.columns[place].name].cumsum() < EARLY).sum())]
    return (
        f" It is a start value, whose effect dies out: {percent(EARLY)} of it is learnt before t = {until:.2g} s. More time "
        "does not help; repeat the start, or start further away."
    )


def nudge(info: Information, place: int, spread: bool = True) -> str:
    """Where the drive of its block moves the outputs most for its power, through this parameter."""
    frequency, narrow = telling_frequency(info, place)
    neighbour = info.surroundings.of(info.columns[place].name)
    if not neighbour or not frequency > 0:
        return ""
    if narrow:
        return f" Spread {neighbour.drive} over more frequencies." if spread else ""
    if neighbour.excited:
        return f" Raise {neighbour.drive} near {frequency:.2g} Hz."
    return f" Let {neighbour.drive} swing more near {frequency:.2g} Hz."


def lone_frequency(info: Information, place: int) -> str:
    """That one frequency in steady state shows two numbers of a linear system at most."""
    neighbour = info.surroundings.of(info.columns[place].name)
    drive = neighbour.signals.get(next(iter(neighbour.signals), "")) if neighbour and neighbour.drive else None
    alive = int((~info.fisher.dead).sum())
    if neighbour is None or drive is None or drive.ndim > 1 or len(drive) < 64 or not 2 < alive > info.fisher.seen.sum() <= 2:
        return ""
    turn = fitted_turn(drive)
    effects = info.psi[:, :, place]
    if len(effects) != len(drive) or turn is None or any(unlike_turn(effect, turn) > NOTICEABLE for effect in effects.T):
        return ""
    return f" {neighbour.drive} has one frequency only, which shows two numbers at most. Spread it over more."


def fitted_turn(x: FloatArray) -> float | None:
    """c of x(t + L) + x(t - L) = c x(t) + d, which holds for a sine and a constant; None for any other signal."""
    y, middle = around_turn(x)
    c = float(y @ middle / (middle @ middle)) if middle.any() else 0.0
    return c if unlike_turn(x, c) <= NOTICEABLE else None


def unlike_turn(x: FloatArray, c: float) -> float:
    """How far a signal is from a sine of this c, as a share of it."""
    import numpy as np

    y, middle = around_turn(x)
    return float(np.linalg.norm(y - c * middle) / (np.linalg.norm(middle) or math.inf))


def around_turn(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """x(t + L) + x(t - L) and x(t), both without their mean, L an eighth of all."""
    lag = len(x) // 8
    y, middle = x[2 * lag :] + x[: -2 * lag], x[lag:-lag]
    return y - y.mean(), middle - middle.mean()


def telling_frequency(info: Information, place: int) -> tuple[float, bool]:
    """argmax over frequency of |psi|^2 / |drive|^2, both smoothed, where the drive has any power; 0 where there is none.

    And whether the drive has its power at so few frequencies that nothing can be said of the others.
    """
    import numpy as np

    neighbour = info.surroundings.of(info.columns[place].name)
    drive = neighbour.signals.get(next(iter(neighbour.signals), "")) if neighbour and neighbour.drive else None
    if drive is None or len(drive) < 16 or np.ptp(drive, axis=0).max() <= NOTICEABLE * np.abs(drive).max():
        return 0.0, False  # a constant moves nothing at any frequency
    power = smooth_power(drive.reshape(len(drive), -1))
    effect = smooth_power(info.psi[:, :, place])
    span, rest = info.t[-1] - info.t[0], min(len(power), len(effect))
    floor = NOTICEABLE * float(power.max())
    ratio = np.where(power[:rest] > floor, effect[:rest] / np.maximum(power[:rest], floor), 0.0)
    return (int(ratio[1:].argmax()) + 1) / float(span), float(np.mean(power > floor)) < NARROW


def smooth_power(x: FloatArray) -> FloatArray:
    import numpy as np

    power = np.square(np.abs(np.fft.rfft(x - x.mean(axis=0), axis=0))).sum(axis=1)
    width = max(1, len(power) // 200)
    return np.convolve(power, np.ones(width) / width, mode="same")


def unfed(info: Information, name: str) -> str:
    """That nothing arrives at its block, or nothing goes from there to what is read."""
    path = name.rpartition(".")[0]
    if path in info.surroundings.apart:
        return f" Nothing goes from '{path}' to what is read."
    neighbour = info.surroundings.of(name)
    quiet = neighbour is not None and bool(neighbour.arriving) and not any(x.any() for x in neighbour.arriving)
    return f" Nothing arrives at '{path}': '{neighbour.drive}' is 0 all the time." if neighbour and quiet else ""
