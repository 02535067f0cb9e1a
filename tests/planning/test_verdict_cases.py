"""More experiments that show too little, of other plants and loops: each verdict names the kind and the reason."""

from __future__ import annotations

import math

import pytest

import blocksim as bs

HEAD = "format: 1\nsimulate: {stop: 4.0, solver: rk4, step: 1e-3, every: 5e-3}\nblocks:\n"
SINE = "  u: {type: Sine, amplitude: 1.0, frequency: 1.0}\n"
LAG = "  y: {type: FirstOrderLag, k: 1.0, T: 0.2, in: s}\n"
LOOP = """  ref: {type: Sine, amplitude: 1.0, frequency: 0.3}
  e:   {type: Sum, signs: "+-", in: [ref, j.q]}
  pid: {type: PID, Ts: 1e-3, kp: 2000, ki: 100, kd: 60, in: e}
  j:   {type: GravityJoint, J: 0.1, Fv: 0.5, Fc: 0.5, Ms: 0.3, offset: 0.2, in: pid}
"""
SHAFT = """  u:  {type: Constant, value: 5}
  f:  {type: Coulomb, Fc: 0.0, Fv: 0.5, in: m.w}
  l:  {type: Sum, in: [f, s.tau]}
  m:  {type: Inertia, J: 0.01, in: {tau: u, load: l}}
  s:  {type: ElastoBacklash, k1: 50, k3: 0, d: 0.5, q: 0.02, in: {phi_a: m.phi, w_a: m.w, phi_b: a.phi, w_b: a.w}}
  fa: {type: Coulomb, Fc: 0.0, Fv: 0.5, in: a.w}
  a:  {type: Inertia, J: 0.05, in: {tau: s.tau, load: fa}}
"""
CASES = {
    "nothing arrives": (
        SINE + "  z: {type: Constant, value: 0.0}\n  g: {type: Gain, k: 4.0, in: z}\n  s: {type: Sum, in: [u, g]}\n" + LAG,
        ["g.k", "y.T"], "y", 0.01, {}, "dead", "Nothing arrives at 'g': 'z.y' is 0 all the time"),
    "a block beside the way": (
        SINE + "  s: {type: Gain, in: u}\n" + LAG + "  b: {type: FirstOrderLag, k: 3.0, T: 0.1, in: s}\n",
        ["y.k", "b.T"], "y", 0.01, {}, "dead", "Nothing goes from 'b' to what is read."),
    "a lag that has hardly begun": (
        "  u: {type: Constant, value: 1.0}\n  y: {type: FirstOrderLag, k: 1.0, T: 100.0, in: u}\n",
        ["y.k", "y.T"], "y", 1e-3, {}, "short", "only y.k / y.T is seen. The run is too short"),
    "a bias of the source and of its sensor": (
        "  u: {type: Sine, amplitude: 1.0, frequency: 1.0, bias: 0.2}\n  y: {type: NoisySensor, Ts: 5e-3, offset: 0.1, in: u}\n",
        ["u.bias", "y.offset"], "y", 0.01, {}, "alike", "only u.bias + y.offset is seen"),
    "a limit that is never reached": (
        SINE + "  s: {type: Saturation, lower: -5, upper: 5, in: u}\n" + LAG,
        ["s.upper", "y.T"], "y", 0.01, {}, "dead", "the input never exceeds 1, and the upper end is 5"),
    "a rate that is never reached": (
        SINE + "  s: {type: RateLimiter, Ts: 1e-3, rising: 100, falling: 100, in: u}\n" + LAG,
        ["s.rising"], "y", 0.01, {}, "dead", "the input is never faster than it lets through"),
    "a loop's two gains": (
        SINE + "  e: {type: Sum, signs: '+-', in: [u, y]}\n  s: {type: Gain, k: 5.0, in: e}\n" + LAG,
        ["s.k", "y.k"], "y", 0.01, {}, "alike", "only s.k * y.k is seen."),
    "the gain of a sensor": (
        SINE + "  s: {type: Gain, in: u}\n" + LAG + "  seen: {type: TorqueSensor, Ts: 5e-3, gain: 1.1, std: 0.01, in: y}\n",
        ["y.k", "seen.gain", "y.T"], "seen", None, {}, "alike", "only y.k * seen.gain is seen"),
    "one direction": (
        "  v: {type: Sine, amplitude: 0.5, frequency: 1.0, bias: 8.0}\n  m: {type: ElectroMechanicalPositioner, in: v}\n",
        ["m.Fc", "m.offset"], "m.qd", 0.001, {}, "alike", "the carriage never turns back"),
    "one speed": (
        "  v: {type: Constant, value: 3.0}\n  j: {type: GravityJoint, J: 0.1, Fv: 0.5, Fc: 0.5, Ms: 0, in: v}\n",
        ["j.Fv", "j.Fc"], "j.qd", 0.01, {"skip": 2.0}, "alike", "keeps near one speed, 5 rad/s"),
    "one frequency for three numbers": (
        SINE + "  y: {type: TransferFunction, num: [3.0], den: [0.01, 0.2, 1.0], in: u}\n",
        ["y.num[0]", "y.den[0]", "y.den[2]"], "y", 0.01, {"skip": 3.0}, "alike", "u.y has one frequency only"),
    "a gear in parts that never opens": (
        SHAFT, ["s.q", "a.J"], "m.w", 0.05, {"skip": 0.1}, "quiet", "the gap never opens"),
    "a hysteresis in parts": (
        "  u: {type: Constant, value: 10}\n  f: {type: Coulomb, Fc: 0.0, Fv: 1.0, in: j.w}\n  l: {type: Sum, in: [f, h]}\n"
        "  h: {type: Hysteresis, alpha: 50, A: 100, in: {w_a: j.w}}\n  j: {type: Inertia, J: 0.1, in: {tau: u, load: l}}\n",
        ["h.alpha", "h.A"], "j.w", 0.05, {"skip": 1.0}, "alike", "the hysteresis is saturated at A/alpha = 2 N m"),
    "less than a period": (
        "  u: {type: Constant, value: 1.0}\n  a: {type: Sum, signs: '+--', in: [u, k, d]}\n  v: {type: Integrator, in: a}\n"
        "  x: {type: Integrator, in: v}\n  k: {type: Gain, k: 0.04, in: x}\n  d: {type: Gain, k: 0.05, in: v}\n",
        ["k.k", "d.k"], "x", 0.2, {}, "short", "The run is too short"),
    "an encoder of its own": (
        "  u: {type: Sine, amplitude: 0.001, frequency: 1.0}\n  j: {type: Inertia, J: 0.1, in: {tau: u}}\n"
        "  e: {type: Encoder, Ts: 5e-3, counts_per_turn: 500, in: j.phi}\n",
        ["j.J"], "e", None, {}, "quantised", "less than one step of 0.013"),
    "rounding beside loud noise": (
        "  u: {type: Sine, amplitude: 0.001, frequency: 1.0}\n  j: {type: Inertia, J: 0.1, in: {tau: u}}\n",
        ["j.J"], "j.phi", {"std": 0.1, "resolution": 0.1}, {}, "quiet", "in noise of 0.1"),
    "a stiff loop and its offset": (LOOP, ["j.offset"], "j.q", 1e-3, {}, "hidden", "Read 'pid.u' too"),
    "an initial speed": (
        "  u: {type: Sine, amplitude: 1, frequency: 1.0}\n  f: {type: Coulomb, Fc: 0.0, Fv: 1.0, in: j.w}\n"
        "  j: {type: Inertia, J: 0.1, w: 1.0, in: {tau: u, load: f}}\n",
        ["j.w"], "j.w", 1.0, {}, "start", "90 % of it is learnt before t = 0.12 s"),
    "a robot at rest": (
        "  u: {type: Constant, value: [0.0, 0.0]}\n  r: {type: ScaraRobot, in: u}\n",
        ["r.Fv1"], "r.q", 0.001, {}, "dead", "no joint moves"),
    "an arm that turns one way": (
        "  u: {type: Constant, value: [8.0]}\n  r: {type: SerialRobot, joints: [{ZZ: 0.4, Fv: 1.0, Fc: 0.5, off: 0.2}], in: u}\n",
        ["r.Fc1", "r.off1"], "r.qd", 0.01, {}, "alike", "joint 1 never turns back"),
    "friction that holds": (
        "  u: {type: Sine, amplitude: 0.05, frequency: 1.0}\n  j: {type: Inertia, J: 0.1, in: {tau: u, load: f}}\n"
        "  f: {type: Stribeck, law: sign, vs: 0.1, Fc: 1.0, Fs: 1.5, in: {w: j.w, applied: u}}\n",
        ["f.Fc"], "j.w", 0.01, {}, "dead", "the body never moves"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_verdict_names_the_reason(name):
    blocks, parameters, output, noise, options, kind, words = CASES[name]
    info = bs.information(HEAD + blocks, parameters, output, noise, **options)
    assert info.findings[0].kind == kind and words in info.verdict
    assert info.findings[0].parameters[0] in parameters


def test_offsets_of_sensors_are_numbers_like_others():
    """y_hat = y + offset + noise: the bound of the offset alone is std / sqrt(n); a sensor's own noise shows in no mean."""
    sensor = SINE + "  s: {type: NoisySensor, Ts: 5e-3, offset: 0.1, std: 0.01, in: u}\n"
    info = bs.information(HEAD + sensor, ["s.offset", "s.std"], "s", 0.01)
    assert info.std["s.offset"] == pytest.approx(0.01 / math.sqrt(801), rel=1e-6) and math.isinf(info.std["s.std"])
