"""What the data of a run do not tell of a plant: one verdict for all identifiers, with the reason where it can be seen.

And what of the plant an identifier took from the simulation itself, instead of finding it or being told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..contract.declarations import Noise, Outport, Static
from ..contract.plant import Plant
from ..errors import listing
from .estimates import Estimate, Estimates

if TYPE_CHECKING:
    import numpy as np

    from ..records.record import Record
    from ..schedule.schedule import Schedule, Unit

#: A standard deviation above this share of a parameter tells little of it.
VAGUE = 0.5
#: Variance of a combination, its parameters in units of their standard deviations, up to which little else of them is known:
#: of two, 1 less their correlation.
KNOWN_TOGETHER = 0.02
#: A part of such a combination that is smaller, against its largest, is none.
TAKING_PART = 0.15
#: Identifiers that know their own rank say these themselves; the reason is added to them.
RANK_WORDS = ("rank deficient", "not identifiable", "ill-conditioned", "do not show", "does not show", "move together")
#: Motion that is not this many times as large in the first fifth of a run as in its second half is no start that dies out.
DYING = 3.0
#: Share of what is explained, in %, that may be left.
MOST_UNEXPLAINED = 50.0
#: An input that may rest: what moves then dies out from where it began.
FREE_INPUT = "u"
#: Settings under which identifiers are told values of parameters.
GIVEN = ("known", "parameters")


def verdict_words(estimates: Estimates, schedule: Schedule, record: Record) -> Iterator[str]:
    """In words: the parameters that these data do not determine, which of them are known together only, and why."""
    unlearnt = estimates.details.get("unlearnt", ())
    vague = [entry for entry in estimates.entries if is_vague(entry) or entry.name in unlearnt]
    plant = schedule.by_path.get(estimates.model)
    why = reason_for(plant, [entry.name for entry in vague], record) if plant is not None else ""
    rest = resting(plant, schedule, record) if plant is not None else ""
    if any(entry.name not in unlearnt for entry in vague) and not any(
        word in text for word in RANK_WORDS for text in estimates.warnings
    ):
        shares = listing(f"{entry.name} (std {percent_of(entry)})" for entry in vague)
        together = "; ".join(together_words(estimates, {entry.name for entry in vague}))
        yield f"not determined by these data: {shares}{f'; {together}' if together else ''}{f', because {why}' if why else ''}."
    elif vague and why:
        yield f"{listing(entry.name for entry in vague)}: little can be told, because {why}."
    if rest:
        yield rest


def unexplained_words(estimates: Estimates, unit: Unit, record: Record) -> Iterator[str]:
    """In words: data that stand still, and what is left of them where the model explains little."""
    for port, refs in unit.inputs.items() if unit.after else ():
        names = [f"{ref.block}.{ref.port}" for ref in refs if f"{ref.block}.{ref.port}" in record and port != FREE_INPUT]
        for name in names:
            values = record[name]
            if len(values) > 1 and (values == values[0]).all():
                yield f"input '{port}' of '{unit.path}' never changes: {name} is {first_number(values):g} throughout."
    left = estimates.details.get("relative_error")
    shares = left if isinstance(left, Mapping) else {"the effort": left}
    little = {n: s for n, s in shares.items() if isinstance(s, (int, float)) and math.isfinite(s) and s > MOST_UNEXPLAINED}
    if little:
        parts = listing(f"{share:.3g} % of {name}" for name, share in little.items())
        yield (
            f"explains little: {parts} is left. Look whether these are the right signals, with their units, signs and times, and "
            "at the residual."
        )


def first_number(values: np.ndarray) -> float:
    return float(values.reshape(-1)[0])


def is_vague(entry: Estimate) -> bool:
    """Whether its standard deviation is a large share of it; a parameter that truly is 0 has none that is not."""
    size = abs(entry.truth) if math.isfinite(entry.truth) else abs(entry.value)
    return math.isfinite(entry.value) and not math.isnan(entry.std) and (math.isinf(entry.std) or 0 < VAGUE * size < entry.std)


def percent_of(entry: Estimate) -> str:
    size = abs(entry.truth) if math.isfinite(entry.truth) and entry.truth else abs(entry.value)
    return f"{100 * entry.std / size:.2g} %" if math.isfinite(entry.std) and size else "infinite"


def combination(row: np.ndarray, names: Sequence[str]) -> str:
    """'Fv + 0.8 Fc - 2 Ms'."""
    text = ""
    for place, factor in enumerate(row.tolist()):
        if factor:
            size = f"{abs(factor):.3g}"
            term = names[place] if size == "1" else f"{size} {names[place]}"
            text += (" - " if factor < 0 else " + " if text else "") + term
    return text.strip()


def together_words(estimates: Estimates, names: set[str]) -> Iterator[str]:
    """In words: of these parameters, and those that come with them, the combinations that are known."""
    import numpy as np

    if estimates.covariance is None:
        return
    std = np.sqrt(np.diag(estimates.covariance))
    places = np.flatnonzero(np.isfinite(std) & (std > 0))
    order = [list(estimates)[k] for k in places]
    correlation = estimates.covariance[np.ix_(places, places)] / np.outer(std[places], std[places])
    if not np.isfinite(correlation).all():
        return
    for row in known_combinations(correlation):
        parties = [order[k] for k in np.flatnonzero(row)]
        if len(parties) > 1 and names & set(parties):
            factors = np.divide(row, std[places])
            first = factors[np.flatnonzero(factors)[0]]
            yield f"of {listing(parties)} little more than {combination(factors / first, order)} is known"


def known_combinations(correlation: np.ndarray) -> np.ndarray:
    """The eigenvectors of small variance, as rows of which each leads with a parameter that the others do not have."""
    import numpy as np

    values, vectors = np.linalg.eigh(correlation)
    rows = vectors[:, values < KNOWN_TOGETHER].T.copy()
    leads: list[int] = []
    for at in range(len(rows)):
        free = np.abs(rows[at:])
        free[:, leads] = 0.0
        place, lead = np.unravel_index(int(np.argmax(free)), free.shape)
        rows[[at, at + int(place)]] = rows[[at + int(place), at]]
        rows[at] /= rows[at, lead]
        others = np.arange(len(rows)) != at
        rows[others] -= np.outer(rows[others, lead], rows[at])
        leads.append(int(lead))
    rows[np.abs(rows) < TAKING_PART * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    return rows


def reason_for(plant: Unit, names: list[str], record: Record) -> str:
    """What the plant itself says of how it moved."""
    signals = plant_signals(plant, record)
    if not names or len(signals) < len(plant.kind.of(Outport)) + sum(map(bool, plant.inputs.values())):
        return ""
    try:
        return plant.block.unseen(names, signals)
    except (KeyError, IndexError, TypeError, ValueError):  # a plant with other ports than it looks at
        return ""


def plant_signals(plant: Unit, record: Record) -> dict[str, np.ndarray]:
    """The ports of a plant as they moved, those that are in the record; its drive first."""
    names = {port: f"{refs[0].block}.{refs[0].port}" for port, refs in plant.inputs.items() if refs and refs[0].element is None}
    names |= {port: f"{plant.path}.{port}" for port in plant.kind.of(Outport)}
    return {port: record[name] for port, name in names.items() if name in record}


def resting(plant: Unit, schedule: Schedule, record: Record) -> str:
    """Said where nothing that drives the loop ever changes, and no start dies out: all motion is noise."""
    import numpy as np

    sources = [u for u in schedule.units if u.kind.family == "sources" and not u.inputs and not u.kind.of(Noise)]
    noisy = [u for u in schedule.units if u.kind.family == "sources" and not u.inputs and u.kind.of(Noise)]
    signals = [record[f"{u.path}.{p}"] for u in sources for p in u.kind.of(Outport) if f"{u.path}.{p}" in record]
    if not signals or noisy or any(len(x) < 2 or np.ptp(x, axis=0).any() for x in signals):
        return ""
    for port, x in plant_signals(plant, record).items():
        early, late = x[: max(2, len(x) // 5)].std(axis=0), x[len(x) // 2 :].std(axis=0)
        if port in plant.kind.of(Outport) and np.any(early > DYING * late):
            return ""
    names = listing(u.path for u in sources)
    return f"the reference is at rest: {names} never changes, so that all that moves is noise. Excite the loop."


def held_truth(estimates: Estimates, unit: Unit, schedule: Schedule) -> list[str]:
    """In words: parameters of the plant that were neither sought nor told, and held at the values the simulation has."""
    plant = schedule.by_path.get(estimates.model)
    if plant is None or any("held at the plant's own value" in text for text in estimates.warnings):
        return []
    settings = unit.settings
    given_names = {name for key in GIVEN if isinstance(settings.get(key), Mapping) for name in settings[key]}
    truth = Plant(type(plant.block), plant.settings, plant.path).truth
    names = [name for name, value in truth.items() if value and name not in estimates and name not in given_names]
    if not names:
        return []
    key = next((key for key in GIVEN if takes_values(unit, key)), "")
    remedy = f"give it under `{key}` instead" if key else "fit for a check, not for a claim"
    return [f"leak of truth: {listing(names)} held at the plant's own value; {remedy}."]


def takes_values(unit: Unit, key: str) -> bool:
    """Whether a setting of an identifier takes values of parameters by name."""
    declared = unit.kind.declared.get(key)
    return isinstance(declared, Static) and declared.kind is dict
