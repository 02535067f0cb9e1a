"""A campaign step by step with measured records, by the command line: its folder keeps designs and estimates."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

SPRING = """
format: 1
simulate: {stop: 10, solver: rk4, step: 0.02, every: 0.04}
blocks:
  u:      {type: Sine, frequency: 1.0}
  spring: {type: Gain, k: -33.0, in: x}
  damper: {type: Gain, k: -1.0, in: v}
  a:      {type: Sum, in: [u, spring, damper]}
  v:      {type: Integrator, in: a}
  x:      {type: Integrator, in: v}
log: [u, x]
"""
DESIGN = """
format: 1
design: A force for the spring
diagram: spring.yaml
parameters: [spring.k, damper.k]
outputs: {x: 0.02}
vary: {u: {family: multisine, f_min: 0.2, f_max: 2.0, lines: 10, peak: 2.0}}
search: {simulations: 150, candidates: 16}
"""
TRUTH = {"spring.k": -40.0, "damper.k": -0.6}


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    (tmp_path / "spring.yaml").write_text(SPRING, encoding="utf-8")
    (tmp_path / "design.yaml").write_text(DESIGN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def step(*words):
    return CliRunner().invoke(app, ["sequential", "design.yaml", "--folder", "lab", *words])


def measure(number, path, seed, stop=10, force=1.0):
    """What a laboratory would do: the designed force on the true spring, the position written to a table of its own names."""
    record = bs.simulate(f"lab/{number}/diagram.yaml", params=TRUTH, stop=stop)
    noise = 0.02 * np.random.default_rng(seed).standard_normal(len(record.t))
    table = np.stack([record.t, force * record["u"], record["x"] + noise], axis=1)
    np.savetxt(path, table, delimiter=",", header="time,force,place", comments="")


def test_design_measure_and_design_again_until_it_is_enough(laboratory):
    first = step("--guess", "spring.k=-33", "--guess", "damper.k=-1", "--accuracy", "0.015", "--budget", "100")
    assert first.exit_code == 0 and "--record PATH" in first.output and "measure x.y every 0.04 s" in first.output
    again = step()
    assert again.exit_code == 2 and "waits for its record" in again.output
    for number in range(1, 6):
        measure(number, "measured.csv", seed=number, stop=12)  # a record may go on after the end
        after = step("--record", "measured.csv", "--map", "x=place", "--map", "u=force")
        assert after.exit_code == 0, after.output
        assert "misfit" in after.output and "away from the design" not in after.output
        if "accurate enough" in after.output:
            break
    state = json.loads((laboratory / "lab" / "campaign.json").read_text(encoding="utf-8"))
    assert "accurate enough" in after.output and 1 < number < 6 and len(state["experiments"]) == number
    stds = bs.CampaignFolder("design.yaml", "lab").campaign.relative_std
    for name, truth in TRUTH.items():
        assert stds[name] <= 0.015 and state["experiments"][-1]["values"][name] == pytest.approx(truth, rel=4 * stds[name])
    assert (laboratory / "lab" / "2" / "measured.npz").is_file() and (laboratory / "lab" / "1" / "source.yaml").is_file()


def test_mistakes_between_two_experiments_are_told(laboratory):
    assert "say which campaign" in CliRunner().invoke(app, ["sequential", "design.yaml", "--record", "x.csv"]).output
    assert "waits for a record" in step("--record", "x.csv").output
    assert "none of the parameters" in step("--guess", "spring.q=1").output
    assert step("--guess", "spring.k=-36").exit_code == 0
    measure(1, "measured.csv", seed=1)
    assert "--map x.y=COLUMN" in step("--record", "measured.csv", "--map", "u=force").output
    coarse = bs.Record.load("measured.csv")[::3]
    coarse.save("coarse.csv")
    assert "every 0.12 s; the design is read from 0 to 10 s" in step("--record", "coarse.csv", "--map", "x=place").output
    measure(1, "weak.csv", seed=1, force=0.5)
    weak = step("--record", "weak.csv", "--map", "x=place", "--map", "u=force")
    assert "'u.y' as measured is 50 % away from the design" in weak.output
    assert "which say more than a guess" in step("--guess", "spring.k=-36").output
    (laboratory / "design.yaml").write_text(DESIGN.replace("lines: 10", "lines: 9"), encoding="utf-8")
    assert "it belongs to another one" in step().output
