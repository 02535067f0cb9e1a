"""A weight that acts at another angle than the diagram says: told with the angle, from a motion in closed form."""

from __future__ import annotations

import re

import numpy as np
import pytest

import blocksim as bs

JOINT = """
format: 1
simulate: {stop: 10, solver: rk4, step: 1e-2}
blocks:
  torque: {type: Multisine, f_min: 0.1, f_max: 1, lines: 5, amplitude: 1}
  joint:  {type: GravityJoint, J: 0.2, Fv: 0.3, Fc: 0.0, Ms: 0.4, N: 1, theta0: 0, in: torque}
  ls:     {type: LeastSquares, model: joint, parameters: [J, Fv, Ms], known: {Fc: 0},
           in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: torque}}
"""


def measured(angle: float, noise: float = 1e-3) -> bs.Record:
    """J qdd + Fv qd + Ms g cos(q + angle) along a sum of two sines."""
    t = np.arange(1000) * 1e-2
    q, qd, qdd = np.zeros((3, 1000))
    for a, w in ((0.8, 2.0), (0.3, 7.0)):
        q, qd, qdd = q + a * np.sin(w * t), qd + a * w * np.cos(w * t), qdd - a * w**2 * np.sin(w * t)
    tau = 0.2 * qdd + 0.3 * qd + 0.4 * 9.81 * np.cos(q + angle) + noise * np.random.default_rng(1).standard_normal(1000)
    return bs.Record.from_arrays(t, {"joint.q": q, "joint.qd": qd, "joint.qdd": qdd, "torque.y": tau})


@pytest.mark.parametrize("angle", [0.5, -2.5, np.pi / 2])
def test_the_angle_is_told_and_puts_the_others_right(angle):
    wrong = bs.identify(JOINT, measured(angle)).estimates["ls"]
    (told,) = [text for text in wrong.warnings if "the weight acts" in text]
    said = float(re.search(r"--set joint\.theta0=([-\d.]+)", told)[1])
    assert said == pytest.approx(angle, abs=2e-3) and abs(wrong["J"].value / 0.2 - 1) > 0.02
    right = bs.identify(JOINT, measured(angle), params={"joint.theta0": said}).estimates["ls"]
    assert right.vector() == pytest.approx([0.2, 0.3, 0.4], rel=2e-3)
    assert not any("weight acts" in text for text in right.warnings)


def test_a_lost_torque_is_told_beside_the_angle():
    """Both are off; what is said of one reckons with the other."""
    record = measured(0.5)
    record = bs.Record.from_arrays(record.t, {n: record[n] + 0.3 * (n == "torque.y") for n in record})
    found = bs.identify(JOINT, record).estimates["ls"]
    values = dict(re.findall(r"--set joint\.(\w+)=([-\d.]+)", " ".join(found.warnings)))
    assert float(values["theta0"]) == pytest.approx(0.5, abs=2e-3) and float(values["offset"]) == pytest.approx(0.3, abs=2e-3)
    params = {f"joint.{name}": float(value) for name, value in values.items()} | {"ls.parameters": ["J", "Fv", "Ms", "offset"]}
    right = bs.identify(JOINT, record, params=params).estimates["ls"]
    assert right.vector() == pytest.approx([0.2, 0.3, 0.4, 0.3], rel=2e-3) and not any("lost" in t for t in right.warnings)


def test_nothing_is_told_where_the_angle_is_right_or_not_asked():
    assert not any("weight acts" in text for text in bs.identify(JOINT, measured(0.0)).estimates["ls"].warnings)
    silent = bs.identify(JOINT, measured(0.5), params={"ls.channels": "off"}).estimates["ls"]
    assert not any("weight acts" in text for text in silent.warnings)


def test_a_small_lag_of_the_effort_is_told_where_it_moves_a_parameter():
    """1 ms explains next to nothing of the noise, and moves the inertia by many standard deviations."""
    record = measured(0.0)
    t, shifted = record.t, np.interp(record.t + 1e-3, record.t, record["torque.y"])
    signals = {n: record[n] for n in ("joint.q", "joint.qd", "joint.qdd")}
    noise = 5e-2 * np.random.default_rng(2).standard_normal(len(t))
    found = bs.identify(JOINT, bs.Record.from_arrays(t, {**signals, "torque.y": shifted + noise})).estimates["ls"]
    (told,) = [text for text in found.warnings if "ahead of the motion" in text]
    assert "standard deviations. Map its column with delay: -0.00" in told
    late = found.details["effort_lag"]
    assert late["lag"] == pytest.approx(-1e-3, abs=4 * late["lag_std"]) and late["lag_std"] < 2e-4


def test_an_effort_of_the_other_sign_is_told():
    record = measured(0.0)
    turned = bs.Record.from_arrays(record.t, {n: record[n] * (-1 if n == "torque.y" else 1) for n in record})
    found = bs.identify(JOINT, turned).estimates["ls"]
    (told,) = [text for text in found.warnings if "the other sign" in text]
    assert told.startswith("J, Fv are negative beyond doubt") and "scale: -1" in told
    assert not any("the other sign" in text for text in bs.identify(JOINT, record).estimates["ls"].warnings)
