"""The flexible robots as whole systems: frequency responses, resonances and energy against closed forms and linear algebra."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh

import blocksim as bs

JM, JA, FV, FC, K1, K3, D, R = 1.21e-2, 1.13e3, 1.3e-2, 0.644, 1.46e6, 3.72e10, 2.63e3, 4.46e-3


def open_loop(robot, kind="TwoMassRobot"):
    return f"""
format: 1
simulate: {{stop: 1.0}}
blocks:
  u:     {{type: Constant, value: 0.0}}
  robot: {{type: {kind}, Fc: 0.0, {robot}, in: u}}
"""


@cache
def response(robot, kind="TwoMassRobot"):
    """w -> the response of the motor's acceleration to the torque."""
    model = bs.linearize(open_loop(robot, kind), inputs="u", outputs="robot.w_m")

    def gain(w):
        s = 1j * np.atleast_1d(w)
        return np.array([v * (model.C @ np.linalg.solve(v * np.eye(len(model.A)) - model.A, model.B))[0, 0] for v in s])

    return gain


def extremum(gain, low, high, lowest):
    """Where |G| is lowest or highest between two frequencies."""
    w = np.linspace(low, high, 40001)
    size = abs(gain(w))
    return w[np.argmin(size) if lowest else np.argmax(size)]


# ---- linear --------------------------------------------------------------------------------------------------------------


def test_the_transfer_function_is_equation_6_7():
    w = np.geomspace(0.1, 1e4, 400)
    s = 1j * w
    for k, more in ((K1, ""), (3e6, "k1: 3e6,")):
        expected = s * (JA * s**2 + k) / (s**3 * JA * JM + s**2 * JA * FV + s * k * (JM + R**2 * JA) + k * FV)
        assert abs(response(f"{more} d: 0.0")(w) / expected - 1.0).max() < 1e-5


def test_notch_and_resonance_of_table_7_1():
    """sqrt(k/Ja) = 35.9 and sqrt(k (1/Ja + r^2/Jm)) = 60.8 rad/s: 36 and 61 in the thesis' figure; 1/Jm far above."""
    gain = response("d: 0.0")
    notch, resonance = np.sqrt(K1 / JA), np.sqrt(K1 * (1 / JA + R**2 / JM))
    assert extremum(gain, 30, 45, lowest=True) == pytest.approx(notch, abs=0.01)
    assert extremum(gain, 50, 70, lowest=False) == pytest.approx(resonance, abs=0.02)
    assert (round(notch), round(resonance)) == (36, 61)
    assert abs(gain(1e4)[0]) == pytest.approx(1 / JM, rel=1e-3)


def test_hysteresis_stiffens_small_motion():
    """k1 + A instead of k1: the mode moves to 170 rad/s."""
    gain = response("d: 0.0, alpha: 1e3, A: 1e7")
    assert extremum(gain, 150, 190, lowest=False) == pytest.approx(np.sqrt((K1 + 1e7) * (1 / JA + R**2 / JM)), abs=0.05)
    assert extremum(gain, 90, 110, lowest=True) == pytest.approx(np.sqrt((K1 + 1e7) / JA), abs=0.05)


def test_the_modes_of_three_masses():
    """Undamped: the generalised eigenvalues of stiffness and inertia, and the motor's notches with the motor held."""
    Jg, Ja, k2 = 113.0, 1017.0, 6e6
    stiffness = np.array([[R**2 * K1, -R * K1, 0], [-R * K1, K1 + k2, -k2], [0, -k2, k2]])
    inertia = np.diag([JM, Jg, Ja])
    modes = np.sqrt(eigh(stiffness, inertia, eigvals_only=True).clip(0))
    held = np.sqrt(eigh(stiffness[1:, 1:], inertia[1:, 1:], eigvals_only=True))
    gain = response("Fv: 0.0, d: 0.0, d2: 0.0", "ThreeMassRobot")
    assert modes[0] == pytest.approx(0.0, abs=1e-3)
    for mode in modes[1:]:
        assert extremum(gain, 0.9 * mode, 1.1 * mode, lowest=False) == pytest.approx(mode, rel=2e-5)
    for notch in held:
        assert extremum(gain, 0.98 * notch, 1.02 * notch, lowest=True) == pytest.approx(notch, rel=2e-5)


def test_three_masses_become_two_as_the_arm_stiffens():
    w = np.geomspace(0.1, 200, 100)
    stiff = response("k2: 1e13, d2: 0.0", "ThreeMassRobot")(w)
    assert abs(stiff / response("d: 2.63e3")(w) - 1).max() < 1e-3


# ---- energy --------------------------------------------------------------------------------------------------------------

#: Power in, and the power of everything that dissipates, integrated inside the diagram. u: tau, w_m, relative speed, z.
TWO = """
format: 1
simulate: {{stop: 2.0, solver: dopri5, rtol: 1e-10, atol: 1e-11, every: 0.01}}
blocks:
  torque:  {{type: Chirp, amplitude: 20.0, f_start: 0.5, f_end: 12.0, duration: 2.0}}
  robot:   {{type: TwoMassRobot, {law}, in: torque}}
  power:   {{type: Product, in: [torque, robot.w_m]}}
  work:    {{type: Integrator, in: power}}
  slip:    {{type: Function, expression: "4.46e-3*u1 - u2", in: [robot.w_m, robot.w_a]}}
  losses:  {{type: Function, expression: "{losses}", in: [robot.w_m, slip, robot.z]}}
  heat:    {{type: Integrator, in: losses}}
"""
DRY = {"tanh": "0.644*u1*tanh(u1)", "sign": "0.644*abs(u1)", "stribeck": "(0.644 + 0.456*exp(-u1*u1))*abs(u1)"}


@pytest.mark.parametrize("friction", list(DRY))
@pytest.mark.parametrize("hysteresis", [False, True])
def test_energy_of_two_masses(friction, hysteresis):
    """Work of the motor = kinetic + spring + z^2/(2A) + friction + damper + alpha/A |w| z^2."""
    A, alpha = (1e7, 1e3) if hysteresis else (0.0, 0.0)
    losses = f"0.013*u1*u1 + {DRY[friction]} + 2630.0*u2*u2" + (" + 1e-4*abs(u2)*u3*u3" if hysteresis else "")
    law = f"friction: {friction}, Fs: 1.1, alpha: {alpha}, A: {A}"
    record = bs.simulate(TWO.format(law=law, losses=losses))
    robot = {n: record[f"robot.{n}"] for n in ("phi_m", "w_m", "phi_a", "w_a", "z")}
    phi = R * robot["phi_m"] - robot["phi_a"]
    stored = 0.5 * JM * robot["w_m"] ** 2 + 0.5 * JA * robot["w_a"] ** 2 + 0.5 * K1 * phi**2 + 0.25 * K3 * phi**4
    stored += robot["z"] ** 2 / (2 * A) if hysteresis else 0.0
    balance = record["work"] - stored - record["heat"]
    assert abs(balance).max() < 3e-7 * abs(stored).max()
    assert (np.diff(record["heat"]) >= -1e-12).all() and record["heat"][-1] > 0.01 * stored.max()


GAP = """
format: 1
simulate: {{stop: 2.0, solver: dopri5, rtol: 1e-10, atol: 1e-11, every: 0.01}}
blocks:
  torque:  {{type: Chirp, amplitude: 20.0, f_start: 0.5, f_end: 12.0, duration: 2.0}}
  robot:   {{type: {kind}, q: 1e-3, backlash: {backlash}, friction: sign, {more} in: torque}}
  power:   {{type: Product, in: [torque, robot.w_m]}}
  work:    {{type: Integrator, in: power}}
  slip:    {{type: Function, expression: "4.46e-3*u1 - u2", in: [robot.w_m, robot.w_{far}]}}
  through: {{type: Product, in: [slip, robot.tau_s]}}
  gear:    {{type: Integrator, in: through}}
  losses:  {{type: Function, expression: "0.013*u1*u1 + 0.644*abs(u1) + {arm}*(u2 - u3)*(u2 - u3)",
             in: [robot.w_m, robot.w_{far}, robot.w_a]}}
  heat:    {{type: Integrator, in: losses}}
"""


@pytest.mark.parametrize("backlash", ["thesis", "elasto", "elasto2"])
@pytest.mark.parametrize("kind", ["TwoMassRobot", "ThreeMassRobot"])
def test_energy_across_a_gap(backlash, kind):
    """Work = kinetic + bent arm + heat + what went into the gear; and the gear gives back at most what its spring holds."""
    three = kind == "ThreeMassRobot"
    text = GAP.format(kind=kind, backlash=backlash, far="g" if three else "a", arm="2000.0" if three else "0.0", more="")
    record = bs.simulate(text)
    get = lambda name: record[f"robot.{name}"]
    stored = 0.5 * JM * get("w_m") ** 2 + 0.5 * (1017.0 if three else JA) * get("w_a") ** 2
    if three:
        stored = stored + 0.5 * 113.0 * get("w_g") ** 2 + 0.5 * 6e6 * (get("phi_g") - get("phi_a")) ** 2
    balance = record["work"] - stored - record["heat"] - record["gear"]
    assert abs(balance).max() < 1e-6 * abs(stored).max()
    phi = R * get("phi_m") - get("phi_g" if three else "phi_a")
    x = np.maximum(abs(phi) - 0.5e-3, 0.0)
    spring = 0.5 * K1 * x**2 + 0.25 * K3 * x**4
    assert (record["gear"] - spring > -1e-6 * stored.max()).all()  # a spring and a damper never make energy
    assert (x > 0).any() and (x == 0).any()


def test_energy_of_three_masses_with_hysteresis():
    text = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-10, atol: 1e-11, every: 0.01}
blocks:
  torque:  {type: Chirp, amplitude: 20.0, f_start: 0.5, f_end: 40.0, duration: 2.0}
  robot:   {type: ThreeMassRobot, alpha: 1e3, A: 1e7, in: torque}
  power:   {type: Product, in: [torque, robot.w_m]}
  work:    {type: Integrator, in: power}
  slip:    {type: Function, expression: "4.46e-3*u1 - u2", in: [robot.w_m, robot.w_g]}
  motor:   {type: Function, expression: "0.013*u1*u1 + 0.644*u1*tanh(u1)", in: robot.w_m}
  gear:    {type: Function, expression: "2630.0*u1*u1 + 1e-4*abs(u1)*u2*u2", in: [slip, robot.z]}
  arm:     {type: Function, expression: "2000.0*(u1 - u2)*(u1 - u2)", in: [robot.w_g, robot.w_a]}
  losses:  {type: Sum, in: [motor, gear, arm]}
  heat:    {type: Integrator, in: losses}
"""
    record = bs.simulate(text)
    get = lambda name: record[f"robot.{name}"]
    phi = R * get("phi_m") - get("phi_g")
    stored = 0.5 * JM * get("w_m") ** 2 + 0.5 * 113.0 * get("w_g") ** 2 + 0.5 * 1017.0 * get("w_a") ** 2
    stored = stored + 0.5 * K1 * phi**2 + 0.25 * K3 * phi**4 + get("z") ** 2 / 2e7
    stored = stored + 0.5 * 6e6 * (get("phi_g") - get("phi_a")) ** 2
    assert abs(record["work"] - stored - record["heat"]).max() < 3e-7 * stored.max()
