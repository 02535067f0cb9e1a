"""The bundled systems of the papers: each loads, runs and draws, and does what its equations say it must."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import blocksim as bs
from blocksim.diagram.files import bundled

NAMES = [name for name in bundled() if not name.startswith("basics/")]
G = 9.81


@cache
def ran(name, stop=None):
    """A run that logs every signal."""
    return bs.simulate(replace(bs.open_diagram(name), log=None), **({} if stop is None else {"stop": stop}))


def settings(name, block):
    return bs.open_diagram(name).nodes[block].block.settings


def test_the_names_of_the_pages_are_there():
    assert {"one_dof/pid", "two_mass/open", "tout2022/joint_pid", "gautier2001/scara_pd", "emps/cascade"} <= set(NAMES)
    signals = ("u_slump", "u_sin", "u_levels", "u_bin", "u_multisine", "multisine_low", "multisine_high")
    assert {f"thesis/{name}" for name in (*signals, "hysteresis", "backlash", "closed_loop")} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_and_draws(name, tmp_path):
    diagram = bs.open_diagram(name)
    assert diagram.name and diagram.description and diagram.simulate.stop
    late = any(getattr(node.block, "after_run", False) for node in diagram.nodes.values())
    record = bs.simulate(diagram, stop=2 if late else 0.1)  # an identifier needs rows
    assert all(np.isfinite(record[signal]).all() for signal in record)
    bs.draw(diagram, tmp_path / "x.svg")


def test_the_joint_follows_its_reference_and_its_encoder_rounds():
    record = ran("tout2022/joint_pid", stop=5)
    error = record["ref.q"] - record["joint.q"]
    assert np.abs(error).max() < 0.1  # of 13.6 rad at the motor: 7 mrad of the handle
    rounding = record["encoder"] - record["joint.q"]
    step = 2 * np.pi / 2000
    assert np.abs(rounding).max() <= step / 2 * (1 + 1e-9)
    assert np.var(rounding) == pytest.approx(step**2 / 12, rel=0.05)  # (14)


def test_the_work_of_the_motor_is_kept_lost_or_lifted():
    """Torque times way = kinetic energy + losses of both frictions + what gravity took, for the joint of (15)."""
    record, p = ran("tout2022/joint_pid", stop=5), settings("tout2022/joint_pid", "joint")
    q, qd, tau = record["joint.q"], record["joint.qd"], record["pid"]
    work = np.sum(tau[:-1] * np.diff(q))  # the torque holds from sample to sample
    lost = np.trapezoid(p["Fv"] * qd**2 + p["Fc"] * np.abs(qd), record.t)
    lifted = p["Ms"] * G * p["N"] * (np.sin(q[-1] / p["N"]) - np.sin(q[0] / p["N"]))
    assert work == pytest.approx(0.5 * p["J"] * qd[-1] ** 2 + lost + lifted, rel=2e-4)


def test_a_finer_encoder_makes_a_quieter_torque():
    coarse, fine = (bs.simulate("tout2022/joint_pid", stop=2, params={"counts": n})["pid"] for n in (2000, 20000))
    assert np.std(np.diff(coarse)) > 5 * np.std(np.diff(fine))


def test_constant_levels_are_balanced_by_friction_alone():
    """Once the speed stays, Fv w + Fc tanh(w) = tau: nothing else takes torque."""
    from scipy.optimize import brentq

    record = bs.simulate("thesis/u_levels", stop=5)
    speed = record["robot.w_m"]
    for end, tau in ((2.498, 0.2), (4.998, 0.4)):
        steady = brentq(lambda w, tau=tau: 1.30e-2 * w + 6.44e-1 * np.tanh(w) - tau, 0, 100)
        assert speed[np.searchsorted(record.t, end)] == pytest.approx(steady, rel=1e-6)
        assert 1.30e-2 * steady < tau / 40  # as the page says


def test_the_one_dof_loop_tracks():
    record = ran("one_dof/pid", stop=4)
    late = record.t > 1
    assert np.abs(record["ref.q"] - record["joint.q"])[late].max() < 0.03


def test_the_scara_follows_its_polynomials_from_rest_to_rest():
    record = ran("gautier2001/scara_pd")
    assert np.abs(record["ref.q"] - record["robot.q"]).max(axis=0) == pytest.approx([0.0, 0.0], abs=0.03)
    assert record["robot.q"][-1] == pytest.approx([0, 0], abs=0.01)
    assert record["ref.qd"][[0, -1]] == pytest.approx(np.zeros((2, 2)), abs=1e-12)


def test_the_scara_trajectory_excites_every_parameter():
    """Full rank, and a condition number of the order of the paper's Cond(W) = 290."""
    import blocks

    record, robot = ran("gautier2001/scara_pd"), settings("gautier2001/scara_pd", "robot")
    kind = blocks.LIBRARY["ScaraRobot"]
    W = kind.regressor(record["ref.q"], record["ref.qd"], record["ref.qdd"], friction=robot["friction"], beta=robot["beta"])
    W = np.asarray(W).reshape(-1, 8)
    assert np.linalg.matrix_rank(W) == 8 and np.linalg.cond(W) < 290


def test_the_positioner_lags_as_its_loop_says():
    """At constant speed v kv = gtau^-1 (Fv qd + Fc + offset), so q_ref - q = (qd + v / kv) / kp."""
    record, p = ran("emps/cascade", stop=2), settings("emps/cascade", "carriage")
    qd = settings("emps/cascade", "ref")["speed"]
    lag = (qd + (p["Fv"] * qd + p["Fc"] + p["offset"]) / (p["gtau"] * 243.45)) / 160.18
    cruise = (record.t > 0.8) & (record.t < 1.2)
    # the sampled loop acts on a speed that is one sample old
    assert (record["ref.q"] - record["carriage.q"])[cruise] == pytest.approx(np.full(cruise.sum(), lag), abs=2e-6)


def test_the_vertical_joint_cruises_against_friction_alone():
    record = ran("brunot2017/joint1", stop=0.8)
    cruise = (record.t > 0.45) & (record.t < 0.5)
    assert record["ref.qd"][cruise] == pytest.approx(np.full(cruise.sum(), 3.0))
    assert np.mean(record["pid"][cruise]) == pytest.approx(8.07 * 3 + 6.90, rel=0.02)


def energy(record, p, phi, w):
    """Kinetic energy of both masses and what the spring holds."""
    spring = 0.5 * p["k1"] * phi**2 + 0.25 * p["k3"] * phi**4
    return 0.5 * p["Jm"] * record["robot.w_m"] ** 2 + 0.5 * p["Ja"] * record["robot.w_a"] ** 2 + spring


@pytest.mark.parametrize("name", ["thesis/u_sin", "thesis/multisine_low", "thesis/multisine_high"])
def test_two_masses_keep_or_lose_the_work_of_the_motor(name):
    record, p = ran(name, stop=4), settings(name, "robot")
    phi = p["r"] * record["robot.phi_m"] - record["robot.phi_a"]
    w = p["r"] * record["robot.w_m"] - record["robot.w_a"]
    w_m = record["robot.w_m"]
    power = record["u"] * w_m - p["Fv"] * w_m**2 - p["Fc"] * w_m * np.tanh(p["beta"] * w_m) - p["d"] * w**2
    t, stored = record.t, energy(record, p, phi, w)
    left = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(t))])
    assert stored - stored[0] == pytest.approx(left, abs=0.01 * np.max(np.abs(stored)))


def test_the_hysteresis_saturates():
    record = ran("thesis/hysteresis", stop=5)
    assert 5e3 < np.abs(record["robot.z"]).max() < 1e4  # A / alpha


def test_the_gap_is_crossed_once_in_each_half_period():
    record, p = ran("thesis/backlash", stop=10), settings("thesis/backlash", "robot")
    phi = p["r"] * record["robot.phi_m"] - record["robot.phi_a"]
    inside = np.abs(phi) < 0.499 * p["q"]
    assert np.abs(record["robot.tau_s"][inside]).max() == 0
    late = record.t >= 5
    side = np.sign(phi[late & ~inside])
    assert np.count_nonzero(np.diff(side)) == 4  # two periods of 2.5 s


#: Diagrams of the thesis' methods on noises of their own.
OTHER_NOISE = {"thesis/arm_locked", "thesis/backlash_search", "thesis/chain", "thesis/mean_spring", "thesis/rigid"}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("thesis/") and name not in OTHER_NOISE])
def test_the_noise_is_one_percent_of_the_median_speed(name):
    record = ran(name)
    assert bs.open_diagram(name).parameters["noise"] == pytest.approx(0.01 * np.median(np.abs(record["robot.w_m"])), rel=0.06)


def test_the_speed_loop_follows_its_reference_beneath_the_excitation():
    record = ran("thesis/closed_loop", stop=10)
    late = record.t >= 5  # one period of 5 s
    turn = np.exp(-2j * np.pi * 0.2 * record.t[late][:-1])
    line = 2 * np.mean(record["robot.w_m"][late][:-1] * turn)
    assert np.abs(line) == pytest.approx(20, rel=0.1) and np.angle(1j * line) == pytest.approx(0, abs=0.3)


def test_the_whole_band_multisine_has_the_power_of_the_thesis():
    u = ran("thesis/u_multisine")["u"]
    assert np.std(u) == pytest.approx(60 / np.sqrt(2 * 10000), rel=0.02)  # the rms of 60 real(ifft(exp(i phase)))
