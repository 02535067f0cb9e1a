"""Algorithm 3 of the thesis: descent with halved steps, every gradient from simulations with perturbed parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from blocksim.errors import RecordError
from blocksim.simulation.experiment import Experiment

from .regression.regression import fit
from .regression.spectrum import Spread, spectral_spread

LONGEST = 0.5  # of a parameter: the longest step, as in the appendix of the thesis
SMALL_STEP = 1e-3  # of a standard deviation: a step that changes nothing
WHITENESS_LAGS = 20


@dataclass(frozen=True)
class Rules:
    """How to search."""

    method: str  # newton or gradient
    difference: float  # share of a parameter by which it is moved for a derivative
    tolerance: float  # share of its scale below which a step is none
    iterations: int
    halvings: int


@dataclass(frozen=True)
class SearchProblem:
    """Parameters by name, with start, size and limits; and what is known beside them."""

    names: tuple[str, ...]
    start: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    known: dict[str, float]


@dataclass
class OutputTwin:
    """A model to simulate, and how often that was done."""

    ready: Experiment
    signal: str
    names: tuple[str, ...]
    simulations: int = 0

    def outputs(self, points: list[np.ndarray]) -> list[np.ndarray | None]:
        """The output at each point, all simulated in one batch; None where a simulation failed."""
        from blocksim.running.simulate import simulate_many

        self.simulations += len(points)
        rows = [{f"plant.{n}": float(v) for n, v in zip(self.names, point, strict=True)} for point in points]
        results = simulate_many(self.ready, params=rows, collect=lambda record: record[self.signal], on_error="keep")
        return [one if isinstance(one, np.ndarray) and np.isfinite(one).all() else None for one in results]


@dataclass
class SearchState:
    """Where the search stands, and the way it came."""

    values: np.ndarray
    loss: float = math.inf
    y_hat: np.ndarray = field(default_factory=lambda: np.empty(0))
    reason: str = ""
    failed: bool = False
    converged: bool = False
    simulations: int = 0
    history: list[np.ndarray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    halvings: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # length of the history at the end of each horizon
    psi: np.ndarray | None = None
    residual: np.ndarray | None = None


def searched(
    rules: Rules, twin: OutputTwin, problem: SearchProblem, y: np.ndarray, counted: slice, search: SearchState
) -> SearchState:
    """Algorithm 3 on one horizon, from where the search stands."""
    first = twin.outputs([search.values])[0]
    if first is None:
        search.reason, search.failed = "the model cannot be simulated with the values at the start.", True
        search.simulations += twin.simulations
        return search
    if first.shape != y.shape:
        raise RecordError(f"y has shape {y.shape}, but {twin.signal.removeprefix('plant.')} of the model {first.shape}.")
    search.y_hat, search.loss = first, loss(y - first, counted)
    search.history.append(search.values)
    search.losses.append(search.loss)
    search.converged, search.reason = False, f"the {rules.iterations} iterations are used up; V still falls."
    for iteration in range(rules.iterations + 1):
        psi = gradient(rules, twin, problem, search, counted)
        if psi is None:
            search.failed = True
            search.reason = "the model cannot be simulated beside the present values, so there is no gradient."
            break
        search.psi, search.residual = psi, (y - search.y_hat)[counted].reshape(len(psi))
        if iteration == rules.iterations:
            break
        way, free = direction(rules, problem, search)
        if not free.any():
            search.reason = "no parameter can move: each is at a limit, or has no influence on y."
            break
        if nothing_left(rules, problem, search, way, free):
            search.converged, search.reason = True, f"converged in {iteration} iterations: the next step is none."
            break
        if not stepped(rules, twin, problem, search, y, counted, way):
            search.reason = f"after {iteration} iterations no step lowers V, halved {rules.halvings} times."
            search.converged = minimum_reached(rules, problem, search, way, free)
            break
    search.simulations += twin.simulations
    search.ends.append(len(search.history))
    return search


def loss(residual: np.ndarray, counted: slice) -> float:
    """V of (3.3)."""
    return float(np.mean(residual[counted] ** 2))


def gradient(rules: Rules, twin: OutputTwin, problem: SearchProblem, search: SearchState, counted: slice) -> np.ndarray | None:
    """psi = d y_hat / d theta, a column for each parameter, by central differences; one-sided at a limit."""
    x = search.values
    moves = np.diag(rules.difference * np.maximum(np.abs(x), 1e-2 * problem.scale))
    up = [np.minimum(x + move, problem.high) for move in moves]
    down = [np.maximum(x - move, problem.low) for move in moves]
    results = twin.outputs([*up, *down])
    columns = []
    for i, (above, below) in enumerate(zip(results[: len(x)], results[len(x) :], strict=True)):
        if above is None or below is None:
            return None
        columns.append(((above - below)[counted] / (up[i][i] - down[i][i])).ravel())
    return np.stack(columns, axis=1)


def direction(rules: Rules, problem: SearchProblem, search: SearchState) -> tuple[np.ndarray, np.ndarray]:
    """The step with D = 1 and which parameters it moves: not those that V pushes out of their limits."""
    psi, e = search.psi, search.residual
    assert psi is not None and e is not None
    downhill = 2 * psi.T @ e / len(e)  # -V'
    size = np.linalg.norm(psi, axis=0) * problem.scale
    visible = size > 1e-12 * np.linalg.norm(search.y_hat)
    stopped = ((search.values <= problem.low) & (downhill < 0)) | ((search.values >= problem.high) & (downhill > 0))
    free = visible & ~stopped
    way = np.zeros(len(psi[0]))
    if rules.method == "gradient":
        way[free] = (downhill * problem.scale**2)[free]
    elif free.any():
        lengths = np.linalg.norm(psi[:, free], axis=0)
        way[free] = np.linalg.lstsq(psi[:, free] / lengths, e, rcond=1e-10)[0] / lengths
    return way, free


def nothing_left(rules: Rules, problem: SearchProblem, search: SearchState, way: np.ndarray, free: np.ndarray) -> bool:
    """Whether the step is small against the scale of the parameters, or for newton against their standard deviations."""
    if (np.abs(way) <= rules.tolerance * problem.scale).all():
        return True
    return rules.method == "newton" and within(search, free, way / SMALL_STEP)


def minimum_reached(rules: Rules, problem: SearchProblem, search: SearchState, way: np.ndarray, free: np.ndarray) -> bool:
    """Whether a place from which no step lowers V is its minimum: Newton's step from there is shorter than what noise makes.

    A gradient with one step length for all can be stuck on the wall of a valley as well, so it is asked for a tenth of that.
    """
    if rules.method == "newton":
        return within(search, free, way, problem.scale)
    return within(search, free, 10 * direction(replace(rules, method="newton"), problem, search)[0], problem.scale)


def within(search: SearchState, free: np.ndarray, way: np.ndarray, scale: np.ndarray | None = None) -> bool:
    """Whether a step is shorter than the standard deviations, or than a millionth of the scale: rounding."""
    spread = np.sqrt(np.diag(white_covariance(search, free)))[free]
    small = np.abs(way[free]) <= spread
    if scale is not None:
        small |= np.abs(way[free]) <= 1e-6 * scale[free]
    return bool(small.all())


def stepped(
    rules: Rules, twin: OutputTwin, problem: SearchProblem, search: SearchState, y: np.ndarray, counted: slice, way: np.ndarray
) -> bool:
    """One step, halved until V falls; False where it never does."""
    D, size = 1.0, np.abs(search.values)
    longest = LONGEST * np.where((size == 0) | (rules.method == "newton"), np.maximum(size, problem.scale), size)
    while (D * np.abs(way) > longest).any() and D > 1e-300:
        D /= 2
    for count in range(rules.halvings + 1):
        trial = np.clip(search.values + D * way, problem.low, problem.high)
        output = twin.outputs([trial])[0]
        if output is not None and loss(y - output, counted) < search.loss:
            search.values, search.y_hat, search.loss = trial, output, loss(y - output, counted)
            search.history.append(trial)
            search.losses.append(search.loss)
            search.halvings.append(count)
            return True
        D /= 2
    return False


def white_covariance(search: SearchState, free: np.ndarray) -> np.ndarray:
    """sigma^2 (psi' psi)^-1 of the parameters that are free, infinite for the others."""
    assert search.psi is not None
    covariance = np.full((len(free), len(free)), 0.0)
    np.fill_diagonal(covariance, math.inf)
    if not free.any():
        return covariance
    psi = search.psi[:, free]
    lengths = np.linalg.norm(psi, axis=0)
    variance = search.loss * len(psi) / max(len(psi) - psi.shape[1], 1)
    inside = np.linalg.pinv((psi / lengths).T @ (psi / lengths)) / np.outer(lengths, lengths)
    covariance[np.ix_(free, free)] = variance * inside
    return covariance


def coloured_spread(search: SearchState, free: np.ndarray) -> Spread:
    """The covariance of the parameters that are free where residuals have a colour, every output a series of its own."""
    assert search.psi is not None and search.residual is not None
    psi = search.psi[:, free]
    linear = fit(psi, search.residual)
    outputs = 1 if search.y_hat.ndim == 1 else search.y_hat.shape[1]
    groups = np.tile(np.arange(outputs), len(psi) // outputs)
    return spectral_spread(psi @ linear.bread, psi, search.residual, np.ones(len(psi), dtype=bool), groups, 0.0)


def whiteness(residual: np.ndarray) -> tuple[np.ndarray, float]:
    """Autocorrelation at lags 1 to 20, a column per output, and the least probability of it in white noise (Ljung, Box)."""
    from scipy.stats import chi2

    e = residual - residual.mean(axis=0)
    power, n = np.sum(e**2, axis=0), len(e)
    if n <= 2 * WHITENESS_LAGS or not power.all():
        return np.zeros((WHITENESS_LAGS, e.shape[1])), 1.0
    r = np.array([np.sum(e[k:] * e[:-k], axis=0) / power for k in range(1, WHITENESS_LAGS + 1)])
    weights = n * (n + 2) / (n - np.arange(1, WHITENESS_LAGS + 1))
    return r, float(chi2.sf(weights @ r**2, WHITENESS_LAGS).min())
