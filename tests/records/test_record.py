"""Record: names, slices, resampling, tables and printing, against closed forms."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

from blocksim.errors import RecordError
from blocksim.records.record import Grid, Record, Signal


def two_rates() -> Record:
    """A main grid at 10 Hz to 1 s, and an encoder at 4 Hz that holds its samples, to 0.75 s."""
    t = np.arange(11) / 10
    main = Grid(
        t,
        {
            "joint.q": Signal(2 * t, "rad", "joint angle"),
            "joint.qd": Signal(t**3, "rad/s"),
            "robot.q": Signal(np.column_stack([t, -t, t**2]), "rad"),
        },
    )
    slow = Grid(np.arange(4) / 4, {"encoder.q_hat": Signal([0, 1, 2, 3], "rad", "angle, quantised", True, True)})
    return Record([main, slow], {"name": "two rates", "seed": 7, "diagram": "a: 1\nb: é"}, {"enc": "encoder.q_hat"})


def refused(pattern: str):
    return pytest.raises(RecordError, match=pattern)


class TestNames:
    def test_a_signal_is_an_array_with_a_unit_and_a_time(self):
        r = two_rates()
        assert np.array_equal(r["joint.q"], 2 * r.t) and r.unit("joint.q") == "rad" and r.signal("joint.q").doc == "joint angle"
        assert np.array_equal(r["t"], r.t)
        assert np.array_equal(r.time("encoder"), [0, 0.25, 0.5, 0.75])

    def test_a_block_with_one_signal_needs_no_port(self):
        r = two_rates()
        assert r["encoder"] is r["encoder.q_hat"] and r["enc"] is r["encoder.q_hat"]

    def test_an_element_of_a_vector(self):
        r = two_rates()
        assert np.array_equal(r["robot.q[2]"], r.t**2) and np.array_equal(r["robot[1]"], -r.t)
        assert r.signal("robot.q[2]").unit == "rad"

    def test_membership_iteration_and_length(self):
        r = two_rates()
        assert "encoder" in r and "robot.q[0]" in r and "robot.q[3]" not in r and "joint" not in r and 3 not in r
        assert list(r) == ["joint.q", "joint.qd", "robot.q", "encoder.q_hat"] and len(r) == 4

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (
                "joint.qdd",
                "no signal 'joint.qdd'. The record holds: joint.q, joint.qd, robot.q, encoder.q_hat. Did you mean 'joint.qd'?",
            ),
            ("joint", "'joint' is not one signal. Ask for one of: joint.q, joint.qd."),
            ("robot.q[3]", "'robot.q[3]': 'robot.q' has the elements 0 to 2."),
            ("robot.q[-1]", "'robot.q[-1]': 'robot.q' has the elements 0 to 2."),
            ("joint.q[0]", "'joint.q[0]': 'joint.q' is a scalar signal and has no elements."),
            (5, "found 5; a record is asked by name, record['q'], or by samples, record[100:200]."),
        ],
    )
    def test_a_wrong_name_says_what_there_is(self, name, message):
        with pytest.raises(RecordError) as error:
            two_rates()[name]
        assert str(error.value) == message

    def test_a_subsystem_is_not_a_block_with_one_port(self):
        r = Record([Grid([0.0], {"drive.motor.w": Signal([1.0])})])
        with refused("'drive' is not one signal. Ask for one of: drive.motor.w."):
            r["drive"]

    def test_hundreds_of_names_stay_readable(self):
        r = Record([Grid([0.0], {f"b{i}.y": Signal([0.0]) for i in range(300)})])
        with refused(r"b23\.y \.\.\. and 276 more"):
            r["nothing"]

    def test_aliases_of_what_was_not_logged_are_forgotten(self):
        assert Record([Grid([0.0], {"a.y": Signal([1.0])})], aliases={"b": "b.y"}).aliases == {}


class TestMaking:
    def test_measured_data(self):
        r = Record.from_arrays([0, 1, 2], {"arm.q": [1, 2, 3]}, tau=[True, False, True], units={"arm.q": "rad"})
        assert r.unit("arm.q") == "rad" and r.signal("tau").measured and r["tau"].dtype == np.float64
        assert r.estimates == {} and r.provenance == {}

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Record([]), "needs at least one grid"),
            (lambda: Record.from_arrays([0, 1], q=[1, 2, 3]), "signal 'q' has 3 samples, its time has 2"),
            (lambda: Record.from_arrays([0, 1], q=[1, 2], units={"p": "m"}), "units: no signal 'p'. The signals are: q"),
            (lambda: Record.from_arrays([0, 1], q=["a", "b"]), "'q': signal holds <U1 data; real numbers are wanted"),
            (lambda: Record.from_arrays([0, 1], q=[1j, 2]), "'q': signal holds complex128"),
            (lambda: Record.from_arrays([0, 1], q=[{}, None]), "'q': signal holds object data"),
            (lambda: Record.from_arrays([0, 1], q=[[1], [1, 2]]), "'q': signal has rows of different lengths"),
            (lambda: Record.from_arrays([0, 1], q=np.zeros((2, 2, 2))), r"'q': signal has shape \(2, 2, 2\); \[samples\] or"),
            (lambda: Record.from_arrays([0, 1], q=[1, 2], units={"q": "a\nb"}), "the unit on one line"),
            (lambda: Record.from_arrays([0, 1], {"t": [1, 2]}), "'t' cannot name a signal"),
            (lambda: Record.from_arrays([0, 1], {"a\n": [1, 2]}), "a name is printable text"),
            (lambda: Record.from_arrays([0, 2, 1], q=[1, 2, 3]), "time must grow: sample 2 is at 1.0 s, the one before at 2.0 s"),
            (lambda: Record.from_arrays([0, 1, 1], q=[1, 2, 3]), "time must grow: sample 2"),
            (lambda: Record.from_arrays([0, float("nan")], q=[1, 2]), "time is nan at sample 1; it must be finite"),
            (lambda: Record.from_arrays([[0, 1]], q=[1]), r"time has shape \(1, 2\)"),
            (lambda: Record.from_arrays(["x"], q=[1]), "time holds <U1 data"),
            (lambda: Record([Grid([0], {"q": Signal([1])}), Grid([0], {"q": Signal([1])})]), "two signals are called 'q'"),
            (lambda: Record.from_arrays([0], {"q": [[1, 2]], "q[0]": [1]}), r"'q\[0\]' would hide an element of the vector"),
        ],
    )
    def test_what_is_not_a_record(self, make, message):
        with refused(message):
            make()


class TestSlicing:
    def test_select_keeps_order_provenance_and_drops_empty_grids(self):
        r = two_rates()
        r.estimates["ls"] = "kept"
        s = r.select("joint.qd", "joint.q")
        assert list(s) == ["joint.qd", "joint.q"] and len(s.grids) == 1 and s.provenance == r.provenance
        assert s.estimates == {"ls": "kept"}
        assert list(r.select("encoder")) == ["encoder.q_hat"] and np.array_equal(r.select("enc").t, [0, 0.25, 0.5, 0.75])
        with refused("'robot.q\\[1\\]' is an element; select 'robot.q'"):
            r.select("robot.q[1]")
        with refused("no signal 'x'"):
            r.select("x")

    def test_between_includes_both_ends_on_every_grid(self):
        r = two_rates().between(0.25, 0.7)
        assert np.allclose(r.t, [0.3, 0.4, 0.5, 0.6, 0.7]) and np.array_equal(r.time("enc"), [0.25, 0.5])
        assert two_rates().between(0.95).t.tolist() == [1.0] and len(two_rates().between().t) == 11

    def test_between_forgives_the_last_bit(self):
        t = np.arange(11) * 0.1  # 3 * 0.1 is one bit above 0.3
        assert t[3] != 0.3
        assert len(Record.from_arrays(t, q=t).between(0, 0.3).t) == 4

    def test_between_nothing(self):
        with refused("no samples between 2 and 3 s; the record has 0 to 1 s every 0.1 s"):
            two_rates().between(2, 3)
        with refused("the first time must not be after the second"):
            two_rates().between(1, 0)

    def test_samples_of_the_main_grid_and_the_same_time_on_the_others(self):
        r = two_rates()[2:6]
        assert np.array_equal(r.t, np.arange(2, 6) / 10) and np.array_equal(r["encoder"], [1, 2]) and r["robot.q"].shape == (4, 3)
        assert two_rates()[-1:].t.tolist() == [1.0] and len(two_rates()[5:5].time("enc")) == 0

    def test_every_second_sample(self):
        r = two_rates()
        assert np.array_equal(r.select("joint.q")[::2].t, np.arange(0, 11, 2) / 10)
        with refused("cannot take every 2th sample of 2 grids; use resample"):
            r[::2]
        with refused("use resample"):
            r.select("joint.q")[::-1]


class TestResampling:
    def test_lines_are_exact_and_held_values_hold(self):
        r = two_rates().resample(every=0.05)
        assert len(r.grids) == 1 and np.array_equal(r.t, np.arange(21) / 20)
        assert np.allclose(r["joint.q"], 2 * r.t, atol=1e-15) and np.allclose(r["robot.q[1]"], -r.t, atol=1e-15)
        assert np.array_equal(r["encoder"], np.minimum(np.arange(21) // 5, 3)), "held to the record's end"
        assert r.signal("encoder").hold and r.unit("joint.q") == "rad"

    def test_a_cubic_spline_is_exact_on_a_cubic(self):
        r = two_rates().resample(every=0.03, method="cubic")
        assert np.allclose(r["joint.qd"], r.t**3, atol=1e-15) and np.allclose(r["robot.q[2]"], r.t**2, atol=1e-15)
        assert set(r["encoder"]) <= {0, 1, 2, 3}

    def test_hold_for_all(self):
        r = two_rates().resample([0.0, 0.19, 0.2], method="hold")
        assert np.allclose(r["joint.q"], [0, 0.2, 0.4])

    def test_a_held_sample_reached_one_bit_early_is_the_new_one(self):
        t = np.arange(11) * 0.1
        r = Record([Grid(t, {"n": Signal(np.arange(11), hold=True)})])
        assert np.array_equal(r.resample(np.arange(11) / 10)["n"], np.arange(11))

    def test_a_third_of_a_second_does_not_drift(self):
        r = Record.from_arrays([0, 1000], q=[0, 1]).resample(every="1/3")
        assert len(r.t) == 3001 and all(r.t[k] == float(Fraction(k, 3)) for k in range(0, 3001, 7))

    def test_measured_time_not_starting_at_zero(self):
        r = Record.from_arrays([5.0, 6.0, 7.5], q=[0, 2, 5]).resample(every=0.5)
        assert np.array_equal(r.t, [5, 5.5, 6, 6.5, 7, 7.5]) and np.allclose(r["q"], [0, 1, 2, 3, 4, 5])

    def test_one_sample(self):
        assert np.array_equal(Record.from_arrays([3.0], q=[4]).resample(every=10)["q"], [4])

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            (lambda r: r.resample([0.5, 1.5]), "times 0.5 to 1.5 s reach outside what every signal covers, 0 to 1 s"),
            (lambda r: r.resample([-0.1, 0.5]), "reach outside"),
            (lambda r: r.resample([0.5, 0.4]), "time must grow"),
            (lambda r: r.resample([0.5, float("nan")]), "must be finite"),
            (lambda r: r.resample(), "either times or every="),
            (lambda r: r.resample([0.5], every=0.1), "either times or every="),
            (lambda r: r.resample(every=0), "every must be above 0"),
            (lambda r: r.resample(every=-1), "every must be above 0"),
            (lambda r: r.resample(every=1e-15), "fewer than 1e9 samples of 0 to 1 s, found 1e-15"),
            (lambda r: r.resample(every="soon"), "every: found 'soon', which is not a time. An interval in seconds is wanted"),
            (
                lambda r: r.resample(every=0.1, method="cubik"),
                "no method 'cubik'. Methods are: linear, hold, cubic. Did you mean 'cubic'?",
            ),
            (lambda r: r[0:0].resample(every=0.1), "a grid without samples"),
            (lambda r: r[0:1].select("joint.q").resample(every=0.1, method="cubic"), "needs at least two samples"),
        ],
    )
    def test_what_cannot_be_resampled(self, ask, message):
        with refused(message):
            ask(two_rates())

    def test_grids_that_never_meet(self):
        r = Record([Grid([0, 1], {"a": Signal([0, 0])}), Grid([2, 3], {"b": Signal([0, 0])})])
        with refused("the grids share no time: one starts at 2 s, one ends at 1 s"):
            r.resample(every=0.1)


class TestOtherTables:
    def test_pandas(self):
        pytest.importorskip("pandas")
        table = two_rates().to_pandas(every=0.5)
        assert list(table.columns) == ["joint.q", "joint.qd", "robot.q[0]", "robot.q[1]", "robot.q[2]", "encoder.q_hat"]
        assert table.index.name == "t" and table.loc[0.5, "encoder.q_hat"] == 2 and table.attrs["units"]["robot.q[0]"] == "rad"
        with refused("a table holds one grid"):
            two_rates().to_pandas()

    def test_xarray_has_a_time_per_grid(self):
        pytest.importorskip("xarray")
        data = two_rates().to_xarray()
        assert data["robot.q"].dims == ("t", "robot.q[i]") and data["encoder.q_hat"].dims == ("t_1",)
        assert data["joint.q"].attrs == {"units": "rad", "long_name": "joint angle"}
        assert float(data["joint.q"].sel(t=0.5)) == 1.0

    def test_a_signal_called_like_a_time_dimension(self):
        pytest.importorskip("xarray")
        r = Record([Grid([0.0], {"a": Signal([1])}), Grid([0.5], {"t_1": Signal([2])})])
        assert r.to_xarray()["t_1"].dims == ("t_1_",)

    @pytest.mark.parametrize(
        ("module", "ask", "extra"),
        [
            ("pandas", lambda r, p: r.select("joint.q").to_pandas(), "pandas"),
            ("xarray", lambda r, p: r.to_xarray(), "xarray"),
            ("pyarrow", lambda r, p: r.select("joint.q").save(p / "r.parquet"), "parquet"),
        ],
    )
    def test_a_missing_package_says_how_to_install_it(self, module, ask, extra, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, module, None)
        with refused(f"this needs {module}, which is not installed: pip install blocksim\\[{extra}\\]"):
            ask(two_rates(), tmp_path)


class TestPrinting:
    def test_repr(self):
        assert repr(two_rates()) == (
            "Record: 11 samples, 0 to 1 s every 0.1 s: joint.q [rad], joint.qd [rad/s], robot.q[0:3] [rad]\n"
            "        4 samples, 0 to 0.75 s every 0.25 s: encoder.q_hat [rad]"
        )
        assert repr(Record.from_arrays([0, 1, 3], q=[1, 2, 3])) == "Record: 3 samples, 0 to 3 s at uneven steps: q"
        assert repr(Record.from_arrays([2.0])) == "Record: 1 samples, at 2 s: nothing"

    def test_html_escapes_names(self):
        html = Record.from_arrays([0, 1, 2], {"<script>": [3, -1, 2]}, units={"<script>": "<b>"})._repr_html_()
        assert "<td>&lt;script&gt;</td><td>&lt;b&gt;</td><td>-1</td><td>3</td><td>2</td>" in html and "<script>" not in html
        assert "<td></td>" in two_rates()[0:0]._repr_html_()

    def test_notebooks_get_a_picture(self):
        html = two_rates()._repr_html_()
        assert "<svg" in html and "<?xml" not in html and html.index("<svg") < html.index("<table>")


def test_rerun_hands_the_record_to_the_simulation(monkeypatch):
    given = two_rates()
    monkeypatch.setattr("blocksim.rerun", lambda record: (record, "again"), raising=False)
    assert given.rerun() == (given, "again")
