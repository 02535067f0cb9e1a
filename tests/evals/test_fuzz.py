"""Bundled diagrams with something wrong in them: what `check` passes raises nothing but our own errors when it is run.

And what ran before does not matter: diagrams in one process give the same bits, or the same errors, in any order.
"""

from __future__ import annotations

import copy
import itertools
import random
import warnings

import numpy as np
import pytest
import yaml

import blocksim as bs
from blocksim.cli.verdict import check_diagram
from blocksim.diagram.build import open_diagram
from blocksim.diagram.files import bundled, bundled_root

VALUES = [
    *(0, -1, 1, 2, 0.5, 1e-9, 1e300, 5e-324, -0.0, float("nan"), float("inf"), 2**63, 10**80, True, None),
    *("", "x", "1/3", "1/0", "${a}", "${1/0}", "ref[0]", "../../secret", "=1+1", "q", "a" * 3000),
    *([], [1, 2], [[1], [2, 3]], {"a": 1}, [["q"]]),
]
DIAGRAMS = [name for name in bundled() if not name.startswith(("emps", "benchmarks"))]


def spots(node, path=()):
    """The places of every value in a tree."""
    found = [path] if path else []
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        found += spots(value, (*path, key))
    return found


def mutated(name: str, rng: random.Random) -> str:
    """A bundled diagram with one to three of its values changed, lost, swapped or given to another key."""
    tree = yaml.safe_load((bundled_root() / f"{name}.yaml").read_text(encoding="utf-8"))
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = [p for p in spots(tree) if p[0] != "format"]
        path = rng.choice(places)
        parent = tree
        for key in path[:-1]:
            parent = parent[key]
        way = rng.random()
        if way < 0.5:
            parent[path[-1]] = copy.deepcopy(rng.choice(VALUES))
        elif way < 0.65:
            parent.pop(path[-1])
        elif way < 0.8:
            other = tree
            for key in rng.choice(places):
                other = other[key]
            parent[path[-1]] = copy.deepcopy(other)
        elif isinstance(tree.get("blocks"), dict) and tree["blocks"]:
            block = rng.choice(list(tree["blocks"]))
            if isinstance(tree["blocks"][block], dict):
                tree["blocks"][block]["type"] = rng.choice(sorted(bs.library()))
        if not isinstance(tree, dict):
            break
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def attempt(text: str) -> str:
    """'ok', or which of our own errors it was; anything else goes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            diagram = open_diagram(text)
            if diagram.ports is not None and diagram.ports.inputs:
                return "part"
            check_diagram(diagram, {})
        except bs.BlocksimError:
            return "refused"
        try:
            bs.simulate(diagram, stop=0.02, limit=500, engine="python")
        except bs.BlocksimError:
            return "failed"
    return "ok"


def run_cases(seed: int, count: int) -> dict[str, int]:
    verdicts: dict[str, int] = {}
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        name = rng.choice(DIAGRAMS)
        text = mutated(name, rng)
        try:
            verdict = attempt(text)
        except Exception as error:  # the case, for whoever mends it
            raise AssertionError(f"seed {seed}, case {number}, from {name}: {type(error).__name__}: {error}\n{text}") from error
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    return verdicts


def test_what_check_passes_raises_only_our_own_errors():
    verdicts = run_cases(1, 120)
    assert verdicts.get("refused", 0) > 20, verdicts


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_what_check_passes_raises_only_our_own_errors_in_many_cases(seed):
    run_cases(seed, 1000)


# ---- one after the other -----------------------------------------------------------------------------------------------------

THIRTY = DIAGRAMS[:30]


def outcome(name: str) -> tuple[str, bytes]:
    """The bits a diagram gives, or the words of its error."""
    try:
        record = bs.simulate(name, stop=0.02, engine="python", limit=2000)
    except bs.BlocksimError as error:
        return str(error), b""
    return "", b"".join(np.ascontiguousarray(record[signal]).tobytes() for signal in record)


def check_pairs(names: list[str]) -> None:
    alone = {name: outcome(name) for name in names}
    for one, other in itertools.permutations(names, 2):
        assert outcome(one) == alone[one] and outcome(other) == alone[other], (one, other)


def test_what_ran_before_does_not_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_pairs(THIRTY[::7])


@pytest.mark.slow
def test_every_pair_of_thirty_diagrams_in_both_orders_gives_the_same():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_pairs(THIRTY)
