"""What the identifiers share that simulate the loop again at every estimate: ports, starting values, rows, the iteration."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.block import Block, RecordBlock, inport, model, outport, param, static
from blocksim.declarations import Outport, State
from blocksim.errors import DiagramError, RecordError, SimulationError, did_you_mean, listing
from blocksim.estimates import Estimates
from blocksim.plant import Plant
from blocksim.process import Run
from blocksim.twin import Twin, twin_of

from .filters import decimate, kept, low_pass
from .regression import Fit, all_present, autocovariance, fit, members, portmanteau

LAGS, UNLIKELY = 20, 0.01  # of the test for coloured residuals
ROUNDING = 1e-9  # residuals below this share of the torque are no noise
HALVINGS = 8  # of a step into values the plant cannot have
RUNAWAY = 1e3  # relative change of a parameter, after the first step, that no longer is an iteration
UNSETTLED = 0.01  # relative change at the end above which nothing was found
NOTHING = 0.01  # standard deviations: a step this small is none, whatever tol says
OPENING = 20  # samples from which position and speed at the start are taken


class Resimulation(RecordBlock):
    """tau = W beta, W or its instruments from the twin: the run simulated again with ideal sensors and the current beta."""

    abstract = True
    family = "identification"

    model: str = model("the plant that is identified, a block of the diagram")
    start: Any = static(0.7, "starting values: a factor of those in the diagram, values by name, or 'ls' for least squares of "
                        "the measured motion", kind=(int, float, dict, str))  # fmt: skip
    cutoff: float = param(0.0, "zero-phase Butterworth filter of order 4 on both sides of the equation; 0: none", "Hz", min=0)
    decimate: int = static(1, "one row in how many is kept, on both sides, by the rule of Decimate", kind=int)
    skip: float = param(0.0, "time at the start of the record that is left out, before decimation", "s", min=0)
    edges: int = static(0, "rows left out at either end, where filters see one side only", kind=int)
    rest: str = static(
        "drop", "rows of a joint that rests in the twin; keep them where it never sticks", choices=("drop", "keep")
    )
    drop_slow: float = param(0.0, "rows slower than this share of a joint's top speed in the twin do not count", min=0, below=1)
    initial: str = static("diagram", "where the twin starts: at the plant's settings, or at the first samples of q",
                          choices=("diagram", "record"))  # fmt: skip
    errors: str = static("coloured", "what the standard deviations take the residuals for", choices=("coloured", "white"))
    tol: float = param(1e-5, "change of every parameter, relative to its size, at which the iteration ends; so does one of a "
                       "hundredth of its standard deviation", above=0)  # fmt: skip
    max_iterations: int = static(50, "the iteration is given up after so many", kind=int)
    predicted = outport("torque or force of the model at the estimate", size="n")
    residual = outport("measured less predicted, neither filtered nor decimated", size="n")

    def modelled(self, plants: Mapping[str, Plant]) -> type[Block]:
        if "model" not in plants:
            return type(self)
        plant = plants["model"]
        if not plant.path:
            raise DiagramError(
                f"model: {self.settings['model']} is a type. The loop is simulated again, so name the block of the diagram that "
                "is driven in it."
            )
        plant.row_function()
        missing = [s for s in plant.motion if s not in plant.kind.of(Outport)]
        if missing:
            raise DiagramError(f"model: {plant.name} has no output {listing(missing)}, which its regressor asks for.")
        return with_ports(type(self), plant.drive, plant.motion, self.motion_needed)  # type: ignore[arg-type]

    #: Whether the measured motion must be connected.
    motion_needed = False

    def fits(self, path: str, schedule: Any) -> None:
        unit = schedule.unit(path)
        plant = unit.plants["model"]
        text = start_problem(self.settings["start"], plant)
        if text:
            raise DiagramError(f"start: {text}")
        wanted = {"start: ls": plant.motion if self.settings["start"] == "ls" else ()}
        wanted["initial: record"] = ("q",) if self.settings["initial"] == "record" else ()
        for why, ports in wanted.items():
            missing = [p for p in ports if not unit.inputs.get(p)]
            if missing:
                raise DiagramError(f"{why} needs the measured {listing(missing)}, which nothing is connected to.")

    @staticmethod
    def check(decimate, edges, max_iterations):
        for name, value, least in (("decimate", decimate, 1), ("edges", edges, 0), ("max_iterations", max_iterations, 1)):
            if value < least:
                return f"{name}: a whole number of at least {least} is wanted, found {value}."
        return None

    # ---- rows ------------------------------------------------------------------------------------------------------

    def rows(self, t: np.ndarray, values: np.ndarray) -> np.ndarray:
        """What the filters leave of the rows of one side of the equation; all sides must pass them alike."""
        flat = values.reshape(len(t), -1)
        if self.cutoff:
            flat = low_pass(t, flat, 4, self.cutoff, 12)
        flat = decimate(flat[self.first(t) :], self.decimate, "matlab")
        return flat[self.inner(len(flat))].reshape(-1, *values.shape[1:])

    def first(self, t: np.ndarray) -> int:
        return int(np.searchsorted(t, t[0] + self.skip - 1e-9))

    def inner(self, rows: int) -> slice:
        if rows <= 2 * self.edges + 1:
            raise RecordError(f"skip, decimate and edges leave {max(0, rows - 2 * self.edges)} rows.")
        return slice(self.edges, rows - self.edges)

    def counted(self, t: np.ndarray, motion: Mapping[str, np.ndarray], joints: int) -> np.ndarray:
        """Which rows count, (rows, joints): while a joint sticks its friction is whatever holds it, and its row is not valid."""
        first = self.first(t)
        samples = len(t) - first
        picked = range(first, len(t))[kept(samples, self.decimate, "matlab") if self.decimate > 1 else slice(None)]
        picked = picked[self.inner(len(picked))]
        speed = np.abs(motion["qd"].reshape(len(t), -1)) if "qd" in motion else np.ones((len(t), joints))
        if speed.shape[1] != joints:
            return np.ones((len(picked), joints), dtype=bool)
        still = speed == 0 if self.rest == "drop" else np.zeros(speed.shape, dtype=bool)
        if self.drop_slow:
            still |= speed < self.drop_slow * speed.max(axis=0)
        reach = self.decimate // 2
        if reach and still.any():  # a row made of several samples counts where none of them is at rest
            total = np.cumsum(np.pad(still, ((reach + 1, reach), (0, 0))), axis=0)
            still = total[2 * reach + 1 :] > total[: -2 * reach - 1]
        return ~still[picked.start : picked.stop : picked.step]

    # ---- the twin --------------------------------------------------------------------------------------------------

    def twin(self, t: np.ndarray, plant: Plant, run: Run, signals: Mapping[str, np.ndarray]) -> Looped:
        """The twin of the run, which gives the motion of the plant for parameters of the plant."""
        all_present(signals)
        path = run.path.rpartition(".")[0]
        path = f"{path}.{self.settings['model']}" if path else self.settings["model"]
        begin = first_state(t, plant, path, signals["q"]) if self.initial == "record" else {}
        return Looped(twin_of(run, t, [f"{path}.{s}" for s in plant.motion], start=begin), plant, path)

    def starting(self, t: np.ndarray, plant: Plant, signals: Mapping[str, np.ndarray], effort: np.ndarray) -> np.ndarray:
        """The first beta."""
        own = np.array([float(plant.settings[n]) for n in plant.parameters])
        given = self.settings["start"]
        if isinstance(given, Mapping):
            return np.array([float(given.get(n, v)) for n, v in zip(plant.parameters, own, strict=True)])
        if given != "ls":
            return own * float(given)
        motion = {s: signals[s] for s in plant.motion}
        count = self.counted(t, motion, effort.shape[1])
        rows = stacked(self.rows(t, plant.regressor(motion)), self.rows(t, effort), count)
        return weighted_fit(rows).values


@functools.lru_cache
def with_ports(base: type[Block], drive: str, motion: tuple[str, ...], needed: bool) -> type[Block]:
    """The identifier with the ports of a plant: what drives it, then what its regressor asks for."""
    text = f"def size_n({drive}):\n    return {drive}\n"
    made: dict[str, Any] = {}
    exec(text, made)
    ports: dict[str, Any] = {drive: inport(f"measured {drive} of the plant", size="any")}
    ports |= {s: inport(f"measured {s} of the plant", size="any", optional=not needed) for s in motion}
    return type(base.__name__, (base,), {"__doc__": base.__doc__, **ports, "size_n": staticmethod(made["size_n"])})


def start_problem(start: Any, plant: Plant) -> str:
    """What is wrong with starting values, in words."""
    if isinstance(start, str):
        return "" if start == "ls" else f"found '{start}'; a factor, values by name, or ls is wanted."
    if isinstance(start, Mapping):
        for name, value in start.items():
            if name not in plant.parameters:
                return f"{plant.name} has no parameter '{name}' in its inverse model; it has: {listing(plant.parameters)}." + (
                    did_you_mean(name, plant.parameters)
                )
            wrong = plant.kind.declared[name].problems(value)
            if wrong:
                return f"{name}: {wrong[0]}"
        return ""
    return "" if start > 0 else f"a factor above 0 is wanted, found {start}."


def first_state(t: np.ndarray, plant: Plant, path: str, q: np.ndarray) -> dict[str, Any]:
    """Position and speed at the start: a parabola through the first samples of q."""
    count = min(OPENING, len(t))
    if "q" not in plant.kind.of(State):
        raise RecordError(f"initial: record needs a plant whose state is q; {plant.name} has {listing(plant.kind.of(State))}.")
    found = np.polynomial.polynomial.polyfit(t[:count] - t[0], q[:count].reshape(count, -1), 2)
    states = {"q": found[0], "qd": found[1]}
    return {f"{path}.{n}": v.tolist() if len(v) > 1 else float(v[0]) for n, v in states.items() if n in plant.kind.of(State)}


@dataclass(frozen=True)
class Rows:
    """y = W beta, row under row: of every instant its joints. A row of weight 0 does not count."""

    W: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray

    def times(self, beta: np.ndarray) -> np.ndarray:
        return times(self.W, beta)


def times(W: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """W beta without BLAS, whose threads cost more than such slim matrices when several runs are identified at once."""
    return np.einsum("ij,j->i", W, beta)


def effort_of(plant: Plant, motion: Mapping[str, np.ndarray], beta: np.ndarray) -> np.ndarray:
    """What the inverse model says of a motion, (samples, joints)."""
    return np.einsum("kij,j->ki", plant.regressor(motion), beta)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A' B, likewise."""
    return np.einsum("ij,ik->jk", A, B)


def against(rest: np.ndarray, W: np.ndarray) -> np.ndarray:
    """W' rest, likewise."""
    return np.einsum("i,ij->j", rest, W)


def power(rest: np.ndarray) -> float:
    """Sum of squares, likewise."""
    return float(np.einsum("i,i->", rest, rest))


def stacked(W: np.ndarray, y: np.ndarray, count: np.ndarray) -> Rows:
    """(rows, joints, parameters) and (rows, joints) under each other, the rows of a joint in the order of time."""
    return Rows(W.reshape(-1, W.shape[-1]), y.ravel(), count.ravel().astype(float), joint_of_row(*y.shape))


@functools.lru_cache(maxsize=8)
def joint_of_row(rows: int, joints: int) -> np.ndarray:
    return np.tile(np.arange(joints), rows)


def by_joint(rows: Rows, beta: np.ndarray) -> np.ndarray:
    """The weights of the rows, those of each of several joints divided by the root mean square of what beta leaves of it."""
    if rows.groups[-1] == 0:  # one joint
        return rows.weights
    rest = (rows.y - rows.times(beta)) * rows.weights
    squares = np.bincount(rows.groups, rest**2) / np.maximum(np.bincount(rows.groups, rows.weights > 0), 1)
    least = 1e-14 * np.sqrt(np.bincount(rows.groups, rows.y**2) / np.bincount(rows.groups)) + 1e-300
    return rows.weights / np.maximum(np.sqrt(squares), least)[rows.groups]


def least_squares_step(rows: Rows, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The step from beta to the least squares solution, with its standard deviation, by normal equations.

    An error of the step is put right by the next one, since each starts from what beta leaves; what is reported in the end
    comes from an orthogonal factorisation. Directions that the data do not determine keep their values.
    """
    weights = by_joint(rows, beta)
    Ww = rows.W if (weights == 1).all() else rows.W * weights[:, None]
    rest = (rows.y - rows.times(beta)) * weights
    return solved_step(product(Ww, Ww), against(rest, Ww), power(rest), int((weights > 0).sum()))


def solved_step(A: np.ndarray, b: np.ndarray, left: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """x of A x = b and its standard deviation, A being scaled to a diagonal of ones first."""
    if count <= len(b):
        raise RecordError(
            f"{count} rows are too few for {len(b)} parameters: skip, decimate, edges, drop_slow and rest (a twin that does not "
            "move) leave no more."
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return np.full(len(b), np.nan), np.full(len(b), np.nan)
    scale = np.sqrt(np.abs(np.diag(A)))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(A / np.outer(scale, scale), rcond=1e-13)
    step = inverse @ (b / scale) / scale
    variance = max(left - float(b @ step), 0.0) / max(1, count - len(b))
    return step, np.sqrt(np.abs(np.diag(inverse)) * variance) / scale


# ---- the iteration -------------------------------------------------------------------------------------------------------


@dataclass
class Looped:
    """The loop around a plant, to be run with other parameters of it."""

    twin: Twin
    plant: Plant
    path: str
    simulations: int = 0
    limited: dict[str, float] = field(default_factory=dict)  # parameters that were asked to go beyond their limit

    def motion(self, beta: np.ndarray) -> dict[str, np.ndarray]:
        """The motion at these parameters. A friction below 0, its limit, is run as 0; an inertia of 0 cannot be run."""
        values = self.settings(beta)
        try:
            found = self.twin.run(values)
        except DiagramError as error:  # limits that several parameters have together
            raise Impossible(str(error)) from None
        finally:
            self.simulations += 1
        return {s: found[f"{self.path}.{s}"] for s in self.plant.motion}

    def motions(self, table: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
        """The same for several, all at once where the twin is compiled."""
        if not self.twin.experiment.program.compiled:
            return [self.motion(beta) for beta in table]
        self.simulations += len(table)
        made = []
        for found in self.twin.run_many([self.settings(beta) for beta in table]):
            if isinstance(found, SimulationError):
                raise found
            made.append({s: found[f"{self.path}.{s}"] for s in self.plant.motion})
        return made

    def settings(self, beta: np.ndarray) -> dict[str, float]:
        values = {}
        for name, value in zip(self.plant.parameters, beta.tolist(), strict=True):
            declared: Any = self.plant.kind.declared[name]
            low = declared.min if declared.min is not None else -np.inf
            high = declared.max if declared.max is not None else np.inf
            values[f"{self.path}.{name}"] = used = min(max(value, low), high)
            if declared.problems(used):
                raise Impossible(f"{name} = {value:.4g}, which {declared.problems(used)[0]}")
            self.limited.pop(name, None)
            if used != value:
                self.limited[name] = used
        return values


class Impossible(Exception):
    """Parameters that the plant cannot have."""


@dataclass
class Path:
    """How an iteration went, and the last motion that was simulated."""

    beta: np.ndarray
    history: list[np.ndarray]
    reason: str = ""
    at: np.ndarray = field(default_factory=lambda: np.zeros(0))  # the parameters of the motion; beta is one small step further
    motion: dict[str, np.ndarray] = field(default_factory=dict)
    rows: Any = None  # the equations made of the motion
    settled: bool = False
    failed: bool = False


Hasten = Callable[[Path, np.ndarray, np.ndarray], np.ndarray]


def iterate(
    looped: Looped,
    beta: np.ndarray,
    system: Callable[[dict[str, np.ndarray]], Any],
    solve: Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]],
    tol: float,
    limit: int,
    hasten: Hasten | None = None,
) -> Path:
    """Simulate at beta, solve for a better one, and again, until a step is too small to be worth another simulation.

    `system` makes equations of a motion, `solve` a step and its standard deviation of them; `hasten` may improve a small step,
    given sizes to measure it by.
    """
    path = Path(beta, [beta])
    try:
        simulated(path, looped.motion(beta), beta, system)
    except (Impossible, SimulationError) as error:
        return ended(path, f"diverged: the loop cannot be simulated at the starting values: {error}")
    change = np.inf
    for count in range(1, limit + 1):
        step, std = solve(path.rows, path.beta)
        if not np.isfinite(step).all():
            return ended(path, f"diverged in iteration {count}: the step is not finite")
        std = np.where(np.isfinite(std), std, 0.0)
        if hasten is not None:
            step = hasten(path, step, sizes(path.beta + step, std))
        scale = sizes(path.beta + step, std)
        change = float(np.max(np.abs(step) / scale))
        if np.all(np.abs(step) <= tol * scale + NOTHING * std):
            return settled(path, looped, step, count, change)
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
        simulated(path, motion, path.beta, system)
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


def simulated(path: Path, motion: dict[str, np.ndarray], beta: np.ndarray, system: Callable[..., Any]) -> None:
    path.motion, path.at, path.rows = motion, beta, system(motion)


def settled(path: Path, looped: Looped, step: np.ndarray, count: int, change: float) -> Path:
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


def weighted_fit(rows: Rows) -> Fit:
    """Least squares, weighted by joint where there are several."""
    several = int(rows.groups.max()) > 0
    return fit(rows.W, rows.y, rows.groups if several else None, rows.weights)


def diverged(method: str, path: Path, looped: Looped) -> Estimates:
    """Estimates that say so: nan for every number."""
    nothing = np.full(len(looped.plant.parameters), np.nan)
    told = {"warnings": (path.reason,), "reason": path.reason, "details": history(path, looped)}
    return Estimates.of(method, looped.plant.parameters, nothing, nothing, looped.plant, **told)


def history(path: Path, looped: Looped) -> dict[str, Any]:
    steps = len(path.history) - 1
    return {"iterations": steps, "simulations": looped.simulations, "history": np.array(path.history), "converged": path.settled}


def remarks(path: Path, looped: Looped) -> list[str]:
    """Warnings every such identifier has."""
    told = [] if path.settled else [f"not converged: {path.reason}"]
    return told + [
        f"{n}: the estimate is beyond what the plant allows; the twin ran with {v:g}" for n, v in looped.limited.items()
    ]


def colour_remark(rest: np.ndarray, rows: Rows) -> list[str]:
    """A warning where residuals are not white."""
    told, several = [], rows.groups[-1] > 0
    for joint, own in members(rows.groups):
        used = rows.weights[own] > 0
        count = int(used.sum())
        if count <= 5 * LAGS or not spread(rest[own], used, count) > ROUNDING * spread(rows.y[own], used, count):
            continue
        c = autocovariance(rest[own], LAGS, used)
        if portmanteau(c, count)[1] < UNLIKELY:
            told.append(f"{f'joint {joint + 1}, ' if several else ''}{c[1] / c[0]:.2f} from row to row")
    return [f"residuals are coloured (correlation {'; '.join(told)})"] if told else []


def spread(values: np.ndarray, used: np.ndarray, count: int) -> float:
    """The standard deviation of those values that are used."""
    centred = np.where(used, values - float(np.sum(values, where=used)) / count, 0.0)
    return float(np.sqrt(power(centred) / count))


def relative_error(residuals: np.ndarray, y: np.ndarray) -> float:
    """||y - W beta|| / ||y||, in %."""
    size = power(y)
    return 100 * float(np.sqrt(power(residuals) / size)) if size else float("nan")
