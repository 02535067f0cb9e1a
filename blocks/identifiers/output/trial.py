"""One record that an output error repeats: its twin, what was measured, the rows that count, and where its motion begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.contract.block import Block
from blocksim.contract.declarations import Outport
from blocksim.errors import RecordError
from blocksim.estimation.process import Run
from blocksim.estimation.twin import Twin, blocks_of
from blocksim.estimation.twin_diagram import FINER, Played, spline_points

from ..regression.ends import Ends
from ..regression.spectrum import Spread, spectral_spread


@dataclass
class RecordTrial:
    """A record of a fit. `start` are first values of its own, beside the diagram's, that are not sought."""

    twin: Twin
    outputs: list[str]
    measured: list[np.ndarray]
    ends: Ends
    cutoff: float = 0.0
    start: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Rows of each signal that are compared."""
        return len(self.ends.picked)

    def run(self, params: Mapping[str, Any]) -> list[np.ndarray]:
        return self.compared(self.twin.run({**self.start, **params}))

    def run_many(self, table: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The same for a table of parameters; an error in the place of what could not be simulated."""
        results = self.twin.run_many([{**self.start, **params} for params in table])
        return [self.compared(one) if isinstance(one, dict) else one for one in results]

    def compared(self, signals: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return [signals[name].reshape(len(m), -1) for name, m in zip(self.outputs, self.measured, strict=True)]

    def joined(self, signals: Sequence[np.ndarray]) -> np.ndarray:
        """What is compared, one signal after another; a size that does not fit was wired wrong."""
        for name, m, s in zip(self.outputs, self.measured, signals, strict=True):
            if s.shape != m.shape:
                raise RecordError(f"output: {name} has {s.shape[1]} elements, what is measured has {m.shape[1]}.")
        return np.concatenate([self.rows(s).ravel() for s in signals])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """What skip and filters leave of a signal, measured or simulated."""
        return self.ends.rows(values, self.cutoff)

    def series(self) -> np.ndarray:
        """Which row belongs to which series in time: every element of every output is one."""
        shapes = [(self.count, m.shape[1]) for m in self.measured]
        firsts = np.cumsum([0, *(columns for _, columns in shapes)])
        return np.concatenate([np.tile(first + np.arange(c), n) for first, (n, c) in zip(firsts, shapes, strict=False)])


def joint_spread(trials: Sequence[RecordTrial], X: np.ndarray, G: np.ndarray, rest: np.ndarray, smoothing: float) -> Spread:
    """The covariance of X' e of all records: noise of one has nothing to do with that of another, so that theirs are added.

    The degrees of freedom of the sum are Satterthwaite's. `X`, `G` and `rest` are those of `spectral_spread`.
    """
    ends = np.cumsum([0, *(trial.count * sum(m.shape[1] for m in trial.measured) for trial in trials)])
    parts = []
    for trial, first, last in zip(trials, ends[:-1], ends[1:], strict=True):
        rows = slice(first, last)
        parts.append(spectral_spread(X[rows], G[rows], rest[rows], np.ones(last - first, dtype=bool), trial.series(), smoothing))
    if len(parts) == 1:
        return parts[0]
    variances = np.array([np.diag(part.covariance) for part in parts])
    losses = np.sum(variances**2 / np.array([part.freedom for part in parts]), axis=0)
    freedom = np.divide(variances.sum(axis=0) ** 2, losses, out=np.full(len(losses), np.inf), where=losses > 0)
    return Spread(np.sum([part.covariance for part in parts], axis=0), freedom, parts[0].lines)


def played_drive(signal: str, t: np.ndarray, u: np.ndarray, hold: str, speed: bool = False) -> Played:
    """The recorded drive; a spline is played as straight lines between points that lie closer."""
    if hold != "cubic":
        return Played(signal, u, hold, True)
    (curve, rows), step = spline_points(u), float(t[-1] - t[0]) / (len(t) - 1)
    values = np.stack([curve(rows), curve(rows, 1) / step], axis=1) if speed else curve(rows)
    return Played(signal, np.asarray(values), "linear", True, FINER)


def played_readings(run: Run, t: np.ndarray, names: Sequence[str]) -> list[Played]:
    """Signals of the record in the place of those of the diagram, each held until the next."""
    played, blocks, scope = [], dict(blocks_of(run.diagram)), run.path.rpartition(".")[0]
    for name in names:
        whole = f"{scope}.{name}" if scope else name
        path, port = (whole, "") if whole in blocks else whole.rpartition(".")[::2]
        block = blocks[path].block if path in blocks else None
        ports = list((block.bound or type(block)).of(Outport)) if isinstance(block, Block) else []
        if not ports or (port or ports[0]) not in ports or (not port and len(ports) > 1):
            raise RecordError(f"readings: '{name}' is no output of a block. Name one as elsewhere: encoder, joint.q.")
        signal = f"{path}.{port or ports[0]}"
        if signal not in run.record or not np.array_equal(run.record.time(signal), t):
            raise RecordError(f"readings: {name} is not recorded at the instants of y. Log it with the same interval.")
        played.append(Played(signal, run.record[signal], "zero"))
    return played


def curves_of(measured: list[np.ndarray], model: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What the twin says, and what it leaves of what was measured, side by side."""
    curves = np.concatenate(model, axis=1)
    rest = np.concatenate(measured, axis=1) - curves
    return (curves[:, 0], rest[:, 0]) if curves.shape[1] == 1 else (curves, rest)
