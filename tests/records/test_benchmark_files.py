"""Files as benchmarks, instruments and loggers leave them: without a time, with two trials, remarks on top, other encodings."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.records.grid import TimeAxis
from blocksim.records.record import MAX_RECORD_BYTES
from blocksim.records.storage import read_record
from blocksim.running.looking import look_at, view_of_file

ROWS = "0,1\n0.5,2\n1,3\n"
#: name: bytes, how the time is given, what is in it, a remark on it
TABLES = {
    "instrument.csv": (f"Model,TPS2024,4\nPoints,3,\n\nTIME,CH1\n{ROWS}", "", {"CH1": [1, 2, 3]}, "3 lines above"),
    "percent.txt": ("% rig 4, on Tuesday\n% t q\n0 1\n0.5 2\n1 3\n", "", {"q": [1, 2, 3]}, "lines above"),
    "slashes.dat": ("// rig\nt q\n0 1\n0.5 2\n1 3\n", "", {"q": [1, 2, 3]}, "lines above"),
    "lab.lvm": ("LabVIEW\t\n***End***\t\n\nX_Value\tq\tComment\n0\t1\n0.5\t2\n1\t3\n", "X_Value", {"q": [1, 2, 3]}, ""),
    "words_in_units.csv": ("time,1\nsecond,Volt\n0,1\n0.5,2\n1,3\n", "", {"1": [1, 2, 3]}, ""),
    "clock.csv": ("time,q\n23:59:59.5,1\n00:00:00,2\n0:00:00.5,3\n", "", {"q": [1, 2, 3]}, ""),
    "day_first.csv": ("w;q\n31.12.2025 23:59:59,5;1\n01.01.2026 00:00:00;2\n01.01.2026 00:00:00,5;3\n", "", {"q": [1, 2, 3]}, ""),
    "unix.csv": ("stamp,q\n1700000000,1\n1700000000.5,2\n1700000001,3\n", "stamp", {"q": [1, 2, 3]}, "counted"),
    "words_for_nothing.csv": ("t,q,p\n0,NA,1\n0.5,2,#N/A\n1,-,5\n", "", {"q": [np.nan, 2, np.nan], "p": [1, np.nan, 5]}, ""),
    "text_column.csv": ("t,frame,q\n0,base,1\n0.5,base,2\n1,base,3\n", "", {"q": [1, 2, 3]}, "not read: frame"),
    "end_of_line.csv": ("t,q,\n0,1,\n0.5,2,\n1,3,\n", "", {"q": [1, 2, 3]}, ""),
    "index.csv": (",t,q\n0,0,1\n1,0.5,2\n2,1,3\n", "", {"1": [0, 1, 2], "q": [1, 2, 3]}, ""),
    "twice.csv": ("t,q,q\n0,1,1\n0.5,2,2\n1,3,3\n", "", {"q": [1, 2, 3], "q_2": [1, 2, 3]}, "another 'q' and is called 'q_2'"),
    "twice_in_units.csv": ("t,q [m],q [mm]\n0,1,4\n0.5,2,5\n1,3,6\n", "", {"q": [1, 2, 3], "q_2": [4, 5, 6]}, "another 'q'"),
    "plain.log": ("0 1\n0.5 2\n1 3\n", "1", {"2": [1, 2, 3]}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read(name, tmp_path):
    content, time, inside, remark = TABLES[name]
    (tmp_path / name).write_text(content)
    record = read_record(tmp_path / name, MAX_RECORD_BYTES, TimeAxis(column=time))
    assert record.t == pytest.approx([0, 0.5, 1])
    assert list(record) == list(inside) and remark in str(look_at(record))
    for signal, values in inside.items():
        np.testing.assert_array_equal(record[signal], values)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
def test_encodings_of_other_systems(encoding, tmp_path):
    (tmp_path / "a.csv").write_text("Zeit [ms];Winkel [°]\r\n0;1,5\r\n500;2,5\r\n1000;3,5\r\n", encoding=encoding)
    record = read_record(tmp_path / "a.csv", MAX_RECORD_BYTES, TimeAxis(column="Zeit"))
    assert record.unit("Winkel") == "°" and record["Winkel"].tolist() == [1.5, 2.5, 3.5] and record.t[1] == 0.5


def test_names_with_a_row_of_words_below_stay_refused(tmp_path):
    (tmp_path / "a.csv").write_text(f"t,q\nfast,slow\n{ROWS}")
    with pytest.raises(bs.RecordError, match=r"line 2, column 't': found 'fast'"):
        bs.Record.load(tmp_path / "a.csv")


def test_two_trials_in_one_mat_file(tmp_path):
    """As the industrial robot's benchmark is kept: rows for joints, a time for each trial."""
    from scipy.io import savemat

    t, u = 0.004 * np.arange(40), np.arange(240.0).reshape(6, 40)
    trials = {"time_train": t, "u_train": u, "time_test": t[:10], "u_test": u[:, :10]}
    savemat(tmp_path / "kuka.mat", trials)
    _, view = view_of_file(tmp_path / "kuka.mat")
    assert '--time "time_train", --time "time_test"' in str(view) and "u_test (6 x 10)" in str(view)
    for trial, rows in (("train", 40), ("test", 10)):
        record = read_record(tmp_path / "kuka.mat", MAX_RECORD_BYTES, TimeAxis(column=f"time_{trial}"))
        assert list(record) == [f"u_{trial}"] and record[f"u_{trial}"].shape == (rows, 6) and record.t[-1] == t[rows - 1]


def test_what_goes_with_another_time_is_told(tmp_path):
    np.savez(tmp_path / "a.npz", time_1=np.arange(9.0), q_1=np.arange(9.0), time_2=np.arange(5.0), q_2=np.zeros(5))
    with pytest.raises(bs.DiagramError, match=r"'q_2' \(5\) is in the file, but does not go with this time"):
        bs.identify("emps/least_squares", tmp_path / "a.npz", time="time_1", columns={"encoder": "q_2"})


def test_a_file_without_time_is_shown_with_what_may_be_it(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"fs": 500.0, "u": np.ones(30), "y": np.arange(30.0) % 7})
    assert "--every 0.002 (fs = 500)" in str(view_of_file(tmp_path / "a.mat")[1])
    (tmp_path / "tanks.csv").write_text("u,y,Ts,\n1,2,4,\n2,2,,\n1,3,,\n")
    result = CliRunner().invoke(app, ["look", str(tmp_path / "tanks.csv")])
    assert result.exit_code == 0 and "3 rows; their time is not known" in result.output
    assert "--every 4 (Ts = 4)" in result.output and "a single value: Ts = 4.0" in result.output
    (tmp_path / "ros.csv").write_text("%time,seq,q\n1700000000000000000,0,3\n1700000000004000000,1,1\n1700000000008000000,2,2\n")
    assert '--time "%time [ns]", --time "seq"' in str(view_of_file(tmp_path / "ros.csv")[1])
    np.save(tmp_path / "a.npy", np.c_[np.arange(9) / 10, np.arange(9) % 4])
    record, view = view_of_file(tmp_path / "a.npy", TimeAxis(column="data[0]"))
    assert record.t[-1] == pytest.approx(0.8) and "every 0.1 s (10 Hz)" in view.times[0]


def test_times_that_do_not_grow_are_shown_too(tmp_path):
    (tmp_path / "a.csv").write_text("t,q\n0,1\n1,2\n0.5,3\n")
    view = str(view_of_file(tmp_path / "a.csv")[1])
    assert "line 4: time must grow" in view and "their time is not known" in view


def test_plain_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["time"], file["joint/q"] = [0, 0.5, 1], [1, 2, 3]
        file["joint/q"].attrs["unit"] = "deg"
    record = bs.Record.load(tmp_path / "a.h5")
    assert record["joint.q"].tolist() == [1, 2, 3] and record.unit("joint.q") == "deg"


def test_a_limit_a_slow_channel_and_jitter_with_gaps_are_told():
    rng = np.random.default_rng(3)
    t = np.arange(4000) * 1e-3
    torque = np.clip(12 * np.sin(5 * t) + 0.3 * rng.normal(size=4000), -10, 10)
    slow = np.repeat(np.sin(3 * t[::4]), 4)
    view = look_at(bs.Record.from_arrays(t, {"torque": torque, "slow": slow, "free": np.sin(7 * t)}))
    columns = {c.name: c.guess for c in view.columns}
    assert "at its largest value 10 in" in columns["torque"] and "smallest value -10" in columns["torque"]
    assert columns["slow"] == "new only every 4 rows" and columns["free"] == ""
    late = t[rng.random(4000) > 0.02] + 0
    late = late + 2e-4 * rng.random(len(late))
    words = look_at(bs.Record.from_arrays(late, {"q": np.sin(late)})).times[0]
    assert "uneven: steps of" in words and "gaps (" in words


@pytest.mark.parametrize("clock", [True, False])
def test_uneven_sampling_is_told_from_an_uneven_clock(clock):
    """A sine sampled at even times that were written down wrongly, and one sampled at the times that were written."""
    random = np.random.default_rng(1)
    even = np.arange(3000) * 2e-3
    written = even + 2e-4 * random.standard_normal(3000)
    q = np.sin(9 * (even if clock else written)) + 1e-5 * random.standard_normal(3000)
    words = look_at(bs.Record.from_arrays(written, {"q": q})).times[0]
    assert ("the clock jitters" in words) is clock and ("rows: even" in words) is clock and "--resample" in words


def test_a_sheet_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(bs.RecordError, match=r"Save the sheet as \.csv"):
        bs.Record.load(tmp_path / "a.xlsx")
