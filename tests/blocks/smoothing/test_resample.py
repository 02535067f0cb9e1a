"""Other times for recorded signals, and the carriage whose friction depends on the direction."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocks.plants.joints import AsymmetricPositioner, ElectroMechanicalPositioner
from blocks.smoothing.resample import Resample, Trim
from blocksim.errors import DiagramError, RecordError


class TestResample:
    def test_straight_lines_and_cubics_are_met_exactly(self):
        t = np.sort(np.r_[0.0, np.random.default_rng(1).random(40), 1.0])
        even = Resample(every=0.01)
        assert even.process(t, 3 * t - 1) == pytest.approx(3 * even.times(t) - 1, abs=1e-12)
        cubic = Resample(every=0.01, method="cubic")
        assert cubic.process(t, t**3 - t) == pytest.approx(cubic.times(t) ** 3 - cubic.times(t), abs=1e-10)
        assert len(even.times(t)) == 101 and np.ptp(np.diff(even.times(t))) < 1e-12

    def test_the_last_value_holds(self):
        t = np.array([0.0, 0.3, 0.7, 1.0])
        assert Resample(every=0.25, method="hold").process(t, np.arange(4.0)).tolist() == [0, 0, 1, 2, 3]

    def test_missing_samples_are_passed_over_element_by_element_rows(self):
        t = np.arange(11) / 10
        u = np.column_stack([t, 2 * t])
        u[4, 1] = np.nan
        assert Resample(every=0.1).process(t, u) == pytest.approx(np.column_stack([t, 2 * t]))

    def test_an_even_signal_keeps_its_very_times(self):
        t = 0.3 + np.arange(100) * 1e-3
        assert Resample(every=1e-3).times(t) is t

    def test_what_cannot_be_resampled(self):
        with pytest.raises(RecordError, match="at least 2 samples"):
            Resample(every=0.1).times(np.zeros(1))
        with pytest.raises(RecordError, match="not missing are wanted, found 0"):
            Resample(every=0.1).process(np.arange(3.0), np.full(3, np.nan))
        with pytest.raises(RecordError, match="infinite"):
            Resample(every=0.1).process(np.arange(3.0), np.array([0, np.inf, 1]))
        with pytest.raises(DiagramError, match="every: must be above 0"):
            Resample(every=0)


class TestTrim:
    def test_by_number_and_by_time(self):
        t = np.arange(10) / 10
        assert Trim(first=2, last=3).process(t, t).tolist() == t[2:7].tolist()
        assert Trim(start=0.2, stop=0.6).times(t).tolist() == t[2:7].tolist()
        assert Trim(first=4, start=0.2).process(t, np.column_stack([t, t])).shape == (6, 2)

    def test_nothing_left(self):
        with pytest.raises(RecordError, match="no sample is left of 10 samples, 0 to"):
            Trim(first=10).process(np.arange(10) / 10, np.zeros(10))
        with pytest.raises(DiagramError, match="after the stop"):
            Trim(start=2, stop=1)
        with pytest.raises(DiagramError, match="at least 0"):
            Trim(first=-1)

    def test_in_a_diagram_the_inner_part_of_a_derivative(self):
        diagram = bs.open_diagram(Trim.example)
        record = bs.simulate(diagram)
        t = record.time("inner")
        assert len(t) == len(record.t) - 2
        assert record["inner"] == pytest.approx(np.pi * np.cos(2 * np.pi * t), abs=1e-4)


class TestAsymmetricPositioner:
    def test_the_inverse_model_is_that_of_the_direct_one(self):
        rng = np.random.default_rng(2)
        qd, v = rng.normal(size=50), rng.normal(size=50)
        for friction in ("sign", "tanh"):
            block = AsymmetricPositioner(friction=friction)
            p = {n: block.settings[n] for n in (*block.inverse_parameters, "gtau")}
            if friction == "tanh":
                qdd = np.array([AsymmetricPositioner.output(qd=a, v=b, beta=1000.0, **p) for a, b in zip(qd, v, strict=True)])
            else:
                make = block.variant().functions["output"]
                qdd = np.array([make(qd=a, v=b, mode=np.sign(a), **p) for a, b in zip(qd, v, strict=True)])
            rows = AsymmetricPositioner.regressor(np.zeros(50), qd, qdd, friction, 1000.0)
            assert rows @ [p[n] for n in block.inverse_parameters] == pytest.approx(p["gtau"] * v, rel=1e-12)

    def test_without_asymmetry_it_is_the_positioner(self):
        text = AsymmetricPositioner.example
        values = "Fa: 0, M: 95.1089, Fv: 203.5034, Fc: 20.3935, offset: -3.1648"
        same = text.replace("AsymmetricPositioner", f"AsymmetricPositioner, {values}")
        plain = text.replace("AsymmetricPositioner", ElectroMechanicalPositioner.__name__)
        a, b = bs.simulate(same), bs.simulate(plain)
        assert a["emps.q"] == pytest.approx(b["emps.q"], abs=1e-12) and np.ptp(a["emps.q"]) > 0.1

    def test_steady_speeds_take_the_forces_of_their_directions(self):
        record = bs.simulate(AsymmetricPositioner.example)
        block = AsymmetricPositioner()
        qd, force = record["emps.qd"], block.gtau * record["loop"]
        for side in (1, -1):
            steady = (side * qd > 0.199) & (np.abs(record["emps.qdd"]) < 1e-3)
            assert steady.sum() > 100
            expected = (block.Fv + side * block.Fa) * np.mean(qd[steady]) + side * block.Fc + block.offset
            assert np.mean(force[steady]) == pytest.approx(expected, abs=0.1)

    def test_friction_never_pushes(self):
        with pytest.raises(DiagramError, match="else friction would push; found -300"):
            AsymmetricPositioner(Fa=-300)
