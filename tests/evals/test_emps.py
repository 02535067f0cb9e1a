"""The EMPS in closed loop at its published values against the real record (Janot, Gautier, Brunot 2019).

The record says how its controller got the speed: v = kv (kp (qg - q) - qd) holds within 0.3 % for
qd[k] = (q[k] - q[k-2]) / (2 Ts) and misses by 3 % with the backward difference and by 6 % with the true speed. So the loop is
sampled, and `span` is 2.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.signal import butter, filtfilt

import blocksim as bs

FILE = Path(os.environ.get("BLOCKSIM_DATA", "")) / "emps" / "DATA_EMPS.mat"
pytestmark = pytest.mark.skipif(
    "BLOCKSIM_DATA" not in os.environ or not FILE.exists(), reason="BLOCKSIM_DATA names no folder with emps/DATA_EMPS.mat"
)
KP, KV, TS = 160.18, 243.45, 1e-3


@pytest.fixture(scope="module")
def measured():
    """Position, reference and input of the record; the speed by the authors' recipe: 100 Hz, zero phase, central differences."""
    data = {name: values.ravel() for name, values in loadmat(FILE).items() if name in ("qm", "qg", "vir")}
    smooth = filtfilt(*butter(4, 100 / 500), data["qm"], padlen=3 * 4)
    return {**data, "qd": np.gradient(smooth, TS)}


def relative(found, expected):
    return 100 * np.linalg.norm(found - expected) / np.linalg.norm(expected)


def test_the_controller_differentiates_across_two_samples(measured):
    q, qg, v = measured["qm"], measured["qg"], measured["vir"]

    def law(speed):
        return relative((KV * (KP * (qg - q) - speed))[2:], v[2:])

    assert law(np.r_[0, 0, (q[2:] - q[:-2]) / (2 * TS)]) < 0.3
    assert law(np.r_[0, np.diff(q) / TS]) > 3
    assert law(measured["qd"]) > 6


def test_the_simulated_loop_follows_the_record(measured):
    diagram = bs.Diagram("EMPS")
    diagram.add("qg", "FromRecord", file=str(FILE), signal="qg")
    diagram.add("loop", "CascadePPI", kp=KP, kv=KV, span=2, qd0=measured["qd"][0], Ts=TS, inputs={"q_ref": "qg", "q": "emps.q"})
    start = {"q": measured["qm"][0], "qd": measured["qd"][0]}
    diagram.add("emps", "ElectroMechanicalPositioner", friction="sign", **start, inputs="loop")
    record = bs.simulate(diagram, stop="24.84", solver="rk4", step=TS, every=TS)
    errors = [
        relative(record[name].ravel(), measured[real]) for name, real in (("emps.q", "qm"), ("emps.qd", "qd"), ("loop", "vir"))
    ]
    assert errors == pytest.approx([0.0011, 0.126, 4.6], rel=0.1)
