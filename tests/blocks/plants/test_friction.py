"""Friction, hysteresis and backlash against their definitions and closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import blocks
import blocksim as bs
from blocks.plants.friction import BoucWen, contact_side, gear_torque, hysteresis_rate, slip_direction, stribeck_level

EXACT = {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12, "engine": "python"}
K1, K3, D, Q = 1.46e6, 3.72e10, 2.63e3, 1e-3


def run(text, stop, **options):
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}, every: 0.01}}\nblocks:\n{text}", **{**EXACT, **options})


# ---- laws as functions -------------------------------------------------------------------------------------------------


def test_stribeck_falls_from_break_away_to_coulomb():
    assert stribeck_level(0.0, 1.0, 1.5, 0.1) == 1.5
    assert stribeck_level(-0.1, 1.0, 1.5, 0.1) == pytest.approx(1.0 + 0.5 / math.e)
    assert stribeck_level(1e9, 1.0, 1.5, 0.1) == 1.0
    assert stribeck_level(0.0, 1.0, 0.0, 0.1) == 1.0  # no Stribeck effect


def test_a_contact_at_rest_gives_way_beyond_its_level():
    assert [slip_direction(load, 1.0) for load in (-1.001, -1.0, 0.0, 1.0, 1.001)] == [-1, 0, 0, 0, 1]


def thesis(phi, w, k1, k3, d, q):
    """Section 4.3 of the thesis, line by line."""
    q2 = q / 2
    if q2 > 1e-10:
        if phi >= q2:
            return k1 * (phi - q2) + k3 * (phi - q2) ** 3 + d * w
        if phi <= -q2:
            return k1 * (phi + q2) + k3 * (phi + q2) ** 3 + d * w
        return 0.0
    return k1 * phi + k3 * phi**3 + d * w


def elasto(phi, w, k1, k3, d, q):
    """ElastoBacklash: 0 if tau_c + tau_d <= 0 else tau_c + min(tau_c, tau_d) on the right, mirrored on the left."""
    tau_d = d * w
    if q <= 1e-10:
        return k1 * phi + k3 * phi**3 + tau_d
    if phi > q / 2:
        tau_c = k1 * (phi - q / 2) + k3 * (phi - q / 2) ** 3
        return 0.0 if tau_c + tau_d <= 0 else tau_c + min(tau_c, tau_d)
    if phi < -q / 2:
        tau_c = k1 * (phi + q / 2) + k3 * (phi + q / 2) ** 3
        return 0.0 if tau_c + tau_d >= 0 else tau_c + max(tau_c, tau_d)
    return 0.0


def elasto2(phi, w, k1, k3, d, q):
    """ElastoBacklash2: 0 if tau_c + tau_d <= 0 else tau_c + tau_d on the right, mirrored on the left."""
    whole = thesis(phi, w, k1, k3, d, q)
    return whole if q <= 1e-10 or whole * phi > 0 else 0.0


def law(name, phi, w, q=Q):
    return gear_torque(phi, w, contact_side(phi, q), K1, K3, D, q, name == "elasto", name == "elasto2")


@pytest.mark.parametrize("definition", [thesis, elasto, elasto2], ids=lambda f: f.__name__)
@pytest.mark.parametrize("q", [0.0, 1e-10, 1e-3])
def test_backlash_follows_its_definition(definition, q):
    for phi in np.linspace(-2e-3, 2e-3, 81):
        for w in np.linspace(-1.0, 1.0, 21):
            expected = definition(phi, w, K1, K3, D, q)
            assert law(definition.__name__, phi, w, q) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("w", [-0.3, 0.3])
def test_what_the_backlash_laws_promise(side, w):
    outside, inside = side * (0.5 * Q + 1e-12), side * (0.5 * Q - 1e-12)
    deep = side * np.linspace(0.5 * Q, 2.0 * Q, 200)
    closing = w * side > 0
    assert abs(law("elasto", outside, w) - law("elasto", inside, w)) < 1e-5  # continuous
    assert law("thesis", outside, w) - law("thesis", inside, w) == pytest.approx(D * w, abs=1e-5)  # jumps by the damper
    assert law("elasto2", outside, w) == pytest.approx(D * w if closing else 0.0, abs=1e-5)  # jumps at impact only
    for name in ("elasto", "elasto2"):
        assert all(side * law(name, phi, w) >= 0.0 for phi in deep)  # never pulls
    assert any(side * law("thesis", phi, w) < 0.0 for phi in deep) is not closing  # pulls while it opens


# ---- dry friction from parts -------------------------------------------------------------------------------------------

BODY = """
  friction: {{type: {friction}, law: sign, in: {{w: speed, applied: push}}}}
  net:      {{type: Sum, signs: "+-", in: [push, friction]}}
  speed:    {{type: Integrator, x: {v}, in: net}}
  place:    {{type: Integrator, in: speed}}
"""


@pytest.mark.parametrize("v", [2.0, -2.0])
@pytest.mark.parametrize("solver", [{"solver": "dopri5"}, {"solver": "rk4", "step": 0.01}, {"solver": "scipy:Radau"}])
def test_a_sliding_body_stops_and_stays(v, solver):
    """Decelerates at Fc from v: stops at |v|/Fc after v^2/(2 Fc). The spot is kept, with one event."""
    record = run("  push: {type: Constant, value: 0.0}" + BODY.format(friction="Coulomb, Fc: 0.7", v=v), 10, **solver)
    t, stops = record.t, 2.0 / 0.7
    way = np.where(t < stops, v * t - math.copysign(0.35, v) * t**2, math.copysign(2.0 / 0.7, v))
    assert record["place"] == pytest.approx(way, abs=1e-8)
    rest = t > stops
    assert abs(record["speed"][rest]).max() < 1e-12 and np.ptp(record["speed"][rest]) == 0.0
    assert record.provenance["work"]["events"] <= 1
    assert (record["friction"][rest] == 0.0).all()  # nothing pushes, so nothing is held


def test_break_away_comes_at_fc_and_friction_holds_the_load_until_then():
    record = run("  push: {type: Ramp, slope: 0.25}" + BODY.format(friction="Coulomb, Fc: 0.5, Fv: 0.0", v=0.0), 4.0)
    t = record.t
    assert record["place"] == pytest.approx(0.25 * np.maximum(t - 2.0, 0.0) ** 3 / 6.0, abs=1e-9)
    assert record["friction"] == pytest.approx(np.minimum(0.25 * t, 0.5), abs=1e-12)
    assert record.provenance["work"]["events"] == 1


def test_a_sampled_load_sticks_and_slips_at_its_hits():
    """1.5 above Fc = 1 during every other half second: accelerates by 0.5, then by -1; from 0.25 at rest after 0.25 s."""
    push = "  wave: {type: Pulse, amplitude: 1.5, period: 1.0, duty: 0.5}\n  push: {type: ZeroOrderHold, Ts: 0.05, in: wave}"
    record = run(push + BODY.format(friction="Coulomb, Fc: 1.0", v=0.0), 3.0)
    phase = record.t % 1.0
    speed = np.where(phase < 0.5, 0.5 * phase, np.maximum(0.25 - (phase - 0.5), 0.0))
    assert record["speed"] == pytest.approx(speed, abs=1e-8)


def test_dry_friction_reverses_without_a_rest():
    """A load of 3 against Fc = 1: from v = 4 forward at -4 to 0 at t = 1, then backward at -2."""
    record = run("  push: {type: Constant, value: -3.0}" + BODY.format(friction="Coulomb, Fc: 1.0", v=4.0), 3.0)
    t = record.t
    assert record["speed"] == pytest.approx(np.where(t < 1, 4 - 4 * t, -2 * (t - 1)), abs=1e-9)


def test_a_vector_of_bodies():
    text = "  push: {type: Constant, value: [0.0, 0.0]}" + BODY.format(friction="Coulomb, Fc: [0.5, 1.0]", v="[1.0, 1.0]")
    record = run(text, 3.0)
    assert record["place"][-1] == pytest.approx([1.0, 0.5], abs=1e-8)


def test_without_the_load_a_body_at_rest_chatters_and_says_so():
    text = """
  push:     {type: Constant, value: 0.3}
  friction: {type: Coulomb, Fc: 1.0, law: sign, in: speed}
  net:      {type: Sum, signs: "+-", in: [push, friction]}
  speed:    {type: Integrator, x: 1.0, in: net}
"""
    with pytest.raises(bs.SimulationError, match=r"block 'friction'.*Coulomb.*again and again") as caught:
        run(text, 5.0)
    assert caught.value.time == pytest.approx(1.0 / 0.7, abs=1e-6)


def test_the_smooth_law_creeps_where_the_true_one_sticks():
    """At the balance Fc tanh(beta w) = load the smooth body moves with atanh(load/Fc) / beta."""
    text = BODY.replace("law: sign", "law: tanh").format(friction="Coulomb, Fc: 1.0, beta: 50.0", v=0.0)
    record = run("  push: {type: Constant, value: 0.5}" + text, 3.0)
    assert record["speed"][-1] == pytest.approx(math.atanh(0.5) / 50.0, rel=1e-8)


def test_viscous_friction_is_an_exponential():
    record = run("  push: {type: Constant, value: 0.0}" + BODY.format(friction="Coulomb, Fc: 0.5, Fv: 2.0", v=1.0), 2.0)
    stops = math.log(1 + 2.0 / 0.5) / 2.0
    speed = np.where(record.t < stops, 1.25 * np.exp(-2 * record.t) - 0.25, 0.0)
    assert record["speed"] == pytest.approx(speed, abs=1e-9)


# ---- stick-slip on a moving belt ---------------------------------------------------------------------------------------

BELT = """
  belt:     {{type: Constant, value: {V}}}
  slip:     {{type: Sum, signs: "+-", in: [speed, belt]}}
  spring:   {{type: Gain, k: {k}, in: place}}
  pull:     {{type: Gain, k: -1.0, in: spring}}
  friction: {{type: Stribeck, Fc: {Fc}, Fs: {Fs}, vs: {vs}, law: sign, in: {{w: slip, applied: pull}}}}
  net:      {{type: Sum, signs: "+-", in: [pull, friction]}}
  speed:    {{type: Integrator, x: {V}, in: net}}
  place:    {{type: Integrator, in: speed}}
"""


def rises(t, x, level):
    """The instants at which x rises through a level, on straight lines between samples."""
    i = np.nonzero((x[:-1] < level) & (x[1:] >= level))[0]
    return t[i] + (level - x[i]) * (t[i + 1] - t[i]) / (x[i + 1] - x[i])


def test_stick_slip_against_the_sinusoid_between_two_rests():
    """With vs next to nothing the friction is Fs at rest and Fc in motion. A unit mass on a spring k then sticks to the belt
    from x = (2 Fc - Fs)/k to Fs/k, and slips along x = Fc/k + (Fs - Fc)/k cos(wt) + V/w sin(wt) until x' = V again."""
    V, k, Fc, Fs = 0.2, 4.0, 1.0, 1.5
    record = run(BELT.format(V=V, k=k, Fc=Fc, Fs=Fs, vs=1e-8), 20.0)
    t, x = record.t, record["place"]
    w = math.sqrt(k)
    slips = 2.0 / w * (math.pi - math.atan((Fs - Fc) * w / (k * V)))
    sticks = 2.0 * (Fs - Fc) / (k * V)
    periods = np.diff(rises(t, x, Fc / k))  # there the body sticks and x is a straight line
    assert len(periods) >= 4
    assert periods == pytest.approx(slips + sticks, abs=5e-5)
    assert x.max() == pytest.approx(Fc / k + math.hypot((Fs - Fc) / k, V / w), abs=1e-4)
    late = t > 5
    assert x[late].min() == pytest.approx(Fc / k - math.hypot((Fs - Fc) / k, V / w), abs=1e-4)
    assert record.provenance["work"]["events"] <= 2 * (len(periods) + 3)


def stick_slip_by_scipy(V, k, Fc, Fs, vs, until):
    """Phase after phase with solve_ivp's own events: places of sticking, and the cycle's instants."""

    def slipping(t, s):
        return s[1], -k * s[0] + Fc + (Fs - Fc) * math.exp(-(((s[1] - V) / vs) ** 2))  # the belt drags it on

    def catches(t, s):
        return s[1] - V

    catches.terminal, catches.direction = True, 1
    t, x, instants = 0.0, 0.0, []
    while t < until:
        t += (Fs / k - x) / V
        instants.append(t)
        # past the instant of the break-away, where the slope is zero: the body falls behind by -k V t^2/2
        start = 1e-5
        begin = (Fs / k + V * start, V - 0.5 * k * V * start**2)
        found = solve_ivp(slipping, (t + start, t + 100), begin, "DOP853", events=catches, rtol=1e-12, atol=1e-14, max_step=0.01)
        t, x = found.t[-1], found.y[0, -1]
        instants.append(t)
    return np.array(instants)


def test_stick_slip_with_a_stribeck_curve_against_scipy():
    V, k, Fc, Fs, vs = 0.2, 4.0, 1.0, 1.5, 0.15
    expected = stick_slip_by_scipy(V, k, Fc, Fs, vs, 15.0)
    record = run(BELT.format(V=V, k=k, Fc=Fc, Fs=Fs, vs=vs), 15.0, every=0.001)
    t, slip = record.t, record["slip"]
    stuck = abs(slip) < 1e-12
    changes = t[1:][stuck[1:] != stuck[:-1]]
    expected = expected[expected < 15.0]
    assert len(changes) == len(expected) >= 6
    assert changes == pytest.approx(expected, abs=2.1e-3)  # the log's grid, and the start by a series


# ---- LuGre, Bouc-Wen ---------------------------------------------------------------------------------------------------

LUGRE = "sigma0: 50.0, sigma1: 2.0, sigma2: 0.3, Fc: 1.0, Fs: 1.5, vs: 0.1"


@pytest.mark.parametrize("speed", [0.05, -0.4])
def test_lugre_at_a_constant_speed(speed):
    """z = z_end (1 - exp(-sigma0 |w| t / g)), z_end = g sign(w) / sigma0; F ends at g sign(w) + sigma2 w."""
    record = run(f"  w: {{type: Constant, value: {speed}}}\n  f: {{type: LuGre, {LUGRE}, in: w}}\n", 4.0)
    g = 1.0 + 0.5 * math.exp(-((speed / 0.1) ** 2))
    rate = 50.0 * abs(speed) / g
    z = math.copysign(g / 50.0, speed) * (1 - np.exp(-rate * record.t))
    assert record["f.z"] == pytest.approx(z, abs=1e-9)
    assert record["f.F"] == pytest.approx(50.0 * z + 2.0 * speed * np.exp(-rate * record.t) + 0.3 * speed, abs=1e-7)
    assert record["f.F"][-1] == pytest.approx(math.copysign(g, speed) + 0.3 * speed, abs=0.02)


def test_lugre_is_a_spring_before_it_slips():
    """Moved by 1e-6 rad, a ten-thousandth of the bend at which it slips, it pulls like sigma0."""
    text = f"  m: {{type: FourierTrajectory, base_frequency: 0.5, a: [1e-6]}}\n  f: {{type: LuGre, {LUGRE}, in: m.qd}}\n"
    record = run(text, 2.0, atol=1e-16)
    z, x = record["f.z"], record["m.q"] - record["m.q"][0]
    assert z == pytest.approx(x, rel=1e-3, abs=1e-10)


def test_lugre_sticks_and_slips_as_in_the_paper():
    """Canudas de Wit et al. 1995, section III.C: unit mass, spring 2 N/m pulled at 0.1 m/s; against scipy's own integration."""
    k, pull = 2.0, 0.1
    s0, s1, s2, Fc, Fs, vs = 1e5, math.sqrt(1e5), 0.4, 1.0, 1.5, 0.001

    def slope(t, s):
        x, v, z = s
        dz = v - s0 * abs(v) / (Fc + (Fs - Fc) * math.exp(-((v / vs) ** 2))) * z
        return v, k * (pull * t - x) - (s0 * z + s1 * dz + s2 * v), dz

    t = np.arange(0.0, 20.001, 0.05)
    expected = solve_ivp(slope, (0, 20), (0, 0, 0), "Radau", t_eval=t, rtol=1e-9, atol=1e-11).y[0]
    text = f"""
  end:      {{type: Ramp, slope: {pull}}}
  stretch:  {{type: Sum, signs: "+-", in: [end, x]}}
  spring:   {{type: Gain, k: {k}, in: stretch}}
  friction: {{type: LuGre, sigma0: {s0}, sigma1: {s1}, sigma2: {s2}, Fc: {Fc}, Fs: {Fs}, vs: {vs}, in: v}}
  net:      {{type: Sum, signs: "+-", in: [spring, friction.F]}}
  v:        {{type: Integrator, in: net}}
  x:        {{type: Integrator, in: v}}
"""
    record = run(text, 20, solver="rodas4", rtol=1e-7, atol=1e-9, every=0.05)
    assert record["x"] == pytest.approx(expected, abs=1e-5)
    assert (np.diff(record["x"]) < 1e-4).mean() > 0.5 and record["x"][-1] > 1.0  # mostly at rest, yet it follows the pull


def test_bouc_wen_on_the_way_out_and_back():
    """n = 1: dz/dx = A - (beta + gamma) z  on the way out, A + (beta - gamma) z on the way back."""
    A, beta, gamma = 1.3, 2.0, 0.5
    text = (
        "  m: {type: FourierTrajectory, base_frequency: 0.5, a: [1.0]}\n"  # q = sin(pi t): out until t = 1/2
        f"  b: {{type: BoucWen, k: 3.0, a: 0.2, A: {A}, beta: {beta}, gamma: {gamma}, in: {{x: m.q, v: m.qd}}}}\n"
    )
    record = run(text, 0.7)
    x, t = record["m.q"], record.t
    out = A / (beta + gamma) * (1 - np.exp(-(beta + gamma) * x))
    top = A / (beta + gamma) * (1 - math.exp(-(beta + gamma)))
    fall = A / (beta - gamma)  # on the way back z -> -fall as long as it is positive
    back = (top + fall) * np.exp((beta - gamma) * (x - 1.0)) - fall
    expected = np.where(t <= 0.5, out, back)
    positive = expected > 0
    assert positive.sum() > 55
    assert record["b.z"][positive] == pytest.approx(expected[positive], abs=1e-8)
    assert record["b.F"] == pytest.approx(0.2 * 3.0 * x + 0.8 * 3.0 * record["b.z"], abs=1e-12)


def test_bouc_wen_of_order_two_is_a_hyperbolic_tangent():
    """n = 2: z = s tanh(A x / s), s^2 = A / (beta + gamma)."""
    text = "  v: {type: Constant, value: 0.5}\n  x: {type: Integrator, in: v}\n"
    record = run(text + "  b: {type: BoucWen, beta: 3.0, gamma: 1.0, n: 2.0, in: [x, v]}\n", 4.0)
    assert record["b.z"] == pytest.approx(0.5 * np.tanh(record["x"] / 0.5), abs=1e-9)


def test_bouc_wen_holds_the_hysteresis_of_the_robots():
    for z, v in [(0.3, 2.0), (-0.2, 1.0), (0.3, -2.0), (0.0, 1.0)]:
        assert BoucWen.derivative(z, v, 5.0, 2.0, 0.0, 1.0) == pytest.approx(hysteresis_rate(z, v, 2.0, 5.0))


# ---- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("Coulomb", {}, "'Fc' must be given: Coulomb friction [N m]."),
        ("Coulomb", {"Fc": 1, "law": "signum"}, "'signum' is not one of tanh, sign."),
        ("Stribeck", {"Fc": 1, "Fs": 2, "vs": 0}, "vs: must be above 0, found 0."),
        ("LuGre", {"sigma0": 1, "Fc": 0}, "Fc: must be above 0, found 0."),
        ("BoucWen", {"beta": 1, "n": 0.5}, "n: must be at least 1, found 0.5."),
    ],
)
def test_wrong_settings_are_named(name, settings, words):
    with pytest.raises(bs.DiagramError) as caught:
        blocks.LIBRARY[name](**settings)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["Coulomb", "Stribeck", "LuGre", "BoucWen"])
def test_the_example_gives_the_same_bits_compiled(name):
    plain, fast = (bs.simulate(blocks.LIBRARY[name].example, stop=1.0, engine=engine) for engine in ("python", "compiled"))
    for signal in plain:
        assert (plain[signal] == fast[signal]).all()
