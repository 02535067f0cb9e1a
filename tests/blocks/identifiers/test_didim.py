"""DIDIM against the truth of its loop, the Cramér-Rao bound, and the EMPS record."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.signal import butter, filtfilt

import blocksim as bs
from blocksim.diagram.spec import LogSpec

LOOP = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:    {type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}
  error:  {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pid:    {type: PID, Ts: 1e-3, kp: 100, ki: 100, kd: 2, Tf: 2e-3, in: error}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 1, in: pid}
  torque: {type: TorqueSensor, Ts: 1e-3, std: STD, in: pid}
  found:  {type: DIDIM, model: joint, OPTIONS, in: torque}
log: [joint, pid, torque]
"""
REF = "{type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}"
NAMES = ("J", "Fv", "Fc", "Ms")
TRUTH = np.array([0.02, 0.05, 0.1, 0.0306])


def loop(std=0.0, options="start: 0.7", **more):
    text = LOOP.replace("STD", str(std)).replace("OPTIONS", options)
    for old, new in more.items():
        text = text.replace(*new) if isinstance(new, tuple) else text.replace(old, new)
    return text


@pytest.mark.parametrize("start", ["0.4", "2.0", "{J: 0.05, Fv: 0, Fc: 0, Ms: 0}"])
def test_without_noise_it_finds_the_truth(start):
    found = bs.simulate(loop(options=f"start: {start}, tol: 1e-11")).estimates["found"]
    np.testing.assert_allclose(found.vector(), TRUTH, rtol=1e-8)
    assert found.reason.startswith("converged in ") and found.details["converged"]
    assert found.details["simulations"] == found.details["iterations"] + len(NAMES)  # the last step is not simulated
    np.testing.assert_array_equal(found.details["history"][-1], found.vector())


def test_it_starts_from_least_squares_of_the_measured_motion():
    wired = ("in: torque}", "in: {tau: torque, q: joint.q, qd: joint.qd, qdd: joint.qdd}}")
    found = bs.simulate(loop(options="start: ls, tol: 1e-9", wired=wired)).estimates["found"]
    np.testing.assert_allclose(found.vector(), TRUTH, rtol=1e-7)
    np.testing.assert_allclose(found.details["history"][0], TRUTH, rtol=1e-9)  # of a motion without noise it is the truth


def test_dry_friction_that_sticks_does_not_bias_it():
    """The joint rests at every turn: rows at rest are not valid, and would distort the others."""
    text = loop(options="start: 0.7, tol: 1e-9", law=("N: 1,", "N: 1, friction: sign,"), 
                slow=(REF, "{type: TrapezoidTrajectory, points: [0, 1, 0, 1], speed: 1, acceleration: 4}"))  # fmt: skip
    record = bs.simulate(text)
    assert np.mean(record["joint.qd"] == 0) > 0.005
    dropped = np.abs(record.estimates["found"].vector() / TRUTH - 1).max()
    assert dropped < 1e-6
    kept = bs.simulate(text.replace("tol: 1e-9", "tol: 1e-9, rest: keep")).estimates["found"]
    assert np.abs(kept.vector() / TRUTH - 1).max() > max(1e-5, 10 * dropped)


def test_filters_on_both_sides_do_not_distort():
    found = bs.simulate(loop(options="cutoff: 25, decimate: 5, tol: 1e-10")).estimates["found"]
    np.testing.assert_allclose(found.vector(), TRUTH, rtol=1e-7)


def torque_at(theta):
    """Torque of the loop without noise, for the bound."""
    record = bs.simulate(BARE, params={f"joint.{n}": float(v) for n, v in zip(NAMES, theta, strict=True)})
    return record["pid"]


def least_squares_at(theta, torque):
    """Least squares of a torque on the motion of the loop at some parameters, by numpy, and its standard deviations."""
    record = bs.simulate(MOTION, params={f"joint.{n}": float(v) for n, v in zip(NAMES, theta, strict=True)})
    q, qd, qdd = (record[f"joint.{s}"] for s in ("q", "qd", "qdd"))
    W = np.stack([qdd, qd, np.tanh(10 * qd), 9.81 * np.cos(q)], axis=1)[qd != 0]
    x, left = np.linalg.lstsq(W, torque[qd != 0], rcond=None)[:2]
    return x, np.sqrt(left[0] / len(W) * np.diag(np.linalg.inv(W.T @ W)))


@pytest.mark.parametrize(("options", "within"), [("start: 0.7", 0.01), ("start: 0.7, tol: 1e-10", 1e-5), ("start: 2.5", 0.01)])
def test_it_ends_where_least_squares_gives_the_estimate_back(options, within):
    """The fixed point of Tout 2022, eq. 8, though its last steps are hastened; tol: 1e-5 leaves that share of the values."""
    record = bs.simulate(loop(std=0.02, options=options))
    found = record.estimates["found"].vector()
    again, std = least_squares_at(found, record["torque"])
    assert np.all(np.abs(again - found) < within * std + 1e-5 * within / 0.01 * np.abs(found))


def test_it_takes_few_simulations():
    """A handful of steps and one simulation for each parameter, from nearly any start."""
    for start in (0.5, 0.7, "truth", 1.5, 2.5):
        found = bs.simulate(loop(std=0.02, options=f"start: {start}")).estimates["found"]
        assert found.details["converged"] and found.details["simulations"] < 6 + len(NAMES)


def test_a_soft_loop_takes_few_simulations_too():
    """Its motion follows the estimate, which least squares of a given motion does not know: alone, it would take 27 steps."""
    soft = ("kp: 100, ki: 100, kd: 2,", "kp: 3, ki: 1, kd: 0.2,")
    found = bs.simulate(loop(options="start: 0.8, tol: 1e-9", soft=soft)).estimates["found"]
    np.testing.assert_allclose(found.vector(), TRUTH, rtol=1e-8)
    assert found.details["iterations"] <= 12


BARE = bs.open_diagram(loop().replace("  found:  {type: DIDIM, model: joint, start: 0.7, in: torque}\n", ""))


MOTION = replace(BARE, log=[LogSpec(f"joint.{s}") for s in ("q", "qd", "qdd")])


@pytest.fixture(scope="module")
def study():
    """200 runs with white noise on the torque, which the loop does not see: each run's motion is that of the twin."""
    return bs.simulate_many(loop(std=0.02), seeds=range(200), collect=lambda r: r.estimates["found"])


def test_no_bias_and_honest_intervals(study):
    values, std = (np.array([getattr(e, n)() for e in study]) for n in ("vector", "std_vector"))
    error = values.mean(axis=0) - TRUTH
    assert np.all(np.abs(error) < 2.6 * values.std(axis=0) / np.sqrt(len(study)))  # 1 % for each of four
    inside = np.mean([[e[n].interval[0] < t < e[n].interval[1] for n, t in zip(NAMES, TRUTH, strict=True)] for e in study])
    assert 0.92 <= inside <= 0.98
    assert np.all((values.std(axis=0) / std.mean(axis=0) > 0.85) & (values.std(axis=0) / std.mean(axis=0) < 1.15))


def test_it_is_near_the_cramer_rao_bound(study):
    """The bound of the torque, sigma^2 (G'G)^-1: in G the loop's motion follows the parameters; DIDIM takes W for G."""
    steps = 1e-5 * TRUTH
    G = np.stack([(torque_at(TRUTH + d) - torque_at(TRUTH - d)) / (2 * d.max()) for d in np.diag(steps)], axis=1)
    bound = 0.02 * np.sqrt(np.diag(np.linalg.inv(G.T @ G)))
    ratio = np.array([e.vector() for e in study]).std(axis=0) / bound
    assert np.all((ratio > 0.9) & (ratio < 1.15)), ratio


def test_noise_of_the_position_does_not_reach_w():
    """A coarse encoder in the loop: least squares of the measured motion is off by far more than DIDIM."""
    text = loop(
        options="cutoff: 30, decimate: 8",
        read=("[ref.q, joint.q]", "[ref.q, encoder]"),
        more=("log:", "  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}\n"
              "  motion: {type: BandPassDerivatives, cutoff: 30, factor: 1, in: encoder}\n"
              "  ls: {type: LeastSquares, model: joint, decimate: 8,\n"
              "       in: {tau: torque, q: motion.q, qd: motion.qd, qdd: motion.qdd}}\nlog:"),
    )  # fmt: skip
    record = bs.simulate(text)
    didim, ls = (np.abs(record.estimates[n].vector(NAMES) / TRUTH - 1) for n in ("found", "ls"))
    assert didim.max() < 0.05
    assert ls.max() > 2 * didim.max()


OBSERVED = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [8, 0, 0, 3, -4], b: [-4, 3, 0, 2, -1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, ekf.q_hat]}
  pid:     {type: PID, Ts: 1e-3, kp: 1.0, ki: 10.0, kd: 0.025, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, counts_per_turn: 2000, in: joint.q}
  ekf:     {type: EKF, Ts: 1e-3, model: joint, factor: 0.7, sigma_w2: 0.09, in: {y: encoder, u: pid}}
  found:   {type: DIDIM, model: joint, start: 0.7, cutoff: 40, decimate: 5, edges: 5, in: pid}
log: [joint.q]
"""


def test_an_observer_in_the_loop_stays_in_the_twin():
    """Method 5 of Tout 2022: the filter knows 0.7 of the parameters, in the run and in the twin, whatever the estimate is."""
    found = bs.simulate(OBSERVED).estimates["found"]
    assert found.details["iterations"] <= 8
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=0.01)
    assert np.all(np.abs([e.z for e in found.entries]) < 3.5)


# ---- what goes wrong -------------------------------------------------------------------------------------------------------


def test_a_loop_that_cannot_run_is_reported_and_gives_no_numbers():
    found = bs.simulate(loop(options="start: {J: 1e-9, Fv: truth, Fc: truth, Ms: truth}")).estimates["found"]
    assert found.reason.startswith("diverged: the loop cannot be simulated at the starting values")
    assert np.isnan(found.vector()).all() and found.warnings == (found.reason,)


def test_an_iteration_that_does_not_end_says_so():
    found = bs.simulate(loop(options="start: 0.4, max_iterations: 2, tol: 1e-12")).estimates["found"]
    assert "2 iterations" in found.reason and not found.details["converged"]
    assert any("2 iterations" in w for w in found.warnings)


def test_impossible_inertia_is_named():
    """Torque of the wrong sign asks for a negative inertia."""
    text = loop(
        options="max_iterations: 20",
        sign=("in: torque}", "in: wrong}"),
        more=("log:", "  wrong: {type: Gain, k: -1, in: torque}\nlog:"),
    )
    found = bs.simulate(text).estimates["found"]
    assert found.reason.startswith("diverged in iteration")
    assert np.isnan(found.vector()).all()


def test_friction_below_zero_is_an_estimate_but_not_simulated():
    text = loop(std=0.05, options="start: 0.7", none=("Fv: 0.05, Fc: 0.1", "Fv: 0.0, Fc: 0.1"))
    found = bs.simulate_many(text, seeds=range(12), collect=lambda r: r.estimates["found"])
    below = [e for e in found if e["Fv"].value < 0]
    assert 1 <= len(below) <= 11
    assert all(any(w.startswith("Fv: the estimate is beyond") for w in e.warnings) for e in below)


def test_what_the_data_do_not_show_keeps_its_value():
    """Without gravity Ms multiplies nothing."""
    found = bs.simulate(loop(options="start: 0.7", none=("N: 1,", "N: 1, g: 0,"))).estimates["found"]
    assert "Ms does not show in these data" in " ".join(found.warnings)
    assert found["Ms"].std == np.inf and found["Ms"].value == pytest.approx(0.7 * 0.0306)
    np.testing.assert_allclose(found.vector(NAMES[:3]), TRUTH[:3], rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("start: {j: 1}", r"start: 'joint' \(GravityJoint\) has no parameter 'j'.* Did you mean 'J'"),
        ("start: {J: -1}", r"start: J: must be above 0, found -1"),
        ("start: best", r"start: 'best' is neither a number nor 'truth', 'ls' nor a block that estimates"),
        ("start: 0", r"start: a factor above 0 is wanted, found 0"),
        ("start: ls", r"start: ls needs the measured q, qd, qdd"),
        ("initial: record", r"initial: record needs the measured q"),
        ("decimate: 0", r"decimate: a whole number of at least 1"),
        ("edges: -1", r"edges: a whole number of at least 0"),
    ],
)
def test_mistakes_are_named_before_the_run(options, words):
    with pytest.raises(bs.DiagramError, match=rf"block 'found': .*{words}"):
        bs.flatten(bs.open_diagram(loop(options=options)))


def test_a_type_is_no_loop():
    with pytest.raises(bs.DiagramError, match=r"model: GravityJoint is a type.*name the block of the diagram"):
        bs.flatten(bs.open_diagram(loop().replace("model: joint", "model: GravityJoint")))


def test_a_plant_without_regressor_is_refused():
    text = loop().replace("model: joint", "model: pid")
    with pytest.raises(bs.DiagramError, match="gives no regressor"):
        bs.flatten(bs.open_diagram(text))


# ---- real data -------------------------------------------------------------------------------------------------------------

FILE = Path(os.environ.get("BLOCKSIM_DATA", "")) / "emps" / "DATA_EMPS.mat"
needs_data = pytest.mark.skipif(
    "BLOCKSIM_DATA" not in os.environ or not FILE.exists(), reason="BLOCKSIM_DATA names no folder with emps/DATA_EMPS.mat"
)
STARTS = (
    {"M": 50, "Fv": 100, "Fc": 10, "offset": 0},
    {"M": 200, "Fv": 400, "Fc": 40, "offset": 0},
    {"M": 95, "Fv": 0, "Fc": 0, "offset": 0},
)


def emps_record():
    """The record under the names of the diagram, and the speed at its start, where the carriage moves already."""
    data = {n: v.ravel() for n, v in loadmat(FILE).items() if n in ("qm", "qg", "vir")}
    t = np.arange(len(data["qm"])) * 1e-3
    speed = np.gradient(filtfilt(*butter(4, 100 / 500), data["qm"], padlen=12), 1e-3)[0]
    lab = bs.Record.from_arrays(t, {"ref.q": data["qg"], "encoder.q_hat": data["qm"], "loop.u": data["vir"]})
    return lab, {"q": float(data["qm"][0]), "qd": float(speed)}


def emps_diagram(begin):
    diagram = bs.open_diagram("emps/cascade.yaml")
    diagram.nodes["carriage"].block.settings.update(begin)
    diagram.nodes["loop"].block.settings.update(qd0=begin["qd"])
    return diagram


@needs_data
def test_emps_from_three_bad_starts():
    lab, begin = emps_record()
    diagram = emps_diagram(begin)
    for k, start in enumerate(STARTS):
        diagram.add(
            f"d{k}", "DIDIM", model="carriage", start=start, decimate=10, skip=[0.049, 0], edges=5, rest="keep", inputs="loop"
        )
    record = bs.process(diagram, lab, simulated=False)
    for k in range(3):
        found = record.estimates[f"d{k}"]
        np.testing.assert_allclose(found.vector(), [94.908, 206.14, 20.252, -3.169], rtol=2e-3)
        assert found.details["iterations"] <= 6
        assert found.details["relative_error"] == pytest.approx(4.41, abs=0.06)
        assert np.isnan(found["M"].truth)


@needs_data
def test_emps_from_the_first_samples_of_the_record():
    """The start of the motion from q itself moves the estimates by far less than their standard deviations."""
    lab, begin = emps_record()
    diagram = emps_diagram(begin)
    common = {"model": "carriage", "start": STARTS[0], "decimate": 10, "edges": 20, "rest": "keep"}
    diagram.add("given", "DIDIM", inputs="loop", **common)
    diagram.add("own", "DIDIM", inputs={"v": "loop", "q": "encoder"}, initial="record", **common)
    record = bs.process(diagram, lab, simulated=False)
    given, own = record.estimates["given"], record.estimates["own"]
    assert np.all(np.abs(own.vector() - given.vector()) < 0.1 * own.std_vector())


def test_a_measured_record_without_its_reference_is_told():
    """What drove the loop would be the diagram's, which need not be what was sent: it is asked for, or assumed by name."""
    text = loop().replace("log: [", "log: [ref.q, ")
    whole = bs.simulate(text)
    with pytest.raises(bs.DiagramError, match="the record does not hold ref, which the simulated loop needs"):
        bs.identify(text, whole.select("torque"))
    for signals, options in ((("torque",), {"assume": ["ref"]}), (("torque", "ref.q"), {})):
        found = bs.identify(text, whole.select(*signals), **options).estimates["found"]
        np.testing.assert_allclose(found.vector(NAMES), TRUTH, rtol=1e-3)
