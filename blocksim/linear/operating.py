"""Operating points: the situation at a time of a run, at given states, or where nothing moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from ..contract.declarations import Outport
from ..contract.times import exact
from ..diagram.diagram import Diagram
from ..diagram.spec import LogSpec, SeededOptions
from ..errors import DiagramError, SimulationError, did_you_mean, listing
from ..schedule.flatten import flatten
from ..schedule.schedule import Schedule
from ..simulation.experiment import Experiment, make_experiment, merge
from ..simulation.overrides import Overrides
from ..simulation.prepare import Diagrammatic
from ..simulation.simulation import Simulation
from .differences import jacobian
from .probe import Prober, Situation, situation
from .signal_taps import Tap, taps

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: A slope this small, against the terms it is the sum of, is rest.
REST = 1e-9


@dataclass(frozen=True)
class OperatingPoint:
    """A point to linearise at: states, inputs and outputs by name. `residual` is the largest slope there: 0 at rest."""

    t: float
    states: dict[str, float]
    inputs: dict[str, float]
    outputs: dict[str, float]
    residual: float
    situation: Situation = field(repr=False, compare=False)
    #: What must be added to signals of the diagram so that they are the inputs above.
    offsets: dict[tuple[str, str, int], float] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        lines = [f"OperatingPoint at t = {self.t:g} s, largest slope {self.residual:.2g}"]
        for title, values in (("states", self.states), ("inputs", self.inputs), ("outputs", self.outputs)):
            lines += (
                [f"  {title:8}" + "  ".join(f"{n} = {v if abs(v) > 1e-15 else 0:.6g}" for n, v in values.items())]
                if values
                else []
            )
        return "\n".join(lines)


#: Where to linearise: the initial states (None), states by name, a time the run reaches, or an operating point.
LinearizeAt: TypeAlias = OperatingPoint | Mapping[str, Any] | float | Fraction | None


def flattened(diagram: Diagrammatic, params: Mapping[str, Any] | None, options: Mapping[str, Any]) -> tuple[Diagram, Schedule]:
    """A diagram with its parameters and options, and its schedule."""
    source = replace(diagram.diagram, simulate=diagram.options) if isinstance(diagram, Experiment) else diagram
    result = Overrides(params).diagram(source)
    result = replace(result, simulate=merge(result, options))
    return result, flatten(result)


def starting(
    diagram: Diagram, schedule: Schedule, at: LinearizeAt, t: float, hit: bool = True, limit: int | None = None
) -> Situation:
    """The situation `at` names: None (initial states), {state: value}, or a time that a run reaches. With `hit`, sampled blocks
    have acted at that instant; without, the initial situation is that before the first hit. `limit`: of steps."""
    if isinstance(at, OperatingPoint):
        return at.situation
    if isinstance(at, bool) or not (at is None or isinstance(at, Mapping) or hasattr(at, "__float__")):
        raise DiagramError(f"at: found {at!r}. None, a time, a dict of states or an operating point is wanted.")
    settings = diagram.simulate
    start, end = exact(settings.start or 0), None if at is None or isinstance(at, Mapping) else exact_time(at)
    if end is not None and end < start:
        raise DiagramError(f"at: {at} s is before the start of the run at {settings.start} s.")
    if end is not None and end > start:
        settings = replace(settings, stop=end, every=end - start)
    else:  # the first instant alone: any solver will do
        settings = replace(settings, stop=start + 1, every=1, solver="euler", step=1)
    first = LogSpec(next(f"{u.path}.{port}" for u in schedule.units for port in u.kind.of(Outport)))
    experiment = make_experiment(replace(diagram, log=[first], simulate=settings))
    sim = Simulation(experiment, limit=limit)
    if isinstance(at, Mapping):
        override(experiment, sim.machine, at)
    if end is not None and end > start:
        sim.run()
    elif hit:
        sim.step()
    return situation(experiment, sim.machine, t if end is None else float(end))


def exact_time(at: float | Fraction) -> Fraction:
    try:
        return exact(at)
    except ValueError as error:
        raise DiagramError(f"at: {error} A time in seconds is wanted.") from None


def override(experiment: Experiment, machine: Any, values: Mapping[str, Any]) -> None:
    """Set states and memories by name: 'plant.x', 'robot.q[1]', or a vector as a list."""
    stores: dict[str, list[tuple[Any, int]]] = {}
    for store, slots in ((machine.x, experiment.slots.x), (machine.m, experiment.slots.m)):
        for k, slot in enumerate(slots):
            stores.setdefault(str(slot), []).append((store, k))
            if slot.element >= 0:
                stores.setdefault(f"{slot.path}.{slot.name}", []).append((store, k))
    for name, value in values.items():
        if name not in stores:
            names = [str(s) for s in experiment.slots.x]
            raise DiagramError(f"at: there is no state '{name}'. States are: {listing(names)}." + did_you_mean(name, names))
        numbers = list(value) if hasattr(value, "__len__") else [value] * len(stores[name])
        if len(numbers) != len(stores[name]):
            raise DiagramError(f"at: '{name}' has {len(stores[name])} elements, found {len(numbers)} numbers.")
        for (store, k), number in zip(stores[name], numbers, strict=True):
            store[k] = float(number)


@dataclass
class Rest:
    """The equations of rest: unknown are the free states and inputs, wanted are slopes of zero and signals on their values."""

    prober: Prober
    t: float
    x: FloatArray
    v: FloatArray
    free: list[int]  # states to be found
    loose: list[int]  # inputs to be found
    aims: FloatArray  # values of the first signals read

    def start(self) -> FloatArray:
        import numpy as np

        return np.concatenate([self.x[self.free], self.v[self.loose]])

    def placed(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """All states and inputs, the unknown ones from z."""
        x, v = self.x.copy(), self.v.copy()
        x[self.free], v[self.loose] = z[: len(self.free)], z[len(self.free) :]
        return x, v

    def residual(self, z: FloatArray) -> FloatArray:
        import numpy as np

        dx, y = self.prober.slopes(self.t, *self.placed(z))
        return np.concatenate([dx, y[: len(self.aims)] - self.aims])


def operating_point(
    diagram: Diagrammatic,
    inputs: Mapping[str, Any] | None = None,
    fixed: Mapping[str, float] | None = None,
    guess: LinearizeAt = None,
    outputs: str | Iterable[str] = (),
    params: Mapping[str, Any] | None = None,
    t: float = 0.0,
    **options: Unpack[SeededOptions],
) -> OperatingPoint:
    """Find states with x' = 0.

    `inputs` replaces signals by values: {"u": 0.3}; None as the value leaves it to be found. `fixed` asks states or signals to
    have a value: {"joint.q": 0.5}. `guess` is where the search starts, given as `at` of `linearize`. Sampled outputs hold.
    """
    import numpy as np

    source, schedule = flattened(diagram, params, options)
    start = starting(source, schedule, guess, t)
    driven, probes = taps(schedule, inputs or (), "inputs"), taps(schedule, outputs, "outputs")
    states, signals = wanted(schedule, start, fixed or {})
    prober = Prober(schedule, driven, [*(tap for tap, _ in signals), *probes, *driven], driven)
    if not prober.states:
        raise DiagramError("this diagram has no continuous states: there is nothing to bring to rest.")
    prober.load(replace(start, states={**start.states, **states}))
    targets = input_values(driven, inputs or {})
    prober.drive({tap.wire: v for tap, v in zip(driven, targets, strict=True) if v is not None})
    free = [k for k, name in enumerate(prober.states) if name not in states]
    loose = [k for k, target in enumerate(targets) if target is None]
    rest = Rest(prober, t, *prober.now(), free, loose, np.array([value for _, value in signals]))
    labels = [f"the slope of {name}" for name in prober.states] + [f"the error of {tap.name}" for tap, _ in signals]
    x, v = rest.placed(at_rest(rest, labels))
    dx, y = prober.slopes(t, x, v)
    rest_states = dict(zip(prober.states, x.tolist(), strict=True))
    own = y[len(y) - len(driven) :]
    return OperatingPoint(
        t,
        rest_states,
        {tap.name: float(value) for tap, value in zip(driven, v, strict=True)},
        {tap.name: float(value) for tap, value in zip([*(tap for tap, _ in signals), *probes], y, strict=False)},
        float(np.max(np.abs(dx))),
        replace(start, t=t, states=rest_states),
        {tap.wire: float(value - before) for tap, value, before in zip(driven, v, own, strict=True)},
    )


def input_values(driven: list[Tap], inputs: Mapping[str, Any]) -> list[float | None]:
    """The value asked of each input; a vector may be given one number or a list."""
    values: list[float | None] = []
    for name, value in inputs.items():
        mine = [tap for tap in driven if tap.name == name or tap.name.startswith((f"{name}[", f"{name}."))]
        numbers = list(value) if hasattr(value, "__len__") else [value] * len(mine)
        if len(numbers) != len(mine):
            raise DiagramError(f"inputs: '{name}' has {len(mine)} elements, found {len(numbers)} numbers.")
        values += [None if n is None else float(n) for n in numbers]
    return values


def wanted(schedule: Schedule, start: Situation, fixed: Mapping[str, float]) -> tuple[dict[str, float], list[tuple[Tap, float]]]:
    """What `fixed` asks: states by name, and signals."""
    states = {name: float(value) for name, value in fixed.items() if name in start.states}
    role = f"fixed (states are: {listing(start.states)})"
    others = [(name, value) for name, value in fixed.items() if name not in states]
    return states, [(tap, float(value)) for name, value in others for tap in taps(schedule, name, role)]


def at_rest(rest: Rest, labels: list[str]) -> FloatArray:
    """Solve residual(z) = 0, by least squares where there are more or fewer equations than unknowns."""
    import numpy as np
    from scipy.optimize import least_squares

    residual, z = rest.residual, rest.start()

    def slopes(z: FloatArray) -> FloatArray:
        return jacobian(residual, z)[0]

    if len(z):
        try:
            z = least_squares(residual, z, jac=slopes, x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=200).x
        except (ValueError, np.linalg.LinAlgError, SimulationError) as error:
            raise DiagramError(f"the search for an operating point ended: {error} A guess= nearer to it may help.") from None
        for _ in range(3):  # Newton's last digits
            step = np.linalg.lstsq(slopes(z), residual(z), rcond=1e-12)[0]
            if np.max(np.abs(residual(z - step))) >= np.max(np.abs(residual(z))):
                break
            z = z - step
    r = residual(z)
    scale = 1.0 + (np.abs(slopes(z)) @ np.abs(z) if len(z) else 0.0)
    if not np.all(np.abs(r) <= REST * scale):
        worst = int(np.argmax(np.nan_to_num(np.abs(r) / scale, nan=np.inf)))
        raise DiagramError(
            f"no operating point found: {labels[worst]} is still {r[worst]:.4g} at the best point met. Start nearer with guess=, "
            'leave an input to be found with inputs={"u": None}, or fix fewer values.'
        )
    return z
