"""Files nobody should trust: each gives a record, or one RecordError naming the file and saying why. MAT-files are apart."""

from __future__ import annotations

import io
import json
import random
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from blocksim.errors import RecordError
from blocksim.records.record import Grid, Record, Signal

SUFFIXES = ".npz, .csv, .mat, .parquet, .txt, .dat, .tsv, .asc, .log, .lvm, .h5, .hdf5, .npy"


def load_error(path: Path, **limits: int) -> str:
    with pytest.raises(RecordError) as error:
        Record.load(path, **limits)
    text = str(error.value)
    assert text.startswith(f"{path}: ") and text.count(str(path)) == 1, "the file is named, once"
    return text.removeprefix(f"{path}: ")


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def npy(array: np.ndarray, **more: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def npy_header(shape: tuple, descr: str = "<f8") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


class Exploit:
    """Unpickling this would make a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


class TestNpz:
    def test_pickled_objects_are_never_unpickled(self, tmp_path):
        objects = np.array([Exploit(tmp_path / "owned"), None], dtype=object)
        text = load_error(npz(tmp_path / "a.npz", t=npy(np.arange(2.0)), q=npy(objects, allow_pickle=True)))
        assert text == "'q' holds pickled Python objects; a record holds plain real numbers, and nothing in it is ever unpickled."
        assert not (tmp_path / "owned").exists()

    def test_a_bare_pickle_is_not_a_record(self, tmp_path):
        import pickle

        (tmp_path / "a.npz").write_bytes(pickle.dumps(Exploit(tmp_path / "owned")))
        assert "cannot be read as .npz: File is not a zip file" in load_error(tmp_path / "a.npz")
        assert not (tmp_path / "owned").exists()

    @pytest.mark.parametrize("array", [np.zeros(2, "c16"), np.zeros(2, "U3"), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f8")])])
    def test_what_is_not_a_real_number(self, array, tmp_path):
        assert "a record holds plain real numbers" in load_error(npz(tmp_path / "a.npz", t=npy(np.arange(2.0)), q=npy(array)))

    def test_a_header_that_promises_a_terabyte(self, tmp_path):
        bomb = npz(tmp_path / "a.npz", t=npy(np.arange(2.0)), q=npy_header((10**12,)) + bytes(16))
        assert load_error(bomb) == "'q' says its shape is (1000000000000,), but 16 bytes follow."

    @pytest.mark.parametrize("shape", [(-1, -2), (2, -1), (10**30,)])
    def test_impossible_shapes(self, shape, tmp_path):
        load_error(npz(tmp_path / "a.npz", t=npy(np.arange(2.0)), q=npy_header(shape) + bytes(16)))

    def test_a_bomb_is_measured_before_it_is_unpacked(self, tmp_path):
        bomb = npz(tmp_path / "a.npz", t=npy(np.zeros(4_000_000)))
        assert bomb.stat().st_size < 100_000
        assert load_error(bomb, max_bytes=1_000_000) == (
            "needs 32000128 bytes, more than max_bytes=1000000. If you trust it, raise max_bytes."
        )

    def test_a_member_that_lies_about_its_size(self, tmp_path):
        data = bytearray(npz(tmp_path / "a.npz", t=npy(np.zeros(1_000_000))).read_bytes())
        true = struct.pack("<I", 8_000_128)
        assert data.count(true) >= 1
        (tmp_path / "a.npz").write_bytes(data.replace(true, struct.pack("<I", 1000)))
        assert "Bad CRC-32 for file 't.npy'" in load_error(tmp_path / "a.npz", max_bytes=100_000), "not read past what it says"

    def test_truncated(self, tmp_path):
        Record.from_arrays([0.0, 1.0], q=[1, 2]).save(tmp_path / "a.npz")
        whole = (tmp_path / "a.npz").read_bytes()
        for size in range(0, len(whole), 37):
            (tmp_path / "a.npz").write_bytes(whole[:size])
            assert "The file is damaged or is not what its name says; write it again." in load_error(tmp_path / "a.npz")

    @pytest.mark.parametrize("name", ["../escape.npy", "/etc/passwd.npy", "a/../../b.npy", "..\\b.npy", "notes.txt"])
    def test_members_that_are_no_arrays(self, name, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr(name, npy(np.arange(2.0)))
        assert "which is no array of a record" in load_error(tmp_path / "a.npz")

    def test_a_member_twice(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, pytest.warns(UserWarning):
            archive.writestr("t.npy", npy(np.arange(2.0)))
            archive.writestr("t.npy", npy(np.arange(2.0)))
        assert load_error(tmp_path / "a.npz") == "holds the member 't.npy' twice; names must differ."

    @pytest.mark.parametrize(
        "description",
        [
            "not json",
            "[]",
            "{}",
            '{"format": 1}',
            '{"format": 1, "grids": 5}',
            "[" * 100_000,
            '{"format": 1, "grids": [], "provenance": {}, "aliases": {}}',
            '{"format": 1, "grids": [{"key": "gone", "signals": []}], "provenance": {}, "aliases": {}}',
            '{"format": 1, "grids": [{"key": "t", "signals": []}], "provenance": "text", "aliases": {}}',
            '{"format": 1, "grids": [{"key": "t", "signals": []}], "provenance": {}, "aliases": {"a": []}}',
            '{"format": 1, "grids": [{"key": "t", "signals": [{"name": 3, "key": "t", "unit": "", "doc": "", "width": null, '
            '"measured": 0, "hold": 0}]}], "provenance": {}, "aliases": {}}',
            '{"format": 1, "grids": [{"key": "t", "signals": [{"name": "a", "key": "t", "unit": [], "doc": "", "width": null, '
            '"measured": 0, "hold": 0}]}], "provenance": {}, "aliases": {}}',
            '{"format": 1, "grids": [{"key": "t", "signals": [{"name": "a", "key": "t", "unit": "", "doc": "", '
            '"width": 999999999999, "measured": 0, "hold": 0}]}], "provenance": {}, "aliases": {}}',
        ],
    )
    def test_a_description_that_makes_no_sense(self, description, tmp_path):
        load_error(npz(tmp_path / "a.npz", blocksim=npy(np.array(description.encode())), t=npy(np.arange(2.0))))

    def test_a_newer_format(self, tmp_path):
        text = load_error(npz(tmp_path / "a.npz", blocksim=npy(np.array(b'{"format": 2}')), t=npy(np.arange(2.0))))
        assert text == "has record format 2; this version reads format 1. Install a newer blocksim."


class TestCsv:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "is empty; a row of names such as t,q,tau and rows of numbers are wanted."),
            ("# only\n\n# comments\n", "is empty; a row of names"),
            ("t,q\n0,1\n1,2\x00\n", "line 3 has a zero byte; text with one row of numbers a line is wanted."),
            ("t,q\n0,1\n1,2,3\n", "line 3 has 3 cells, the header has 2: t, q."),
            ("t,q\n0,1,1\n1,2,3\n", "line 2 has 3 cells, the header has 2: t, q."),
            ("t,q\n0,1\n\n1\n", "line 4 has 1 cells, the header has 2: t, q."),
            ("t,q\n0,1\n1,two\n", "line 3, column 'q': found 'two'; a number is wanted, nan or nothing where it is missing."),
            ("t,q\n0,1\n1,2,5\n", "line 3 has 3 cells, the header has 2"),
            ("t,q\n0,1\n\nnan,2\n", "line 4: time is nan at sample 1; it must be finite."),
            ("t,q\n0,1\n2,2\n1,3\n", "line 4: time must grow: sample 2 is at 1.0 s, the one before at 2.0 s. Sort or repair"),
            ("a,b\n0,1\n", "no time: found a, b. Name the time 't' or 'time', say which"),
            ("t [deg],b\n0,1\n", "its time 't' is in deg, which is no unit of time: s, ms, us, min or h are."),
            ("0,1\n1,2\n", "no time: found 1, 2. Name the time 't' or 'time', say which"),
            ("t,q\n", "its time 't' has no samples."),
            ("t," + ",".join(f"c{i}" for i in range(1_000_000)) + "\n", "line 1 has 1000001 columns; at most 10000 are read."),
            ("t,q\n0,1\n1," + "9" * 300_000 + "x\n", "cannot be read as .csv: field larger than field limit (131072)"),
            ("# blocksim record 1\n# {broken\nt,q\n0,1\n", "cannot be read as .csv: Expecting property name"),
        ],
    )
    def test_damaged(self, content, message, tmp_path):
        (tmp_path / "a.csv").write_bytes(content.encode())
        assert load_error(tmp_path / "a.csv").startswith(message)

    def test_not_text(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(b"t,q \x81\n0,1\n")
        assert "codec can't decode byte 0x81" in load_error(tmp_path / "a.csv")

    def test_a_line_without_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr("blocksim.records.foreign.table_head.MAX_LINE", 1000)
        (tmp_path / "a.csv").write_text("t,q\n0," + "1" * 2000)
        assert load_error(tmp_path / "a.csv").startswith("line 2 has more than 1000 bytes")

    def test_more_cells_than_memory(self, tmp_path):
        (tmp_path / "a.csv").write_text("t,q\n" + "".join(f"{i},1\n" for i in range(1000)))
        assert load_error(tmp_path / "a.csv", max_bytes=10_000).startswith("needs 16016 bytes, more than max_bytes=10000")
        assert load_error(tmp_path / "a.csv", max_bytes=100).startswith("needs 5894 bytes")

    def test_columns_changed_by_hand(self, tmp_path):
        Record.from_arrays([0.0, 1.0], q=[1, 2]).save(tmp_path / "a.csv")
        text = (tmp_path / "a.csv").read_text()
        (tmp_path / "a.csv").write_text(text.replace("t [s],q", "t [s],p"))
        assert load_error(tmp_path / "a.csv").startswith("its table and its description disagree about q. If columns")
        wider = text.replace("t [s],q", "t [s],q,p").replace("1.0\n", "1.0,3\n").replace("2.0\n", "2.0,4\n")
        (tmp_path / "a.csv").write_text(wider)
        assert "disagree about p" in load_error(tmp_path / "a.csv")


class TestParquet:
    def test_damaged(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "a.parquet"
        path.write_bytes(b"PAR1 nothing PAR1")
        assert "cannot be read as .parquet" in load_error(path)
        parquet.write_table(pyarrow.table({"t": [0.0, 1.0], "name": ["a", "b"]}), path)
        assert load_error(path) == "column 'name' holds string; real numbers are wanted."
        parquet.write_table(pyarrow.table({"t": np.arange(100_000.0)}), path)
        assert load_error(path, max_bytes=790_000).startswith(("needs 800000 bytes", f"needs {path.stat().st_size} bytes"))
        parquet.write_table(pyarrow.table([[0.0], [1.0], [2.0]], names=["t", "q", "q"]), path)
        assert load_error(path) == "holds the column 'q' twice; names must differ."


class TestPaths:
    def test_what_is_not_a_file(self, tmp_path):
        (tmp_path / "dir.npz").mkdir()
        assert load_error(tmp_path / "dir.npz").startswith("is not a file; the path of a .npz, .csv, .mat, .parquet")
        assert load_error(tmp_path / "none.npz").startswith("does not exist; ")
        assert load_error(tmp_path / "a.pkl") == f"no format '.pkl'. The suffix chooses one of: {SUFFIXES}."
        assert load_error(tmp_path / "a") == f"no format ''. The suffix chooses one of: {SUFFIXES}."
        assert load_error(tmp_path / ("x" * 300 + ".npz")).startswith("does not exist; ")
        with pytest.raises(RecordError, match="does not exist"):
            Record.load("null\0byte.npz")

    def test_a_file_one_may_not_read(self, tmp_path, monkeypatch):
        def closed(*given):
            raise PermissionError(13, "Permission denied")

        (tmp_path / "a.npz").touch()
        monkeypatch.setattr("blocksim.records.npzfile.read", closed)
        assert load_error(tmp_path / "a.npz") == "may not be read; change its permissions."


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".csv", ".parquet"])
def test_any_damage_is_a_record_error(suffix, tmp_path):
    """Bytes changed and files cut at random: a record or a RecordError, never another error, never a crash, never slow."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    t = np.arange(11) / 10
    path = tmp_path / f"a{suffix}"
    Record([Grid(t, {"q": Signal(np.sin(t), "rad"), "v": Signal(np.column_stack([t, t]))})], {"seed": 1}).save(path)
    whole, chance = path.read_bytes(), random.Random(1)
    errors, start = 0, time.monotonic()
    for i in range(400):
        data = bytearray(whole[: chance.randrange(1, len(whole))] if i % 3 == 0 else whole)
        for _ in range(chance.choice([1, 1, 3, 10])):
            data[chance.randrange(len(data))] = chance.choice([0, 255, chance.randrange(256)])
        path.write_bytes(data)
        try:
            Record.load(path)
        except RecordError:
            errors += 1
    assert errors > 100 and time.monotonic() - start < 30


def test_importing_the_record_stays_light():
    code = (
        "import sys, json, blocksim.records.record, blocksim.records.csvfile, blocksim.records.matfile; "
        "print(json.dumps([m for m in ('scipy', 'pandas', 'xarray', 'pyarrow', 'matplotlib') if m in sys.modules]))"
    )
    assert json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout) == []
