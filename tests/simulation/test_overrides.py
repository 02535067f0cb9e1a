"""Settings given beside the diagram: what only changes numbers, what shapes the code, and parameters of subsystems."""

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.overrides import Overrides
from blocksim.simulation.prepare import experiment, prepared
from blocksim.simulation.settings import find_setting, kind_of_change


@pytest.fixture
def nested(tmp_path):
    (tmp_path / "lag.yaml").write_text(
        "format: 1\nparameters: {T: 0.5}\nports: {in: [u], out: {y: lag}}\n"
        'blocks:\n  lag: {type: FirstOrderLag, T: "${T}", in: u}\n'
    )
    (tmp_path / "pair.yaml").write_text(
        "format: 1\nparameters: {k: 1}\nports: {in: [u], out: {y: second.y}}\nblocks:\n"
        '  first: {type: Gain, k: "${k}", in: u}\n  second: {type: ./lag.yaml, in: first}\n'
    )
    top = tmp_path / "top.yaml"
    top.write_text("format: 1\nsimulate: {stop: 1}\nblocks:\n  s: {type: Step}\n  p: {type: ./pair.yaml, in: s}\nlog: [p.y]\n")
    return top


def rise(k, T):
    return k * (1 - np.exp(-1 / T))


def test_parameters_of_a_subsystem_change_by_name(nested):
    run = lambda params: bs.simulate(nested, params=params, engine="python")["p.y"][-1]
    assert run({}) == pytest.approx(rise(1, 0.5), abs=1e-7)
    assert run({"p.k": 3}) == pytest.approx(rise(3, 0.5), abs=1e-7)
    assert run({"p.second.T": 0.2}) == pytest.approx(rise(1, 0.2), abs=1e-7)
    assert run({"p.k": 2, "p.second.T": 0.2, "p.second.lag.k": 5}) == pytest.approx(rise(10, 0.2), abs=1e-7)
    ready = experiment(nested)
    assert bs.simulate(ready, params={"p.k": 4}, engine="python")["p.y"][-1] == pytest.approx(rise(4, 0.5), abs=1e-7)


def test_a_sweep_over_a_subsystem(nested):
    ends = bs.simulate_many(nested, params={"p.second.T": [0.2, 0.4], "p.first.k": [1, 2]}, collect=lambda r: r["p.y"][-1])
    assert ends == pytest.approx([rise(1, 0.2), rise(2, 0.2), rise(1, 0.4), rise(2, 0.4)], abs=1e-7)


def test_limits_may_move_in_pairs():
    text = "format: 1\nsimulate: {stop: 1}\nblocks:\n  r: {type: Ramp, slope: 10}\n"
    text += "  c: {type: Saturation, lower: -3, upper: 3, in: r}\n"
    record = bs.simulate(text, params={"c.lower": 4, "c.upper": 5}, engine="python")
    assert record["c"][0] == 4 and record["c"][-1] == 5
    with pytest.raises(bs.DiagramError, match=r"block .c.: lower must be below upper, found lower = 4 and upper = 3"):
        bs.simulate(text, params={"c.lower": 4})
    both = bs.simulate_many(text, params=[{"c.lower": 4, "c.upper": 5}, {"c.upper": 1}])
    assert [r["c"][-1] for r in both] == [5, 1]


def test_an_unknown_parameter_of_a_subsystem_is_named(nested):
    with pytest.raises(bs.DiagramError, match="there is no block 'p'"):
        bs.simulate(nested, params={"p.kk": 1})


def test_what_was_added_in_python_stays_when_a_parameter_of_the_file_changes():
    diagram = bs.open_diagram(
        "format: 1\nsimulate: {stop: 1, solver: rk4, step: 0.1}\nparameters: {k: 2}\n"
        'blocks:\n  one: {type: Constant}\n  gain: {type: Gain, k: "${k}", in: one}\n'
    )
    diagram.add("twice", "Gain", k=2.0, inputs="gain")
    assert bs.simulate(diagram, params={"k": 5})["twice"][-1] == 10.0


LOOP = """
format: 1
parameters: {Ts: 0.01}
simulate: {stop: 1, solver: rk4, step: 0.01}
blocks:
  bits:  {type: PRBS, bits: 5, clock: 0.05}
  wave:  {type: Multisine, f_min: 1, f_max: 2, lines: 2}
  both:  {type: Sum, in: [bits, wave]}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0, in: both}
  read:  {type: Encoder, Ts: "${Ts}", resolution: 1e-3, in: joint.q}
  cut:   {type: Saturation, lower: -1, upper: 1, in: read}
  fine:  {type: ZeroPhaseFilter, cutoff: 20, in: read}
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("joint.J", "number"),
        ("joint.q", "number"),  # where it starts
        ("joint.friction", "code"),
        ("read.Ts", "code"),
        ("read.resolution", "number"),
        ("wave.f_max", "table"),
        ("wave.lines", "code"),
        ("cut.upper", "number"),
    ],
)
def test_what_a_setting_changes(name, kind):
    schedule = bs.flatten(bs.open_diagram(LOOP))
    assert kind_of_change(schedule, *find_setting(schedule, name)) == kind


def test_the_schedule_tells_what_shapes_the_code_before_there_is_any():
    schedule = bs.flatten(bs.open_diagram(LOOP))
    changes = {"joint.J": 0.03, "read.Ts": 0.02, "wave.lines": 3, "fine.cutoff": 9}
    shaping = Overrides(changes).shaping(schedule)
    assert "read.Ts" in shaping and "wave.lines" in shaping and not {"joint.J", "fine.cutoff"} & shaping


def test_one_program_is_generated_whatever_changes(monkeypatch):
    from blocksim.simulation import experiment as making

    generated = []
    generate = making.generate
    monkeypatch.setattr(making, "generate", lambda *a: generated.append(a) or generate(*a))
    ready, left = prepared(LOOP, {"joint.J": 0.03, "read.Ts": 0.02, "Ts": 0.005, "joint.friction": "sign"}, {"stop": 0.5})
    assert len(generated) == 1
    assert left == {} or left == {"joint.J": 0.03}  # settings of one block are applied together
    assert ready.schedule.unit("read").settings["Ts"] == 0.02 and ready.schedule.unit("joint").settings["friction"] == "sign"


def test_a_change_is_the_same_wherever_it_is_applied():
    """In the numbers of a prepared experiment, in the diagram, in the file itself: the same bits."""
    changes = {"joint.J": 0.03, "wave.f_max": 3.0, "cut.upper": 0.5, "cut.lower": -0.25, "fine.cutoff": 9.0}
    text = LOOP.replace("J: 0.02", "J: 0.03").replace("f_max: 2", "f_max: 3").replace("upper: 1", "upper: 0.5")
    text = text.replace("lower: -1", "lower: -0.25").replace("cutoff: 20", "cutoff: 9")
    written = bs.simulate(text)
    for record in (
        bs.simulate(LOOP, params=changes),
        bs.simulate(experiment(LOOP), params=changes),
        bs.simulate(Overrides(changes).diagram(LOOP)),
        bs.simulate_many(LOOP, params=[{}, changes])[1],
    ):
        assert all(np.array_equal(record[name], written[name]) for name in written)


def test_a_run_in_progress_takes_parameters_and_nothing_else():
    sim = bs.start(LOOP)
    sim.step(0.1)
    sim.set("joint.Fv", 0.5)
    for name, value in (("joint.friction", "sign"), ("joint.q", 1.0), ("wave.f_max", 3.0), ("fine.cutoff", 3.0)):
        with pytest.raises(bs.DiagramError, match=f"'{name}' cannot change while the simulation runs."):
            sim.set(name, value)
    with pytest.raises(bs.DiagramError, match=r"block 'joint': J: must be above 0, found -1"):
        sim.set("joint.J", -1.0)


def test_a_parameter_that_its_model_has_only_where_it_is_not_zero():
    from blocksim.contract.library import library

    ready = bs.experiment(library()["RecursiveLeastSquares"].example, stop=1.0)
    without = bs.simulate(ready, params={"joint.J": 2e-4})
    record = bs.simulate(ready, params={"joint.offset": 0.004})
    assert "offset" in record.estimates["rls"] and "offset" not in without.estimates["rls"]
    again = bs.simulate(ready, params={"joint.offset": 0.0})
    assert list(again.estimates["rls"]) == list(without.estimates["rls"])
