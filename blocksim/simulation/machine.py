"""Machine: everything that changes while a program runs."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..compiler.program import Program
from ..compiler.slots import Numbers
from ..contract.declarations import Inport
from ..contract.definition import arguments
from ..schedule.schedule import Unit
from ..solvers import find_tableau, stores

if TYPE_CHECKING:
    import numpy as np

    from .experiment import Experiment

#: A run takes at least this many steps; this many where a guard watches an input, whose swings the solver may not feel.
LEAST_STEPS, LOOKS = 50, 1000
DEFAULT_RTOL, DEFAULT_ATOL = 1e-8, 1e-10
KEPT_BYTES = 8 << 20


class Machine(SimpleNamespace):
    """The stores of one run, each under its own name; it carries them from tick to tick."""

    program: Program

    def stores(self) -> list[Any]:
        """In the order `advance` takes them."""
        return [getattr(self, name) for name in stores.NAMES]

    def run_fast(self, end: int) -> int:
        """Compiled, without the GIL."""
        return int(self.program.fast()(end, *self.stores()))

    def run_plain(self, end: int) -> int:
        """Under CPython, on lists of floats; the arrays hold the result afterwards.

        Where plain Python raises (1/0, log(0)), the stretch is run again by IEEE rules, as the compiled program has them.
        """
        import numpy as np

        unchanged = {id(self.k), id(self.record), id(self.noise), id(self.ahead)}  # or longer than worth a copy
        before = [None if id(s) in unchanged else s.copy() for s in self.stores()]
        with np.errstate(all="ignore"):
            try:
                return self.interpret(self.program.plain()["advance"], end)
            except (ZeroDivisionError, OverflowError, ValueError):
                for store, stores in zip(self.stores(), before, strict=True):
                    if stores is not None:
                        store[:] = stores
                return self.interpret(self.program.careful()["advance"], end)

    def interpret(self, advance: Any, end: int) -> int:
        lists: list[Any] = []
        for store in self.stores():
            if store is self.k:
                lists.append(tuple(row.tolist() for row in self.k))
            elif store is self.a or store is self.noise or store is self.ahead or store is self.record:
                lists.append(store)  # slices of a must be views; the others are long
            else:
                lists.append(store.tolist())
        try:
            return int(advance(end, *lists))
        finally:  # Ctrl-C keeps what has been logged, too
            for store, values in zip(self.stores(), lists, strict=True):
                if store is self.k:
                    for row, new in zip(self.k, values, strict=True):
                        row[:] = new
                elif values is not store:
                    store[:] = values


@functools.cache
def keep_freed_memory() -> None:
    """Have memory that a run frees kept for the next one: the system's allocator learns it from the largest array freed so far.

    Unless it has seen one, glibc gives back what a single signal takes, and every run, filter and fit begins with fresh pages,
    which take longer to touch than a fit takes to compute.
    """
    import numpy as np

    np.empty(KEPT_BYTES // 8)


def blank_machine(experiment: Experiment) -> Machine:
    """A machine at the start of a run, with the experiment's own numbers and an empty log."""
    import numpy as np

    keep_freed_memory()
    clock, options, rows = experiment.clock, experiment.options, experiment.rows
    states, guards = len(experiment.numbers.x), experiment.program.source.guards
    powers = find_tableau(experiment.program.solver).work()
    starts = np.concatenate([[0], np.cumsum([n * g.width for n, g in zip(rows, experiment.logs, strict=True)])])
    logs = [v for (first, every), n, at in zip(clock.logs, rows, starts, strict=False) for v in (first, every, 0, n, at)]
    assert len(logs) == stores.LOG * len(clock.logs)
    sides = [float(d) for _, _, d in guards]
    f = np.zeros(len(stores.F))
    f[stores.RTOL], f[stores.ATOL] = options.rtol or DEFAULT_RTOL, options.atol or DEFAULT_ATOL
    span = float((clock.end - clock.start) * clock.base)
    f[stores.H_MAX] = options.max_step or span / (LOOKS if watches_inputs(guards) else LEAST_STEPS) or 1.0
    f[stores.ERROR], f[stores.EVENT], f[stores.BUDGET] = 1.0, -math.inf, math.inf
    whole = [clock.start, 0, 0, clock.base.numerator, clock.base.denominator, clock.step, clock.start]
    return Machine(
        program=experiment.program,
        clock=np.array(whole, dtype=np.int64),
        hits=np.array([v for pair in clock.hits for v in pair], dtype=np.int64),
        logs=np.array(logs, dtype=np.int64),
        record=np.empty(int(starts[-1])),
        g=np.zeros(len(guards)),
        armed=np.array([1.0] * len(guards) + sides + [abs(d) for d in sides] + [-math.inf] * (2 * len(guards))),
        f=f,
        k=tuple(np.zeros(states**power) for power in powers),
        y=np.zeros(states),
        x=experiment.numbers.x,
        p=experiment.numbers.p,
        m=experiment.numbers.m,
        a=experiment.numbers.a,
        noise=np.zeros(0),
        ahead=np.zeros(0),
        o=experiment.numbers.o,
    )


def fresh_machine(blank: Machine, numbers: Numbers, noise: np.ndarray) -> Machine:
    """A copy of a blank machine for one run."""
    import numpy as np

    own = {"record": np.empty(len(blank.record)), "noise": noise, **vars(numbers)}
    rows = tuple([row.copy() for row in blank.k])
    rest = {name: getattr(blank, name).copy() for name in stores.NAMES if name not in own and name != "k"}
    return Machine(program=blank.program, k=rows, **own, **rest)


def watches_inputs(guards: list[tuple[Unit, str, int]]) -> bool:
    """Whether a guard depends on a signal from outside its block."""
    return any(a in unit.kind.of(Inport) for unit, name, _ in guards for a in arguments(unit.kind.functions[f"guard_{name}"]))
