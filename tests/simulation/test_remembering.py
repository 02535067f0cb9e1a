"""What was prepared is remembered by content: nothing is generated twice, nothing stale is run."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation import experiment as making
from blocksim.simulation import prepare
from blocksim.simulation.remembering.content import UnknownContentError, frozen
from blocksim.simulation.remembering.recollection import Recollection

LOOP = """
format: 1
simulate: {stop: 0.2, solver: rk4, step: 1e-3, seed: 3}
parameters: {Ts: 0.005, gain: 2, double: "${2 * gain}"}
blocks:
  ref:   {type: Sine, frequency: 2}
  error: {type: Sum, signs: "+-", in: [ref, noisy]}
  hold:  {type: ZeroOrderHold, Ts: "${Ts}", in: error}
  act:   {type: Gain, k: "${double}", in: hold}
  plant: {type: FirstOrderLag, T: "${0.2 / gain}", in: act}
  e:     {type: WhiteNoise, std: 0.1, Ts: "${Ts}"}
  noisy: {type: Sum, in: [plant, e]}
"""
PART = """
format: 1
parameters: {T: 0.1}
ports: {in: [u], out: {y: lag}}
blocks:
  lag: {type: FirstOrderLag, T: "${T}", in: u}
"""
WHOLE = """
format: 1
simulate: {stop: 1}
blocks:
  u:     {type: FromRecord, file: u.csv, signal: u}
  plant: {type: ./lag.yaml, in: u}
"""
#: A program that no other test has, so that nobody has compiled it.
RARE = """
format: 1
simulate: {stop: 0.2, solver: heun, step: 1e-3}
blocks:
  u: {type: Sine, frequency: 2}
  a: {type: Abs, in: u}
  b: {type: Product, in: [a, u]}
  c: {type: FirstOrderLag, T: 0.1, in: b}
  d: {type: Product, in: [c, a]}
"""


@pytest.fixture
def programs(monkeypatch) -> list:
    """The programs generated during a test, with an empty memory at its start."""
    generated: list = []
    generate = making.generate
    monkeypatch.setattr(making, "generate", lambda *a: generated.append(a) or generate(*a))
    monkeypatch.setattr(prepare, "RECOLLECTION", Recollection())
    return generated


def same(a: bs.Record, b: bs.Record) -> bool:
    return list(a) == list(b) and all(np.array_equal(a[name], b[name]) for name in a)


def test_numbers_seeds_and_parameters_of_the_file_generate_nothing(programs):
    bs.simulate(LOOP)
    for change in ({"plant.T": 0.3}, {"gain": 3.0}, {"gain": 1.5, "act.k": 7.0}, {"e.std": 0.0}):
        bs.simulate(LOOP, params=change, seed=5)
        bs.start(LOOP, params=change)
    bs.simulate_many(LOOP, params={"gain": [1.0, 2.0], "plant.T": [0.1, 0.2]})
    assert len(programs) == 1


@pytest.mark.parametrize(
    "params", [{"gain": 3.0}, {"gain": 3, "double": 1.0}, {"double": 5}, {"gain": 4.0, "act.k": 1.0}, {"Ts": 0.01}]
)
def test_a_parameter_as_a_number_gives_the_bits_of_the_file_written_with_it(params):
    text = LOOP
    for name, value in params.items():
        old = {"gain": "gain: 2", "double": 'double: "${2 * gain}"', "Ts": "Ts: 0.005, g", "act.k": 'k: "${double}"'}[name]
        text = text.replace(old, f"{name.removeprefix('act.')}: {value}" + (", g" if name == "Ts" else ""))
    assert same(bs.simulate(LOOP, params=params), bs.simulate(text))


def test_provenance_names_what_was_asked_and_runs_again():
    record = bs.simulate(LOOP, params={"gain": 3.0})
    assert record.provenance["parameters"] == {"gain": 3.0}
    assert same(record, bs.rerun(record))


def test_a_wrong_parameter_is_told_with_its_line_as_ever():
    bs.simulate(LOOP)
    with pytest.raises(bs.DiagramError, match=r"<text>:10: block 'plant': T: .*above 0"):
        bs.simulate(LOOP, params={"gain": -1.0})
    with pytest.raises(bs.DiagramError, match=r"no parameter 'gian'.*Did you mean 'gain'"):
        bs.simulate(LOOP, params={"gian": 1.0})


def test_a_shape_that_comes_again_is_remembered(programs):
    for _ in range(3):
        bs.simulate(LOOP, params={"Ts": 0.01, "plant.T": 0.2})
    assert len(programs) == 1
    for _ in range(3):
        bs.simulate(LOOP, params={"hold.Ts": 0.01})
        bs.simulate(LOOP)
    assert len(programs) == 3


def test_a_changed_file_is_noticed_even_within_one_tick_of_its_clock(tmp_path, programs):
    path = tmp_path / "loop.yaml"
    path.write_text(LOOP)
    stamp = os.stat(path)
    first = bs.simulate(path)
    path.write_text(LOOP.replace("frequency: 2", "frequency: 3"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert not same(first, bs.simulate(path)) and len(programs) == 2
    path.write_text(LOOP)
    assert same(first, bs.simulate(path))


def test_a_changed_part_and_changed_data_are_noticed(tmp_path, programs):
    part, data, path = tmp_path / "lag.yaml", tmp_path / "u.csv", tmp_path / "whole.yaml"
    part.write_text(PART)
    data.write_text("t,u\n0,1\n1,1\n")
    path.write_text(WHOLE)

    def final(**more) -> float:
        return float(bs.simulate(path, **more)["plant.lag"][-1])

    assert final() == pytest.approx(1 - np.exp(-10), rel=1e-6)
    assert final(params={"plant.T": 0.5}) == pytest.approx(1 - np.exp(-2), rel=1e-6)
    assert len(programs) == 1, "a parameter of a subsystem is a number, too"
    data.write_text("t,u\n0,2\n1,2\n")
    assert final() == pytest.approx(2 * (1 - np.exp(-10)), rel=1e-6)
    part.write_text(part.read_text().replace("T: 0.1", "T: 0.5"))
    assert final() == pytest.approx(2 * (1 - np.exp(-2)), rel=1e-6)


def test_a_diagram_that_goes_on_is_another_one(programs):
    diagram = bs.open_diagram(LOOP)
    first = bs.simulate(diagram)
    bs.simulate(diagram)
    assert len(programs) == 1
    diagram.add("more", "Gain", k=2.0, inputs="plant")
    diagram.simulate.stop = 0.1
    second = bs.simulate(diagram)
    assert len(programs) == 2 and "more.y" in second and len(second.t) < len(first.t)


def test_what_the_library_knows_belongs_to_the_content(programs):
    class Twice(bs.Block):
        """y = 2 u."""

        u = bs.inport("in")
        y = bs.outport("out")

        @staticmethod
        def output(u):
            return 2 * u

    text = "format: 1\nsimulate: {stop: 0.1}\nblocks:\n  one: {type: Constant, value: 1}\n  two: {type: Twice, in: one}\n"
    with pytest.raises(bs.DiagramError, match="no block type 'Twice'"):
        bs.simulate(text)
    bs.register(Twice)
    assert bs.simulate(text)["two"][-1] == 2


def test_memory_is_bounded_in_number_and_in_bytes(monkeypatch):
    memory = Recollection(most=3)
    monkeypatch.setattr(prepare, "RECOLLECTION", memory)
    texts = [LOOP.replace("frequency: 2", f"frequency: {n}") for n in range(1, 7)]
    for text in texts:
        bs.simulate(text)
    assert len(memory.shelf.values()) == 3
    memory.most_bytes = 1
    bs.simulate(texts[0])
    bs.simulate(texts[1])
    assert len(memory.shelf.values()) == 1


def test_two_threads_at_once_prepare_once_and_are_right(programs):
    alone = [bs.simulate(LOOP.replace("stop: 0.2", "stop: 0.1"), params={"gain": 1.0 + n}) for n in range(4)]
    programs.clear()
    results: dict[int, bs.Record] = {}
    barrier = threading.Barrier(4)

    def work(n: int) -> None:
        barrier.wait()
        results[n] = bs.simulate(LOOP, params={"gain": 1.0 + n}, stop=0.1)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(programs) == 1
    assert all(same(results[n], alone[n]) for n in range(4))


def test_an_experiment_can_be_held(tmp_path, programs):
    path = tmp_path / "loop.yaml"
    path.write_text(LOOP)
    ready = bs.experiment(path, stop=0.1)
    path.write_text("no longer a diagram")
    assert isinstance(ready, bs.Experiment) and bs.simulate(ready, params={"gain": 3.0}, seed=4).t[-1] == 0.1
    assert len(programs) == 1


def test_content_tells_kinds_apart_and_refuses_what_it_cannot_tell():
    assert frozen({"a": [1, 2]}) == frozen({"a": [1, 2]})
    assert len({frozen(1), frozen(1.0), frozen(True), frozen("1"), frozen([1]), frozen(np.array([1]))}) == 6
    with pytest.raises(UnknownContentError):
        frozen(object())


def test_a_loop_of_short_runs_leaves_cpython(monkeypatch):
    """What runs of one program take under CPython adds up, until compiling is the cheaper way."""
    from blocksim.compiler.program import ProgramText

    program = bs.experiment(RARE).program
    assert not program.compiled
    compilations: list[str] = []
    monkeypatch.setattr(ProgramText, "fast", lambda self: compilations.append(self.key) or (lambda end, *stores: 0))
    monkeypatch.setattr("blocksim.simulation.simulation.compile_beside", lambda code: None)
    monkeypatch.setattr(program.code, "spent", 0.1)
    bs.simulate(RARE)
    assert not compilations
    monkeypatch.setattr(program.code, "spent", 100.0)
    bs.simulate(RARE)
    assert set(compilations) == {program.key}


def test_another_process_compiles_beside_the_work(tmp_path, monkeypatch):
    from blocksim.simulation.beside import compile_beside, compiles_beside

    monkeypatch.setenv("BLOCKSIM_CACHE", str(tmp_path))
    monkeypatch.delenv("BLOCKSIM_BESIDE", raising=False)
    ready = bs.experiment(RARE.replace("type: Abs", "type: Sign"))
    code = ready.program.code
    assert not ready.program.cached()
    compile_beside(code)
    process = code.beside
    assert process is not None
    compile_beside(code)
    assert code.beside is process, "one is enough"
    assert process.wait(timeout=200) == 0 and not compiles_beside(code)
    assert ready.program.cached() and not ready.program.compiled
