"""The Cramer-Rao bound of a study against closed forms, with and without a loop around the plant."""

from __future__ import annotations

import math

import pytest

import blocksim as bs

#: y = k u + c + noise over whole periods of a sine: the columns u and 1 are at right angles.
LINE = """
format: 1
simulate: {stop: 0.99, solver: euler, step: 0.01}
blocks:
  u:     {type: Sine, amplitude: 1.0, frequency: 1.0}
  slope: {type: Gain, k: 2.0, in: u}
  level: {type: Constant, value: 0.5}
  line:  {type: Sum, in: [slope, level]}
  y:     {type: TorqueSensor, std: 0.05, Ts: 0.01, in: line}
  fit:   {type: CLOE, parameters: [slope.k, level.value], output: line.y, in: y}
"""
#: u = r - y / 2 with the y of one sample ago, noise and all; y = k u + noise.
LOOP = """
format: 1
simulate: {stop: 1.99, solver: euler, step: 0.01}
blocks:
  r:     {type: Sine, amplitude: 1.0, frequency: 1.0}
  late:  {type: UnitDelay, Ts: 0.01, in: y}
  gain:  {type: Gain, k: 0.5, in: late}
  u:     {type: Sum, signs: "+-", in: [r, gain]}
  plant: {type: Gain, k: 0.8, in: u}
  y:     {type: TorqueSensor, std: 0.5, Ts: 0.01, in: plant}
  fit:   {type: OutputError, model: plant, parameters: [plant.k], output: plant.y, in: {u: u, y: y}}
"""
BOUND = {"parameters": ["slope.k", "level.value"], "outputs": {"line": "y.std"}}


def by_parameter(result, **where):
    found = result.scores
    for column, value in where.items():
        found = found[found[column] == value]
    return {line["parameter"]: line for line in found.to_dict("records")}


def test_a_line_in_white_noise_and_a_method_that_attains_it():
    study = {"study": "Line", "diagram": LINE, "repeat": 60, "bound": BOUND, "sweep": {"y.std": [0.05, 0.1]}}
    result = bs.run_study(study, jobs=1)
    for std in (0.05, 0.1):
        lines = by_parameter(result, **{"y.std": std})
        for name, readings in (("slope.k", 50), ("level.value", 100)):  # sum of squares of the column over 100 samples
            line = lines[name]
            assert line["crb_std"] == pytest.approx(std / math.sqrt(readings), rel=1e-6)
            assert line["crb_ratio_low"] < 1 < line["crb_ratio_high"] * 1.05  # least squares, and white noise
    assert "std / bound" in str(result)


def test_fewer_readings_tell_less():
    lines = by_parameter(bs.run_study({"study": "Line", "diagram": LINE, "bound": {**BOUND, "every": 0.05}}, jobs=1))
    assert lines["level.value"]["crb_std"] == pytest.approx(0.05 / math.sqrt(20), rel=1e-6)


def test_a_recorded_input_is_known_noise_and_all():
    """s / sqrt(sum u^2) with the u of each run, which the noise of y has driven; its spread over the runs is that as well."""
    study = {"study": "Loop", "diagram": LOOP, "repeat": 80, "collect": ["fit", {"signal": "u"}]}
    bound = {"parameters": ["plant.k"], "outputs": {"plant": 0.5}}
    known = bs.run_study({**study, "bound": {**bound, "inputs": ["u"]}}, jobs=1)
    rms = known.signals.set_index("repeat")["value"]
    for line in known.estimates.to_dict("records"):
        assert line["crb_std"] == pytest.approx(0.5 / (math.sqrt(200) * rms[line["repeat"]]), rel=1e-6)
    score = known.scores.iloc[0]
    assert score["crb_ratio_low"] < 1 < score["crb_ratio_high"]
    quiet = bs.run_study({**study, "repeat": 1, "bound": bound}, jobs=1).scores.iloc[0]
    assert quiet["crb_std"] > 1.2 * score["crb_std"]  # the reference alone moves the plant less than reference and noise


def test_what_cannot_be_told_apart_has_no_finite_bound():
    twice = LINE.replace("line:  {type: Sum, in: [slope, level]}", "line:  {type: Gain, k: 3.0, in: both}\n"
                         "  both:  {type: Sum, in: [slope, level]}")  # fmt: skip
    bound = {"parameters": ["slope.k", "u.amplitude"], "outputs": {"line": "y.std"}}
    line = by_parameter(bs.run_study({"study": "x", "diagram": twice, "repeat": 2, "bound": bound}, jobs=1))["slope.k"]
    assert math.isinf(line["crb_std"]) and line["crb_ratio"] == 0


def test_without_noise_there_is_no_bound():
    result = bs.run_study({"study": "x", "diagram": LINE, "repeat": 2, "bound": BOUND, "params": {"y.std": 0.0}}, jobs=1)
    assert result.scores["crb_std"].isna().all() and "std / bound" not in str(result)
    assert "All repetitions gave the same numbers" in str(result)


def test_a_bound_that_cannot_be_computed_says_why():
    """At k = 2 the root is 0; a step further it is that of a negative number, and the run without noise ends there."""
    edge = LINE.replace("slope: {type: Gain, k: 2.0, in: u}", "one:   {type: Constant, value: 1.0}\n"
                        "  gain:  {type: Gain, k: 2.0, in: one}\n  root:  {type: Function, expression: sqrt(2 - u), in: gain}\n"
                        "  state: {type: Integrator, in: root}\n  slope: {type: Sum, in: [u, state]}")  # fmt: skip
    edge = edge.replace("parameters: [slope.k, level.value]", "parameters: [level.value]")
    bound = {"parameters": ["gain.k"], "outputs": {"line": "y.std"}}
    result = bs.run_study({"study": "Edge", "diagram": edge, "repeat": 2, "bound": bound}, jobs=1)
    assert result.scores["crb_std"].isna().all() and (result.scores["n"] == 2).all()
    told = result.about["warnings"]["fit"]
    assert told["runs"] == 2
    assert told["first"].startswith(
        "no Cramer-Rao bound, since the run without noise cannot be made with other parameters: diverged: at t = "
    )
    assert "'x' of block 'state' became nan" in told["first"] and told["first"] in str(result)


def test_a_dead_parameter_is_named_and_the_others_keep_their_bound():
    dead = LINE.replace("  fit:", "  side:  {type: Gain, k: 3.0, in: line}\n  fit:")
    bound = {"parameters": ["slope.k", "level.value", "side.k"], "outputs": {"line": "y.std"}}
    result = bs.run_study({"study": "x", "diagram": dead, "repeat": 2, "bound": bound}, jobs=1)
    lines = by_parameter(result)
    assert lines["level.value"]["crb_std"] == pytest.approx(0.05 / math.sqrt(100), rel=1e-6)
    assert result.about["warnings"]["fit"]["first"].startswith("no Cramer-Rao bound for side.k: no output depends on it.")
