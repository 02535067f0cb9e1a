"""Design files with something wrong in them raise nothing but our own errors."""

import copy
import random
from pathlib import Path

import pytest
import yaml

import blocksim as bs
from blocksim.planning.design.file import load_design

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = ("design.yaml", "loop_design.yaml", "scara_trajectory.yaml", "arm_trajectory.yaml")
VALUES = [
    0,
    -1,
    0.5,
    1e300,
    float("nan"),
    float("inf"),
    10**80,
    True,
    None,
    "",
    "x",
    "1/0",
    "${a}",
    [],
    [1, 2],
    [[1], [2, 3]],
    {"a": 1},
]


def spots(node, path=()):
    """The places of every value in a tree."""
    found = [path] if path else []
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        found += spots(value, (*path, key))
    return found


def test_what_is_wrong_in_a_design_is_our_own_error():
    refused = 0
    for number in range(400):
        rng = random.Random(number)
        tree = yaml.safe_load((EXAMPLES / rng.choice(FILES)).read_text(encoding="utf-8"))
        path = rng.choice(spots(tree))
        parent = tree
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = copy.deepcopy(rng.choice(VALUES))
        try:
            load_design(tree)
        except bs.DiagramError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("points: 9", "points: 5000", "ref: points: at most 1000, found 5000"),
        ("joints: 2", "joints: 3", "ref: min: a number, or one for each joint, is wanted, found"),
        ("min: [-0.9, -0.8]", "min: [-0.9, '=1+1']", "ref: min: a number, or one for each joint, is wanted, found"),
        ("effort_std: [0.1, 0.01]", "effort_std: [0.1, 1/0]", "effort_std: numbers above 0 are wanted, found"),
        ("simulations: 2500", "simulations: .inf", "search: simulations: found inf. A whole number of at least 1 is wanted"),
    ],
)
def test_a_family_is_told_what_is_no_number_of_its_kind(old, new, words):
    text = (EXAMPLES / "scara_trajectory.yaml").read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(bs.DiagramError) as caught:
        bs.design(yaml.safe_load(text.replace(old, new)))
    assert words in str(caught.value)
