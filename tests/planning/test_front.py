"""The front of what accuracy costs, and the pictures: files that are written, with what they must show."""

from __future__ import annotations

import pytest

import blocksim as bs
from blocksim.planning.figures import plot_design, plot_ellipses, plot_front, plot_information, source_label

LAG = """
format: 1
simulate: {stop: 20.0, solver: rk4, step: 0.02, every: 0.02}
blocks:
  u:   {type: Sine, amplitude: 1.0, frequency: 1.0}
  lag: {type: FirstOrderLag, k: 2.0, T: 0.5, in: u}
"""
KEYS = {"design": "x", "diagram": LAG, "parameters": ["lag.k", "lag.T"], "outputs": {"lag": 0.05},
        "vary": {"u": {"family": "binary", "clock": 0.5, "peak": 1.0}}, "limits": {"u": {"peak": 1.0}},
        "search": {"simulations": 100, "candidates": 16}}  # fmt: skip


def test_twice_the_peak_is_twice_the_accuracy_of_a_linear_system(tmp_path):
    front = bs.pareto(KEYS, "peak", [0.5, 1.0])
    assert front.criteria[0] == pytest.approx(2 * front.criteria[1], rel=1e-6) and "peak" in str(front)
    figure = plot_front(front, tmp_path / "front.png")
    assert figure.axes[0].get_xlabel() == "peak of u" and (tmp_path / "front.png").stat().st_size > 1000
    with pytest.raises(bs.DiagramError, match="over peak or duration"):
        bs.pareto(KEYS, "noise", [1.0])


def test_the_unit_of_a_source_comes_from_what_it_drives(tmp_path):
    keys = {**KEYS, "diagram": "thesis/hysteresis", "simulate": {"stop": 1, "step": 4e-3}, "parameters": ["robot.Fv"],
            "outputs": {"robot.w_m": 0.05}, "search": {"simulations": 8, "candidates": 4}}  # fmt: skip
    result = bs.design(keys)
    assert source_label(result) == "u [N m]"
    labels = [axis.get_ylabel() for axis in plot_design(result).axes]
    assert labels[:2] == ["u.y [N m]", "amplitude [N m]"]


def test_pictures_of_an_information(tmp_path):
    info = bs.information(LAG, ["lag.k", "lag.T"], "lag", noise_std=0.05)
    when = plot_information(info, tmp_path / "when.png")
    assert [axis.get_title() for axis in when.axes] == ["when it is learnt", "at which frequencies"]
    ellipses = plot_ellipses(info, path=tmp_path / "pairs.svg")
    assert ellipses.axes[0].get_xlabel() == "k [%]" and (tmp_path / "pairs.svg").exists()
