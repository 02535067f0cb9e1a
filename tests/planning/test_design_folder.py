"""What a design leaves behind is the whole experiment: the file of it runs elsewhere, and teaches what was predicted."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import blocksim as bs
from blocksim.planning.figures import plot_design

JOINT = {"design": "x", "diagram": "tout2022/joint_pid", "parameters": ["joint.J"], "outputs": {"encoder": 1e-3},
         "simulate": {"stop": 2}, "search": {"simulations": 40, "candidates": 8}}  # fmt: skip


def test_the_written_diagram_is_the_designed_experiment(tmp_path):
    """Subsystems from other folders, parameters of the file, settings, numbers that vary, and the end of the run: all in it."""
    keys = {"design": "x", "diagram": "thesis/hysteresis", "outputs": {"robot.w_m": 0.05}, "parameters": ["robot.Fv", "robot.Fc"],
            "params": {"robot.Jm": 0.02, "noise": 0.3}, "simulate": {"stop": 1, "every": 4e-3},
            "vary": {"u": {"family": "binary", "clock": 0.04, "peak": 30}, "robot.beta": {"min": 0.5, "max": 2.0}},
            "limits": {"robot.phi_m": {"travel": 500}}, "search": {"simulations": 40, "candidates": 8}}  # fmt: skip
    result = bs.design(keys, out=tmp_path / "made")
    shutil.move(tmp_path / "made", tmp_path / "elsewhere")
    written = str(tmp_path / "elsewhere" / "diagram.yaml")
    record, diagram = bs.simulate(written), bs.open_diagram(written)
    assert record.t[-1] == 1.0 and record.t[1] == pytest.approx(4e-3)
    assert diagram.nodes["robot"].block.settings["Jm"] == 0.02 and diagram.parameters["noise"] == 0.3
    assert diagram.nodes["robot"].block.settings["beta"] == pytest.approx(result.params["robot.beta"])
    again = bs.information(written, ["robot.Fv", "robot.Fc"], "robot.w_m", noise_std=0.05)
    assert list(again.relative_std.values()) == pytest.approx(list(result.predicted.relative_std.values()), rel=1e-6)
    assert plot_design(result).axes[0].get_ylabel() == "robot.phi_m [rad]"  # limited, and not logged


@pytest.mark.parametrize(("changes", "words"), [
    ({"vary": {"pid.Ts": {"min": 1e-3, "max": 2e-3}}}, r"vary: pid\.Ts: another value makes another program"),
    ({"diagram": "thesis/hysteresis", "parameters": ["robot.q"], "outputs": {"robot.w_m": 1.0},
      "vary": {"robot.d": {"min": 1.0, "max": 2e3}}}, "'robot.q' is 0, at which the program leaves out all that it does"),
    ({"diagram": "thesis/hysteresis", "parameters": ["robot.k1"], "outputs": {"robot.w_m": 1.0},
      "vary": {"robot.d": {"min": 1e8, "max": 1e9}}}, "every run fails: "),
    ({"vary": {"pid.kp": {"min": 0.5, "max": 2.0}}, "parameters": ["joint.J", "encoder.noise_std"]},
     "no candidate shows something of every parameter. encoder.noise_std is dead here"),
])  # fmt: skip
def test_a_design_that_cannot_be_is_told_at_once(changes, words):
    with pytest.raises(bs.BlocksimError, match=words):
        bs.design({**JOINT, **changes})


def test_what_stays_unseen_is_told_with_the_result():
    soft = {"design": "x", "diagram": "thesis/hysteresis", "parameters": ["robot.k1", "robot.A"], "outputs": {"robot.w_m": 0.05},
            "simulate": {"stop": 1}, "vary": {"u": {"family": "binary", "clock": 0.04, "peak": 0.5}},
            "search": {"simulations": 30, "candidates": 8}}  # fmt: skip
    assert "only robot.k1 + robot.A is seen" in str(bs.design(soft))


def test_numbers_of_one_sign_far_apart_are_drawn_by_their_logarithm():
    from blocksim.planning.design.families import family_of

    for low, high, middle in ((1.0, 100.0, 10.0), (-100.0, -1.0, -10.0), (1.0, 3.0, 2.0), (-1.0, 1.0, 0.0)):
        assert family_of("a.k", {"min": low, "max": high}, 1.0).settings(np.array([0.5]), 1.0)[""] == pytest.approx(middle)


def test_limits_that_the_diagram_broke_before_are_told():
    result = bs.design({**JOINT, "vary": {"ref": {"family": "fourier", "harmonics": 2, "peak": 0.5}},
                        "limits": {"joint.q": {"travel": 1.1}}})  # fmt: skip
    assert "what was there before breaks limits: joint.q travel" in str(result)
    assert [margin.kind for margin in result.broken_before] == ["travel"] and not any(m.broken for m in result.margins)
