"""Elements of lists and matrices are numbers like others: pinned, dragged, written into the text, swept, explored."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.studio.bench import run_bench
from blocksim.studio.edit.keeping import keep_sliders
from blocksim.studio.edit.requests import document_of
from blocksim.studio.running.defects import defects_off, find_defects
from blocksim.studio.running.fields import all_fields, first_pins
from blocksim.studio.session import Session
from blocksim.studio.study.requests import offer, plan_study

#: A list with an expression in it, a matrix over several lines, a list that is a parameter, noise of its own for each element.
TEXT = """format: 1
simulate: {stop: 1, solver: rk4, step: 5e-3, seed: 3}
parameters: {k: 2.0, gains: [3.0, 4.0]}
blocks:
  push:  {type: FourierTrajectory, base_frequency: 1, a: [1.0, 0.4], b: [0.0, -0.2]}   # two harmonics
  both:  {type: Mux, in: [push.q, push.qd]}
  gain:  {type: Gain, k: ["${k}",  25.0], in: both}   # two spaces stay
  more:  {type: Gain, k: "${gains}", in: gain}
  plant:
    type: StateSpace
    A:
      - [0, 1]      # speed
      - [-40.0, -2.0]
    B: [[0], [1]]
    C: [[1, 0]]
    D: [[0]]
    in: push.q
  sense: {type: TorqueSensor, Ts: 5e-3, std: [0.1, 0.0], in: more}
"""


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "lists.yaml").write_text(TEXT, encoding="utf-8")
    result = Session()
    result.open("lists.yaml")
    return result


def test_every_element_is_a_field_with_the_limits_of_its_list():
    fields = {field["path"]: field for field in all_fields(bs.open_diagram(TEXT))}
    assert fields["plant.A[1,0]"]["value"] == -40 and fields["gains[1]"]["value"] == 4 and fields["gain.k[0]"]["value"] == 2
    low, high = (fields["plant.A[0,0]"]["slider"][end] for end in ("low", "high"))
    assert low == -80 and high == 80  # a 0 among others goes as far as twice the largest of them
    assert fields["sense.std[1]"]["limits"] == "at least 0" and fields["sense.std[1]"]["slider"]["low"] == 0
    assert fields["gain.k"]["slider"] is None
    assert {"pd.kp[0]"} <= {field["path"] for field in first_pins(bs.open_diagram("gautier2001/scara_pd"), 5)}


def test_only_the_characters_of_the_element_change_in_the_text(session):
    keep_sliders(session, {"changes": {"plant.A[1,0]": -50.5, "gain.k[1]": 26.0, "push.a[0]": 1.5, "gains[1]": 7.5}})
    expected = TEXT.replace("-40.0", "-50.5").replace("25.0]", "26]").replace("a: [1.0,", "a: [1.5,").replace("4.0]", "7.5]")
    document = document_of(session)
    assert document.text == expected
    document.history.undo()
    assert document.text == TEXT
    keep_sliders(session, {"changes": {"more.k[1]": 9.0}})  # of a list that is an expression in the text the list is written
    assert document.text == TEXT.replace('k: "${gains}"', "k: [3.0, 9]")


def test_a_study_sweeps_an_element_and_its_runs_are_those_of_simulate(session):
    assert "gain.k[1]" in {field["path"] for field in offer(session, {}).data["fields"]}
    sweep = {"gain.k[1]": {"low": 10, "high": 20, "count": 2, "log": False}}
    collected = [{"signal": "plant.y", "statistic": "rms"}]
    asked = {"file": "s.yaml", "sweep": sweep, "params": {"push.a[0]": 2}, "repeat": 2, "seed": 1, "collect": collected}
    assert plan_study(session, asked).data["runs"] == 4
    run_bench(session, {"changes": {"gain.k[1]": 20.0}})
    expected = bs.simulate(TEXT, params={"gain.k": [2.0, 20.0]})
    assert np.array_equal(session.shelf["bench"]["run"].record["sense.tau_hat"], expected["sense.tau_hat"])


def test_noise_of_several_elements_is_switched_off_whatever_was_dragged():
    diagram = bs.open_diagram(TEXT)
    assert [defect.name for defect in find_defects(diagram)] == ["sense.noise"]
    changes = defects_off(diagram, ["sense.noise"], {"sense.std[1]": 0.5, "gain.k[1]": 20.0})
    assert changes == {"sense.std": [0.0, 0.0], "gain.k[1]": 20.0}
    arm = bs.open_diagram("arms/ur_like")
    assert "sensor.noise" in {defect.name for defect in find_defects(arm)}
    scara = bs.open_diagram("gautier2001/wls")
    cured = defects_off(scara, ["encoder.quantisation"], {})
    assert cured["encoder.resolution"] == pytest.approx([1e-10, 1e-11])


def test_explore_takes_an_element():
    pytest.importorskip("anywidget", reason="the extra 'notebook' is not installed")
    explorer = bs.explore(TEXT, **{"gain.k[1]": (10, 40), "plant.A[1,0]": (-80, -20)})
    assert explorer.values == {"gain.k[1]": 25.0, "plant.A[1,0]": -40.0}
    explorer.values = {"gain.k[1]": 30.0, "plant.A[1,0]": -60.0}
    expected = bs.simulate(TEXT, params={"gain.k": [2.0, 30.0], "plant.A": [[0, 1], [-60.0, -2.0]]})
    assert np.array_equal(explorer.record["plant.y"], expected["plant.y"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("lists")
    (place / "joint.yaml").write_text(TEXT, encoding="utf-8")
    return place


def test_an_element_is_pinned_and_dragged_in_the_page_and_list_and_elements_agree(address, open_page):
    page = open_page(address)
    page.until("studio.store.get('run') && studio.idle()")
    page.get_by_test_id("block-gain").click()
    page.get_by_test_id("each-gain.k").click()
    page.get_by_test_id("pin-gain.k[1]").click()
    page.get_by_test_id("tab-pins").click()
    page.get_by_test_id("slider-gain.k[1]").focus()
    page.keyboard.press("ArrowRight")
    page.until("studio.idle() && Object.keys(studio.store.get('changes')).length")
    value = float(page.get_by_test_id("number-gain.k[1]").input_value())
    assert value > 25 and page.evaluate("studio.store.get('changes')") == {"gain.k[1]": value}
    page.get_by_test_id("tab-block").click()
    whole = page.get_by_test_id("field-gain.k")
    assert whole.input_value() == f"[2, {value:g}]"
    whole.fill("[5, 30]")
    whole.press("Enter")
    assert page.evaluate("studio.store.get('changes')") == {"gain.k": [5, 30]}
    assert page.get_by_test_id("number-gain.k[1]").input_value() == "30"
    one = page.get_by_test_id("field-gain.k[0]")
    one.fill("2")
    one.press("Enter")
    assert page.evaluate("studio.store.get('changes')") == {"gain.k": [2, 30]}
    page.until("studio.idle()")
    assert not page.watch.complaints
