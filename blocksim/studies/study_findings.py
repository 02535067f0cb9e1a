"""What about a study runs and cannot be meant: that of its diagrams, and repetitions of which none differs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..checking.findings import examine
from ..contract.declarations import Noise
from ..errors import Finding
from ..schedule.schedule import Unit
from ..simulation.experiment import Experiment
from ..simulation.overrides import Overrides
from ..simulation.prepare import experiment

if TYPE_CHECKING:
    from .plan import Plan

#: Settings by which noise is turned off.
LOUDNESS = ("std", "noise_std", "amplitude", "sigma", "variance", "density", "intensity", "power")


def study_findings(plan: Plan) -> tuple[Finding, ...]:
    """Of every diagram with the settings of its first row; and of the study itself."""
    spec, examined, findings = plan.spec, list[Experiment](), list[Finding]()
    for variant in plan.variants:
        changes = {**spec.params, **variant.params, **plan.points[0]}
        ready = experiment(Overrides(changes).diagram(variant.diagram), {}, **spec.simulate)
        examined.append(ready)
        findings += examine(ready).findings
    touched = {name for point in plan.points for name in point} | {name for _, changes in plan.arms for name in changes}
    if plan.repeat > 1 and not any(draws_noise(ready.schedule.units, touched) for ready in examined):
        findings.append(
            Finding(
                "nothing-random",
                f"repeat: {plan.repeat}, but nothing in the diagram is random: all repetitions will give the same numbers.",
                "Add noise (noise_std of an Encoder, std of a TorqueSensor, WhiteNoise), or write repeat: 1.",
                spec.places.get("repeat"),
            )
        )
    return tuple(dict.fromkeys(findings))


def draws_noise(units: Iterable[Unit], touched: Iterable[str]) -> bool:
    """Whether a block draws numbers that show; one whose noise a study changes may."""
    for unit in units:
        if unit.kind.of(Noise):
            sizes = [unit.settings[name] for name in LOUDNESS if isinstance(unit.settings.get(name), (int, float))]
            if not sizes or any(sizes) or any(name.startswith(f"{unit.path}.") for name in touched):
                return True
    return False
