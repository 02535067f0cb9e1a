"""What `blocksim signal` finds: numbers against closed forms, sources run without the rest, a table, JSON and figures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.diagram.diagram import resolve
from blocksim.running.signals import Analysis, analyse, analyse_sources, pruned_to, sources

LOOP = """format: 1
simulate: {stop: 4, solver: rk4, step: 1/256, seed: 2}
blocks:
  ref:   {type: Sine, amplitude: 2, frequency: 3, bias: 1}
  coin:  {type: RandomBinary, amplitude: 0.5, clock: 1/8}
  u:     {type: Sum, signs: "+-+", in: [ref, plant, coin]}
  plant: {type: FirstOrderLag, T: 0.5, in: u}
  push:  {type: Multisine, f_min: 1, f_max: 8, lines: 8, amplitude: 5}
  joint: {type: TwoMassRobot, in: push}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP)


def blocksim(*arguments: str, code: int = 0):
    result = CliRunner().invoke(app, list(arguments), prog_name="blocksim")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def found(*arguments: str):
    return json.loads(blocksim("signal", "loop.yaml", "--json", *arguments).stdout)["blocks"]


def test_a_sine_with_a_bias():
    numbers = found("ref")["ref"]["ref.y"]
    rms = math.sqrt(1 + 2)
    assert numbers["mean"] == pytest.approx(1) and numbers["rms"] == pytest.approx(rms)
    assert numbers["peak"] == pytest.approx(3, rel=1e-3) and numbers["crest_factor"] == pytest.approx(3 / rms, rel=1e-3)
    assert numbers["bandwidth"] == 3


def test_every_source_is_there_with_the_unit_of_what_it_drives():
    blocks = found()
    assert list(blocks) == ["ref", "coin", "push"]
    assert blocks["push"]["push.y"]["unit"] == "N m" and blocks["ref"]["ref.y"]["unit"] == ""
    assert blocks["coin"]["coin.y"]["crest_factor"] == 1
    assert blocks["push"]["push.y"]["bandwidth"] == 8


def test_the_signal_is_that_of_the_whole_run():
    whole = bs.simulate("loop.yaml")
    alone = analyse_sources(bs.open_diagram("loop.yaml"), ["coin", "u"])
    assert np.array_equal(alone["coin"][0].values, whole["coin"])
    assert np.array_equal(alone["u"][0].values, whole["u"])


def test_only_what_feeds_the_asked_blocks_runs():
    diagram = bs.open_diagram("loop.yaml")
    assert sources(diagram) == ["ref", "coin", "push"]
    assert set(pruned_to(diagram, ["push"], resolve(diagram)).nodes) == {"push"}
    assert set(pruned_to(diagram, ["u"], resolve(diagram)).nodes) == {"ref", "coin", "u", "plant"}


def test_a_source_inside_a_subsystem():
    Path("parts").mkdir()
    Path("parts/kick.yaml").write_text(
        "format: 1\nports: {out: {y: gain}}\nblocks:\n  wave: {type: Sine, frequency: 2}\n  gain: {type: Gain, k: 3, in: wave}\n"
    )
    Path("outer.yaml").write_text(
        "format: 1\nsimulate: {stop: 1, step: 1/64, solver: rk4}\nblocks:\n"
        "  kick: {type: ./parts/kick.yaml}\n"
        "  lag: {type: FirstOrderLag, T: 1, in: kick}\n"
    )
    blocks = json.loads(blocksim("signal", "outer.yaml", "--json").stdout)["blocks"]
    assert list(blocks) == ["kick.wave"] and blocks["kick.wave"]["kick.wave.y"]["crest_factor"] == pytest.approx(math.sqrt(2))


def test_a_trajectory_has_a_row_for_each_joint_and_derivative(tmp_path):
    Path("move.yaml").write_text(
        "format: 1\nsimulate: {stop: 5}\nblocks:\n  ref: {type: FourierTrajectory, base_frequency: 0.2, a: [[1, 0], [0, 2]]}\n"
    )
    lines = blocksim("signal", "move.yaml", "-o", "move.svg").stdout.splitlines()
    assert lines[0].split() == ["signal", "unit", "peak", "rms", "crest", "factor", "mean", "bandwidth", "[Hz]"]
    assert [line.split()[0] for line in lines[1:7]] == [f"ref.{p}[{k}]" for p in ("q", "qd", "qdd") for k in (0, 1)]
    assert [line.split()[-1] for line in lines[1:7]] == ["0.2", "0.4"] * 3
    assert lines[7] == "wrote move.svg" and "FourierTrajectory" in Path("move.svg").read_text()


def test_several_blocks_make_several_figures():
    text = blocksim("signal", "loop.yaml", "ref", "coin", "-o", "look.png").stdout
    assert "wrote look_ref.png, look_coin.png" in text
    assert all(Path(name).read_bytes().startswith(b"\x89PNG") for name in ("look_ref.png", "look_coin.png"))


def test_options_change_the_run():
    assert found("coin", "--seed", "5") != found("coin", "--seed", "6")
    assert found("ref", "--set", "ref.frequency=5")["ref"]["ref.y"]["bandwidth"] == 5
    assert found("ref", "--stop", "1", "--every", "1/32")["ref"]["ref.y"]["bandwidth"] == 3


def test_a_constant_and_nothing():
    t = np.arange(9.0)
    one, none = (Analysis("y", "", t, np.full(9, value)) for value in (2.0, 0.0))
    assert (one.crest_factor, one.bandwidth, one.amplitude[0]) == (1, 0, 2)
    assert math.isnan(none.crest_factor) and none.bandwidth == 0
    Path("none.yaml").write_text("format: 1\nsimulate: {stop: 1}\nblocks:\n  a: {type: Constant, value: 0}\n")
    assert (
        json.loads(blocksim("signal", "none.yaml", "--json", "-o", "a.png").stdout)["blocks"]["a"]["a.y"]["crest_factor"] is None
    )


@pytest.mark.parametrize("count", [64, 65])
def test_the_spectrum_keeps_the_power(count):
    """Parseval: the squared mean plus half the squared amplitudes; the last line of an even count counts whole."""
    y = np.random.default_rng(0).normal(size=count + 1)
    one = Analysis("y", "", np.arange(count + 1.0), y)
    halves = np.full(len(one.amplitude), 0.5)
    halves[0] = 1
    if count % 2 == 0:
        halves[-1] = 1
    assert np.sum(halves * one.amplitude**2) == pytest.approx(np.mean(y[:-1] ** 2))


def test_a_record_can_be_looked_at_too():
    t = np.linspace(0, 2, 201)
    record = bs.Record.from_arrays(t, tau=3 * np.cos(2 * np.pi * 5 * t), units={"tau": "N m"})
    one = analyse(record)[0]
    assert one.unit == "N m" and one.amplitude[10] == pytest.approx(3) and one.bandwidth == pytest.approx(5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["loop.yaml", "refs"], "'refs' names no block"),
        (["loop.yaml", "joint.speed"], "has no output 'speed'"),
        (["loop.yaml", "-o", "x.jpg"], "A figure's name ends in"),
        (["loop.yaml", "--stop", "1/256"], "at least 3 are wanted"),
        (["lag.yaml"], "the diagram has no source"),
    ],
)
def test_mistakes_are_said(arguments, words):
    Path("lag.yaml").write_text(
        "format: 1\nsimulate: {stop: 1}\nblocks:\n  lag: {type: Integrator, in: back}\n  back: {type: Gain, k: -1, in: lag}\n"
    )
    assert words in blocksim("signal", *arguments, code=2).stderr
