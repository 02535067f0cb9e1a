"""Fisher information against closed forms: linear systems, white and coloured noise, nuisance, time and frequency."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import toeplitz

import blocksim as bs

LAG = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  u:   {type: Constant, value: 1.0}
  lag: {type: FirstOrderLag, k: 2.0, T: 0.5, in: u}
  y:   {type: TorqueSensor, Ts: 1e-2, std: 0.05, in: lag}
"""
SPRING = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  x: {type: Integrator, x: 1.0, in: v}
  v: {type: Integrator, x: 0.0, in: a}
  k: {type: Gain, k: -9.0, in: x}
  d: {type: Gain, k: -0.6, in: v}
  a: {type: Sum, in: [k, d]}
"""


def lag_columns(t, k=2.0, tau=0.5):
    """y = k (1 - exp(-t/tau)): its derivatives with respect to k and tau."""
    decay = np.exp(-t / tau)
    return np.stack([1 - decay, -k * t / tau**2 * decay], axis=1)


def bounds(psi, R=None):
    M = psi.T @ (psi if R is None else np.linalg.solve(R, psi))
    return np.sqrt(np.diag(np.linalg.inv(M)))


def spring(t, k, d, x0):
    """The free motion of x'' = -k x - d x', also for complex numbers: its derivatives come from a complex step."""
    root = np.sqrt(k - d * d / 4 + 0j)
    return x0 * np.exp(-d / 2 * t) * (np.cos(root * t) + d / 2 / root * np.sin(root * t))


def test_a_first_order_lag_in_white_noise():
    info = bs.information(LAG, ["lag.k", "lag.T"], "lag", noise_std=0.05)
    t = np.arange(201) * 0.01
    expected = bounds(lag_columns(t) / 0.05)
    assert [info.std[n] for n in ("lag.k", "lag.T")] == pytest.approx(expected, rel=1e-5)
    assert info.relative_std["lag.T"] == pytest.approx(expected[1] / 0.5, rel=1e-5)
    correlation = np.linalg.inv(lag_columns(t).T @ lag_columns(t))
    assert info.correlation[0, 1] == pytest.approx(correlation[0, 1] / math.sqrt(correlation[0, 0] * correlation[1, 1]), rel=1e-4)
    unit = lag_columns(t) / np.linalg.norm(lag_columns(t), axis=0)
    assert info.condition == pytest.approx(np.linalg.cond(unit), rel=1e-4)
    assert "Everything asked for is seen" in info.verdict and "lag.T" in str(info)


def test_readings_may_be_fewer_and_begin_later():
    info = bs.information(LAG, ["lag.k", "lag.T"], "lag", noise_std=0.05, every=0.05, skip=0.5)
    expected = bounds(lag_columns(np.arange(50, 201, 5) * 0.01) / 0.05)
    assert [info.std[n] for n in ("lag.k", "lag.T")] == pytest.approx(expected, rel=1e-5)


def test_a_second_order_system_with_its_start():
    names = {"k.k": (0, -1), "d.k": (1, -1), "x.x": (2, 1)}
    t, h = np.arange(401) * 0.01, 1e-30
    point = np.array([9.0, 0.6, 1.0])
    columns = [s * spring(t, *(point + 1j * h * (np.arange(3) == i))).imag / h for i, s in names.values()]
    # a complex step needs a real root: k - d^2/4 > 0 here, and the imaginary part is the derivative
    info = bs.information(SPRING, list(names), "x", noise_std=0.01)
    assert list(info.std.values()) == pytest.approx(bounds(np.stack(columns, axis=1) / 0.01), rel=1e-4)


def test_a_nuisance_parameter_costs_and_is_not_told():
    alone = bs.information(LAG, ["lag.k"], "lag", noise_std=0.05)
    together = bs.information(LAG, ["lag.k"], "lag", noise_std=0.05, nuisance=["lag.T"])
    psi = lag_columns(np.arange(201) * 0.01) / 0.05
    assert alone.std["lag.k"] == pytest.approx(1 / np.linalg.norm(psi[:, 0]), rel=1e-5)
    assert together.std["lag.k"] == pytest.approx(bounds(psi)[0], rel=1e-5)
    assert together.parameters == ("lag.k",) and together.nuisance == ("lag.T",) and together.covariance.shape == (1, 1)


def test_coloured_noise_by_its_spectrum():
    """An autoregression e[k] = 0.9 e[k-1] + w[k]: psi' R^-1 psi with its Toeplitz matrix."""
    a, sigma, dt = 0.9, 0.02, 0.01
    f = np.linspace(0, 50, 2001)
    density = 2 * dt * sigma**2 / np.abs(1 - a * np.exp(-2j * np.pi * f * dt)) ** 2
    noise = {"spectrum": {"frequency": f.tolist(), "density": density.tolist()}}
    info = bs.information(LAG, ["lag.k", "lag.T"], "lag", noise_std=noise)
    t = np.arange(201) * dt
    R = toeplitz(sigma**2 / (1 - a * a) * a ** np.arange(201))
    assert list(info.std.values()) == pytest.approx(bounds(lag_columns(t), R), rel=2e-3)
    white = bounds(lag_columns(t) / math.sqrt(R[0, 0]))
    assert info.std["lag.T"] > 3 * white[1]  # slow noise looks like a slow answer: white noise of its variance hides less


def test_the_noise_of_the_diagram_itself():
    info = bs.information(LAG, ["lag.k", "lag.T"], "y")
    expected = bounds(lag_columns(np.arange(201) * 0.01) / 0.05)
    assert list(info.std.values()) == pytest.approx(expected, rel=0.05)
    assert info.noise_stds == pytest.approx([0.05], rel=0.05)


def test_noise_that_comes_around_the_loop():
    """y[k+1] = g (r - y[k] - e[k]): what e does to y is an autoregression, and the bound is that in its colour."""
    loop = """
format: 1
simulate: {stop: 19.99, solver: euler, step: 0.01}
blocks:
  r:     {type: Sine, amplitude: 1.0, frequency: 0.5}
  seen:  {type: TorqueSensor, Ts: 0.01, std: 0.3, in: y}
  u:     {type: Sum, signs: "+-", in: [r, seen]}
  plant: {type: Gain, k: 0.8, in: u}
  y:     {type: UnitDelay, Ts: 0.01, in: plant}
"""
    info = bs.information(loop, ["plant.k"], "y")
    n, g = 2000, 0.8
    r = np.sin(np.pi * np.arange(n) * 0.01)
    y, dy = np.zeros(n), np.zeros(n)
    for k in range(n - 1):
        y[k + 1] = g * (r[k] - y[k])
        dy[k + 1] = (r[k] - y[k]) - g * dy[k]
    R = toeplitz((g * 0.3) ** 2 / (1 - g * g) * (-g) ** np.arange(n))
    assert info.std["plant.k"] == pytest.approx(1 / math.sqrt(dy @ np.linalg.solve(R, dy)), rel=0.05)


def test_quantisation_is_a_noise_of_its_twelfth():
    info = bs.information(LAG, ["lag.k"], "lag", noise_std={"std": 0.03, "resolution": 0.2})
    assert info.noise_stds == pytest.approx([math.sqrt(0.03**2 + 0.04 / 12)])


def test_several_outputs_add_up():
    double = LAG + "  again: {type: Gain, k: 2.0, in: lag}\n"
    info = bs.information(double, ["lag.k", "lag.T"], ["lag", "again"], noise_std={"lag": 0.05, "again": 0.1})
    assert list(info.std.values()) == pytest.approx(bounds(lag_columns(np.arange(201) * 0.01) / 0.05) / math.sqrt(2), rel=1e-5)


def test_where_in_time_and_frequency_it_is_learnt():
    info = bs.information(LAG, ["lag.k", "lag.T"], "lag", noise_std=0.05)
    edges, shares = info.by_time(10)
    psi = lag_columns(np.arange(201) * 0.01) / 0.05
    influence = np.square(psi @ np.linalg.inv(psi.T @ psi))
    early = influence[:20, 1].sum() / influence[:, 1].sum()
    assert edges[1] == pytest.approx(0.2) and shares["lag.T"][0] == pytest.approx(early, rel=1e-4)
    sine = LAG.replace("{type: Constant, value: 1.0}", "{type: Sine, amplitude: 1.0, frequency: 2.0}").replace(
        "stop: 2.0", "stop: 9.99"
    )
    f, lines = bs.information(sine, ["lag.k"], "lag", noise_std=0.05, skip=5.0).by_frequency()
    assert f[lines["lag.k"].argmax()] == pytest.approx(2.0, abs=0.01) and lines["lag.k"].sum() == pytest.approx(1.0)


def test_the_table_of_the_reference():
    """The sine of the thesis at noise of 1 % of the median speed: 0.16, 0.018, 4.1 and 2.7e4 % by an independent program."""
    record = bs.simulate("thesis/u_sin")
    std = 0.01 * float(np.median(np.abs(record["robot.w_m"])))
    friction = bs.information("thesis/u_sin", ["robot.Fv", "robot.Fc"], "robot.w_m", noise_std=std).relative_std
    stiffness = bs.information("thesis/u_sin", ["robot.k1", "robot.k3"], "robot.w_m", noise_std=std)
    assert [100 * v for v in friction.values()] == pytest.approx([0.16, 0.018], rel=0.1)
    assert [100 * v for v in stiffness.relative_std.values()] == pytest.approx([4.1, 2.7e4], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("diagram", "expected"), [
    ("thesis/u_slump", {"Fv": 50, "Fc": 1.0, "k1": 0.010, "k3": 519, "alpha": 41, "A": 0.05}),
    ("thesis/u_bin", {"Fv": 9.8, "Fc": 0.22, "k1": 0.016, "k3": 232, "alpha": 0.35, "A": 0.003}),
])  # fmt: skip
def test_random_torques_of_the_reference(diagram, expected):
    """Its draws are not ours: each number lies within 10 % of what some of our draws give."""
    ranges = {name: [] for name in expected}
    for seed in range(1, 9):
        for pair in (["Fv", "Fc"], ["k1", "k3"], ["alpha", "A"]):
            params = {"robot.alpha": 1e3, "robot.A": 1e7} if "A" in pair else {}
            speed = bs.simulate(diagram, params=params, seed=seed)["robot.w_m"]
            std = 0.01 * float(np.median(np.abs(speed)))
            names = [f"robot.{name}" for name in pair]
            info = bs.information(diagram, names, "robot.w_m", noise_std=std, params=params, seed=seed)
            for name in pair:
                ranges[name].append(100 * info.relative_std[f"robot.{name}"])
    for name, value in expected.items():
        assert 0.9 * min(ranges[name]) < value < 1.1 * max(ranges[name]), name


def test_a_second_order_system_in_coloured_noise():
    """The free spring read in an autoregression e[k] = 0.8 e[k-1] + w[k]: psi' R^-1 psi with its Toeplitz matrix."""
    a, sigma, dt = 0.8, 0.01, 0.01
    f = np.linspace(0, 50, 2001)
    density = 2 * dt * sigma**2 / np.abs(1 - a * np.exp(-2j * np.pi * f * dt)) ** 2
    info = bs.information(
        SPRING, ["k.k", "d.k"], "x", noise_std={"spectrum": {"frequency": f.tolist(), "density": density.tolist()}}
    )
    t, h = np.arange(401) * dt, 1e-30
    columns = [-spring(t, 9.0 + 1j * h * (i == 0), 0.6 + 1j * h * (i == 1), 1.0).imag / h for i in range(2)]
    R = toeplitz(sigma**2 / (1 - a * a) * a ** np.arange(401))
    assert list(info.std.values()) == pytest.approx(bounds(np.stack(columns, axis=1), R), rel=2e-3)


def test_mistakes_are_told():
    cases = [
        ((["lag.z"], "lag"), {"noise_std": 1.0}, "block 'lag' has no parameter 'z'"),
        ((["lag.k"], "gal"), {"noise_std": 1.0}, "gal"),
        ((["lag.k"], "lag"), {"noise_std": 0.0}, "the noise of 'lag.y' is 0"),
        ((["lag.k"], "lag"), {}, "the diagram has no noise on 'lag.y'"),
        ((["lag.k", "lag.k"], "lag"), {"noise_std": 1.0}, "'lag.k' is named twice"),
        ((["lag.k"], "lag"), {"noise_std": {"y": 1.0}}, "'y' is none of the outputs: lag"),
        ((["lag.k"], "lag"), {"noise_std": {"lag": {"colour": 1}}}, "allowed are std, resolution, spectrum"),
        (([], "lag"), {"noise_std": 1.0}, "at least one parameter"),
    ]
    for arguments, options, words in cases:
        with pytest.raises(bs.DiagramError) as told:
            bs.information(LAG, *arguments, **options)
        assert words in str(told.value)
