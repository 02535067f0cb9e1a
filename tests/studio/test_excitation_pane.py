"""The Excitation pane's numbers: what is dragged is what comes out, limits hold, predictions are those of many seeds."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest

import blocksim as bs
from blocksim.errors import BlocksimError
from blocksim.studio.edit.requests import document_of
from blocksim.studio.excitation.experiment import first_parameters, plant_of
from blocksim.studio.excitation.improving import improve, stop_improving
from blocksim.studio.excitation.requests import drag, export_source, foretell, keep, look_at_source, parameter_units
from blocksim.studio.session import Session

#: A joint of which everything is seen, read with white noise: output errors are then as good as any method can be.
JOINT = """format: 1
simulate: {stop: 4, solver: rk4, step: 1e-2, seed: 1}
blocks:
  push:  {type: Multisine, f_min: 0.5, f_max: 4, lines: 8, amplitude: 0.5}   # the lines
  joint: {type: GravityJoint, J: 0.02, Fv: 0.08, Fc: 0.02, Ms: 0.3, N: 1, beta: 5, in: push}
  sense: {type: TorqueSensor, Ts: 1e-2, std: 1e-3, in: joint.q}
  oe:    {type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, hold: cubic,
         in: {u: push, y: sense}}
"""
WANTED = {"parameters": ["joint.J", "joint.Fv"], "outputs": ["sense.tau_hat"]}


@pytest.fixture(autouse=True)
def drafts(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "joint.yaml"
    path.write_text(JOINT, encoding="utf-8")
    result = Session(name=str(path))
    result.open(str(path))
    return result


def line_amplitude(t, values, frequency: float) -> float:
    """The amplitude of one line over whole periods, by its own sums."""
    t, values = t[:-1], values[:-1]
    return 2 * abs(np.mean(values * np.exp(-2j * np.pi * frequency * t)))


def test_a_dragged_line_has_the_amplitude_it_was_dragged_to_and_the_others_theirs(session):
    before = look_at_source(session, {}).data["grips"]
    number, frequency = before[3]["number"], before[3]["x"]
    settings = drag(session, {"number": number, "y": 0.4}).data["settings"]
    after = look_at_source(session, {"settings": settings}).data
    record = bs.simulate(session.diagram, params=settings)
    t, y = record.t, record["push.y"]
    assert line_amplitude(t, y, frequency) == pytest.approx(0.4, rel=1e-4)
    for old in before:
        if old["number"] != number:
            assert line_amplitude(t, y, old["x"]) == pytest.approx(old["y"], rel=1e-3)
    expected = np.abs(y).max() / math.sqrt(sum(g["y"] ** 2 for g in after["grips"]) / 2)
    assert after["numbers"]["crest_factor"] == pytest.approx(expected, rel=1e-3)


def test_a_dragged_harmonic_and_a_dragged_way_point_go_where_they_are_put():
    session = Session(name="one_dof/identify")
    session.open("one_dof/identify")
    settings = drag(session, {"source": "ref", "number": 1, "y": 0.9}).data["settings"]
    record = bs.simulate(session.diagram, params=settings)
    assert line_amplitude(record.t, record["ref.q"], 0.2) == pytest.approx(0.9, rel=1e-3)
    text = (
        "format: 1\nsimulate: {stop: 2, step: 1e-2, solver: rk4}\nblocks:\n"
        "  way: {type: PolynomialTrajectory, times: [0, 1, 2], points: [0, 1, 0]}\n  gain: {type: Gain, in: way.q}\n"
    )
    session = Session(name="way", diagram=bs.open_diagram(text))
    session.experiment = bs.experiment(session.diagram)
    settings = drag(session, {"number": 1, "y": -0.7}).data["settings"]
    record = bs.simulate(session.diagram, params=settings)
    assert record["way.q"][np.argmin(np.abs(record.t - 1.0))] == pytest.approx(-0.7, abs=1e-9)


@pytest.mark.parametrize("source", [
    "TrapezoidTrajectory, points: [[0, 2, 0.5], [0, 0.5, 1]], speed: 1.5, acceleration: [4.0, 2.0], pause: 0.2, start: 0.3",
    "PolynomialTrajectory, times: [0, 1.2, 3], points: [[0, 1, 0], [0.2, 0.5, -0.4]]",
])  # fmt: skip
def test_every_way_point_lies_on_its_curve_and_goes_where_it_is_dragged(source):
    text = f"format: 1\nsimulate: {{stop: 6, step: 1e-3, solver: rk4}}\nblocks:\n  way: {{type: {source}}}\n"
    session = Session(name="way", diagram=bs.open_diagram(f"{text}  gain: {{type: Gain, in: way.q}}\n"))
    session.experiment = bs.experiment(session.diagram)
    record = bs.simulate(session.diagram)
    for element in (0, 1):
        grips = look_at_source(session, {"element": element}).data["grips"]
        assert len(grips) == 3
        on_curve = np.interp([grip["x"] for grip in grips], record.t, record["way.q"][:, element])
        np.testing.assert_allclose(on_curve, [grip["y"] for grip in grips], atol=1e-5)
    middle = grips[1]
    request = {"number": middle["number"], "y": 0.7, **({"x": 1.7} if middle["between"] else {})}
    settings = drag(session, request).data["settings"]
    moved = look_at_source(session, {"element": 1, "settings": settings}).data["grips"][1]
    assert moved["y"] == 0.7 and (moved["x"] == 1.7 or not middle["between"])
    moved_record = bs.simulate(session.diagram, params=settings)
    assert np.interp(moved["x"], record.t, moved_record["way.q"][:, 1]) == pytest.approx(0.7, abs=1e-5)


def test_what_is_to_be_found_can_be_chosen_and_what_is_dead_is_told_in_one_sentence():
    session = Session(name="basics/thermostat")
    session.open("basics/thermostat")
    with pytest.raises(BlocksimError, match="Choose below which numbers are to be found"):
        foretell(session, {})
    choices = look_at_source(session, {}).data["choices"]
    assert "heater.on_value" in choices and not [name for name in choices if name.startswith("wanted.")]
    beside = JOINT + "  other: {type: GravityJoint, J: 0.03, Fv: 0.1, in: push}\n"
    session = Session(name="beside", diagram=bs.open_diagram(beside))
    session.experiment = bs.experiment(session.diagram)
    answer = foretell(session, {"parameters": ["joint.J", "other.J", "other.Fv"], "outputs": ["sense.tau_hat"]}).data
    assert answer["verdict"].startswith("other.J, other.Fv are dead here") and answer["verdict"].count("dead") == 1
    assert answer["std"]["joint.J"] > 0 and answer["std"]["other.J"] is None


def test_a_signal_over_its_limit_cannot_be_exported(session):
    limits = {"push.y": {"peak": 0.6}, "joint.q": {"peak": 3.0}}
    good = export_source(session, {"limits": limits, "what": "csv"}).data
    rows = base64.b64decode(good["content"]).decode().splitlines()
    assert rows[0] == "t [s],push.y [N m]" or rows[0] == "t [s],push.y"
    values = np.array([float(row.split(",")[1]) for row in rows[1:]])
    assert np.abs(values).max() <= 0.6
    settings = drag(session, {"number": 0, "y": 0.9}).data["settings"]
    view = look_at_source(session, {"settings": settings, "limits": limits}).data
    assert next(margin["signal"] for margin in view["margins"] if margin["broken"]) == "push.y"
    for what in ("csv", "yaml"):
        with pytest.raises(BlocksimError, match=r"a signal over its limit is not exported: push\.y peak"):
            export_source(session, {"limits": limits, "settings": settings, "what": what})
    with pytest.raises(BlocksimError, match="over its limit"):
        keep(session, {"limits": limits, "settings": settings})
    assert document_of(session).text == JOINT


def test_the_exported_source_is_the_one_that_was_seen(session):
    settings = drag(session, {"number": 2, "y": 0.05}).data["settings"]
    content = export_source(session, {"settings": settings, "limits": {}, "what": "yaml"}).data["content"]
    line = base64.b64decode(content).decode()
    text = "\n".join(f"  {line.strip()}" if row.startswith("  push:") else row for row in JOINT.splitlines()) + "\n"
    np.testing.assert_allclose(bs.simulate(text)["push.y"], bs.simulate(JOINT, params=settings)["push.y"], atol=1e-8)
    keep(session, {"settings": settings, "limits": {}})
    kept_text = document_of(session).text
    np.testing.assert_allclose(bs.simulate(kept_text)["push.y"], bs.simulate(JOINT, params=settings)["push.y"], atol=1e-8)
    assert "# the lines" in kept_text and [a for a, b in zip(JOINT.splitlines(), kept_text.splitlines(), strict=False) if a != b]


def test_predicted_deviations_are_the_spread_of_two_hundred_seeds(session):
    """Output errors reach the bound where the noise is white: the spread of 200 runs has a standard error of 5 %."""
    foretell(session, WANTED)
    settings: dict = {}
    for y in (0.3, 0.2, 0.12):  # a hand that drags: the experiment stays prepared
        settings = drag(session, {"number": 0, "y": y, "settings": settings}).data["settings"]
        shown = foretell(session, {**WANTED, "settings": settings, "quick": True}).data
    assert shown["quick"]
    whole = foretell(session, {**WANTED, "settings": settings}).data
    assert not whole["quick"]
    records = bs.simulate_many(session.diagram, params=[settings], seeds=range(200))
    for name in ("J", "Fv"):
        spread = np.std([record.estimates["oe"][name].value for record in records], ddof=1)
        assert shown["std"][f"joint.{name}"] == pytest.approx(spread, rel=0.15)
        assert whole["std"][f"joint.{name}"] == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("name", ["one_dof/identify", "gautier2001/scara_pd"])
def test_what_a_drag_shows_is_what_the_whole_answer_says_when_the_hand_is_off(name):
    """The noise of a loop hardly depends on the motion, and slopes of one step size are as good where the model is smooth."""
    session = Session(name=name)
    session.open(name)
    view = look_at_source(session, {}).data
    grip = view["grips"][0]
    foretell(session, {})
    request = {"source": view["source"], "number": grip["number"], "y": 0.8 * grip["y"] + 0.05}
    settings = drag(session, request).data["settings"]
    shown, whole = (foretell(session, {"settings": settings, "quick": quick}).data for quick in (True, False))
    assert shown["quick"] and not whole["quick"]
    for parameter, std in whole["std"].items():
        assert shown["std"][parameter] == pytest.approx(std, rel=0.1)


def test_a_setting_that_changes_the_code_is_foretold_by_the_whole_road(session):
    foretell(session, WANTED)
    more_lines = {"push.lines": 12}
    assert not foretell(session, {**WANTED, "settings": more_lines, "quick": True}).data["quick"]
    assert foretell(session, {**WANTED, "settings": {**more_lines, "push.amplitude": 0.3}, "quick": True}).data["quick"]


def test_improve_keeps_the_limits_is_better_and_can_be_stopped(session):
    limits = {"push.y": {"peak": 0.5}, "joint.q": {"peak": 3.0}}
    request = {**WANTED, "limits": limits, "seconds": 600}
    told = []
    for answer in improve(session, request):
        told.append(answer.data)
        if len(answer.data["history"]) > 2:
            stop_improving(session, {})
    last = told[-1]
    assert last["done"] and "interrupted" in last["words"]
    assert last["criterion"] < last["before"]
    criteria = [entry[2] for entry in last["history"]]
    assert criteria == sorted(criteria, reverse=True)
    record = bs.simulate(session.diagram, params=last["settings"])
    assert np.abs(record["push.y"]).max() <= 0.5 * (1 + 1e-6) and np.abs(record["joint.q"]).max() <= 3.0


def test_the_corner_of_a_step_and_a_constant_are_dragged_and_a_time_before_the_run_is_not_taken():
    text = (
        "format: 1\nsimulate: {stop: 4, step: 1e-2, solver: rk4}\nblocks:\n"
        "  jump: {type: Step, time: 1, before: 0.5, after: 2}\n  bias: {type: Constant, value: [3, 4]}\n"
        "  lag: {type: FirstOrderLag, T: 1, in: jump}\n"
    )
    session = Session(name="steps", diagram=bs.open_diagram(text))
    session.experiment = bs.experiment(session.diagram)
    corner, before = look_at_source(session, {"source": "jump"}).data["grips"]
    assert (corner["x"], corner["y"], before["y"]) == (1.0, 2.0, 0.5) and corner["between"] == (0.0, 4.0)
    moved = drag(session, {"source": "jump", "number": corner["number"], "y": -1.0, "x": 2.5}).data["settings"]
    y = bs.simulate(session.diagram, params=moved)
    assert y["jump.y"][y.t < 2.49] == pytest.approx(0.5) and y["jump.y"][y.t > 2.51] == pytest.approx(-1.0)
    assert drag(session, {"source": "jump", "number": before["number"], "y": 0.25}).data["settings"] == {"jump.before": 0.25}
    assert "jump.time" not in drag(session, {"source": "jump", "number": 0, "y": 1.0, "x": -1.0}).data["settings"]
    second = look_at_source(session, {"source": "bias", "element": 1}).data["grips"]
    assert [grip["y"] for grip in second] == [4.0]
    assert drag(session, {"source": "bias", "number": 1, "y": 7.0}).data["settings"] == {"bias.value": [3.0, 7.0]}


def test_the_plant_in_a_subsystem_is_found_with_its_units():
    """The six joints of the TX40 lie in a part of their own; what is sought first is friction, which is seen by itself."""
    diagram = bs.open_diagram("brunot2017/tx40")
    sought = first_parameters(diagram)
    assert plant_of(diagram) == "robot.arm" and sought[:2] == ["robot.arm.Fv1", "robot.arm.Fc1"]
    assert parameter_units(diagram, sought[:2]) == {"robot.arm.Fv1": "N m s/rad", "robot.arm.Fc1": "N m"}
