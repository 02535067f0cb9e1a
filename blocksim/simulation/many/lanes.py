"""Runs in lockstep: eight at a time, each in its own lane of the processor's vectors, with the bits it has alone.

It takes a program whose runs all take the same steps: no events, no error control. Where a lane fails, all eight are run again
one by one, so that each ends as it would alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...compiler.program import LANES
from ...contract.portable.choice import PORTABLE
from ...records.record import Record
from ...solvers import find_tableau, kernel, stores
from ...solvers.stores import ROWS, STORES, WHOLE
from ..experiment import Experiment
from ..noise import Draws
from ..pace import LOOK
from ..simulation import Simulation
from .ahead import share_signals

if TYPE_CHECKING:
    import numpy as np

#: Real numbers that all lanes share, and those that each lane keeps at a place of its own.
SHARED_STORES, OWN_STORES = ("f", "g", "armed", "ahead"), ("record", "noise")
#: Steps of runs that could go in lockstep, from which on that is compiled.
WORTH = 1_000_000
#: Bytes by which the logs of neighbouring lanes are moved apart, lest all of them want the same lines of the cache.
APART = 576
#: Bytes of memory that are taken at once for logs that are all kept.
MEMORY_PIECE = 16 << 20
#: Of eight lanes that call libm, which take as long as so many runs one after the other.
FEWEST_WITH_LIBM = 6


def why_single(experiment: Experiment, compiling: bool = True) -> str:
    """Why runs of an experiment go one by one; '' where they go eight at a time."""
    if not experiment.method.compiled:
        return f"{experiment.options.solver} is not compiled into the program"
    if find_tableau(experiment.program.solver).adaptive:
        return f"{experiment.options.solver} chooses its steps, which differ from run to run"
    if experiment.program.source.guards:
        return "it has events, which differ from run to run"
    return experiment.program.code.why_narrow() if compiling else ""


def lane_words(experiment: Experiment) -> str:
    """How many runs of an experiment are made, in a sentence."""
    reason = why_single(experiment)
    if reason:
        return f"Many runs go one by one: {reason}."
    if experiment.options.math == PORTABLE:
        return "Many runs go eight at a time."
    return "Many runs go eight at a time, their elementary functions one by one; math: portable has those eight at a time too."


def fewest_lanes(experiment: Experiment) -> int:
    """Runs from which on eight lanes are done sooner than one run after the other: libm's functions are called lane by lane."""
    return 2 if experiment.options.math == PORTABLE else FEWEST_WITH_LIBM


def whole_lanes(runs: int) -> int:
    """So many runs, or a few less, that no lane is empty."""
    return runs - runs % LANES if runs > LANES else runs


def batches(experiments: Sequence[Experiment], jobs: int = 1) -> list[list[int]]:
    """Runs, given by their experiments, in the groups in which they are made on so many cores: neighbours of one together."""
    groups: list[list[int]] = []
    for number, experiment in enumerate(experiments):
        last = groups[-1] if groups else []
        if last and len(last) < LANES and experiments[last[0]] is experiment:
            last.append(number)
        else:
            groups.append([number])
    counts, together = Counter(id(experiment) for experiment in experiments), {}
    for e in {id(e): e for e in experiments}.values():
        least = 2 if fewest_lanes(e) == 2 else min(jobs, len(experiments)) * fewest_lanes(e)  # lest a core has nothing to do
        together[id(e)] = counts[id(e)] >= least and worth_it(e, counts[id(e)])

    def whole(group: list[int]) -> bool:
        return together[id(experiments[group[0]])] and len(group) >= fewest_lanes(experiments[group[0]])

    return [part for group in groups for part in ([group] if whole(group) else [[n] for n in group])]


def worth_it(experiment: Experiment, runs: int) -> bool:
    """Whether runs go in lockstep: they can, and all that were asked for so far are worth compiling it."""
    if why_single(experiment, compiling=False):
        return False
    code = experiment.program.code
    code.asked += runs * experiment.length
    return (code.lockstep is not None or code.asked >= WORTH) and not code.why_narrow()


class LogMemory:
    """Memory for the logs of so many groups of runs, which are all kept: taken in large pieces.

    Of those the system gives pages of 2 MB. Touching fresh memory in small pages takes as long as computing what goes there.
    """

    def __init__(self, groups: int) -> None:
        self.groups, self.lock, self.given = groups, threading.Lock(), 0
        self.piece: np.ndarray | None = None

    def take(self, count: int) -> np.ndarray:
        """So many numbers, not set, that nobody else has."""
        import numpy as np

        with self.lock:
            if self.piece is None or self.given + count > len(self.piece):
                self.piece, self.given = np.empty(max(count, min(count * self.groups, MEMORY_PIECE // 8))), 0
            first, self.given = self.given, self.given + count
            return self.piece[first : self.given]


class Lockstep:
    """Some runs of one experiment that begin together; at most as many as there are lanes, the last of which may repeat a run.

    Their logs go to `memory`, or each group's to a piece of its own, which is free again when its records are.
    """

    def __init__(self, experiment: Experiment, simulations: Sequence[Simulation], memory: LogMemory | None = None):
        self.experiment, self.simulations, self.memory = experiment, list(simulations), memory
        filled = [*self.simulations, *[self.simulations[-1]] * (LANES - len(self.simulations))]
        self.machines = [simulation.machine for simulation in filled]
        share_signals(experiment, self.machines)
        self.kept: list[np.ndarray] = []
        self.shared: dict[str, np.ndarray] = {}
        self.wide: dict[str, Any] = {}

    def addresses(self) -> list[int]:
        """Where the stores of all lanes are, in the order `advance` takes them."""
        import numpy as np

        first, places = self.machines[0], []
        for store in STORES:
            values = [getattr(machine, store.name) for machine in self.machines]
            if store.name in OWN_STORES:
                array = np.array(self.separate(store.name, values), dtype=np.int64)
            elif store.kind == ROWS:
                places += [self.address(np.zeros((len(row), LANES))) for row in first.k]
                continue
            elif store.kind == WHOLE or store.name in SHARED_STORES:
                array = self.shared[store.name] = values[0] if store.name == "ahead" else values[0].copy()
            else:
                array = self.wide[store.name] = np.stack(values, axis=1)
            places.append(self.address(array))
        return places

    def separate(self, name: str, values: list[np.ndarray]) -> list[int]:
        """Addresses of what each lane has for itself; a lane that repeats a run writes where nobody reads."""
        import numpy as np

        if name != "record":
            return [value.__array_interface__["data"][0] for value in values]
        size = len(values[0])
        stride = (8 * size + 4095) // 4096 * 512 + APART // 8
        block = np.empty(stride * LANES) if self.memory is None else self.memory.take(stride * LANES)
        for lane, simulation in enumerate(self.simulations):
            simulation.machine.record = block[lane * stride : lane * stride + size]
        self.kept.append(block)
        start = block.__array_interface__["data"][0]
        return [start + 8 * stride * lane for lane in range(LANES)]

    def address(self, array: np.ndarray) -> int:
        self.kept.append(array)
        place: int = array.__array_interface__["data"][0]
        return place

    def run(self) -> bool:
        """Carry all of them to the end; false where one failed, and nothing has been changed in any."""
        entry, places = self.experiment.program.code.wide(), self.addresses()
        f = self.shared["f"]
        while True:
            f[stores.BUDGET] = f[stores.STEPS] + LOOK // LANES  # an interrupt of the caller is heard here
            status = entry.function(self.experiment.clock.end, *places)
            if status != kernel.PAUSED:
                break
        if status != 0:
            return False
        for lane, simulation in enumerate(self.simulations):
            for name, array in self.shared.items():
                setattr(simulation.machine, name, array)
            for name in ("x", "m"):
                setattr(simulation.machine, name, self.wide[name][:, lane])
        return True


def run_together(
    experiment: Experiment,
    changes: Sequence[Mapping[str, Any]],
    noises: Sequence[Draws],
    named: Sequence[Mapping[str, Any] | None],
    memory: LogMemory | None = None,
) -> list[Record] | None:
    """The records of some runs that went in lockstep; None where one of them failed: then each is to be run by itself."""
    simulations = [
        Simulation(experiment, own, noise, "compiled", names) for own, noise, names in zip(changes, noises, named, strict=True)
    ]
    if not Lockstep(experiment, simulations, memory).run():
        return None
    return [simulation.record() for simulation in simulations]
