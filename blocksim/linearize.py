"""linearize(): a diagram as x' = A x + B u, y = C x + D u around an operating point, by differences of its generated program.

    A, B, C, D = linearize("two_mass/open.yaml", inputs=["u"], outputs=["robot.w_m"])
    model = linearize("basics/pi_loop.yaml", "ref", "plant")
    model.poles(), model.frequency_response(w)

An input is added to the signal it names, all loops closed; with `cut` the signal is replaced by the input, the loop opened there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .declarations import Inport, Memory
from .differences import jacobian
from .errors import DiagramError, listing
from .linear_model import LinearModel, bode
from .operating import OperatingPoint, operating_point, prepared, starting
from .probe import Prober, Situation, Tap, array_memories, taps
from .schedule import Group, Schedule, Unit
from .simulate import Diagrammatic
from .ticks import exact

if TYPE_CHECKING:
    import numpy as np

__all__ = ["LinearModel", "OperatingPoint", "bode", "linearize", "operating_point"]

#: Entries whose estimated error is above this part of them are named in the note.
DOUBTFUL = 1e-5


def linearize(
    diagram: Diagrammatic,
    inputs: str | Iterable[str],
    outputs: str | Iterable[str],
    at: Any = None,
    params: Mapping[str, Any] | None = None,
    t: float = 0.0,
    *,
    cut: bool | str | Iterable[str] = (),
    dt: Any = None,
    **options: Any,
) -> LinearModel:
    """Linearise a diagram from `inputs` to `outputs`, signals named block, block.port or block.port[element].

    at      where: None, the initial states; {"plant.x": 1.0}; a time the simulation runs to; or an `operating_point`
    t       the time at which sources and other functions of time are taken (with `at` a time: that time)
    cut     signals that are cut rather than added to, so that loops through them are open; True cuts every input
    dt      True or the sample time: the exact map over one period, sampled blocks included. Without it sampled outputs hold,
            unless every state is sampled
    params  settings changed, as for `simulate`; further options (algebraic_loops, solver, step ...) are those of `simulate`

    An output is read where its block makes it: before the input of the same name is added, or at the far side of the cut.
    """
    import numpy as np

    built, schedule = prepared(diagram, params, options)
    driven, read = taps(schedule, inputs, "inputs"), taps(schedule, outputs, "outputs")
    opened = driven if cut is True else taps(schedule, cut or (), "cut")
    period = sample_time(schedule, dt)
    given = starting(built, schedule, at, t, hit=period is None)
    offsets = at.offsets if isinstance(at, OperatingPoint) else {}
    held = [Tap(".".join(wire[:2]), *wire) for wire in offsets]
    closed = Probing(schedule, united(driven, held), [*read, *united(driven, opened)], (), period, given)
    closed.prober.drive(offsets)
    if period is not None and at is not None and not isinstance(at, (Mapping, OperatingPoint)):
        closed.carry_to_hit()
    probing = closed
    values = {tap.wire: y + offsets.get(tap.wire, 0.0) for tap, y in zip(closed.prober.read, closed.outputs(), strict=True)}
    if opened:
        probing = Probing(schedule, united(driven, opened, held), read, opened, period, given)
        probing.take(closed)
        probing.prober.drive({**offsets, **{tap.wire: values[tap.wire] for tap in opened}})
    names, n, k = probing.names, len(probing.names), len(driven)
    if not n:
        raise DiagramError(
            f"there are no {'' if period is not None else 'continuous '}states in this diagram: nothing to linearise."
            + ("" if period is not None or not schedule.groups else " With dt=True sampled blocks are part of the model.")
        )
    J, errors = jacobian(probing.function(k), probing.start(k))
    J, errors = J[: n + len(read)], errors[: n + len(read)]
    rows = [*names, *(tap.name for tap in read)]
    columns = [*names, *(tap.name for tap in driven)]
    if not np.all(np.isfinite(J)):
        i, j = np.argwhere(~np.isfinite(J))[0]
        raise DiagramError(f"the derivative of {rows[i]} with respect to {columns[j]} is not finite here; linearise elsewhere (at=).")
    point = OperatingPoint(
        probing.t, dict(zip(names, probing.start(0)[:n].tolist(), strict=True)), {tap.name: values[tap.wire] for tap in driven},
        {tap.name: values[tap.wire] - offsets.get(tap.wire, 0.0) for tap in read}, probing.residual(), closed.given, offsets)
    return LinearModel(
        J[:n, :n], J[:n, n:], J[n:, :n], J[n:, n:], names, columns[n:], rows[n:], point, None if period is None else float(period),
        notes(schedule, period, probing, doubts(J, errors, rows, columns)))


def united(*groups: Iterable[Tap]) -> list[Tap]:
    """Taps in order, each wire once."""
    return list({tap.wire: tap for group in reversed([list(g) for g in groups]) for tap in reversed(group)}.values())[::-1]


def sample_time(schedule: Schedule, dt: Any) -> Fraction | None:
    """The period of a sampled model; None for a continuous one."""
    from .probe import continuous_states

    groups: list[Group] = list(dict.fromkeys((g.period, g.offset) for g in schedule.groups))  # type: ignore[arg-type]
    if dt is None or dt is False:
        lone = len(groups) == 1 and not any(continuous_states(u) for u in schedule.units)
        return schedule.groups[0].period if lone else None
    if len(groups) > 1:
        rates = listing(f"every {float(g.period):g} s" + (f" from {float(g.offset):g} s" if g.offset else "") for g in schedule.groups)
        raise DiagramError(f"dt: a sampled model is made of diagrams with one sample time; this one acts {rates}. "
                           "Without dt the continuous part is linearised, sampled outputs held.")
    if dt is True:
        if not groups:
            raise DiagramError("dt: no block of this diagram is sampled; say dt=0.01 for a hold of 0.01 s at the inputs.")
        return schedule.groups[0].period
    try:
        period = exact(dt)
    except ValueError as error:
        raise DiagramError(f"dt: {error} True or seconds are wanted.") from None
    if period <= 0 or (groups and period != schedule.groups[0].period):
        wanted = f"the diagram's sample time, {float(schedule.groups[0].period):g} s" if groups else "a time above 0"
        raise DiagramError(f"dt: {wanted}, is wanted, found {dt}.")
    return period


class Probing:
    """What is differenced: slopes and outputs, or the map over one sample period and the outputs at its hit."""

    def __init__(self, schedule: Schedule, driven: list[Tap], read: list[Tap], opened: Iterable[Tap], period: Fraction | None,
                 given: Situation):
        self.prober, self.period, self.given, self.t = Prober(schedule, driven, read, list(opened)), period, given, given.t
        self.prober.load(given)
        self.names = list(self.prober.states)
        self.m: list[int] = []  # memories that are states: addresses in m, and in a
        self.a: list[int] = []
        if period is not None:
            self.find_memories()

    def find_memories(self) -> None:
        """Memories of blocks with inputs that act at the hits; those of a source only say where it is in its sequence."""
        prober = self.prober
        units = [u for u in prober.experiment.schedule.units if u.group is not None and u.kind.of(Inport)]
        for unit in units:
            declared = unit.kind.of(Memory)
            if len({d.array for d in declared.values()}) > 1:
                raise DiagramError(
                    f"block '{prober.paths[unit.path]}' ({type(unit.block).__name__}) keeps its past in a ring, so no two periods have the "
                    "same map; a DiscreteTransferFunction in its place can be linearised.")
            for name in (n for n, d in declared.items() if not d.array):
                where = prober.slots.where[(unit.index, name)]
                self.m += where
                self.names += [self.shown(unit, name, k, len(where)) for k in range(len(where))]
        for unit, name, copy, stretch in array_memories(prober.experiment.schedule, prober.slots, prober.o):
            if unit in units:
                count = stretch.stop - stretch.start
                self.a += range(stretch.start, stretch.stop)
                self.names += [self.shown(unit, name, copy * count + k, count * unit.width) for k in range(count)]

    def shown(self, unit: Unit, name: str, k: int, count: int) -> str:
        return f"{self.prober.paths[unit.path]}.{name}" + (f"[{k}]" if count > 1 else "")

    def take(self, other: Probing) -> None:
        """Stand where another stands."""
        values, self.t = other.start(0), other.t
        n, k = len(self.prober.kept), len(self.m)
        for address, value in zip(self.prober.kept, values[:n], strict=True):
            self.prober.x[address] = float(value)
        for address, value in zip(self.m, values[n : n + k], strict=True):
            self.prober.m[address] = float(value)
        self.prober.a[self.a] = values[n + k :]

    def start(self, inputs: int) -> np.ndarray:
        """States (memories among them) and the first inputs, as they are."""
        import numpy as np

        x, v = self.prober.now()
        return np.concatenate([x, [self.prober.m[k] for k in self.m], self.prober.a[self.a], v[:inputs]])

    def function(self, inputs: int) -> Any:
        """z -> (slopes or next states, outputs)."""
        import numpy as np

        rest = self.prober.now()[1][inputs:]
        n, states = len(self.prober.kept), len(self.names)

        def evaluate(z: np.ndarray) -> np.ndarray:
            v = np.concatenate([z[states:], rest])
            return np.concatenate(self.prober.slopes(self.t, z[:n], v) if self.period is None else self.over_period(z[:states], v))

        return evaluate

    def over_period(self, z: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The hit, then the states carried over one period: (z at the next hit, outputs at this one)."""
        import numpy as np

        prober, n = self.prober, len(self.prober.kept)
        x, p, m, a, o = list(prober.x), list(prober.p), list(prober.m), prober.a.copy(), list(prober.o)
        for store, addresses, values in ((x, prober.kept, z[:n]), (m, self.m, z[n : n + len(self.m)]), (p, prober.values, v)):
            for address, value in zip(addresses, values, strict=True):
                store[address] = float(value)
        a[self.a] = z[n + len(self.m) :]
        hits = [k for _ in prober.experiment.schedule.groups for k in (0, 1)]
        with np.errstate(all="ignore"):
            prober.functions["hit"](0, self.t, hits, [], [], *(list(s) for s in prober.guarding), x, p, m, a, prober.noise, o)
        prober.check_loops(m, self.t)
        after = [x[k] for k in prober.kept]
        _, y = prober.slopes(self.t, after, v, m, a)
        assert self.period is not None
        ahead = self.flow(after, v, m, a, float(self.period))
        return np.concatenate([ahead, [m[k] for k in self.m], a[self.a]]), y

    def flow(self, x: Any, v: np.ndarray, m: list[float], a: np.ndarray, seconds: float) -> np.ndarray:
        """The continuous states some seconds on, to nearly full precision."""
        import numpy as np
        from scipy.integrate import solve_ivp

        if not len(x):
            return np.array(x)
        run = solve_ivp(lambda t, y: self.prober.slopes(t, y, v, m, a)[0], (self.t, self.t + seconds), x, "DOP853", rtol=1e-12, atol=1e-14)
        return run.y[:, -1] if run.success else np.full(len(x), np.nan)

    def carry_to_hit(self) -> None:
        """From a time of the run, its hit done, on to the instant before the next hit."""
        prober = self.prober
        groups = prober.experiment.schedule.groups
        if not groups:
            return
        group, now = groups[0], exact(self.t)
        following = group.offset + (math.floor((now - group.offset) / group.period) + 1) * group.period
        x, v = prober.now()
        ahead = self.flow(x, v, prober.m, prober.a, float(following - now))
        for address, value in zip(prober.kept, ahead, strict=True):
            prober.x[address] = float(value)
        self.t = float(following)
        self.given = Situation(self.t, dict(zip(prober.states, ahead.tolist(), strict=True)), self.given.memories, self.given.arrays)

    def outputs(self) -> list[float]:
        return self.function(0)(self.start(0))[len(self.names) :].tolist()

    def residual(self) -> float:
        """The largest slope, or change over a period."""
        import numpy as np

        z = self.start(0)
        moved = self.function(0)(z)[: len(z)]
        return float(np.max(np.abs(moved if self.period is None else moved - z)))


def doubts(J: np.ndarray, errors: np.ndarray, rows: list[str], columns: list[str]) -> str:
    """Entries that differences cannot settle: a corner or a jump at the operating point."""
    import numpy as np

    found = np.argwhere(errors > DOUBTFUL * np.maximum(np.abs(J), 1e-3 * np.max(np.abs(J), axis=1, keepdims=True, initial=0.0)))
    named = [f"{rows[i]} over {columns[j]}" for i, j in found[:3]]
    return f"not smooth here, so of little meaning: {listing(named)}{', ...' if len(found) > 3 else ''}" if named else ""


def notes(schedule: Schedule, period: Fraction | None, probing: Probing, doubt: str) -> str:
    """What a reader of the model must know."""
    held = [u.path for u in schedule.units if u.group is not None] if period is None else []
    text = [f"sampled blocks hold their outputs ({listing(held[:6])}{', ...' if len(held) > 6 else ''})"] if held else []
    if period is not None and probing.prober.experiment.program.source.guards and probing.prober.states:
        text.append("events between hits are left out")
    return "; ".join([*text, *([doubt] if doubt else [])])
