"""What a run asked for on the command line comes to: an outcome, and the folder of its files."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagram.copying import write_copy
from ..diagram.diagram import Diagram
from ..errors import BlocksimError, Finding
from ..records.writing import finite_or_none, versions, write_json, writing

if TYPE_CHECKING:
    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from ..simulation.failures import InterruptedRun
    from ..simulation.simulation import Progress


@dataclass
class Outcome:
    """A finished run, or one that failed and what it recorded until then."""

    diagram: Diagram
    record: Record
    seconds: float  # of wall time
    error: BlocksimError | InterruptedRun | None = None
    written: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()  # what was wrong before it began
    times: dict[str, float] = field(default_factory=dict)  # seconds by what was done: simulated, compiled, identified
    others: tuple[Record, ...] = ()  # the second record and those after it, where several were fitted together


class Stopwatch:
    """Seconds by what was done."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, word: str) -> None:
        now = time.perf_counter()
        self.laps[word], self.start = now - self.start, now

    def move(self, source: str, target: str, seconds: float) -> None:
        """Take seconds of one for another, which was done meanwhile."""
        share = min(seconds, self.laps[source])
        self.laps = {source: self.laps[source] - share, target: share, **{k: v for k, v in self.laps.items() if k != source}}


@dataclass(frozen=True)
class SignalRow:
    """One line of the table of results: a scalar signal, or one element of a vector."""

    signal: str
    unit: str
    min: float
    max: float
    final: float


def changed_diagram(diagram: Diagram, params: dict[str, Any]) -> Diagram:
    """The diagram with settings of its blocks changed, each checked."""
    from ..simulation.overrides import Overrides

    readied(diagram, params)
    return Overrides(params).diagram(diagram)


def readied(diagram: Diagram, params: dict[str, Any]) -> Experiment:
    """The diagram ready to run, with settings changed; one that names no stop time is taken to run for a second."""
    from ..simulation.overrides import Overrides
    from ..simulation.prepare import prepared

    ready, left = prepared(diagram, params, {} if diagram.simulate.stop is not None else {"stop": 1})
    Overrides(left).numbers(ready)
    return ready


def run_diagram(diagram: Diagram, params: dict[str, Any], options: dict[str, Any], engine: str, progress: Progress) -> Outcome:
    """Simulate; a run that fails half way, or is interrupted, still has an outcome."""
    from ..checking.bounds import bound_findings
    from ..checking.findings import growth_findings, quick_findings
    from ..estimation.process import process
    from ..simulation.failures import InterruptedRun
    from ..simulation.noise import draw_noise
    from ..simulation.prepare import prepared
    from ..simulation.simulation import run_experiment

    clock, seed = time.perf_counter(), options.get("seed")
    ready, rest = prepared(diagram, params, {n: v for n, v in options.items() if n != "seed"})
    findings = quick_findings(ready, rest)
    code, watch = ready.program.code, Stopwatch()
    before = code.compile_seconds
    if hasattr(progress, "doing"):
        progress.doing = lambda: "compiling" if code.compiling else "identifying" if watch.laps else "simulating"
    failure: BlocksimError | InterruptedRun | None
    try:
        record = run_experiment(ready, rest, draw_noise(ready, seed), engine, progress, rest)
        watch.lap("simulated")
        findings += [*growth_findings(record), *bound_findings(ready.schedule, record, rest)]
        record, failure = process(ready.schedule, record, rest), None
    except InterruptedRun as interrupt:
        record, failure = interrupt.record, interrupt
    except BlocksimError as error:
        if error.record is None:
            raise
        record, failure = error.record, error
    watch.lap("identified" if watch.laps else "simulated")
    watch.move("simulated", "compiled", code.compile_seconds - before)
    return Outcome(diagram, record, time.perf_counter() - clock, failure, findings=tuple(findings), times=watch.laps)


def identified(diagram: Diagram, records: list[Path], params: dict[str, Any], options: dict[str, Any]) -> Outcome:
    """The diagram's record blocks over a measured record, or over several."""
    from ..running.identify import identify, names_several
    from ..running.together import identify_together

    clock, failure = time.perf_counter(), None
    results: list[Record]
    try:
        if len(records) > 1 or (not records and names_several(diagram)):
            results = identify_together(diagram, records or None, params=params, **options)
        else:
            results = [identify(diagram, records[0] if records else None, params=params, **options)]
    except BlocksimError as error:
        if error.record is None:
            raise
        results, failure = [error.record], error
    return Outcome(diagram, results[0], time.perf_counter() - clock, failure, others=tuple(results[1:]))


def refuse_unconverged(outcome: Outcome) -> None:
    """An identification that found nothing is a failure, though what it looked at is kept: scripts must not go on with it."""
    from ..errors import SimulationError

    lost = {block: one for block, one in outcome.record.estimates.items() if not one.converged}
    if lost:
        reasons = "; ".join(f"{block}: {one.reason or 'nothing was learnt'}" for block, one in lost.items())
        raise SimulationError(f"no estimates of {', '.join(lost)}. {reasons}.", time=float(outcome.record.t[-1]))


def record_rows(record: Record) -> list[SignalRow]:
    """The table of results: every scalar signal and every element."""
    from ..records.record import scalar_columns

    table = []
    for name in record:
        for label, values in scalar_columns(name, record[name]):
            if len(values):
                table.append(SignalRow(label, record.unit(name), float(values.min()), float(values.max()), float(values[-1])))
    return table


def as_json(outcome: Outcome) -> str:
    """One JSON object for scripts. Numbers that JSON cannot carry (nan, inf) are null."""
    signals = {r.signal: {"unit": r.unit, "min": r.min, "max": r.max, "final": r.final} for r in record_rows(outcome.record)}
    t = outcome.record.t
    summary = {"start": float(t[0]) if len(t) else None, "end": float(t[-1]) if len(t) else None, "samples": len(t)}
    whole = {
        **described(outcome),
        **summary,
        "signals": signals,
        "estimates": estimates_as_dicts(outcome.record),
        "written": list(outcome.written),
    }
    return json.dumps(finite_or_none(whole), allow_nan=False)


def described(outcome: Outcome) -> dict[str, Any]:
    """How the run was made and how it ended; the diagram itself stands in its own file."""
    provenance = {k: v for k, v in outcome.record.provenance.items() if k != "diagram"}
    error = outcome.error
    where = {name: getattr(error, name) for name in ("time", "block", "state") if hasattr(error, name)}
    failed = None if error is None else {"message": str(error), **where}
    return {**provenance, "wall_seconds": outcome.seconds, "error": failed, "warnings": [str(f) for f in outcome.findings]}


def estimates_as_dicts(record: Record) -> dict[str, Any]:
    """What identifiers found, by block, as plain values."""
    return {block: result.to_dict() for block, result in record.estimates.items()}


def estimated_settings(path: str | os.PathLike[str], of: str | None, diagram: Diagram) -> tuple[dict[str, float], list[str]]:
    """The values of estimates as settings of the plant they are of, and what each replaces, in words.

    Estimates from a measured record know the type of their plant only; it is the one block of that type then.
    """
    from ..diagram.diagram import walk
    from ..estimation.estimate_files import read_estimates
    from ..running.validate import fixed_values

    result = read_estimates(path, of or "")
    blocks = {p: n.block for p, n in walk(diagram) if not isinstance(n.block, Diagram)}
    settings = fixed_values(diagram, result)
    changes = []
    for name, value in settings.items():
        block, _, setting = name.rpartition(".")
        before = blocks[block].settings.get(setting) if block in blocks else None
        changes.append(f"{name} = {value:.6g}" + (f" (was {before:.6g})" if isinstance(before, (int, float)) else ""))
    return settings, changes


def write_folder(outcome: Outcome, folder: Path, plot: bool = False) -> None:
    """record.npz, diagram.yaml, run.json, estimates.json where there are any, and the pictures asked for."""
    with writing(folder):
        outcome.record.save(folder / "record.npz")
        more = {f"record_{k + 2}.npz": record for k, record in enumerate(outcome.others)}
        for name, record in more.items():
            record.save(folder / name)
        write_copy(outcome.diagram, folder / "diagram.yaml")
        names = ["record.npz", *more, "diagram.yaml", "run.json"]
        write_json(folder / "run.json", {**described(outcome), "versions": versions()})
        if outcome.record.estimates:
            write_json(folder / "estimates.json", estimates_as_dicts(outcome.record))
            names.append("estimates.json")
    outcome.written += tuple(str(folder / name) for name in names)
    if plot:
        from ..pictures.draw import draw

        write_plot(outcome, folder / "plot.png", folder / "estimates.png")
        with writing(folder):
            draw(outcome.diagram, folder / "diagram.svg")
        outcome.written += (str(folder / "diagram.svg"),)


def write_plot(outcome: Outcome, path: str | os.PathLike[str], estimated: str | os.PathLike[str] | None = None) -> None:
    """The signals over time and, where something was identified, a picture of the estimates; of running ones also over time."""
    from ..pictures.plots import plot

    estimated = estimated or Path(path).with_name(f"{Path(path).stem}_estimates.png")

    with writing(path):
        plot(outcome.record, path=path)
    outcome.written += (str(path),)
    if outcome.record.estimates:
        from ..pictures.estimate_plot import plot_estimates

        with writing(estimated):
            plot_estimates(outcome.record.estimates, estimated)
        outcome.written += (str(estimated),)
        from ..pictures.estimate_traces import plot_traces, traced

        if traced(outcome.record):
            over_time = Path(estimated).with_name(Path(estimated).name.replace("estimates", "traces"))
            with writing(over_time):
                plot_traces(outcome.record, path=over_time)
            outcome.written += (str(over_time),)
