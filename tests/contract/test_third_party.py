"""A library of somebody else's plugs in by entry point: installed next to blocksim, its blocks are known by name."""

import os
import subprocess
import sys

import pytest

LIBRARY = '''
"""Somebody's blocks."""

from blocksim.contract.block import Block, inport, outport, param, state


def slope(k, x):
    return k * x


class Leak(Block):
    """x' = u - k x: a tank with a leak."""

    k: float = param(1.0, "leak", "1/s", min=0)
    u = inport("inflow")
    y = outport("level")
    x: float = state(0.0, "level")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x, u, k):
        return u - slope(k, x)
'''
RUN = '''
import math
import blocksim as bs

record = bs.simulate("""
format: 1
simulate: {stop: 2.0}
blocks:
  tap:  {type: Constant, value: 3.0}
  tank: {type: Leak, k: 1.5, in: tap}
""")
# x = u/k (1 - exp(-k t))
assert abs(record["tank"][-1] - 2.0 * (1 - math.exp(-3.0))) < 1e-7
print("ran")
'''


def installed(folder, entry, name="theirs"):
    """What an installer leaves: the package, and metadata with its entry point."""
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "blocks.py").write_text(LIBRARY)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[blocksim.libraries]\n{name} = {entry}\n")


def run(script, *folders):
    path = os.pathsep.join(map(str, folders))
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )


def test_a_module_of_blocks_plugs_in(tmp_path):
    installed(tmp_path, "theirs.blocks")
    done = run(RUN, tmp_path)
    assert done.stdout.strip() == "ran", done.stderr


def test_without_it_the_block_is_unknown(tmp_path):
    done = run(RUN, tmp_path)
    assert "there is no block type 'Leak'" in done.stderr


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("theirs.missing", "the block library 'theirs' (theirs.missing) cannot be loaded"),
        ("theirs.blocks:NOTHING", "cannot be loaded"),
    ],
)
def test_a_broken_library_is_named(tmp_path, entry, words):
    installed(tmp_path, entry)
    done = run(RUN, tmp_path)
    assert done.returncode and words in done.stderr


def test_two_libraries_with_one_name_are_both_named(tmp_path):
    installed(tmp_path / "a", "theirs.blocks")
    installed(tmp_path / "b", "others.blocks", name="others")
    done = run(RUN, tmp_path / "a", tmp_path / "b")
    assert "two libraries have a block Leak" in done.stderr and "theirs" in done.stderr and "others" in done.stderr
