"""Record blocks: after the run, in dependency order, on simulated and measured records alike."""

import numpy as np
import pytest

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
blocks:
  joint:   {type: GravityJoint, friction: sign, in: push}
  push:    {type: Sine, amplitude: 0.1, frequency: 1, bias: 0.13}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}
  slow:    {type: Decimate, factor: 10, in: speed}
  speed:   {type: CentralDifference, in: smooth}
  smooth:  {type: ZeroPhaseFilter, cutoff: 40, in: encoder}
  truth:   {type: CentralDifference, in: joint.q}
log: [joint.qd]
"""


def test_blocks_run_after_each_other_and_what_they_read_is_logged():
    record = bs.simulate(LOOP, engine="python")
    inner = slice(100, -100)
    np.testing.assert_allclose(record["truth"][inner], record["joint.qd"][inner], atol=0.05)  # differences over 2 ms
    assert np.std(record["speed"][inner] - record["joint.qd"][inner]) < 0.5
    assert len(record["slow"]) < len(record["speed"]) / 9
    assert record.time("slow")[-1] <= 1.0


def test_what_is_made_of_truth_is_not_measured():
    record = bs.simulate(LOOP, engine="python")
    assert record.signal("speed").measured and record.signal("slow").measured
    assert not record.signal("truth").measured


def test_a_measured_record_goes_the_same_way():
    simulated = bs.simulate(LOOP, engine="python")
    lab = bs.Record.from_arrays(simulated.t, {"encoder.q_hat": simulated["encoder"], "joint.q": simulated["joint.q"]})
    diagram = bs.open_diagram(LOOP)
    np.testing.assert_array_equal(bs.process(diagram, lab)["speed"], simulated["speed"])


def test_a_missing_signal_is_named():
    lab = bs.Record.from_arrays(np.arange(200) * 1e-3, {"joint.q": np.zeros(200)})
    with pytest.raises(bs.DiagramError, match=r"block 'smooth': .*encoder.q_hat"):
        bs.process(bs.open_diagram(LOOP), lab)


def test_a_block_that_fails_takes_only_its_readers_with_it():
    more = "  short:  {type: Trim, first: 2000, in: encoder}\n  behind: {type: CentralDifference, in: short}\n"
    text = LOOP.replace("log:", f"{more}log:")
    whole = bs.simulate(LOOP, engine="python")
    with pytest.raises(bs.DiagramError) as caught:
        bs.simulate(text, engine="python")
    assert [p.what.split(":")[0] for p in caught.value.problems] == ["block 'short'"]  # not 'behind', which is in order
    assert set(caught.value.record) == set(whole)
    np.testing.assert_array_equal(caught.value.record["speed"], whole["speed"])
    with pytest.raises(bs.DiagramError, match="block 'short'") as caught:
        bs.identify(text, whole)
    np.testing.assert_array_equal(caught.value.record["speed"], whole["speed"])


class Fragile(bs.RecordBlock):
    """y = 1 / 0, as somebody's own block may have it."""

    family = "test"
    u = bs.inport("signal")
    y = bs.outport("nothing")

    def process(self, t, u):
        raise ZeroDivisionError("division by zero")


def test_a_block_that_breaks_down_does_not_lose_the_run():
    diagram = bs.open_diagram(LOOP)
    diagram.add("own", Fragile(), inputs="encoder")
    with pytest.raises(bs.DiagramError, match=r"block 'own' \(Fragile\) broke down: ZeroDivisionError: division") as caught:
        bs.simulate(diagram, engine="python")
    assert "speed.y" in caught.value.record and isinstance(caught.value.__cause__, ZeroDivisionError)


LATE = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  wave:   {type: Sine, frequency: 1.0}
  smooth: {type: ZeroPhaseFilter, cutoff: 20, in: wave}
  triple: {type: Gain, k: 3.0, in: smooth}
  mean:   {type: MovingAverage, window: 4, Ts: 1e-3, in: triple}
  rest:   {type: Sum, signs: "+-", in: [triple, wave]}
"""


def test_what_reads_a_record_block_works_after_the_run_sample_by_sample():
    record = bs.simulate(LATE)
    triple = record["triple"]
    assert (triple == 3.0 * record["smooth"]).all()
    assert record["mean"][3:] == pytest.approx(np.convolve(triple, np.ones(4) / 4, "valid"), abs=1e-14)
    assert (record["rest"] == triple - record["wave"]).all()
    swept = bs.simulate_many(LATE, params={"triple.k": [2.0, 5.0]})
    assert (swept[1]["triple"] == 5.0 * swept[1]["smooth"]).all()


def test_what_moves_during_the_run_cannot_wait_for_a_record_block():
    words = r"<text>:8: input 'u' of block 'lag' comes from 'rest\.y', which works after the run"
    with pytest.raises(bs.DiagramError, match=words):
        bs.simulate(LATE.replace("  mean: ", "  lag:    {type: FirstOrderLag, T: 1.0, in: rest}\n  mean: "))
