"""Poses of robots are those of the record, and of the geometry that their files describe."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.studio.bench import run_bench
from blocksim.studio.protocol import Answer, pack
from blocksim.studio.robot import find_figures, motion, pose_at
from blocksim.studio.session import Session


def session_on(name: str, **changes):
    session = Session()
    session.open(name)
    run_bench(session, {"changes": changes})
    return session


def test_a_pose_is_the_record_at_that_time():
    session = session_on("one_dof/identify", **{"pid.kp": 30.0})
    record = bs.simulate("one_dof/identify", params={"pid.kp": 30.0})
    for t in (0.0, 1.2344, 9.9996, 10.0):
        place = np.searchsorted(record.t, t + 1e-9, "right") - 1
        answer = pose_at(session, {"t": t})
        assert answer.data["readings"][0]["value"] == record["joint.q"][place]
        assert answer.arrays["joint"][0] == record["joint.q"][place]


def test_what_the_file_does_not_log_is_run_again_and_is_the_same_run():
    session = session_on("thesis/backlash")
    answer = motion(session, {})
    assert answer.data["robots"][0]["kind"] == "masses" and answer.data["robots"][0]["gap"] > 0
    torsion = answer.arrays["robot"].reshape(4, -1)[3]
    record = session.shelf["robot"]["record"]
    r = session.diagram.nodes["robot"].block.settings["r"]
    assert abs(r * record["robot.phi_m"] - record["robot.phi_a"] - record["robot.torsion"]).max() < 1e-12
    assert abs(torsion).max() > 0
    shared = next(name for name in session.shelf["bench"]["run"].record if name in record)
    assert np.array_equal(record[shared], session.shelf["bench"]["run"].record[shared])


def test_a_scara_stands_where_trigonometry_says():
    figure = bs.open_diagram("gautier2001/scara_pd").nodes["robot"].block.figure()
    points = figure["points"](np.array([[np.pi / 2, -np.pi / 2]]))
    assert points[0] == pytest.approx(np.array([[0, 0, 0], [0, 1, 0], [0.8, 1, 0]]), abs=1e-12)


def test_a_serial_robot_stands_where_its_rows_say():
    """Two links of 0.5 m in a vertical plane: textbook forward kinematics."""
    text = """
format: 1
blocks:
  tau: {type: Constant, value: [0.0, 0.0, 0.0]}
  arm:
    type: SerialRobot
    joints:
      - {alpha: "${pi / 2}", d: 0, ZZ: 1, M: 1}
      - {a: 0.5, ZZ: 1, M: 1}
      - {a: 0.5, ZZ: 1, M: 1}
    in: tau
"""
    figure = find_figures(bs.experiment(text, stop=1), {})["arm"]
    q1, q2 = 0.4, 0.7
    places = figure["points"](np.array([[q1, q2, 0.0]]))[0]
    elbow = 0.5 * np.array([np.cos(q1), 0, np.sin(q1)])
    wrist = elbow + 0.5 * np.array([np.cos(q1 + q2), 0, np.sin(q1 + q2)])
    assert places[2] == pytest.approx(elbow, abs=1e-12) and places[3] == pytest.approx(wrist, abs=1e-12)


def test_a_plant_that_says_nothing_turns_by_its_angle():
    figures = find_figures(bs.experiment("two_mass/from_parts"), {})
    assert figures and all(figure["kind"] == "link" for figure in figures.values())


def test_a_run_that_diverges_is_seen_to_move_until_then():
    """The parameter filter of the paper's first case flies apart within a second; bench and robot show what came before."""
    session = session_on("gautier2001/ekf_case1")
    live = session.shelf["bench"]["run"]
    answer = motion(session, {})
    assert answer.data["robots"][0]["path"] == "robot"
    assert answer.data["span"] == [live.record.t[0], live.record.t[-1]] and answer.data["span"][1] < 1


def test_what_float32_cannot_hold_is_sent_without_a_warning():
    message = pack(Answer({}, {"x": np.array([1.0, 1e200, -1e200])}), "x", 1)
    assert list(np.frombuffer(message[-12:], "<f4")) == [1.0, np.inf, -np.inf]
