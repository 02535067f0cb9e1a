"""The property: what `check` passes raises nothing but our own errors when it runs; bundled diagrams, whole and mutated."""

import random
import re

import pytest

import blocksim as bs
from blocksim.cli.verdict import check_diagram
from blocksim.diagram.build import open_diagram
from blocksim.diagram.files import bundled_root

ROOT = bundled_root()
NAMES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.yaml") if "studies" not in p.parts)
NUMBER = re.compile(r"(?<=[:\[ ,])-?\d+\.?\d*(?:e-?\d+)?(?=[,\]}\s])")
VALUES = ("0", "-1", "1e-9", "1e9", "3", "0.5", "-0.2", "[1, 2]", "abc", "null")
SEEDS = 1  # mutants of each; test_fuzz.py has many more


def mutant(text, draw):
    """The text with one or two numbers, links or names changed."""
    for _ in range(draw.choice((1, 1, 2))):
        places = list(NUMBER.finditer(text))
        words = re.findall(r"^  (\w+):", text, re.MULTILINE)
        if draw.random() < 0.7 and places:
            place = draw.choice(places)
            text = text[: place.start()] + draw.choice(VALUES) + text[place.end() :]
        elif len(words) > 1:
            old, new = draw.sample(words, 2)
            text = re.sub(rf"in: {old}\b", f"in: {new}", text, count=1)
    return text


def only_our_errors(text, name):
    """Whether `check` passes a text; what it passes is run for a moment, and may fail with our own errors only."""
    try:
        spec = bs.load(text)
        spec.path = str(ROOT / name)
        diagram = open_diagram(spec, allow_outside=True)
        if diagram.ports is not None and diagram.ports.inputs:
            return False
        check_diagram(diagram, {})
    except bs.BlocksimError:
        return False
    every = None if diagram.simulate.step is None else diagram.simulate.step
    try:
        bs.simulate(diagram, stop=0.02, solver="euler", step=every or "1e-3", engine="python", limit=3000)
    except bs.BlocksimError as error:
        assert str(error)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_what_check_passes_raises_only_our_own_errors(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    draw = random.Random(name)
    for _ in range(SEEDS):
        only_our_errors(mutant(text, draw), name)


def test_mutants_are_of_both_kinds():
    draw, verdicts = random.Random(1), []
    text = (ROOT / "one_dof" / "pid.yaml").read_text(encoding="utf-8")
    for _ in range(12):
        verdicts.append(only_our_errors(mutant(text, draw), "one_dof/pid.yaml"))
    assert any(verdicts) and not all(verdicts)
