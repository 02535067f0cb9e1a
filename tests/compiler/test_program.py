"""Programs: CPython and compiled bit for bit, pauses, failures in words, algebraic loops, the disk cache, stepping by hand."""

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs
from blocksim.compiler import cache
from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, state
from blocksim.contract.vocabulary import log, sqrt
from blocksim.diagram.build import open_diagram
from blocksim.simulation.overrides import Overrides
from blocksim.simulation.prepare import experiment
from blocksim.solvers.tableaus import OWN

FIXED = [name for name, method in OWN.items() if not method.adaptive]


class Ball(Block):
    """h'' = -g above the floor; at the floor v becomes -e v."""

    e: float = param(0.9, "restitution")
    height = outport("height", "m")
    h: float = state(1.0, "height", "m")
    v: float = state(0.0, "speed", "m/s")

    @staticmethod
    def output(h):
        return h

    @staticmethod
    def derivative(v):
        return v, -9.81

    @staticmethod
    def guard_impact(h):
        return h

    @staticmethod
    def reset_impact(v, e):
        return {"v": -e * v}


class Ring(SampledBlock):
    """y[k] = u[k-3] + u[k]: a delay line kept as an array by `step`."""

    u = inport("input")
    y = outport("sum")
    line: list = memory(0.0, "the last three inputs", size=3, array=True)
    place: float = memory(0.0, "where the next one goes")

    @staticmethod
    def step(u, line, place):
        y = line[int(place)] + u
        line[int(place)] = u
        return y, 0.0 if place > 1.5 else place + 1.0


class Explosion(Block):
    """x' = x^2, which is infinite at t = 1 / x0."""

    y = outport("x")
    x: float = state(1.0, "x")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x):
        return x * x


RICH = """
format: 1
name: everything at once
simulate: {stop: 1.5, every: 0.005, seed: 3, algebraic_loops: solve}
blocks:
  ref:     {type: Sine, amplitude: 2.0, frequency: 0.7, phase: 0.3}
  error:   {type: Sum, signs: "+-", in: [ref, sensor]}
  filter:  {type: DiscreteTransferFunction, num: [0.4, 0.1], den: [1.0, -0.6], Ts: 0.01, in: error}
  limit:   {type: Saturation, lower: -3.0, upper: 3.0, in: filter}
  plant:   {type: TransferFunction, num: [1.0], den: [0.02, 0.3, 1.0], in: torque}
  torque:  {type: Sum, signs: "+-", in: [limit, drag]}
  drag:    {type: Function, expression: "0.3 * tanh(5 * u) + 0.01 * u ** 3", in: speed}
  speed:   {type: Derivative, T: 0.02, in: plant}
  noise:   {type: WhiteNoise, std: [0.01, 0.02], Ts: 0.01}
  sensor:  {type: Sum, in: [plant, "noise.y[0]"]}
  relay:   {type: Relay, on_point: 0.3, off_point: -0.3, on_value: 1.0, off_value: -1.0, in: plant}
  count:   {type: Quantizer, step: 0.1, in: plant}
  pair:    {type: Mux, in: [plant, relay, "noise.y[1]"]}
  turn:    {type: MatrixGain, K: [[0.6, -0.8, 0.1], [0.8, 0.6, 0.2]], in: pair}
  lags:    {type: FirstOrderLag, T: [0.1, 0.3], in: turn}
  space:   {type: StateSpace, A: [[0, 1], [-9, -1]], B: [[0, 0], [1, 0.5]], C: [[1, 0]], in: lags}
  loop:    {type: Function, expression: "u1 - 0.5 * tanh(u2) - 0.2 * u3", in: [ref, loop, twin]}
  twin:    {type: Function, expression: "0.5 * u1 + 0.1 * sin(u2)", in: [loop, twin]}
  sink:    {type: Integrator, upper: 0.2, in: loop}
  pipe:    {type: TransportDelay, delay: 0.05, Ts: 0.01, in: plant}
  table:   {type: LookupTable, points: [-1, 0, 1], values: [2, 0, 3], in: pipe}
  average: {type: MovingAverage, window: 7, Ts: 0.03, in: table}
  jump:    {type: Step, time: 0.777, after: 5.0}
  coin:    {type: RandomBinary, clock: 0.07, amplitude: 0.5}
  all:     {type: Sum, in: [jump, coin, average, space, sink]}
"""


def rich():
    made = open_diagram(RICH, {})
    made.add("ball", Ball())
    made.add("ring", Ring(Ts=0.02), "relay")
    return made


def same(first, second):
    """Every signal of two records, bit for bit."""
    assert list(first) == list(second)
    for name in first:
        assert np.array_equal(first[name], second[name], equal_nan=True), name
    return True


def options_of(solver):
    return {"solver": solver, **({"step": 0.005} if solver in FIXED else {})}


@pytest.fixture(scope="module", params=["dopri5", *(pytest.param(s, marks=pytest.mark.slow) for s in OWN if s != "dopri5")])
def ready(request):
    return experiment(rich(), **options_of(request.param))


# one source, two ways to run it


def test_compiled_equals_cpython_bit_for_bit(ready):
    interpreted, compiled = (bs.simulate(ready, engine=engine) for engine in ("python", "compiled"))
    assert same(interpreted, compiled)
    assert interpreted.provenance["work"] == compiled.provenance["work"]
    assert interpreted.provenance["work"]["events"] > 10
    assert all(np.all(np.isfinite(interpreted[name])) for name in interpreted)


@pytest.mark.parametrize("solver", [s for s in OWN if s != "dopri5"])
def test_compiled_equals_cpython_for_every_solver(solver):
    # The ball, a loop, a sampled filter and noise: every part of a solver's own code, in a program that compiles soon.
    made = bs.Diagram("small")
    made.add("ball", Ball())
    made.add("noise", "WhiteNoise", Ts=0.05)
    made.add("loop", "Function", ["noise", "ball", "loop"], expression="u1 + u2 - 0.5 * tanh(u3)")
    made.add("lag", "FirstOrderLag", "loop", T=0.2)
    options = {"stop": 1.2, "algebraic_loops": "solve", "every": 0.01, **options_of(solver)}
    assert same(*(bs.simulate(made, engine=engine, **options) for engine in ("python", "compiled")))


def test_a_paused_run_gives_the_same_bits(ready):
    whole = bs.simulate(ready, engine="compiled")
    for engine in ("compiled", "python", "auto"):
        seen = []
        assert same(whole, bs.simulate(ready, engine=engine, progress=seen.append))
        assert seen[-1] == 1.0 and seen == sorted(seen)
    assert len(seen) > 1


def test_a_run_paused_at_every_step_gives_the_same_bits(ready, monkeypatch):
    monkeypatch.setattr("blocksim.simulation.simulation.FIRST_SLICE", 1)
    monkeypatch.setattr("blocksim.simulation.simulation.wall.perf_counter", lambda: 0.0)
    whole = bs.simulate(ready, engine="compiled")
    assert same(whole, bs.simulate(ready, engine="compiled", progress=lambda fraction: None))


def test_runs_are_reproducible_and_do_not_touch_each_other(ready):
    first, _, again = (bs.simulate(ready, engine="compiled", seed=s) for s in (1, 2, 1))
    assert same(first, again)


@pytest.mark.parametrize("solver", OWN)
def test_solvers_agree_on_the_rich_diagram(solver):
    # Not bit for bit: the event times differ by their tolerance. Two independent codes for one diagram.
    fine = {"step": 0.0005} if solver in FIXED else {"rtol": 1e-9, "atol": 1e-11}
    record = bs.simulate(rich(), engine="python", stop=0.5, solver=solver, **fine)
    truth = bs.simulate(rich(), stop=0.5, solver="scipy:DOP853", rtol=1e-10, atol=1e-12)
    close = {"euler": 2e-2, "heun": 1e-3, "rk4": 1e-4}.get(solver, 1e-5)
    for name in ("plant", "lags", "space", "loop", "twin", "pipe", "ring", "ball.height"):
        assert np.max(np.abs(record[name] - truth[name])) < close, name


@pytest.mark.parametrize("solver", ["dopri5", "rodas4", "heun"])
def test_shared_loops_give_the_bits_of_code_written_out(solver, monkeypatch):
    # Large diagrams are written with loops over equal blocks; forced here on a small one.
    records = []
    for large in (1, 10**9):
        monkeypatch.setattr("blocksim.compiler.emitter.LARGE_PROGRAM", large)
        records.append(bs.simulate(rich(), engine="python", stop=0.5, **options_of(solver)))
    assert same(*records)


# parameters, seeds, initial values, stop


def test_what_changes_without_compiling_again():
    made = rich()
    key = experiment(made, **options_of("dopri5")).program.key
    for params in (
        {"plant.x": [0.1, 0.2]},
        {"limit.upper": 2.0},
        {"noise.std": [0.0, 0.1]},
        {"ball.h": 2.0},
        {"turn.K": [[1, 0, 0], [0, 1, 0]]},
        {"filter.num": [0.3, 0.2]},
        {"table.values": [1, 2, 3]},
        {"sink.upper": 0.3},
    ):
        assert experiment(made, params, **options_of("dopri5")).program.key == key, params
    for options in ({"stop": 7}, {"rtol": 1e-5}, {"seed": 9}, {"max_step": 0.1}):
        assert experiment(made, **options_of("dopri5"), **options).program.key == key


@pytest.mark.parametrize(
    "params",
    [
        {"filter.Ts": 0.02},
        {"average.window": 9},
        {"sink.upper": math.inf},
        {"drag.expression": "u"},
        {"lags.T": 0.2},
        {"pipe.delay": 0.06},
    ],
)
def test_what_shapes_the_code_makes_another_program(params):
    first = experiment(rich(), **options_of("rk4"))
    assert Overrides(params).shaping(first.schedule, first)
    assert experiment(first, params).program.source.text != first.program.source.text or params == {"filter.Ts": 0.02}


def test_a_changed_parameter_acts_as_if_written():
    made = bs.Diagram("lag")
    made.add("one", "Constant", value=2.0)
    made.add("lag", "FirstOrderLag", "one", T=1.0)
    made.add("sum", "Integrator", "lag")
    ready = experiment(made, stop=1)
    for params in ({"lag.T": 0.2}, {"lag.x": 3.0}, {"one.value": -1.0}, {"lag.T": 0.2, "lag.x": 3.0}, {"sum.upper": 0.5}):
        written = bs.Diagram("lag")
        for name, kind, source in (("one", "Constant", None), ("lag", "FirstOrderLag", "one"), ("sum", "Integrator", "lag")):
            settings = {"value": 2.0} if name == "one" else {"T": 1.0} if name == "lag" else {}
            settings |= {k.partition(".")[2]: v for k, v in params.items() if k.startswith(name + ".")}
            written.add(name, kind, source, **settings)
        assert same(bs.simulate(ready, params=params, engine="python"), bs.simulate(written, stop=1, engine="python"))


# failures


def alone(block, inputs=None):
    made = bs.Diagram("alone")
    made.add("b", block, inputs)
    return made


@pytest.mark.parametrize("solver", ["rk4", "euler"])
def test_a_diverging_state_names_block_state_and_time(solver):
    with pytest.raises(bs.SimulationError, match=r"at t = 1\.\d+ s 'x' of block 'b' became (\S+, beyond any|inf|nan)") as caught:
        bs.simulate(alone(Explosion()), solver=solver, step=0.01, stop=2, engine="auto")
    error = caught.value
    assert (error.block, error.state) == ("b", "x")
    assert error.record.t[-1] <= error.time < 1.2
    # The record up to there is that of a run which ends before.
    short = bs.simulate(alone(Explosion()), solver=solver, step=0.01, stop=0.5, engine="python")
    assert np.array_equal(error.record["b"][:51], short["b"])


@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_a_tolerance_that_cannot_be_met_names_block_state_and_time(solver):
    # x = 1 / (1 - t): no step, however small, passes t = 1; what comes near enough leaves any scale first.
    words = rf"(solver {solver} cannot meet its tolerance: state|diverged: at t = 1 s) 'x' of block 'b'"
    with pytest.raises(bs.SimulationError, match=words) as caught:
        bs.simulate(alone(Explosion()), solver=solver, stop=2, engine="python")
    error = caught.value
    assert error.time == pytest.approx(1, abs=1e-6)
    t = error.record.t
    early = t < 0.99
    assert t[-1] > 0.99
    assert error.record["b"][early] == pytest.approx(1 / (1 - t[early]), rel=1e-4)


def test_a_failure_in_compiled_code_is_the_same_failure():
    messages = []
    for engine in ("python", "compiled"):
        with pytest.raises(bs.SimulationError) as caught:
            bs.simulate(alone(Explosion()), stop=2, engine=engine)
        messages.append((str(caught.value), caught.value.time, list(caught.value.record["b"])))
    assert messages[0] == messages[1]


class Singular(Block):
    """y = 1 / (t - 1/2) and sqrt, log outside their domains."""

    y = outport("quotient")
    s = outport("square root")
    n = outport("logarithm")

    @staticmethod
    def output(t):
        return 1.0 / (t - 0.5), sqrt(0.5 - t), log(0.5 - t)


def test_division_by_zero_follows_ieee_in_both_engines():
    # 1 / 0 is inf, sqrt(-0.25) and log(-0.25) are nan, log(0) is -inf: in CPython, which would raise, as in compiled code.
    runs = [bs.simulate(alone(Singular()), stop=1, every=0.25, solver="rk4", engine=engine) for engine in ("python", "compiled")]
    for record in runs:
        assert (
            record["b.y"][:2] == pytest.approx([-2, -4])
            and record["b.y"][2] == math.inf
            and record["b.y"][3:] == pytest.approx([4, 2])
        )
        assert np.all(np.isnan(record["b.s"][3:])) and record["b.s"][2] == 0
        assert record["b.n"][2] == -math.inf and np.all(np.isnan(record["b.n"][3:]))
    assert same(*runs)


def test_a_sampled_value_beyond_any_scale_is_named():
    made = bs.Diagram("sampled")
    made.add("next", "Gain", "x", k=10.0)
    made.add("x", "UnitDelay", "next", Ts=1, x=1.0)
    with pytest.raises(
        bs.SimulationError, match=r"of block 'x' became 1e\+15[01], beyond any credible scale \(1e\+150\)"
    ) as caught:
        bs.simulate(made, stop=400, solver="rk4")
    assert caught.value.time == 150  # 10^151 is its memory after the hit
    assert list(caught.value.record["x"][:5]) == [1, 10, 100, 1000, 10000]


# algebraic loops


def loop(expression, solve=True, **more):
    made = bs.Diagram("loop")
    made.add("u", "Ramp", **more)
    made.add("f", "Function", ["u", "g"], expression=expression)
    made.add("g", "Gain", "f", k=1.0)
    made.add("area", "Integrator", "g")
    return made


def test_a_linear_loop_equals_its_closed_form():
    # y = u - 3 y: y = u / 4.
    record = bs.simulate(loop("u1 - 3 * u2"), stop=2, algebraic_loops="solve", engine="python")
    assert record["g"] == pytest.approx(record.t / 4, abs=1e-13)
    assert record["area"] == pytest.approx(record.t**2 / 8, abs=1e-9)


def test_a_nonlinear_loop_equals_its_closed_form():
    # y = u - y^3 with u = 2 t from t = 0: the real root of y^3 + y - u, by Cardano.
    record = bs.simulate(loop("u1 - u2 ** 3", slope=2.0), stop=5, algebraic_loops="solve", engine="python")
    u = 2 * record.t
    root = np.sqrt(u**2 / 4 + 1 / 27)
    assert record["g"] == pytest.approx(np.cbrt(u / 2 + root) + np.cbrt(u / 2 - root), abs=1e-12)


def test_two_coupled_unknowns():
    # a = u + b / 2, b = 1 - a / 3: a = (u + 1/2) / (7/6), b = 1 - a / 3.
    made = bs.Diagram("pair")
    made.add("u", "Ramp")
    made.add("a", "Function", ["u", "b"], expression="u1 + u2 / 2")
    made.add("b", "Function", ["a"], expression="1 - u / 3")
    record = bs.simulate(made, stop=1, algebraic_loops="solve", solver="rk4", step=0.1, engine="python")
    assert record["a"] == pytest.approx((record.t + 0.5) * 6 / 7, abs=1e-13)
    assert record["b"] == pytest.approx(1 - record["a"] / 3, abs=1e-13)


def test_a_loop_is_refused_with_the_walk_round_it():
    with pytest.raises(bs.DiagramError, match=r"algebraic loop: f\.y -> g\.u -> g\.y -> f\.u.*UnitDelay.*algebraic_loops: solve"):
        bs.simulate(loop("u1 - 3 * u2"), stop=1)


def test_a_loop_without_a_solution_is_named_with_its_time():
    # y = u - y^2 has no real solution below u = -1/4; the ramp gets there at t = 0.25.
    with pytest.raises(bs.SimulationError, match=r"at t = 0\.2\d+ s the algebraic loop .*f.*g.* has no solution") as caught:
        bs.simulate(loop("u1 - u2 ** 2", slope=-1.0), stop=1, every=0.01, algebraic_loops="solve", engine="python")
    record = caught.value.record
    assert 0.2 < record.t[-1] <= 0.26
    assert record["g"][:20] == pytest.approx((-1 + np.sqrt(1 - 4 * record.t[:20])) / 2, abs=1e-10)


def test_the_log_does_not_move_a_loop():
    # Newton starts from the last solution; the rows of the log must not become that.
    made = loop("u1 - 0.9 * tanh(3 * u2) - 0.1 * u2 ** 3", slope=2.0)
    runs = [bs.simulate(made, stop=2, every=every, algebraic_loops="solve", engine="python") for every in (2, 0.01)]
    assert runs[0]["area"][-1] == pytest.approx(runs[1]["area"][-1], rel=1e-12)


# the cache


SCRIPT = """
import sys, numba
import blocksim as bs
compiled = []
from numba.core import compiler
extra = compiler.compile_extra
def counting(*args, **kwargs):
    compiled.append(1)
    return extra(*args, **kwargs)
compiler.compile_extra = counting
d = bs.Diagram("small")
d.add("one", "Constant", value=1.0)
d.add("lag", "FirstOrderLag", "one", T=0.5)
record = bs.simulate(d, stop=1, solver="rk4", step=0.1, engine="compiled")
print(len(compiled), repr(float(record["lag"][-1])))
"""


@pytest.fixture
def private(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("BLOCKSIM_CACHE", str(folder))
    return folder


def in_another_process(umask=0o022):
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, umask=umask)
    assert done.returncode == 0, done.stderr
    count, value = done.stdout.split()
    return int(count), value


def test_a_second_process_loads_what_the_first_compiled(private, monkeypatch):
    monkeypatch.setenv("BLOCKSIM_COMPILER", "numba")
    # Under a umask of 002, the default on many systems, files are born group-writable; the cache must work there too.
    first, second = in_another_process(0o002), in_another_process(0o002)
    assert first[0] > 0 and second[0] == 0
    assert first[1] == second[1]
    # 1 - exp(-2) by Runge-Kutta with steps of a fifth of the time constant.
    assert float(second[1]) == pytest.approx(1 - math.exp(-2), abs=1e-4)
    assert private.stat().st_mode & 0o077 == 0


@pytest.fixture
def sealed(private):
    """A sealed folder, as the cache leaves it, without the cost of compiling."""
    key, text = "0" * 32, "x = 1\n"
    with cache.folder(key, text) as scratch:
        assert scratch.name.endswith(".new")
        (scratch / "__pycache__").mkdir()
        (scratch / "__pycache__" / "program.nbi").write_bytes(b"index")
        (scratch / "__pycache__" / "program.1.nbc").write_bytes(b"code")
    place = next(private.glob(f"{key}-*"))
    return key, text, place


def loads(key, text):
    """Whether the cache would hand out the sealed folder itself, instead of a new one to compile into."""
    with cache.folder(key, text) as place:
        return place is not None and not place.name.endswith(".new")


def test_a_sound_folder_is_used(sealed):
    assert loads(*sealed[:2])


def change(path):
    path.write_bytes(path.read_bytes() + b"\n")


POISONS = {
    "program text": lambda place: change(place / "program.py"),
    "compiled index": lambda place: change(place / "__pycache__" / "program.nbi"),
    "compiled code": lambda place: change(place / "__pycache__" / "program.1.nbc"),
    "a file more": lambda place: (place / "__pycache__" / "more.nbc").write_bytes(b"evil"),
    "a file less": lambda place: (place / "__pycache__" / "program.1.nbc").unlink(),
    "no seal": lambda place: (place / "seal").unlink(),
    "an empty seal": lambda place: (place / "seal").write_text(""),
    "a seal that is not text": lambda place: (place / "seal").write_bytes(b"\xff\xfe\x00"),
    "another key": lambda place: (place.parent / "key").write_bytes(b"k" * 32),
    "a folder others may write to": lambda place: place.chmod(0o777),
    "a file others may write to": lambda place: (place / "__pycache__" / "program.1.nbc").chmod(0o666),
    "a folder within that others may write to": lambda place: (place / "__pycache__").chmod(0o777),
    "a symbolic link within": lambda place: swap(place / "__pycache__" / "program.1.nbc"),
    "a symbolic link in its place": lambda place: swap(place),
}


def swap(path):
    """The same content, moved away and linked to."""
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


@pytest.mark.parametrize("poison", POISONS)
def test_a_poisoned_folder_is_never_used(sealed, poison):
    key, text, place = sealed
    POISONS[poison](place)
    assert not loads(key, text)


def test_a_poisoned_folder_is_replaced_by_a_sound_one(sealed):
    key, text, place = sealed
    POISONS["compiled code"](place)
    assert not loads(key, text)
    assert loads(key, text)


def test_compiled_files_that_cannot_be_loaded_are_compiled_anew(private, monkeypatch):
    """As after an update that moved what the files name."""
    monkeypatch.setenv("BLOCKSIM_COMPILER", "numba")
    count, value = in_another_process()
    assert count > 0
    (place,) = [p for p in private.iterdir() if p.is_dir()]
    (index,) = place.rglob("*.nbc")
    index.write_bytes(b"not a pickle")
    (place / cache.SEAL).write_text(cache.seal_of(place, cache.secret(private)))
    assert in_another_process() == (count, value)
    assert in_another_process() == (0, value)


def test_a_cache_others_may_write_to_is_not_used(private):
    private.mkdir(mode=0o700)
    private.chmod(0o777)
    assert cache.root() is None
    with cache.folder("0" * 32, "x = 1\n") as place:
        assert place is None


def test_a_linked_cache_is_not_used(private, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    private.symlink_to(tmp_path / "elsewhere")
    assert cache.root() is None


def test_the_cache_can_be_off(monkeypatch):
    monkeypatch.setenv("BLOCKSIM_CACHE", "off")
    assert cache.root() is None


def test_a_cache_that_cannot_be_made_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BLOCKSIM_CACHE", str(tmp_path / "file" / "cache"))
    assert cache.root() is None


def test_compiling_failures_leave_nothing_behind(private):
    with pytest.raises(RuntimeError, match="no"), cache.folder("1" * 32, "x = 1\n"):
        raise RuntimeError("no")
    assert [p.name for p in private.iterdir() if p.is_dir()] == []


def test_old_programs_go_first(private, monkeypatch):
    monkeypatch.setattr(cache, "KEEP", 3)
    for k in range(5):
        with cache.folder(str(k) * 32, "x = 1\n"):
            pass
        place = next(private.glob(f"{str(k) * 32}-*"))
        os.utime(place, (k + 1, k + 1))
    assert sorted(p.name[0] for p in private.iterdir() if p.is_dir()) == ["2", "3", "4"]


# by hand


def controlled():
    made = bs.Diagram("by hand")
    made.add("u", "Constant", value=0.0)
    made.add("plant", "FirstOrderLag", "u", T=0.5)
    made.add("sample", "ZeroOrderHold", "plant", Ts=0.1)
    made.add("noise", "WhiteNoise", Ts=0.1)
    return made


@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_stepping_equals_the_whole_run(solver):
    made = controlled()
    made.add("wave", "Sine")
    made.add("mass", "FirstOrderLag", "wave", T=0.3)
    sim = made.start(stop=2, solver=solver, engine="python", every=0.05)
    times = []
    while not times or times[-1] < 2:
        times.append(sim.step())
    assert times == [k / 10 for k in range(21)]
    assert same(sim.record(), bs.simulate(made, stop=2, solver=solver, engine="python", every=0.05))


def test_driving_from_outside_equals_a_plain_loop():
    # T y' = u - y, u set by hand before every sample: y[k+1] = a y[k] + (1 - a) u[k], a = exp(-0.1 / 0.5).
    sim = controlled().start(stop=1, solver="dopri5", rtol=1e-10, atol=1e-12, engine="python", every=0.1)
    sim.step()
    a, y = math.exp(-0.2), 0.0
    for k in range(10):
        u = 1.0 - 0.5 * sim.get("sample") + k
        sim.set_input("u", u)
        y = a * y + (1 - a) * u
        sim.step()
        assert sim.get("plant") == pytest.approx(y, abs=1e-9)
    assert sim.t == 1.0


def test_stepping_by_seconds():
    sim = controlled().start(stop=2, engine="python", params={"u.value": 1.0})
    sim.step()
    assert sim.step(0.25) == 0.2 or sim.t == 0.25
    sim.step(1.0)
    assert sim.t in (1.2, 1.25)
    assert sim.record().t[-1] <= sim.t


@pytest.mark.parametrize("name", ["plant.x", "sample.Ts", "noise.y"])
def test_what_cannot_change_in_a_running_simulation_is_refused(name):
    sim = controlled().start(stop=1, engine="python")
    sim.step()
    with pytest.raises(bs.DiagramError, match=name.replace(".", r"\.") if name != "noise.y" else "noise"):
        sim.set(name, 0.5)


def test_a_changed_parameter_acts_from_now_on():
    # T y' = 1 - y with T = 0.5 for 1 s, then T = 2: y = 1 - exp(-2) exp(-(t - 1) / 2).
    sim = controlled().start(stop=2, engine="python", params={"u.value": 1.0}, every=0.1)
    while sim.t < 1:
        sim.step()
    sim.set("plant.T", 2.0)
    while sim.t < 2:
        sim.step()
    assert sim.get("plant") == pytest.approx(1 - math.exp(-2) * math.exp(-0.5), abs=1e-7)


# the text


def test_the_program_is_readable_and_names_its_blocks():
    text = experiment(rich(), **options_of("rk4")).program.source.text
    for name in ("# plant: TransferFunction", "# drag: Function", "def derivative(", "def guards(", "def hit(", "def advance("):
        assert name in text
    compile(text, "program", "exec")


def test_the_program_does_not_depend_on_the_process():
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_program import experiment, options_of, rich
        print(experiment(rich(), **options_of("dopri5")).program.key)
    """)
    keys = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        keys.add(done.stdout.strip())
    assert keys == {experiment(rich(), **options_of("dopri5")).program.key}
