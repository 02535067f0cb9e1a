"""Names of Simulink: each leads to a block that there is."""

import re
from pathlib import Path

import pytest

import blocksim as bs
from blocksim.contract.library import library
from blocksim.simulink import SIMULINK, simulink_table, simulink_word


def test_every_answer_names_blocks_that_there_are():
    known = set(library())
    for name, here in SIMULINK.items():
        named = [here] if here.isidentifier() else re.findall(r"'([A-Z][A-Za-z0-9]+)'", here)
        assert set(named) <= known, (name, set(named) - known)
        assert name not in known, f"{name} is a block here: it is found by itself"


def test_the_page_has_the_table():
    page = Path(__file__).parents[2] / "docs" / "compare.md"
    assert simulink_table() in page.read_text(encoding="utf-8"), "put what python -m blocksim.simulink prints there"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Transfer Fcn", "Did you mean 'TransferFunction'?"),
        ("TransferFcn", "Did you mean 'TransferFunction'?"),
        ("zero-order hold", "Did you mean 'ZeroOrderHold'?"),
        ("Scope", "For Simulink's Scope: `log:` says"),
        ("Subtract", "For Simulink's Subtract: 'Sum' with signs: `+-`."),
        ("Gian", "Did you mean 'Gain'?"),
    ],
)
def test_a_diagram_with_a_name_of_simulink_is_answered(name, answer):
    with pytest.raises(bs.DiagramError) as error:
        bs.build(bs.load(f"format: 1\nblocks:\n  one: {{type: Constant}}\n  it: {{type: {name}, in: one}}\n"))
    assert answer in str(error.value)


def test_other_words_are_no_names_of_simulink():
    assert simulink_word("Quux") == "" and simulink_word(None) == ""
