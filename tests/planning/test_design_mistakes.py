"""What is wrong with a design is told with the line of the file, also where only its diagram shows it."""

from __future__ import annotations

import pytest

import blocksim as bs

DIAGRAM = """format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2, every: 2e-2}
blocks:
  u:    {type: Sine, frequency: 1.0}
  in:   {type: Gain, k: 3.0, in: u}
  lag:  {type: FirstOrderLag, k: 2.0, T: 0.5, in: in}
"""
DESIGN = """format: 1
design: A lag
diagram: lag.yaml
parameters: [lag.k, lag.T]
outputs: {lag: 0.05}
vary: {u: {family: multisine, f_min: 0.5, f_max: 5, lines: 10, peak: 2}}
limits: {u: {peak: 2}}
criterion: worst
search: {simulations: 10, candidates: 4}
"""


@pytest.mark.parametrize(("old", "new", "line", "words"), [
    ("lag.T]", "lag.t]", 4, "parameters: lag.t: block 'lag' has no parameter 't'"),
    ("lag.T]", "lag.k]", 4, "parameters: 'lag.k' is named twice"),
    ("[lag.k, lag.T]", "[]", 4, "parameters: found none"),
    ("[lag.k, lag.T]", "{lag.k: 0}", 4, "what is unknown and does not count is a nuisance: [lag.k]"),
    ("lag.yaml", "leg.yaml", 3, "diagram: there is no file 'leg.yaml' (looked in "),
    ("{lag: 0.05}", "{leg: 0.05}", 5, "outputs: 'leg' names no block"),
    ("{lag: 0.05}", "{lag: {sdt: 1}}", 5, "found sdt; allowed are std, resolution, spectrum"),
    ("{lag: 0.05}", "{lag: own}", 5, "outputs: the diagram has no noise on 'lag.y'"),
    ("f_max: 5, ", "", 6, "vary: u: 'f_max' is missing. This family takes: f_min, "),
    ("lines: 10", "linse: 10", 6, "vary: u: no key 'linse'"),
    ("lines: 10", "lines: 2.5", 6, "vary: u: lines: a whole number above 0 is wanted, found 2.5"),
    ("f_max: 5", "f_max: 0.1", 6, "vary: u: Multisine: 10 line(s) from f_min = 0.5 to f_max = 0.1 Hz do not exist"),
    ("peak: 2}}\nlimits", "peak: -2}}\nlimits", 6, "vary: u: peak: a number above 0 is wanted, found -2"),
    ("{u: {family", "{v: {family", 6, "vary: there is no block 'v'"),
    ("{u: {family", "{lag: {family", 6, "vary: lag: this FirstOrderLag has inputs, and a family takes the place of a source"),
    ("multisine, f_min: 0.5, f_max: 5, lines: 10", "fourier, harmonics: 3", 6, "which gives q, qd, qdd; what is wired to"),
    ("{u: {family", "{lag.T: {min: 1, max: 2}, u: {family", 6, "vary: 'lag.T' is sought: what is to be found cannot be chosen"),
    ("{u: {family", "{in.g: {min: 1, max: 2}, u: {family", 6, "vary: block 'in' has no parameter 'g'"),
    ("limits: {u", "limits: {w", 7, "limits: 'w' names no block"),
    ("criterion: worst", "skip: 9", 8, "skip: without its first 9 s nothing is left of a run of 2 s"),
    ("criterion: worst", "every: 0.03", 8, "every: readings every 0.03 s are asked for, and the log has one every 0.02 s"),
    ("criterion: worst", "every: often", 8, "every: found 'often'"),
    ("criterion: worst", "nuisance: [in.K]", 8, "nuisance: in.K: block 'in' has no parameter 'K'"),
    ("criterion: worst", "nuisance: [lag.k]", 8, "nuisance: 'lag.k' is among the parameters"),
    ("criterion: worst", "inputs: [w]", 8, "inputs: 'w' names no block"),
    ("criterion: worst", "params: {in.K: 1}", 8, "params: block 'in' has no parameter 'K'"),
    ("criterion: worst", "prior: {spread: {in.K: 0.1}}", 8, "prior: block 'in' has no parameter 'K'"),
    ("criterion: worst", "simulate: {stop: -1}", 8, "simulate: stop: must be at least 0, found -1"),
    ("criterion: worst", "criterion: time\naccuracy: {lag.t: 0.1}", 9, "accuracy: 'lag.t' is none of the parameters: lag.k"),
    ("criterion: worst", "criterion: time\naccuracy: {lag.T: 0}", 9, "accuracy: lag.T: a share above 0 is wanted"),
    ("criterion: worst", "criterion: condition\nplant: lag", 9, "plant: 'lag' (FirstOrderLag) gives no regressor"),
])  # fmt: skip
def test_a_mistake_is_told_with_its_line(tmp_path, old, new, line, words):
    assert old in DESIGN
    (tmp_path / "lag.yaml").write_text(DIAGRAM, encoding="utf-8")
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(bs.DiagramError) as told:
        bs.design(path)
    assert f"{path}:{line}: " in str(told.value) and words in str(told.value)


def test_keys_that_are_no_file_have_no_line():
    keys = {
        "design": "x",
        "diagram": DIAGRAM,
        "parameters": ["lag.t"],
        "outputs": {"lag": 1.0},
        "vary": {"lag.x": {"min": 0, "max": 1}},
    }
    with pytest.raises(bs.DiagramError, match=r"^parameters: lag\.t: block 'lag' has no parameter 't'"):
        bs.design(keys)
