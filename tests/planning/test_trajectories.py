"""Exciting trajectories for robots by condition number and by D, within the ranges, speeds and torques of the bundled ones."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.design.file import load_design

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ["ZZR1", "Fv1", "Fs1", "ZZ2", "LMX2", "Fv2", "Fs2"]


def scara():
    return load_design(EXAMPLES / "scara_trajectory.yaml").plain


@functools.cache
def bundled():
    """The columns of the inverse model of Gautier and Poignet along the bundled motion, and what it takes of every limit."""
    diagram = bs.open_diagram("gautier2001/scara_pd")
    diagram.log = None
    record = bs.simulate(diagram)
    block = diagram.nodes["robot"].block
    W = type(block).regressor(record["robot.q"], record["robot.qd"], record["robot.qdd"], "sign", 100.0)
    kept = [block.inverse_parameters.index(name) for name in NAMES]
    return W[..., kept], np.array([block.settings[name] for name in NAMES]), record


def test_the_limits_are_those_of_the_bundled_trajectory():
    record = bundled()[2]
    for name, kinds in scara()["limits"].items():
        for kind, bounds in kinds.items():
            reached = {"min": record[name].min(0), "max": record[name].max(0), "peak": np.abs(record[name]).max(0)}[kind]
            assert np.abs(np.array(bounds) - reached).max() < 0.05


def test_half_the_condition_number_of_the_bundled_trajectory():
    W, beta, _ = bundled()
    condition = np.linalg.cond(W.reshape(-1, 7) * beta)
    result = bs.design({**scara(), "criterion": "condition_scaled", "search": {"target": 300, "candidates": 100, "seconds": 120}})
    assert result.criterion_before == pytest.approx(condition, rel=0.02)
    assert result.criterion <= condition / 2 and not any(margin.broken for margin in result.margins)
    assert {(m.signal, m.kind) for m in result.margins} >= {("robot.q", "max"), ("robot.qd", "peak"), ("pd.u", "peak")}


def test_a_better_determinant_starting_from_the_bundled_trajectory():
    W, _, _ = bundled()
    psi = (W / np.array([0.1, 0.01])[:, None]).reshape(-1, 7)
    expected = np.exp(-np.linalg.slogdet(psi.T @ psi)[1] / 14)  # geometric mean of the axes of the ellipsoid
    result = bs.design({**scara(), "criterion": "D", "search": {"simulations": 500, "candidates": 16, "seconds": 120}})
    assert result.criterion_before == pytest.approx(expected, rel=0.02)
    assert result.criterion < 0.999 * expected and not any(margin.broken for margin in result.margins)


def test_an_arm_of_six_joints_by_its_58_base_parameters():
    """The condition number of the arm's own regressor; a zero parameter has no share, and one that is none is told."""
    keys = load_design(EXAMPLES / "arm_trajectory.yaml").plain
    keys = {**{k: v for k, v in keys.items() if k not in ("vary", "limits")}, "vary": {}}
    bench = Bench(load_design(keys))
    assert len(bench.regressor.names) == 58
    W = bench.regressor.plant.regressor({n: bench.twin.run({})[f"robot.{n}"][::20] for n in ("q", "qd", "qdd")}).reshape(-1, 58)
    assert bench.try_out(np.zeros(0)).criterion == pytest.approx(np.linalg.cond(W), rel=1e-6)
    scaled = Bench(load_design({**keys, "criterion": "condition_scaled"})).regressor.names
    assert "off1" not in scaled and "ZZ1R" in scaled
    with pytest.raises(bs.DiagramError, match="off1 is 0, and shares of it count here"):
        Bench(load_design({**keys, "criterion": "worst", "parameters": ["robot.off1"]}))
    with pytest.raises(bs.DiagramError, match="'M1' is none of the inverse model"):
        Bench(load_design({**keys, "parameters": ["robot.M1"]}))
    with pytest.raises(bs.DiagramError, match="effort_std: numbers above 0"):
        Bench(load_design({**keys, "effort_std": -1.0}))


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["condition", "D"])
def test_way_points_for_the_arm(criterion):
    text = (
        (EXAMPLES / "arm_trajectory.yaml")
        .read_text(encoding="utf-8")
        .replace("criterion: condition ", f"criterion: {criterion} ")
    )
    result = bs.design(text)
    assert result.criterion < {"condition": 0.85, "D": 1.0}[criterion] * result.criterion_before
    assert not any(margin.broken for margin in result.margins)
