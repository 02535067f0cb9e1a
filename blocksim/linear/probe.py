"""A diagram taken from its wires: slopes and outputs as a function of states and of inputs driven from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Memory, Outport, State
from ..errors import DiagramError, SimulationError
from ..schedule.schedule import Schedule, Unit
from ..simulation.experiment import Experiment, make_experiment
from ..simulation.noise import silence
from ..simulation.simulation import Simulation
from ..solvers.stores import handed
from .signal_taps import Tap, flat_copy

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray


@dataclass
class Situation:
    """The numbers of a diagram at an instant, by name: what a linearisation starts from."""

    t: float
    states: dict[str, float]
    memories: dict[tuple[str, str], list[float]]  # memories and held outputs, by block and name
    arrays: dict[tuple[str, str, int], Any]


def owned(schedule: Schedule, slots: Any) -> Iterable[tuple[Unit, str, list[int]]]:
    """Memories and held outputs of every block, with their addresses in m."""
    for unit in schedule.units:
        for name, declared in unit.kind.declared.items():
            holds = isinstance(declared, Outport) and unit.kind.sampled
            if (holds or isinstance(declared, Memory)) and (unit.index, name) in slots.where:
                yield unit, name, slots.where[(unit.index, name)]


def array_memories(schedule: Schedule, slots: Any, o: Any) -> Iterable[tuple[Unit, str, int, slice]]:
    """Memories that are arrays: their owner, name, copy and stretch of the array store."""
    for unit in schedule.units:
        for name, declared in unit.kind.of(Memory).items():
            for copy in range(unit.width if declared.array else 0):
                region = slots.array(unit, name, copy)
                yield unit, name, copy, slice(int(o[region.index]), int(o[region.index + 1]))


def situation(experiment: Experiment, machine: Any, t: float) -> Situation:
    """What a simulation has come to."""
    schedule, slots = experiment.schedule, experiment.slots
    states = {str(slot): float(value) for slot, value in zip(slots.x, machine.x, strict=True)}
    memories = {(u.path, n): [float(machine.m[k]) for k in where] for u, n, where in owned(schedule, slots)}
    arrays = {(u.path, n, c): machine.a[s].copy() for u, n, c, s in array_memories(schedule, slots, machine.o)}
    return Situation(t, states, memories, arrays)


class Prober:
    """Slopes and outputs of a diagram as a function of its states and of the inputs driven from outside."""

    def __init__(self, schedule: Schedule, driven: Sequence[Tap], outputs: Sequence[Tap], opened: Sequence[Tap] = ()):
        self.driven, self.read = list(driven), list(outputs)
        self.paths: dict[str, str] = {}  # of the flat copy -> of the diagram
        flat, makers, probes = flat_copy(schedule, self.driven, self.read, opened, self.paths)
        experiment = make_experiment(flat)
        machine = Simulation(experiment).machine
        self.experiment, self.slots = experiment, experiment.slots
        self.functions = experiment.program.careful()
        self.x, self.p, self.m, self.a = machine.x.tolist(), machine.p.tolist(), machine.m.tolist(), machine.a
        self.o, self.noise = silence(self.slots, machine.o.tolist())
        self.guarding = {name: getattr(machine, name).tolist() for name in ("g", "armed", "f")}
        units = {u.path: u for u in experiment.schedule.units}
        where = self.slots.where
        self.values = [where[(units[maker].index, "value")][k] for maker, k in makers]
        self.probes = [where[(units[probe].index, "z")][0] for probe in probes]
        self.kept = [k for k in range(len(self.x)) if k not in set(self.probes)]
        self.states = [f"{self.paths[s.path]}{str(s)[len(s.path) :]}" for s in (self.slots.x[k] for k in self.kept)]
        self.loops = [
            " -> ".join(self.paths[experiment.schedule.units[u].path] for u, _ in loop)
            for loop in experiment.program.source.loops
        ]

    def load(self, place: Situation) -> None:
        """Take the numbers of the diagram over."""
        missing = [name for name in self.states if name not in place.states]
        if missing:
            raise DiagramError(f"at: the operating point is of another diagram; it has no state '{missing[0]}'.")
        for address, name in zip(self.kept, self.states, strict=True):
            self.x[address] = place.states[name]
        for unit, name, addresses in owned(self.experiment.schedule, self.slots):
            for address, value in zip(addresses, place.memories.get((self.paths[unit.path], name), []), strict=False):
                self.m[address] = value
        for unit, name, copy, stretch in array_memories(self.experiment.schedule, self.slots, self.o):
            self.a[stretch] = place.arrays.get((self.paths[unit.path], name, copy), self.a[stretch])

    def drive(self, values: dict[tuple[str, str, int], float]) -> None:
        """Set inputs, by wire."""
        for tap, address in zip(self.driven, self.values, strict=True):
            self.p[address] = values.get(tap.wire, self.p[address])

    def now(self) -> tuple[FloatArray, FloatArray]:
        """The states and the inputs as they are."""
        import numpy as np

        return np.array([self.x[k] for k in self.kept]), np.array([self.p[k] for k in self.values])

    def slopes(self, t: float, x: Any, v: Any, m: list[float] | None = None, a: Any = None) -> tuple[FloatArray, FloatArray]:
        """(dx, y) at states x and inputs v, memories as they are or as given."""
        import numpy as np

        states, p = list(self.x), list(self.p)
        for address, value in zip(self.kept, x, strict=True):
            states[address] = float(value)
        for address, value in zip(self.values, v, strict=True):
            p[address] = float(value)
        m, dx = list(self.m if m is None else m), [0.0] * len(states)
        a = (self.a if a is None else a).copy()
        with np.errstate(all="ignore"):
            self.functions["derivative"](*handed("derivative", t, dx, x=states, p=p, m=m, a=a, noise=self.noise, o=self.o))
        self.check_loops(m, t)
        return np.array([dx[k] for k in self.kept]), np.array([dx[k] for k in self.probes])

    def check_loops(self, m: list[float], t: float) -> None:
        if self.loops and m[-1] > 0:
            walk = self.loops[int(m[-1]) - 1]
            raise SimulationError(f"the algebraic loop {walk} has no solution that Newton's method finds here.", time=t)


def continuous_states(unit: Unit) -> list[str]:
    """The continuous states a block declares."""
    return [n for n, d in unit.kind.of(State).items() if not isinstance(d, Memory)]
