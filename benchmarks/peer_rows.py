"""What other block-diagram tools take, where they are installed, after their trajectories have been compared with C's."""

from __future__ import annotations

import os
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).parent))

import native
import numpy as np
import peers
from measure import Row


def peer_rows(case: str, c: float, stop: float) -> list[Row]:
    """One row for each peer of a case, in the Python that BLOCKSIM_PEERS names; none where it names none."""
    python, rows = os.environ.get("BLOCKSIM_PEERS", ""), []
    for peer in [peer for peer, of in peers.RUNS if of == case and python]:
        share = peers.SHARE[peer, case]
        run = peers.measured_elsewhere(python, peer, case, share)
        if run is None:
            rows.append(Row(case, f"  {peer}", note="not installed"))
            continue
        part = run["t"] <= 0.31
        difference = difference_to_c(peer, case, run["t"][part], run["rows"][part], 0.3)
        agrees = "agrees within" if difference <= peers.AGREEMENT[peer, case] else "DIFFERS by"
        scaled = f"{share:g} s scaled up; " if share != stop else ""
        note = f"{scaled}{agrees} {difference:.0e}; its first call took {run['first']:.1f} s"
        rows.append(Row(case, f"  {peer} {run['version']}", c, run["best"] * stop / share, note))
    return rows


def disagreement(peer: str, case: str, stop: float = 0.3) -> float:
    """The largest difference between a peer and C, relative to the largest value of each signal."""
    return difference_to_c(peer, case, *peers.RUNS[peer, case][0](stop), stop)


def difference_to_c(peer: str, case: str, t: np.ndarray, values: np.ndarray, stop: float) -> float:
    rows = (native.two_mass("rk4", stop) if case == "a" else native.servo(stop))[:, peers.RUNS[peer, case][1]]
    grid = np.linspace(0.0, stop, len(rows))
    at_grid = np.column_stack([np.interp(grid, t, column) for column in values.T])
    return float(np.max(np.abs(at_grid - rows) / np.abs(rows).max(axis=0)))
