"""findings(): everything about a diagram that can be known to be wrong before a run, and what a check tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from ..diagram.spec import RunOptions
from ..errors import Finding
from ..records.grid import grows_apart
from ..records.record import Record
from ..simulation.experiment import Experiment
from ..simulation.overrides import Overrides
from ..simulation.prepare import Diagrammatic, experiment
from .feedback import FeedbackPoles, feedback_findings, feedback_poles, start_findings
from .parameters import parameter_findings
from .plants import plant_findings
from .poles import LoopPoles, loop_findings, loop_poles
from .rates import rate_findings, sample_findings
from .readings import (
    RecordReading,
    RunningReading,
    reading_findings,
    record_readings,
    row_findings,
    running_readings,
    staircase_findings,
)
from .sources import late_findings, record_source_findings, rest_findings, source_findings
from .steps import step_findings
from .wires import wire_findings


@dataclass(frozen=True)
class Examination:
    """A diagram looked at: what cannot be meant, what its identifiers will read, the poles of its loop."""

    experiment: Experiment
    findings: tuple[Finding, ...]
    readings: tuple[RecordReading | RunningReading, ...]
    poles: tuple[LoopPoles | FeedbackPoles, ...]


def findings(
    diagram: Diagrammatic, params: Mapping[str, Any] | None = None, **options: Unpack[RunOptions]
) -> tuple[Finding, ...]:
    """What about a diagram runs and cannot be meant; a diagram that cannot run raises DiagramError.

    `params` and options are those of `simulate`. Each finding has a `name` (see docs/warnings.md), `what` was found, a `remedy`
    and `where`, a line of the file.
    """
    source = diagram if isinstance(diagram, Experiment) else Overrides(params).diagram(diagram)
    return examine(experiment(source, {}, **options)).findings


def quick_findings(ready: Experiment, changes: Mapping[str, Any] | None = None) -> list[Finding]:
    """What costs next to nothing to find, so that every run can tell it: wires, rates, what is read, modes against the step.

    `changes` are settings the run has beside the experiment's.
    """
    ready = with_changes(ready, Overrides(changes)) if changes else ready
    schedule = ready.schedule
    speeds = [*rate_findings(schedule), *source_findings(ready), *sample_findings(ready), *step_findings(ready, quick=True)]
    ends = [
        *parameter_findings(ready.diagram),
        *rest_findings(schedule),
        *late_findings(ready),
        *record_source_findings(ready),
        *row_findings(ready),
    ]
    return by_line([*wire_findings(schedule), *plant_findings(schedule), *speeds, *ends, *reading_findings(ready)])


def with_changes(ready: Experiment, overrides: Overrides) -> Experiment:
    """The experiment with settings of its blocks changed, to be looked at and not to be run."""
    schedule = ready.schedule
    blocks = {unit.path: overrides.block(unit) for unit in (*schedule.units, *schedule.after_run)}
    units, after_run = (
        [replace(unit, block=blocks[unit.path], settings=blocks[unit.path].settings) for unit in part]
        for part in (schedule.units, schedule.after_run)
    )
    return replace(ready, schedule=replace(schedule, units=units, after_run=after_run), numbers=overrides.numbers(ready))


def growth_findings(record: Record) -> list[Finding]:
    """The signals of a run that grow without end, though it ended before they left all scales; the first of them is named."""
    wild = [name for name in record if grows_apart(record[name])]
    if not wild:
        return []
    peak = float(abs(record[wild[0]]).max())
    more = f", and {len(wild) - 1} more with it" if len(wild) > 1 else ""
    return [
        Finding(
            "growing",
            f"'{wild[0]}' grows from part to part of the run, up to {peak:.3g}{more}.",
            "The loop is unstable, or grows by what drives it: look at signs and gains; blocksim check tells its poles.",
        )
    ]


def by_line(everything: Iterable[Finding]) -> list[Finding]:
    """By file and line, each once."""
    return sorted(dict.fromkeys(everything), key=lambda f: (f.where.file, f.where.line) if f.where else ("", 0))


def examine(ready: Experiment) -> Examination:
    """Look at a diagram that is ready to run."""
    poles, continuous = loop_poles(ready), feedback_poles(ready)
    slower = [
        *start_findings(ready),
        *staircase_findings(ready),
        *step_findings(ready),
        *loop_findings(ready, poles),
        *feedback_findings(ready, continuous),
    ]
    everything = by_line([*quick_findings(ready), *slower])
    identifiers = [r for r in record_readings(ready) if r.unit.kind.family == "identification"]
    return Examination(
        ready, tuple(everything), (*running_readings(ready), *identifiers), (*([poles] if poles else []), *continuous)
    )
