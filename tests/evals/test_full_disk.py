"""A disk that is full at any moment of a run or a study: it succeeds or says so, and nothing that was there before is lost."""

from __future__ import annotations

import subprocess

import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

DIAGRAM = """format: 1
simulate: {stop: 0.5, solver: rk4, step: 0.01}
blocks:
  noise: {type: WhiteNoise, std: 1, Ts: 0.01}
"""
STUDY = {"study": "s", "diagram": DIAGRAM, "repeat": 60, "collect": [{"signal": "noise"}]}
SIZES = [4, 8, 16, 24, 48]  # KiB; everything together takes about 40


@pytest.mark.parametrize("size", SIZES)
def test_a_run_leaves_the_record_of_the_one_before(tmp_path, small_disk, size):
    """The second run is longer than the first; where it does not fit, the first one's files are whole."""
    disk = small_disk("64k")
    (tmp_path / "d.yaml").write_text(DIAGRAM)
    command = ["run", str(tmp_path / "d.yaml"), "--debug", "--quiet", "--out", str(disk / "out")]
    assert CliRunner().invoke(app, command).exit_code == 0
    before = {path.name: path.read_bytes() for path in (disk / "out").iterdir()}
    with open(disk / "filler", "wb") as filler:  # leave this much
        filler.write(b"0" * max(0, (64 - 16 - size)) * 1024)
    result = CliRunner().invoke(app, [*command, "--stop", "20"])
    after = {path.name: path.read_bytes() for path in (disk / "out").iterdir()}
    assert set(after) == set(before), "nothing half is left"
    assert result.exit_code or size > 16, "there was no room for it"
    if result.exit_code:
        assert result.exit_code == 2 and "cannot be written" in result.stderr and "No space left" in result.stderr
        assert "Traceback" not in result.stderr and len(bs.Record.load(disk / "out/record.npz").t) in (51, 2001)
    else:
        assert len(bs.Record.load(disk / "out/record.npz").t) == 2001


@pytest.mark.parametrize("size", SIZES)
def test_a_study_keeps_its_runs_and_goes_on_with_room(tmp_path, small_disk, size):
    whole = bs.run_study(STUDY, jobs=1, out=tmp_path / "whole", report=False)
    expected = (whole.folder / "signals.csv").read_bytes()
    disk = small_disk(f"{size}k")
    out = disk / "out"
    try:
        bs.run_study(STUDY, jobs=1, out=out, report=False, resume=True)
        assert size > 8, "there was no room for it"
    except bs.BlocksimError as error:
        assert "No space left on device" in str(error)
    results = out / "results.jsonl"
    kept = results.read_bytes() if results.exists() else b""
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    bs.run_study(STUDY, jobs=1, out=out, report=False, resume=True)
    assert (out / "signals.csv").read_bytes() == expected
    assert results.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1]), "nothing was lost or computed twice"
    assert not [path for path in out.rglob("*") if path.name.startswith(".") or path.suffix == ".new"]
