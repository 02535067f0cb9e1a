"""Whether anything moves a plant that is to be identified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..contract.declarations import Memory, Noise, State
from ..errors import Finding, listing
from ..schedule.schedule import Schedule, Unit
from ..schedule.true_outputs import is_plant


def rest_findings(schedule: Schedule) -> Iterator[Finding]:
    """Identification where every source is 0 throughout and every plant starts at rest: what moves is noise."""
    seekers = [u for u in (*schedule.units, *schedule.after_run) if u.kind.family == "identification" or u.kind.estimated]
    sources = [u for u in schedule.units if u.kind.family == "sources" and not u.inputs]
    starts = [u for u in schedule.units if is_plant(u.kind) and not starts_at_rest(u)]
    if seekers and sources and not starts and all(map(is_silent, sources)):
        yield Finding(
            "no-excitation",
            f"{listing(u.path for u in sources)} {'is' if len(sources) == 1 else 'are'} 0 throughout, and all starts at rest: "
            f"{listing(u.path for u in seekers)} would identify from noise, and from what weights do at the start.",
            "Give the loop a reference or a torque that moves it.",
            sources[0].node.place,
        )


def is_silent(source: Unit) -> bool:
    """Whether a source is 0 whatever the time."""
    sizes = [source.settings[name] for name in ("value", "amplitude", "bias", "std") if name in source.settings]
    sized = "value" in source.settings or "amplitude" in source.settings
    return sized and not source.kind.of(Noise) and all(map(is_zero, sizes))


def is_zero(value: Any) -> bool:
    return all(map(is_zero, value)) if isinstance(value, (list, tuple)) else isinstance(value, (int, float)) and value == 0


def starts_at_rest(plant: Unit) -> bool:
    """Whether its states begin where its type has them begin, by itself at 0."""
    states = {n: d for n, d in plant.kind.of(State).items() if not isinstance(d, Memory)}
    return all(is_zero(plant.settings.get(name, declared.default)) for name, declared in states.items())
