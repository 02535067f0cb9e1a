"""Output error, open and closed loop, against the truth, the Cramér-Rao bound and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocks.identifiers.output import search

OPEN = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 5e-3, every: 1e-2, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 0.8, bits: 6, clock: 0.1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, in: push}
  noise: {type: WhiteNoise, Ts: 1e-2, std: STD}
  y:     {type: Sum, in: [joint.q, noise]}
  found: {type: OutputError, model: joint, parameters: PARAMETERS, output: joint.q, OPTIONS, in: {u: push, y: y}}
log: [joint.q, joint.qd, push]
"""
LOOP = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 5e-3, every: 1e-2, seed: 1}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}
  error: {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pd:    {type: PD, Ts: 5e-3, kp: 3, kd: 0.2, Tf: 1e-2, in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, in: pd}
  noise: {type: WhiteNoise, Ts: 1e-2, std: STD}
  y:     {type: Sum, in: [joint.q, noise]}
  found: {type: CLOE, parameters: PARAMETERS, output: joint.q, OPTIONS, in: y}
log: [joint.q, joint.qd, pd]
"""
NAMES = ["joint.J", "joint.Fv", "joint.Ms"]
TRUTH = np.array([0.02, 0.05, 0.03])


def diagram(text, std=0.0, parameters=NAMES, options="start: 0.7"):
    written = parameters if isinstance(parameters, str) else f"[{', '.join(parameters)}]"
    return text.replace("STD", str(std)).replace("PARAMETERS", written).replace("OPTIONS", options)


@pytest.mark.parametrize("text", [OPEN, LOOP], ids=["open", "closed"])
@pytest.mark.parametrize("start", [0.5, 1.6])
def test_without_noise_it_finds_the_truth(text, start):
    record = bs.simulate(diagram(text, options=f"start: {start}"))
    found = record.estimates["found"]
    np.testing.assert_allclose(found.vector(NAMES), TRUTH, rtol=1e-6)
    assert found.reason.startswith("converged")
    assert all(w.startswith("leak of truth") for w in found.warnings)  # the sum of the truth and noise is no sensor
    np.testing.assert_array_equal(found.truth_vector(), TRUTH)
    np.testing.assert_allclose(record["found.predicted"], record["joint.q"], atol=1e-6)
    assert found.details["simulations"] < 50  # work, not seconds
    assert f"({found.details['simulations']} simulations)" in found.reason


JOINT = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.1, a: [1.0, 0.4, 0, 0.3], b: [0.3, -0.2, 0, 0.2]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 3.1416e-3, in: joint.q}
  found:   {PARTS, parameters: [joint.J, joint.Fv, joint.Fc, joint.Ms]}
log: [joint.q, pid]
"""


@pytest.mark.parametrize(
    "parts",
    [
        "type: OutputError, model: joint, output: joint.q, in: {u: pid, y: encoder}",
        "type: CLOE, output: joint.q, in: encoder",
        "type: CLOE, output: pid, in: pid",
        "type: CLOE, output: [joint.q, pid], in: [encoder, pid]",
    ],
)
def test_four_parameters_from_seven_tenths_of_them_take_few_simulations(parts):
    """Of one Gauss-Newton step of p parameters p + 1 are the least; to both sides at every step they would be 2 p + 1."""
    found = bs.simulate(JOINT.replace("PARTS", parts)).estimates["found"]
    assert found.reason.startswith("converged") and found.details["failures"] == 0
    assert found.details["simulations"] < 60
    np.testing.assert_allclose(found.vector(), [0.02, 0.05, 0.1, 0.0306], rtol=0.03)


@pytest.mark.parametrize("text", [OPEN, LOOP], ids=["open", "closed"])
def test_it_ends_at_the_minimum(text):
    """There a Gauss-Newton step with sensitivities by plain simulations is no step."""
    record = bs.simulate(diagram(text, 2e-3, options="start: 0.7, errors: white"))
    found = record.estimates["found"]
    G = sensitivities(text, at=found.vector(NAMES))
    step, left = np.linalg.lstsq(G, record["found.residual"], rcond=None)[:2]
    std = np.sqrt(left[0] / (len(G) - 3) * np.diag(np.linalg.inv(G.T @ G)))
    assert np.all(np.abs(step) < 0.01 * std)
    np.testing.assert_allclose(found.std_vector(NAMES), std, rtol=1e-4)


def test_an_end_that_is_none_is_found_out(monkeypatch):
    """With sensitivities of the start all the way the search stops short; those at its end say so, and it goes on."""
    monkeypatch.setattr(search, "NEAR_BEFORE", 1.0)
    record = bs.simulate(diagram(OPEN, 2e-3, options="start: 0.8, tol: 1e-4"))
    found = record.estimates["found"]
    G = sensitivities(OPEN, at=found.vector(NAMES))
    step = np.linalg.lstsq(G, record["found.residual"], rcond=None)[0]
    assert np.all(np.abs(step) < 0.05 * found.std_vector(NAMES))


def test_recorded_input_is_what_drives_it():
    """In a loop the plant is driven by what the controller put out, noise and all: with the reference alone it would not fit."""
    text = LOOP.replace("[ref.q, joint.q]", "[ref.q, y]").replace("type: CLOE,", "type: OutputError, model: joint,")
    text = text.replace("in: y}\nlog", "in: {u: pd, y: joint.q}}\nlog").replace("every: 1e-2", "every: 5e-3")
    found = bs.simulate(diagram(text, std=0.02)).estimates["found"]
    np.testing.assert_allclose(found.vector(NAMES), TRUTH, rtol=1e-6)


def test_any_number_of_any_block_and_initial_states():
    parameters = "{joint.q: {start: 0, min: -1, max: 1}, joint.qd: 0.0, pd.kp: {start: 2.0}}"
    text = LOOP.replace("N: 1,", "N: 1, q: 0.3, qd: -0.5,")
    found = bs.simulate(diagram(text, parameters=parameters)).estimates["found"]
    np.testing.assert_allclose(found.vector(["joint.q", "joint.qd", "pd.kp"]), [0.3, -0.5, 3.0], rtol=1e-6)


def test_parameters_of_one_block_are_called_as_other_identifiers_call_them():
    found = bs.simulate(diagram(LOOP)).estimates["found"]
    assert list(found) == ["J", "Fv", "Ms"] and found.model == "joint" and found["joint.J"] is found["J"]
    assert list(found.as_params()) == NAMES
    assert list(bs.simulate(diagram(LOOP, parameters=["joint.J", "pd.kp"])).estimates["found"]) == ["joint.J", "pd.kp"]


def sensitivities(text, h=1e-5, at=TRUTH):
    """d q / d parameters by differences of plain simulations, for the bound."""
    bare = bs.open_diagram("\n".join(line for line in diagram(text).splitlines() if "found:" not in line))

    def q(theta):
        return bs.simulate(bare, params=dict(zip(NAMES, map(float, theta), strict=True)))["joint.q"]

    return np.stack([(q(at + d) - q(at - d)) / (2 * d.max()) for d in np.diag(h * at)], axis=1)


@pytest.mark.parametrize("text", [OPEN, LOOP], ids=["open", "closed"])
def test_with_white_noise_it_is_unbiased_efficient_and_honest(text):
    std, runs = 2e-3, 200
    study = bs.simulate_many(
        diagram(text, std, options="start: 0.9, tol: 1e-6"), seeds=range(runs), collect=lambda r: r.estimates["found"]
    )
    values = np.array([e.vector(NAMES) for e in study])
    reported = np.array([e.std_vector(NAMES) for e in study])
    off = (values.mean(axis=0) - TRUTH) / (values.std(axis=0) / np.sqrt(runs))
    assert np.all(np.abs(off) < 2.6), off  # 1 % for each
    G = sensitivities(text)
    bound = std * np.sqrt(np.diag(np.linalg.inv(G.T @ G)))
    ratio = values.std(axis=0) / bound
    assert np.all((ratio > 0.9) & (ratio < 1.15)), ratio
    freedom = np.array([e.details["freedom"] for e in study])  # a claim is that of Student's t, of variance nu / (nu - 2)
    np.testing.assert_allclose(np.sqrt(np.mean(reported**2 * (1 - 2 / freedom), axis=0)), bound, rtol=0.05)
    np.testing.assert_allclose(np.mean([e.details["std_white"] for e in study], axis=0), bound, rtol=0.03)
    assert 0.92 <= np.mean([inside(e) for e in study]) <= 0.98
    coloured = np.mean([any("coloured" in w for w in e.warnings) for e in study])
    assert coloured < 0.05  # the test is one of 1 %


def inside(found):
    """Of every parameter whether its 95 % interval holds the truth."""
    return [found[n].interval[0] < truth < found[n].interval[1] for n, truth in zip(NAMES, TRUTH, strict=True)]


def test_two_outputs_are_weighted_by_their_noise():
    """Position and speed with noise of very different sizes: estimated weights are one over the standard deviations."""
    text = (
        diagram(OPEN, 1e-3)
        .replace("in: {u: push, y: y}", "in: {u: push, y: [y, fast]}")
        .replace("output: joint.q", "output: [joint.q, joint.qd]")
    )
    text = text.replace("log:", "  rush: {type: WhiteNoise, Ts: 1e-2, std: 0.5}\n  fast: {type: Sum, in: [joint.qd, rush]}\nlog:")
    record = bs.simulate(text)
    found = record.estimates["found"]
    np.testing.assert_allclose(found.details["weights"], [1e3, 2.0], rtol=0.15)
    np.testing.assert_allclose(found.details["sigma"], [1e-3, 0.5], rtol=0.15)
    assert np.all(np.abs([e.z for e in found.entries]) < 3.5)
    assert record["found.residual"].shape == (201, 2)
    given = bs.simulate(text.replace("start: 0.7", "start: 0.7, weights: [1000, 2]")).estimates["found"]
    np.testing.assert_allclose(given.vector(), found.vector(), rtol=2e-3)


def test_coloured_residuals_are_told_and_warned_of_where_they_are_taken_for_white():
    text = diagram(OPEN, 0.0).replace("Sum, in: [joint.q, noise]", "Sum, in: [joint.q, drift]")
    text = text.replace("log:", "  drift: {type: Sine, amplitude: 0.002, frequency: 3.0}\nlog:")
    found = bs.simulate(text).estimates["found"]
    assert not any("coloured" in w for w in found.warnings)
    assert any("residuals of joint.q are coloured" in w and w.endswith("count that.") for w in found.remarks)
    blind = bs.simulate(text.replace("start: 0.7", "start: 0.7, errors: white")).estimates["found"]
    assert any("residuals of joint.q are coloured" in w and w.endswith("for white.") for w in blind.warnings)


def test_standard_deviations_know_the_colour_of_the_noise():
    """Noise with the autocorrelation 0.9^k has 19 times the power of white noise of its variance where the motion is slow."""
    lag = "  drift: {type: DiscreteTransferFunction, Ts: 1e-2, num: [1], den: [1, -0.9], in: noise}\nlog:"
    text = diagram(LOOP, 5e-4, options="start: 0.95, tol: 1e-5").replace("in: [joint.q, noise]", "in: [joint.q, drift]")
    text = text.replace("stop: 2.0", "stop: 10.0")
    found = bs.simulate_many(text.replace("log:", lag), seeds=range(100), collect=lambda r: r.estimates["found"])
    errors = np.array([f.vector(NAMES) - TRUTH for f in found])
    white = np.mean(np.abs(errors) < 1.96 * np.array([f.details["std_white"] for f in found]))
    assert 0.92 < np.mean([inside(f) for f in found]) < 0.98 and white < 0.75


def test_what_the_output_does_not_tell_apart_is_named():
    """Gravity and the first moment only show as their product; the friction of a joint that is not moved does not show at all."""
    found = bs.simulate(diagram(OPEN, 1e-3, ["joint.J", "joint.Ms", "joint.g"], "start: 0.9")).estimates["found"]
    assert found.details["rank"] == 2
    words = " ".join(found.warnings)
    assert "not identifiable: Ms, g move together" in words
    assert found["joint.g"].std == np.inf and found["joint.J"].std < 0.01
    silent = bs.simulate(diagram(OPEN, 1e-3, ["joint.J", "joint.beta"], "start: 0.9").replace("Fc: 0.1", "Fc: 0.0")).estimates[
        "found"
    ]
    assert "beta does not show in these data" in " ".join(silent.warnings)


def test_several_starts_find_the_better_minimum():
    """The phase of an oscillation has many minima: from a start two periods off only some of the searches arrive."""
    text = """
format: 1
simulate: {stop: 5, solver: rk4, step: 1e-2}
blocks:
  tone:  {type: Sine, frequency: 2.0}
  wave:  {type: Integrator, in: tone}
  found: {type: CLOE, parameters: {tone.frequency: {start: 3.1, min: 1, max: 4}}, output: wave, starts: STARTS, seed: 4, in: wave}
"""
    one, many = (bs.simulate(text.replace("STARTS", n)).estimates["found"] for n in ("1", "12"))
    assert abs(one["tone.frequency"].value - 2) > 0.1
    assert many["tone.frequency"].value == pytest.approx(2.0, rel=1e-6)
    assert any("starts ended in a worse minimum" in w for w in many.warnings)
    assert len(many.details["costs"]) == 12


def test_an_estimate_at_its_bound_says_so():
    found = bs.simulate(diagram(OPEN, parameters="{joint.J: {start: 0.03, min: 0.025, max: 0.1}}")).estimates["found"]
    assert found["joint.J"].value == pytest.approx(0.025, rel=1e-4)
    assert any("joint.J ended at its min, 0.025" in w for w in found.warnings)


def test_a_start_that_cannot_run_gives_no_numbers():
    found = bs.simulate(diagram(LOOP, parameters="{joint.J: {start: 1.0e-11}}")).estimates["found"]
    assert np.isnan(found["joint.J"].value) and found.reason.startswith("diverged") and found.warnings


@pytest.mark.parametrize(
    ("parameters", "options", "words"),
    [
        ("[joint.j]", "starts: 1", r"parameters: block 'joint' has no parameter 'j'"),
        ("[arm.J]", "starts: 1", r"parameters: there is no block 'arm'"),
        ("[joint.friction]", "starts: 1", r"parameters: joint.friction is no single number"),
        ("{joint.J: {start: -1}}", "starts: 1", r"parameters: joint.J: the start, -1, is not between"),
        ("{joint.J: {min: 2, max: 1}}", "starts: 1", r"joint.J: min 2 and max 1 leave nothing"),
        ("{joint.J: {begin: 1}}", "starts: 1", r"numbers for start, min, max are wanted"),
        ("[joint.J]", "starts: 0", r"starts: a whole number of at least 1"),
        ("[joint.J]", "weights: [1, 2]", r"weights: 2 numbers for 1 signals"),
        ("[]", "starts: 1", r"parameters: at least one is wanted"),
    ],
)
def test_mistakes_are_named_before_the_run(parameters, options, words):
    with pytest.raises(bs.DiagramError, match=rf"block 'found': .*{words}"):
        bs.flatten(bs.open_diagram(diagram(LOOP, parameters=parameters, options=options)))


def test_unknown_outputs_are_named_before_the_run():
    text = diagram(LOOP).replace("output: joint.q", "output: joint.w")
    with pytest.raises(
        bs.DiagramError, match=r"block 'found': .*output: 'joint.w' is no signal of a running block. Did you mean 'joint.q"
    ):
        bs.flatten(bs.open_diagram(text))
    two = diagram(LOOP).replace("output: joint.q", "output: [joint.q, joint.qd]")
    with pytest.raises(bs.DiagramError, match="2 signals are named and 1 are connected"):
        bs.flatten(bs.open_diagram(two))


def test_a_parameter_without_influence_is_refused():
    text = LOOP.replace("type: CLOE,", "type: OutputError, model: joint,").replace("in: y}\nlog", "in: {u: pd, y: y}}\nlog")
    with pytest.raises(bs.DiagramError, match=r"parameters: pd.kp has no influence on what is compared"):
        bs.simulate(diagram(text, parameters="[pd.kp]"))


PAIR = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, every: 2e-2, seed: 1}
blocks:
  push:  {type: Multisine, f_min: 0.5, f_max: 3, lines: 6, amplitude: 6, phases: schroeder}
  held:  {type: ZeroOrderHold, Ts: 2e-2, in: push}
  light: {type: Gain, k: 0.05, in: held}
  tau:   {type: Mux, in: [held, light]}
  robot: {type: ScaraRobot, beta: 5, in: tau}
  noise: {type: WhiteNoise, std: [1e-2, 1e-4], Ts: 2e-2}
  y:     {type: Sum, in: [robot.q, noise]}
  whole: {type: OutputError, model: robot, parameters: [robot.ZZR1, robot.ZZ2], start: 0.95, output: robot.q, in: {u: tau, y: y}}
"""


def test_elements_of_a_vector_are_weighted_each_by_its_own_noise():
    """The second joint is read a hundred times as well: with one weight for both its readings would hardly count."""
    runs = bs.simulate_many(PAIR, seeds=range(30), collect=lambda r: r.estimates["whole"])
    truth = runs[0].truth_vector()
    errors = np.array([r.vector() - truth for r in runs])
    std = np.array([r.std_vector() for r in runs])
    assert 0.7 < np.sqrt(np.mean((errors / std) ** 2)) < 1.4
    one, other = runs[0].details["sigma"]
    assert one == pytest.approx(1e-2, rel=0.2) and other == pytest.approx(1e-4, rel=0.2)


@pytest.mark.parametrize(
    "starts",
    [
        "{joint.J: 0.01, joint.Fv: 1e-6, joint.Ms: 0.01}",  # one of them a millionth of its size
        "{joint.J: 1.0, joint.Fv: 1e-6, joint.Ms: 1e-6}",
        "{joint.J: 1e-4, joint.Fv: 1e-4, joint.Ms: 1e-4}",  # the cost is rough there
    ],
)
def test_starts_of_the_wrong_size_do_not_stall_it(starts):
    found = bs.simulate(diagram(OPEN, 1e-3, starts)).estimates["found"]
    assert found.details["converged"] and found.details["simulations"] < 900
    assert all(abs(found[n].z) < 4 for n in NAMES)
    assert found.details["relative_error"]["joint.q"] < 2  # %


def test_where_noise_is_all_there_is_a_second_search_confirms_the_first():
    found = bs.simulate(diagram(OPEN, 20.0)).estimates["found"]  # noise far above the motion
    assert 2 <= len(found.details["costs"]) <= 6


def test_a_gap_is_sought_in_a_program_that_has_one(tmp_path):
    """The diagram of a measured record knows no gap yet: q is 0 there, and its own program leaves the gap out."""
    text = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, every: 2e-3, seed: 1}
blocks:
  sine:  {type: Sine, amplitude: 100, frequency: 0.4}
  u:     {type: ZeroOrderHold, Ts: 2e-3, in: sine}
  robot: {type: TwoMassRobot, Jm: 1.21e-2, Ja: 1.13e3, Fv: 1.30e-2, Fc: 6.44e-1, k1: 1.46e6, k3: 3.72e10, d: 2.63e3,
          r: "${1 / 224.3}", beta: 1, q: GAP, backlash: thesis, in: u}
  y:     {type: TorqueSensor, Ts: 2e-3, std: 1, in: robot.w_m}
  oe:    {type: OutputError, model: robot, parameters: {robot.q: {start: 0.8e-3, min: 0, max: 0.01}}, output: robot.w_m,
          in: {u: u, y: y}}
log: [u, y]
"""
    bs.simulate(text.replace("GAP", "1e-3")).save(tmp_path / "measured.csv")
    q = bs.identify(text.replace("GAP", "0"), record=tmp_path / "measured.csv").estimates["oe"]["q"]
    assert q.std < 0.03e-3 and abs(q.value - 1e-3) < 3 * q.std
