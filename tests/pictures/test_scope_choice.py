"""What a plot shows when nobody says: reference and output, error, torque, residuals; or what the file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs
from blocksim.diagram.loader import dump
from blocksim.errors import DiagramError
from blocksim.estimation.estimates import Estimates
from blocksim.pictures.estimate_plot import plot_estimates
from blocksim.pictures.scope_choice import scopes_of

LOOP = """
format: 1
simulate: {stop: 0.2, solver: rk4, step: 1e-3}
blocks:
  ref:     {type: Sine, amplitude: 1, frequency: 2}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 10, in: encoder}
  ls:      {type: LeastSquares, model: joint, in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: pid}}
"""


def test_a_loop_shows_what_a_person_would_plot():
    record = bs.simulate(LOOP)
    assert scopes_of(record) == [["ref.y", "encoder.q_hat", "joint.q"], "error.y", "pid.u", ["ls.residual"]]
    assert len(bs.plot(record).axes) == 4 and any(name.startswith("smooth.std") for name in record)


def test_the_file_says_which():
    record = bs.simulate(LOOP + "scopes: [[ref, joint.q], smooth.dx, ref - joint.q]\n")
    assert scopes_of(record) == [["ref.y", "joint.q"], "smooth.dx", "ref.y - joint.q"]
    line = bs.plot(record).axes[2].lines[0]
    assert np.allclose(line.get_ydata(), record["ref"] - record["joint.q"])
    assert bs.load(dump(bs.build(bs.load(LOOP + "scopes: [[ref, joint.q], error]\n")))).scopes == [["ref", "joint.q"], "error"]


def test_a_scope_of_nothing_is_told_with_its_line():
    with pytest.raises(DiagramError, match=r"scopes: 'jiont.q' names no block"):
        bs.build(bs.load(LOOP + "scopes: [jiont.q]\n"))
    with pytest.raises(DiagramError, match=r"scopes: found 3\. Write a signal, or a list of signals that share an axis"):
        bs.load(LOOP + "scopes: [3]\n")


def test_without_the_error_in_the_log_the_difference_is_drawn():
    record = bs.simulate(LOOP + "log: [ref, encoder, pid]\n")
    assert scopes_of(record)[:2] == [["ref.y", "encoder.q_hat"], "ref.y - encoder.q_hat"]


def test_a_record_without_a_diagram_shows_all_but_how_sure_it_is():
    t = np.linspace(0, 1, 11)
    assert scopes_of(bs.Record.from_arrays(t, {"q": t, "s.std_x": t})) == ["q"]


def test_a_start_that_is_not_used_does_not_squash_a_residual():
    t = np.linspace(0, 1, 1001)
    values = np.where(t < 0.005, 50.0, np.sin(60 * t))
    low, high = bs.plot(bs.Record.from_arrays(t, {"ls.residual": values})).axes[0].get_ylim()
    assert -3 < low < -1 and 1 < high < 3


def test_a_torque_before_a_disturbance_is_shown_where_the_sum_was_not_recorded():
    text = LOOP.replace("in: pid}\n  encoder", "in: drive}\n  push:    {type: WhiteNoise, Ts: 1e-3, std: 0.01}\n  encoder")
    text = text.replace("  joint: ", "  drive:   {type: Sum, in: [pid, push]}\n  joint: ")
    record = bs.simulate(text + "log: [ref, encoder, pid]\n")
    assert scopes_of(record)[:3] == [["ref.y", "encoder.q_hat"], "ref.y - encoder.q_hat", "pid.u"]


def test_a_reference_without_a_unit_is_shown_beside_what_follows_it():
    record = bs.simulate("emps/cascade", stop=0.5)
    assert scopes_of(record)[:2] == [["ref.q", "encoder.q_hat", "carriage.q"], "ref.q - encoder.q_hat"]


@pytest.mark.parametrize("name", ["run.png", Path("run.svg")])
def test_the_name_of_a_picture_in_the_place_of_signals_is_told(name):
    record = bs.Record.from_arrays(np.arange(3.0), {"q": np.arange(3.0)})
    with pytest.raises(bs.RecordError, match=rf"Write bs.plot\(record, path='{name}'\)"):
        bs.plot(record, name)


def test_elements_of_a_residual_that_would_look_flat_get_an_axis_of_their_own():
    t = np.arange(5.0)
    rest = np.outer(np.ones(5), [4.0, 1.0, 0.1, 0.05, 0.0])
    record = bs.Record.from_arrays(t, {"tau": t, "ls.residual": rest, "fit.residual": t})
    assert scopes_of(record) == [
        "tau",
        [f"ls.residual[{k}]" for k in (0, 1, 4)],
        [f"ls.residual[{k}]" for k in (2, 3)],
        ["fit.residual"],
    ]


def test_methods_that_found_the_same_on_a_measured_record_share_an_axis():
    """DIDIM does not name the plant of a measured record, CLOE does: one axis, both methods on it."""
    one = Estimates.of("DIDIM", ["J"], [2.0], [0.1])
    two = replace(Estimates.of("CLOE", ["J"], [2.1], [0.1]), model="joint")
    other = Estimates.of("LS", ["m"], [1.0], [0.1])
    assert len(plot_estimates({"didim": one, "cloe": two}).axes) == 1
    assert len(plot_estimates({"didim": one, "cloe": two, "ls": other}).axes) == 2
