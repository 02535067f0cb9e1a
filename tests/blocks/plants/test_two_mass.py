"""The two- and three-mass robots: their equations, modes and regressors against independent transcriptions and closed forms."""

import inspect
import math

import numpy as np
import pytest

import blocks
import blocksim as bs
from blocks.plants.three_mass import ThreeMassRobot
from blocks.plants.two_mass import TwoMassRobot
from blocksim.contract.declarations import Memory, State
from blocksim.contract.plant import Plant
from blocksim.simulation.prepare import experiment
from blocksim.tracing.equations import equations

EXACT = {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12, "engine": "python"}
TABLE = {"Jm": 1.21e-2, "Ja": 1.13e3, "Fv": 1.3e-2, "Fc": 0.644, "k1": 1.46e6, "k3": 3.72e10, "d": 2.63e3, "r": 4.46e-3}
FREE = {"Fv": 0.0, "Fc": 0.0, "k1": 0.0, "k3": 0.0, "d": 0.0}
FULL = {"alpha": 1e3, "A": 1e7, "q": 1e-3}


def run(robot, stop, torque="{type: Constant, value: 0.0}", kind="TwoMassRobot", every=0.01, **options):
    settings = ", ".join(f"{name}: {value}" for name, value in robot.items())
    text = f"""
format: 1
simulate: {{stop: {stop}, every: {every}}}
blocks:
  torque: {torque}
  robot: {{type: {kind}, {settings}, in: torque}}
"""
    return bs.simulate(text, **{**EXACT, **options})


def call(kind, function, **values):
    """A block's function with its default settings, some changed."""
    declared = {name: d.default for name, d in kind.declared.items()}
    asked = inspect.signature(kind.functions[function]).parameters
    return kind.functions[function](**{name: {**declared, **values}[name] for name in asked})


# ---- equations ---------------------------------------------------------------------------------------------------------


def test_defaults_are_table_7_1_with_hysteresis_and_backlash_off():
    assert TwoMassRobot().settings.items() >= {**TABLE, "beta": 1.0, "alpha": 0.0, "A": 0.0, "q": 0.0}.items()


def test_the_derivative_is_equation_4_8():
    rng = np.random.default_rng(1)
    for x1, x2, x3, x4, x5, u in rng.normal(size=(20, 6)) * [0.2, 30, 1e-3, 0.1, 3e3, 5]:
        p, alpha, A = TABLE, 1e3, 1e7
        e, de = p["r"] * x1 - x3, p["r"] * x2 - x4
        torque = p["d"] * de + p["k1"] * e + p["k3"] * e**3 + x5
        expected = (
            x2,
            (-p["Fv"] * x2 - p["Fc"] * math.tanh(x2) - p["r"] * torque + u) / p["Jm"],
            x4,
            torque / p["Ja"],
            -alpha * abs(de) * x5 + A * de,
        )
        state = {"phi_m": x1, "w_m": x2, "phi_a": x3, "w_a": x4, "z": x5}
        assert call(TwoMassRobot, "derivative", **state, tau=u, alpha=alpha, A=A) == pytest.approx(expected, rel=1e-9)
        assert call(TwoMassRobot, "output_tau_s", **state) == pytest.approx(torque, rel=1e-9)


def test_the_three_masses_follow_newton():
    rng = np.random.default_rng(2)
    for x in rng.normal(size=(20, 8)) * [0.2, 30, 1e-3, 0.1, 1e-3, 0.1, 3e3, 5]:
        phi_m, w_m, phi_g, w_g, phi_a, w_a, z, tau = x
        state = dict(zip(("phi_m", "w_m", "phi_g", "w_g", "phi_a", "w_a", "z", "tau"), x, strict=True))
        p = ThreeMassRobot().settings
        slopes = call(ThreeMassRobot, "derivative", **state)
        e, de = p["r"] * phi_m - phi_g, p["r"] * w_m - w_g
        gear = p["k1"] * e + p["k3"] * e**3 + p["d"] * de + z
        arm = p["k2"] * (phi_g - phi_a) + p["d2"] * (w_g - w_a)
        motor = tau - p["Fv"] * w_m - p["Fc"] * math.tanh(p["beta"] * w_m) - p["r"] * gear
        assert slopes == pytest.approx((w_m, motor / p["Jm"], w_g, (gear - arm) / p["Jg"], w_a, arm / p["Ja"], 0.0), rel=1e-9)
        assert tuple(call(ThreeMassRobot, f"output_{n}", **state) for n in ("tau_s", "tau_a")) == pytest.approx(
            (gear, arm), rel=1e-9
        )


@pytest.mark.parametrize("friction", ["tanh", "sign", "stribeck"])
@pytest.mark.parametrize("backlash", ["thesis", "elasto", "elasto2"])
def test_everything_off_leaves_a_free_motor(friction, backlash):
    """phi_m = tau t^2 / (2 Jm), and nothing reaches the arm: not one bit."""
    record = run({**FREE, "friction": friction, "backlash": backlash}, 1.0, "{type: Constant, value: 0.5}")
    assert record["robot.phi_m"] == pytest.approx(0.25 * record.t**2 / 1.21e-2, rel=1e-9, abs=1e-12)
    for name in ("phi_a", "w_a", "tau_s", "z"):
        assert (record[f"robot.{name}"] == 0.0).all()


@pytest.mark.parametrize(("speed", "z0"), [(0.5, 0.0), (0.5, -8e3), (-0.5, 4e3)])
def test_hysteresis_saturates_along_a_monotone_path(speed, z0):
    """x5 = +-A/alpha + (x5_0 -+ A/alpha) exp(-alpha |dphi|), A/alpha = 1e4 N m; masses too heavy to be stopped."""
    heavy = {**FREE, "Jm": 1e30, "Ja": 1e30, "w_m": speed, "z": z0, "alpha": 1e3, "A": 1e7}
    record = run(heavy, 5.0)
    phi = 4.46e-3 * record["robot.phi_m"]
    top = math.copysign(1e4, speed)
    assert record["robot.z"] == pytest.approx(top + (z0 - top) * np.exp(-1e3 * abs(phi)), rel=1e-8, abs=1e-5)
    assert record["robot.z"][-1] == pytest.approx(top, rel=1e-3)
    assert record["robot.tau_s"] == pytest.approx(record["robot.z"])


# ---- dry friction ------------------------------------------------------------------------------------------------------

SOLVERS = [
    {"solver": "dopri5"},
    {"solver": "rodas4"},
    {"solver": "euler", "step": 1e-3},
    {"solver": "heun", "step": 1e-3},
    {"solver": "rk4", "step": 1e-2},
    {"solver": "scipy:Radau"},
    {"solver": "scipy:LSODA"},
]


@pytest.mark.parametrize("options", SOLVERS, ids=lambda o: o["solver"])
@pytest.mark.parametrize("source", ["{type: Constant, value: 0.0}", "{type: WhiteNoise, std: 0.0, Ts: 0.02}"])
def test_a_sliding_motor_stops_for_good(options, source):
    """Without a gear: stops after Jm w / Fc, having turned by Jm w^2 / (2 Fc), and then stands exactly."""
    record = run({**FREE, "Fc": 0.644, "w_m": 40.0, "friction": "sign"}, 2.0, source, **options)
    stops, t = 1.21e-2 * 40 / 0.644, record.t
    first_order = options["solver"] == "euler"
    turned = np.where(t < stops, 40 * t - 0.644 / 1.21e-2 * t**2 / 2, 20 * stops)
    assert record["robot.phi_m"] == pytest.approx(turned, abs=0.03 if first_order else 1e-7)
    rest = t > stops + 1e-9
    assert (record["robot.w_m"][rest] == 0.0).all() and np.ptp(record["robot.phi_m"][rest]) == 0.0
    assert (record["robot.w_m"][t < stops - 1e-9] > 0.0).all()
    assert record.provenance["work"]["events"] <= 2


@pytest.mark.parametrize("law", [{"friction": "sign"}, {"friction": "stribeck", "Fs": 0.9, "vs": 1e-9}, {"friction": "stribeck"}])
@pytest.mark.parametrize("way", [1, -1])
def test_break_away_comes_at_the_right_torque(law, way):
    """A ramp moves the motor from the instant at which it exceeds Fs; from then on Fc acts."""
    record = run({**FREE, "Fc": 0.644, **law}, 2.0, f"{{type: Ramp, slope: {0.6 * way}}}", rtol=1e-9)
    away = law.get("Fs", 0.644)
    t = np.maximum(record.t - away / 0.6, 0.0)
    speed = way * ((away - 0.644) * t + 0.3 * t**2) / 1.21e-2
    assert (record["robot.w_m"][t == 0.0] == 0.0).all()
    assert record["robot.w_m"] == pytest.approx(speed, abs=1e-3 if "Fs" in law else 1e-7)  # vs delays the fall by some us
    assert record.provenance["work"]["events"] == 1


def test_a_stuck_motor_is_a_wall_for_the_arm():
    """The arm swings on the spring at sqrt(k1/Ja) while the motor stands: r k1 phi stays below Fc."""
    start = 0.9 * 0.644 / (4.46e-3 * 1.46e6)
    record = run({"k3": 0.0, "d": 0.0, "friction": "sign", "phi_a": start}, 1.0)
    assert (record["robot.w_m"] == 0.0).all() and (record["robot.phi_m"] == 0.0).all()
    swing = start * np.cos(math.sqrt(1.46e6 / 1.13e3) * record.t)
    assert record["robot.phi_a"] == pytest.approx(swing, abs=1e-8 * start + 1e-12)
    assert record["robot.tau_s"] == pytest.approx(-1.46e6 * swing, rel=1e-6, abs=1e-4)
    assert record.provenance["work"]["events"] == 0


@pytest.mark.parametrize("options", SOLVERS[:2] + SOLVERS[4:6], ids=lambda o: o["solver"])
@pytest.mark.parametrize("source", ["{type: Sine, amplitude: 0.9, frequency: 0.7}", "{type: ZeroOrderHold, Ts: 0.01, in: wave}"])
def test_sticking_and_slipping_between_never_chatters(options, source):
    """The motor stands exactly while |tau - r tau_s| is within Fc, and every phase begins and ends with one event."""
    text = f"""
format: 1
simulate: {{stop: 2.0, every: 0.001, step: 0.001, rtol: 1e-8}}
blocks:
  wave: {{type: Sine, amplitude: 0.9, frequency: 0.7}}
  torque: {source}
  robot: {{type: TwoMassRobot, friction: sign, in: torque}}
"""
    record = bs.simulate(text, engine="python", **{k: v for k, v in options.items() if k == "solver"})
    w, load = record["robot.w_m"], record["torque"] - 4.46e-3 * record["robot.tau_s"]
    stands = w == 0.0
    assert 0.1 < stands.mean() < 0.9
    stays = stands[:-1] & stands[1:]
    assert (abs(load[:-1][stays]) <= 0.644 + 1e-9).all()
    phases = np.count_nonzero(stands[1:] != stands[:-1]) + np.count_nonzero(w[1:] * w[:-1] < 0)
    assert phases > 5 and record.provenance["work"]["events"] <= phases + 2


def test_a_motor_that_starts_with_a_speed_slips_that_way():
    record = run({**FREE, "Fc": 0.644, "w_m": -5.0, "friction": "sign"}, 0.05, "{type: Constant, value: 0.5}")
    assert record["robot.w_m"] == pytest.approx(-5.0 + (0.5 + 0.644) / 1.21e-2 * record.t, abs=1e-7)


# ---- backlash ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backlash", ["thesis", "elasto", "elasto2"])
@pytest.mark.parametrize("kind", ["TwoMassRobot", "ThreeMassRobot"])
def test_a_gap_is_crossed_freely_and_left_as_it_was_entered(backlash, kind):
    """At the relative speed v: contact after q/(2 v), for half a period of sqrt(k1 (r^2/Jm + 1/J)), then back at -v."""
    r, J, k1, q, speed = 4.46e-3, 1.13e3, 1.46e6, 1e-3, 2.0
    robot = {"Fv": 0.0, "Fc": 0.0, "k3": 0.0, "d": 0.0, "q": q, "w_m": speed, "backlash": backlash}
    if kind == "ThreeMassRobot":
        robot |= {"Jg": J, "k2": 0.0, "d2": 0.0}
    side = "g" if kind == "ThreeMassRobot" else "a"
    v, rate = r * speed, math.sqrt(k1 * (r**2 / 1.21e-2 + 1 / J))
    gap, contact = q / v, math.pi / rate
    record = run(robot, 0.5 * gap + 2 * contact + 1.2 * gap, kind=kind, every=1e-3, rtol=1e-11, atol=1e-14)
    phi = r * record["robot.phi_m"] - record[f"robot.phi_{side}"]
    t = record.t + 0.5 * gap  # as if it had come from the other edge
    phase = t % (gap + contact)
    swing = np.where(phase < gap, -0.5 * q + v * phase, 0.5 * q + v / rate * np.sin(rate * (phase - gap)))
    expected = np.where(t // (gap + contact) % 2 == 0, swing, -swing)
    assert phi == pytest.approx(expected, abs=1e-9)
    free = abs(expected) < 0.4999 * q
    assert free.sum() > 100 and (record["robot.tau_s"][free] == 0.0).all()
    pushed = k1 * (expected - np.copysign(0.5 * q, expected))
    assert record["robot.tau_s"][~free] == pytest.approx(np.where(abs(expected) > 0.5 * q, pushed, 0.0)[~free], abs=0.05)


@pytest.mark.parametrize("backlash", ["thesis", "elasto2"])
def test_the_jump_at_impact_is_the_damper(backlash):
    """Up to the contact nothing, from then on d w at once."""
    v = 4.46e-3 * 2.0
    record = run({**FREE, "d": 2.63e3, "q": 1e-3, "w_m": 2.0, "backlash": backlash}, 0.06, every=1e-5)
    at = 0.5e-3 / v
    before, after = record["robot.tau_s"][record.t < at], record["robot.tau_s"][record.t > at]
    assert (before == 0.0).all() and after[0] == pytest.approx(2.63e3 * v, rel=1e-4)


# ---- inverse dynamic model ---------------------------------------------------------------------------------------------

LAWS = [{"friction": f, "backlash": b, "Fs": 1.1} for f in ("tanh", "sign", "stribeck") for b in ("thesis", "elasto", "elasto2")]


@pytest.mark.parametrize("kind", [TwoMassRobot, ThreeMassRobot])
@pytest.mark.parametrize("law", LAWS, ids=lambda o: f"{o['friction']}-{o['backlash']}")
@pytest.mark.parametrize("full", [{}, FULL], ids=["plain", "full"])
def test_regressor_times_parameters_is_the_torque(kind, law, full):
    rng = np.random.default_rng(3)
    names = [n for n in kind.declared if n.startswith(("phi_", "w_"))]
    settings = {**kind().settings, **law, **full}
    signals = {n: rng.normal(size=200) * {"phi_m": 0.3, "w_m": 2.0}.get(n, 1e-3 if n[0] == "p" else 0.02) for n in names}
    signals |= {"z": rng.normal(size=200) * 3e3 if full else np.zeros(200), "tau": rng.normal(size=200) * 5}
    slopes = []
    for k in range(200):
        now = {n: float(v[k]) for n, v in signals.items()}
        phi = settings["r"] * now["phi_m"] - now[names[2]]
        side = float(np.sign(phi)) if abs(phi) >= settings["q"] / 2 else 0.0
        slopes.append(call(kind, "derivative", **{**settings, **now, "side": side, "mode": float(np.sign(now["w_m"]))}))
    states = [n for n in kind.declared if n in (*names, "z")]
    signals |= {f"d{n}": v for n, v in zip(states, np.array(slopes).T, strict=True)}
    asked = inspect.signature(kind.regressor).parameters
    rows = kind.regressor(**{n: {**settings, **signals}[n] for n in asked})
    parameters = np.array([settings[n] for n in kind.inverse_parameters])
    assert rows.shape == (200, len(names) // 2, len(parameters))
    torque = rows @ parameters
    assert torque[:, 0] == pytest.approx(signals["tau"], rel=1e-9, abs=1e-8)
    scale = abs(rows * parameters).sum(axis=-1)[:, 1:]
    assert (abs(torque[:, 1:]) <= 1e-12 * scale + 1e-8).all()
    single = kind.regressor(**{n: (v[7] if np.ndim(v := {**settings, **signals}[n]) else v) for n in asked})
    assert single == pytest.approx(rows[7])


# ---- engines, solvers, sweeps ------------------------------------------------------------------------------------------

RICH = """
format: 1
simulate: {{stop: 1.0, solver: dopri5, rtol: 1e-9, atol: 1e-11, every: 0.01}}
blocks:
  noise:  {{type: WhiteNoise, std: 4.0, Ts: 0.05}}
  wave:   {{type: Sine, amplitude: 5.0, frequency: 3.3}}
  torque: {{type: Sum, in: [noise, wave]}}
  robot:  {{type: {kind}, friction: stribeck, Fs: 1.2, backlash: elasto2, alpha: 1e4, A: 1e6, q: 4e-4, in: torque}}
"""


@pytest.fixture(scope="module", params=["TwoMassRobot", "ThreeMassRobot"])
def rich(request):
    ready = experiment(RICH.format(kind=request.param))
    return ready, bs.simulate(ready, engine="compiled")


def test_cpython_and_the_compiled_program_agree_bit_for_bit(rich):
    ready, fast = rich
    plain = bs.simulate(ready, engine="python")
    for signal in fast:
        assert (plain[signal] == fast[signal]).all()
    assert fast.provenance["work"] == plain.provenance["work"]
    assert fast.provenance["work"]["events"] > 10  # it sticks, slips and closes its gap


def test_scipy_agrees(rich):
    ready, fast = rich
    reference = bs.simulate(ready, solver="scipy:Radau")
    for signal in fast:
        assert fast[signal] == pytest.approx(reference[signal], abs=2e-5 * abs(reference[signal]).max())


def test_parameters_are_swept_without_compiling_anew(rich):
    """Runs of one program are the runs of diagrams of their own."""
    ready, _ = rich
    sets = [{"robot.k1": 2e6, "robot.Fc": 0.3}, {"robot.q": 2e-3, "robot.A": 0.0}]
    assert all(experiment(ready, one) is ready for one in sets)
    assert all(experiment(ready, one) is not ready for one in ({"robot.q": 0.0}, {"robot.friction": "tanh"}))
    for one, record in zip(sets, bs.simulate_many(ready, params=sets, jobs=1), strict=True):
        alone = bs.simulate(ready.diagram, params=one, engine="compiled")
        assert (record["robot.w_m"] == alone["robot.w_m"]).all()


def test_the_stopping_time_follows_swept_friction():
    ready = experiment("""
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-2}
blocks:
  torque: {type: Constant, value: 0.0}
  robot: {type: TwoMassRobot, Fv: 0.0, k1: 0.0, k3: 0.0, d: 0.0, w_m: 40.0, friction: sign, in: torque}
""")
    values = [0.2, 0.5, 1.0]
    ends = bs.simulate_many(ready, params={"robot.Fc": values}, collect=lambda r: r["robot.phi_m"][-1])
    assert ends == pytest.approx([1.21e-2 * 800 / Fc for Fc in values], rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"Jm": 0.0}, "Jm: must be above 0, found 0."),
        ({"q": -1e-3}, "q: must be at least 0, found -0.001."),
        ({"friction": "stick"}, "'stick' is not one of tanh, sign, stribeck."),
        ({"backlash": "play"}, "'play' is not one of thesis, elasto, elasto2."),
        ({"k2": 1.0}, "no parameter 'k2'. TwoMassRobot takes: Jm, Fv"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(bs.DiagramError) as caught:
        blocks.LIBRARY["TwoMassRobot"](**settings)
    assert words in str(caught.value)


# ---- loads -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TwoMassRobot, ThreeMassRobot])
def test_loads_take_their_share_of_the_torque(kind):
    here = {"phi_m": 0.4, "w_m": 3.0, "phi_a": 0.3, "w_a": 0.01, "phi_g": 0.002, "w_g": 0.02, "tau": 5.0}
    loads = {"offset": 0.7, "load": 20.0, "Ms": 4.0, "theta0": 0.2, "loaded": True}
    for law in ("derivative", "equations"):
        free, loaded = call(kind, law, **here), call(kind, law, **here, **loads)
        rate = {name: k for k, name in enumerate(n for n in kind.of(State) if n not in kind.of(Memory))}
        assert loaded[rate["w_m"]] == pytest.approx(free[rate["w_m"]] - 0.7 / kind.declared["Jm"].default)
        lost = 20.0 + 4.0 * 9.81 * math.cos(0.3 + 0.2)
        assert loaded[rate["w_a"]] == pytest.approx(free[rate["w_a"]] - lost / kind.declared["Ja"].default)


@pytest.mark.parametrize("kind", ["TwoMassRobot", "ThreeMassRobot"])
def test_an_arm_at_rest_hangs_on_the_torsion_of_its_gear(kind):
    # The motor sticks, a wall. What the gear bears is the load and the weight; its cubic spring says how far it is twisted.
    text = f"""
format: 1
simulate: {{stop: 12.0, every: 0.1}}
blocks:
  none:  {{type: Constant, value: 0.0}}
  push:  {{type: Constant, value: 30.0}}
  robot: {{type: {kind}, friction: sign, Ms: 5.0, theta0: 0.5, in: {{tau: none, load: push}}}}
"""
    record = bs.simulate(text, solver="dopri5", rtol=1e-8, atol=1e-10, engine="python")
    bears = 30.0 + 5.0 * 9.81 * math.cos(0.5 + record["robot.phi_a"][-1])
    assert record["robot.phi_m"][-1] == 0.0
    assert record["robot.tau_s"][-1] == pytest.approx(bears, rel=1e-4)
    torsion = record["robot.torsion"][-1]
    assert 1.46e6 * torsion + 3.72e10 * torsion**3 == pytest.approx(bears, rel=1e-4)


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_an_offset_is_a_torque_that_is_lost(friction):
    wave = "{{type: Sine, amplitude: 5.0, frequency: 2.0, bias: {}}}"
    shifted = run({"friction": friction, "offset": 0.5}, 1.0, wave.format(1.5))
    plain = run({"friction": friction}, 1.0, wave.format(1.0))
    assert shifted["robot.w_m"] == pytest.approx(plain["robot.w_m"], abs=1e-6 * np.abs(plain["robot.w_m"]).max())
    assert TwoMassRobot.effort(np.array([1.5]), 0.5)[0, 0] == 1.0


def test_the_regressor_knows_weight_and_offset():
    """Ja dw_a = tau_s - Ms g cos(phi_a + theta0), Jm dw_m = tau - offset - ... - r tau_s, written out here."""
    rng = np.random.default_rng(5)
    settings = {**TwoMassRobot().settings, "Ms": 90.0, "theta0": 0.2, "offset": 0.4, "Fc": 0.6, "beta": 2.0}
    phi_m, w_m, phi_a, w_a, tau = rng.normal(size=(5, 50)) * np.array([[100], [30], [0.5], [0.2], [5]])
    phi_a = settings["r"] * phi_m - 1e-3 * phi_a
    phi, w = settings["r"] * phi_m - phi_a, settings["r"] * w_m - w_a
    gear = settings["k1"] * phi + settings["k3"] * phi**3 + settings["d"] * w
    friction = settings["Fv"] * w_m + 0.6 * np.tanh(2.0 * w_m)
    signals = {"dw_m": (tau - 0.4 - friction - settings["r"] * gear) / settings["Jm"],
               "dw_a": (gear - 90.0 * 9.81 * np.cos(phi_a + 0.2)) / settings["Ja"]}  # fmt: skip
    signals |= {"phi_m": phi_m, "w_m": w_m, "phi_a": phi_a, "w_a": w_a, "z": np.zeros(50)}
    plant = Plant(TwoMassRobot, settings)
    assert plant.parameters == (*TwoMassRobot.inverse_parameters, "Ms", "offset")
    rows, values = plant.regressor(signals), np.array(list(plant.values.values()))
    assert rows @ values == pytest.approx(plant.effort(tau), abs=1e-8)
    assert plant.effort(tau)[:, 0] == pytest.approx(tau)  # the offset is sought, not known
    plant = Plant(TwoMassRobot, {**settings, "Ms": 0.0})  # nor is it without a weight
    assert plant.parameters == (*TwoMassRobot.inverse_parameters, "offset") and plant.effort(tau)[:, 0] == pytest.approx(tau)


def test_observers_know_gravity_but_no_load_and_three_masses_have_no_row_for_it():
    plain, heavy = (equations(TwoMassRobot, TwoMassRobot(Ms=m).settings) for m in (0.0, 4.0))
    assert plain.inputs == heavy.inputs == ("tau",)
    assert set(heavy.parameters) - set(plain.parameters) == {"Ms", "theta0", "g", "offset"}
    x = [0.4, 3.0, 0.3, 0.01, 0.0]
    rates = [eq.function("f", ("f",))(x, [5.0], eq.values) for eq in (plain, heavy)]
    assert rates[1][3] == pytest.approx(rates[0][3] - 4.0 * 9.81 * math.cos(0.3) / 1.13e3)
    with pytest.raises(bs.RecordError, match="knows no gravity; use OutputError"):
        call(ThreeMassRobot, "regressor", Ms=4.0, dw_m=0.0, dw_g=0.0, dw_a=0.0)
