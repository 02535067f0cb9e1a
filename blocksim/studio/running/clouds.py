"""Clouds: the same experiment with other seeds, its estimates as points beside the ellipse that one run claims."""

from __future__ import annotations

import time as wall
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import BlocksimError
from ...estimation.process import process
from ...simulation.many.threads import share_out
from ...simulation.noise import draw_noise
from ...simulation.prepare import prepared
from ...simulation.simulation import run_experiment

if TYPE_CHECKING:
    from ...simulation.experiment import Experiment

#: At most so many runs between two answers, as many as fit into so many seconds: a hand that moves again waits no longer.
CHUNK, CHUNK_SECONDS = 8, 0.5
#: Seconds after which a cloud is large enough.
PATIENCE_OF_CLOUD = 12.0


def cloud(
    base: Experiment, changes: Mapping[str, Any], options: Mapping[str, Any], seeds: list[int], jobs: int
) -> Iterator[tuple[dict[str, list[str]], dict[str, np.ndarray]]]:
    """Names and values of every method so far, one row per seed, chunk by chunk. A run that fails gives no row."""
    ready, left = prepared(base, changes, options)
    ready.program.fast()
    begin, rows, names = wall.monotonic(), dict[str, list[np.ndarray]](), dict[str, list[str]]()

    def one(seed: int) -> dict[str, np.ndarray]:
        try:
            record = process(ready.schedule, run_experiment(ready, left, draw_noise(ready, seed), named=changes), left)
        except BlocksimError as error:
            if error.record is None:
                return {}
            record = error.record
        names.update({path: list(estimates) for path, estimates in record.estimates.items()})
        return {path: estimates.vector() for path, estimates in record.estimates.items()}

    done, size = 0, jobs
    while done < len(seeds) and wall.monotonic() - begin < PATIENCE_OF_CLOUD:
        part, started = seeds[done : done + size], wall.monotonic()
        for result in share_out(len(part), lambda k, part=part: one(part[k]), jobs):  # type: ignore[misc]
            for path, vector in result.items():
                rows.setdefault(path, []).append(vector)
        yield names, {path: np.array(vectors) for path, vectors in rows.items()}
        done += len(part)
        per_run = (wall.monotonic() - started) / len(part)
        size = min(max(int(CHUNK_SECONDS / max(per_run, 1e-6)), jobs), CHUNK)


def cloud_data(points: Mapping[str, np.ndarray], names: Mapping[str, list[str]]) -> dict[str, Any]:
    """Of each method: how many points, and of which parameters."""
    return {path: {"names": names.get(path, []), "count": len(values)} for path, values in points.items()}
