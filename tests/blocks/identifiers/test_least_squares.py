"""LeastSquares: exact on ideal signals, honest on noisy ones, the published values on the real record, words where it fails."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm

import blocksim as bs
from blocks.identifiers.regression.least_squares import LeastSquares
from blocksim.contract.declarations import Inport
from blocksim.errors import DiagramError

EMPS = Path(os.environ.get("BLOCKSIM_DATA", "")) / "emps" / "DATA_EMPS.mat"
JOINT = LeastSquares.example


def joint(ls: str = "", std: float = 0.002) -> bs.Record:
    """The example with other settings, run."""
    text = JOINT.replace("std: 0.002", f"std: {std}").replace("LeastSquares, model: joint,", f"LeastSquares, model: joint, {ls}")
    return bs.simulate(text, engine="python")


SCARA = """
format: 1
simulate: {stop: 16, solver: rk4, step: 5e-3, every: 1e-2}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0, 1.6, 3.2, 4.8, 6.4, 8, 9.6, 11.2, 12.8, 14.4, 16],
          points: [[0, 0.1, 0.8, -0.4, -0.2, -0.9, -0.6, 0.8, 0.9, -0.6, 0],
                   [0, -0.8, 0.6, 1.6, 0.7, 0.4, 0.7, -0.2, -0.1, 1.5, 0]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, kp: [850, 25], kd: [90, 2], in: {e: error, qd_hat: robot.qd}}
  robot: {type: ScaraRobot, in: pd}
  wls:   {type: LeastSquares, model: robot, in: {q: robot.q, qd: robot.qd, qdd: robot.qdd, tau: pd}}
  ols:   {type: LeastSquares, model: robot, method: ols, in: {q: robot.q, qd: robot.qd, qdd: robot.qdd, tau: pd}}
"""


def test_ideal_signals_of_two_joints_return_the_truth():
    record = bs.simulate(SCARA, engine="python")
    for name in ("wls", "ols"):
        found = record.estimates[name]
        np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=1e-9, atol=1e-10)
    assert record["wls.residual"].shape == record["pd"].shape
    np.testing.assert_allclose(record["wls.tau_model"], record["pd"], atol=1e-8)


def test_two_joints_are_weighted_by_joint_and_statsmodels_agree():
    """Noise of 2 N m on joint 1, of 0.02 N m on joint 2: weights by joint tell LMX2 and ZZ2 far better."""
    noise = """
  n1:    {type: WhiteNoise, std: [2.0, 0.02], Ts: 1e-2}
  seen:  {type: Sum, signs: "++", in: [pd, n1]}
"""
    diagram = SCARA.replace("  wls:", noise + "  wls:").replace("tau: pd", "tau: seen").replace("in: {q", "errors: white, in: {q")
    record = bs.simulate(diagram, seed=4, engine="python")
    wls, ols = record.estimates["wls"], record.estimates["ols"]
    assert wls["ZZ2"].std < 0.1 * ols["ZZ2"].std
    assert np.abs([e.z for e in wls.values()]).max() < 3.5
    robot = bs.open_diagram(diagram).nodes["robot"].block
    W = type(robot).regressor(record["robot.q"], record["robot.qd"], record["robot.qdd"], "tanh", 100.0)
    y = record["seen"]
    used = [W[:, j].any(axis=0) for j in range(2)]
    sigma = [np.sqrt(sm.OLS(y[:, j], W[:, j][:, used[j]]).fit().mse_resid) for j in range(2)]
    assert [u.sum() for u in used] == [6, 5]
    weights = np.repeat(1 / np.square(sigma), len(y))
    other = sm.WLS(y.T.ravel(), W.transpose(1, 0, 2).reshape(-1, 8), weights=weights).fit(cov_type="fixed scale")
    np.testing.assert_allclose(wls.vector(), other.params, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(wls.std_vector(), other.bse, rtol=1e-8)
    np.testing.assert_allclose(ols.vector(), sm.OLS(y.T.ravel(), W.transpose(1, 0, 2).reshape(-1, 8)).fit().params, rtol=1e-8)


COLOURED = (
    JOINT
    + """
  lagged: {type: FilteredNoise, amplitude: 0.01, cutoff: 10, Ts: 1e-3}
  seen:   {type: Sum, in: [sensor, lagged]}
  dyed:   {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: seen}}
"""
)


@pytest.fixture(scope="module")
def runs():
    """200 runs of the example, in which one identifier reads white noise and one coloured noise; the motion is exact."""
    return bs.simulate_many(COLOURED, seeds=range(200), collect=lambda record: record.estimates)


def scores(found):
    return np.array([[e.z for e in one.values()] for one in found])


def test_over_seeds_errors_are_as_large_as_they_are_said_to_be(runs):
    """White noise on the torque: z is standard normal, and the squared error is chi-squared with 4 degrees."""
    white = [one["ls"] for one in runs]
    z = scores(white)
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(200)
    assert z.std(axis=0) == pytest.approx(1.0, abs=0.2)
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.025)
    freedom = float(np.mean([found.details["freedom"] for found in white]))  # of the variances: z is Student's
    assert np.mean([found.nees for found in white]) == pytest.approx(4 * freedom / (freedom - 2), abs=4 * np.sqrt(8 / 200))
    assert np.mean([found.details["ljung_box"][0]["p"] < 0.05 for found in white]) == pytest.approx(0.05, abs=0.05)


def test_over_seeds_coloured_residuals_are_allowed_for(runs):
    dyed = [one["dyed"] for one in runs]
    assert any(w.startswith("residuals are coloured (correlation 0.") for w in dyed[0].remarks)
    assert not any("coloured" in w for w in dyed[0].warnings)  # the standard deviations count it: nothing is wrong
    assert (dyed[0].details["std_coloured"] > 1.5 * dyed[0].details["std_white"]).sum() >= 3
    white = np.array([(f.vector() - f.truth_vector()) / f.details["std_white"] for f in dyed])
    assert np.mean(np.abs(scores(dyed)) < 1.96) == pytest.approx(0.95, abs=0.04)
    assert np.mean(np.abs(white) < 1.96) < 0.6


def test_residuals_and_prediction_add_up_and_say_how_large_the_error_is():
    record = bs.simulate(JOINT, engine="python")
    tau, found = record["sensor"], record.estimates["ls"]
    np.testing.assert_allclose(record["ls.tau_model"] + record["ls.residual"], tau, atol=1e-15)
    share = 100 * np.linalg.norm(record["ls.residual"]) / np.linalg.norm(tau)
    assert found.details["relative_error"] == pytest.approx(share)
    assert found.details["ljung_box"][0]["p"] > 0.01
    assert not any("coloured" in w for w in (*found.warnings, *found.remarks))


OUTLIERS = (
    JOINT[: JOINT.index("  ls:")]
    + """
  spike:  {type: Pulse, amplitude: 2.0, period: 0.1, duty: 0.02}
  seen:   {type: Sum, in: [sensor, spike]}
  irls:   {type: LeastSquares, model: joint, method: irls, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: seen}}
  ols:    {type: LeastSquares, model: joint, method: ols, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: seen}}
"""
)


def test_outliers_spoil_least_squares_and_not_hubers():
    found = bs.simulate(OUTLIERS, engine="python").estimates
    assert all(abs(e.relative_error) < 0.03 for e in found["irls"].values())
    assert max(abs(e.relative_error) for e in found["ols"].values()) > 0.1


def test_decimated_columns_and_skipped_ends_change_the_rows_only():
    found = joint("decimate: 10, edges: 0, skip: [0.5, 0.25],", std=0.0).estimates["ls"]
    assert found.details["rows"] == 326  # 3251 samples, the last one kept
    assert joint("decimate: 10, skip: [0.5, 0.25],", std=0.0).estimates["ls"].details["rows"] == 316  # without 5 at either end
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=1e-3)


def test_slow_rows_are_dropped_joint_by_joint():
    record = joint("drop_slow: 0.1,")
    speed = np.abs(record["joint.qd"])
    assert record.estimates["ls"].details["rows"] == np.sum(speed >= 0.1 * speed.max())
    assert len(record["ls.residual"]) == len(record.t)


def test_a_subset_is_estimated_and_the_rest_is_held():
    found = joint("parameters: [J, Fc], known: {Fv: 2e-4, Ms: 0.0133},", std=0.0).estimates["ls"]
    assert list(found) == ["J", "Fc"] and found.details["held"] == {"Fv": 2e-4, "Ms": 0.0133}
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=1e-9)
    assert not any("held" in w for w in found.warnings)
    leaking = joint("parameters: [J],").estimates["ls"]
    assert any("leak of truth: Fv, Fc, Ms held at the plant's own value" in w for w in leaking.warnings)
    wrong = joint("known: {Ms: 0.0},", std=0.0).estimates["ls"]
    assert max(abs(e.relative_error) for e in wrong.values()) > 0.05  # a wrong value is believed


def test_parameters_that_do_not_matter_are_dropped_one_at_a_time():
    """The robot of Gautier 2001, whose LMY2 is 0: the paper keeps the essential parameters only (5.1)."""
    noise = "  n1:    {type: WhiteNoise, std: [0.5, 0.05], Ts: 1e-2}\n  seen:  {type: Sum, in: [pd, n1]}\n"
    text = (
        SCARA.replace("  wls:", noise + "  wls:")
        .replace("tau: pd", "tau: seen")
        .replace("model: robot, in", "model: robot, essential: 0.3, in")
    )
    found = bs.simulate(text, seed=2, engine="python").estimates["wls"]
    assert "LMY2" in found.details["dropped"] and "LMY2" not in found
    assert "LMY2 set to 0 (relative std" in found.reason and "more than 30 %" in found.reason
    assert all(e.relative_std <= 0.3 for e in found.values())


def test_truth_that_goes_in_is_named():
    warnings = bs.simulate(JOINT, engine="python").estimates["ls"].warnings
    assert any(
        "leak of truth: input 'q' of 'ls' is joint.q; input 'qd' of 'ls' is joint.qd; input 'qdd' of 'ls' is joint.qdd" in w
        for w in warnings
    )
    assert not any("sensor" in w.split(":")[1] for w in warnings if w.startswith("leak") and "tau" in w)


MEASURED = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: Multisine, f_min: 0.25, f_max: 2.0, lines: 6, amplitude: 6.0, phases: schroeder}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 2.0, kd: 0.02, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 100000, in: joint.q}
  acting:  {type: MovingAverage, window: 2, Ts: 1e-3, in: pid}  # held, it acts half a sample later
  motion:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, skip: 0.2,
            in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: acting}}
  assumed: {type: LeastSquares, model: GravityJoint, decimate: 10, skip: 0.2,
            in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: acting}}
"""


def test_a_loop_through_an_encoder_leaks_nothing_and_is_identified():
    record = bs.simulate(MEASURED, engine="python")
    found = record.estimates["ls"]
    assert not any("leak" in w for w in found.warnings)
    assert record.signal("pid").measured and record.signal("ref").measured and not record.signal("joint.q").measured
    assert all(abs(e.relative_error) < 0.05 for e in found.values()), str(found)


def test_a_type_is_scored_against_the_plant_and_its_wrong_assumption_named():
    record = bs.simulate(MEASURED, engine="python", params={"joint.friction": "sign", "joint.N": 12.0})
    found = record.estimates["assumed"]
    assert found.model == "joint" and found["J"].truth == 1.9e-4
    assert any("assumed N = 15 (in truth 12); friction = tanh (in truth sign)" in w for w in found.warnings)
    assert not any("assumed" in w for w in record.estimates["ls"].warnings)


def test_what_moves_together_is_said():
    """At constant speed friction is one number: Fv qd + Fc, and there is no acceleration."""
    n = 500
    t = np.arange(n) * 1e-3
    lab = bs.Record.from_arrays(t, {"q": 2 * t, "qd": np.full(n, 2.0), "qdd": np.zeros(n), "tau": 0.1 + 0.01 * np.sin(40 * t)})
    found = identified("GravityJoint", lab, "friction: sign, N: 15")
    assert any("rank deficient: 2 of 4 parameters are determined. J does not show in these data" in w for w in found.warnings)
    assert any("Fv, Fc move together: only Fv + 0.5 Fc is determined" in w for w in found.warnings)
    assert np.isinf(found["J"].std) and np.isfinite(found["Ms"].std)


def identified(kind: str, lab: bs.Record, plant: str = "", ls: str = "") -> bs.Estimates:
    """LeastSquares on arrays."""
    text = f"""
format: 1
blocks:
  plant: {{type: {kind}, {plant or "friction: sign"}, in: tau}}
  q:    {{type: Constant}}
  qd:   {{type: Constant}}
  qdd:  {{type: Constant}}
  tau:  {{type: Constant}}
  ls:   {{type: LeastSquares, model: plant, {ls} in: {{q: q, qd: qd, qdd: qdd, tau: tau}}}}
"""
    renamed = bs.Record.from_arrays(lab.t, {f"{n}.y": lab[n] for n in lab})
    return bs.process(bs.open_diagram(text), renamed, simulated=False).estimates["ls"]


def record_of(n=400, **changed):
    t = np.arange(n) * 1e-2
    signals = {"q": -np.cos(t), "qd": np.sin(t), "qdd": np.cos(t), "tau": np.cos(t) + np.sin(t) + 0.1 * np.cos(7 * t)}
    return bs.Record.from_arrays(t, {**signals, **changed})


@pytest.mark.parametrize(
    ("lab", "ls", "words"),
    [
        (record_of(qd=np.zeros(400)), "drop_slow: 0.05,", "block 'ls': no row is left: no joint moves"),
        (record_of(), "skip: 5,", r"block 'ls': no row is left: skip: 5 s at the ends of 3.99 s leaves 0 rows"),
        (record_of(4), "", "block 'ls': 4 rows are too few for 4 parameters"),
        (record_of(tau=np.full(400, np.nan)), "", "block 'ls': input 'tau': 400 samples are missing"),
        (record_of(qd=np.r_[np.nan, np.ones(399)]), "", "block 'ls': input 'qd': 1 samples are missing"),
        (record_of(), "parameters: [J, Fw],", "block 'ls': 'Fw' is no parameter of the inverse model .* It has: J, Fv, Fc, Ms"),
        (record_of(), "parameters: [J], known: {J: 1},", "block 'ls': J: either estimated or known"),
        (record_of(), "decimate: 0,", "decimate: a whole number of at least 1"),
        (record_of(), "method: lasso,", "'lasso' is not one of ols, wls, irls, total"),
        (record_of(), "method: total, column_errors: [1],", "block 'ls': column_errors: 4 are wanted"),
        (record_of(), "skip: [1, 2, 3],", "skip: one number is wanted, or one for each end"),
    ],
)
def test_what_cannot_be_identified_is_refused_in_words(lab, ls, words):
    with pytest.raises(DiagramError, match=words):
        identified("GravityJoint", lab, ls=ls)


def test_a_plant_without_a_regressor_names_those_that_have_one():
    with pytest.raises(DiagramError, match=r"FirstOrderLag.* gives no regressor.*GravityJoint.*ScaraRobot"):
        bs.open_diagram(JOINT.replace("GravityJoint", "FirstOrderLag, T: 1"))


def test_two_masses_have_two_rows_of_which_one_has_no_effort():
    text = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3}
blocks:
  push:  {type: Multisine, f_min: 0.25, f_max: 15, lines: 16, amplitude: 10, phases: schroeder}
  robot: {type: TwoMassRobot, in: push}
"""
    record = bs.simulate(text, engine="python")
    s, t = {n: record[f"robot.{n}"] for n in ("phi_m", "w_m", "phi_a", "w_a", "tau_s", "z")}, record.t
    made = type(bs.open_diagram(text).nodes["robot"].block)().settings
    dw_a = s["tau_s"] / made["Ja"]
    dw_m = (record["push"] - made["r"] * s["tau_s"] - made["Fc"] * np.tanh(s["w_m"]) - made["Fv"] * s["w_m"]) / made["Jm"]
    wires = {n: n for n in ("phi_m", "w_m", "dw_m", "phi_a", "w_a", "dw_a", "z")}
    diagram = bs.open_diagram(text)
    for name in wires:
        diagram.add(name, "Constant")
    diagram.add(
        "ls",
        "LeastSquares",
        model="robot",
        parameters=["Jm", "Ja", "Fv", "Fc", "k1", "k3", "d"],
        known={"A": 0.0},
        inputs={**wires, "tau": "push"},
    )
    lab = bs.Record.from_arrays(t, {**{f"{n}.y": {**s, "dw_m": dw_m, "dw_a": dw_a}[n] for n in wires}, "push.y": record["push"]})
    done = bs.process(diagram, lab)
    found = done.estimates["ls"]
    assert done["ls.residual"].shape == (len(t), 2)
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=1e-5)


def test_negative_friction_is_called_unphysical():
    lab = record_of(tau=1e-3 * np.cos(np.arange(400) * 1e-2) - 0.5 * np.sin(np.arange(400) * 1e-2))
    found = identified("GravityJoint", lab)
    assert any(w.startswith("unphysical: Fv = -0.5, but viscous friction is at least 0") for w in found.warnings)


def test_nearly_dependent_columns_are_called_ill_conditioned():
    """Slow motion through tanh(10 qd): dry and viscous friction look alike."""
    t = np.arange(2000) * 1e-2
    qd = 0.005 * np.sin(t)
    lab = bs.Record.from_arrays(
        t,
        {
            "q": 20 * np.sin(t / 3),
            "qd": qd,
            "qdd": 0.005 * np.cos(t) + np.sin(9 * t),
            "tau": 0.01 * np.sin(t) + 1e-5 * np.sin(31 * t),
        },
    )
    found = identified("GravityJoint", lab, "friction: tanh")
    assert any("ill-conditioned" in w and "Fv and Fc are estimated with correlation -1.000" in w for w in found.warnings)


def test_classes_follow_the_plant_and_are_made_once():
    one, two = (bs.open_diagram(JOINT).nodes["ls"].block for _ in range(2))
    assert one.bound is two.bound and list(one.bound.of(Inport)) == ["q", "qd", "qdd", "tau"]
    assert one.bound.declared["residual"].unit == "N m"
    other = bs.open_diagram(SCARA).nodes["wls"].block.bound
    assert other is not one.bound and other.declared["tau_model"].size == 2


PIPELINE = """
format: 1
blocks:
  loop:     {type: Constant}
  carriage: {type: ElectroMechanicalPositioner, friction: sign, in: loop}
  encoder:  {type: Encoder, Ts: 1e-3, resolution: 5e-8, in: carriage.q}
  motion:   {type: BandPassDerivatives, cutoff: 100, factor: 1, in: encoder}
  ls:       {type: LeastSquares, model: carriage, method: ols, decimate: 10, edges: 0, skip: [0.049, 0],
             in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, v: loop}}
"""


@pytest.mark.skipif(not EMPS.is_file(), reason="BLOCKSIM_DATA names no folder with emps/DATA_EMPS.mat")
def test_the_published_values_of_the_emps_come_out_to_the_last_digit():
    """Janot, Gautier, Brunot (2019): 95.1089 kg, 203.5034 N s/m, 20.3935 N, -3.1648 N."""
    from scipy.io import loadmat

    data = {name: values.ravel() for name, values in loadmat(EMPS).items() if name in ("t", "qm", "vir")}
    lab = bs.Record.from_arrays(data["t"], {"encoder.q_hat": data["qm"], "loop.y": data["vir"]})
    found = bs.process(bs.open_diagram(PIPELINE), lab, simulated=False).estimates["ls"]
    assert [round(e.value, 4) for e in found.values()] == [95.1089, 203.5034, 20.3935, -3.1648]
    white = 100 * found.details["std_white"] / np.abs(found.vector())
    assert white == pytest.approx([0.11, 0.56, 0.50, 1.4], rel=0.05)
    assert found.details["condition"] == pytest.approx(26.0, abs=0.05)
    assert found.details["relative_error"] == pytest.approx(4.083, abs=1e-3)
    assert all(np.isnan(e.truth) for e in found.values())
