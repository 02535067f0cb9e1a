"""A saved record can be run again, bit for bit."""

import numpy as np
import pytest

import blocksim as bs

LOOP = """
format: 1
name: noisy loop
simulate: {stop: 0.5, solver: rk4, step: 1e-3, seed: 3}
parameters: {Ts: 0.005, gain: 2}
blocks:
  ref:   {type: Sine, frequency: 2}
  error: {type: Sum, signs: "+-", in: [ref, noisy]}
  hold:  {type: ZeroOrderHold, Ts: "${Ts}", in: error}
  act:   {type: Gain, k: "${gain}", in: hold}
  plant: {type: FirstOrderLag, T: 0.1, in: act}
  e:     {type: WhiteNoise, std: 0.1, Ts: "${Ts}"}
  noisy: {type: Sum, in: [plant, e]}
"""


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 9, "params": {"plant.T": 0.3}},
        {"params": {"Ts": 0.01, "gain": 3.0}},
        {"params": {"act.k": [1.0]}, "stop": 0.2},
        {"solver": "dopri5", "rtol": 1e-9, "every": 0.002, "start": 0.1},
    ],
)
def test_a_saved_record_runs_again_bit_for_bit(tmp_path, options):
    first = bs.simulate(LOOP, engine="python", **options)
    first.save(tmp_path / "r.npz")
    loaded = bs.Record.load(tmp_path / "r.npz")
    same(first, bs.rerun(loaded, engine="python"))
    same(first, loaded.rerun())


def test_another_seed_changes_only_what_is_random(tmp_path):
    first = bs.simulate(LOOP, engine="python")
    other = bs.rerun(first, seed=4, engine="python")
    np.testing.assert_array_equal(first["ref"], other["ref"])
    assert not np.array_equal(first["e"], other["e"])


def test_a_measured_record_says_that_there_is_nothing_to_run():
    with pytest.raises(bs.RecordError, match="carries no diagram"):
        bs.rerun(bs.Record.from_arrays(np.arange(3.0), {"q": np.zeros(3)}))


def test_a_diagram_with_a_subsystem_runs_again_from_its_file(tmp_path):
    (tmp_path / "part.yaml").write_text(
        "format: 1\nparameters: {T: 0.1}\nports: {in: [u], out: {y: lag}}\n"
        'blocks:\n  lag: {type: FirstOrderLag, T: "${T}", in: u}\n'
    )
    top = tmp_path / "top.yaml"
    top.write_text("format: 1\nsimulate: {stop: 1}\nblocks:\n  s: {type: Step}\n  p: {type: ./part.yaml, T: 0.3, in: s}\n")
    first = bs.simulate(top, engine="python")
    same(first, bs.rerun(first, engine="python"))
    assert first["p.lag"][-1] == pytest.approx(1 - np.exp(-1 / 0.3), abs=1e-7)


# ---- a stranger's record ---------------------------------------------------------------------------------------------------

READER = "format: 1\nsimulate: {stop: 1}\nblocks:\n  s: {type: FromRecord, file: x.csv, signal: u}\n"


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The user stands in `here`; what a stranger would like to read lies in `there`."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, end in ((here, 1), (there, 7)):
        folder.mkdir()
        (folder / "x.csv").write_text(f"t,u\n0,0\n1,{end}\n")
        (folder / "top.yaml").write_text(READER)
    monkeypatch.chdir(here)
    return here, there


def saved(name, **provenance):
    """A record read from a file in which somebody has written these things."""
    first = bs.simulate(READER, engine="python")
    first.provenance.update(provenance)
    first.save(name)
    return bs.Record.load(name)


def test_where_its_diagram_lay_is_a_records_own_word(folders):
    here, there = folders
    first = bs.simulate(there / "top.yaml", engine="python")
    assert bs.rerun(first, engine="python")["s"][-1] == 7, "made here: it is known where"
    first.save("r.npz")
    loaded = bs.Record.load("r.npz")
    assert bs.rerun(loaded, engine="python")["s"][-1] == 1, "the folder where the user stands"
    assert loaded[0:5].rerun(engine="python")["s"][-1] == 1, "a part of it is not believed more"
    assert bs.rerun(loaded, engine="python", allow_outside=True)["s"][-1] == 7
    (here / "x.csv").unlink()
    with pytest.raises(bs.DiagramError) as caught:
        bs.rerun(loaded)
    assert "the file 'x.csv' does not exist" in str(caught.value) and f"lay in '{there}' is the record's own word" in str(
        caught.value
    )


def test_a_record_cannot_allow_itself_to_read_outside(folders):
    loaded = saved("r.npz", diagram=READER.replace("x.csv", "../there/x.csv"), allow_outside=True)
    with pytest.raises(bs.DiagramError, match=r"'../there/x.csv' lies outside the folder of the diagram and is not read"):
        bs.rerun(loaded)


def test_nor_say_which_file_a_block_reads(folders):
    loaded = saved("r.npz", parameters={"s.file": "/etc/passwd"})
    with pytest.raises(bs.RecordError, match=r"r.npz: its provenance says which file a block reads \(s.file\), which .* may not"):
        bs.rerun(loaded)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"diagram": 5}, "diagram: found 5. A text is wanted."),
        ({"diagram": ["a"]}, "diagram: found ['a']. A text is wanted."),
        ({"path": 5}, "path: found 5. A text is wanted."),
        ({"seed": "x"}, "seed: found 'x'. A whole number, 0 or more, is wanted."),
        ({"parameters": [1]}, "parameters: found [1]. Numbers, texts or lists by name are wanted."),
        ({"parameters": {"s.hold": {"a": 1}}}, "Numbers, texts or lists by name are wanted."),
        ({"solver": 3}, "solver: found 3. A solver's name is wanted"),
        ({"stop": [1]}, "stop: found [1]. Seconds are wanted"),
        ({"rtol": "x"}, "rtol: found 'x'. A number above 0 is wanted."),
    ],
)
def test_provenance_is_checked_like_input(folders, wrong, words):
    with pytest.raises(bs.RecordError) as caught:
        bs.rerun(saved("r.npz", **wrong))
    assert str(caught.value).startswith("r.npz: its provenance is not that of a run: ") and words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_diagram_in_a_strangers_record_is_read_as_any_diagram(folders):
    with pytest.raises(bs.DiagramError, match="nested deeper than 50"):
        bs.rerun(saved("r.npz", diagram="format: 1\nblocks: " + "[" * 200_000))


@pytest.mark.parametrize("options, words", [({"rtol": "x"}, "rtol: found 'x'"), ({"seed": "x"}, "seed: found 'x'"),
                                            ({"seed": -1}, "seed: found -1")])  # fmt: skip
def test_options_of_the_wrong_kind_are_said(options, words):
    with pytest.raises(bs.DiagramError, match=words):
        bs.simulate(LOOP, **options)
