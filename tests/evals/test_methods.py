"""Identifiers side by side on one noisy loop, as the page on identification tells it."""

from __future__ import annotations

import re

import pytest
from short_studies import scores, short
from test_pages import DOCS, numbers, table


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


@pytest.fixture(scope="module")
def shaken():
    return scores(short("gautier2001/all_methods", repeat=3, simulate={"stop": 8}, collect=["ols", "wls", "ekf"]))


def test_rows_of_two_joints_are_worth_differently(shaken):
    """Torque of joint 1 is shaken fifty times as much: without weights its noise is in what joint 2 alone could tell."""
    for name in ("ZZ2", "LMX2", "LMY2"):
        assert shaken["ols", name]["rmse"] > 2 * shaken["wls", name]["rmse"], name


def test_a_torque_that_is_not_the_recorded_one_takes_the_filters_lead(shaken):
    """On one joint they found ten times as much as regressions and more; here nobody does, and they know it."""
    lines = [line for (method, _), line in shaken.items() if method == "ekf"]
    assert len(lines) == 8 and sum(line["coverage"] for line in lines) / 8 > 0.7
    assert all(shaken["ekf", name]["rmse"] > 0.2 * shaken["wls", name]["rmse"] for name in ("ZZR1", "Fv1", "Fs1", "Fs2"))


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "first"), [("one_dof", 0), ("gautier2001", 1)])
def test_the_tables_of_the_page(folder, first):
    """Six draws beside the page's: means within what six draws know, spreads within a factor."""
    heads = re.findall(r"\| \| bias of ([^[]*) \[%\]", (DOCS / "methods.md").read_text(encoding="utf-8"))
    page, names, draws = table("methods", "", f"bias of {heads[first]} [%]"), heads[first].split(", "), 6
    found = scores(short(f"{folder}/all_methods", repeat=draws))
    assert len(page) == 13
    for label, cells in page.items():
        for name, bias, spread in zip(names, numbers(cells[0]), numbers(cells[1]), strict=True):
            line = found[label.strip("`"), name]
            assert line["bias_percent"] == pytest.approx(bias, abs=4 * spread / draws**0.5 + 2e-3), (label, name)
            assert 0.25 * spread - 2e-3 < line["std_percent"] < 2.5 * spread + 2e-3, (label, name)
