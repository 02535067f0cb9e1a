"""The command `blocksim information`, as a user types it."""

from __future__ import annotations

import json

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
