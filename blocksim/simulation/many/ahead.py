"""What runs of one experiment share that differ in other numbers only: signals that depend on time alone, at every sample hit.

They are computed when the numbers that they are made of come for the second time, and read from then on. So a reference of many
sines costs an identifier, a study or a batch one run's time, not every run's. The bits are those of a run by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...solvers.stores import passed
from ..machine import Machine

if TYPE_CHECKING:
    import numpy as np

    from ..experiment import Experiment

#: Numbers that are kept for one experiment, at most.
MOST_SHARED = 1 << 20


@dataclass
class SharedSignals:
    """The signals, and the bytes of the numbers that came last. Copies of an experiment with other numbers share it."""

    made_of: bytes = b""
    values: np.ndarray | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


def share_signals(experiment: Experiment, machines: Sequence[Machine]) -> None:
    """Have runs that begin read what was computed ahead; it is computed now for several in lockstep, and for a second one."""
    if not 0 < experiment.shared_size <= MOST_SHARED:
        return
    shared, numbers = experiment.shared, {numbers_behind(experiment, machine) for machine in machines}
    values = None
    if len(numbers) == 1:
        with shared.lock:
            again, (shared.made_of,) = shared.made_of in numbers, numbers
            shared.values = shared.values if again else None
            if shared.values is None and (again or len(machines) > 1):
                shared.values = computed_ahead(experiment, machines[0])
            values = shared.values
    for machine in machines:
        read_ahead(experiment, machine, values)


def numbers_behind(experiment: Experiment, machine: Machine) -> bytes:
    """The numbers that the signals are made of."""
    p, a, o = machine.p, machine.a, machine.o
    pieces = [p[list(rows.p)] for rows in experiment.slots.ahead]
    pieces += [a[o[k] : o[k + 1]] for rows in experiment.slots.ahead for k in rows.regions]
    return b"".join(piece.tobytes() for piece in pieces)


def read_ahead(experiment: Experiment, machine: Machine, values: np.ndarray | None) -> None:
    """Have a run read these values from its next hit on, which is its first; or compute its own, from any hit on."""
    import numpy as np

    machine.ahead, start = np.zeros(0) if values is None else values, 0
    for rows in experiment.slots.ahead:
        machine.o[rows.place : rows.place + 2] = (-1, 0) if values is None else (start, rows.width)
        start += experiment.clock.count(rows.group) * rows.width


def computed_ahead(experiment: Experiment, machine: Machine) -> np.ndarray | None:
    """The values, by the compiled program; None where another compiler made it, which offers no such function."""
    import numpy as np

    code = experiment.program.code
    compute = getattr(code.compiled or code.lockstep, "compute_ahead", None)
    if compute is None:
        return None
    values = np.empty(experiment.shared_size)
    read_ahead(experiment, machine, values)
    compute(experiment.clock.end, *(getattr(machine, name) for name in passed("compute_ahead")))
    return values
