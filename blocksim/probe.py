"""A diagram taken from its wires: some signals driven from outside, some read, all as a function of states and inputs.

The diagram is copied flat; what is driven gets a block of its own between its maker and its readers, what is read becomes the
slope of an extra state, so that one call of the generated `derivative` gives slopes and outputs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .block import Block, inport, outport, param, state
from .declarations import Memory, Outport, State
from .diagram import Diagram, Node, Ref
from .errors import DiagramError, Problem, SimulationError
from .experiment import Experiment, make_experiment
from .logs import named_signals
from .schedule import Schedule, Unit
from .simulation import Simulation
from .spec import LogSpec, SimulateSpec

if TYPE_CHECKING:
    import numpy as np


class Added(Block):
    """y = u + value: a signal with an input of ours added, the loop around it closed."""

    value: Any = param(0.0, "what is added")
    u = inport("the signal")
    y = outport("the signal and the input")

    @staticmethod
    def output(u, value):
        return u + value


class Opened(Block):
    """y = value: a signal cut, and driven from outside instead."""

    value: Any = param(0.0, "what stands in for the signal")
    y = outport("the input")

    @staticmethod
    def output(value):
        return value


class PartlyOpened(Block):
    """y = keep u + value: a vector of which some elements are cut (keep 0) and the others pass (keep 1)."""

    value: Any = param(0.0, "what is added, or stands in")
    keep: Any = param(1.0, "1 where the signal passes, 0 where it is cut")
    u = inport("the signal")
    y = outport("the signal and the input")

    @staticmethod
    def output(u, keep, value):
        return keep * u + value


class Probe(Block):
    """z' = u: the slope of z is the signal that is read."""

    u = inport("the signal")
    z: float = state(0.0, "its integral, of no interest")

    @staticmethod
    def derivative(u):
        return u


@dataclass(frozen=True)
class Tap:
    """One scalar signal that is driven or read: the name it goes by, the block and port that make it, its element."""

    name: str
    path: str
    port: str
    element: int

    @property
    def wire(self) -> tuple[str, str, int]:
        return self.path, self.port, self.element


def taps(schedule: Schedule, names: str | Iterable[str], role: str) -> list[Tap]:
    """Signals by name, one tap for each scalar; what is wrong is reported together, in the words of `role`."""
    problems: list[Problem] = []
    found: list[Tap] = []
    for name in [names] if isinstance(names, str) else names:
        for full, elements in named_signals(schedule, LogSpec(name), problems):
            word = name if full.startswith(f"{name}.") and full.count(".") == name.count(".") + 1 else full
            several = len(named_signals(schedule, LogSpec(name), [])) > 1
            for index, port, k in elements:
                shown = (full if several else word) + (f"[{k}]" if len(elements) > 1 else "")
                found.append(Tap(shown, schedule.units[index].path, port, k))
    if problems:
        raise DiagramError([Problem(p.what.replace("log:", f"{role}:", 1)) for p in problems])
    twice = [a.name for i, a in enumerate(found) if any(a.wire == b.wire for b in found[:i])]
    if twice and role != "outputs":
        raise DiagramError(f"{role}: '{twice[0]}' is named twice.")
    return found


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
            held = isinstance(declared, Outport) and unit.kind.sampled
            if (held or isinstance(declared, Memory)) and (unit.index, name) in slots.where:
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

    def __init__(self, schedule: Schedule, driven: Sequence[Tap], read: Sequence[Tap], opened: Sequence[Tap] = ()):
        self.driven, self.read = list(driven), list(read)
        self.paths: dict[str, str] = {}  # of the flat copy -> of the diagram
        flat, makers, probes = flat_copy(schedule, self.driven, self.read, opened, self.paths)
        made = make_experiment(flat)
        machine = Simulation(made).machine
        self.experiment, self.slots = made, made.slots
        self.functions = made.program.careful()
        self.x, self.p, self.m, self.a = machine.x.tolist(), machine.p.tolist(), machine.m.tolist(), machine.a
        self.o, self.noise = quiet(self.slots, machine.o.tolist())
        self.guarding = (machine.g.tolist(), machine.armed.tolist(), machine.f.tolist())
        units = {u.path: u for u in made.schedule.units}
        where = self.slots.where
        self.values = [where[(units[maker].index, "value")][k] for maker, k in makers]
        self.probes = [where[(units[probe].index, "z")][0] for probe in probes]
        self.kept = [k for k in range(len(self.x)) if k not in set(self.probes)]
        self.states = [f"{self.paths[s.path]}{str(s)[len(s.path):]}" for s in (self.slots.x[k] for k in self.kept)]
        self.loops = [" -> ".join(self.paths[made.schedule.units[u].path] for u, _ in loop) for loop in made.program.source.loops]

    def load(self, given: Situation) -> None:
        """Take the numbers of the diagram over."""
        for address, name in zip(self.kept, self.states, strict=True):
            self.x[address] = given.states[name]
        for unit, name, addresses in owned(self.experiment.schedule, self.slots):
            for address, value in zip(addresses, given.memories.get((self.paths[unit.path], name), []), strict=False):
                self.m[address] = value
        for unit, name, copy, stretch in array_memories(self.experiment.schedule, self.slots, self.o):
            self.a[stretch] = given.arrays[(self.paths[unit.path], name, copy)]

    def drive(self, values: dict[tuple[str, str, int], float]) -> None:
        """Set inputs, by wire."""
        for tap, address in zip(self.driven, self.values, strict=True):
            self.p[address] = values.get(tap.wire, self.p[address])

    def now(self) -> tuple[np.ndarray, np.ndarray]:
        """The states and the inputs as they are."""
        import numpy as np

        return np.array([self.x[k] for k in self.kept]), np.array([self.p[k] for k in self.values])

    def slopes(self, t: float, x: Sequence[float], v: Sequence[float], m: list[float] | None = None, a: Any = None) -> Any:
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
            self.functions["derivative"](t, dx, states, p, m, a, self.noise, self.o)
        self.check_loops(m, t)
        return np.array([dx[k] for k in self.kept]), np.array([dx[k] for k in self.probes])

    def check_loops(self, m: list[float], t: float) -> None:
        if self.loops and m[-1] > 0:
            walk = self.loops[int(m[-1]) - 1]
            raise SimulationError(f"the algebraic loop {walk} has no solution that Newton's method finds here.", time=t)


def flat_copy(
    schedule: Schedule, driven: Sequence[Tap], read: Sequence[Tap], opened: Iterable[Tap], paths: dict[str, str]
) -> tuple[Diagram, list[tuple[str, int]], list[str]]:
    """The diagram without subsystems, with its taps: also the block and element that drive each input, and the probe of each output."""
    names: dict[str, str] = {}

    def named(path: str, shown: str) -> str:
        name = path.replace(".", "__")
        while name in paths:
            name += "_"
        paths[name] = shown
        return name

    for unit in schedule.units:
        names[unit.path] = named(unit.path, unit.path)
    cut = {tap.wire for tap in opened}
    sizes = {u.path: u.sizes for u in schedule.units}
    makers: dict[tuple[str, str], str] = {}
    nodes: dict[str, Node] = {}
    for path, port in dict.fromkeys((tap.path, tap.port) for tap in driven):
        size = sizes[path][port]
        keep = [0.0 if (path, port, k) in cut else 1.0 for k in range(size)]
        zero: Any = [0.0] * size if size > 1 else 0.0
        block = Opened(value=zero) if not any(keep) else Added(value=zero) if all(keep) else PartlyOpened(value=zero, keep=keep)
        maker = makers[(path, port)] = named(f"{path}.driven", path)
        nodes[maker] = Node(maker, block, None if isinstance(block, Opened) else f"{names[path]}.{port}")

    def written(ref: Ref) -> str:
        through = makers.get((ref.block, ref.port))
        return str(Ref(through, "y", ref.element) if through else Ref(names[ref.block], ref.port, ref.element))

    for unit in schedule.units:
        inputs = {p: [written(r) for r in refs] for p, refs in unit.inputs.items() if refs}
        single = {p: refs if unit.kind.declared[p].many else refs[0] for p, refs in inputs.items()}
        nodes[names[unit.path]] = Node(names[unit.path], unit.block, single or None, place=unit.node.place)
    probes = []
    for tap in read:
        probes.append(named(f"{tap.path}.read", tap.path))
        element = tap.element if sizes[tap.path][tap.port] > 1 else None
        nodes[probes[-1]] = Node(probes[-1], Probe(), str(Ref(names[tap.path], tap.port, element)))
    settings = SimulateSpec(stop=1, solver="dopri5", every=1, algebraic_loops=schedule.diagram.simulate.algebraic_loops)
    return Diagram(schedule.name, simulate=settings, log=[], nodes=nodes), [(makers[t.path, t.port], t.element) for t in driven], probes


def quiet(slots: Any, o: list[int]) -> tuple[list[int], Any]:
    """Every noise at its mean: two draws a stream, of the instant and of what would follow it."""
    import numpy as np

    noise = np.zeros(2 * len(slots.streams))
    for number, (_, kind, address) in enumerate(slots.streams):
        o[address] = 2 * number
        noise[2 * number : 2 * number + 2] = 0.5 if kind == "uniform" else 0.0
    return o, noise


def continuous_states(unit: Unit) -> list[str]:
    """The continuous states a block declares."""
    return [n for n, d in unit.kind.of(State).items() if not isinstance(d, Memory)]
