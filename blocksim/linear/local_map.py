"""What a linearisation differences: slopes and outputs, or the map over one sample period and the outputs at its hit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Inport, Memory, Outport
from ..contract.times import exact
from ..errors import DiagramError
from ..schedule.schedule import Schedule, Unit
from ..solvers.stores import handed
from .probe import Prober, Situation, array_memories
from .signal_taps import Tap

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray


class LocalMap:
    """(z, v) -> (slopes, outputs), or with a period (z at the next hit, outputs at this one).

    z holds the continuous states and, with a period, the memories of the sampled blocks as they are just before a hit.
    """

    evaluations = 0  # between hits
    most_evaluations: float = math.inf  # a stiff plant takes very many

    def __init__(
        self,
        schedule: Schedule,
        driven: list[Tap],
        probes: list[Tap],
        opened: Iterable[Tap],
        period: Fraction | None,
        situation: Situation,
        with_holds: bool = False,
    ):
        self.prober, self.period, self.t = Prober(schedule, driven, probes, list(opened)), period, situation.t
        self.instant = exact(situation.t)  # the same time, which a float may not be
        self.prober.load(situation)
        self.names = list(self.prober.states)
        self.m: list[int] = []  # memories that are states: addresses in m, and in a
        self.a: list[int] = []
        self.holds = 0  # outputs that hold between hits, where they are asked for among the states: they come first in m
        self.modes: list[int] = []  # memories of blocks without a clock, such as what a contact does: places in m
        self.read_between = 0  # numbers of m and a, the first of them, that slopes may depend on
        if period is not None:
            self.find_memories(with_holds)

    def find_memories(self, with_holds: bool) -> None:
        """Memories of blocks with inputs that act at the hits; those of a source only say where it is in its sequence."""
        prober = self.prober
        units = [u for u in prober.experiment.schedule.units if u.group is not None and u.kind.of(Inport)]
        for unit in units if with_holds else ():
            for name in unit.kind.of(Outport) if unit.kind.sampled else ():
                where = prober.slots.where.get((unit.index, name), [])
                self.m += where
                self.names += [self.shown(unit, name, k, len(where)) for k in range(len(where))]
        self.holds = len(self.m)
        whole = all(unit.kind.sampled for unit in units)  # then nothing else of them is read between hits
        for unit in units:
            declared = unit.kind.of(Memory)
            if len({d.array for d in declared.values()}) > 1:
                raise DiagramError(
                    f"block '{prober.paths[unit.path]}' ({type(unit.block).__name__}) keeps its past in a ring, so no two "
                    "periods have the same map; a DiscreteTransferFunction in its place can be linearised."
                )
            for name in (n for n, d in declared.items() if not d.array):
                where = prober.slots.where[(unit.index, name)]
                self.m += where
                self.names += [self.shown(unit, name, k, len(where)) for k in range(len(where))]
        for unit, name, copy, stretch in array_memories(prober.experiment.schedule, prober.slots, prober.o):
            if unit in units:
                count = stretch.stop - stretch.start
                self.a += range(stretch.start, stretch.stop)
                self.names += [self.shown(unit, name, copy * count + k, count * unit.width) for k in range(count)]

        self.read_between = self.holds if whole else len(self.m) + len(self.a)
        others = [u for u in prober.experiment.schedule.units if u.group is None]
        self.modes = [k for u in others for name in u.kind.of(Memory) for k in prober.slots.where.get((u.index, name), [])]

    def shown(self, unit: Unit, name: str, k: int, count: int) -> str:
        return f"{self.prober.paths[unit.path]}.{name}" + (f"[{k}]" if count > 1 else "")

    def at(self) -> FloatArray:
        """z as it is."""
        import numpy as np

        return np.concatenate([self.prober.now()[0], [self.prober.m[k] for k in self.m], self.prober.a[self.a]])

    def take(self, other: LocalMap) -> None:
        """Stand where another stands."""
        values, self.t = other.at(), other.t
        n, k = len(self.prober.kept), len(self.m)
        for address, value in zip(self.prober.kept, values[:n], strict=True):
            self.prober.x[address] = float(value)
        for address, value in zip(self.m, values[n : n + k], strict=True):
            self.prober.m[address] = float(value)
        self.prober.a[self.a] = values[n + k :]

    def function(self, inputs: int) -> Callable[[FloatArray], FloatArray]:
        """The map of z and the first inputs, the others as they are, as one vector to one vector."""
        import numpy as np

        rest = self.prober.now()[1][inputs:]
        n, states = len(self.prober.kept), len(self.names)

        def evaluate(z: FloatArray) -> FloatArray:
            v = np.concatenate([z[states:], rest])
            if self.period is None:
                return np.concatenate(self.prober.slopes(self.t, z[:n], v))
            return np.concatenate(self.over_period(z[:states], v, float(self.period)))

        return evaluate

    def over_period(self, z: FloatArray, v: FloatArray, seconds: float) -> tuple[FloatArray, FloatArray]:
        """The hit, then the states carried over one period: (z at the next hit, outputs at this one)."""
        everyone = range(len(self.prober.experiment.schedule.groups))
        x, m, a = self.acted(z, v, self.t, everyone)
        _, y = self.prober.slopes(self.t, x, v, m, a)
        return self.together(self.flow(x, v, m, a, seconds), m, a), y

    def stores(self, z: FloatArray) -> tuple[list[float], list[float], FloatArray]:
        """z put into stores of the program: the states that are kept, m, a."""
        prober, n = self.prober, len(self.prober.kept)
        m, a = list(prober.m), prober.a.copy()
        for address, value in zip(self.m, z[n : n + len(self.m)], strict=True):
            m[address] = float(value)
        a[self.a] = z[n + len(self.m) :]
        return [float(value) for value in z[:n]], m, a

    def together(self, x: Any, m: list[float], a: FloatArray) -> FloatArray:
        """z of stores."""
        import numpy as np

        return np.concatenate([x, [m[k] for k in self.m], a[self.a]])

    def acted(self, z: FloatArray, v: FloatArray, t: float, due: Iterable[int]) -> tuple[list[float], list[float], FloatArray]:
        """The states that are kept, m and a after the hit of some groups, z before it."""
        import numpy as np

        prober = self.prober
        states, m, a = self.stores(z)
        x, p, o = list(prober.x), list(prober.p), list(prober.o)
        for store, addresses, values in ((x, prober.kept, states), (p, prober.values, v)):
            for address, value in zip(addresses, values, strict=True):
                store[address] = float(value)
        hits = [1 for _ in prober.experiment.schedule.groups for _ in (0, 1)]
        for group in due:
            hits[2 * group] = 0
        idle = {"hits": hits, "logs": [], "record": [], "k": (), **{name: list(store) for name, store in prober.guarding.items()}}
        with np.errstate(all="ignore"):
            prober.functions["hit"](*handed("hit", 0, t, **idle, x=x, p=p, m=m, a=a, noise=prober.noise, o=o))
        prober.check_loops(m, t)
        return [x[k] for k in prober.kept], m, a

    def flow(self, x: Any, v: FloatArray, m: list[float], a: FloatArray, seconds: float) -> FloatArray:
        """The continuous states some seconds on, to nearly full precision."""
        import numpy as np
        from scipy.integrate import solve_ivp

        if not len(x):
            return np.zeros(0)

        def slopes(t: float, x: FloatArray) -> FloatArray:
            self.count_evaluation()
            return self.prober.slopes(t, x, v, m, a)[0]

        run = solve_ivp(slopes, (self.t, self.t + seconds), x, method="DOP853", rtol=1e-12, atol=1e-14)
        return run.y[:, -1] if run.success else np.full(len(x), np.nan)

    def count_evaluation(self) -> None:
        self.evaluations += 1
        if self.evaluations > self.most_evaluations:
            raise DiagramError(f"between sample hits more than {self.most_evaluations} evaluations are needed here.")

    def carry_to_hit(self) -> None:
        """From a time of the run, its hit done, on to the instant before the next hit."""
        prober = self.prober
        for group in prober.experiment.schedule.groups[:1]:
            now = exact(self.t)
            following = group.offset + (math.floor((now - group.offset) / group.period) + 1) * group.period
            x, v = prober.now()
            for address, value in zip(prober.kept, self.flow(x, v, prober.m, prober.a, float(following - now)), strict=True):
                prober.x[address] = float(value)
            self.t = float(following)

    def outputs(self) -> list[float]:
        """The signals that are read, as they are."""
        return [float(y) for y in self.function(0)(self.at())[len(self.names) :]]

    def residual(self) -> float:
        """The largest slope, or change over a period."""
        import numpy as np

        z = self.at()
        moved = self.function(0)(z)[: len(z)]
        return float(np.max(np.abs(moved if self.period is None else moved - z), initial=0.0))
