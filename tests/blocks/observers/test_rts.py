"""The fixed-interval smoother: against the textbook's matrices, filterpy, and the dense least-squares solution."""

from functools import cache

import numpy as np
import pytest
from kalman import complex_step
from test_ekf import JOINT, LOOP, Ts, carried, joint_step
from test_ekf_plants import SCARA, scara

import blocks.observers.rts
import blocksim as bs
from blocks import LIBRARY
from blocksim.errors import DiagramError

SMOOTH = "  smooth:  {{type: RTSSmoother, ekf: ekf, in: {{x_hat: ekf.x_hat, P: ekf.P, u: pid}}}}\n"


@cache
def ran(settings, text=LOOP + SMOOTH):
    return bs.simulate(bs.open_diagram(text.format(settings=settings)))


def smoothed(x, P, u, step, W, Q):
    """Rauch, Tung and Striebel: from the last estimate backward."""
    xs, Ps = [x[-1]], [P[-1]]
    for k in range(len(x) - 2, -1, -1):
        ahead, F, G = step(x[k], u[k])
        P_ahead = F @ P[k] @ F.T + G @ W @ G.T + Q
        C = np.linalg.solve(P_ahead, F @ P[k]).T
        xs.append(x[k] + C @ (xs[-1] - ahead))
        Ps.append(P[k] + C @ (Ps[-1] - P_ahead) @ C.T)
    return np.array(xs[::-1]), np.array(Ps[::-1])


def same(record, wanted, n):
    x, P = wanted
    scale = np.abs(x).max(axis=0)
    assert np.abs(record["smooth.x"] - x).max(axis=0) == pytest.approx(np.zeros(n), abs=1e-9 * scale.max())
    std = np.sqrt(np.diagonal(P, axis1=1, axis2=2))
    assert record["smooth.std"] == pytest.approx(std, rel=1e-7)
    assert record["smooth.P_s"] == pytest.approx(P.reshape(len(x), -1), rel=1e-6, abs=1e-9 * P.max())


def believed(factor):
    return {**JOINT, **{n: factor * JOINT[n] for n in ("J", "Fv", "Fc", "Ms")}}


def test_it_is_the_textbooks_smoother_with_the_papers_model():
    record = ran("factor: 0.8, sigma_w2: 0.09, Q: [0, 1e-6]")
    x, P = record["ekf.x_hat"], record["ekf.P"].reshape(-1, 2, 2)
    step = lambda x, tau: joint_step(x, tau, believed(0.8))
    same(record, smoothed(x, P, record["pid"], step, 0.09 * np.eye(4), np.diag([0, 1e-6])), 2)
    assert np.array_equal(record["smooth.q_s"], record["smooth.x"][:, 0])
    assert np.array_equal(record["smooth.qd_s"], record["smooth.x"][:, 1])


def test_it_follows_the_filter_in_the_discretisation_of_order_4():
    record = ran("sigma_w2: 0.09, discretisation: rk4, substeps: 2")
    scale = np.array([JOINT[n] for n in ("J", "Fv", "Fc", "Ms")])  # the filter differentiates by parameters, not by w

    def step(x, tau):
        x, S = carried(x, tau, 2)
        return x, S[:, :2], S[:, 2:] * scale

    x, P = record["ekf.x_hat"], record["ekf.P"].reshape(-1, 2, 2)
    same(record, smoothed(x, P, record["pid"], step, 0.09 * np.eye(4), np.zeros((2, 2))), 2)


def test_a_robot_of_two_joints():
    text = SCARA + SMOOTH.replace("u: pid", "u: pd")
    record, kind = ran("sigma_w2: 0.01, Q: 1e-8", text), LIBRARY["ScaraRobot"]
    p = kind(LMY2=0.02, beta=10.0).settings
    step = lambda x, tau: complex_step(scara, x, tau, p, kind.inverse_parameters, Ts)
    x, P = record["ekf.x_hat"], record["ekf.P"].reshape(-1, 4, 4)
    same(record, smoothed(x, P, record["pd"], step, 0.01 * np.eye(8), 1e-8 * np.eye(4)), 4)
    assert record["smooth.qd_s"].shape == (501, 2)


FREE = """
format: 1
simulate: {{stop: 0.6, solver: rk4, step: 1e-2, seed: 1}}
blocks:
  none:   {{type: Constant, value: 0.0}}
  joint:  {{type: GravityJoint, J: 1.0, Fv: 0.4, Fc: 0.0, Ms: 0.0, qd: 1.0, in: none}}
  sensor: {{type: TorqueSensor, Ts: 1e-2, std: 0.05, in: joint.q}}
  ekf:    {{type: EKF, Ts: 1e-2, model: joint, {settings}, in: {{y: sensor, u: none}}}}
  smooth: {{type: RTSSmoother, ekf: ekf, in: {{x_hat: ekf.x_hat, P: ekf.P, u: none}}}}
"""
LINEAR = np.array([[1.0, 1e-2], [0.0, 1.0 - 0.4e-2]])


def test_filterpy_finds_the_same_for_a_linear_plant():
    kalman = pytest.importorskip("filterpy.kalman")
    record = ran("sigma_w2: 0, Q: [1e-6, 1e-4]", FREE)
    count = len(record.t)
    x, P, _, _ = kalman.rts_smoother(
        record["ekf.x_hat"], record["ekf.P"].reshape(-1, 2, 2), [LINEAR] * count, [np.diag([1e-6, 1e-4])] * count
    )
    same(record, (x, P), 2)


def test_it_is_the_best_linear_estimate_given_all_readings():
    """The dense weighted least-squares problem of first state, noises and readings; no recursion at all."""
    record = ran("sigma_w2: 0, Q: [1e-6, 1e-4], P0: [0.1, 0.3], x0: [0.2, 0.5]", FREE)
    N = len(record.t)
    A, b = np.zeros((2 * N + N, 2 * N)), np.zeros(3 * N)
    A[:2, :2] = np.diag(1 / np.sqrt([0.1, 0.3]))
    b[:2] = np.array([0.2, 0.5]) / np.sqrt([0.1, 0.3])
    weight = np.diag(1 / np.sqrt([1e-6, 1e-4]))
    for k in range(1, N):
        A[2 * k : 2 * k + 2, 2 * k - 2 : 2 * k] = -weight @ LINEAR
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = weight
    for k in range(N):
        A[2 * N + k, 2 * k], b[2 * N + k] = 1 / 0.05, record["sensor"][k] / 0.05
    wanted = np.linalg.lstsq(A, b, rcond=None)[0].reshape(N, 2)
    covariance = np.linalg.inv(A.T @ A)
    assert record["smooth.x"] == pytest.approx(wanted, abs=1e-9)
    assert record["smooth.std"] == pytest.approx(np.sqrt(np.diag(covariance)).reshape(N, 2), rel=1e-8)


def test_a_plant_without_any_noise_is_smoothed_to_one_motion():
    """Without process noise every smoothed state is the last one, carried back; known directions have no variance."""
    record = ran("sigma_w2: 0, Q: 0, P0: [0, 0.3]", FREE)
    x = record["smooth.x"]
    assert x[1:] == pytest.approx(x[:-1] @ LINEAR.T, abs=1e-9)
    assert x[0, 0] == pytest.approx(0, abs=1e-12) and record["smooth.std"][0, 0] == pytest.approx(0, abs=1e-9)


def test_more_readings_never_make_it_worse():
    record = ran("factor: 0.8, sigma_w2: 0.09, Q: [0, 1e-6]")
    filtered = np.sqrt(record["ekf.P"][:, ::3])
    assert (record["smooth.std"] <= filtered * (1 + 1e-9)).all()
    assert record["smooth.std"][-1] == pytest.approx(filtered[-1]) and record["smooth.x"][-1] == pytest.approx(
        record["ekf.x_hat"][-1]
    )
    assert np.median(record["smooth.std"][:, 1] / filtered[:, 1]) < 0.7


@pytest.mark.parametrize("settings", ["sigma_w2: 0.09", "sigma_w2: 0.09, discretisation: rk4"])
def test_compiled_it_gives_the_same_to_the_last_bit(settings, monkeypatch):
    found = []
    for large in (10, 10**6):
        monkeypatch.setattr(blocks.observers.rts, "MANY_SAMPLES", large)
        found.append(bs.simulate(bs.open_diagram((LOOP + SMOOTH).format(settings=settings)), stop=0.3))
    assert all(np.array_equal(found[0][f"smooth.{port}"], found[1][f"smooth.{port}"]) for port in ("x", "std", "P_s"))


def test_it_knows_the_settings_of_the_run():
    diagram = bs.open_diagram((LOOP + SMOOTH).format(settings="sigma_w2: 0.09"))
    changed = bs.simulate(diagram, params={"joint.Ms": 0.01, "ekf.factor": 0.8, "ekf.sigma_w2": 0.01})
    text = (LOOP + SMOOTH).replace("theta0: 0.3", "theta0: 0.3, Ms: 0.01")
    assert np.array_equal(changed["smooth.x"], ran("sigma_w2: 0.01, factor: 0.8", text)["smooth.x"])


def test_a_record_is_smoothed_as_a_run_is(tmp_path):
    record = ran("sigma_w2: 0.09")
    diagram = bs.open_diagram((LOOP + SMOOTH).format(settings="sigma_w2: 0.09"))
    again = bs.process(diagram, record)
    assert np.array_equal(again["smooth.x"], record["smooth.x"])


def refusal(text, settings="sigma_w2: 0.09", **options):
    with pytest.raises(DiagramError) as caught:
        bs.simulate(bs.open_diagram(text.format(settings=settings)), stop=0.1, **options)
    assert "'smooth'" in str(caught.value)
    return str(caught.value)


def test_what_is_refused():
    text = LOOP + SMOOTH
    assert "a block of type EKF is wanted, found 'joint' (GravityJoint)" in refusal(text.replace("ekf: ekf", "ekf: joint"))
    assert "acts every 0.001 s and its signals are there every 0.01 s" in refusal(text, every="1e-2")
    assert "'ekg' is neither a block" in refusal(text.replace("ekf: ekf", "ekf: ekg"))
