"""Subsystems that a signal switches on and off: what moves while they are on, what stays while they are off."""

import numpy as np
import pytest

import blocksim as bs

#: Pulse of period 2 from 0.5 s on, half of it high: on in [0.5, 1.5), [2.5, 3.5).
GATE = "gate: {type: Pulse, period: 2, duty: 0.5, delay: 0.5}"
SOLVERS = [{"solver": "rk4", "step": 0.01}, {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12}, {"solver": "scipy:RK45"},
           {"solver": "rodas4", "rtol": 1e-8}]  # fmt: skip


def diagram(folder, part, blocks, log="", stop=4, **more):
    """A file with a subsystem beside it; `more` are further subsystems by name."""
    for name, text in {"part": part, **more}.items():
        (folder / f"{name}.yaml").write_text("format: 1\n" + text)
    path = folder / "whole.yaml"
    body = "\n".join(f"  {line}" for line in blocks)
    path.write_text(f"format: 1\nsimulate: {{stop: {stop}, solver: rk4, step: 0.01}}\nblocks:\n{body}\n{log}\n")
    return path


def on_time(t):
    """How long the gate has been high until t."""
    return np.clip(t - 0.5, 0, 1) + np.clip(t - 2.5, 0, 1)


INTEGRAL = """ports: {in: [u], out: {x: sum.y, twice: double.y}}
blocks:
  sum:    {type: Integrator, in: u}
  double: {type: Gain, k: 2, in: u}
"""


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("options", SOLVERS, ids=lambda o: o["solver"])
def test_an_integral_stands_while_it_is_off(tmp_path, options, engine):
    """x = time on, exactly at any solver: the instants are located. A gain inside keeps its last value: 2 t at the switch."""
    path = diagram(tmp_path, INTEGRAL, ["clock: {type: Clock}", "one: {type: Constant}", GATE,
                                        "part: {type: ./part.yaml, in: one, enable: gate}",
                                        "ramp: {type: ./part.yaml, in: clock, enable: gate}"])  # fmt: skip
    record = bs.simulate(path, engine=engine, every=0.125, **options)
    t = record["t"]
    assert record["part.sum.y"] == pytest.approx(on_time(t), abs=1e-9)
    kept = np.select([t < 0.5, t < 1.5, t < 2.5, t < 3.5], [0 * t, 2 * t, 3 + 0 * t, 2 * t], 7.0)
    assert record["ramp.double.y"] == pytest.approx(2 * t)  # inside, what has no state follows
    assert bs.simulate(with_log(path, "[ramp.twice]"), engine=engine, every=0.125, **options)["ramp.twice"] == pytest.approx(
        kept, abs=1e-9
    )


def with_log(path, text):
    other = path.with_name("logged.yaml")
    other.write_text(path.read_text() + f"log: {text}\n")
    return other


def test_reset_begins_anew_each_time(tmp_path):
    path = diagram(tmp_path, INTEGRAL.replace("in: u}", "in: u, x: 0.25}", 1),
                   ["one: {type: Constant}", GATE, "part: {type: ./part.yaml, in: one, enable: {signal: gate, states: reset}}"],
                   "log: [part.x, part.twice]")  # fmt: skip
    record = bs.simulate(path, every=0.125)
    t = record["t"]
    expected = np.select([t < 0.5, t < 1.5, t < 2.5, t < 3.5], [0 * t, 0.25 + t - 0.5, 1.25 + 0 * t, 0.25 + t - 2.5], 1.25)
    assert record["part.x"] == pytest.approx(expected, abs=1e-9)
    other = bs.simulate(path, every=0.125, params={"part.sum.x": 1.0})  # another beginning is begun anew, too
    assert other["part.x"][-1] == pytest.approx(2.0, abs=1e-9)


def test_stated_outputs_while_it_is_off(tmp_path):
    path = diagram(tmp_path, INTEGRAL,
                   ["one: {type: Constant}", GATE, "part: {type: ./part.yaml, in: one, enable: {signal: gate, outputs: -3}}"],
                   "log: [part.x, part.twice]")  # fmt: skip
    record = bs.simulate(path, every=0.125)
    t = record["t"]
    on = ((t >= 0.5) & (t < 1.5)) | ((t >= 2.5) & (t < 3.5))
    assert record["part.x"] == pytest.approx(np.where(on, on_time(t), -3), abs=1e-9)
    assert record["part.twice"] == pytest.approx(np.where(on, 2.0, -3.0))


SAMPLED = """ports: {in: [u], out: {late: late.y, total: total.y, plus: plus.y, raw: raw.y}}
blocks:
  late:  {type: Delay, N: 2, Ts: 0.1, in: u}
  total: {type: DiscreteIntegrator, method: forward, Ts: 0.1, in: u}
  plus:  {type: Sum, in: [total, u]}
  raw:   {type: ZeroOrderHold, Ts: 0.1, in: u}
"""


def by_hand(u, on, states):
    """What a program with `if on:` around the controller computes, sample by sample."""
    ring, total, last, rows, before = [0.0, 0.0], 0.0, dict.fromkeys(("late", "total", "plus", "raw"), 0.0), [], False
    for value, runs in zip(u, on, strict=True):
        if runs:
            if states == "reset" and not before:
                ring, total = [0.0, 0.0], 0.0
            last = {"late": ring[0], "total": total, "plus": total + value, "raw": value}
            ring, total = [ring[1], value], total + 0.1 * value
        rows.append(last)
        before = runs
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("states", ["hold", "reset"])
def test_sampled_blocks_stand_still_as_in_a_program_with_an_if(tmp_path, states, engine):
    """Switch and input change at the very hits of the blocks: what was put out at the last hit that was on stays."""
    path = diagram(tmp_path, SAMPLED,
                   ["u: {type: WhiteNoise, std: 1, Ts: 0.1}", "when: {type: RandomBinary, clock: 0.1}",
                    f"part: {{type: ./part.yaml, in: u, enable: {{signal: when, states: {states}}}}}"],
                   "log: [u, when, part.late, part.total, part.plus, part.raw]", stop=8)  # fmt: skip
    record = bs.simulate(path, engine=engine, seed=3, every=0.1)
    on = record["when"] > 0.5
    assert 10 < on.sum() < 70 and np.count_nonzero(np.diff(on)) > 15
    for name, expected in by_hand(record["u"], on, states).items():
        assert record[f"part.{name}"] == pytest.approx(expected, abs=1e-12), name


def test_noise_inside_goes_on_with_the_clock(tmp_path):
    """The draw of a hit belongs to the hit: switching leaves the later ones as they were."""
    part = (
        "ports: {in: [u], out: {y: shake.y}}\nblocks:\n  shake: {type: WhiteNoise, std: 1, Ts: 0.1}\n  end: {type: Gain, in: u}\n"
    )
    blocks = ["one: {type: Constant}", GATE, "part: {type: ./part.yaml, in: one, enable: gate}"]
    record = bs.simulate(diagram(tmp_path, part, blocks, "log: [part.y]"), every=0.1, seed=5)
    free = bs.simulate(
        diagram(tmp_path, part, [*blocks[:2], blocks[2].replace(", enable: gate", "")], "log: [part.y]"), every=0.1, seed=5
    )
    t = record["t"]
    on = ((t >= 0.499) & (t < 1.499)) | ((t >= 2.499) & (t < 3.499))
    assert np.array_equal(record["part.y"][on], free["part.y"][on])
    assert len(set(record["part.y"][(t > 1.45) & (t < 2.45)])) == 1


def test_events_inside_sleep(tmp_path):
    """A comparison inside: nothing is crossed while it is off, and what was crossed is seen on waking."""
    part = "ports: {in: [u], out: {high: high.y}}\nblocks:\n  high: {type: Compare, operator: '>', value: 0, in: u}\n"
    path = diagram(tmp_path, part, ["wave: {type: Sine, frequency: 0.6, phase: 1.0}", GATE,
                                    "part: {type: ./part.yaml, in: wave, enable: gate}"], "log: [part.high]")  # fmt: skip
    for engine in ("python", "compiled"):
        record = bs.simulate(path, every=0.05, engine=engine)
        t = record["t"] + 1e-9
        wave = np.sin(1.2 * np.pi * t + 1)
        assert (np.sin(1.2 * np.pi * np.array([1.5, 2.5, 3.5]) + 1) > 0).tolist() == [True, False, True]
        assert np.array_equal(
            record["part.high"] > 0.5, np.select([t < 0.5, t < 1.5, t < 2.5, t < 3.5], [t < 0, wave > 0, t > 0, wave > 0], True)
        )


def test_a_switch_inside_a_switched_subsystem(tmp_path):
    """On where both are: the inner integral counts 0.75..1 and so on; the inner switch does not move while the outer is off."""
    outer = "ports: {in: [u, g], out: {x: inner.x}}\nblocks:\n  inner: {type: ./inner.yaml, in: u, enable: g}\n"
    inner = "ports: {in: [u], out: {x: sum.y}}\nblocks:\n  sum: {type: Integrator, in: u}\n"
    path = diagram(tmp_path, outer, ["one: {type: Constant}", GATE, "fast: {type: Pulse, period: 0.5, duty: 0.5}",
                                     "part: {type: ./part.yaml, in: {u: one, g: fast}, enable: gate}"],
                   "log: [part.x, part.inner.x]", inner=inner)  # fmt: skip
    for engine in ("python", "compiled"):
        record = bs.simulate(path, every=0.25, engine=engine)
        t = record["t"]
        both = [((s >= 0.5 and s < 1.5) or (s >= 2.5 and s < 3.5)) and s % 0.5 < 0.25 for s in t[:-1]]
        assert record["part.x"] == pytest.approx(np.concatenate([[0], np.cumsum(both) * 0.25]), abs=1e-9)
        assert np.array_equal(record["part.x"], record["part.inner.x"])


def test_an_integral_that_stops_itself(tmp_path):
    """The switch may depend on what the subsystem puts out, where a state lies between."""
    path = diagram(tmp_path, INTEGRAL, ["ten: {type: Constant, value: 10}",
                                        "below: {type: Compare, operator: '<', value: 7, in: part.x}",
                                    "part: {type: ./part.yaml, in: ten, enable: below}"], "log: [part.x]")  # fmt: skip
    record = bs.simulate(path, every=0.1)
    assert record["part.x"] == pytest.approx(np.minimum(10 * record["t"], 7.0), abs=1e-9)


def test_a_count_that_stops_itself(tmp_path):
    """A sample that switches off the block that made it is a contradiction, told as such; a delay between solves it."""
    part = "ports: {in: [u], out: {n: sum.y}}\nblocks:\n  sum: {type: DiscreteIntegrator, method: forward, Ts: 0.1, in: u}\n"
    blocks = ["ten: {type: Constant, value: 10}", "below: {type: Compare, operator: '<', value: 6.5, in: part.n}",
              "part: {type: ./part.yaml, in: ten, enable: below}"]  # fmt: skip
    with pytest.raises(bs.SimulationError, match="enable: of part depends on what it puts out at the same instant, a UnitDelay"):
        bs.simulate(diagram(tmp_path, part, blocks, "log: [part.n]"), every=0.1)
    blocks[1:] = ["last: {type: UnitDelay, Ts: 0.1, in: part.n}", blocks[1].replace("part.n", "last"), blocks[2]]
    record = bs.simulate(diagram(tmp_path, part, blocks, "log: [part.n]"), every=0.1)
    assert record["part.n"] == pytest.approx(np.minimum(np.arange(41), 7.0), abs=1e-9)


def test_many_switched_blocks_in_a_large_diagram(tmp_path):
    """Beyond sixty blocks equal ones share loops; switched ones do not, and come out the same."""
    blocks = ["clock: {type: Clock}", GATE]
    blocks += [f"part{i}: {{type: ./part.yaml, in: clock, enable: gate}}" for i in range(30)]
    blocks += [f"free{i}: {{type: Integrator, in: clock}}" for i in range(20)]
    path = diagram(tmp_path, INTEGRAL, blocks, "log: [part0.x, part29.x, free3, part29.twice]")
    record = bs.simulate(path, every=0.5)
    t = record["t"]
    expected = np.interp(t, [0, 0.5, 1.5, 2.5, 3.5, 4], [0, 0, 1, 1, 4, 4])  # integral of t while it is on
    inside = np.isin(t, [0, 0.5, 1.5, 2.5, 3.5, 4.0])
    assert record["part29.x"][inside] == pytest.approx(expected[inside], abs=1e-9)
    assert np.array_equal(record["part0.x"], record["part29.x"]) and record["free3"] == pytest.approx(t**2 / 2, abs=1e-9)
    assert record["part29.twice"][-1] == pytest.approx(7.0, abs=1e-9)


PLAIN = ["one: {type: Constant}", GATE, "part: {type: ./part.yaml, in: one, enable: gate}"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("enable: gate", "enable: gat", 6, "block 'part': enable: 'gat' names no block.*Did you mean 'gate'"),
        ("enable: gate", "enable: 3", 6, "block 'part': enable: found 3. Write a signal, or {signal:"),
        ("enable: gate", "enable: {states: reset}", 6, "block 'part': enable: found .* Write a signal"),
        ("enable: gate", "enable: {signal: gate, state: reset}", 6, "enable: has no key 'state'.*Did you mean 'states'"),
        ("enable: gate", "enable: {signal: gate, states: keep}", 6, "enable: states: found 'keep'. Write hold or reset."),
        ("enable: gate", "enable: {signal: gate, outputs: zero}", 6, "outputs: found 'zero'. Write hold, or the number"),
        ("enable: gate", "enable: {signal: gate, outputs: .inf}", 6, "outputs: found inf. Write hold, or the number"),
        ("{type: Constant}", "{type: Gain, in: gate, enable: gate}", 4, "no parameter 'enable'.*switches subsystems"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_line(tmp_path, old, new, line, words):
    path = diagram(tmp_path, INTEGRAL, PLAIN)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(bs.DiagramError, match=words) as told:
        bs.simulate(path)
    assert f"whole.yaml:{line}" in str(told.value)


def test_what_cannot_be_switched_is_told(tmp_path):
    two = diagram(tmp_path, INTEGRAL, [*PLAIN[:1], "gate: {type: Constant, value: [1, 0]}", PLAIN[2]])
    with pytest.raises(
        bs.DiagramError, match=r"whole.yaml:6: block 'part': enable: has 2 elements; one number switches. Pick one: gate"
    ):
        bs.simulate(two)
    late = "ports: {in: [u], out: {x: smooth.x}}\nblocks:\n  smooth: {type: IRWSmoother, in: u}\n"
    with pytest.raises(bs.DiagramError, match=r"'part.smooth' .IRWSmoother. works after the run, and its subsystem has enable:"):
        bs.simulate(diagram(tmp_path, late, PLAIN))
    own = INTEGRAL.replace("in: [u]", "in: [u, enable]")
    with pytest.raises(bs.DiagramError, match="has an input 'enable' of its own"):
        bs.simulate(diagram(tmp_path, own, PLAIN))


def test_a_plant_of_parts_has_no_switch_inside(tmp_path):
    outer = "ports: {in: [u, g], out: {x: inner.x}}\nblocks:\n  inner: {type: ./inner.yaml, in: u, enable: g}\n"
    blocks = ["one: {type: Constant}", GATE, "part: {type: ./part.yaml, in: [one, gate]}",
              "ekf: {type: EKF, model: part, Ts: 0.1, in: {u: one, g: gate, x: part}}"]  # fmt: skip
    inner = "ports: {in: [u], out: {x: sum.y}}\nblocks:\n  sum: {type: Integrator, in: u}\n"
    with pytest.raises(bs.DiagramError, match="'inner' with enable:, and what is switched is no plant"):
        bs.simulate(diagram(tmp_path, outer, blocks, inner=inner))


def test_it_is_written_as_it_was_read(tmp_path):
    text = "{type: ./part.yaml, in: one, enable: {signal: gate, states: reset, outputs: '${idle}'}}"
    path = diagram(tmp_path, INTEGRAL, [*PLAIN[:2], f"part: {text}"])
    path.write_text(path.read_text().replace("blocks:", "parameters: {idle: 0.5}\nblocks:", 1))
    built = bs.build(bs.load(path))
    assert built.nodes["part"].enable.outputs == 0.5
    built.save(tmp_path / "again.yaml")
    again = bs.load(tmp_path / "again.yaml")
    assert again.blocks["part"].enable == bs.load(path).blocks["part"].enable
    assert again.blocks["part"].enable.outputs == "${idle}"
    first, second = (bs.simulate(p, every=0.1) for p in (path, tmp_path / "again.yaml"))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_it_is_made_in_python(tmp_path):
    part = bs.build(bs.load(diagram(tmp_path, INTEGRAL, PLAIN).with_name("part.yaml")))
    whole = bs.Diagram("switched")
    whole.add("one", "Constant")
    whole.add("gate", "Pulse", period=2, duty=0.5, delay=0.5)
    whole.add("part", part, "one", enable={"signal": "gate", "outputs": -1})
    record = bs.simulate(whole, stop=4, every=0.5, solver="dopri5")
    assert record["part.sum.y"] == pytest.approx(on_time(record["t"]), abs=1e-6)
    with pytest.raises(bs.DiagramError, match="enable switches subsystems"):
        whole.add("other", "Constant", enable="gate")


def test_a_run_by_hand_and_many_runs_are_the_same(tmp_path):
    """Paused and carried on, alone and in a batch: the same bits."""
    path = diagram(tmp_path, SAMPLED, ["u: {type: WhiteNoise, std: 1, Ts: 0.1}", GATE,
                                       "part: {type: ./part.yaml, in: u, enable: gate}"],
                   "log: [part.total, part.plus]")  # fmt: skip
    alone = bs.simulate(path, seed=2)
    many = bs.simulate_many(path, seeds=[1, 2, 3])
    assert np.array_equal(many[1]["part.plus"], alone["part.plus"]) and np.array_equal(many[1]["part.total"], alone["part.total"])
    portable = [bs.simulate(path, seed=2, math="portable", engine=engine)["part.plus"] for engine in ("python", "compiled")]
    assert np.array_equal(*portable)


def test_the_picture_and_the_check_know_it(tmp_path):
    path = diagram(tmp_path, INTEGRAL, PLAIN)
    text = bs.build(bs.load(path))._repr_svg_()
    assert "enable" in text and "on while gate is above 0.5" in text
    assert not [f for f in bs.findings(path) if "part" in str(f)]


def test_linearised_off_it_is_still(tmp_path):
    """Around a point where it is off, nothing inside answers; where it is on, 1 / s."""
    for value, gain in ((1.0, 1.0), (0.0, 0.0)):
        path = diagram(tmp_path, INTEGRAL, ["one: {type: Constant}", f"gate: {{type: Constant, value: {value}}}", PLAIN[2]])
        model = bs.linearize(path, "one", "part.x", at=1.0)
        assert abs(model.frequency_response([2.0])[0, 0, 0]) == pytest.approx(gain / 2, abs=1e-6)
