"""Settings given beside the diagram: what only changes numbers, what shapes the code, and parameters of subsystems."""

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.prepare import experiment


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
