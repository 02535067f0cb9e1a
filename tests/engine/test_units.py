"""Units follow the wires where blocks do not declare them."""

import blocksim as bs


def units(text):
    record = bs.simulate("format: 1\nsimulate: {stop: 0.01, solver: rk4, step: 1e-3}\nblocks:\n" + text, engine="python")
    return {name: record.unit(name) for name in record}


LOOP = """
  ref:     {type: Sine}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 1, in: error}
  joint:   {type: GravityJoint, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}
"""


def test_a_reference_is_in_the_unit_of_what_it_is_compared_with():
    found = units(LOOP)
    assert found["ref.y"] == found["error.y"] == found["encoder.q_hat"] == "rad"
    assert found["pid.u"] == "N m"  # what the joint's input is measured in
    assert found["joint.qd"] == "rad/s"


def test_a_gain_changes_the_unit_so_nothing_is_said():
    found = units("  joint: {type: GravityJoint, in: u}\n  u: {type: Constant}\n  g: {type: Gain, k: 2, in: joint.q}\n")
    assert found["g.y"] == ""
    assert found["u.y"] == "N m"


def test_what_contradicts_itself_has_no_unit():
    found = units("  joint: {type: GravityJoint, in: u}\n  u: {type: Constant}\n  s: {type: Sum, in: [joint.q, joint.qd]}\n")
    assert found["s.y"] == ""
    assert found["joint.q"] == "rad"
