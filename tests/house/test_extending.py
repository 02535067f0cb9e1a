"""docs/extending.md is true: its modules and entry points, installed as they stand there, work in a fresh process."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")[1:]}


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder an installer would leave: the modules of the page, and metadata with its entry points."""
    folder = tmp_path_factory.mktemp("site")
    metadata = folder / "my_package-1.0.dist-info"
    for path in (folder / "my_package", metadata):
        path.mkdir()
    (folder / "my_package" / "__init__.py").touch()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n")
    groups: dict[str, dict[str, str]] = {}
    for section, text in SECTIONS.items():
        for group, entries in [e for t in blocks(section, "toml") for e in tomllib.loads(t)["project"]["entry-points"].items()]:
            groups.setdefault(group, {}).update(entries)
            name = re.search(r"`(my_package/\w+\.py)`", text)[1]
            (folder / name).write_text(blocks(section, "python")[0])
    lines = [f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in entries.items()) for group, entries in groups.items()]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return folder


def output(package: Path, folder: Path, *command: str, failing: bool = False) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "200"}
    result = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, env=environment)
    assert bool(result.returncode) == failing, result.stderr
    return result.stderr if failing else result.stdout


@pytest.mark.parametrize(("section", "most"), [("A block", 12), ("An identifier", 20), ("A file format", 20), ("A plot", 20)])
def test_it_is_short(section, most):
    assert len([line for line in blocks(section, "python")[0].splitlines() if line.strip()]) <= most


def test_a_block(package, tmp_path):
    level, closed_form = map(float, output(package, tmp_path, "-c", blocks("A block", "python")[1]).split())
    assert closed_form == 2 * (1 - math.exp(-3)) and level == pytest.approx(closed_form, rel=1e-8)


def test_an_identifier_is_scored_against_the_truth(package, tmp_path):
    value, truth, unit = output(package, tmp_path, "-c", blocks("An identifier", "python")[1]).split()
    assert float(value) == pytest.approx(0.25, rel=1e-4) and (float(truth), unit) == (0.25, "1/s")


def test_a_format_is_known_everywhere(package, tmp_path):
    text = output(package, tmp_path, "-c", blocks("A file format", "python")[1])
    assert text.startswith("Record: 2001 samples, 0 to 20 s every 0.01 s: tap.y, tank.x")
    assert "0.25" in text and "1/s" in text
    assert (tmp_path / "tank.rec").read_text().startswith("t tap.y tank.x\n0 2 0\n0.01")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tank.rec", "tank.yaml"]
    command = blocks("A file format", "bash")[0].split()
    assert command[0] == "blocksim" and "0.25" in output(package, tmp_path, "-m", "blocksim", *command[1:])


def test_a_replayed_format_moves_the_tank_alike(package, tmp_path):
    """The input is a straight line between samples 0.01 s apart: h^2/8 of its curvature at most, integrated over a leak 1/k."""
    text = output(package, tmp_path, "-c", blocks("A file format", "python")[1])
    difference = float(re.search(r"tank\.x (\S+) ", text.replace("\n", " "))[1])
    assert 0 < difference < 0.01**2 / 8 * 0.5 * (2 * math.pi * 0.2) ** 2 / 0.25


def test_a_plot(package, tmp_path):
    """1000 samples are 20 whole periods of the sine: one line at its frequency, of its amplitude."""
    frequency, amplitude = map(float, output(package, tmp_path, "-c", blocks("A plot", "python")[1]).split())
    assert frequency == pytest.approx(2.0) and amplitude == pytest.approx(0.5, rel=1e-9)
    assert "<svg" in (tmp_path / "spectrum.svg").read_text()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "bs.plot(record, kind='spektrum')",
            "installed plots: estimates, record, spectrum, traces, validation. Did you mean 'spectrum'?",
        ),
        (
            "record.save('run.xls')",
            "no format '.xls'. The suffix chooses one of: .npz, .csv, .mat, .parquet, .txt, .dat, .tsv, .asc, .log, .lvm, .h5, "
            ".hdf5, .npy, .rec. Save the sheet as .csv.",
        ),
    ],
)
def test_what_is_unknown_is_answered_with_what_there_is(package, tmp_path, script, words):
    start = "import blocksim as bs; record = bs.Record.from_arrays([0, 1], q=[0, 1]); "
    assert words in output(package, tmp_path, "-c", start + script, failing=True)
