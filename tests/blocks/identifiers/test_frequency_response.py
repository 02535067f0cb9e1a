"""Empirical transfer functions against closed forms and scipy, and the two-mass parameters found from them."""

import numpy as np
import pytest
from scipy import signal

import blocksim as bs
from blocks.identifiers.frequency_response import plot_response
from blocks.identifiers.two_mass_response import Robot, mean_springs
from blocksim.estimation.estimates import Estimates

TABLE = {"Jm": 1.21e-2, "Ja": 1.13e3, "k1": 1.46e6, "Fv": 1.3e-2, "d": 2.63e3}
R = 4.46e-3
#: More friction than in Table 7.1, so that the robot settles within seconds rather than a minute.
LINEAR = """
format: 1
simulate: {stop: 14, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}
parameters: {std: 0.0}
blocks:
  lines:    {type: Multisine, f_min: 1, f_max: 40, lines: 40, amplitude: 10}
  u:        SOURCE
  robot:    {type: TwoMassRobot, Fv: 0.1, Fc: 0, k3: 0, in: u}
  noise:    {type: WhiteNoise, Ts: 2e-3, std: "${std}"}
  y:        {type: Sum, in: [robot.w_m, noise]}
  response: {type: FrequencyResponse, period: 1, skip: [8, 0], model: robot, in: [u, y]}
"""
SMOOTH = LINEAR.replace("SOURCE", "{type: Gain, k: 1, in: lines}")
HELD = LINEAR.replace("SOURCE", "{type: ZeroOrderHold, Ts: 2e-3, in: lines}").replace("skip: [8, 0]", "skip: [8, 0], hold: zero")
#: Noise excites a speed loop; the sensor's noise comes back through the controller.
LOOP = """
format: 1
simulate: {stop: 130, solver: rk4, step: 4e-3, every: 4e-3, seed: 1}
parameters: {std: 8.0}
blocks:
  shake:    {type: FilteredNoise, amplitude: 15, cutoff: 15, order: 2, Ts: 4e-3}
  error:    {type: Gain, k: -1, in: y}
  pi:       {type: PID, Ts: 4e-3, kp: 0.6, ki: 0, in: error}
  u:        {type: Sum, in: [pi, shake]}
  robot:    {type: TwoMassRobot, Fc: 0, k3: 0, in: u}
  hold:     {type: ZeroOrderHold, Ts: 4e-3, in: robot.w_m}
  noise:    {type: WhiteNoise, Ts: 4e-3, std: "${std}"}
  y:        {type: Sum, in: [hold, noise]}
  direct:   {type: FrequencyResponse, method: welch, segment: 8, skip: [10, 0], f_min: 0.5, f_max: 14,
             in: {u: u, y: y}}
  indirect: {type: FrequencyResponse, method: welch, segment: 8, skip: [10, 0], f_min: 0.5, f_max: 14,
             in: {u: u, y: y, r: shake}}
log: [u, y, shake, robot.w_m]
"""


def own(found):
    """Its warnings, without those about inputs."""
    return [w for w in found.warnings if not w.startswith("leak of truth")]


def printed(s, Jm, Ja, k, Fv, r):
    """Equation (6.7), from torque to acceleration, as printed."""
    return s * (Ja * s**2 + k) / (s**3 * Ja * Jm + s**2 * Ja * Fv + s * k * (Jm + r**2 * Ja) + k * Fv)


def state_space(Jm, Ja, k1, Fv, d, r, quantity):
    """Newton's equations of both masses: phi_m, w_m, phi_a, w_a."""
    motor = np.array([-r * r * k1, -Fv - r * r * d, r * k1, r * d]) / Jm
    A = np.array([[0, 1, 0, 0], motor, [0, 0, 0, 1], np.array([r * k1, r * d, -k1, -d]) / Ja])
    B = np.array([[0], [1 / Jm], [0], [0]])
    C, D = {"angle": ([1, 0, 0, 0], 0), "speed": ([0, 1, 0, 0], 0), "acceleration": (motor, 1 / Jm)}[quantity]
    return A, B, np.atleast_2d(C), np.atleast_2d(D)


# ---- the model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["angle", "speed", "acceleration"])
def test_the_model_is_the_printed_one_and_that_of_newton(quantity):
    w = np.geomspace(1, 500, 50)
    s = 1j * w
    undamped = Robot(quantity, 0.0, R).response(w, **{**TABLE, "d": 0.0})
    power = {"angle": -2, "speed": -1, "acceleration": 0}[quantity]
    assert undamped == pytest.approx(printed(s, 1.21e-2, 1.13e3, 1.46e6, 1.3e-2, R) * s**power, rel=1e-10)
    A, B, C, D = state_space(**TABLE, r=R, quantity=quantity)
    newton = np.array([(C @ np.linalg.solve(x * np.eye(4) - A, B) + D)[0, 0] for x in s])
    assert Robot(quantity, 0.0, R).response(w, **TABLE) == pytest.approx(newton, rel=1e-8)
    Ad, Bd, Cd, Dd, _ = signal.cont2discrete((A, B, C, D), 2e-3, method="zoh")
    held = np.array([(Cd @ np.linalg.solve(z * np.eye(4) - Ad, Bd) + Dd)[0, 0] for z in np.exp(s * 2e-3)])
    assert Robot(quantity, 2e-3, R).response(w, **TABLE) == pytest.approx(held, rel=1e-6)


def test_the_modes_of_table_7_1():
    notch, resonance = Robot("speed", 0.0, R).modes(1.21e-2, 1.13e3, 1.46e6)
    assert notch == pytest.approx(35.9, abs=0.05) and resonance == pytest.approx(60.8, abs=0.05)
    assert Robot("speed", 0.0, R).modes(1.21e-2, 1.13e3, 1.146e7)[1] == pytest.approx(170, abs=0.5)


# ---- without noise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [SMOOTH, HELD], ids=["smooth", "held"])
def test_periods_give_the_analytic_response(text):
    record = bs.simulate(text, step=5e-4, stop=20, params={"response.skip": [15, 0]})
    found = record.estimates["response"]
    w, G = found.details["w"], found.details["response"]
    assert w == pytest.approx(2 * np.pi * np.arange(1, 41), rel=1e-12)
    system = state_space(**{**TABLE, "Fv": 0.1}, r=R, quantity="speed")
    if text is HELD:
        A, B, C, D, _ = signal.cont2discrete(system, 2e-3, method="zoh")
        x = np.exp(1j * w * 2e-3)
    else:
        (A, B, C, D), x = system, 1j * w
    truth = np.array([(C @ np.linalg.solve(z * np.eye(4) - A, B) + D)[0, 0] for z in x])
    assert np.abs(G / truth - 1).max() < 5e-7
    assert found.details["coherence"] == pytest.approx(1.0, abs=1e-9)
    for name in found:
        assert abs(found[name].relative_error) < 1e-6, name
    assert own(found) == []
    settled = slice(-3000, None)
    moved = record["robot.w_m"][settled]
    assert record["response.y_hat"][settled] == pytest.approx(moved - moved.mean(), abs=1e-5 * np.std(moved))


def test_the_angle_serves_as_well_as_the_speed():
    text = SMOOTH.replace("[robot.w_m, noise]", "[robot.phi_m, noise]").replace("[8, 0],", "[24, 0], quantity: angle,")
    found = bs.simulate(text, step=1e-3, stop=26).estimates["response"]
    for name in ("Jm", "Ja", "k1", "d", "notch", "resonance"):
        assert abs(found[name].relative_error) < 2e-5, name


def test_hysteresis_that_never_saturates_is_stiffness():
    """alpha = 0: z = A phi exactly, so that k1 + A is what shows, and the mode of 170 rad/s."""
    found = bs.simulate(SMOOTH, params={"robot.A": 1e7}, step=5e-4).estimates["response"]
    assert found["k1"].value == pytest.approx(1.146e7, rel=1e-4)
    assert found["resonance"].value == pytest.approx(np.sqrt(1.146e7 * (1 / 1.13e3 + R**2 / 1.21e-2)), rel=1e-5)


def test_notch_and_resonance_are_read_off_without_a_model():
    text = SMOOTH.replace("lines: 40,", "lines: 157,").replace("period: 1", "period: 4").replace("model: robot, ", "")
    text = text.replace("skip: [8, 0]", "skip: [70, 0]")
    found = bs.simulate(text, stop=76, params={"robot.d": 200.0, "robot.Fv": 0.02}).estimates["response"]
    assert list(found) == ["notch", "resonance"]
    assert found["notch"].value == pytest.approx(35.945, rel=2e-3)
    assert found["resonance"].value == pytest.approx(60.763, rel=2e-3)
    assert np.isnan(found["notch"].truth)


def test_the_readings_of_section_6_2_are_near():
    """Jm at 100 Hz, where r^2 Ja / ((w / notch)^2 - 1) is left of the arm; Jm + r^2 Ja at the lowest line; Ja notch^2."""
    text = SMOOTH.replace("f_max: 40, lines: 40", "f_max: 100, lines: 100")
    readings = bs.simulate(text).estimates["response"].details["relations"]
    for name, share in (("Jm", 0.03), ("Ja", 0.05), ("k1", 0.06)):
        assert readings[name] == pytest.approx(TABLE[name], rel=share)


# ---- with noise -------------------------------------------------------------------------------------------------------


def test_estimates_are_honest_over_seeds():
    runs = bs.simulate_many(
        SMOOTH, params=[{"std": 0.5}], seeds=range(120), step=2e-3, collect=lambda record: record.estimates["response"]
    )
    exact = bs.simulate(SMOOTH, step=2e-3).estimates["response"]  # with the errors of a step of 2 ms
    for name in runs[0]:
        z = np.array([(found[name].value - exact[name].value) / found[name].std for found in runs])
        assert abs(z.mean()) < 4 / np.sqrt(len(z)), name
        assert 0.8 < z.std() < 1.25, (name, z.std())
        assert np.mean(np.abs(z) < 1.96) > 0.87, name
    assert np.mean([found.details["misfit"] for found in runs]) == pytest.approx(1.0, abs=0.1)
    assert sum(bool(own(found)) for found in runs) <= 3
    assert np.mean([found["Ja"].relative_std for found in runs]) < 0.01
    lines = np.array([found.details["response"] for found in runs])
    claimed = np.sqrt(np.mean([found.details["std"] ** 2 for found in runs], axis=0))
    assert np.std(lines, axis=0) / claimed == pytest.approx(1.0, abs=0.35)


def test_one_period_takes_its_uncertainty_from_the_misfit():
    runs = bs.simulate_many(
        SMOOTH, params=[{"std": 0.5, "response.skip": [13.0, 0.0]}], seeds=range(20), collect=lambda r: r.estimates["response"]
    )
    assert runs[0].details["frames"] == 1 and np.isnan(runs[0].details["coherence"]).all()
    z = np.array([[found[n].z for n in ("Jm", "Ja", "k1")] for found in runs])
    assert 0.6 < z.std() < 1.5


def test_welch_is_that_of_scipy():
    text = LOOP.replace("segment: 8, skip: [10, 0]", "segment: 8")
    record = bs.simulate(text, stop=60)
    u, y, r = record["u"], record["y"], record["shake"]
    options = {"fs": 250, "window": "hann", "nperseg": 2000, "noverlap": 1000, "detrend": "constant"}
    f, Suu = signal.welch(u, **options)
    Suy, Sru, Sry = (signal.csd(a, b, **options)[1] for a, b in ((u, y), (r, u), (r, y)))
    lines = (f >= 0.5) & (f <= 14)
    direct, indirect = (record.estimates[n].details for n in ("direct", "indirect"))
    assert direct["frequency"] == pytest.approx(f[lines])
    assert direct["response"] == pytest.approx((Suy / Suu)[lines], rel=1e-9)
    assert direct["coherence"] == pytest.approx(signal.coherence(u, y, **options)[1][lines], rel=1e-9)
    assert indirect["response"] == pytest.approx((Sry / Sru)[lines], rel=1e-9)


def test_in_closed_loop_only_the_third_signal_tells_the_truth():
    """H1 tends to (G S_rr - |C|^2 S_vv / C) / (S_rr + |C|^2 S_vv), between the plant and -1 / controller."""
    runs = bs.simulate_many(LOOP, seeds=range(16), collect=lambda r: (r.estimates["direct"], r.estimates["indirect"]))
    w, kp = runs[0][0].details["w"], 0.6
    G = Robot("speed", 4e-3, R).response(w, **TABLE)
    b, a = signal.butter(2, 15 / 125)
    S_rr = 15**2 / 3 * np.abs(signal.freqz(b, a, w * 4e-3)[1]) ** 2
    expected = (G * S_rr - kp * 8.0**2) / (S_rr + kp**2 * 8.0**2)
    direct, indirect = (np.mean([pair[i].details["response"] for pair in runs], axis=0) for i in (0, 1))
    weak = (w > 25) & (w < 48)  # around the notch hardly any of y is the plant's
    assert np.mean(np.abs(direct - expected)[weak]) < 0.1
    assert np.mean((direct - expected)[weak].real) == pytest.approx(0.0, abs=0.04)
    assert np.mean((indirect - G)[weak].real) == pytest.approx(0.0, abs=0.08)
    assert np.mean((direct - G)[weak].real) < -0.3


def test_parameters_from_a_closed_loop():
    text = LOOP.replace("f_max: 14,", "f_max: 14, hold: zero, model: robot,")
    runs = bs.simulate_many(text, seeds=range(1), collect=lambda r: (r.estimates["direct"], r.estimates["indirect"]))
    errors = np.abs([[[one[n].relative_error for n in ("Jm", "Ja", "k1")] for one in pair] for pair in runs])
    assert errors[:, 0].min() > 0.15 and errors[:, 1].max() < 0.12


# ---- beyond the linear robot ------------------------------------------------------------------------------------------


def test_a_response_that_is_not_linear_is_called_so():
    found = bs.simulate(SMOOTH, params={"robot.Fc": 0.644, "robot.k3": 3.72e10, "std": 0.05}).estimates["response"]
    assert any("misses the response" in text for text in own(found))
    assert found["Jm"].value == pytest.approx(1.21e-2, rel=0.1)
    assert found["k1"].value == pytest.approx(1.46e6, rel=0.4)  # with part of the cubic spring


def test_mean_springs_solves_6_8():
    """Two sines of amplitude a: sums of x^2, x^4, x^6 are N (a^2/2, 3 a^4/8, 5 a^6/16), and so are the normal equations."""
    t = np.arange(1000) / 1000
    k, a = np.array([1.5e6, 2.0e6]), np.array([1e-3, 4e-3])
    m2, m4, m6 = a**2 / 2, 3 * a**4 / 8, 5 * a**6 / 16
    matrix = np.array([[m2.sum(), m4.sum()], [m4.sum(), m6.sum()]])
    expected = np.linalg.solve(matrix, [k @ m2, k @ m4])
    assert mean_springs(k, [x * np.sin(2 * np.pi * t) for x in a]) == pytest.approx(tuple(expected), rel=1e-6)
    with pytest.raises(bs.RecordError, match="at least 2 wind-ups"):
        mean_springs([1e6], [np.ones(3)])


@pytest.mark.parametrize("text", [SMOOTH, LOOP], ids=["periods", "segments"])
def test_skip_means_both_ends(text):
    """What is skipped at the end is as if it had not been recorded; one number counts at either end."""
    name, at = ("response", 8) if text is SMOOTH else ("direct", 10)
    whole = text.replace(f"skip: [{at}, 0]", f"skip: {at}" if text is SMOOTH else f"skip: [{at}, 3]")
    stop = 40.0
    found = bs.simulate(whole, stop=stop).estimates[name]
    shorter = bs.simulate(text, stop=stop - (at if text is SMOOTH else 3)).estimates[name]
    assert (found.details["response"] == shorter.details["response"]).all()


def test_a_band_without_the_modes_is_called_so():
    found = bs.simulate(SMOOTH, params={"response.f_min": 15.0}, stop=10).estimates["response"]
    assert np.isnan(found["k1"].value) and "no notch with a resonance above it" in found.reason


# ---- mistakes and the picture -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("period: 1.0005", "no whole number of samples"),
        ("period: 2", "no whole period of 2 s"),
        ("period: 1, f_min: 60, f_max: 70", "nothing is excited from 60 to 70 Hz"),
        ("period: 1, method: welch, window: hanning_", "no window 'hanning_'"),
        ("period: 1, method: welch, segment: 100", "16 to all of them are possible"),
        ("period: 1, f_min: 3, f_max: 2", "must be above f_min"),
    ],
)
def test_mistakes_are_named(change, words):
    with pytest.raises(bs.DiagramError, match=words) as error:
        bs.simulate(SMOOTH.replace("period: 1", change), stop=9)
    assert "response" in str(error.value) or "FrequencyResponse" in str(error.value)


def test_a_model_that_is_no_two_mass_robot_is_refused():
    with pytest.raises(bs.DiagramError, match=r"GravityJoint is no two-mass robot, having no Jm, Ja"):
        bs.simulate(SMOOTH.replace("model: robot", "model: GravityJoint"))


def test_the_picture(tmp_path):
    found = bs.simulate(SMOOTH, params={"std": 0.5}).estimates["response"]
    figure = plot_response(found, tmp_path / "bode.png")
    assert (tmp_path / "bode.png").stat().st_size > 10_000
    assert [axis.get_ylabel() for axis in figure.axes] == ["gain [rad/s/(N m)]", "phase [deg]", "coherence [1]"]
    assert figure.axes[-1].get_xlabel() == "frequency [rad/s]"
    with pytest.raises(bs.RecordError, match="no frequency response"):
        plot_response(Estimates("ls", ()))


UNRELATED = """
format: 1
simulate: {stop: 20, solver: rk4, step: 1e-3, every: 2e-3, seed: SEED}
blocks:
  u:        {type: WhiteNoise, Ts: 2e-3, std: 5}
  robot:    {type: TwoMassRobot, in: u}
  y:        {type: WhiteNoise, Ts: 2e-3, std: 0.1}
  response: {type: FrequencyResponse, method: METHOD, model: robot, in: [u, y]}
"""


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("method", ["welch", "periodic"])
def test_unrelated_noises_are_no_robot(method, seed):
    found = bs.simulate(UNRELATED.replace("SEED", str(seed)).replace("METHOD", method)).estimates["response"]
    assert all(np.isnan(found[n].value) for n in found) and found.details["converged"] is False
    assert found.reason.startswith("nothing was fitted: ") and found.reason in found.warnings
    if method == "welch":  # unrelated signals pass a level of 5 % at 5 % of the lines
        assert "y follows u at" in found.reason and "Excite more, measure longer, or narrow f_min and f_max" in found.reason
        assert int(found.reason.split("follows u at ")[1].split(" %")[0]) < 15


def test_one_period_claims_no_weights_of_noise():
    found = bs.simulate(SMOOTH.replace("skip: [8, 0]", "skip: [13, 0]"), params={"std": 0.05}).estimates["response"]
    assert found.reason == "the fit of one period, whose noise is taken from the misfit, converged."
    assert all(abs(found[n].z) < 4 for n in TABLE if n != "Fv")


def test_more_noise_than_response_is_told():
    found = bs.simulate(SMOOTH, params={"std": 300.0}).estimates["response"]
    assert np.isnan(found["Jm"].value) and "frames of unrelated signals reach by chance" in found.reason


def test_a_sum_with_noise_is_a_sensor_and_no_leak():
    found = bs.simulate(SMOOTH, params={"std": 0.05}).estimates["response"]
    assert not [w for w in found.warnings if w.startswith("leak")]


NOISES = """
format: 1
simulate: {stop: 10, solver: rk4, step: 1e-3, seed: 3}
blocks:
  u:     {type: WhiteNoise, Ts: 1e-3, std: 1}
  y:     {type: WhiteNoise, Ts: 1e-3, std: 1}
  found: {type: FrequencyResponse, METHOD, in: {u: u, y: y}}
"""


def test_two_unrelated_noises_are_told_without_a_model_too():
    estimates = bs.simulate(NOISES.replace("METHOD", "method: welch, segment: 0.5")).estimates["found"]
    assert not estimates.converged and any("unrelated signals reach by chance" in w for w in estimates.warnings)
    one = bs.simulate(NOISES.replace("METHOD", "method: periodic")).estimates["found"]
    assert any("of one period nobody can tell how far y follows u" in w for w in one.warnings)
