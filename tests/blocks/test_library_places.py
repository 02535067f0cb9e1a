"""The library names its blocks without importing them; a small diagram starts without the large ones."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import blocks

SMALL = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-2}
blocks:
  u: {type: Step, time: 0.1}
  y: {type: FirstOrderLag, k: 1, T: 0.5, in: u}
"""


@pytest.mark.parametrize("module", blocks.PLACES)
def test_the_table_has_what_each_module_lists(module):
    assert blocks.PLACES[module].split() == list(import_module(f"blocks.{module}").__all__)


def test_a_small_diagram_imports_neither_identifiers_nor_arms():
    code = f"import sys, blocksim as bs; bs.simulate({SMALL!r}); print('\\n'.join(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "blocks.basic.continuous" in modules
    assert not [m for m in modules if m.startswith(("blocks.identifiers.", "blocks.plants.serial", "blocks.observers."))]
