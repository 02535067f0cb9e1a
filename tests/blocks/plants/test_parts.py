"""Drives wired from parts: they move as TwoMassRobot does, and a subsystem of them is identified as it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

import blocksim as bs
from blocks.plants.two_mass import TwoMassRobot
from blocksim.contract.plant import Plant
from blocksim.diagram.composites import composite
from blocksim.tracing.equations import equations

FRICTION = {
    "tanh": "type: Coulomb, Fc: 0.644, Fv: 0.013, beta: 1.0",
    "sign": "type: Coulomb, Fc: 0.644, Fv: 0.013, law: sign",
    "stribeck": "type: Stribeck, Fc: 0.644, Fv: 0.013, Fs: 1.2, vs: 2.0, law: sign",
}
#: Names of the parts' parameters that are those of the robot.
NAMES = {
    "Jm": "motor.J", "Ja": "arm.J", "Fv": "friction.Fv", "Fc": "friction.Fc", "k1": "shaft.k1", "k3": "shaft.k3", "d": "shaft.d",
    "alpha": "bent.alpha", "A": "bent.A", "q": "shaft.q", "r": "gear.r", "beta": "friction.beta", "Fs": "friction.Fs",
    "vs": "friction.vs",
}  # fmt: skip
STATES = {"phi_m": "motor.phi", "w_m": "motor.w", "phi_a": "arm.phi", "w_a": "arm.w", "z": "bent.z"}


def wired(friction, law, q, alpha, A):
    """The blocks of a drive with the numbers of Table 7.1."""
    return f"""
  net:      {{type: Sum, signs: "+-", in: [tau, gear.tau_a]}}
  friction: {{{FRICTION[friction]}, in: {{w: motor.w, applied: net}}}}
  motor:    {{type: Inertia, J: 1.21e-2, in: {{tau: net, load: friction}}}}
  gear:     {{type: Gear, r: 4.46e-3, in: {{phi_a: motor.phi, w_a: motor.w, tau_b: torque}}}}
  shaft:    {{type: ElastoBacklash, k1: 1.46e6, k3: 3.72e10, d: 2.63e3, q: {q}, law: {law},
             in: {{phi_a: gear.phi_b, w_a: gear.w_b, phi_b: arm.phi, w_b: arm.w}}}}
  bent:     {{type: Hysteresis, alpha: {alpha}, A: {A}, in: {{w_a: gear.w_b, w_b: arm.w}}}}
  torque:   {{type: Sum, in: [shaft.tau, bent]}}
  arm:      {{type: Inertia, J: 1.13e3, in: torque}}
"""


def robot(friction, law, q, alpha, A):
    return f"type: TwoMassRobot, q: {q}, alpha: {alpha}, A: {A}, friction: {friction}, backlash: {law}, Fs: 1.2, vs: 2.0"


def subsystem(folder, text, outputs, inputs="[tau]"):
    path = folder / "drive.yaml"
    path.write_text(f"format: 1\nname: Drive\nports: {{in: {inputs}, out: {outputs}}}\nblocks:{text}")
    return path


@pytest.mark.parametrize("law", ["thesis", "elasto", "elasto2"])
@pytest.mark.parametrize("friction", ["tanh", "sign", "stribeck"])
def test_a_drive_from_parts_moves_as_the_robot_does(friction, law):
    # Both get the same torque, each run by itself; they differ by rounding and by what the solver is told to leave.
    head = "format: 1\nsimulate: {stop: 1.0, solver: dopri5, rtol: 1e-9, atol: 1e-12, every: 0.005}\nblocks:\n"
    head += "  tau: {type: Sine, amplitude: 8.0, frequency: 3.0}\n"
    for q, alpha, A in ((2e-3, 0.0, 0.0), (0.0, 1e3, 1e7)):
        one = bs.simulate(f"{head}  robot: {{{robot(friction, law, q, alpha, A)}, in: tau}}\n", engine="python")
        two = bs.simulate(head + wired(friction, law, q, alpha, A), engine="python")
        if q:
            assert {-1.0, 0.0, 1.0} == set(two["shaft.contact"]), "the gap closes on both sides"
            assert np.array_equal(two["shaft.gap"] > 0, two["shaft.contact"] == 0)
        for name, other in {**STATES, "tau_s": "torque"}.items():
            scale = np.abs(one[f"robot.{name}"]).max() or 1.0
            assert two[other] == pytest.approx(one[f"robot.{name}"], abs=3e-6 * scale), name
        assert one.provenance["work"]["events"] == two.provenance["work"]["events"]


@pytest.mark.parametrize("law", ["thesis", "elasto", "elasto2"])
@pytest.mark.parametrize("friction", ["tanh", "sign", "stribeck"])
def test_the_equations_of_the_subsystem_are_those_of_the_robot(friction, law, tmp_path):
    path = subsystem(tmp_path, wired(friction, law, 1e-3, 1e3, 1e7), "{w_m: motor.w, tau_s: torque}")
    parts = composite(bs.build(bs.load(path)), "drive")
    ours = equations(type(parts), parts.settings)
    own = TwoMassRobot(q=1e-3, alpha=1e3, A=1e7, friction=friction, backlash=law, Fs=1.2, vs=2.0)
    theirs = equations(TwoMassRobot, own.settings)
    assert [STATES[s] for s in theirs.states] == sorted(ours.states, key=[STATES[s] for s in theirs.states].index)
    assert {NAMES[p] for p in theirs.parameters} == set(ours.parameters)
    order = [ours.states.index(STATES[s]) for s in theirs.states]
    columns = [ours.parameters.index(NAMES[p]) for p in theirs.parameters]
    random = np.random.default_rng(4)
    n, d = len(order), len(columns)
    for _ in range(20):
        x = random.normal(size=n) * [0.5, 10, 2e-3, 0.05, 100]
        mine = np.empty(n)
        mine[order] = x
        p = np.empty(d)
        p[columns] = theirs.values
        wanted = np.array(theirs.function("robot", ("f", "dfdx", "dfdp"))(x, [5.0], theirs.values))
        found = np.array(ours.function("drive", ("f", "dfdx", "dfdp"))(mine, [5.0], p))
        f, dx, dp = found[:n], found[n : n + n * n].reshape(n, n), found[n + n * n :].reshape(n, d)
        ordered = np.concatenate([f[order], dx[np.ix_(order, order)].ravel(), dp[np.ix_(order, columns)].ravel()])
        assert ordered == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert ours.ports == {"w_m": 1, "tau_s": 1}  # the torque too, which the robot itself gives only while the gap cannot jump


BOTH = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 2e-3, seed: 3}
blocks:
  u:     {type: Multisine, f_min: 0.5, f_max: 25, lines: 50, amplitude: 20, phases: schroeder}
  held:  {type: ZeroOrderHold, Ts: 2e-3, in: u}
  drive: {type: ./drive.yaml, in: held}
  robot: {type: TwoMassRobot, in: held}
  speed: {type: NoisySensor, std: 0.05, Ts: 2e-3, in: drive.w_m}
"""


def pair(kind, drive, own):
    """One identifier of the subsystem and one of the block, on the same readings."""
    shared = "in: {y: speed, u: held}"
    return f"  a: {{type: {kind}, model: drive, {drive}, {shared}}}\n  b: {{type: {kind}, model: robot, {own}, {shared}}}\n"


def test_recursive_estimates_of_a_subsystem_are_those_of_the_block(tmp_path):
    subsystem(tmp_path, wired("tanh", "thesis", 0, 0, 0), "{w_m: motor.w, w_a: arm.w}")
    common = "measures: w_m, factor: 0.7, substeps: 2, Ts: 2e-3"
    text = BOTH + pair("RPEM", f"{common}, estimate: [friction.Fv, friction.Fc, motor.J]", f"{common}, estimate: [Fv, Fc, Jm]")
    common = "measures: w_m, Q: 1e-4, sigma_w2: 0, discretisation: rk4, substeps: 2, Ts: 2e-3, P0: 1e-4"
    text += pair("EKF", common, common).replace("  a:", "  ekf_a:").replace("  b:", "  ekf_b:")
    (tmp_path / "both.yaml").write_text(text)
    record = bs.simulate(tmp_path / "both.yaml", engine="python")
    assert record["a.theta"] == pytest.approx(record["b.theta"], rel=1e-6)
    ours, theirs = record.estimates["a"], record.estimates["b"]
    for name in ("Fv", "Fc", "Jm"):
        one, other = ours[NAMES[name]], theirs[name]
        assert (one.value, one.std) == pytest.approx((other.value, other.std), rel=1e-6)
        assert one.truth == other.truth and one.unit == other.unit and abs(one.z) < 4
    for state, part in STATES.items():
        other = record[f"ekf_b.{state}_hat"]
        assert record[f"ekf_a.{part.replace('.', '_')}_hat"] == pytest.approx(
            other, rel=1e-5, abs=1e-5 * np.abs(other).max() + 1e-12
        )


def test_output_error_of_a_subsystem_is_that_of_the_block_and_its_truth_follows_the_run(tmp_path):
    subsystem(tmp_path, wired("tanh", "thesis", 0, 0, 0), "{w_m: motor.w, w_a: arm.w}")
    common = "start: 0.9"
    drive = f"{common}, output: drive.w_m, parameters: [drive.motor.J, drive.friction.Fv]"
    text = BOTH + pair("OutputError", drive, f"{common}, output: robot.w_m, parameters: [robot.Jm, robot.Fv]")
    (tmp_path / "both.yaml").write_text(text)
    record = bs.simulate(tmp_path / "both.yaml", params={"drive.motor.J": 0.014, "robot.Jm": 0.014}, engine="python")
    for name, own in (("drive.motor.J", "robot.Jm"), ("drive.friction.Fv", "robot.Fv")):
        one, other = record.estimates["a"][name], record.estimates["b"][own]
        assert one.value == pytest.approx(other.value, rel=1e-5) and one.truth == other.truth and abs(one.z) < 4
    assert record.estimates["a"]["drive.motor.J"].truth == 0.014


def test_a_plant_takes_changes_of_its_parts():
    plant = Plant(TwoMassRobot, {"motor.J": 1.0, "arm.J": 2.0}, "drive")
    changed = plant.updated({"drive.motor": {"J": 3.0}, "driver.arm": {"J": 9.0}, "drive.arm": {"other": 1.0}})
    assert changed.settings == {"motor.J": 3.0, "arm.J": 2.0}


@pytest.mark.parametrize(("blocks", "settings", "words"), [
    ("\n  lag: {type: UnitDelay, Ts: 0.1, in: tau}\n  motor: {type: Inertia, J: 1, in: lag}\n", "measures: w",
     "'drive' is no plant: its block 'lag' (UnitDelay) acts at sample hits. Put it outside the subsystem."),
    ("\n  a: {type: Sum, in: [tau, b]}\n  b: {type: Gain, in: a}\n  motor: {type: Inertia, J: 1, in: a}\n", "measures: w",
     "has an algebraic loop, a.y -> b.y -> a.y, and no equations"),
    ("\n  motor: {type: Inertia, J: 1, in: tau}\n", "measures: w, parameters: {motor.j: 2}",
     "'drive' (Drive) has no parameter 'motor.j'. It takes: motor.J"),
    ("\n  motor: {type: Inertia, J: 1, in: tau}\n", "measures: speed", "What can be: w."),
    ("\n  motor: {type: Inertia, J: 1, in: tau}\n", "measures: w, parameters: {motor.J: -2}",
     "motor.J: must be above 0, found -2."),
])  # fmt: skip
def test_what_is_no_plant_is_refused_in_words(blocks, settings, words, tmp_path):
    subsystem(tmp_path, blocks, "{w: motor.w}")
    (tmp_path / "whole.yaml").write_text(
        "format: 1\nsimulate: {stop: 1, step: 0.01, solver: rk4, algebraic_loops: solve}\nblocks:\n  u: {type: Clock}\n"
        f"  drive: {{type: ./drive.yaml, in: u}}\n"
        f"  f: {{type: EKF, model: drive, R: 1, Ts: 0.1, {settings}, in: {{y: drive.w, u: u}}}}\n"
    )
    with pytest.raises(bs.DiagramError, match=re.escape(words)):
        bs.simulate(tmp_path / "whole.yaml")


def test_parts_follow_newton_and_hooke():
    # Two wheels on a spring, free: about their centre they swing at sqrt(k (1/Ja + 1/Jb)); nothing else acts.
    text = "  a: {type: Inertia, J: 2.0, phi: 0.3, in: {tau: zero, load: s.tau}}\n  b: {type: Inertia, J: 1.0, in: s.tau}\n"
    text += "  s: {type: SpringDamper, k1: 6.0, in: {phi_a: a.phi, w_a: a.w, phi_b: b.phi, w_b: b.w}}\n"
    text += "  zero: {type: Constant, value: 0}\n"
    head = "format: 1\nsimulate: {stop: 3.0, solver: dopri5, rtol: 1e-10, atol: 1e-12, every: 0.1}\nblocks:\n"
    record = bs.simulate(head + text, engine="python")
    swing = 0.3 * np.cos(3.0 * record.t)
    assert record["s.phi"] == pytest.approx(swing, abs=1e-8)
    assert record["a.phi"] == pytest.approx(0.2 + swing / 3, abs=1e-8)
    assert record["a.dw"] == pytest.approx(-3.0 * swing, abs=1e-7)


def test_hysteresis_closes_its_saturated_loop():
    # Along a monotone path z = A/alpha (1 - exp(-alpha way)), whatever the speed.
    text = "format: 1\nsimulate: {stop: 1.0, solver: dopri5, rtol: 1e-10, atol: 1e-12, every: 0.01}\nblocks:\n"
    text += "  w: {type: Sine, frequency: 0.25, amplitude: 0.5}\n  h: {type: Hysteresis, alpha: 20, A: 5, in: w}\n"
    record = bs.simulate(text + "  way: {type: Integrator, in: w}\n", engine="python")
    assert record["h"] == pytest.approx(0.25 * (1 - np.exp(-20 * record["way"])), abs=1e-8)
