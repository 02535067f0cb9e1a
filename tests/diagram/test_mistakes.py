"""Every mistake a person makes in a file gets its line and a sentence that helps.

A row is (name, text, line, fragments of the message); `files` are written beside it.
Each row has exactly one problem; that several are reported together is tested below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from blocksim.contract.block import Block, RecordBlock, SampledBlock, inport, memory, outport, static
from blocksim.contract.library import register
from blocksim.diagram.build import build
from blocksim.diagram.loader import load
from blocksim.errors import DiagramError, Problem


class MistakeFilter(RecordBlock):
    """y = u: a record block for these tests."""

    u = inport("recorded signal")
    y = outport("the same")

    def process(self, t, u):
        return u


class MistakeReader(Block):
    """y = 0: names a file, for these tests."""

    file: str = static("", "file to read", kind=str)
    y = outport("nothing")

    @staticmethod
    def output():
        return 0.0


class MistakeHold(SampledBlock):
    """y[k+1] = u[k]: has a sample time, for these tests."""

    u = inport("input")
    y = outport("held")
    m: float = memory(0.0, "held value")

    @staticmethod
    def output(m):
        return m

    @staticmethod
    def update(u):
        return u


class MistakeTwin(Block):
    """a = u, b = u: has two outputs, for these tests."""

    u = inport("input")
    a = outport("one")
    b = outport("other")

    @staticmethod
    def output(u):
        return u, u


@pytest.fixture(autouse=True, scope="module")
def known_blocks():
    register(MistakeFilter, MistakeReader, MistakeHold, MistakeTwin)


def problems_of(source: str) -> list[Problem]:
    """What is wrong with a diagram, found on the whole way from text to a runnable diagram."""
    try:
        build(load(source))
    except DiagramError as error:
        return error.problems
    return []


@dataclass
class Mistake:
    name: str
    text: str
    line: int | None
    fragments: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    file: str = "d.yaml"


def top(line: str) -> str:
    """A small diagram with one more top-level line, its third."""
    return f"format: 1\nblocks: {{one: {{type: Constant, value: 1}}}}\n{line}\n"


def block(line: str) -> str:
    """A small diagram with one more block, on line 4."""
    return f"format: 1\nblocks:\n  one: {{type: Constant, value: 1}}\n  {line}\n"


SERVO = """format: 1
ports: {in: [u], out: {y: lag}}
parameters: {T: 0.5}
blocks:
  lag: {type: FirstOrderLag, T: "${T}", in: u}
"""

MISTAKES = [
    # The text as YAML.
    Mistake("not YAML", "format: 1\nblocks: {a: {type: Constant\n", 3, ("not YAML", "expected ',' or '}'")),
    Mistake("tab", "format: 1\nblocks:\n\tone: {type: Constant}\n", 3, ("tab", "Indent with spaces")),
    Mistake("unquoted reference in braces", block("g: {type: Gain, k: ${K}, in: one}"), 4, ('is quoted: "${name}"',)),
    Mistake(
        "unquoted element in braces", block("g: {type: Gain, in: one.y[0]}"), 4, ('An element of a signal is quoted: "one.y[0]"',)
    ),
    Mistake("empty file", "# nothing\n\n", 1, ("the file is empty",)),
    Mistake("a list", "- format: 1\n- blocks\n", 1, ("a diagram file", "A mapping is wanted")),
    Mistake("two documents", block("") + "---\nformat: 1\n", 5, ("second document",)),
    Mistake("key twice", block("g: {type: Gain, k: 1, k: 2, in: one}"), 4, ("'k' is given twice, first on line 4",)),
    Mistake("block twice", block("one: {type: Constant}"), 4, ("'one' is given twice, first on line 3",)),
    Mistake("top key twice", top("format: 1"), 3, ("'format' is given twice, first on line 1",)),
    Mistake("tag", block("g: !gain {type: Gain, in: one}"), 4, ("tag !gain", "plainly")),
    Mistake("merge key", block("g: {type: Gain, <<: {k: 1}, in: one}"), 4, ("merge key << is not read",)),
    Mistake("unknown alias", block("g: *gain"), 4, ("*gain", "not named above")),
    Mistake("number too large", block("g: {type: Gain, k: 1e400, in: one}"), 4, ("1e400 is too large",)),
    # The top of the file.
    Mistake("no format", "blocks:\n  one: {type: Constant}\n", 1, ("Write format: 1",)),
    Mistake("newer format", "format: 2\nthings: 5\n", 1, ("format 2 is newer",)),
    Mistake("format is a word", "format: one\nblocks: {one: {type: Constant}}\n", 1, ("found 'one'", "Write format: 1")),
    Mistake("a study", "format: 1\nstudy: Bias\ndiagram: pid.yaml\n", 2, ("this is a study", "blocksim study")),
    Mistake("unknown top key", top("simulation: {stop: 1}"), 3, ("no key 'simulation'", "Did you mean 'simulate'?")),
    Mistake("no blocks", "format: 1\nname: nothing\n", 1, ("there is no 'blocks:'",)),
    Mistake("empty blocks", "format: 1\nblocks:\n", 2, ("'blocks:' is empty",)),
    Mistake("blocks as a list", "format: 1\nblocks: [Gain]\n", 2, ("blocks: found ['Gain']", "A mapping is wanted")),
    Mistake("name is a list", top("name: [a]"), 3, ("name: found ['a']", "A text is wanted")),
    # simulate:
    Mistake("unknown simulate key", top("simulate: {stop: 1, sovler: rk4}"), 3, ("no key 'sovler'", "Did you mean 'solver'?")),
    Mistake("unit of time", top("simulate: {stop: 1 ms}"), 3, ("stop: found '1 ms'", "Seconds are wanted", "0.001")),
    Mistake("stop before start", top("simulate: {start: 5, stop: 2}"), 3, ("stop: 2 is not after the start, 5",)),
    Mistake("stop is zero", top("simulate: {stop: 0}"), 3, ("stop: 0 is not after the start, 0",)),
    Mistake("step is negative", top("simulate: {stop: 1, step: -1e-3}"), 3, ("step: must be above 0, found -0.001",)),
    Mistake("stop is nan", top("simulate: {stop: .nan}"), 3, ("stop: found nan",)),
    Mistake("stop is true", top("simulate: {stop: yes}"), 3, ("stop: found 'yes'", "Seconds")),
    Mistake("rtol is zero", top("simulate: {stop: 1, rtol: 0}"), 3, ("rtol: found 0", "above 0")),
    Mistake("seed is broken", top("simulate: {stop: 1, seed: 1.5}"), 3, ("seed: found 1.5", "whole number")),
    Mistake("seed is negative", top("simulate: {stop: 1, seed: -1}"), 3, ("seed: found -1",)),
    Mistake("solver is a number", top("simulate: {stop: 1, solver: 4}"), 3, ("solver: found 4",)),
    Mistake("loops", top("simulate: {stop: 1, algebraic_loops: ignore}"), 3, ("found 'ignore'", "refuse or solve")),
    Mistake(
        "own line of a key", "format: 1\nsimulate:\n  stop: 1\n  step: fast\nblocks: {one: {type: Constant}}\n", 4, ("'fast'",)
    ),
    # parameters: and ${...}
    Mistake("parameter name", top("parameters: {a-b: 1}"), 3, ("'a-b' cannot name a parameter",)),
    Mistake("parameter is a mapping", top("parameters: {a: {b: 1}}"), 3, ("parameter 'a': found a mapping",)),
    Mistake("parameter without a value", top("parameters: {a: }"), 3, ("parameter 'a'", "must be given")),
    Mistake(
        "unknown parameter",
        block("g: {type: Gain, k: '${K}', in: one}\nparameters: {k: 1}"),
        4,
        ("block 'g': k: there is no parameter 'K'", "Parameters are: k"),
    ),
    Mistake(
        "parameter meant", block("g: {type: Gain, k: '${gian}', in: one}\nparameters: {gain: 1}"), 4, ("Did you mean 'gain'?",)
    ),
    Mistake("later parameter", top("parameters: {a: '${b}', b: 1}"), 3, ("parameter 'a': there is no parameter 'b'",)),
    Mistake("parameter in a text", block("g: {type: Gain, k: '2${K}', in: one}\nparameters: {K: 1}"), 4, ("mixes text",)),
    Mistake("parameter in stop", top("simulate: {stop: '${T}'}"), 3, ("simulate: stop: there is no parameter 'T'",)),
    Mistake(
        "division by zero",
        block("g: {type: Gain, k: '${1/K}', in: one}\nparameters: {K: 0}"),
        4,
        ("'${1/K}'", "division by zero"),
    ),
    Mistake("arithmetic of a text", block("g: {type: Gain, k: '${2*K}', in: one}\nparameters: {K: x}"), 4, ("'K' is no number",)),
    Mistake(
        "bad value by parameter",
        block("l: {type: FirstOrderLag, T: '${T}', in: one}\nparameters: {T: -1}"),
        4,
        ("block 'l': T: must be above 0, found -1",),
    ),
    Mistake(
        "bad stop by parameter", top("simulate: {stop: '${T}'}\nparameters: {T: -1}"), 3, ("stop: must be at least 0, found -1",)
    ),
    # Blocks.
    Mistake("block without type", block("g: {k: 2, in: one}"), 4, ("block 'g' has no type",)),
    Mistake("block is a word", block("g: Gain"), 4, ("block 'g': found 'Gain'", "g: {type: ...")),
    Mistake("type is a number", block("g: {type: 5}"), 4, ("type: found 5",)),
    Mistake("block name with a dot", block("a.b: {type: Constant}"), 4, ("'a.b' cannot name a block",)),
    Mistake("block name starts with a digit", block("2nd: {type: Constant}"), 4, ("'2nd' cannot name a block",)),
    Mistake("unknown type", block("g: {type: Gian, in: one}"), 4, ("no block type 'Gian'", "Did you mean 'Gain'?")),
    Mistake("type in lower case", block("g: {type: firstorderlag, T: 1, in: one}"), 4, ("Did you mean 'FirstOrderLag'?",)),
    Mistake("flip is a word", block("g: {type: Gain, flip: left, in: one}"), 4, ("flip: found 'left'", "true or false")),
    Mistake(
        "unknown setting",
        block("l: {type: FirstOrderLag, TT: 1, T: 1, in: one}"),
        4,
        ("block 'l' has no parameter 'TT'. FirstOrderLag takes: k, T, x.", "Did you mean 'T'?"),
    ),
    Mistake(
        "input as a setting",
        block("g: {type: Gain, u: one, in: one}"),
        4,
        ("no parameter 'u'", "'u' is an input: write in: {u: <block>}"),
    ),
    Mistake(
        "inputs: for in:",
        block("g: {type: Gain, inputs: one, in: one}"),
        4,
        ("no parameter 'inputs'", "Inputs are written in: <block>"),
    ),
    Mistake("missing setting", block("l: {type: FirstOrderLag, in: one}"), 4, ("'T' must be given: time constant [s]",)),
    Mistake("empty setting", block("l: {type: FirstOrderLag, T: , in: one}"), 4, ("'T' must be given",)),
    Mistake("text for a number", block("g: {type: Gain, k: high, in: one}"), 4, ("k: found 'high'", "A number is wanted: gain")),
    Mistake("quoted number", block('g: {type: Gain, k: "2", in: one}'), 4, ("k: found '2'", "A number is wanted")),
    Mistake("comma for a point", block("g: {type: Gain, k: [1,5x], in: one}"), 4, ("found '5x'",)),
    Mistake("nan", block("g: {type: Gain, k: .nan, in: one}"), 4, ("k: nan is not a finite number",)),
    Mistake("infinite", block("g: {type: Gain, k: .inf, in: one}"), 4, ("k: inf is not a finite number",)),
    Mistake("wrong sign", block("l: {type: FirstOrderLag, T: -0.5, in: one}"), 4, ("T: must be above 0, found -0.5",)),
    Mistake("truth for a number", block("g: {type: Gain, k: true, in: one}"), 4, ("k: found True",)),
    Mistake("no sample time", block("h: {type: MistakeHold, in: one}"), 4, ("'Ts' must be given: sample time [s]",)),
    Mistake("sample time with a unit", block("h: {type: MistakeHold, Ts: 10 Hz, in: one}"), 4, ("Ts: found '10 Hz'", "Seconds")),
    Mistake("sample time zero", block("h: {type: MistakeHold, Ts: 0, in: one}"), 4, ("Ts: must be above 0, found 0",)),
    Mistake("fraction of nothing", block("h: {type: MistakeHold, Ts: 1/0, in: one}"), 4, ("Ts: found '1/0'", "Seconds")),
    Mistake("own line of a setting", block("g:\n    type: Gain\n    in: one\n    k: x"), 7, ("k: found 'x'",)),
    # Links.
    Mistake("input of nothing", block("g: {type: Gain, in: two}"), 4, ("'two' names no block", "Blocks are: one, g")),
    Mistake("misspelt block", block("gain: {type: Gain, in: ona}"), 4, ("'ona' names no block", "Did you mean 'one'?")),
    Mistake("unconnected", block("g: {type: Gain}"), 4, ("block 'g': input 'u' (input) is not connected", "in: <block>")),
    Mistake("too many inputs", block("g: {type: Gain, in: [one, one]}"), 4, ("takes 1 input (u), found 2",)),
    Mistake("input of a source", block("s: {type: Constant, in: one}"), 4, ("block 's': takes no input",)),
    Mistake("unknown input port", block("g: {type: Gain, in: {v: one}}"), 4, ("no input 'v'. It has: u",)),
    Mistake("two drivers", block("g: {type: Gain, in: {u: [one, one]}}"), 4, ("input 'u' takes one signal, found 2", "Mux")),
    Mistake(
        "unknown output port", block("g: {type: Gain, in: one.z}"), 4, ("block 'one' (Constant) has no output 'z'. It has: y",)
    ),
    Mistake("which output", block("t: {type: MistakeTwin, in: one}\n  g: {type: Gain, in: t}"), 5, ("say which: t.a, t.b",)),
    Mistake("in is a number", block("g: {type: Gain, in: 5}"), 4, ("in: found 5", "Write in: block")),
    Mistake("in is an empty list", block("g: {type: Gain, in: []}"), 4, ("in: found []",)),
    Mistake("in is not a signal", block("g: {type: Gain, in: one + one}"), 4, ("'one + one' is not a signal",)),
    Mistake("numbered with a gap", block("s: {type: Sum, in: {u1: one, u3: one}}"), 4, ("numbered 1, 3",)),
    # log:
    Mistake("log is a word", top("log: one"), 3, ("log: found 'one'", "A list is wanted")),
    Mistake("log of nothing", top("log: [one, two]"), 3, ("log: 'two' names no block", "Blocks are: one")),
    Mistake("log of no port", top("log: [one.z]"), 3, ("has no output 'z'",)),
    Mistake("log of a number", top("log: [5]"), 3, ("log: found 5", "{signal: block.port")),
    Mistake("log without signal", top("log: [{every: 0.1}]"), 3, ("an entry names its signal",)),
    Mistake("log key", top("log: [{signal: one, evry: 1}]"), 3, ("no key 'evry'", "Did you mean 'every'?")),
    Mistake("log every", top("log: [{signal: one, every: 0}]"), 3, ("every: must be above 0",)),
    Mistake("own line of a log entry", top("log:\n  - one\n  - one.q"), 5, ("has no output 'q'",)),
    # Subsystems and files.
    Mistake("subsystem missing", block("s: {type: ./servo.yaml, in: one}"), 4, ("'./servo.yaml' does not exist",)),
    Mistake(
        "subsystem without ports",
        block("s: {type: ./servo.yaml, in: one}"),
        4,
        ("has no ports",),
        {"servo.yaml": "format: 1\nblocks: {one: {type: Constant}}\n"},
    ),
    Mistake(
        "subsystem setting",
        block("s: {type: ./servo.yaml, TT: 1, in: one}"),
        4,
        ("block 's' has no parameter 'TT'. ./servo.yaml takes: T",),
        {"servo.yaml": SERVO},
    ),
    Mistake(
        "subsystem text for a number",
        block("s: {type: ./servo.yaml, T: fast, in: one}"),
        3,
        ("parameter 'T': found 'fast'. A number is wanted", "(used by block 's', d.yaml:4)"),
        {"servo.yaml": SERVO},
        "servo.yaml",
    ),
    Mistake("subsystem unconnected", block("s: {type: ./servo.yaml}"), 4, ("input 'u'", "not connected"), {"servo.yaml": SERVO}),
    Mistake(
        "subsystem output",
        block("s: {type: ./servo.yaml, in: one}\n  g: {type: Gain, in: s.z}"),
        5,
        ("block 's'", "has no output 'z'. It has: y"),
        {"servo.yaml": SERVO},
    ),
    Mistake(
        "mistake inside",
        block("s: {type: ./servo.yaml, T: -1, in: one}"),
        5,
        ("block 'lag': T: must be above 0, found -1.", "(used by block 's', d.yaml:4)"),
        {"servo.yaml": SERVO},
        "servo.yaml",
    ),
    Mistake(
        "output of nothing inside",
        block("s: {type: ./servo.yaml, in: one}"),
        2,
        ("ports: out: y: 'lga' names no block", "Did you mean 'lag'?", "(used by block 's'"),
        {"servo.yaml": SERVO.replace("y: lag", "y: lga")},
        "servo.yaml",
    ),
    Mistake(
        "not YAML inside",
        block("s: {type: ./servo.yaml, in: one}"),
        2,
        ("not YAML", "(used by block 's', d.yaml:4)"),
        {"servo.yaml": "format: 1\nports: }\n"},
        "servo.yaml",
    ),
    Mistake("subsystem of itself", block("s: {type: ./d.yaml}"), 4, ("cannot contain itself: d.yaml -> d.yaml",)),
    Mistake(
        "cycle of subsystems",
        block("s: {type: ./a.yaml}"),
        3,
        ("a.yaml -> b.yaml -> a.yaml",),
        {
            "a.yaml": "format: 1\nports: {}\nblocks: {x: {type: ./b.yaml}}\n",
            "b.yaml": "format: 1\nports: {}\nblocks: {x: {type: ./a.yaml}}\n",
        },
        "b.yaml",
    ),
    Mistake("outside", block("s: {type: ../servo.yaml, in: one}"), 4, ("'../servo.yaml' lies outside", "--allow-outside")),
    Mistake(
        "file missing",
        block("r: {type: MistakeReader, file: run.npz}"),
        4,
        ("block 'r': file: the file 'run.npz' does not exist",),
    ),
    Mistake("file is a folder", block("r: {type: MistakeReader, file: .}"), 4, ("'.' is not a file",)),
    # ports:
    Mistake("unknown port key", top("ports: {inn: [u]}"), 3, ("ports has no key 'inn'",)),
    Mistake("port name", top("ports: {in: [a.b]}"), 3, ("'a.b' cannot name an input",)),
    Mistake("port named as a block", top("ports: {in: [one]}"), 3, ("the name 'one' is taken by a block",)),
    Mistake("port twice", top("ports: {in: [u, u]}"), 3, ("the name 'u' is taken by an input",)),
    Mistake("port size", top("ports: {in: {u: 0}}"), 3, ("u: found 0", "A size is wanted")),
    Mistake("output of two", top("ports: {out: {y: [one, one]}}"), 3, ("y: found ['one', 'one']", "A signal is wanted")),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_a_mistake_is_named(mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {**mistake.files, "d.yaml": mistake.text}.items():
        Path(name).write_text(text)
    problems = problems_of("d.yaml")
    assert len(problems) == 1, "\n".join(map(str, problems)) or "no problem found"
    assert str(problems[0].where) == f"{mistake.file}:{mistake.line}", problems[0]
    for fragment in mistake.fragments:
        assert fragment in problems[0].what


def test_names_of_the_rows_differ():
    assert len({m.name for m in MISTAKES}) == len(MISTAKES)


def test_all_mistakes_of_a_file_are_reported_together_in_order():
    text = """format: 1
simulate: {stop: -1}
blocks:
  one: {type: Konstant}
  g: {type: Gain, k: x, q: 1, in: one}
  h: {type: Gain, in: g.z}
log: [h.q]
"""
    lines = [(p.where and p.where.line, p.what.split(".")[0]) for p in problems_of(text.replace("stop: -1", "stop: 1"))]
    assert [line for line, _ in lines] == [4, 5, 5, 6, 7]
    assert problems_of(text)[0].what.startswith("simulate: stop: must be at least 0, found -1")


def test_a_block_that_cannot_be_made_does_not_cause_further_complaints():
    problems = problems_of(block("g: {type: Gian, k: 5, in: one}\n  h: {type: Gain, in: g.anything}\nlog: [g.w, h]"))
    assert [p.what.split(".")[0] for p in problems] == ["block 'g': there is no block type 'Gian'"]


def test_a_bad_parameter_is_complained_about_once():
    text = block("g: {type: Gain, k: '${b}', in: one}\n  l: {type: FirstOrderLag, T: '${2*b}', in: g}\nparameters: {b: '${c}'}")
    assert [p.what.split(".")[0] for p in problems_of(text)] == ["parameter 'b': there is no parameter 'c'"]


def test_a_mistake_in_a_part_used_often_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("servo.yaml").write_text(SERVO.replace("in: u", "in: v"))
    uses = "".join(f"\n  s{n}: {{type: ./servo.yaml, in: one}}" for n in range(5))
    Path("d.yaml").write_text(block(uses))
    assert [str(p.where) for p in problems_of("d.yaml")] == ["servo.yaml:5"]


def test_very_many_problems_are_cut_short():
    problems = problems_of(block("".join(f"\n  g{n}: {{type: Gain}}" for n in range(80))))
    assert len(problems) == 51
    assert problems[-1].what == "... and 30 more problems."


def test_the_message_reads_as_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("servo.yaml").write_text(block("lag: {type: FirstOrderLag, TT: 1, T: 1, in: one}"))
    with pytest.raises(DiagramError) as caught:
        build(load("servo.yaml"))
    assert str(caught.value) == (
        "servo.yaml:4: block 'lag' has no parameter 'TT'. FirstOrderLag takes: k, T, x. Did you mean 'T'?"
    )


def test_unknown_override_of_a_parameter():
    with pytest.raises(DiagramError, match=r"no parameter 'Tss'. It has: Ts. Did you mean 'Ts'\?"):
        build(load(top("parameters: {Ts: 1e-3}")), parameters={"Tss": 2e-3})
