"""What every block of the library meets by itself: docs, units, an example that runs, the same bits in both engines."""

import re
import zlib

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.declarations import Declared, Inport, Model, Outport, Param, Period, State
from blocksim.contract.library import installed
from blocksim.diagram.build import open_diagram
from blocksim.diagram.diagram import Diagram
from blocksim.records.record import Record
from blocksim.schedule.flatten import flatten

LIBRARY = installed()  # not what other tests register
FAMILIES = sorted({kind.family for kind in LIBRARY.values()})
#: Symbols a unit may be made of.
SYMBOLS = {
    "s",
    "ms",
    "m",
    "mm",
    "kg",
    "rad",
    "deg",
    "N",
    "Nm",
    "V",
    "A",
    "W",
    "J",
    "Hz",
    "K",
    "Pa",
    "H",
    "F",
    "Ohm",
    "%",
    "1",
    "step",
    "steps",
    "counts",
}
LONGEST = 2.0  # seconds of an example that are run here


def example_of(name, folder):
    """The block's example as a diagram; FromRecord, whose example needs a file, gets one."""
    if name == "FromRecord":
        Record.from_arrays(np.linspace(0, 1, 11), y=np.linspace(0, 1, 11) ** 2).save(str(folder / "data.npz"))
        made = Diagram("recorded")
        made.add("data", "FromRecord", file=str(folder / "data.npz"), signal="y")
        made.add("held", "FromRecord", file=str(folder / "data.npz"), signal="y", hold="zero")
        made.simulate.stop = 1.0
        return made
    return open_diagram(LIBRARY[name].example)


def shortened(made):
    stop = float(made.simulate.stop)
    return {"stop": min(stop, LONGEST)}


@pytest.fixture(params=sorted(LIBRARY))
def name(request):
    return request.param


def test_it_says_what_it_is(name):
    kind = LIBRARY[name]
    first = (kind.__doc__ or "").strip().splitlines()[0]
    assert len(first) > 5 and first[-1] in ".:", "the first line of the docstring is the equation or the act"
    assert kind.family, "it belongs to a family of the catalogue"
    for declared, what in kind.of(Declared).items():
        assert what.doc and what.doc == what.doc.strip(), declared


def test_its_units_are_units(name):
    for declared, what in LIBRARY[name].of(Declared).items():
        if isinstance(what, Period):
            assert what.unit == "s"
        symbols = re.findall(r"[A-Za-z%]+|(?<!\w)1(?![\w.])", re.sub(r"\^-?\w+", "", what.unit))
        # A gain may be in another gain's units, 'kp/s', and a position in 'rad or m'.
        assert set(symbols) <= SYMBOLS | set(LIBRARY[name].declared) | {"or"}, f"{declared} is in '{what.unit}'"


def test_its_ports_have_the_units_of_what_they_carry(name):
    # A state that is an output under the same name, or a setting and a port, cannot be in two units.
    kind = LIBRARY[name]
    for port, out in kind.of(Outport).items():
        state = kind.of(State).get(port)
        if state is not None and state is not out:
            assert state.unit == out.unit, port


def test_its_example_runs_and_repeats(name, tmp_path):
    made = example_of(name, tmp_path)
    assert any(type(node.block).__name__ == name for node in made.nodes.values()), "the example uses the block"
    runs = [bs.simulate(made, engine="python", **shortened(made)) for _ in range(2)]
    own = [n for n, node in made.nodes.items() if type(node.block).__name__ == name]
    for signal in runs[0]:
        assert np.array_equal(runs[0][signal], runs[1][signal]), signal
        assert np.all(np.isfinite(runs[0][signal])), signal
    outputs = [runs[0][f"{n}.{p}"] for n in own for p in type(made.nodes[n].block).of(Outport) if f"{n}.{p}" in runs[0]]
    found = any(n in runs[0].estimates for n in own)  # an identifier may have no signal to show
    assert found or (outputs and any(np.any(y != 0) for y in outputs)), "the example shows something"


def test_its_settings_are_refused_by_name(name):
    kind = LIBRARY[name]
    numbers = [n for n, d in kind.of(Param).items() if not d.shape and type(d) is Param]
    for setting in numbers:
        text = " ".join(t for _, t in kind.problems({setting: float("nan")}))
        assert setting in text and "not a finite number" in text
    text = " ".join(t for _, t in kind.problems({"surely_not": 1.0}))
    assert "no parameter 'surely_not'" in text


def renamed(inputs, prefix):
    """References of a copied block, in whatever way they are written."""
    if inputs is None:
        return None
    if isinstance(inputs, dict):
        return {port: renamed(value, prefix) for port, value in inputs.items()}
    if isinstance(inputs, (list, tuple)):
        return [renamed(value, prefix) for value in inputs]
    return prefix + inputs


def together(names, folder):
    """The examples of several blocks side by side in one diagram, so that they compile once."""
    made = Diagram("together")
    made.simulate.algebraic_loops = "solve"
    for name in names:
        example = example_of(name, folder)
        late = {unit.path for unit in flatten(example).after_run}
        for node in example.nodes.values():
            if node.name not in late:
                links = {k: f"{name}_{v}" for k in node.block.of(Model) if (v := node.block.settings[k]) in example.nodes}
                block = type(node.block)(**{**node.block.settings, **links}) if links else node.block
                made.add(f"{name}_{node.name}", block, renamed(node.inputs, f"{name}_"))
    return made


def compare(made, **options):
    interpreted, compiled = (bs.simulate(made, engine=engine, **options) for engine in ("python", "compiled"))
    assert interpreted.provenance["work"] == compiled.provenance["work"]
    for signal in interpreted:
        assert np.array_equal(interpreted[signal], compiled[signal], equal_nan=True), signal


def running(names):
    return [n for n in names if not LIBRARY[n].after_run]


def test_compiled_equals_cpython_for_the_whole_library(tmp_path):
    compare(together(running(sorted(LIBRARY)), tmp_path), stop=1.0, every=0.01, solver="rk4", step=0.005)


def test_a_large_program_gives_the_bits_of_a_small_one(tmp_path, monkeypatch):
    # Above a number of blocks, equal ones share a loop over addresses; below, each is written out. Two texts, one meaning.
    made = together(running(sorted(LIBRARY)), tmp_path)
    options = {"stop": 0.5, "every": 0.01, "solver": "rk4", "step": 0.005, "engine": "python"}
    records = []
    for large in (1, 10**9):
        monkeypatch.setattr("blocksim.compiler.emitter.LARGE_PROGRAM", large)
        records.append(bs.simulate(made, **options))
    for signal in records[0]:
        assert np.array_equal(records[0][signal], records[1][signal], equal_nan=True), signal


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_equals_cpython_family_by_family(family, tmp_path):
    names = running(n for n, kind in LIBRARY.items() if kind.family == family)
    if not names:
        pytest.skip("only record blocks")
    solver = ("dopri5", "rodas4", "heun")[zlib.crc32(family.encode()) % 3]
    compare(together(names, tmp_path), stop=1.0, every=0.01, solver=solver, **({"step": 0.005} if solver == "heun" else {}))


@pytest.mark.parametrize("name", sorted(n for n, kind in LIBRARY.items() if kind.of(Inport) and not kind.after_run))
def test_an_open_input_is_named(name, tmp_path):
    made = example_of(name, tmp_path)
    for node in made.nodes.values():
        if type(node.block).__name__ == name:
            node.inputs = None
    open_ports = [p for p, d in LIBRARY[name].of(Inport).items() if not d.optional]
    if not open_ports:
        pytest.skip("its inputs are optional")
    with pytest.raises(bs.DiagramError, match=rf"input '{open_ports[0]}' .*is not connected"):
        bs.simulate(made, stop=1.0)
