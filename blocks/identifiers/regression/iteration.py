"""The iteration of an identifier that simulates the loop again at every estimate, and how it ended."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.errors import DiagramError, SimulationError, listing
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.twin import Twin

Motion = dict[str, np.ndarray]
HALVINGS = 8  # of a step into values the plant cannot have
RUNAWAY = 1e3  # relative change of a parameter, after the first step, that no longer is an iteration
UNSETTLED = 0.01  # relative change at the end above which nothing was found
NOTHING = 0.01  # standard deviations: a step this small is none, whatever tol says
TINY = 1e-9  # of the size at which a parameter would explain all: what is smaller is 0


@dataclass
class Looped:
    """The loop around a plant, to be run with other parameters of it."""

    twin: Twin
    plant: Plant
    path: str
    simulations: int = 0
    limited: dict[str, float] = field(default_factory=dict)  # parameters that were asked to go beyond their limit
    told: list[str] = field(default_factory=list)  # what must be said of how it begins

    def motion(self, beta: np.ndarray) -> Motion:
        """The motion at these parameters. A friction below 0, its limit, is run as 0; an inertia of 0 cannot be run."""
        values = self.settings(beta)
        try:
            signals = self.twin.run(values)
        except DiagramError as error:  # limits that several parameters have together
            raise Impossible(str(error)) from None
        finally:
            self.simulations += 1
        return self.own(signals)

    def motions(self, table: list[np.ndarray], then: Callable[[int, Motion], np.ndarray]) -> list[np.ndarray]:
        """What `then` makes of the motion at each of several parameters, all at once where the twin is compiled."""
        if not self.twin.experiment.program.compiled:
            return [then(i, self.motion(beta)) for i, beta in enumerate(table)]
        self.simulations += len(table)
        results = []
        for one in self.twin.run_many([self.settings(b) for b in table], lambda i, found: then(i, self.own(found))):
            if isinstance(one, SimulationError):
                raise one
            results.append(one)
        return results

    def own(self, signals: Motion) -> Motion:
        return {s: signals[f"{self.path}.{s}"] for s in self.plant.motion}

    def settings(self, beta: np.ndarray) -> dict[str, float]:
        values = {}
        for name, value in zip(self.plant.parameters, beta.tolist(), strict=True):
            declared: Any = self.plant.declared(name)
            low = declared.min if declared.min is not None else -math.inf
            high = declared.max if declared.max is not None else math.inf
            values[name] = used = min(max(value, low), high)
            if problems := declared.problems(used):
                raise Impossible(f"{name} = {value:.4g}, which {problems[0]}")
            self.limited.pop(name, None)
            if used != value:
                self.limited[name] = used
        return {f"{self.path}.{name}": value for name, value in self.plant.settings_of(values).items()}


class Impossible(Exception):
    """Parameters that the plant cannot have."""


@dataclass
class Path:
    """How an iteration went, and the last motion that was simulated."""

    beta: np.ndarray
    history: list[np.ndarray]
    reason: str = ""
    at: np.ndarray = field(default_factory=lambda: np.zeros(0))  # the parameters of the motion; beta is one small step further
    motion: Motion = field(default_factory=dict)
    rows: Any = None  # the equations made of the motion
    settled: bool = False
    failed: bool = False


class LoopEquations(ABC):
    """What an identifier makes of a motion, and solves."""

    #: Rows of the inverse model at every sample of the motion that counts, (samples, joints, parameters): not filtered.
    columns: np.ndarray

    @abstractmethod
    def system(self, motion: Motion) -> Any:
        """The equations at a motion."""

    @abstractmethod
    def solve(self, rows: Any, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A step from beta that solves them, and its standard deviation."""

    @abstractmethod
    def natural(self, rows: Any) -> np.ndarray:
        """The size of each parameter at which it would explain the effort by itself."""

    def hastened(self, path: Path, step: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The step, or a better one, given sizes to measure it by."""
        return step


def iterate(looped: Looped, beta: np.ndarray, equations: LoopEquations, tol: float, limit: int) -> Path:
    """Simulate at beta, solve for a better one, and again, until a step is too small to be worth another simulation."""
    path = Path(beta, [beta])
    try:
        simulated(path, looped.motion(beta), beta, equations)
    except (Impossible, SimulationError) as error:
        return ended(path, f"diverged: the loop cannot be simulated at the starting values: {error}")
    change = np.inf
    for count in range(1, limit + 1):
        step, std = equations.solve(path.rows, path.beta)
        if not np.isfinite(step).all():
            return ended(path, f"diverged in iteration {count}: the step is not finite")
        std = np.where(np.isfinite(std), std, 0.0) + TINY * equations.natural(path.rows)
        step = equations.hastened(path, step, sizes(path.beta + step, std))
        scale = sizes(path.beta + step, std)
        change = float(np.max(np.abs(step) / scale))
        if np.all(np.abs(step) <= tol * scale + NOTHING * std):
            return with_last_step(path, looped, step, count, change)
        share = 1.0
        for _ in range(HALVINGS):
            try:
                motion = looped.motion(path.beta + share * step)
                break
            except (Impossible, SimulationError) as error:
                share, why = share / 2, error
        else:
            return ended(path, f"diverged in iteration {count}: it leads where the loop cannot be simulated: {why}")
        path.beta = path.beta + share * step
        path.history.append(path.beta)
        simulated(path, motion, path.beta, equations)
        change = float(np.max(np.abs(share * step) / sizes(path.beta, std)))
        if count > 1 and change > RUNAWAY:
            return ended(path, f"diverged in iteration {count}: a parameter changed by {change:.3g} times its size")
    path.reason = f"stopped after {limit} iterations, the last of which still changed a parameter by {change:.2g} of its size"
    if looped.limited:  # it creeps along where the twin no longer has the parameters that are solved for
        path.reason += f", and {listing(looped.limited)} beyond what the plant allows"
    return ended(path, f"diverged: {path.reason}") if change > UNSETTLED or looped.limited else path


def sizes(beta: np.ndarray, std: np.ndarray) -> np.ndarray:
    """What a change of each parameter is measured by."""
    scale = np.abs(beta) + std
    return np.where(scale > 0, scale, 1.0)


def simulated(path: Path, motion: Motion, beta: np.ndarray, equations: LoopEquations) -> None:
    path.motion, path.at, path.rows = motion, beta, equations.system(motion)


def with_last_step(path: Path, looped: Looped, step: np.ndarray, count: int, change: float) -> Path:
    """The end: the last step is taken, and as nobody could see the difference in the motion, that is not simulated again."""
    try:
        looped.settings(path.beta + step)
        path.beta = path.beta + step
    except Impossible:  # by less than tol; what was simulated will do
        pass
    path.history.append(path.beta)
    path.settled = True
    path.reason = f"converged in {count} iterations: the last changed no parameter by more than {change:.1g} of its size"
    return path


def ended(path: Path, reason: str) -> Path:
    path.reason, path.failed = reason, True
    return path


def diverged(method: str, path: Path, looped: Looped) -> Estimates:
    """Estimates that say so: nan for every number."""
    nothing = np.full(len(looped.plant.parameters), np.nan)
    words = {"warnings": (path.reason,), "reason": path.reason, "details": history(path, looped)}
    return Estimates.of(method, looped.plant.parameters, nothing, nothing, looped.plant, **words)


def starting_values(path: Path, looped: Looped) -> dict[str, tuple[float, float]]:
    """Where the iteration began; it knows no spread of that."""
    return {n: (float(v), np.nan) for n, v in zip(looped.plant.parameters, path.history[0], strict=True)}


def history(path: Path, looped: Looped) -> dict[str, Any]:
    steps = len(path.history) - 1
    return {"iterations": steps, "simulations": looped.simulations, "history": np.array(path.history), "converged": path.settled}


def assumed_sources(twin: Twin) -> list[str]:
    """Said of a measured record: what drove the loop is taken from the diagram, and need not be what was sent."""
    notes = [f"the record does not hold {listing(twin.assumed)}: assumed to have acted as in the diagram"] if twin.assumed else []
    if twin.silenced:
        notes.append(f"the record does not hold {listing(twin.silenced)}: the simulated loop goes without this noise")
    return notes


def remarks(path: Path, looped: Looped) -> list[str]:
    """Warnings every such identifier has."""
    words = [] if path.settled else [f"not converged: {path.reason}"]
    return (
        words
        + looped.told
        + assumed_sources(looped.twin)
        + [f"{n}: the estimate is beyond what the plant allows; the twin ran with {v:g}" for n, v in looped.limited.items()]
    )
