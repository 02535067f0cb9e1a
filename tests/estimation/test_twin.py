"""The twin of a run: the same diagram with ideal sensors, compiled once, run with other parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.block import SampledBlock, inport, model, outport, table
from blocksim.diagram.files import bundled_root
from blocksim.estimation import twin as twins
from blocksim.estimation.process import Run
from blocksim.estimation.twin import Played, twin_of

LOOP = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-3, seed: 5}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 1.0, a: [0.5, 0.2], b: [0.1, -0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, READ]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-2, noise_std: 2, offset: 0.3, in: joint.q}
  torque:  {type: TorqueSensor, Ts: 1e-3, std: 0.1, gain: 1.2, offset: 0.5, in: pid}
  smooth:  {type: ZeroPhaseFilter, cutoff: 40, in: encoder}
log: [ref.q, joint.q, pid, encoder, torque]
"""
SENSED, TRUE = LOOP.replace("READ", "encoder"), LOOP.replace("READ", "joint.q")


def run_of(diagram, record, simulated=True, **changes):
    return Run(diagram, changes, record, "found", simulated)


@pytest.fixture(scope="module")
def sensed():
    diagram = bs.open_diagram(SENSED)
    return diagram, bs.simulate(diagram)


def test_sensors_are_ideal_and_the_rest_as_it_was(sensed):
    diagram, record = sensed
    twin = twin_of(run_of(diagram, record), record.t, ["joint.q", "encoder", "torque"])
    found = twin.run({})
    wanted = bs.simulate(TRUE)  # the same loop around the true position
    np.testing.assert_allclose(found["joint.q"], wanted["joint.q"], atol=1e-12)
    np.testing.assert_allclose(found["encoder"], wanted["joint.q"], atol=1e-12)
    np.testing.assert_allclose(found["torque"], wanted["pid"], atol=1e-12)
    assert np.abs(record["joint.q"] - wanted["joint.q"]).max() > 0.1  # what the offset did


def test_only_what_matters_is_simulated(sensed):
    diagram, record = sensed
    blocks = set(twin_of(run_of(diagram, record), record.t, ["joint.q"]).experiment.schedule.by_path)
    assert blocks == {"ref", "error", "pid", "joint", "encoder"}


def test_sample_times_stay(sensed):
    _, record = sensed
    slow = bs.open_diagram(SENSED.replace("Encoder, Ts: 1e-3", "Encoder, Ts: 1e-2"))
    twin = twin_of(run_of(slow, record), record.t, ["encoder"])
    assert np.all(np.diff(twin.run({})["encoder"]).nonzero()[0] % 10 == 9)


def test_it_is_made_once_and_parameters_are_only_numbers(sensed, monkeypatch):
    diagram, record = sensed
    first = twin_of(run_of(diagram, record), record.t, ["joint.qd"])
    made = []
    monkeypatch.setattr(twins, "make_experiment", lambda *a, **k: made.append(a))
    monkeypatch.setattr(twins, "fill", lambda *a, **k: made.append(a))
    second = twin_of(run_of(diagram, record), record.t, ["joint.qd"])
    before = first.experiment.program
    results = [second.run({"joint.J": J})["joint.qd"] for J in (0.02, 0.03, 0.04)]
    assert not made and second.experiment.program is before
    assert not np.array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], first.run({})["joint.qd"])


def test_those_of_many_lengths_are_forgotten_again(sensed):
    diagram, record = sensed
    run = run_of(diagram, record)
    for rows in range(2, twins.MOST_TWINS + 6):
        twin_of(run, record.t[:rows], ["joint.q"])
    assert len(twins.KEPT[id(diagram)][1].values()) == twins.MOST_TWINS


def test_many_at_once_equal_one_by_one(sensed):
    diagram, record = sensed
    twin = twin_of(run_of(diagram, record), record.t, ["joint.q"])
    table = [{"joint.J": J} for J in (0.01, 0.02, 0.05)]
    for row, found in zip(table, twin.run_many(table), strict=True):
        np.testing.assert_array_equal(found["joint.q"], twin.run(row)["joint.q"])


def test_many_at_once_may_keep_less_than_their_signals(sensed):
    diagram, record = sensed
    twin = twin_of(run_of(diagram, record), record.t, ["joint.q"])
    table = [{"joint.J": J} for J in (0.01, 0.02, 0.05)]
    kept = twin.run_many(table, lambda row, found: (row, found["joint.q"][-1]))
    assert kept == [(i, twin.run(row)["joint.q"][-1]) for i, row in enumerate(table)]


def test_limits_hold_in_every_run(sensed):
    """The first run finds the places of the parameters; those after it put their numbers there, once they are allowed."""
    diagram, record = sensed
    twin = twin_of(run_of(diagram, record), record.t, ["joint.q"])
    twin.run({"joint.J": 0.02, "joint.q": 0.1})
    for wrong in (-0.02, 0.0, float("nan"), "heavy"):
        with pytest.raises(bs.DiagramError, match="J"):
            twin.run({"joint.J": wrong})
    assert twin.run({"joint.q": 0.25})["joint.q"][0] == 0.25


def test_settings_of_the_run_count(sensed):
    diagram, record = sensed
    changed = twin_of(run_of(diagram, record, **{"joint.Fc": 0.3, "encoder.noise_std": 5.0}), record.t, ["joint.q"])
    wanted = bs.simulate(TRUE, params={"joint.Fc": 0.3})
    np.testing.assert_allclose(changed.run({})["joint.q"], wanted["joint.q"], atol=1e-12)


def test_random_excitation_is_repeated_and_noise_is_silent():
    text = """
format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3, seed: 11}
blocks:
  push:  {type: FilteredNoise, amplitude: 5.0, cutoff: 20, Ts: 1e-3}
  joint: {type: GravityJoint, in: push}
  y:     {type: PART, Ts: 1e-3, std: 0.1, in: joint.qd}
"""
    diagram = bs.open_diagram(text.replace("PART", str(bundled_root() / "parts" / "speed_sensor.yaml")))
    record = bs.simulate(diagram, seed=3)
    found = twin_of(run_of(diagram, record), record.t, ["joint.qd", "y.w_hat"]).run({})
    np.testing.assert_allclose(found["joint.qd"], record["joint.qd"], atol=1e-12)
    np.testing.assert_allclose(found["y.w_hat"], record["joint.qd"], atol=1e-12)
    assert np.std(record["y.sensor.tau_hat"] - record["joint.qd"]) > 0.05


def test_a_measured_record_brings_its_own_reference(sensed):
    diagram, _ = sensed
    other = bs.simulate(TRUE.replace("a: [0.5, 0.2]", "a: [-0.3, 0.1]"))
    lab = bs.Record.from_arrays(other.t, {"ref.q": other["ref.q"], "pid.u": other["pid"]})
    found = twin_of(run_of(diagram, lab, simulated=False), lab.t, ["joint.q"]).run({})
    np.testing.assert_allclose(found["joint.q"], other["joint.q"], atol=1e-10)


@pytest.mark.parametrize("begin", [0.0, 0.25])
def test_a_recorded_input_drives_the_plant_alone(sensed, begin):
    diagram, record = sensed
    lab = bs.Record.from_arrays(record.t + begin, {"pid.u": record["pid"]})
    played = [Played("joint.tau", record["pid"], "zero", port=True)]
    twin = twin_of(run_of(diagram, lab, simulated=False), lab.t, ["joint.q"], played)
    assert set(twin.experiment.schedule.by_path) == {"joint", "joint_tau_recorded"}
    np.testing.assert_allclose(twin.run({})["joint.q"], record["joint.q"], atol=1e-12)


def test_straight_lines_between_samples(sensed):
    """A ramp sampled every 0.1 s and integrated twice: exact with straight lines, half a sample late with a hold."""
    diagram = bs.Diagram("ramp")
    diagram.add("u", "Constant", value=0.0)
    diagram.add("x", "Integrator", inputs="u")
    diagram = replace(diagram, simulate=replace(diagram.simulate, stop=1, solver="rk4", step=0.01))
    t = np.arange(11) * 0.1
    lab = bs.Record.from_arrays(t, {"u.y": t})
    line = twin_of(run_of(diagram, lab, simulated=False), t, ["x"]).run({})["x"]
    held = twin_of(run_of(diagram, bs.Record.from_arrays(t, x=t)), t, ["x"], [Played("u.y", t, "zero")]).run({})["x"]
    np.testing.assert_allclose(line, t**2 / 2, atol=1e-12)
    np.testing.assert_allclose(held, t * (t - 0.1) / 2, atol=1e-12)


def test_a_plant_in_a_subsystem(tmp_path):
    (tmp_path / "drive.yaml").write_text("""
format: 1
ports: {in: [u], out: {q: encoder, tau: amplifier}}
blocks:
  amplifier: {type: Gain, k: 0.5, in: u}
  joint:     {type: GravityJoint, in: amplifier}
  encoder:   {type: Encoder, Ts: 1e-3, resolution: 0.1, in: joint.q}
""")
    (tmp_path / "top.yaml").write_text("""
format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3}
blocks:
  push:  {type: Sine, amplitude: 0.5, frequency: 2.0}
  drive: {type: ./drive.yaml, in: push}
log: [drive.joint.q, drive.q, push]
""")
    diagram = bs.open_diagram(str(tmp_path / "top.yaml"))
    record = bs.simulate(diagram)
    found = twin_of(run_of(diagram, record), record.t, ["drive.q", "drive.joint.q"]).run({})
    np.testing.assert_allclose(found["drive.q"], record["drive.joint.q"], atol=1e-12)
    played = [Played("drive.joint.tau", 0.5 * record["push"], "linear", port=True)]
    alone = twin_of(run_of(diagram, record), record.t, ["drive.joint.q"], played).run({})["drive.joint.q"]
    np.testing.assert_allclose(alone, record["drive.joint.q"], atol=1e-3)  # what lines miss of the sine


class Knowing(SampledBlock):
    """y = u J: a block that knows the inertia of a plant."""

    model: str = model("the plant")
    u = inport("input")
    J = table("inertia of the plant")
    y = outport("output")

    @staticmethod
    def table_J(model):
        return [model.settings["J"]]

    @staticmethod
    def output(u, J):
        return u * J[0]


def test_an_observer_keeps_what_it_knew_of_the_plant():
    diagram = bs.Diagram("loop")
    diagram.add("push", "Constant", value=3.0)
    diagram.add("known", Knowing(model="joint", Ts="1/100"), inputs="push")
    diagram.add("joint", "GravityJoint", J=0.02, inputs="known")
    diagram = replace(diagram, simulate=replace(diagram.simulate, stop=0.1, solver="rk4", step=0.01))
    record = bs.simulate(diagram, params={"joint.J": 0.05})
    assert record["known"][-1] == pytest.approx(0.15)
    twin = twin_of(run_of(diagram, record, **{"joint.J": 0.05}), record.t, ["known", "joint.qd"])
    for J in (0.05, 0.5):
        assert twin.run({"joint.J": J})["known"][-1] == pytest.approx(0.15)
    assert twin.run({"joint.J": 0.05})["joint.qd"][-1] == pytest.approx(record["joint.qd"][-1])


def test_times_that_are_no_grid_are_refused(sensed):
    diagram, record = sensed
    with pytest.raises(bs.RecordError, match="not evenly spaced"):
        twin_of(run_of(diagram, record), record.t**2, ["joint.q"])
    with pytest.raises(bs.RecordError, match=r"connect the signal before it is decimated"):
        twin_of(run_of(diagram, record), record.t[7::10], ["joint.q"])
    with pytest.raises(bs.RecordError, match="1 samples is too short"):
        twin_of(run_of(diagram, record), record.t[:1], ["joint.q"])


def test_a_sensor_says_itself_what_is_ideal(sensed):
    class Drift(SampledBlock):
        """y = u + t: a sensor that drifts."""

        u = inport("truth")
        y = outport("reading", measured=True)

        @staticmethod
        def output(u, t):
            return u + t

        def ideal(self):
            return Steady(**self.settings)

    class Steady(Drift):
        """y = u: a sensor that does not."""

        @staticmethod
        def output(u):
            return u

    diagram = bs.Diagram("drift")
    diagram.add("wave", "Sine", frequency=1.0)
    diagram.add("sensor", Drift(Ts="1/100"), inputs="wave")
    diagram = replace(diagram, simulate=replace(diagram.simulate, stop=1, every="1/100"))
    record = bs.simulate(diagram)
    found = twin_of(run_of(diagram, record), record.t, ["sensor", "wave"]).run({})
    np.testing.assert_array_equal(found["sensor"], found["wave"])
    assert record["sensor"][-1] - record["wave"][-1] == pytest.approx(1.0)


def test_a_record_that_begins_before_its_trigger():
    """Times below 0 are those of a lab; the simulated loop begins with the record all the same."""
    text = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  push:  {type: Multisine, f_min: 0.5, f_max: 4, lines: 6, amplitude: 0.4, phases: schroeder}
  held:  {type: ZeroOrderHold, Ts: 1e-2, in: push}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 5, in: held}
  oe:    {type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, in: {u: held, y: joint.q}}
"""
    record = bs.simulate(text)
    for shift in (0.0, -0.001, -0.5, -10.0):
        lab = bs.Record.from_arrays(record.t + shift, {"held.y": record["held"], "joint.q": record["joint.q"]})
        found = bs.identify(text, lab).estimates["oe"]
        assert found.vector() == pytest.approx([0.02, 0.05], rel=1e-5)


def test_a_parameter_that_a_table_depends_on_leaves_the_recorded_samples_of_its_own_run():
    """The twin of a second run keeps that run's input when its numbers are computed anew."""
    diagram = bs.open_diagram(
        "format: 1\nsimulate: {stop: 1, solver: rk4, step: 0.01}\nblocks:\n  u: {type: Sine, frequency: 1.0}\n"
        "  wave: {type: Multisine, f_min: 1, f_max: 2, lines: 2}\n  lag: {type: FirstOrderLag, T: 0.1, in: u}\n"
        "  sum: {type: Sum, in: [lag, wave]}\n"
    )
    for amplitude in (1.0, 2.0):
        record = bs.simulate(diagram, params={"u.amplitude": amplitude})
        run = Run(diagram, {"u.amplitude": amplitude}, record, "found")
        twin = twin_of(run, record.t, ["sum.y"], [Played("u.y", record["u"])])
        np.testing.assert_array_equal(twin.run({"wave.f_max": 2.0})["sum.y"], twin.run({})["sum.y"])
        np.testing.assert_allclose(twin.run({})["sum.y"], record["sum"], atol=1e-3)  # straight lines between samples of a sine
