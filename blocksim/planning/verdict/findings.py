"""The verdict: which parameters an experiment does not show, why, and what would help, in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .combination import visible_combination, weak_group
from .reasons import EARLY, dying, early_share, growth, hiding, is_hidden, lone_frequency, nudge, reason, shortness, unfed
from .wording import listed, percent, two_digits

if TYPE_CHECKING:
    from ..information import Information

#: A relative standard deviation above this is no identification.
ENOUGH_STD = 0.1
#: A run is too short where half of it gives a bound this many times as large; noise alone would make it 1.4 times.
SHORT = 3.0
#: Quantisation swallows where at least so much of the variance of a reading is that of rounding.
ROUNDED_SHARE = 0.5


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


def rough(info: Information, place: int) -> VerdictFinding:
    column = info.columns[place]
    words = (
        f"{column.name}: the outputs are no smooth function of it. Two step sizes of its differences disagree by "
        f"{percent(column.disagreement)}, as where a gap rattles or an event comes and goes; no bound is told. The bounds of the "
        "others take it as known."
    )
    return VerdictFinding("rough", (column.name,), words + reason(info, [column.name]))


def dead(info: Information, name: str) -> VerdictFinding:
    words = f"{name} is dead here: no output depends on it at all, so nothing can be learnt of it." + unfed(info, name)
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
    swallowed = [
        (r, e, d)
        for r, e, d, std in zip(info.readings, effect, steps, info.noise_stds, strict=True)
        if d > e and d**2 / 12.0 > ROUNDED_SHARE * std**2
    ]
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
    lacks, because = alone / ENOUGH_STD, reason(info, [column.name])
    amplitude = "" if because else f"{two_digits(lacks)} times the amplitude, or "  # its effect is not proportional then
    more = f" It takes {amplitude}{two_digits(lacks**2)} times the time{', or another motion,' if because else ','}"
    advice = f"{more} for {percent(ENOUGH_STD)}.{nudge(info, place, spread=False)}" if kind == "quiet" else ""
    return VerdictFinding(kind, (column.name,), start + why + because + advice)


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
    because = reason(info, names)
    kind, tails = "alike", because
    structural = math.isinf(info.fisher.stds[place])  # what is one number in the outputs is one in the drive as well
    hidden = [k for k in group if is_hidden(info, k)]
    if hidden and not structural:
        tails += hiding(info, info.columns[hidden[0]].name)
    if growth(info, place) > SHORT:
        return VerdictFinding("short", tuple(names), words + tails + shortness(info, place))
    if all(name in info.surroundings.initial for name in names) and early_share(info, place) > EARLY:
        kind, tails = "start", tails + dying(info, place)
    advice = lone_frequency(info, place) if structural else ""
    return VerdictFinding(
        kind,
        tuple(names),
        words + tails + (advice or ("" if structural and not tails else nudge(info, place, spread=not because))),
    )


def accuracy(info: Information, place: int) -> str:
    column = info.columns[place]
    alone, together = (relative_share(float(s), column.value) for s in (info.fisher.alone[place], info.fisher.stds[place]))
    return f"alone its relative standard deviation would be {percent(alone)}, together it is {percent(together)}"


def verdict_of(info: Information) -> str:
    """Every finding on a line; or that all is seen."""
    weak = [finding.words for finding in info.findings]
    if weak:
        return "\n".join(weak)
    worst = max(info.relative_std.items(), key=lambda item: -1.0 if math.isnan(item[1]) else item[1])
    words = f", {worst[0]} the worst with {percent(worst[1])}" if not math.isnan(worst[1]) else ""
    return f"Everything asked for is seen{words}."
