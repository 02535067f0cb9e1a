"""Where the effort is known to be what drives the plant, a sharper method than DIDIM is named, and it is one."""

from __future__ import annotations

import numpy as np

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, every: 1e-3, seed: 1}
parameters: {noise: 5e-4, ripple: 0.0}
blocks:
  ref:    {type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0.3], b: [-0.4, 0.3, 0.1]}
  error:  {type: Sum, signs: "+-", in: [ref.q, seen]}
  pid:    {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  seen:   {type: NoisySensor, std: "${noise}", Ts: 1e-3, in: joint.q}
  found:  {type: DIDIM, model: joint, skip: 0.5, in: pid}
  torque: {type: CLOE, parameters: [joint.J, joint.Fv, joint.Fc, joint.Ms], output: pid, skip: 0.5, in: pid}
  open:   {type: CLOE, parameters: {joint.J: found, joint.Fv: found, joint.Fc: found, joint.Ms: found}, output: joint.q,
           readings: [seen], skip: 0.5, in: seen}
"""
PUSHED = LOOP.replace("GravityJoint, J", "GravityJoint, in: drive, J").replace("N: 1, in: pid}", "N: 1}").replace(
    "  seen:", "  push:   {type: WhiteNoise, std: 0.02, Ts: 1e-3}\n  drive:  {type: Sum, in: [pid, push]}\n  seen:", 1
)  # fmt: skip


def noted(estimates):
    return any("CLOE with readings" in text for text in estimates.remarks)


def test_the_sharper_method_is_named_and_is_sharper():
    runs = [bs.simulate(LOOP, seed=seed).estimates for seed in range(6)]
    assert all(noted(run[name]) == (name != "open") for run in runs for name in ("found", "torque", "open"))
    errors = {b: np.array([[e.value - e.truth for e in run[b].values()] for run in runs]) for b in ("found", "open")}
    gain = np.sqrt(np.mean(errors["found"] ** 2, axis=0) / np.mean(errors["open"] ** 2, axis=0))
    assert (gain > 3).all() and np.median(gain) > 10
    for run in runs:
        assert all(abs(e.z) < 4 for e in run["open"].values())


def test_no_method_is_named_where_torque_acts_that_nobody_reads():
    found = bs.simulate(PUSHED).estimates
    assert not noted(found["found"]) and not noted(found["torque"])


def test_no_method_is_named_where_nothing_is_noisy():
    assert not noted(bs.simulate(LOOP, params={"noise": 0.0}).estimates["found"])
