"""The command `blocksim information`, as a user types it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from blocksim.cli.commands import app

LAG = """format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  u:    {type: Sine, amplitude: 1.0, frequency: 1.0}
  lag:  {type: FirstOrderLag, k: 2.0, T: 0.5, in: u}
  side: {type: Gain, k: 5.0, in: lag}
"""


def call(*words):
    return CliRunner().invoke(app, list(words))


def test_information_prints_bounds_and_a_verdict(tmp_path):
    path = tmp_path / "lag.yaml"
    path.write_text(LAG, encoding="utf-8")
    result = call("information", str(path), "-p", "lag.k, lag.T,side.k", "-y", "lag", "--noise-std", "0.05")
    assert result.exit_code == 0, result.output
    assert "std %" in result.output and "side.k is dead here" in result.output and "201 readings of lag.y" in result.output
    plain = json.loads(call("information", str(path), "-p", "lag.k", "-y", "lag", "--noise-std", "lag=0.05", "--json").output)
    assert plain["values"] == {"lag.k": 2.0} and plain["relative_std"]["lag.k"] > 0 and plain["findings"] == []


def test_a_wrong_name_is_told(tmp_path):
    path = tmp_path / "lag.yaml"
    path.write_text(LAG, encoding="utf-8")
    result = call("information", str(path), "-p", "lag.kk", "-y", "lag", "--noise-std", "0.05")
    assert result.exit_code == 2 and "block 'lag' has no parameter 'kk'" in result.output and "Did you mean" in result.output


DESIGN = """format: 1
design: A sine for the lag
diagram: lag.yaml
parameters: [lag.k, lag.T]
outputs: {lag: 0.05}
vary: {u.frequency: {min: 0.1, max: 3.0}}
search: {simulations: 60, candidates: 8}
"""


def test_design_writes_its_folder_and_sequential_ends(tmp_path):
    (tmp_path / "lag.yaml").write_text(LAG, encoding="utf-8")
    path, folder = tmp_path / "sine.yaml", tmp_path / "out"
    path.write_text(DESIGN, encoding="utf-8")
    result = call("design", str(path), "--out", str(folder), "--plot")
    assert result.exit_code == 0, result.output
    assert "designed %" in result.output and "simulations are used" in result.output
    names = {"source.yaml", "diagram.yaml", "design.json", "unknowns.json", "design.png", "information.png"}
    assert names <= {file.name for file in folder.iterdir()}
    assert call("design", str(path), "--out", str(folder), "--resume", "--json").exit_code == 0
    words = ["--guess", "lag.k=1.5", "--accuracy", "0.05", "--budget", "8", "--seed", "1"]
    result = call("sequential", str(path), *words)
    assert result.exit_code == 0 and "misfit" in result.output and "accurate enough" in result.output, result.output


def test_a_front_of_designs(tmp_path):
    (tmp_path / "lag.yaml").write_text(LAG, encoding="utf-8")
    path, folder = tmp_path / "bits.yaml", tmp_path / "out"
    bits = "{u: {family: binary, clock: 0.25, peak: 1}}\nlimits: {u: {peak: 1}}"
    path.write_text(DESIGN.replace("{u.frequency: {min: 0.1, max: 3.0}}", bits), encoding="utf-8")
    result = call("design", str(path), "--out", str(folder), "--front", "peak=1,2", "--plot")
    assert result.exit_code == 0, result.output
    one, two = (float(line.split()[1]) for line in result.output.splitlines()[1:3])
    assert one == pytest.approx(2 * two, rel=1e-3)  # a linear system
    assert (folder / "front.png").is_file() and (folder / "peak-2" / "source.yaml").is_file()
    assert "peak=5,10,20 or duration=10,20 is wanted" in call("design", str(path), "--front", "peak").output
    path.write_text(DESIGN, encoding="utf-8")
    assert "no source of `vary` has a peak" in call("design", str(path), "--front", "peak=1").output
