"""Bounds of the flexible robot against a program of the test's own: equations (4.1)-(4.8) in complex numbers, whose imaginary
parts carry exact derivatives through every step. No difference is taken there, and no line is shared with the library."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

TABLE = {"Jm": 1.21e-2, "Ja": 1.13e3, "Fv": 1.30e-2, "Fc": 6.44e-1, "k1": 1.46e6, "k3": 3.72e10, "d": 2.63e3}
BENT, GAP = {"alpha": 1e3, "A": 1e7}, {"q": 1e-3}
TICK, NOISE = 2e-3, 0.05


def gear(phi, w, k1, k3, d, q):
    """The torque of spring and damper around a gap by the law `elasto`; without a gap both as they are."""
    if not q.real.any():
        return k1 * phi + k3 * phi**3 + d * w
    side = np.where(phi.real > q.real / 2, 1, np.where(phi.real < -q.real / 2, -1, 0))
    bend = phi - side * q / 2
    spring, damper = k1 * bend + k3 * bend**3, d * w
    damper = np.where(side * damper.real < side * spring.real, damper, spring)
    return np.where(side * (spring + d * w).real > 0, spring + damper, 0)


def relative_slopes(torques, names, truth, steps):
    """d w_m / d log theta at every tick, one column per name, by a complex step through Runge and Kutta's method."""
    tiny = 1e-25
    p = {name: np.full(len(names), truth.get(name, 0.0), complex) for name in (*TABLE, "alpha", "A", "q")}
    for k, name in enumerate(names):
        p[name][k] *= 1 + 1j * tiny
    r, h = 1 / 224.3, TICK / steps

    def rate(x, torque):
        phi_m, w_m, phi_a, w_a, z = x
        phi, w = r * phi_m - phi_a, r * w_m - w_a
        tau = gear(phi, w, p["k1"], p["k3"], p["d"], p["q"]) + z
        friction = p["Fv"] * w_m + p["Fc"] * np.tanh(w_m)
        bending = -p["alpha"] * np.where(w.real < 0, -w, w) * z + p["A"] * w
        return np.array([w_m, (torque - friction - r * tau) / p["Jm"], w_a, tau / p["Ja"], bending])

    x, slopes = np.zeros((5, len(names)), complex), np.empty((len(torques), len(names)))
    for k, torque in enumerate(torques):
        slopes[k] = x[1].imag / tiny
        for _ in range(steps):
            a = rate(x, torque)
            b = rate(x + h / 2 * a, torque)
            c = rate(x + h / 2 * b, torque)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c, torque))
    return slopes


@pytest.mark.parametrize(("names", "more", "hold", "ticks", "steps"), [
    ("Fv Fc k1 k3 alpha A", BENT, 20, 2000, 2),
    ("Jm Ja d", {}, 5, 2000, 2),
    ("q", GAP, 100, 1000, 10),
    ("Jm Ja Fv Fc k1 k3 d alpha A q", {**BENT, **GAP}, 20, 1000, 10),
])  # fmt: skip
def test_bounds_of_the_flexible_robot(names, more, hold, ticks, steps):
    """Random bits of 30 N m, held for some ticks: every bound within 1 %."""
    names, truth = names.split(), {**TABLE, **more}
    torques = 30.0 * np.repeat(np.random.default_rng(5).choice([-1.0, 1.0], ticks // hold), hold)
    psi = relative_slopes(torques, names, truth, steps) / NOISE
    expected = np.sqrt(np.diag(np.linalg.inv(psi.T @ psi)))
    settings = ", ".join(f"{name}: {value}" for name, value in truth.items())
    diagram = f"""
format: 1
simulate: {{stop: {(ticks - 1) * TICK}, solver: rk4, step: {TICK / steps}, every: {TICK}}}
blocks:
  u:     {{type: LevelSequence, clock: {TICK}, values: {torques.tolist()}}}
  robot: {{type: TwoMassRobot, {settings}, backlash: elasto, in: u}}
"""
    info = bs.information(diagram, [f"robot.{name}" for name in names], "robot.w_m", noise_std=NOISE)
    assert list(info.relative_std.values()) == pytest.approx(expected, rel=0.01)
