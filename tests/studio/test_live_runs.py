"""What the bench asks of the engine: envelopes, sliders, defects, methods, live runs; each beside what it must be."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.limits import Interval
from blocksim.studio.bench import rest, run_bench
from blocksim.studio.edit.exports import scopes_picture
from blocksim.studio.protocol import Answer, json_values, pack
from blocksim.studio.running.defects import defects_off, find_defects, rewired
from blocksim.studio.running.envelopes import envelope
from blocksim.studio.running.fields import block_fields, slider
from blocksim.studio.running.methods import estimates_data, methods_data
from blocksim.studio.running.runs import live_run, run_units
from blocksim.studio.session import Session


def test_an_envelope_holds_the_least_and_the_greatest_of_every_column():
    t = np.arange(1_000_000) * 1e-3
    values = np.random.default_rng(0).normal(size=t.size)
    kind, (least, greatest) = envelope(t, values, 0.0, t[-1], 500)
    assert kind == "bands" and len(least) == 500
    assert least.min() == values.min() and greatest.max() == values.max()
    edges = np.searchsorted(t, t[-1] * np.arange(501) / 500)
    for column in (0, 17, 499):
        part = values[edges[column] : edges[column + 1]]
        assert least[column] == part.min() and abs(greatest[column] - part.max()) < 1e-12


def test_few_samples_are_points_that_reach_beyond_the_window():
    t = np.linspace(0, 10, 101)
    kind, (times, values) = envelope(t, t**2, 4.05, 5.05, 400)
    assert kind == "points" and times[0] < 4.05 and times[-1] > 5.05 and np.array_equal(values, times**2)


def test_uneven_samples_leave_columns_empty():
    t = np.concatenate([np.linspace(0, 1, 500), np.linspace(9, 10, 500)])
    kind, (least, greatest) = envelope(t, np.ones(1000), 0.0, 10.0, 100)
    assert kind == "bands" and np.isnan(least[40]) and np.isnan(greatest[40]) and least[0] == 1 == greatest[99]


@pytest.mark.parametrize(
    ("value", "limits", "low", "high", "log"),
    [
        (20.0, Interval(0.0, open_low=True), 2.0, 200.0, True),
        (0.5, Interval(0.0, 1.0), 0.0, 1.0, False),
        (0.0, Interval(0.0), 0.0, 1.0, False),
        (-3.0, Interval(), -9.0, 3.0, False),
    ],
)
def test_a_slider_goes_as_far_as_limits_or_a_factor_of_the_value(value, limits, low, high, log):
    scale = slider(value, limits)
    assert scale["low"] == pytest.approx(low) and scale["high"] == pytest.approx(high) and scale["log"] is log


def test_every_slider_of_every_bundled_diagram_stays_where_values_are_allowed():
    from blocksim.diagram.files import bundled

    for name in bundled():
        for node in bs.open_diagram(name).nodes.values():
            declared = getattr(type(node.block), "declared", {})
            for field in block_fields(node):
                scale = field["slider"]
                if scale and field["name"] in declared:
                    assert scale["low"] < scale["high"], (name, field["path"])
                    for end in ("low", "high"):
                        value = int(scale[end]) if field["kind"] == "whole" else scale[end]
                        assert not declared[field["name"]].problems(value), (name, field["path"], value)


def test_defects_are_found_and_each_switch_takes_its_own_away():
    diagram = bs.open_diagram("one_dof/identify")
    assert [d.name for d in find_defects(diagram)] == ["encoder.noise", "encoder.quantisation", "encoder.loop"]

    def error_of(off):
        record = bs.simulate(rewired(diagram, off), params=defects_off(diagram, off, {}), stop=3)
        return record["encoder"] - record["joint.q"]

    step, noise = 3.1416e-3, 0.3 * 3.1416e-3
    assert error_of([]).std() == pytest.approx(np.hypot(noise, step / 12**0.5), rel=0.05)
    assert error_of(["encoder.noise"]).std() == pytest.approx(step / 12**0.5, rel=0.1)
    assert error_of(["encoder.quantisation"]).std() == pytest.approx(noise, rel=0.03)
    assert abs(error_of(["encoder.noise", "encoder.quantisation"])).max() < 1e-5 * step


def test_noise_that_does_not_go_around_the_loop_leaves_the_torque_quiet():
    diagram = bs.open_diagram("one_dof/identify")
    quiet = bs.simulate(rewired(diagram, ["encoder.loop"]), stop=3)
    perfect = bs.simulate(rewired(diagram, ["encoder.loop"]), params={"encoder.noise_std": 0}, stop=3)
    assert np.array_equal(quiet["pid"], perfect["pid"])  # the loop never sees what the encoder says
    assert not np.array_equal(quiet["encoder"], perfect["encoder"])  # the record still does


def test_a_live_run_is_that_of_simulate_in_two_parts():
    ready = bs.experiment("one_dof/identify")
    spent = {"didim": 1.0}  # as if it had been slow
    live = live_run(ready, {"smooth.bandwidth": 25.0}, 3, spent, {})
    assert [unit.path for unit in live.rest] == ["didim"] and "didim" not in live.record.estimates
    run_units(live, live.rest, spent)
    record = bs.simulate("one_dof/identify", params={"smooth.bandwidth": 25.0}, seed=3)
    assert np.array_equal(live.record["joint.q"], record["joint.q"])
    for method in ("ls", "didim"):
        assert str(live.record.estimates[method]) == str(record.estimates[method])
        assert (
            estimates_data(live.record.estimates[method])["rows"][0]["cells"]["value"]
            == record.estimates[method].entries[0].row()[1]
        )


def test_a_run_that_diverges_keeps_its_record_and_says_why():
    live = live_run(bs.experiment("one_dof/identify"), {"pid.kp": -2000.0, "pid.kd": -50.0}, None, {}, {})
    assert live.failures and len(live.record.t) > 1


def test_a_method_has_its_colour_by_its_place_in_the_file():
    from blocksim.pictures.palette import COLOURS

    schedule = bs.experiment("one_dof/identify").schedule
    assert [(m["name"], m["colour"]) for m in methods_data(schedule)] == [("ls", COLOURS[0]), ("didim", COLOURS[1])]


def test_messages_carry_no_nan_and_arrays_start_where_the_page_reads_them():
    assert json_values({"a": float("nan"), "b": [float("inf"), 1]}) == {"a": None, "b": ["inf", 1]}
    message = pack(Answer({"x": 1}, {"q": np.array([1.0, 2.0])}), "kind", 3)
    length = int.from_bytes(message[:4], "little")
    assert length % 4 == 0 and np.frombuffer(message[4 + length :], "<f4").tolist() == [1.0, 2.0]


def test_the_picture_of_the_scopes_has_their_signals_and_their_window():
    """An SVG of its own, whose text says the signals and whose time axis begins and ends where the scopes do."""
    session = Session()
    session.open("gautier2001/scara_pd")
    run_bench(session, {})
    groups = [["robot.q[0]", "encoder.q_hat[1]"], ["pd.u[0]"]]
    answer = scopes_picture(session, {"groups": groups, "window": [2.0, 3.0]}).data
    words = ET.fromstring(base64.b64decode(answer["content"])).itertext()
    text = [" ".join(word.split()) for word in words if word.strip()]
    assert answer["name"] == "scara_pd_scopes.svg" and any("robot.q[0]" in word for word in text)
    assert {"2.0", "3.0"} <= set(text) and "16" not in text


def test_the_rest_of_a_run_is_told_again_to_who_asks_again():
    """A page whose question for an older run was answered of the newest asks once more, and must not lose what it has."""
    session = Session()
    session.open("one_dof/identify")
    run_bench(session, {})
    session.shelf["bench"]["spent"]["didim"] = 1.0  # as if it had been slow
    run = run_bench(session, {}).data
    once, again = rest(session, {}).data, rest(session, {}).data
    assert "didim" in run["rest"] and "didim" not in run["estimates"]
    assert once["number"] == again["number"] == run["number"]
    assert again["estimates"]["didim"]["rows"] == once["estimates"]["didim"]["rows"]
