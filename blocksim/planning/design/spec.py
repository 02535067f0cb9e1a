"""DesignSpec: what a design file asks for.

format: 1
design: Torque for the flexible robot
diagram: thesis/hysteresis
parameters: [robot.Fv, robot.k1]                      # what is sought, all at once; {robot.Fv: 2} weighs
outputs: {robot.w_m: 0.05}                            # what is read, with its noise as `information` takes it
vary: {u: {family: binary, clock: 0.04, peak: 30}}    # sources by family, and any number: {pid.kp: {min: 1, max: 10}}
limits: {u: {peak: 30}, robot.w_m: {peak: 200}}
criterion: worst
prior: {spread: 0.3, take: worst}                    # the truth is not known before
search: {seconds: 60, seed: 1}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...diagram.yaml_lines import Lined

DESIGN_KEYS = ("format", "description", "diagram", "params", "simulate", "parameters", "nuisance", "outputs", "inputs", "every",
               "skip", "vary", "limits", "criterion", "accuracy", "plant", "effort_std", "prior", "search")  # fmt: skip
CRITERIA = ("D", "A", "E", "worst", "condition", "condition_scaled", "time", "power")
LIMITS = ("peak", "min", "max", "rate", "rms", "power", "energy", "travel", "crest", "end")
TAKES = ("mean", "worst", "quantile")
SEARCH_KEYS = ("seconds", "simulations", "candidates", "seed", "step", "target", "jobs")
PRIOR_KEYS = ("spread", "samples", "seed", "take", "quantile")
#: Draws of a prior where the file does not say how many; candidates are tried at a few of them only where the worst counts.
USUAL_DRAWS = {"worst": 50, "mean": 8, "quantile": 8}


@dataclass(frozen=True)
class PriorSpec:
    """What is believed of the parameters before: each within a share of its value, drawn evenly."""

    spread: Mapping[str, float] = field(default_factory=dict)  # by parameter
    samples: int = 1
    seed: int = 0
    take: str = "worst"
    quantile: float = 0.9

    def draws(self, value_of: Callable[[str], float]) -> list[dict[str, float]]:
        """The parameters as they may be, around their values; nothing changed where no draws are asked for."""
        import numpy as np

        if self.samples < 2 or not self.spread:
            return [{}]
        random = np.random.default_rng(self.seed)
        middle = {name: value_of(name) for name in self.spread}
        return [
            {name: float(v * (1.0 + self.spread[name] * random.uniform(-1.0, 1.0))) for name, v in middle.items()}
            for _ in range(self.samples)
        ]


@dataclass(frozen=True)
class SearchSpec:
    """How long and how the search goes on: it ends with the first of these that is reached."""

    seconds: float = 60.0
    simulations: int = 10**9
    candidates: int = 64  # drawn before the best of them are polished
    seed: int = 0
    step: float | str | None = None  # of the solver while searching; the end is judged with that of the diagram
    target: float = 0.0  # a criterion below this is good enough
    jobs: int | None = None


@dataclass
class DesignSpec:
    """A whole design file, checked against the format but not yet against its diagram."""

    title: str = ""
    diagram: str = ""
    parameters: dict[str, float] = field(default_factory=dict)  # with their weights
    nuisance: tuple[str, ...] = ()
    outputs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()  # recorded in the experiment, and known as they were
    every: float | str | None = None
    skip: float = 0.0
    vary: dict[str, dict[str, Any]] = field(default_factory=dict)
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    criterion: str = "worst"
    accuracy: dict[str, float] = field(default_factory=dict)  # asked for, relative: of the criteria time and power
    plant: str = ""  # whose regressor is judged, where that is the criterion
    effort_std: float | list[float] = 1.0  # noise of its measured efforts
    params: dict[str, Any] = field(default_factory=dict)
    simulate: dict[str, Any] = field(default_factory=dict)
    prior: PriorSpec = PriorSpec()
    search: SearchSpec = SearchSpec()
    path: str = ""
    plain: dict[str, Any] = field(default_factory=dict)
    root: Lined | None = field(default=None, repr=False)  # the file with its lines; None of keys that are no text

    @property
    def by_regressor(self) -> bool:
        """Whether a motion is judged by the regressor of a plant, and not by what outputs show of parameters."""
        return self.criterion.startswith("condition") or bool(self.plant and not self.outputs)
