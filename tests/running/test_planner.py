"""A controller that is not the one of the experiment is told, before a simulated loop blames the plant."""

from __future__ import annotations

import pytest

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, seed: 2}
parameters: {Tf: 5e-3}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PD, Ts: 1e-3, kp: 20, kd: 0.5, Tf: "${Tf}", in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  found:   {type: CLOE, output: [pid], in: [pid], parameters: {joint.J: 0.03, joint.Ms: 0.02}}
log: [ref.q, encoder, pid]
"""


@pytest.fixture(scope="module")
def record() -> bs.Record:
    made = bs.simulate(LOOP.partition("  found:")[0] + "log: [ref.q, encoder, pid]\n")
    return bs.Record.from_arrays(made.t, {name: made[name] for name in made})


def notes_of(record: bs.Record, **params: object) -> list[str]:
    notes = bs.identify(LOOP, record, params=params).provenance["notes"]
    return [text for text in notes if "its controller is not quite" in text]


def test_the_controller_that_acted_is_silent_and_another_is_told(record):
    assert notes_of(record) == []
    (told,) = notes_of(record, Tf=8e-3)
    assert told.startswith("'pid.u': what the diagram makes of the record differs from what was recorded by ")
    share = float(told.partition(" by ")[2].partition(" %")[0])
    assert 0.5 < share < 5


def test_nothing_is_told_where_no_loop_is_simulated(record):
    text = LOOP.partition("  found:")[0] + (
        "  found: {type: OutputError, model: joint, output: joint.q, in: {u: pid, y: encoder}, parameters: {joint.J: 0.03}}\n"
    )
    notes = bs.identify(text + "log: [encoder]\n", record, params={"Tf": 8e-3}).provenance["notes"]
    assert not any("controller" in note for note in notes)


def test_a_controller_that_acts_between_the_rows_is_not_judged(record):
    every = bs.Record.from_arrays(record.t[::4], {name: record[name][::4] for name in record})
    assert notes_of(every, Tf=8e-3) == []
