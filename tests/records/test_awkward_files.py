"""Files as people have them: forty kinds, each read rightly or refused in words."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.records.grid import TimeAxis
from blocksim.records.record import MAX_RECORD_BYTES
from blocksim.records.storage import read_record
from blocksim.running.looking import view_of_file

PLAIN = TimeAxis()
EVERY = TimeAxis(every=0.5)
FIRST = TimeAxis(column="1")
MICROS = TimeAxis(column="us [us]")
#: name: content, how the time is given, and what is in it (or the words that refuse it)
TABLES = {
    "comma.csv": ("t,q\n0,1\n0.5,2\n1,3\n", PLAIN, {"q": [1, 2, 3]}),
    "semicolon.csv": ("t;q\n0;1\n0.5;2\n1;3\n", PLAIN, {"q": [1, 2, 3]}),
    "tab.txt": ("t\tq\n0\t1\n0.5\t2\n1\t3\n", PLAIN, {"q": [1, 2, 3]}),
    "blanks.txt": ("t q\n0 1\n0.5 2\n1 3\n", PLAIN, {"q": [1, 2, 3]}),
    "aligned.dat": ("   t      q\n 0.0   1.0\n 0.5   2.0\n 1.0   3.0\n", PLAIN, {"q": [1, 2, 3]}),
    "tabs.tsv": ("time\tq\n0\t1\n0.5\t2\n1\t3\n", PLAIN, {"q": [1, 2, 3]}),
    "decimal_comma.csv": ("t;q\n0,0;1,5\n0,5;2,5\n1,0;-3,5\n", PLAIN, {"q": [1.5, 2.5, -3.5]}),
    "decimal_comma_late.csv": ("t;q\n0;1\n0,5;2\n1;3,25\n", PLAIN, {"q": [1, 2, 3.25]}),
    "decimal_comma.txt": ("t\tq\n0,0\t1,5\n0,5\t2,5\n1,0\t3e0\n", PLAIN, {"q": [1.5, 2.5, 3]}),
    "decimal_comma_blanks.dat": ("0,0 1,5\n0,5 2,5\n1,0 3,5\n", FIRST, {"2": [1.5, 2.5, 3.5]}),
    "commas_twice.csv": ("t,q\n0,0,1,5\n0,5,2,5\n", PLAIN, "cannot be told apart: save it with semicolons"),
    "no_names.csv": ("0,1,4\n0.5,2,5\n1,3,6\n", FIRST, {"2": [1, 2, 3], "3": [4, 5, 6]}),
    "no_names.txt": ("0 1\n0.5 2\n1 3\n", FIRST, {"2": [1, 2, 3]}),
    "no_names_no_time.csv": ("0,1\n0.5,2\n", PLAIN, "no time: found 1, 2"),
    "no_names_every.csv": ("7,1\n8,2\n9,3\n", EVERY, {"1": [7, 8, 9], "2": [1, 2, 3]}),
    "one_number_a_line.txt": ("1\n2\n3\n", EVERY, {"1": [1, 2, 3]}),
    "one_number_a_line_comma.dat": ("1,5\n2,5\n3,5\n", EVERY, {"1": [1.5, 2.5, 3.5]}),
    "one_number_a_line.csv": ("q\n1\n2\n3\n", EVERY, {"q": [1, 2, 3]}),
    "one_column_that_repeats.txt": ("1\n1\n3\n", EVERY, {"1": [1, 1, 3]}),
    "unit_row.csv": ("t,q\ns,rad\n0,1\n0.5,2\n1,3\n", PLAIN, {"q": [1, 2, 3]}),
    "unit_row_ms.csv": ("t;q\n[ms];[deg]\n0;1\n500;2\n1000;3\n", PLAIN, {"q": [1, 2, 3]}),
    "units_in_names.csv": ("t [ms],q (deg)\n0,1\n500,2\n1000,3\n", PLAIN, {"q": [1, 2, 3]}),
    "iso.csv": ("stamp,q\n2026-03-01T12:00:00,1\n2026-03-01T12:00:00.5,2\n2026-03-01T12:00:01,3\n", PLAIN, {"q": [1, 2, 3]}),
    "iso_blank.csv": ("t;q\n2026-03-01 12:00:00;1\n2026-03-01 12:00:00,5;2\n2026-03-01 12:00:01;3\n", PLAIN, {"q": [1, 2, 3]}),
    "iso_zone.csv": ("w,q\n2026-03-01T23:59:59.5Z,1\n2026-03-02T00:00Z,2\n2026-03-02T00:00:00.5Z,3\n", PLAIN, {"q": [1, 2, 3]}),
    "repeated_rows.csv": ("t,q\n0,1\n0.5,2\n0.5,2\n1,3\n", PLAIN, {"q": [1, 2, 3]}),
    "repeated_times.csv": ("t,q\n0,1\n0.5,2\n0.5,7\n1,3\n", PLAIN, "line 4: time must grow"),
    "comments.csv": ("# rig 3\n# Tuesday\nt,q\n0,1\n0.5,2\n1,3\n", PLAIN, {"q": [1, 2, 3]}),
    "bom_and_crlf.csv": ("\ufefft,q\r\n0,1\r\n0.5,2\r\n1,3\r\n", PLAIN, {"q": [1, 2, 3]}),
    "quotes.csv": ('"t","q"\n"0","1"\n"0.5","2"\n"1","3"\n', PLAIN, {"q": [1, 2, 3]}),
    "missing_cell.csv": ("t,q\n0,1\n0.5,\n1,3\n", PLAIN, {"q": [1, np.nan, 3]}),
    "ragged.csv": ("t,q\n0,1\n0.5\n1,3\n", PLAIN, "line 3 has 1 cells, the header has 2"),
    "words.csv": ("t,q\n0,1\n0.5,high\n1,3\n", PLAIN, "line 3, column 'q': found 'high'"),
    "empty.txt": ("", PLAIN, "is empty"),
    # as loggers, spreadsheets and old programs leave them
    "remarks_above_tabs.txt": ("Rig 7, axis 3\n\nt\tq\ns\t°\n0,0\t1,5\n0,5\t2,5\n1,0\t3,5\n", PLAIN, {"q": [1.5, 2.5, 3.5]}),
    "remarks_above_semicolons.csv": ("Rig 7;\nDate;3.2.2026\n\nt;q\n0,0;1,5\n0,5;2,5\n1,0;3,5\n", PLAIN, {"q": [1.5, 2.5, 3.5]}),
    "separator_line.csv": ("sep=;\nt;q\n0;1\n0,5;2\n1;3\n", PLAIN, {"q": [1, 2, 3]}),
    "bars.txt": ("t|q\n0|1\n0.5|2\n1|3\n", PLAIN, {"q": [1, 2, 3]}),
    "colons.txt": ("t:q\n0:1\n0.5:2\n", PLAIN, "no column holds numbers: line 2 begins with '0:1'"),
    "old_exponents.dat": (" 0.0D+00  1.0D+00\n 5.0D-01  2.0D+00\n 1.0D+00  3.0D+00\n", FIRST, {"2": [1, 2, 3]}),
    "minus_signs.csv": ("t,q\n0,\u22121\n0.5,2\n1,\u22123.5\n", PLAIN, {"q": [-1, 2, -3.5]}),
    "cut_last_line.csv": ("t,q\n0,1\n0.5,2\n1,3\n1.", PLAIN, {"q": [1, 2, 3]}),
    "short_last_line.csv": ("t,q\n0,1\n0.5,2\n1,3\n1.\n", PLAIN, "line 5 has 1 cells"),
    "clock_of_colons.csv": ("time,q\n12:00:00:000,1\n12:00:00:500,2\n12:00:01:000,3\n", PLAIN, {"q": [1, 2, 3]}),
    "dates_in_us.csv": ("us,q\n1760000000000000,1\n1760000000500000,2\n1760000001000000,3\n", MICROS, {"q": [1, 2, 3]}),
    "percent.csv": ("t,q (%)\n0,1\n0.5,2\n1,3\n", PLAIN, {"q": [1, 2, 3]}),
    "old_mac.csv": ("t,q\r0,1\r0.5,2\r1,3\r", PLAIN, {"q": [1, 2, 3]}),
    "header_again.csv": ("t,q\n0,1\n0.5,2\nt,q\n1,3\n", PLAIN, "line 4, column 't': found 't'"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_or_refused(name, tmp_path):
    content, axis, inside = TABLES[name]
    (tmp_path / name).write_bytes(content.encode())
    if isinstance(inside, str):
        with pytest.raises(bs.RecordError, match=inside):
            read_record(tmp_path / name, MAX_RECORD_BYTES, axis)
        return
    record = read_record(tmp_path / name, MAX_RECORD_BYTES, axis)
    assert record.t == pytest.approx([0, 0.5, 1]) and list(record) == list(inside)
    for signal, values in inside.items():
        np.testing.assert_array_equal(record[signal], values)
    if name == "repeated_rows.csv":
        assert record.provenance["repeated_rows"] == 1
    if "unit" in name:
        assert record.unit("q") in ("rad", "deg")


MATLAB = {
    "struct": {"data": {"t": [0, 0.5, 1], "q": [1, 2, 3], "rig": "three", "gains": [1, 2]}},
    "struct_of_rows": {"run": {"time": np.array([[0, 0.5, 1]]), "q": np.array([[1, 2, 3]])}},
    "wide_matrix": {"t": [0, 0.5, 1], "Q": np.array([[1.0, 2, 3], [4, 5, 6]])},
    "tall_matrix": {"t": [0, 0.5, 1], "Q": np.array([[1.0, 4], [2, 5], [3, 6]])},
    "cells": {"t": [0, 0.5, 1], "c": np.array([np.array([1.0, 2, 3]), "left"], dtype=object)},
}


@pytest.mark.parametrize("name", MATLAB)
def test_a_mat_file_is_read(name, tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "lab.mat", MATLAB[name])
    record = bs.Record.load(tmp_path / "lab.mat")
    assert record.t == pytest.approx([0, 0.5, 1])
    signal = next(iter(record))
    first = record[signal][:, 0] if record[signal].ndim == 2 else record[signal]
    assert first.tolist() == [1, 2, 3]
    if name == "struct":
        assert signal == "data.q" and record.provenance["constants"]["data.rig"] == "three"
        assert record.provenance["ignored"] == ["data.gains"]


def test_a_version_7_3_file_is_read_through_h5py(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "lab.mat", "w", userblock_size=512) as file:
        for name, values in (("t", [[0.0, 0.5, 1.0]]), ("data/Q", [[1.0, 2, 3], [4, 5, 6]])):  # MATLAB writes transposed
            file[name] = np.array(values)
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        file["data"].attrs["MATLAB_class"] = np.bytes_("struct")
        file["odd"] = np.zeros(6, dtype="u4")
        file["odd"].attrs["MATLAB_class"] = np.bytes_("table")
    with open(tmp_path / "lab.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    record = bs.Record.load(tmp_path / "lab.mat")
    assert record["data.Q"].tolist() == [[1, 4], [2, 5], [3, 6]] and record.provenance["ignored"] == ["odd"]


def test_dates_keep_the_digits_of_an_interval(tmp_path):
    """1.76e15 us leave a quarter of a microsecond; the same in seconds would leave as much again."""
    stamps = 1_760_000_000_000_000 + 2000 * np.arange(500)
    (tmp_path / "a.csv").write_text("us,q\n" + "".join(f"{s},{k}\n" for k, s in enumerate(stamps)))
    record = bs.Record.load(tmp_path / "a.csv", time="us [us]")
    np.testing.assert_allclose(record.t, 2e-3 * np.arange(500), rtol=0, atol=1e-12)


def test_words_that_were_no_numbers_are_shown(tmp_path):
    (tmp_path / "a.csv").write_text('t,q\n0,"1,000.5"\n0.5,"2,000.5"\n1,"3,000.5"\n')
    assert "not read: q ('1,000.5')" in str(view_of_file(tmp_path / "a.csv")[1])


def test_there_are_fifty():
    assert len(TABLES) + len(MATLAB) + 1 >= 50
