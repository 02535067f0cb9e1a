"""Bad study files: every mistake is named with its file and line, what there is instead, and what to do."""

from __future__ import annotations

import re

import pytest
import study_toys as toys

import blocksim as bs
from blocksim.studies.file import load_study, parse_study, study_yaml

GOOD = """format: 1
study: A level
diagram: level.yaml
repeat: 2
sweep: {noise.std: [0.1, 0.5]}
collect: [mean]
"""


def bounded(parameter="level.value", outputs="{y: 1}", more=""):
    """The change of the good study that asks for a bound."""
    return "repeat: 2", f"bound: {{parameters: [{parameter}], outputs: {outputs}{more}}}"


MISTAKES = [
    ("no format", ("format: 1\n", ""), 1, "the format is missing"),
    ("newer format", ("format: 1", "format: 9"), 1, "newer than this blocksim reads"),
    ("no title", ("study: A level\n", ""), 1, "there is no 'study:'"),
    ("no diagram", ("diagram: level.yaml\n", ""), 1, "there is no 'diagram:'"),
    ("unknown key", ("repeat:", "repeats:"), 4, "has no key 'repeats'.*Did you mean 'repeat'"),
    ("missing diagram", ("level.yaml", "lever.yaml"), 3, "there is no file 'lever.yaml'"),
    ("no repetitions", ("repeat: 2", "repeat: 0"), 4, "repeat: found 0. A whole number from 1"),
    ("half a repetition", ("repeat: 2", "repeat: 2.5"), 4, "repeat: found 2.5"),
    ("bad seed", ("repeat: 2", "seed: -1"), 4, "seed: found -1"),
    ("unknown parameter", ("noise.std", "noise.stt"), 5, "block 'noise' has no parameter 'stt'.*Did you mean 'std'"),
    ("unknown block", ("noise.std", "nose.std"), 5, "there is no block 'nose'.*Did you mean 'noise'"),
    ("unknown parameter of the diagram", ("noise.std", "scala"), 5, "'scala' is no parameter.*Did you mean 'scale'"),
    ("value out of range", ("[0.1, 0.5]", "[0.1, -0.5]"), 5, "noise.std = -0.5: .*std"),
    ("empty sweep", ("{noise.std: [0.1, 0.5]}", "{}"), 5, "sweep: is empty"),
    ("empty values", ("[0.1, 0.5]", "[]"), 5, "noise.std has no values"),
    ("one value", ("[0.1, 0.5]", "0.1"), 5, "found 0.1. A list of values"),
    ("bad space", ("[0.1, 0.5]", "{linspace: [1, 2]}"), 5, r"linspace: found \[1, 2\]. \[first, last, count\]"),
    ("far linspace", ("[0.1, 0.5]", "{linspace: [-1e308, 1e308, 5]}"), 5, "to 1e.308 is too far for numbers"),
    ("bad logspace", ("[0.1, 0.5]", "{logspace: [0, 1, 5]}"), 5, "must be above 0"),
    ("unknown space", ("[0.1, 0.5]", "{range: [0, 1, 5]}"), 5, "linspace: .*is wanted"),
    ("uneven zip", ("sweep: {noise.std: [0.1, 0.5]}", "zip: {noise.std: [0.1], scale: [1, 2]}"), 5, "scale has 2"),
    ("swept and zipped", ("sweep: {noise.std: [0.1, 0.5]}", "sweep: {scale: [1]}\nzip: {scale: [1]}"), 6, "varied twice"),
    ("method not in the diagram", ("[mean]", "[meen]"), 6, "no diagram has an identifier 'meen'.*mean.*Did you mean 'mean'"),
    ("collected twice", ("[mean]", "[mean, mean]"), 6, "given twice"),
    ("unknown signal", ("[mean]", "[mean, {signal: nose}]"), 6, "'nose' names no block"),
    ("unknown statistic", ("[mean]", "[{signal: y, statistic: kurtosis}]"), 6, "There are: rms"),
    ("collect a number", ("[mean]", "[3]"), 6, "collect: found 3"),
    ("unknown key of a signal", ("[mean]", "[{signal: y, stat: rms}]"), 6, "has no key 'stat'"),
    ("bad fixed setting", ("repeat: 2", "params: {mean.clam: 2}"), 4, "has no parameter 'clam'.*Did you mean 'claim'"),
    ("both params", ("repeat: 2", "params: {scale: 2}\nparameters: {scale: 2}"), 5, "mean the same"),
    ("bad simulate", ("repeat: 2", "simulate: {stop: -1}"), 4, "simulate: stop: must be at least 0"),
    ("a seed in simulate", ("repeat: 2", "simulate: {seed: 1}"), 4, "has no key 'seed'"),
    ("empty ablation", ("repeat: 2", "ablate: {}"), 4, "ablate: is empty"),
    ("ablation of nothing", ("repeat: 2", "ablate:\n  noise: {}"), 5, "noise changes nothing"),
    ("ablation of an unknown block", ("repeat: 2", "ablate:\n  noise: {noise.sdt: 0}"), 5, "has no parameter 'sdt'"),
    ("contradicting ablations", ("repeat: 2", "ablate:\n  a: {scale: 1}\n  b: {scale: 2}"), 6, "'a' and 'b' set scale"),
    ("method without a setting", ("repeat: 2", "methods:\n  a: {params: {mean.x: 1}}"), 5, r"no parameter 'x'.*\(method 'a'\)"),
    ("method with a bad key", ("repeat: 2", "methods:\n  a: {param: {mean.x: 1}}"), 5, "method 'a' has no key 'param'"),
    ("a word for alone", ("repeat: 2", "alone: perhaps"), 4, "alone: found 'perhaps'"),
    ("too many runs", ("repeat: 2", "repeat: 999999\nzip: {level.value: {linspace: [1, 2, 99]}}"), 6, "at most 1e\\+07"),
    ("bound of nothing", ("repeat: 2", "bound: {}"), 4, "bound: parameters: found nothing"),
    ("bound without outputs", ("repeat: 2", "bound: {parameters: [level.value]}"), 4, "bound: outputs: found nothing"),
    ("bound of an unknown parameter", bounded("level.valu"), 4, "Did you mean 'value'"),
    ("bound of an identifier's setting", bounded("mean.claim"), 4, "mean.claim is no single number of a running block"),
    ("bound with an unknown noise", bounded(outputs="{y: nose.std}"), 4, "bound: outputs: there is no block 'nose'"),
    ("bound with noise of 0", bounded(outputs="{y: 0}"), 4, "the standard deviation of its noise"),
    ("bound of an unknown output", bounded(outputs="{z: 1}"), 4, "bound: outputs: 'z' names"),
    ("bound of an unknown input", bounded(more=", inputs: [u]"), 4, "bound: inputs: 'u' names"),
    ("bound every 0 s", bounded(more=", every: 0"), 4, "bound: every: found 0"),
    ("another file", ("noise.std", "record.file"), 5, "cannot change which file a block reads"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "level.yaml").write_text(toys.LEVEL)
    return tmp_path


@pytest.mark.parametrize(("change", "line", "said"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_named_with_file_and_line(folder, change, line, said):
    assert change[0] in GOOD
    path = folder / "study.yaml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(bs.DiagramError) as caught:
        bs.run_study(path, out=folder / "out")
    problem = next((p for p in caught.value.problems if re.search(said, p.what)), None)
    assert problem is not None, str(caught.value)
    assert problem.where is not None and (problem.where.file, problem.where.line) == (str(path), line)
    assert not (folder / "out").exists()


def test_all_mistakes_are_told_at_once(folder):
    path = folder / "study.yaml"
    path.write_text(GOOD.replace("noise.std", "nose.std").replace("[mean]", "[meen]"))
    with pytest.raises(bs.DiagramError) as caught:
        bs.run_study(path)
    assert [p.where.line for p in caught.value.problems] == [5, 6]


def test_a_mistake_in_the_diagram_keeps_its_own_place(folder):
    (folder / "level.yaml").write_text(toys.LEVEL.replace("std: 0.5", "sdt: 0.5"))
    (folder / "study.yaml").write_text(GOOD)
    with pytest.raises(bs.DiagramError, match=r"level.yaml:8: block 'noise' has no parameter 'sdt'"):
        bs.run_study(folder / "study.yaml")


def test_nothing_to_collect(folder):
    (folder / "level.yaml").write_text(toys.LEVEL.replace("  mean:  {type: MeanOf, in: same}\n", ""))
    (folder / "study.yaml").write_text(GOOD.replace("collect: [mean]\n", ""))
    with pytest.raises(bs.DiagramError, match=r"study.yaml:3: the diagram has nothing to collect: it needs an identifier"):
        bs.run_study(folder / "study.yaml")


@pytest.mark.parametrize("source", ["nowhere.yaml", "."])
def test_no_such_file(source):
    with pytest.raises(bs.DiagramError, match="Name a study file"):
        bs.run_study(source)


def test_bad_jobs():
    with pytest.raises(bs.DiagramError, match="jobs: found 0"):
        bs.run_study(GOOD, jobs=0)


def test_a_folder_that_cannot_be_made(folder):
    (folder / "study.yaml").write_text(GOOD)
    (folder / "file").write_text("")
    with pytest.raises(bs.BlocksimError, match="file"):
        bs.run_study(folder / "study.yaml", out=folder / "file" / "out")


def test_a_study_given_as_a_dict_is_the_same_as_its_text():
    plain = {
        "study": "A: title, with \"marks\"", "diagram": toys.LEVEL, "repeat": 3, "params": {"mean.claim": 2.0, "scale": 1e-5},
        "sweep": {"noise.std": [0.1, 1e-3], "scale": {"linspace": [1, 2, 3]}}, "collect": ["mean", {"signal": "y"}],
        "methods": {"a": {}, "b": {"params": {"mean.claim": 3}}}, "ablate": {"noise": {"noise.std": 0}}, "alone": True,
    }  # fmt: skip
    spec = load_study(plain)
    again = parse_study(study_yaml(spec.plain), "")
    assert again.plain == spec.plain and again.diagram.strip() == toys.LEVEL.strip()
    assert (spec.repeat, spec.alone, spec.title) == (3, True, plain["study"])
    assert [a.names for a in spec.axes] == [("noise.std",), ("scale",)] and spec.signals[0].statistic == "rms"
