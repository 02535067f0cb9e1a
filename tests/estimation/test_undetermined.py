"""What the data of a run do not tell: the same verdict from all identifiers, with the reason where it can be seen."""

import math
import re

import numpy as np
import pytest

import blocksim as bs
from blocksim.estimation.undetermined import together_words

REST = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, seed: 7}
blocks:
  ref:     {type: Constant, value: 0.0}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PD, Ts: 1e-3, kp: 20, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, noise_std: 3, in: joint.q}
  found:   FOUND
"""
CLOE = "{type: CLOE, parameters: [joint.J, joint.Fv], output: joint.q, in: encoder}"
OUTPUT_ERROR = "{type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, in: {u: pid, y: encoder}}"


@pytest.mark.parametrize("block", [CLOE, OUTPUT_ERROR], ids=["CLOE", "OutputError"])
def test_a_reference_at_rest_is_told(block):
    estimates = bs.simulate(REST.replace("FOUND", block)).estimates["found"]
    assert "the reference is at rest: ref never changes, so that all that moves is noise. Excite the loop." in estimates.warnings


def test_a_start_that_dies_out_is_an_excitation():
    text = REST.replace("N: 1,", "N: 1, q: 0.5,").replace("FOUND", CLOE)
    estimates = bs.simulate(text).estimates["found"]
    assert not any("at rest" in w for w in estimates.warnings) and abs(estimates["J"].relative_error) < 0.05


PUSH = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 0.5, bits: 6, clock: 0.1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: push}
  q_hat: {type: TorqueSensor, Ts: 1e-2, std: 1e-3, in: joint.q}
  found: FOUND
"""


def test_parameters_held_at_their_true_values_are_told_by_all():
    words = "leak of truth: Fc, Ms held at the plant's own value; fit for a check, not for a claim."
    oe = "{type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, in: {u: push, y: q_hat}}"
    cloe = "{type: CLOE, parameters: [joint.J, joint.Fv], output: joint.q, in: q_hat}"
    for block in (oe, cloe):
        assert words in bs.simulate(PUSH.replace("FOUND", block)).estimates["found"].warnings
    whole = cloe.replace("joint.Fv]", "joint.Fv, joint.Fc, joint.Ms]")
    assert not any("held at" in w for w in bs.simulate(PUSH.replace("FOUND", whole)).estimates["found"].warnings)


def test_a_start_from_a_search_that_gave_no_answer_is_told():
    search = "{type: OutputError, model: joint, parameters: [joint.J, joint.Fv], MORE, output: joint.q, in: [push, q_hat]}"
    for most, words in (("1", 1), ("100", 0)):
        text = PUSH.replace("FOUND", search.replace("MORE", "start: first"))
        text += f"  first: {search.replace('MORE', f'max_iterations: {most}')}\n"
        told = bs.simulate(text).estimates["found"].warnings
        assert sum("starts from 'first', which gave no answer" in w for w in told) == words


def test_what_is_named_twice_or_both_sought_and_known_is_refused():
    twice = "{type: OutputError, model: joint, parameters: [joint.J, joint.J], output: joint.q, in: [push, q_hat]}"
    both = "{type: RPEMHybrid, model: joint, signal: q, start: {J: 0.01}, known: {J: 0.02}, in: [push, q_hat]}"
    for block, words in ((twice, "parameters: 'joint.J' is named twice"), (both, "J: either estimated or known, not both")):
        with pytest.raises(bs.DiagramError, match=words):
            bs.findings(PUSH.replace("FOUND", block))


FLEXIBLE = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, every: 5e-3, seed: 1}
blocks:
  u:     {type: PRBS, amplitude: 2.0, bits: 6, clock: 0.02}
  robot: {type: TwoMassRobot, k3: 1000.0, in: u}
  y:     {type: TorqueSensor, Ts: 5e-3, std: 1e-2, in: robot.w_m}
  found: {type: OutputError, model: robot, output: robot.w_m, in: {u: u, y: y},
          parameters: {robot.k1: {}, robot.Jm: {}, robot.k3: {start: 500.0, min: 0, max: 1e9}}}
"""


def test_a_weak_parameter_is_named_with_the_reason_and_leaves_the_others_alone():
    estimates = bs.simulate(FLEXIBLE).estimates["found"]
    told = " ".join(estimates.warnings)
    assert "k3" in told and "because the wind-up stays below" in told and "cubic spring gives" in told
    for name in ("k1", "Jm"):  # the cubic spring does not act, and takes nothing of the bounds of the others
        assert math.isfinite(estimates[name].std) and estimates[name].relative_std < 0.1 and abs(estimates[name].z) < 4


FILTER = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, seed: 3}
blocks:
  push: {type: Constant, value: 0.0}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: push}
  y:    {type: TorqueSensor, Ts: 1e-3, std: 1e-3, in: joint.q}
  ekf:  {type: JointEKF, model: joint, Ts: 1e-3, estimate: [J, Fv], start: {J: 0.03, Fv: 0.1}, measures: [q],
         Q: [0, 0], R: [1e-6], P0: [1e-6, 1e-6], P0_parameters: [1e-4, 1e-2], in: {y: y, u: push}}
"""


def test_a_filter_says_of_what_it_learnt_nothing():
    estimates = bs.simulate(FILTER).estimates["ekf"]
    told = " ".join(estimates.warnings)
    assert "not determined: of J nothing was learnt; its standard deviation is still that of the start" in told
    assert "not determined by these data: " in told and "Fv (std 1" in told
    assert "the reference is at rest: push never changes" in told


def test_what_is_well_seen_is_not_called_vague():
    estimates = bs.simulate("one_dof/identify").estimates
    for one in estimates.values():
        assert not any("not determined" in w or "at rest" in w for w in one.warnings), one.warnings


def test_a_dead_parameter_leaves_the_bounds_of_the_others():
    # Ms acts on nothing where g is 0 or the joint carries none: here it is sought although no motion shows it.
    dead = PUSH.replace("Ms: 0.03", "Ms: 0.03, g: 0").replace(
        "FOUND", "{type: OutputError, model: joint, parameters: [joint.J, joint.Fv, joint.Fc, joint.Ms], output: joint.q, "
        "in: {u: push, y: q_hat}}")  # fmt: skip
    estimates = bs.simulate(dead).estimates["found"]
    assert math.isinf(estimates["Ms"].std) and any("Ms does not show in these data" in w for w in estimates.warnings)
    assert np.isfinite([estimates[n].std for n in ("J", "Fv", "Fc")]).all()
    assert all(abs(estimates[n].z) < 4 for n in ("J", "Fv", "Fc"))


#: A gear that takes up its play and then is pushed one way: the gap, q, acts on nothing after the first instants.
ONE_SIDED = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, every: 4e-3, seed: 1}
blocks:
  push:  {type: Sine, amplitude: 0.2, frequency: 2.0, bias: 2.0}
  u:     {type: ZeroOrderHold, Ts: 4e-3, in: push}
  robot: {type: TwoMassRobot, q: 1e-4, k3: 0, in: u}
  y:     {type: TorqueSensor, Ts: 4e-3, std: 3.0, in: robot.w_m}
  found: FOUND
"""
HYBRID = "{type: RPEMHybrid, model: robot, signal: w_m, start: {Fv: 0.02, SECOND}, in: [u, y]}"
RPEM = "{type: RPEM, Ts: 4e-3, model: robot, measures: w_m, estimate: [Fv, SECOND], factor: 0.9, in: {y: y, u: u}}"
JOINT_EKF = (
    "{type: JointEKF, Ts: 4e-3, model: robot, measures: w_m, estimate: [Fv, q], start: {Fv: 0.01, q: 2e-4}, in: {y: y, u: u}}"
)
SEARCH = (
    "{type: OutputError, model: robot, output: robot.w_m, in: {u: u, y: y}, "
    "parameters: {robot.Fv: {}, robot.q: {start: 2e-4, min: 0, max: 1}}}"
)
LOOPED = SEARCH.replace("OutputError, model: robot", "CLOE").replace("in: {u: u, y: y}", "in: y")


@pytest.mark.parametrize(
    "block",
    [HYBRID.replace("SECOND", "q: 2e-4"), RPEM.replace("SECOND", "q"), JOINT_EKF, SEARCH, LOOPED],
    ids=["RPEMHybrid", "RPEM", "JointEKF", "OutputError", "CLOE"],
)  # fmt: skip
def test_a_gap_that_never_opens_again_is_the_reason(block):
    estimates = bs.simulate(ONE_SIDED.replace("FOUND", block)).estimates["found"]
    words = [w for w in estimates.warnings if "because the gap never opens again: the gear stays in contact on one side." in w]
    assert len(words) == 1 and words[0].startswith(("not determined by these data: q (std", "q: little can be told"))
    assert "Fv (std" not in words[0] and abs(estimates["Fv"].z) < 4


#: So slow that tanh(beta w) is beta w: of viscous and dry friction only Fv + beta Fc acts.
SLOW = ONE_SIDED.replace("amplitude: 0.2, frequency: 2.0, bias: 2.0", "amplitude: 0.02, frequency: 0.5").replace(
    "q: 1e-4, k3: 0", "k3: 0, friction: tanh, beta: 0.5, Fc: 0.02"
).replace("std: 3.0", "std: 5e-4")  # fmt: skip


@pytest.mark.parametrize(
    "block", [HYBRID.replace("SECOND", "Fc: 0.03"), RPEM.replace("SECOND", "Fc")], ids=["RPEMHybrid", "RPEM"]
)
def test_what_is_known_together_is_told_with_its_factor(block):
    estimates = bs.simulate(SLOW.replace("FOUND", block)).estimates["found"]
    told = " ".join(estimates.warnings)
    match = re.search(r"of Fv, Fc little more than Fv \+ ([\d.]+) Fc is known, because the motor stays below", told)
    assert match is not None, told
    assert float(match[1]) == pytest.approx(0.5, rel=0.05) and "only Fv + beta Fc acts" in told


def test_combinations_of_more_than_two_come_from_the_eigenvectors():
    # y = a u + b v + c w with w = u - 2 v + a little: only a + c and b - 2 c are well known.
    rng = np.random.default_rng(1)
    u, v, rest = rng.normal(size=(3, 2000))
    W = np.stack([u, v, u - 2 * v + 0.01 * rest], axis=1)
    estimates = bs.Estimates.of("least squares", ("a", "b", "c"), np.ones(3), np.linalg.inv(W.T @ W))
    told = sorted(together_words(estimates, {"a", "b", "c"}))
    numbers = [float(n) for text in told for n in re.findall(r"[\d.]+(?= [abc])", text)]
    assert [re.sub(r"[\d.]+ ", "", text) for text in told] == [
        "of a, c little more than a + c is known",
        "of b, c little more than b - c is known",
    ]
    assert numbers == pytest.approx([2.0], rel=0.02)
