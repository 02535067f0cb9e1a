"""A second experiment for every run of a study, which no identifier has seen: how well the estimates of the first repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import BlocksimError, StudyError

if TYPE_CHECKING:
    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .spec import HeldBackSpec

#: What is added to the seed of a run for that of its second experiment: no run has it.
OTHER_SEED = 1 << 48


def held_back_scores(spec: HeldBackSpec, record: Record, ready: Experiment, changes: Mapping[str, Any]) -> dict[str, float]:
    """The scores of an identifier's estimates on another run of the diagram, by label; `ready` has that run's settings."""
    from ..running.validate import validate
    from ..simulation.noise import draw_noise
    from ..simulation.simulation import Simulation

    if spec.block not in record.estimates or not record.estimates[spec.block].converged:
        return {}  # another method's, or one that found nothing in this run
    seed = int(record.provenance.get("seed") or 0) + OTHER_SEED
    second = Simulation(ready, changes, draw_noise(ready, seed)).run()
    readings = {name: second[name] for name in second if second.signal(name).measured}
    if not readings:
        raise StudyError(f"collect: validate: {spec.block}: no measured signal is in the log, so that nothing can be compared.")
    measured = type(second).from_arrays(second.t, readings, units={name: second.unit(name) for name in readings})
    try:
        scores = validate(
            ready.schedule.diagram, measured, record.estimates[spec.block], mode=spec.mode, initial="diagram",
            assume="all", params=changes,
        )  # fmt: skip
    except BlocksimError as error:
        raise StudyError(f"collect: validate: {spec.block}: {error}") from None
    own = [name for name in scores if spec.mode == "loop" or name.rpartition(".")[0] == spec.block]
    return {f"{spec.score}({name}) of {spec.block}, held back": float(getattr(scores[name], spec.score)) for name in own}
