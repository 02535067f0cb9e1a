"""Filters of whole records: against scipy, against MATLAB's rule of decimation, and the published identification of EMPS."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import signal

import blocksim as bs
from blocks.smoothing.filters import BandPassDerivatives, CentralDifference, Decimate, ZeroPhaseFilter
from blocksim.errors import RecordError

RATE = 1000.0
T = np.arange(1501) / RATE
U = np.sin(2 * np.pi * 3 * T) + 0.1 * np.random.default_rng(3).standard_normal(len(T))
PAIR = np.column_stack((U, np.cos(T) - U**2))


@pytest.mark.parametrize(("ends", "padding"), [("matlab", 12), ("scipy", 15)])
def test_the_filter_is_scipys(ends, padding):
    b, a = signal.butter(4, 2 * 40 / RATE)
    y = ZeroPhaseFilter(cutoff=40, ends=ends).process(T, PAIR)
    assert y == pytest.approx(signal.filtfilt(b, a, PAIR, axis=0, padlen=padding), abs=1e-10)
    assert np.array_equal(y[:, 0], ZeroPhaseFilter(cutoff=40, ends=ends).process(T, U))
    assert padding == 12 or y == pytest.approx(signal.filtfilt(b, a, PAIR, axis=0), abs=1e-10)


def test_half_the_amplitude_passes_at_the_cutoff():
    t = np.arange(20001) / RATE
    y = ZeroPhaseFilter(cutoff=25.0, order=3).process(t, np.sin(2 * np.pi * 25 * t))
    assert y[8000:12000] == pytest.approx(0.5 * np.sin(2 * np.pi * 25 * t)[8000:12000], abs=1e-9)


def test_differences_are_exact_for_parabolas():
    t = np.arange(50) * 0.02
    u = np.column_stack((1 + 2 * t + 3 * t**2, -t))
    first, second = (CentralDifference(order=n).process(t, u) for n in (1, 2))
    assert first[1:-1, 0] == pytest.approx(2 + 6 * t[1:-1])
    assert first[0, 0] == pytest.approx((u[1, 0] - u[0, 0]) / 0.02)
    assert first[-1, 0] == pytest.approx((u[-1, 0] - u[-2, 0]) / 0.02)
    assert second[:, 0] == pytest.approx(np.full(50, 6.0), rel=1e-9)
    assert first[:, 1] == pytest.approx(-np.ones(50)) and second[:, 1] == pytest.approx(np.zeros(50), abs=1e-10)


@pytest.mark.parametrize("samples", [1491, 1495, 1500, 1501])
def test_decimation_keeps_the_last_sample_by_matlabs_rule(samples):
    r, n, t = 10, samples, T[:samples]
    b, a = signal.cheby1(8, 0.05, 0.8 / r)
    first = int(r - (r * np.ceil(n / r) - n)) - 1
    block = Decimate(factor=r)
    assert block.process(t, PAIR[:n]) == pytest.approx(signal.filtfilt(b, a, PAIR[:n], axis=0, padlen=24)[first::r], abs=1e-7)
    assert block.times(t)[-1] == t[-1] and len(block.times(t)) == len(block.process(t, U[:n])) == int(np.ceil(n / r))


def test_decimation_by_scipys_rule_keeps_the_first_sample():
    block = Decimate(factor=7, rule="scipy")
    assert np.array_equal(block.process(T, PAIR), signal.decimate(PAIR, 7, axis=0))
    assert np.array_equal(block.times(T), T[::7])
    assert np.array_equal(Decimate(factor=1).process(T, U), U) and np.array_equal(Decimate(factor=1).times(T), T)


def test_a_constant_loses_the_ripple_twice():
    y = Decimate(factor=200).process(T, np.ones(len(T)))
    assert y == pytest.approx(np.full(8, 10 ** (-0.1 / 20)), abs=1e-6)


def test_derivatives_in_one_block_are_the_four_steps():
    block = BandPassDerivatives(f_dyn=4.0)
    q = ZeroPhaseFilter(cutoff=40).process(T, PAIR)
    qd = CentralDifference().process(T, q)
    slow = Decimate(factor=50)  # passes up to 0.4 * 1000 / 50 = 8 Hz, twice f_dyn
    for found, wanted in zip(block.process(T, PAIR), (q, qd, CentralDifference().process(T, qd)), strict=True):
        assert np.array_equal(found, slow.process(T, wanted))
    assert np.array_equal(block.times(T), slow.times(T))
    # Brunot 2017, 4.2: 5 kHz and f_dyn = 5 Hz are a cutoff of 50 Hz and decimation by 200; f_dyn = fs / 100 by default.
    assert BandPassDerivatives(f_dyn=5.0).ratio(1 / 5000) == 200
    assert BandPassDerivatives().mode(1 / 5000) == pytest.approx(50)


def test_outputs_stand_in_the_record_on_their_own_times():
    diagram = bs.Diagram()
    diagram.add("wave", "Sine", frequency=1.0)
    diagram.add("pair", "Mux", inputs=["wave", "wave"])
    diagram.add("slow", "Decimate", inputs="pair", factor=20)
    diagram.add("speed", "CentralDifference", inputs="slow.y[1]")
    diagram.add("joint", "GravityJoint", inputs="wave")
    diagram.add("slow_joint", "Decimate", inputs="joint.qd", factor=20)
    record = bs.simulate(diagram, stop=2, solver="rk4", step=1e-3, engine="python")
    assert len(record.t) == 2001 and record["slow"].shape == (101, 2)
    assert record.time("slow") == pytest.approx(np.arange(101) * 0.02)
    inside = slice(5, 90)  # the reflection at the ends is shorter than the filter's memory
    assert record["speed"][inside] == pytest.approx(2 * np.pi * np.cos(2 * np.pi * record.time("speed")[inside]), abs=0.15)
    assert record.unit("slow_joint") == record.unit("joint.qd") == "rad/s"
    assert len(record.grids) == 2, "equal times are one grid"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (ZeroPhaseFilter(cutoff=600.0), "cutoff is 600 Hz; it must be below the Nyquist frequency of the record, 500 Hz"),
        (ZeroPhaseFilter(cutoff=500.0), "cutoff is 500 Hz"),
        (BandPassDerivatives(f_dyn=80.0), "cutoff is 800 Hz"),
    ],
)
def test_a_cutoff_above_nyquist_is_refused(block, words):
    with pytest.raises(RecordError, match=words):
        block.process(T, U)


def test_what_cannot_be_filtered_is_refused():
    hole = U.copy()
    hole[3] = np.nan
    for block in (ZeroPhaseFilter(cutoff=40), CentralDifference(), Decimate(factor=2), BandPassDerivatives()):
        with pytest.raises(RecordError, match="1 samples are missing or infinite; IRWSmoother"):
            block.process(T, hole)
        with pytest.raises(RecordError, match=r"evenly spaced; found 0\.001 to 0\.004 s"):
            block.process(np.delete(T, [5, 6, 7]), U[3:])
    with pytest.raises(RecordError, match="order 4 needs at least 13 samples, found 12"):
        ZeroPhaseFilter(cutoff=40).process(T[:12], U[:12])
    with pytest.raises(RecordError, match="decimation by 50 needs at least 51 samples, found 50"):
        Decimate(factor=50).process(T[:50], U[:50])
    with pytest.raises(RecordError, match="at least 2 samples are wanted, found 1"):
        CentralDifference().process(T[:1], U[:1])


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (ZeroPhaseFilter, {}, "'cutoff' must be given"),
        (ZeroPhaseFilter, {"cutoff": 5, "order": 0}, "order: a whole number from 1 to 20 is wanted, found 0"),
        (ZeroPhaseFilter, {"cutoff": 5, "ends": "odd"}, "'odd' is not one of matlab, scipy"),
        (CentralDifference, {"order": 3}, "3 is not one of 1, 2"),
        (Decimate, {}, "'factor' must be given"),
        (Decimate, {"factor": 0}, "at least 1 is wanted, found 0"),
        (Decimate, {"factor": 2.5}, "found 2.5. A whole number is wanted"),
        (BandPassDerivatives, {"factor": -1}, "or 0 for the rule, found -1"),
    ],
)
def test_bad_settings_are_refused_in_words(kind, settings, words):
    with pytest.raises(bs.DiagramError, match=words):
        kind(**settings)


def test_a_refusal_names_the_block():
    diagram = bs.Diagram()
    diagram.add("wave", "Sine", frequency=1.0)
    diagram.add("smooth", "ZeroPhaseFilter", inputs="wave", cutoff=80)
    with pytest.raises(bs.DiagramError, match=r"block 'smooth': cutoff is 80 Hz; .*, 50 Hz"):
        bs.simulate(diagram, stop=2, solver="rk4", step=0.01, engine="python")


@pytest.mark.skipif("BLOCKSIM_DATA" not in os.environ, reason="BLOCKSIM_DATA names no folder with the EMPS record")
def test_the_published_identification_of_emps():
    # Janot, Gautier, Brunot 2019: M, Fv, Fc, offset by IDIM-LS.
    from scipy.io import loadmat

    data = loadmat(Path(os.environ["BLOCKSIM_DATA"]) / "emps" / "DATA_EMPS.mat")
    t, q, v = (data[name].ravel() for name in ("t", "qm", "vir"))
    smooth, difference, slow = ZeroPhaseFilter(cutoff=100), CentralDifference(), Decimate(factor=10)
    qd = difference.process(t, smooth.process(t, q))
    columns = np.column_stack((difference.process(t, qd), qd, np.sign(qd), np.ones(len(t)), float(data["gtau"].squeeze()) * v))
    rows = slow.process(t[49:], columns[49:])
    W, force = rows[:, :4], rows[:, 4]
    found = np.linalg.lstsq(W, force, rcond=None)[0]
    assert found == pytest.approx([95.1089, 203.5034, 20.3935, -3.1648], abs=5e-5)
    assert np.linalg.norm(force - W @ found) / np.linalg.norm(force) == pytest.approx(0.04083, abs=5e-6)
    assert np.linalg.cond(W) == pytest.approx(26.0, abs=0.05)
