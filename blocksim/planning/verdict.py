"""The verdict: which parameters an experiment does not show, why, and what would help, in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .combination import visible_combination, weak_group
from .fisher import fisher

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from .information import Information
    from .surroundings import Neighbour

#: A relative standard deviation above this is no identification.
ENOUGH_STD = 0.1
#: A run is too short where half of it gives a bound this many times as large; noise alone would make it 1.4 times.
SHORT = 3.0
#: More than this share of what is learnt in the first fifth of the run: a start that dies out.
EARLY = 0.9
#: A loop hides a parameter whose relative effect on what drives its block is so many times that on the outputs.
HIDDEN = 5.0
FIFTHS = 5
#: A drive has power where there is this share of its largest; in fewer lines than this share of all it is narrow.
NOTICEABLE, NARROW = 1e-3, 0.02
#: Power below this share of a signal's is that of rounding.
ROUNDED = 1e-20


@dataclass(frozen=True)
class VerdictFinding:
    """Something that is not seen: its kind in a word, the parameters it is about, and a sentence."""

    kind: str  # rough, dead, alike, quantised, hidden, start, short or quiet
    parameters: tuple[str, ...]
    words: str

    def __str__(self) -> str:
        return self.words


def findings_of(info: Information) -> Iterator[VerdictFinding]:
    """Each parameter that is badly seen, once, with those it cannot be told from."""
    names = [column.name for column in info.columns]
    named: set[str] = set()
    for place, name in enumerate(names[: info.wanted_count]):
        if name in named or not is_weak(info, name):
            continue
        column = info.columns[place]
        if column.doubtful:
            finding = rough(info, place)
        elif info.fisher.dead[place]:
            finding = dead(info, name)
        elif relative_share(info.fisher.alone[place], column.value) > ENOUGH_STD:
            finding = faint(info, place)
        else:
            finding = alike(info, place)
        named |= set(finding.parameters)
        yield finding


def is_weak(info: Information, name: str) -> bool:
    std, value = info.std[name], info.values[name]
    return not math.isfinite(std) or (value != 0 and std / abs(value) > ENOUGH_STD)


def relative_share(std: float, value: float) -> float:
    """As a share of the parameter; of one that is 0, nothing can be said but whether it is seen at all."""
    return std / abs(value) if value else (0.0 if math.isfinite(std) else math.inf)


# ---- kinds ------------------------------------------------------------------------------------------------------------


def rough(info: Information, place: int) -> VerdictFinding:
    column = info.columns[place]
    words = (
        f"{column.name}: the outputs are no smooth function of it. Two step sizes of its differences disagree by "
        f"{percent(column.disagreement)}, as where a gap rattles or an event comes and goes; no bound is told. The bounds of the "
        "others take it as known."
    )
    return VerdictFinding("rough", (column.name,), words + reason(info, [column.name]))


def dead(info: Information, name: str) -> VerdictFinding:
    words = f"{name} is dead here: no output depends on it at all, so nothing can be learnt of it."
    others = " The bounds of the others are those without it." if len(info.columns) > 1 else ""
    return VerdictFinding("dead", (name,), words + reason(info, [name]) + others)


def faint(info: Information, place: int) -> VerdictFinding:
    """A parameter whose own effect is lost in the noise, whatever the others are."""
    import numpy as np

    column = info.columns[place]
    alone = relative_share(float(info.fisher.alone[place]), column.value)
    effect = np.abs(column.slope * info.noise_stds * column.value).max(axis=0)
    best = int(np.argmax(effect / info.noise_stds))
    steps = [info.surroundings.resolutions.get(r.partition("[")[0], 0.0) for r in info.readings]
    swallowed = [(r, e, d) for r, e, d in zip(info.readings, effect, steps, strict=True) if d > 0 and e < d]
    start = f"{column.name} is hardly seen: even with all others known its relative standard deviation is {percent(alone)}."
    kind, why = (
        "quiet",
        f" All of it moves {info.readings[best]} by {effect[best]:.2g} at most, in noise of {info.noise_stds[best]:.2g}.",
    )
    if swallowed and len(swallowed) == len(info.readings):
        reading, size, step = max(swallowed, key=lambda item: item[1] / item[2])
        kind = "quantised"
        why = f" Quantisation swallows it: all of it moves {reading} by {size:.2g}, less than one step of {step:.2g}."
    elif is_hidden(info, place):
        kind, why = "hidden", hiding(info, column.name)
    elif column.name in info.surroundings.initial and early_share(info, place) > EARLY:
        kind, why = "start", dying(info, place)
    elif growth(info, place, alone=True) > SHORT:
        kind, why = "short", shortness(info, place, alone=True)
    lacks = alone / ENOUGH_STD
    more = f" It takes {lacks:.2g} times the amplitude, or {lacks**2:.2g} times the time, for {percent(ENOUGH_STD)}."
    advice = more + nudge(info, place) if kind == "quiet" else ""
    return VerdictFinding(kind, (column.name,), start + why + reason(info, [column.name]) + advice)


def alike(info: Information, place: int) -> VerdictFinding:
    """Parameters whose effects look the same."""
    group = weak_group(info.fisher, place)
    names = [info.columns[k].name for k in group]
    if len(group) < 2:  # spread thinly over many: name the one
        words = f"{names[0]} cannot be told from the other parameters together here: {accuracy(info, place)}."
    else:
        them = listed(names)
        seen_part = visible_combination([info.columns[k] for k in group], info.fisher, group)
        words = f"{them} cannot be told apart here: {seen_part}."
    kind, tails = "alike", reason(info, names)
    hidden = [k for k in group if is_hidden(info, k)]
    if hidden:
        tails += hiding(info, info.columns[hidden[0]].name)
    if growth(info, place) > SHORT:
        return VerdictFinding("short", tuple(names), words + tails + shortness(info, place))
    if all(name in info.surroundings.initial for name in names) and early_share(info, place) > EARLY:
        kind, tails = "start", tails + dying(info, place)
    structural = math.isinf(info.fisher.stds[place]) and not tails
    return VerdictFinding(kind, tuple(names), words + tails + ("" if structural else nudge(info, place)))


# ---- reasons ----------------------------------------------------------------------------------------------------------


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
    return f" The run is too short: half of it would give a bound {ratio:.2g} times as large, so a longer one teaches far more."


def dying(info: Information, place: int) -> str:
    edges, shares = info.by_time(100)
    until = edges[1 + int((shares[info.columns[place].name].cumsum() < EARLY).sum())]
    return (
        f" It is a start value, whose effect dies out: {percent(EARLY)} of it is learnt before t = {until:.2g} s. More time "
        "does not help; repeat the start, or start further away."
    )


def nudge(info: Information, place: int) -> str:
    """Where the drive of its block moves the outputs most for its power, through this parameter."""
    frequency, narrow = telling_frequency(info, place)
    neighbour = info.surroundings.of(info.columns[place].name)
    if not neighbour or not frequency > 0:
        return ""
    return f" Spread {neighbour.drive} over more frequencies." if narrow else f" Raise {neighbour.drive} near {frequency:.2g} Hz."


def telling_frequency(info: Information, place: int) -> tuple[float, bool]:
    """argmax over frequency of |psi|^2 / |drive|^2, both smoothed, where the drive has any power; 0 where there is none.

    And whether the drive has its power at so few frequencies that nothing can be said of the others.
    """
    import numpy as np

    neighbour = info.surroundings.of(info.columns[place].name)
    drive = neighbour.signals.get(next(iter(neighbour.signals), "")) if neighbour and neighbour.drive else None
    if drive is None or len(drive) < 16 or not np.any(drive):
        return 0.0, False
    power = smooth_power(drive.reshape(len(drive), -1))
    effect = smooth_power(info.psi[:, :, place])
    span, rest = info.t[-1] - info.t[0], min(len(power), len(effect))
    floor = NOTICEABLE * float(power.max())
    if not floor > ROUNDED * float(np.square(drive).sum()):
        return 0.0, False  # a constant moves nothing at any frequency
    ratio = np.where(power[:rest] > floor, effect[:rest] / np.maximum(power[:rest], floor), 0.0)
    return (int(ratio[1:].argmax()) + 1) / float(span), float(np.mean(power > floor)) < NARROW


def smooth_power(x: FloatArray) -> FloatArray:
    import numpy as np

    power = np.square(np.abs(np.fft.rfft(x - x.mean(axis=0), axis=0))).sum(axis=1)
    width = max(1, len(power) // 200)
    return np.convolve(power, np.ones(width) / width, mode="same")


# ---- the whole --------------------------------------------------------------------------------------------------------


def verdict_of(info: Information) -> str:
    """Every finding on a line; or that all is seen."""
    weak = [finding.words for finding in info.findings]
    if weak:
        return "\n".join(weak)
    worst = max(info.relative_std.items(), key=lambda item: -1.0 if math.isnan(item[1]) else item[1])
    words = f", {worst[0]} the worst with {percent(worst[1])}" if not math.isnan(worst[1]) else ""
    return f"Everything asked for is seen{words}."


def table_of(info: Information) -> str:
    """A row per parameter: value, bound, relative bound, and the bound with all others known."""
    rows = [("parameter", "value", "std", "std %", "alone %")]
    for name in info.parameters:
        value, alone = info.values[name], info.alone[name]
        shares = [100 * s / abs(value) if value else math.nan for s in (info.std[name], alone)]
        rows.append((name, f"{value:.6g}", f"{info.std[name]:.3g}", f"{shares[0]:.3g}", f"{shares[1]:.3g}"))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = [
        "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))) for row in rows
    ]
    lines.append(
        f"condition number {info.condition:.3g}, {len(info.t)} readings of {listed(info.readings)}, "
        f"{info.simulations} simulations"
    )
    return "\n".join(lines)


def accuracy(info: Information, place: int) -> str:
    column = info.columns[place]
    alone, together = (relative_share(float(s), column.value) for s in (info.fisher.alone[place], info.fisher.stds[place]))
    return f"alone its relative standard deviation would be {percent(alone)}, together it is {percent(together)}"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    return f"{100 * share:.2g} %" if math.isfinite(share) else "infinite"
