"""Units in files: one reader for all formats; none is dropped on the way into a diagram."""

import math

import numpy as np
import pytest

import blocksim as bs
from blocksim.records.conversion import name_and_unit

HEADS = {
    "q [deg]": ("q", "deg"),
    "q[deg]": ("q", "deg"),
    "q (deg)": ("q", "deg"),
    "speed(rad/s)": ("speed", "rad/s"),
    "tau (N m)": ("tau", "N m"),
    "q[1]": ("q[1]", ""),  # an element
    "q(1)": ("q(1)", ""),
    "f(s)": ("f(s)", ""),  # a function of s
    "v(in)": ("v(in)", ""),
    "x (left)": ("x (left)", ""),
}


@pytest.mark.parametrize("head", HEADS)
def test_a_head_tells_name_and_unit(head):
    assert name_and_unit(head) == HEADS[head]


def written(path, heads, *more):
    t = np.arange(0, 1.001, 0.01)
    rows = [f"{a},{30 * math.sin(a)}" for a in t]
    path.write_text("\n".join([heads, *more, *rows, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "heads, more",
    [
        ("t [s],q [deg]", ()),
        ("t (s),q (deg)", ()),
        ("t,q", ("s,deg",)),
        ("t,q", ("[s],[deg]",)),
        ("t,q", ("(s),(deg)",)),
        ("t,q", (",deg",)),
        ("t,q [deg]", ("-,-",)),
    ],
    ids=["square", "round", "row", "row in square", "row in round", "time without", "no row"],
)
def test_units_in_heads_and_in_a_row_of_their_own(tmp_path, heads, more):
    if more == ("-,-",):  # nothing in it is a unit, so it is no row of units, and no numbers either
        with pytest.raises(bs.RecordError, match=r"line 2: time is nan at sample 0"):
            bs.Record.load(written(tmp_path / "lab.csv", heads, *more))
        return
    record = bs.Record.load(written(tmp_path / "lab.csv", heads, *more))
    assert record.unit("q") == "deg" and len(record.t) == 101 and record["q"][1] == pytest.approx(30 * math.sin(0.01))


def test_milliseconds_in_a_row_of_units_become_seconds(tmp_path):
    path = tmp_path / "lab.csv"
    path.write_text("time;q\nms;mm\n0;1\n2;3\n4;5\n", encoding="utf-8")
    record = bs.Record.load(path)
    assert record.t == pytest.approx([0, 0.002, 0.004]) and record.unit("q") == "mm"


def test_a_row_of_words_that_are_no_units_is_refused_with_its_line(tmp_path):
    path = written(tmp_path / "lab.csv", "t,q", "fast,slow")
    with pytest.raises(bs.RecordError, match=r"line 2, column 't': found 'fast'; a number is wanted"):
        bs.Record.load(path)


def test_parquet_tells_units_in_its_heads_and_its_metadata(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    t = np.arange(5) * 0.1
    parquet.write_table(pyarrow.table({"t (s)": t, "q (deg)": t, "u": t}), tmp_path / "heads.parquet")
    fields = [pyarrow.field("t", pyarrow.float64()), pyarrow.field("q", pyarrow.float64(), metadata={"unit": "deg"})]
    parquet.write_table(pyarrow.table([t, t], schema=pyarrow.schema(fields)), tmp_path / "told.parquet")
    for name in ("heads", "told"):
        assert bs.Record.load(tmp_path / f"{name}.parquet").unit("q") == "deg"


LAW = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-2}
blocks:
  angle: {type: FromRecord, file: lab.csv, signal: q, hold: HOLD}
  twice: {type: Gain, k: 2, in: angle}
"""


@pytest.mark.parametrize("hold", ["linear", "zero"])
def test_a_recorded_source_plays_in_si_units(tmp_path, hold):
    written(tmp_path / "lab.csv", "t,q (deg)")
    (tmp_path / "play.yaml").write_text(LAW.replace("HOLD", hold), encoding="utf-8")
    played = bs.simulate(tmp_path / "play.yaml")
    late = 1e-12 if hold == "linear" else np.radians(30) * 0.01  # a held sample may be the one before
    assert played["angle"] == pytest.approx(np.radians(30 * np.sin(played.t)), abs=late)


PIPELINE = """
format: 1
simulate: {stop: 1}
blocks:
  tau:     {type: Constant}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: tau}
  encoder: {type: Encoder, Ts: 1e-2, resolution: 1e-4, in: joint.q}
  speed:   {type: CentralDifference, in: encoder}
"""


class TestScale:
    def test_a_column_that_is_scaled_keeps_its_unit(self, tmp_path):
        path = written(tmp_path / "lab.csv", "t,q [deg]")
        record = bs.identify(PIPELINE, path, columns={"encoder": {"column": "q", "scale": -1, "offset": 3}})
        assert record["encoder.q_hat"] == pytest.approx(np.radians(3 - 30 * np.sin(record.t)))
        assert "'encoder.q_hat': q converted from deg to rad" in record.provenance["notes"]

    def test_a_scale_that_converts_a_second_time_is_refused(self, tmp_path):
        path = written(tmp_path / "lab.csv", "t,q [deg]")
        with pytest.raises(bs.DiagramError, match=r"scale: 0.01745 would do that twice. Leave scale out") as refused:
            bs.identify(PIPELINE, path, columns={"encoder": {"column": "q", "scale": 0.01745}})
        assert "column q is in deg and becomes rad by itself, times 0.0174533" in str(refused.value)

    def test_a_scale_makes_of_a_unit_what_nothing_else_can(self, tmp_path):
        path = written(tmp_path / "lab.csv", "t,q [V]")
        record = bs.identify(PIPELINE, path, columns={"encoder": {"column": "q", "scale": 0.5}})
        assert record["encoder.q_hat"] == pytest.approx(15 * np.sin(record.t)) and record.unit("encoder.q_hat") == "rad"
        assert any("q is in V; scale: 0.5 is taken to make it rad" in note for note in record.provenance["notes"])


@pytest.mark.parametrize("column", [{"column": "q", "unit": "deg"}, {"column": "q [deg]"}], ids=["mapping", "head"])
def test_a_unit_is_converted_where_the_signal_has_none(tmp_path, column):
    """A Gain of a Constant has no unit; who says deg still does not mean rad. A scale beside a head's unit converts."""
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-2}
blocks:
  zero:   {type: Constant, value: 0}
  angle:  {type: Gain, in: zero}
  smooth: {type: IRWSmoother, order: 2, bandwidth: 10, in: angle}
"""
    path = written(tmp_path / "lab.csv", f"t,{column['column']}")
    named = {**column, "column": "q"}
    record = bs.identify(text, path, columns={"angle": named})
    assert record["angle"] == pytest.approx(np.radians(30 * np.sin(record["t"])), abs=1e-12)
    if "unit" not in column:
        scaled = bs.identify(text, path, columns={"angle": {**named, "scale": math.pi / 180}})
        assert scaled["angle"] == pytest.approx(record["angle"], abs=1e-12)
