"""A saved record can be run again, bit for bit."""

import numpy as np
import pytest

import blocksim as bs

LOOP = """
format: 1
name: noisy loop
simulate: {stop: 0.5, solver: rk4, step: 1e-3, seed: 3}
parameters: {Ts: 0.005, gain: 2}
blocks:
  ref:   {type: Sine, frequency: 2}
  error: {type: Sum, signs: "+-", in: [ref, noisy]}
  hold:  {type: ZeroOrderHold, Ts: "${Ts}", in: error}
  act:   {type: Gain, k: "${gain}", in: hold}
  plant: {type: FirstOrderLag, T: 0.1, in: act}
  e:     {type: WhiteNoise, std: 0.1, Ts: "${Ts}"}
  noisy: {type: Sum, in: [plant, e]}
"""


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 9, "params": {"plant.T": 0.3}},
        {"params": {"Ts": 0.01, "gain": 3.0}},
        {"params": {"act.k": [1.0]}, "stop": 0.2},
        {"solver": "dopri5", "rtol": 1e-9, "every": 0.002, "start": 0.1},
    ],
)
def test_a_saved_record_runs_again_bit_for_bit(tmp_path, options):
    first = bs.simulate(LOOP, engine="python", **options)
    first.save(tmp_path / "r.npz")
    loaded = bs.Record.load(tmp_path / "r.npz")
    same(first, bs.rerun(loaded, engine="python"))
    same(first, loaded.rerun())


def test_another_seed_changes_only_what_is_random(tmp_path):
    first = bs.simulate(LOOP, engine="python")
    other = bs.rerun(first, seed=4, engine="python")
    np.testing.assert_array_equal(first["ref"], other["ref"])
    assert not np.array_equal(first["e"], other["e"])


def test_a_measured_record_says_that_there_is_nothing_to_run():
    with pytest.raises(bs.RecordError, match="carries no diagram"):
        bs.rerun(bs.Record.from_arrays(np.arange(3.0), {"q": np.zeros(3)}))


def test_a_diagram_with_a_subsystem_runs_again_from_its_file(tmp_path):
    (tmp_path / "part.yaml").write_text(
        "format: 1\nparameters: {T: 0.1}\nports: {in: [u], out: {y: lag}}\n"
        'blocks:\n  lag: {type: FirstOrderLag, T: "${T}", in: u}\n'
    )
    top = tmp_path / "top.yaml"
    top.write_text("format: 1\nsimulate: {stop: 1}\nblocks:\n  s: {type: Step}\n  p: {type: ./part.yaml, T: 0.3, in: s}\n")
    first = bs.simulate(top, engine="python")
    same(first, bs.rerun(first, engine="python"))
    assert first["p.lag"][-1] == pytest.approx(1 - np.exp(-1 / 0.3), abs=1e-7)
