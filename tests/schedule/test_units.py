"""Units follow the wires where blocks do not declare them."""

import blocksim as bs
from blocksim.diagram.build import open_diagram
from blocksim.schedule.flatten import flatten
from blocksim.schedule.units import infer_units


def units(text):
    record = bs.simulate("format: 1\nsimulate: {stop: 0.1, solver: rk4, step: 1e-3}\nblocks:\n" + text, engine="python")
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


RATES = """
  ref:    {type: FourierTrajectory, base_frequency: 1, a: [1], b: [0.2]}
  error:  {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  joint:  {type: GravityJoint, in: push}
  push:   {type: Constant}
  smooth: {type: IRWSmoother, order: 3, bandwidth: 50, in: joint.q}
  motion: {type: BandPassDerivatives, cutoff: 100, factor: 1, in: carriage.q}
  bend:   {type: CentralDifference, order: 2, in: joint.q}
  carriage: {type: ElectroMechanicalPositioner, in: drive}
  drive:  {type: Constant}
"""


def test_a_speed_is_in_the_unit_of_its_position_per_second():
    found = units(RATES)
    assert [found[f"ref.{p}"] for p in ("q", "qd", "qdd")] == ["rad", "rad/s", "rad/s^2"]  # known from what q is compared with
    assert [found[f"smooth.{p}"] for p in ("x", "dx", "ddx", "std_ddx")] == ["rad", "rad/s", "rad/s^2", "rad/s^2"]
    assert [found[f"motion.{p}"] for p in ("q", "qd", "qdd")] == ["m", "m/s", "m/s^2"]
    assert found["bend.y"] == ""


def test_what_an_identifier_predicts_is_in_the_unit_of_the_effort():
    more = "  found: {type: DIDIM, model: joint, in: pid}\n"
    found = units(LOOP.replace("kp: 1,", "kp: 20, kd: 0.3,") + more)
    assert found["found.predicted"] == found["found.residual"] == "N m"


def test_the_unit_of_a_rate_tells_that_of_what_changes():
    found = units(
        "  ref: {type: FourierTrajectory, base_frequency: 1, a: [1], b: [0.2]}\n"
        "  error: {type: Sum, in: [ref.qd, joint.qd]}\n  joint: {type: GravityJoint, in: u}\n  u: {type: Constant}\n"
    )
    assert [found[f"ref.{p}"] for p in ("q", "qd", "qdd")] == ["rad", "rad/s", "rad/s^2"]


def test_a_gain_changes_the_unit_so_nothing_is_said():
    found = units("  joint: {type: GravityJoint, in: u}\n  u: {type: Constant}\n  g: {type: Gain, k: 2, in: joint.q}\n")
    assert found["g.y"] == ""
    assert found["u.y"] == "N m"


def test_what_contradicts_itself_has_no_unit():
    found = units("  joint: {type: GravityJoint, in: u}\n  u: {type: Constant}\n  s: {type: Sum, in: [joint.q, joint.qd]}\n")
    assert found["s.y"] == ""
    assert found["joint.q"] == "rad"


def test_a_vector_of_an_angle_and_its_speed_contradicts_neither():
    """A Mux of unlike signals has no unit, and takes none from them."""
    schedule = flatten(open_diagram("two_mass/two_encoders"))
    units = {f"{schedule.units[index].path}.{port}": unit for (index, port), unit in infer_units(schedule).items()}
    assert units["shaft.y"] == "" and units["motor.q_hat"] == units["error.y"] == "rad" and units["robot.w_m"] == "rad/s"
