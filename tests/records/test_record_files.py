"""Records as files: what is saved comes back bit for bit, is readable by others, and is never half written."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from test_record import refused, two_rates

from blocksim.records.record import Grid, Record, Signal

SUFFIXES = [".npz", ".csv", ".mat", ".parquet"]


def same(a: Record, b: Record) -> None:
    """Identical to the last bit, nan and the sign of zero included."""
    assert list(a) == list(b) and a.provenance == b.provenance and a.aliases == b.aliases
    for one, other in zip(a.grids, b.grids, strict=True):
        assert one.t.tobytes() == other.t.tobytes() and list(one.signals) == list(other.signals)
        for name, x in one.signals.items():
            y = other.signals[name]
            assert (x.unit, x.doc, x.measured, x.hold, x.values.shape) == (y.unit, y.doc, y.measured, y.hold, y.values.shape)
            # All nan are one: text has no word for their payload.
            one_bits, other_bits = (np.where(np.isnan(v), np.nan, v).tobytes() for v in (x.values, y.values))
            assert one_bits == other_bits


class TestFiles:
    @pytest.mark.parametrize("suffix", [".npz", ".mat"])
    def test_several_grids_come_back(self, suffix, tmp_path):
        two_rates().save(tmp_path / f"r{suffix}")
        same(Record.load(tmp_path / f"r{suffix}"), two_rates())

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_a_table_holds_one_grid(self, suffix, tmp_path):
        if suffix == ".parquet":
            pytest.importorskip("pyarrow")
        path = tmp_path / f"r{suffix}"
        with refused("a table holds one grid, the record has 2. Pass every=, or resample or select"):
            two_rates().save(path)
        assert not list(tmp_path.iterdir()), "nothing half written stays"
        two_rates().save(path, every=0.1)
        same(Record.load(path), two_rates().resample(every=0.1))

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_what_is_loaded_can_be_changed(self, suffix, tmp_path):
        Record.from_arrays([0.0, 1.0], q=[1.0, 2.0]).save(tmp_path / f"r{suffix}")
        loaded = Record.load(tmp_path / f"r{suffix}")
        loaded["q"][0] = 5
        assert loaded["q"][0] == 5

    def test_the_same_record_gives_the_same_bytes(self, tmp_path):
        for name in ("a.npz", "b.npz", "a.csv", "b.csv"):
            two_rates().save(tmp_path / name, every=0.1)
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()

    def test_others_can_read_it(self, tmp_path):
        r = two_rates()
        r.save(tmp_path / "r.npz")
        r.save(tmp_path / "r.mat")
        from scipy.io import loadmat

        assert np.array_equal(np.load(tmp_path / "r.npz")["robot.q"], r["robot.q"])
        mat = loadmat(tmp_path / "r.mat")
        assert np.array_equal(mat["joint_q"][:, 0], r["joint.q"]) and np.array_equal(mat["t_1"][:, 0], r.time("enc"))

    def test_a_csv_reads_as_a_person_would_write_it(self, tmp_path):
        Record.from_arrays([0.0, 0.5], q=[1.0, 0.1], units={"q": "rad"}).save(tmp_path / "r.csv")
        lines = (tmp_path / "r.csv").read_text().splitlines()
        assert lines[0] == "# blocksim record 1" and lines[-3:] == ["t [s],q [rad]", "0.0,1.0", "0.5,0.1"]
        assert json.loads("".join(line[2:] for line in lines[1:-3]))["provenance"] == {}

    def test_provenance_takes_numpy_and_refuses_loops(self, tmp_path):
        r = Record.from_arrays([0.0], q=[1.0])
        r.provenance = {"seed": np.int64(3), "gains": np.array([1.5, 2.0]), "step": Fraction(1, 3), "file": Path("a.yaml")}
        r.save(tmp_path / "r.npz")
        assert Record.load(tmp_path / "r.npz").provenance == {"seed": 3, "gains": [1.5, 2.0], "step": "1/3", "file": "a.yaml"}
        r.provenance["self"] = r.provenance
        with refused("provenance cannot be written as JSON: Circular reference"):
            r.save(tmp_path / "r.npz")
        assert Record.load(tmp_path / "r.npz").provenance["seed"] == 3, "the old file is untouched"

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch):
        two_rates().save(tmp_path / "r.npz")

        def full(file: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with refused("r.npz: cannot be written: .*No space left"):
            Record.from_arrays([0.0], q=[1.0]).save(tmp_path / "r.npz")
        same(Record.load(tmp_path / "r.npz"), two_rates())
        assert [p.name for p in tmp_path.iterdir()] == ["r.npz"]

    @pytest.mark.parametrize("name", ["=1+1", "+q", "-q", "@q", "'=q", "''-q", "'q", "=a,b"])
    def test_a_name_does_not_become_a_formula_in_a_csv(self, name, tmp_path):
        """Spreadsheets compute cells that begin so; the quote that keeps them from it is taken off again."""
        record = Record.from_arrays([0.0, 1.0], {name: [1.0, 2.0]})
        record.save(tmp_path / "r.csv")
        head = next(line for line in (tmp_path / "r.csv").read_text().splitlines() if not line.startswith("#"))
        assert not re.match(r"[=+\-@]", head.partition(",")[2].strip('"'))
        same(Record.load(tmp_path / "r.csv"), record)

    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "data").mkdir()
        (tmp_path / "latest.npz").symlink_to(tmp_path / "data" / "r.npz")
        two_rates().save(tmp_path / "latest.npz")
        assert (tmp_path / "latest.npz").is_symlink() and (tmp_path / "data" / "r.npz").is_file()

    def test_where_it_cannot_be_written(self, tmp_path):
        with refused("no format '.xlsx'. The suffix chooses one of: .npz, .csv, .mat, .parquet"):
            two_rates().save(tmp_path / "r.xlsx")
        with refused("the folder .*nowhere does not exist; create it first"):
            two_rates().save(tmp_path / "nowhere" / "r.npz")
        (tmp_path / "dir.npz").mkdir()
        with refused("dir.npz: cannot be written"):
            two_rates().save(tmp_path / "dir.npz")
        with refused("holds the column 'q \\[m\\]' twice"):
            Record.from_arrays([0.0], {"q": [1], "q [m]": [1]}, units={"q": "m"}).save(tmp_path / "r.csv")

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_an_empty_record_comes_back(self, suffix, tmp_path):
        empty = two_rates().select("robot.q", "joint.q")[5:5]
        empty.save(tmp_path / f"r{suffix}")
        same(Record.load(tmp_path / f"r{suffix}"), empty)


names = st.text(min_size=1, max_size=12).filter(lambda s: s == s.strip() and s.isprintable() and s != "t" and "[" not in s)
texts = st.text(max_size=8)
units = texts.filter(str.isprintable)
numbers = st.floats(allow_nan=True, allow_infinity=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def records(draw, most_grids: int) -> Record:
    grids = []
    taken = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    for i in range(draw(st.integers(1, most_grids))):
        finite = st.floats(allow_nan=False, allow_infinity=False)
        t = np.array(sorted(draw(st.lists(finite, max_size=5, unique=True))), float)
        signals = {}
        for name in taken[i::most_grids]:
            shape = draw(st.sampled_from([(len(t),), (len(t), 1), (len(t), 3)]))
            values = draw(hnp.arrays(np.float64, shape, elements=numbers))
            signals[name] = Signal(values, draw(units), draw(texts), draw(st.booleans()), draw(st.booleans()))
        grids.append(Grid(t, signals))
    return Record(grids, draw(st.dictionaries(texts, json_values, max_size=3)), {"alias": taken[0]})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_record_comes_back_bit_for_bit(suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")

    @settings(max_examples=60, deadline=None)
    @given(records(most_grids=3 if suffix in (".npz", ".mat") else 1))
    def comes_back(record):
        record.save(tmp_path / f"r{suffix}")
        same(Record.load(tmp_path / f"r{suffix}"), record)

    comes_back()
