"""Mistakes that show only when the whole diagram is put together: sizes, loops, rates, times, run length."""

import pytest

import blocksim as bs

HEAD = """format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
blocks:
  one: {type: Constant, value: 1}
  two: {type: Constant, value: [1, 2]}
"""

#: name, blocks (from line 6 on), line, what the message must say
MISTAKES = [
    (
        "vector into matrix",
        "  g: {type: MatrixGain, K: [[1, 2, 3]], in: two}",
        6,
        ["size mismatch", "'two.y' (Constant) has 2 elements", "input 'u' of 'g' (MatrixGain) takes 3"],
    ),
    (
        "two vectors of different size",
        "  w: {type: Constant, value: [1, 2, 3]}\n  s: {type: Sum, in: [two, w]}",
        7,
        ["size mismatch", "'two.y' (Constant) has 2 elements", "'s'", "takes 3"],
    ),
    (
        "element too large",
        '  g: {type: Gain, in: "two.y[2]"}',
        6,
        ["asks for element 2 of 'two.y', which has 2 (counted from 0)"],
    ),
    ("element of a scalar", '  g: {type: Gain, in: "one.y[1]"}', 6, ["element 1 of 'one.y', which has 1"]),
    ("list of the wrong length", "  g: {type: Gain, k: [1, 2, 3], in: two}", 6, ["size mismatch", "takes 3"]),
    (
        "initial states of the wrong length",
        "  t: {type: TransferFunction, num: [1], den: [1, 1, 1], x: [1, 2, 3], in: one}",
        6,
        ["block 't': x has 3 numbers; 2 is wanted"],
    ),
    (
        "loop of gains",
        "  a: {type: Gain, in: b}\n  b: {type: Gain, in: a}",
        6,
        ["algebraic loop: a.y -> b.u -> b.y -> a.u", "algebraic_loops: solve"],
    ),
    (
        "loop through a sum",
        '  e: {type: Sum, signs: "+-", in: [one, g]}\n  g: {type: Gain, k: 3, in: e}',
        6,
        ["algebraic loop: e.y -> g.u -> g.y -> e.u"],
    ),
    ("loop of a block with itself", "  s: {type: Sum, in: [one, s]}", 6, ["algebraic loop: s.y -> s.u"]),
    (
        "loop through a sampled block",
        "  z: {type: ZeroOrderHold, Ts: 0.1, in: g}\n  g: {type: Gain, in: z}",
        6,
        ["algebraic loop: z.y -> g.u -> g.y -> z.u"],
    ),
]


@pytest.mark.parametrize(("blocks", "line", "words"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_one_problem_with_its_line(tmp_path, monkeypatch, blocks, line, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.yaml").write_text(HEAD + blocks + "\n")
    with pytest.raises(bs.DiagramError) as caught:
        bs.simulate("d.yaml", engine="python")
    (problem,) = caught.value.problems
    assert str(problem.where) == f"d.yaml:{line}", problem
    for word in words:
        assert word in problem.what


def test_loops_are_all_reported_together():
    with pytest.raises(bs.DiagramError) as caught:
        bs.simulate(HEAD + "  a: {type: Gain, in: a}\n  b: {type: Gain, in: c}\n  c: {type: Gain, in: b}\n")
    assert [p.where.line for p in caught.value.problems] == [6, 7]


def text(simulate, blocks="  lag: {type: FirstOrderLag, T: 1, in: one}\n  one: {type: Constant}"):
    return f"format: 1\nsimulate: {simulate}\nblocks:\n{blocks}\n"


@pytest.mark.parametrize(
    ("simulate", "options", "words"),
    [
        ("{stop: 1, solver: rk5}", {}, "there is no solver 'rk5'. Solvers are: euler, heun, rk4, dopri5, rodas4, scipy:RK45"),
        ("{stop: 1, solver: dopri}", {}, "Did you mean 'dopri5'?"),
        ("{solver: dopri5}", {}, "'stop' must be given"),
        ("{stop: 1, solver: rk4}", {}, "the fixed-step solver rk4 needs a 'step'"),
        ("{stop: 1}", {"stop": -1}, "-1 is not after the start"),
        ("{stop: 1}", {"step": "fast", "solver": "rk4"}, "simulate.step: found 'fast', which is not a time. Seconds are wanted."),
        ("{stop: 1}", {"every": 0}, "simulate.every: must be above 0"),
        ("{stop: 1}", {"engine": "fortran"}, "there is no engine 'fortran'. Engines are: auto, compiled, python."),
        ("{stop: 1e6, solver: rk4, step: 1e-9}", {}, "takes 1e+15 steps, more than the limit"),
        ("{stop: 1e6, every: 1e-4}", {}, "this run takes 149.0 GiB (log 149.0,"),
        ("{stop: 1e6, every: 1e-12}", {}, "no common base"),
        (
            "{stop: 1}",
            {"params": {"lag.TT": 1}},
            "block 'lag' has no parameter 'TT'. FirstOrderLag takes: k, T, x. Did you mean 'T'?",
        ),
        ("{stop: 1}", {"params": {"lga.T": 1}}, "there is no block 'lga'. Blocks are: lag, one. Did you mean 'lag'?"),
        ("{stop: 1}", {"params": {"lag.T": -1}}, "block 'lag': T: must be above 0, found -1."),
        ("{stop: 1}", {"params": {"lag.T": "x"}}, "found 'x'. A number is wanted"),
        ("{stop: 1}", {"params": {"speed": 1}}, "speed"),
    ],
)
def test_a_run_that_cannot_be(simulate, options, words):
    with pytest.raises(bs.DiagramError) as caught:
        bs.simulate(text(simulate), **options)
    assert len(caught.value.problems) == 1
    assert words in str(caught.value)


def test_solver_and_step_mistakes_name_their_line(tmp_path):
    path = tmp_path / "d.yaml"
    path.write_text("format: 1\nsimulate:\n  stop: 1\n  solver: rk5\nblocks:\n  one: {type: Constant}\n")
    with pytest.raises(bs.DiagramError, match=r"d\.yaml:4: there is no solver 'rk5'"):
        bs.simulate(path)


def test_unknown_options_of_start_are_named():
    with pytest.raises(bs.DiagramError, match=r"there is no option 'stp'. Options are: stop"):
        bs.start(text("{stop: 1}"), stp=2)


def test_a_sweep_needs_lists():
    with pytest.raises(bs.DiagramError, match=r"'lag.T' needs a list of values"):
        bs.simulate_many(text("{stop: 1}"), params={"lag.T": 3})
