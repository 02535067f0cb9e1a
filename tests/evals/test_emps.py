"""The EMPS in closed loop at its published values against the real record (Janot, Gautier, Brunot 2019).

The record says how its controller got the speed: v = kv (kp (qg - q) - qd) holds within 0.3 % for
qd[k] = (q[k] - q[k-2]) / (2 Ts) and misses by 3 % with the backward difference and by 6 % with the true speed. So the loop is
sampled, and `span` is 2.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.signal import butter, cheby1, filtfilt, sosfiltfilt
from test_pages import numbers, table

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


def exact_motion(values, qg, q, qd, gtau=35.15065188):
    """Speed and acceleration of the loop at every sample, by the closed form of each stretch that slips one way or sticks."""
    M, Fv, Fc, offset = values
    positions, speeds, accelerations = [], [], []
    for reference in qg.tolist():
        positions.append(q)
        speed = (q - positions[-3]) / (2 * TS) if len(positions) > 2 else qd
        load = gtau * KV * (KP * (reference - q) - speed) - offset
        mode = math.copysign(1.0, qd or load) if qd or abs(load) > Fc else 0.0
        speeds.append(qd)
        accelerations.append((load - Fv * qd - Fc * mode) / M if mode else 0.0)
        left = TS
        while left > 0 and mode:
            end = (load - Fc * mode) / Fv  # the speed it tends to
            stop = M / Fv * math.log((qd - end) / -end) if qd * end < 0 else math.inf
            span = min(left, stop)
            decay = math.exp(-Fv / M * span)
            q += end * span + (qd - end) * (1 - decay) * M / Fv
            qd = end + (qd - end) * decay if stop > left else 0.0
            left -= span
            mode = mode if stop > left + span else math.copysign(1.0, load) if abs(load) > Fc else 0.0
    return np.array(speeds), np.array(accelerations)


def test_direct_identification_is_that_of_an_exact_loop(measured):
    """DIDIM with the loop's closed form in place of a solver ends where emps/didim does, and leaves as much of the force."""
    smooth = cheby1(8, 0.05, 0.08, output="sos")

    def rows(u):
        u = sosfiltfilt(smooth, u[49:], axis=0, padlen=24)
        return u[(len(u) - 1) % 10 :: 10]

    y, x = rows(35.15065188 * measured["vir"]), np.array([200.0, 400.0, 40.0, 0.0])
    for _ in range(7):
        qd, qdd = exact_motion(x, measured["qg"], float(measured["qm"][0]), float(measured["qd"][0]))
        W = rows(np.column_stack([qdd, qd, np.sign(qd), np.ones(len(qd))]))
        x = np.linalg.lstsq(W, y, rcond=None)[0]
    found = bs.identify("emps/didim").estimates["didim"]
    assert found.vector() == pytest.approx(x, rel=2e-4)
    assert found.details["relative_error"] == pytest.approx(relative(W @ x, y), abs=5e-3)


@pytest.mark.parametrize("name", ["least_squares", "instrumental", "didim"])
def test_the_table_of_the_page(name):
    """Values to the last digit that is printed, standard deviations to a tenth of themselves."""
    cells = table("emps", "", "M [kg]", "Fv [N s/m]")[f"`emps/{name}`"]
    (found,) = bs.identify(f"emps/{name}").estimates.values()
    for entry, cell in zip(found.values(), cells, strict=False):
        value, percent = numbers(cell)
        digits = len(cell.split(" ")[0].partition(".")[2])
        assert entry.value == pytest.approx(value, abs=0.51 * 10.0**-digits), entry.name
        assert 100 * entry.std / abs(entry.value) == pytest.approx(percent, rel=0.1), entry.name
    assert found.details["relative_error"] == pytest.approx(numbers(cells[4])[0], abs=0.006)
