"""The catalogue says what the code says, and every example in it runs as far as a program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from blocksim.contract.block import Block, RecordBlock, inport, outport, param, state
from blocksim.contract.library import installed
from blocksim.diagram.build import open_diagram
from blocksim.diagram.catalogue import COMMAND, block_families, block_page, catalogue, markdown_text, parameter_rows, port_rows
from blocksim.diagram.diagram import walk
from blocksim.schedule.flatten import flatten


@pytest.fixture(autouse=True)
def only_installed(monkeypatch):
    """Blocks that other tests registered are no part of the page."""
    monkeypatch.setattr(sys.modules["blocksim.contract.library"], "_registered", {})


PAGE = Path(__file__).parents[2] / "docs" / "blocks.md"


class Tank(Block):
    """x' = (u - k x) / A: a tank with a leak.

    Levels are measured from the *outlet*.
    """

    family = "plants"
    example = "format: 1\nblocks: {}\n"
    A: float = param(1.0, "cross section", "m^2", above=0, max=10)
    k: float = param(0.1, "leak a|b")
    u = inport("inflow", "m³/s")
    y = outport("level", "m", measured=True)
    x: float = state(0.0, "level", "m")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x, u, k, A):
        return (u - k * x) / A


def test_the_page_in_docs_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == catalogue(), f"run: {COMMAND}"


def test_a_block_page_holds_everything_declared():
    text = block_page(Tank)
    assert text.startswith("### Tank\n\n**x' = (u - k x) / A: a tank with a leak.**\n\nLevels are measured from the \\*outlet")
    assert "| `u in` | m³/s | 1 | inflow |" in text and "| `y out` | m | 1 | level (measured) |" in text
    assert "| `A` | 1.0 | m² | above 0 and at most 10 | cross section |" in text
    assert "| `k` | 0.1 |  |  | leak a\\|b |" in text
    assert "| `x` | 0.0 | m |  | level at the start |" in text
    assert "```yaml\nformat: 1\nblocks: {}\n```" in text


def test_initial_values_come_after_parameters_and_outputs_after_inputs():
    assert [row[0] for row in parameter_rows(Tank)] == ["A", "k", "x"]
    assert [row[0] for row in port_rows(Tank)] == ["u in", "y out"]


def test_the_index_links_to_every_block():
    text = catalogue({"Tank": Tank})
    assert "- [plants](#plants): [Tank](#tank)" in text and "\n## plants\n" in text and "\n### Tank\n" in text


def test_equations_in_columns_keep_their_lines_and_their_signs():
    text = "\n\n    y_1 = a[k] * b     the first\n      z = 2            the second\n\nA word_of prose,\n* and more."
    code, prose = markdown_text(text).split("\n\n")
    assert code == "```text\ny_1 = a[k] * b     the first\n  z = 2            the second\n```"
    assert prose == "A word\\_of prose,\n\\* and more."


def test_every_block_has_a_family():
    assert "others" not in block_families()


@pytest.mark.parametrize("name", installed())
def test_every_example_uses_its_block_and_loads(name):
    example = installed()[name].example
    if not example:
        assert "file" in installed()[name].declared, "only a block that reads a file may go without an example"
        return
    diagram = open_diagram(example)
    assert name in {type(node.block).__name__ for _, node in walk(diagram)}
    assert flatten(diagram).units
    if issubclass(installed()[name], RecordBlock):
        assert flatten(diagram).after_run
