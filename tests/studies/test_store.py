"""The stored lines of a study: each has a checksum; what was altered, or written by nobody, is seen."""

from __future__ import annotations

import json

import pytest

import blocksim as bs
from blocksim.errors import StudyError
from blocksim.studies.report.text import printed
from blocksim.studies.store import Store, complete_line, sealed


def line(run: int) -> str:
    return json.dumps({"run": run, "seed": 7, "estimates": {}}, separators=(",", ":"))


@pytest.fixture
def file(tmp_path):
    store = Store(tmp_path, "id", 5)
    store.add([(run, line(run)) for run in range(4)])
    store.close()
    return tmp_path / "results.jsonl"


def missing(file) -> list[int]:
    store = Store(file.parent, "id", 5, resume=True)
    store.close()
    return list(store.missing())


def test_every_altered_byte_of_a_line_is_seen(file):
    """Whichever byte of the line of run 2 is changed, that run is made again, and no other."""
    good = file.read_bytes()
    assert missing(file) == [4]
    lines = good.splitlines(True)
    start = sum(map(len, lines[:3]))
    for place in range(start, start + len(lines[3]) - 1):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert missing(file) == [2, 4], place


@pytest.mark.parametrize("text", ["5", "[]", "null", '{"run": true}', '{"run": "1"}', '{"run": 1e9}', "{" * 50, "[" * 200_000])
def test_lines_of_the_wrong_kind_are_no_runs(file, text):
    file.write_bytes(file.read_bytes() + text.encode() + b"\n" + sealed(text).encode())
    assert missing(file) == [4]


def test_altered_lines_are_counted_and_told(file, tmp_path):
    file.write_bytes(file.read_bytes().replace(b'"seed":7', b'"seed":8', 1))
    store = Store(file.parent, "id", 5, resume=True)
    store.close()
    assert store.altered == 1
    signal = next(iter(bs.simulate("basics/pi_loop", stop=0.01, engine="python")))
    text = f"format: 1\nstudy: N\ndiagram: basics/pi_loop\nrepeat: 1\ncollect: [{{signal: {signal}, statistic: rms}}]\n"
    folder = tmp_path / "study"
    bs.run_study(text, out=folder, jobs=1, report=False, progress=False)
    results = folder / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b'"run":0', b'"run":1', 1))
    again = bs.run_study(text, out=folder, jobs=1, report=False, progress=False, resume=True)
    assert "1 line of results.jsonl did not fit the checksum: somebody altered the file" in printed(again)


def test_a_line_that_changes_while_it_is_read_is_said(file):
    store = Store(file.parent, "id", 5, resume=True)
    file.write_bytes(file.read_bytes().replace(b'"seed":7', b'"seed":8'))
    with pytest.raises(StudyError, match=r"results.jsonl' was altered while it was read. --resume .* mends it"):
        store.read(0, 4)
    store.close()


def test_a_sealed_line_is_json_and_gives_back_its_value():
    value = complete_line(sealed(line(3)).encode())
    assert value is not None and value["run"] == 3 and complete_line(line(3).encode() + b"\n") is None
