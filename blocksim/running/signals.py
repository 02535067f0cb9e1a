"""What an excitation signal is worth: peak, rms, crest factor, spectrum and bandwidth of the sources of a diagram.

found = analyse_sources(open_diagram("thesis/u_slump"))
found[0].crest_factor, found[0].frequency, found[0].amplitude
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..contract.block import Block
from ..contract.times import exact
from ..diagram.diagram import Diagram, Links, inports, resolve, signals, walk
from ..diagram.spec import LogSpec
from ..errors import DiagramError, Problem, listing
from ..records.record import Record, scalar_columns

#: Samples of a source when the diagram names neither a step nor a log interval.
SAMPLES = 10_000
#: The share of the power, its mean aside, that lies below the bandwidth.
SHARE = 0.95
FIGURES = ("peak", "rms", "crest_factor", "mean", "bandwidth")
SIGNAL_COLUMNS = ("signal", "unit", "peak", "rms", "crest factor", "mean", "bandwidth [Hz]")


@dataclass(frozen=True)
class Analysis:
    """One scalar signal: its samples, its one-sided amplitude spectrum, and the numbers that rank excitation signals."""

    name: str
    unit: str
    t: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    hold: bool = False
    frequency: np.ndarray = field(init=False, repr=False)  # Hz
    amplitude: np.ndarray = field(init=False, repr=False)  # of the sine at each frequency; the mean at 0 Hz

    def __post_init__(self) -> None:
        frequency, amplitude = spectrum(self.t, self.values)
        object.__setattr__(self, "frequency", frequency)
        object.__setattr__(self, "amplitude", amplitude)

    @property
    def peak(self) -> float:
        return float(np.abs(self.values).max())

    @property
    def rms(self) -> float:
        return float(np.sqrt(np.mean(np.square(self.values[:-1]))))

    @property
    def mean(self) -> float:
        return float(np.mean(self.values[:-1]))

    @property
    def crest_factor(self) -> float:
        """peak / rms: 1 for a binary signal, sqrt(2) for a sine; the lower, the more power below a given peak."""
        return self.peak / self.rms if self.rms > 0 else math.nan

    @property
    def bandwidth(self) -> float:
        """The frequency below which 95 % of the power lies, the mean left out; 0 for a constant."""
        power = np.square(self.amplitude)
        power[0] = 0.0
        total = power.sum()
        if not total > 0:
            return 0.0
        return float(self.frequency[np.searchsorted(np.cumsum(power), SHARE * total)])

    def numbers(self) -> dict[str, float]:
        """The row of the table."""
        return {name: getattr(self, name) for name in FIGURES}


def spectrum(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in Hz and amplitudes of the sines that make up the signal; sampled evenly, the last sample left out.

    No window: the lines of a signal whose period fits into t[-1] - t[0] are exact, any other leaks into its neighbours.
    """
    count = len(t) - 1
    amplitude = np.abs(np.fft.rfft(values[:count])) / count
    amplitude[1 : (count + 1) // 2] *= 2.0
    return np.fft.rfftfreq(count, (t[-1] - t[0]) / count), amplitude


def analyse(record: Record, names: Iterable[str] | None = None, units: dict[str, str] | None = None) -> list[Analysis]:
    """Every scalar signal of a record, and every element of a vector; `units` fills in where the record knows none."""
    analyses = []
    for name in list(record) if names is None else names:
        t, signal = record.time(name), record.signal(name)
        if len(t) < 3:
            raise DiagramError(
                f"'{name}' has {len(t)} samples; at least 3 are wanted. Run longer (--stop) or sample faster (--every)."
            )
        unit = signal.unit or (units or {}).get(name, "")
        analyses += [Analysis(label, unit, t, values, signal.hold) for label, values in scalar_columns(name, signal.values)]
    return analyses


def analyse_sources(diagram: Diagram, names: Sequence[str] = (), **options: Any) -> dict[str, list[Analysis]]:
    """The signals of each source of a diagram, run without the rest of it.

    `names` asks for blocks (or signals, block.port) instead of all sources; what feeds them is run with them.
    """
    from .simulate import simulate

    chosen_names = list(names) or sources(diagram)
    links = resolve(diagram)
    alone = pruned_to(diagram, chosen_names, links)
    if "every" not in options and (every := fine_grid(alone, options.get("stop"))) is not None:
        options["every"] = every
    record = simulate(alone, **options)
    units = units_of_consumers(diagram, links)
    analyses: dict[str, list[Analysis]] = {}
    for name in chosen_names:
        analyses[name] = analyse(record, [n for n in record if n == name or n.startswith(f"{name}.")] or [name], units)
    return analyses


def sources(diagram: Diagram) -> list[str]:
    """Paths of the blocks that make signals of their own, in the order they were written."""
    paths = [path for path, node in walk(diagram) if is_source_block(node.block)]
    if not paths:
        raise DiagramError("the diagram has no source; name the blocks whose signals are wanted: " + listing(diagram.nodes) + ".")
    return paths


def is_source_block(block: Block | Diagram) -> bool:
    return isinstance(block, Block) and block.colour == "source" and not inports(block)


def pruned_to(diagram: Diagram, names: Iterable[str], links: Links) -> Diagram:
    """The diagram with the asked blocks and all that feeds them, logging the asked signals."""
    problems: list[Problem] = []
    for name in names:
        signals(diagram, name, lambda text: problems.append(Problem(text)))
    if problems:
        raise DiagramError(problems)
    pending, needed = [name.split(".")[0].split("[")[0] for name in names], set()
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += [ref.block for refs in links[name].values() for ref in refs if ref.block]
    nodes = {name: node for name, node in diagram.nodes.items() if name in needed}
    return replace(diagram, nodes=nodes, log=[LogSpec(name) for name in names], spec=None)


def fine_grid(diagram: Diagram, stop: Any) -> Any:
    """The log interval: the diagram's step, else its own log interval, else the fastest sample time or a fine division."""
    settings = diagram.simulate
    if settings.step is not None or settings.every is not None:
        return settings.step if settings.step is not None else settings.every
    if any(isinstance(node.block, Diagram) or node.block.sampled for node in diagram.nodes.values()):
        return None
    stop = settings.stop if stop is None else stop
    return None if stop is None else (exact(stop) - exact(settings.start or 0)) / SAMPLES


def units_of_consumers(diagram: Diagram, links: Links) -> dict[str, str]:
    """The unit of every signal that drives an input with one: a source of torque does not know that it is one."""
    units: dict[str, str] = {}
    for name, node in diagram.nodes.items():
        for port, refs in links[name].items():
            for ref in refs:
                if ref.block and ref.element is None and inports(node.block)[port].unit:
                    units.setdefault(f"{ref.block}.{ref.port}", inports(node.block)[port].unit)
    return units


def analysis_rows(analyses: dict[str, list[Analysis]]) -> list[list[str]]:
    """The table of all signals, as text."""
    every = [one for group in analyses.values() for one in group]
    return [[one.name, one.unit, *(f"{value:.4g}" for value in one.numbers().values())] for one in every]


def analyses_as_json(analyses: dict[str, list[Analysis]], paths: Sequence[str] = ()) -> str:
    """One JSON object for scripts: the same numbers by block and signal."""
    import json

    from ..records.writing import finite_or_none

    table = {block: {one.name: {"unit": one.unit, **one.numbers()} for one in group} for block, group in analyses.items()}
    return json.dumps(finite_or_none({"blocks": table, "written": list(paths)}), allow_nan=False)
