"""Identifiers side by side on one noisy loop, as the page on identification tells it."""

from __future__ import annotations

import pytest
from short_studies import scores, short


@pytest.fixture(scope="module")
def found():
    return scores(short("one_dof/methods", repeat=12, collect=["raw", "ls", "iv", "didim", "cloe"]))


def test_differences_of_an_encoder_lose_the_inertia_and_do_not_know_it(found):
    line = found["raw", "J"]
    assert line["bias_percent"] < -90 and line["coverage"] == 0 and line["z_mean"] < -100


@pytest.mark.parametrize("method", ["ls", "iv", "didim", "cloe"])
def test_filters_instruments_and_simulated_motion_bring_it_back(found, method):
    lines = [line for (name, _), line in found.items() if name == method]
    assert len(lines) == 4 and not any(line["failures"] for line in lines)
    assert all(abs(line["bias_percent"]) < 1 for line in lines)


@pytest.mark.parametrize("method", ["iv", "didim"])
def test_decimated_rows_have_honest_standard_deviations(found, method):
    """z over 12 runs of 4 parameters: wide intervals, for the spread of a spread of 12 is a fifth."""
    lines = [line for (name, _), line in found.items() if name == method]
    assert sum(line["coverage"] for line in lines) / 4 > 0.85
    assert all(0.4 < line["z_std"] < 1.6 for line in lines)


def test_simulated_regressors_scatter_less_than_measured_ones(found):
    assert all(found["didim", name]["std"] < found["ls", name]["std"] for name in ("J", "Fv", "Fc", "Ms"))


@pytest.mark.parametrize("method", ["ekf", "srekf", "ukf"])
def test_filters_that_know_the_torque_find_what_a_simulated_loop_cannot(every, method):
    """Errors below a twentieth of a percent, where least squares has half a percent of J, and standard deviations that hold."""
    lines = [line for (name, _), line in every.items() if name == method]
    assert len(lines) == 4 and not any(line["failures"] for line in lines)
    assert all(line["rmse_percent"] < 0.05 for line in lines)
    assert all(abs(line["z_mean"]) < 3 for line in lines)


def test_roots_and_factors_change_nothing_on_a_smooth_joint(every):
    for name in ("J", "Fv", "Fc", "Ms"):
        assert every["srekf", name]["mean"] == pytest.approx(every["ekf", name]["mean"], rel=1e-9)
        assert every["ukf", name]["mean"] == pytest.approx(every["ekf", name]["mean"], rel=1e-4)


@pytest.fixture(scope="module")
def every():
    return scores(short("one_dof/all_methods", repeat=2, collect=["ekf", "srekf", "ukf"]))
