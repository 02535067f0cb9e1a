"""The Data pane: time base, gaps and lags as they were put in; estimates those of `identify`, fits those of `validate`."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import blocksim as bs
from blocksim.errors import BlocksimError
from blocksim.studio.data.requests import (
    hold_back_in_turn,
    identify_in_pane,
    keep_mapping,
    lag,
    look_at_file,
    take_file,
    validate_in_pane,
)
from blocksim.studio.edit.requests import document_of
from blocksim.studio.session import Session


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    result = Session(name="one_dof/identify")
    result.open("one_dof/identify")
    return result


def give(session, name: str, text: str) -> None:
    take_file(session, {"name": name, "content": base64.b64encode(text.encode()).decode()})


def table(t, **columns) -> str:
    rows = [",".join(["t", *columns])]
    rows += [",".join(f"{v:.12g}" for v in row) for row in zip(t, *columns.values(), strict=True)]
    return "\n".join(rows) + "\n"


def test_time_base_gaps_and_lags_are_those_that_were_put_in(session):
    t = np.arange(0.0, 4.0, 2e-3)
    wave = np.sin(2 * np.pi * 1.3 * t) + 0.4 * np.sin(2 * np.pi * 3.1 * t + 1)
    late = np.sin(2 * np.pi * 1.3 * (t - 0.0073)) + 0.4 * np.sin(2 * np.pi * 3.1 * (t - 0.0073) + 1)
    give(session, "even.csv", table(t, a=wave, b=late, still=0 * t + 3))
    view = look_at_file(session, {"file": "even.csv"}).data
    assert view["interval"] == pytest.approx(2e-3) and view["words"][1] == "evenly sampled, no gap." and not view["gaps"]
    assert [c["remarks"] for c in view["columns"]] == [[], [], ["constant"]]
    answer = lag(session, {"file": "even.csv", "one": "a", "other": "b"}).data
    assert answer["seconds"] == pytest.approx(0.0073, abs=2e-4)
    assert "b comes 7.3" in answer["words"]
    hole = np.delete(np.arange(len(t)), slice(500, 750))
    give(session, "hole.csv", table(t[hole], a=wave[hole]))
    view = look_at_file(session, {"file": "hole.csv"}).data
    assert view["gaps"] == [{"at": pytest.approx(t[499]), "seconds": pytest.approx(251 * 2e-3)}]
    assert "1 gap, the longest 0.502 s" in view["words"][1]


def test_estimates_and_fits_are_those_of_identify_and_validate(session, tmp_path):
    first, second = (bs.simulate("one_dof/identify", seed=seed) for seed in (3, 4))
    for name, record in (("first.csv", first), ("second.csv", second)):
        t = record.t
        text = table(t, angle=np.degrees(record["encoder.q_hat"]), u=record["pid.u"], wish=record["ref.q"])
        (tmp_path / name).write_text(text, encoding="utf-8")
        give(session, name, text)
    columns = {"encoder.q_hat": {"column": "angle", "unit": "deg"}, "pid.u": {"column": "u"}, "ref.q": {"column": "wish"}}
    answer = identify_in_pane(session, {"file": "first.csv", "columns": columns}).data
    by_hand = bs.identify("one_dof/identify", tmp_path / "first.csv", columns=columns)
    for method, estimates in by_hand.estimates.items():
        rows = {row["name"]: row["value"] for row in answer["estimates"][method]["rows"]}
        assert rows == {entry.name: entry.value for entry in estimates.entries}
    fits = validate_in_pane(session, {"file": "second.csv", "columns": columns, "method": "ls"}).data["series"]
    held = bs.validate("one_dof/identify", tmp_path / "second.csv", by_hand.estimates["ls"], block="ls", columns=columns)
    assert {one["name"]: one["fit"] for one in fits} == {name: held[name].fit for name in held}
    keep_mapping(session, {"file": "first.csv", "columns": columns})
    spec = bs.load(document_of(session).text).record
    assert spec.file == "first.csv" and spec.signals["encoder.q_hat"].unit == "deg" and spec.signals["pid.u"].column == "u"


def test_files_in_turn_and_pieces_of_one_are_held_back_as_cross_validate_does(session, tmp_path):
    columns = {"encoder.q_hat": {"column": "angle"}, "pid.u": {"column": "u"}, "ref.q": {"column": "wish"}}
    for seed in (3, 4, 5):
        record = bs.simulate("one_dof/identify", seed=seed)
        text = table(record.t + seed, angle=record["encoder.q_hat"], u=record["pid.u"], wish=record["ref.q"])
        text = text if seed != 5 else text.replace("t,", "clock,", 1)  # a file with a time of its own name
        (tmp_path / f"{seed}.csv").write_text(text, encoding="utf-8")
        give(session, f"{seed}.csv", text)
    times = {"3.csv": "", "4.csv": "", "5.csv": "clock"}
    files = [{"file": name, "time": time} for name, time in times.items()]
    asked = {"file": "3.csv", "columns": columns, "method": "ls", "mode": "inverse", "time": ""}
    answer = hold_back_in_turn(session, {**asked, "files": files}).data
    records = [bs.Record.load(tmp_path / name, time=time) for name, time in times.items()]
    by_hand = bs.cross_validate("one_dof/identify", records, block="ls", mode="inverse", columns=columns)
    assert [fold["name"] for fold in answer["folds"]] == list(times)
    assert [fold["fits"] for fold in answer["folds"]] == [[one["ls.tau"].fit] for one in by_hand.values()]
    assert [dict(zip(answer["values"], fold["values"], strict=True)) for fold in answer["folds"]] == [
        one.settings for one in by_hand.values()
    ]
    pieces = hold_back_in_turn(session, {**asked, "files": files[:1], "parts": 4}).data
    by_hand = bs.cross_validate("one_dof/identify", records[:1], block="ls", mode="inverse", columns=columns, parts=4)
    assert [fold["fits"] for fold in pieces["folds"]] == [[one["ls.tau"].fit] for one in by_hand.values()]
    assert [fold["name"] for fold in pieces["folds"]][1].startswith("3.csv, 5.5")
    with pytest.raises(BlocksimError, match="at least two records"):
        hold_back_in_turn(session, {**asked, "files": files[:1]})


def test_a_file_whose_time_is_not_known_is_shown_and_asked_for(session):
    """The columns are seen, what may be the time is named; said in its field, the rows have times."""
    t = np.arange(0.0, 2.0, 4e-3)
    rows = "\n".join(f"{a:.6g} {b:.6g}" for a, b in zip(t, np.sin(t), strict=True))
    give(session, "bench.dat", rows + "\n")
    view = look_at_file(session, {"file": "bench.dat"}).data
    assert not view["timed"] and view["times"] == ["1", "2"] and [c["name"] for c in view["columns"]] == ["1", "2"]
    words = " ".join(view["words"])
    assert "500 rows; their time is not known" in words and "is it the time? time: 1" in words and "--" not in words
    view = look_at_file(session, {"file": "bench.dat", "time": "1"}).data
    assert view["timed"] and view["interval"] == pytest.approx(4e-3) and [c["name"] for c in view["columns"]] == ["2"]
    with pytest.raises(BlocksimError, match=r"^bench\.dat: there is no column 'zeit' for the time"):
        look_at_file(session, {"file": "bench.dat", "time": "zeit"})


def test_sources_that_were_not_recorded_act_as_in_the_file_where_that_is_said(session):
    record = bs.simulate("one_dof/identify", seed=3)
    give(session, "two.csv", table(record.t, q=record["encoder.q_hat"], u=record["pid.u"]))
    columns = {"encoder.q_hat": {"column": "q"}, "pid.u": {"column": "u"}}
    with pytest.raises(BlocksimError, match="does not hold ref") as refused:
        identify_in_pane(session, {"file": "two.csv", "columns": columns})
    assert "as in the file" in str(refused.value) and "--" not in str(refused.value)
    answer = identify_in_pane(session, {"file": "two.csv", "columns": columns, "assume": "ref"}).data
    rows = {row["name"]: row["value"] for row in answer["estimates"]["didim"]["rows"]}
    assert rows == pytest.approx({entry.name: entry.value for entry in record.estimates["didim"].entries}, rel=1e-9)
    keep_mapping(session, {"file": "two.csv", "columns": columns, "assume": "ref"})
    assert "assume: [ref]" in document_of(session).text


def test_what_is_no_record_is_refused_in_words(session):
    with pytest.raises(BlocksimError, match=r"'lab\.docx' is no record\. Files are read that end in: \.npz, \.csv, \.mat"):
        give(session, "lab.docx", "x")
    with pytest.raises(BlocksimError, match=r"'/etc/passwd' is not here\. Dropped files are: nothing\."):
        look_at_file(session, {"file": "/etc/passwd"})
