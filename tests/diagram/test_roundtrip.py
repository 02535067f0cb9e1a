"""What is written loads to the same: any Spec, and diagrams made from files or in Python."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocksim.diagram.build import build
from blocksim.diagram.diagram import Diagram, walk
from blocksim.diagram.loader import dump, load, save
from blocksim.diagram.spec import BlockSpec, LogSpec, PortSpec, SimulateSpec, Spec
from blocksim.diagram.writer import LINE_WIDTH, as_spec, paragraph, text
from blocksim.diagram.yaml_lines import read_yaml
from blocksim.errors import DiagramError

NAMES = st.builds(str.__add__, st.sampled_from("aKq_nyo"), st.text("bT0_9efno", max_size=5))
#: Control characters are refused in files, and half a surrogate pair is no text.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20).map(
    lambda t: t.replace("${", "$")
)
LOOKALIKES = st.sampled_from(
    [
        "1",
        "1e-3",
        "true",
        "no",
        "on",
        "~",
        "null",
        "",
        " a",
        "a ",
        "- a",
        "a: b",
        "a #b",
        "#",
        "'",
        '"',
        "${x}",
        "+-",
        "0x10",
        ".inf",
        "1/3",
        "{",
        "[a]",
        "&a",
        "*a",
        "!a",
        "%a",
        "@a",
        "`a",
        "a,b",
        "é",
        "\\",
        "\ufeffx",
        "\u2028",
        "x\ny",
        "\ty",
        "1_0",
        "<<",
        "=",
        "?",
        "a:",
        "-",
    ]
)
NUMBERS = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False))
SCALARS = st.one_of(st.booleans(), NUMBERS, TEXTS, LOOKALIKES)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(NAMES, LOOKALIKES.filter(lambda k: k != "<<")), inner, max_size=3)
    ),
    max_leaves=6,
)
TIMES = st.one_of(st.integers(1, 1000), st.floats(1e-6, 1e6), st.sampled_from(["1/3", "2/7", "${T}", "${1 / 3}"]))
SIGNALS = st.builds(
    lambda a, b, e: a + (f".{b}" if b else "") + (f"[{e}]" if e is not None else ""),
    NAMES,
    st.none() | NAMES,
    st.none() | st.integers(0, 9),
)
INPUTS = st.one_of(
    st.none(),
    SIGNALS,
    st.lists(SIGNALS, min_size=1, max_size=3),
    st.dictionaries(NAMES, st.one_of(SIGNALS, st.lists(SIGNALS, min_size=1, max_size=3)), min_size=1, max_size=3),
)
SETTINGS = st.dictionaries(NAMES.filter(lambda n: n not in ("type", "in", "flip")), VALUES | st.none(), max_size=4)
TYPES = st.one_of(NAMES, st.sampled_from(["./parts/servo.yaml", "../x y.yml", "no", "1", "null"]))


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    blocks = {n: BlockSpec(n, draw(TYPES), draw(INPUTS), draw(SETTINGS), draw(st.none() | st.booleans())) for n in names}
    simulate = SimulateSpec(
        stop=draw(st.none() | st.integers(10**7, 10**8)),
        start=draw(st.sampled_from([0, 0.5, "1/3"])),
        solver=draw(st.sampled_from([None, "rk4", "scipy:LSODA"])),
        step=draw(st.none() | TIMES),
        rtol=draw(st.none() | st.floats(1e-12, 1)),
        seed=draw(st.integers(0, 2**40)),
        every=draw(st.none() | TIMES),
        algebraic_loops=draw(st.sampled_from(["refuse", "solve"])),
    )
    free = NAMES.filter(lambda n: n not in names)
    ports = draw(
        st.none()
        | st.builds(PortSpec, st.dictionaries(free, st.integers(1, 9), max_size=3), st.dictionaries(NAMES, SIGNALS, max_size=3))
    )
    return Spec(
        draw(TEXTS | LOOKALIKES),
        draw(st.lists(TEXTS | LOOKALIKES, max_size=4).map("\n".join)),
        simulate,
        draw(
            st.dictionaries(
                NAMES.filter(lambda n: n not in ("type", "in", "flip")), SCALARS | st.lists(SCALARS, max_size=4), max_size=3
            )
        ),
        blocks,
        draw(st.none() | st.lists(st.builds(LogSpec, SIGNALS, st.none() | TIMES), max_size=3)),
        ports,
    )


@settings(max_examples=150, deadline=None)
@given(specs())
def test_any_spec_comes_back(spec: Spec):
    assert load(dump(spec)) == spec


@settings(max_examples=60, deadline=None)
@given(specs())
def test_writing_is_settled_after_once(spec: Spec):
    once = dump(spec)
    assert dump(load(once)) == once


@given(TEXTS | LOOKALIKES)
def test_a_text_comes_back_a_text(value: str):
    root, problems = read_yaml(f"a: {text(value)}\nb: [{text(value)}, {{{text(value) if value != '<<' else 'k'}: 1}}]\n", "f")
    assert not problems
    assert root.plain()["a"] == value
    assert root.plain()["b"][0] == value


@given(st.lists(TEXTS | LOOKALIKES, max_size=5).map("\n".join))
def test_a_paragraph_comes_back(value: str):
    root, problems = read_yaml(f"a: {paragraph(value)}\nb: 1\n", "f")
    assert not problems
    assert root.plain() == {"a": value, "b": 1}


LOOP = """format: 1
name: Lag under feedback
simulate: {stop: 10, step: 0.001, every: "${Ts * 10}"}
parameters: {Ts: 0.001, K: 2, T: "${K / 4}"}
blocks:
  ref:   {type: Step, time: 1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  gain:  {type: Gain, k: "${K}", in: error}
  hold:  {type: ZeroOrderHold, Ts: "${Ts}", in: gain}
  plant: {type: FirstOrderLag, T: "${T}", in: {u: hold}, flip: true}
log: [plant, {signal: error, every: "${Ts * 2}"}]
"""


def test_a_written_file_reads_like_one_written_by_hand():
    assert dump(load(LOOP)) == LOOP
    assert dump(build(load(LOOP))) == LOOP


def test_what_changed_in_a_diagram_is_written_and_the_rest_kept():
    diagram = build(load(LOOP), parameters={"K": 3})
    diagram.simulate.stop = 20
    diagram.nodes["ref"].block = type(diagram.nodes["ref"].block)(time=2, after=5)  # type: ignore[call-arg]
    diagram.add("more", "Gain", inputs="plant", k=7)
    wanted = LOOP.replace("stop: 10", "stop: 20").replace("K: 2", "K: 3").replace("time: 1}", "time: 2, after: 5}")
    wanted = wanted.replace("log:", "  more:  {type: Gain, k: 7, in: plant}\nlog:")
    assert dump(diagram) == wanted


def test_a_diagram_made_in_python_is_saved_and_loaded(tmp_path: Path):
    diagram = Diagram("By hand", simulate=SimulateSpec(stop=np.float64(2.5), step=Fraction(1, 3)), log=[LogSpec("sum")])
    diagram.add("one", "Constant", value=[np.float64(1.0), 2.0])
    diagram.add("gain", "Gain", inputs="one", k=np.float64(0.25))
    diagram.add("tf", "TransferFunction", inputs="gain", num=(1, 2), den=[1, 2, np.int64(3)])
    diagram.add("sum", "Sum", inputs=["tf", "one"], signs="+-")
    diagram.save(str(tmp_path / "d.yaml"))
    written = (tmp_path / "d.yaml").read_text()
    assert "gain: {type: Gain, k: 0.25, in: one}" in written
    assert 'simulate: {stop: 2.5, step: "1/3"}' in written
    again = build(load(tmp_path / "d.yaml"))
    assert again.nodes["tf"].block.settings["den"] == [1, 2, 3]  # type: ignore[union-attr]
    assert again.nodes["one"].block.settings["value"] == [1.0, 2.0]  # type: ignore[union-attr]
    assert as_spec(again) == load(dump(diagram))


def test_settings_left_alone_are_not_written():
    diagram = Diagram("quiet")
    diagram.add("s", "Step", time=1)
    declared = type(diagram.nodes["s"].block).declared  # type: ignore[union-attr]
    given = {} if declared["time"].default == 1 else {"time": 1}
    assert as_spec(diagram).blocks["s"].settings == given


def test_long_lines_are_broken_between_settings():
    spec = Spec(blocks={"a": BlockSpec("a", "Table", None, {f"list_{n}": [n / 7] * 3 for n in range(8)})})
    assert load(dump(spec)) == spec
    assert max(map(len, dump(spec).splitlines())) <= LINE_WIDTH


PART = """format: 1
ports: {in: [u], out: {y: lag}}
parameters: {T: 0.5, k: "${T * 2}"}
blocks:
  lag: {type: FirstOrderLag, k: "${k}", T: "${T}", in: u}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "lag.yaml").write_text(PART)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_subsystems_are_written_as_their_file(folder: Path):
    source = (
        "format: 1\nblocks:\n  one: {type: Constant, value: 2}\n  s:   {type: ./parts/lag.yaml, T: 3, in: one}\n"
        "  r:   {type: ./parts/lag.yaml, in: one}\n"
    )
    Path("d.yaml").write_text(source)
    assert dump(build(load("d.yaml"))) == source


def test_a_file_saved_elsewhere_still_finds_its_parts(folder: Path):
    Path("d.yaml").write_text("format: 1\nblocks:\n  one: {type: Constant}\n  s: {type: ./parts/lag.yaml, T: 3, in: one}\n")
    Path("out").mkdir()
    save(build(load("d.yaml")), "out/d.yaml")
    assert load("out/d.yaml").blocks["s"].type == "../parts/lag.yaml"
    again = build(load("out/d.yaml"), allow_outside=True)
    assert dict(walk(again))["s.lag"].block.settings["T"] == 3  # type: ignore[union-attr]


def test_subsystems_added_in_python(folder: Path):
    diagram = Diagram("by hand")
    diagram.add("one", "Constant", value=2)
    diagram.add("s", "./parts/lag.yaml", inputs="one", T=3)
    save(diagram, "d.yaml")
    assert "s:   {type: ./parts/lag.yaml, T: 3, in: one}" in Path("d.yaml").read_text()
    part = Diagram("no file", ports=PortSpec({"u": 1}, {"y": "g"}))
    part.add("g", "Gain", inputs="u")
    diagram.add("p", part, inputs="one")
    with pytest.raises(DiagramError, match="subsystem 'p' was made in Python and has no file"):
        dump(diagram)


def test_what_no_file_can_hold_is_refused(tmp_path: Path):
    spec = Spec(blocks={"a": BlockSpec("a", "Gain", settings={"k": object()})})
    with pytest.raises(DiagramError, match="cannot be written to a file"):
        dump(spec)
    with pytest.raises(DiagramError, match=r"cannot be written: No such file"):
        save(load(LOOP), tmp_path / "nowhere" / "d.yaml")
