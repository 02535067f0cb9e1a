"""A benchmark's file without time, of an oscillator with a cubic spring driven by a held signal: from look to a judged model."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

W0, ZETA, CUBIC, EVERY = 2 * np.pi * 68, 0.05, 3.5, 1.6384e-3
BOX = """
format: 1
simulate: {stop: 8, solver: rk4, step: 4.096e-4, every: 1.6384e-3}
blocks:
  u:      {type: Multisine, f_min: 1, f_max: 200, lines: 50, amplitude: 0.1}
  held:   {type: ZeroOrderHold, Ts: 1.6384e-3, in: u}
  drive:  {type: Gain, k: 150000, in: SEEN}
  linear: {type: Gain, k: 150000, in: x}
  cube:   {type: Function, expression: "u**3", in: x}
  cubic:  {type: Gain, k: 400000, in: cube}
  damper: {type: Gain, k: 30, in: v}
  pull:   {type: Sum, signs: "+---", in: [drive, linear, cubic, damper]}
  v:      {type: Integrator, in: pull}
  x:      {type: Integrator, in: v}
  y:      {type: NoisySensor, Ts: 1.6384e-3, std: 2e-4, in: x}
  oe:     {type: OE, na: 2, nb: 2, in: {u: u, y: y}}
  box:    {type: CLOE, output: x, in: y, parameters: [linear.k, cubic.k, damper.k, drive.k]}
record:
  every: 1.6384e-3
  signals: {u: V1, y: V2}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Made by steps of its own: eight of Runge and Kutta to a sample, the input held."""
    from scipy.io import savemat

    random, count = np.random.default_rng(3), 5000
    t = np.arange(count) * EVERY
    u = 0.008 * sum(np.sin(2 * np.pi * f * t + random.uniform(0, 2 * np.pi)) for f in range(1, 200, 2))

    def slope(x, v, push):
        return v, W0**2 * (push - x - CUBIC * x**3) - 2 * ZETA * W0 * v

    x = v = 0.0
    y, h = np.empty(count), EVERY / 8
    for k, push in enumerate(u.tolist()):
        y[k] = x
        for _ in range(8):
            a = slope(x, v, push)
            b = slope(x + h / 2 * a[0], v + h / 2 * a[1], push)
            c = slope(x + h / 2 * b[0], v + h / 2 * b[1], push)
            d = slope(x + h * c[0], v + h * c[1], push)
            x, v = (s + h / 6 * (p + 2 * q + 2 * r + z) for s, p, q, r, z in zip((x, v), a, b, c, d, strict=True))
    path = tmp_path_factory.mktemp("box") / "SNLS80mV.mat"
    savemat(path, {"V1": u[None], "V2": (y + 2e-4 * random.standard_normal(count))[None]})
    return path


def test_the_file_is_shown_without_its_time(file):
    result = CliRunner().invoke(app, ["look", str(file)])
    assert result.exit_code == 0 and "5000 rows; their time is not known" in result.output and "--every" in result.output


def test_every_parameter_is_found_and_the_second_half_agrees(file):
    found = bs.identify(BOX.replace("SEEN", "held"), file).estimates["box"]
    truth = {"linear.k": W0**2, "cubic.k": CUBIC * W0**2, "damper.k": 2 * ZETA * W0, "drive.k": W0**2}
    for name, value in truth.items():
        assert abs(found[name].value - value) < 4 * found[name].std and found[name].std < 1e-3 * value, name
    held = bs.validate(BOX.replace("SEEN", "held"), file, split=0.5, block="box", skip=0.4)  # its first speed was not measured
    assert held["y"].fit > 0.99


def test_a_hold_that_is_left_out_is_no_small_thing(file):
    sizes = [bs.identify(BOX.replace("SEEN", way), file)["box.residual"].std() for way in ("u", "held")]
    assert sizes[0] > 20 * sizes[1]
