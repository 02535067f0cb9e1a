"""A copied diagram brings its subsystems along, nested ones and namesakes too, and runs to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.diagram.copying import write_copy

PART = "format: 1\nparameters: {{k: 1}}\nports: {{in: [u], out: {{y: last}}}}\nblocks:\n  last: {{type: {kind}, in: u}}\n"


@pytest.fixture
def diagram(tmp_path):
    """Two parts called stage.yaml in two folders, one of which holds a part of its own."""
    for folder in ("a", "b"):
        (tmp_path / "work" / folder).mkdir(parents=True)
    (tmp_path / "work/a/stage.yaml").write_text(PART.format(kind='Gain, k: "${k}"'))
    (tmp_path / "work/b/inner.yaml").write_text(PART.format(kind='FirstOrderLag, T: 0.5, k: "${k}"') + "# kept as it is\n")
    (tmp_path / "work/b/stage.yaml").write_text(PART.format(kind='./inner.yaml, k: "${k}"'))
    (tmp_path / "work/main.yaml").write_text(
        "format: 1\nsimulate: {stop: 1, solver: rk4, step: 0.1}\nblocks:\n  one: {type: Constant}\n"
        "  first: {type: ./a/stage.yaml, k: 3, in: one}\n  second: {type: ./b/stage.yaml, k: 2, in: first}\n"
        "  third: {type: ./a/stage.yaml, in: second}\nlog: [third.last]\n"
    )
    return bs.open_diagram(tmp_path / "work/main.yaml")


def test_the_copy_runs_without_the_original(diagram, tmp_path):
    expected = bs.simulate(diagram)["third.last"]
    (tmp_path / "copy").mkdir()
    write_copy(diagram, tmp_path / "copy/diagram.yaml")
    (tmp_path / "work").rename(tmp_path / "gone")
    assert np.array_equal(bs.simulate(tmp_path / "copy/diagram.yaml")["third.last"], expected)
    assert expected[-1] == pytest.approx(6 * (1 - np.exp(-2)), rel=1e-4)


def test_each_part_is_copied_once_under_a_name_of_its_own(diagram, tmp_path):
    write_copy(diagram, tmp_path / "diagram.yaml")
    assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == ["inner.yaml", "stage.yaml", "stage_2.yaml"]
    assert "# kept as it is" in (tmp_path / "parts/inner.yaml").read_text()
    assert "type: ./inner.yaml" in (tmp_path / "parts/stage_2.yaml").read_text()


def test_data_files_are_found_from_the_new_place(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work/lab.csv").write_text("t,q\n0,1\n1,3\n")
    (tmp_path / "work/main.yaml").write_text(
        "format: 1\nsimulate: {stop: 1, solver: rk4, step: 0.5}\nblocks:\n  lab: {type: FromRecord, file: lab.csv, signal: q}\n"
    )
    diagram = bs.open_diagram(tmp_path / "work/main.yaml")
    (tmp_path / "copy").mkdir()
    write_copy(diagram, tmp_path / "copy/diagram.yaml")
    again = bs.build(bs.load(tmp_path / "copy/diagram.yaml", allow_outside=True))
    assert bs.simulate(again)["lab"] == pytest.approx([1, 2, 3])
