"""Estimates of blocks that estimate while they run: kept in the record, and drawn over time."""

import numpy as np
import pytest

import blocksim as bs
from blocksim.errors import RecordError
from blocksim.estimation.running_estimates import covariance
from blocksim.pictures.estimate_traces import limits, trace, traced

TEXT = """
format: 1
simulate: {stop: 0.2, solver: rk4, step: 1e-3, seed: 1}
blocks:
  torque: {type: Constant, value: 1.0}
  robot:  {type: TwoMassRobot, in: torque}
  speed:  {type: TorqueSensor, std: 0.1, Ts: 2e-3, in: robot.w_m}
  rpem:   {type: RPEM, Ts: 2e-3, model: robot, measures: w_m, estimate: [Fv, Fc], factor: 0.5, in: {y: speed, u: torque}}
"""


def run(log="", **options):
    return bs.simulate(TEXT + log, engine="python", **options)


def test_the_last_estimates_are_kept():
    record = run()
    found = record.estimates["rpem"]
    assert found.vector() == pytest.approx(record["rpem.theta"][-1], rel=0)
    assert found.std_vector() == pytest.approx(record["rpem.std"][-1], rel=1e-12)
    assert found.truth_vector().tolist() == [1.3e-2, 6.44e-1] and found.reason == "at 0.2 s"


def test_the_truth_is_that_of_the_run():
    assert run(params={"robot.Fc": 0.7}).estimates["rpem"]["Fc"].truth == 0.7


def test_without_theta_in_the_log_there_are_none():
    record = run("log: [robot.w_m]\n")
    assert not record.estimates and not traced(record)
    with pytest.raises(RecordError, match="no estimates over time"):
        bs.plot_traces(record)


def test_without_P_there_are_standard_deviations_only():
    found = run("log: [rpem.theta, rpem.std]\n").estimates["rpem"]
    assert found.covariance is None and np.isfinite(found.std_vector()).all()


def test_many_runs_keep_them_too():
    runs = bs.simulate_many(TEXT, seeds=range(2), collect=lambda r: r.estimates["rpem"]["Fc"].value)
    assert len(set(runs)) == 2


def test_correlations_are_those_of_the_last_rows():
    P = np.array([[9.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 1.0]])
    assert covariance(P.ravel(), np.array([20.0, 0.1])) == pytest.approx(np.array([[400.0, 1.0], [1.0, 0.01]]))
    assert covariance(np.zeros(4), np.zeros(2)) == pytest.approx(np.zeros((2, 2)))
    assert np.isinf(np.diag(covariance(P.ravel(), np.array([np.inf, 1.0])))).any()


def test_a_picture_has_a_panel_for_each_parameter(tmp_path):
    record = run()
    figure = bs.plot_traces(record, "rpem", tmp_path / "traces.png")
    assert [axes.get_ylabel() for axes in figure.axes] == ["Fv [N m s/rad]", "Fc [N m]"]
    assert figure.axes[-1].get_xlabel() == "time [s]" and (tmp_path / "traces.png").stat().st_size > 5000
    drawn = figure.axes[1].lines[0].get_ydata()
    assert drawn == pytest.approx(record["rpem.Fc_hat"])
    assert [line.get_ydata()[0] for line in figure.axes[1].lines[1:]] == pytest.approx([0.644, 0.95 * 0.644, 1.05 * 0.644])


def test_a_part_of_it():
    record = run()
    assert trace(record, "rpem", "Fc", 0.1).t[-1] <= 0.1
    figure = bs.plot_traces(record, "rpem", parameters=["Fc"], until=0.1)
    assert len(figure.axes) == 1 and figure.axes[0].lines[0].get_xdata()[-1] <= 0.1


def test_a_block_without_estimates_is_named():
    with pytest.raises(RecordError, match=r"no estimates of 'robot' over time\. It has those of: rpem"):
        bs.plot_traces(run(), "robot")


def test_an_axis_shows_the_truth_and_no_wild_start():
    one = trace(run(), "rpem", "Fc")
    low, high = limits([one], 0.644)
    assert low < 0.9 * 0.644 and 1.1 * 0.644 < high < 4.1 * 0.644
