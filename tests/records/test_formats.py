"""Formats of other packages: what they are given, and what is said when one of them does not keep its side."""

from __future__ import annotations

import pytest

from blocksim.errors import BlocksimError, RecordError
from blocksim.extensions import entries, extension
from blocksim.records.grid import TimeAxis
from blocksim.records.record import Record

READ = """
from blocksim import Record

def read(path):
    return Record.from_arrays([0.0, 1.0], q=[1.0, 2.0])
"""
#: What `read` was given comes back as provenance.
CURIOUS = """
from blocksim import Record

def read(path, max_bytes, axis):
    record = Record.from_arrays([0.0, 1.0], q=[1.0, 2.0])
    record.provenance["asked"] = (max_bytes, axis)
    return record
"""
FAULTY = """
def read(path):
    raise IndexError("no channel 3")

def write(record, path):
    with open(path, "w") as file:
        file.write("half")
        raise ValueError("nine channels are the most")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(name, text, suffix): a package with a module of that text, and an entry point that makes it a format."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def forget():
        entries.cache_clear()
        extension.cache_clear()

    def add(name: str, text: str, suffix: str = ".rec") -> None:
        (folder / f"{name}.py").write_text(text)
        metadata = folder / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[blocksim.formats]\n{suffix} = {name}\n")
        forget()

    yield add
    forget()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.rec"
    path.write_text("anything")
    return path


def test_the_suffix_is_read_without_regard_to_case(install, tmp_path):
    install("format_upper", READ)
    (tmp_path / "A.REC").write_text("anything")
    assert list(Record.load(tmp_path / "A.REC")["q"]) == [1.0, 2.0]


def test_a_reader_is_given_what_it_asks_for(install, file):
    install("format_curious", CURIOUS)
    assert Record.load(file, time="clock", max_bytes=1000).provenance["asked"] == (1000, TimeAxis("clock"))
    with pytest.raises(RecordError, match=r"a\.rec: needs 8 bytes, more than max_bytes=7"):
        Record.load(file, max_bytes=7)


def test_a_time_that_cannot_be_chosen_is_not_ignored(install, file):
    install("format_plain", READ)
    with pytest.raises(RecordError, match=r"a\.rec: a \.rec file says itself what its time is; leave out"):
        Record.load(file, time="clock")


def test_what_cannot_be_written_says_what_can(install, file):
    install("format_readonly", READ)
    with pytest.raises(
        RecordError, match=r"\.rec is a format that is read only\. Files are written as: \.npz, \.csv, \.mat, \.parquet\."
    ):
        Record.load(file).save(file)
    assert file.read_text() == "anything"


def test_errors_of_a_format_name_the_file_and_leave_it_whole(install, file):
    install("format_faulty", FAULTY)
    with pytest.raises(RecordError, match=r"a\.rec: cannot be read as \.rec: no channel 3\. The file is damaged or"):
        Record.load(file)
    with pytest.raises(RecordError, match=r"a\.rec: cannot be written: nine channels are the most"):
        Record.from_arrays([0.0], q=[0.0]).save(file)
    assert file.read_text() == "anything"
    assert {path.name for path in file.parent.iterdir()} == {"a.rec", "site"}, "nothing half written stays"


def test_a_reader_that_gives_no_record(install, file):
    install("format_list", "def read(path):\n    return [1.0, 2.0]\n")
    with pytest.raises(RecordError, match=r"a\.rec: the format \.rec gave list where a Record is wanted"):
        Record.load(file)


@pytest.mark.parametrize(
    ("first", "second", "suffix", "words"),
    [
        ("format_one", "format_two", ".rec", r"two packages add '\.rec' to blocksim's formats: format_one and format_two"),
        ("format_three", "", ".csv", r"format_three adds the format '\.csv' to blocksim, which has one already"),
    ],
)
def test_a_suffix_belongs_to_one(install, tmp_path, first, second, suffix, words):
    for name in filter(None, (first, second)):
        install(name, READ, suffix)
    with pytest.raises(BlocksimError, match=words):
        Record.load(tmp_path / f"a{suffix}")


def test_a_format_that_cannot_be_loaded_is_named(install, file):
    install("format_broken", "import a_package_nobody_has\n")
    with pytest.raises(BlocksimError, match=r"'\.rec' of blocksim's formats \(format_broken\) cannot be loaded: No module named"):
        Record.load(file)


def test_the_suffixes_of_others_are_listed(install, tmp_path):
    install("format_listed", READ)
    with pytest.raises(RecordError, match=r"no format '\.wav'\. The suffix chooses one of: .*\.npy, \.rec\."):
        Record.load(tmp_path / "a.wav")
    with pytest.raises(
        RecordError,
        match=r"does not exist; the path of a \.npz, \.csv, \.mat, \.parquet, \.txt, .*, \.npy or \.rec file is wanted",
    ):
        Record.load(tmp_path / "none.rec")
