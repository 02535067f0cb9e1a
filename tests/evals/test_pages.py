"""The numbers on the pages of the papers are what their commands give: tables read from the pages, beside studies made again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from short_studies import scores, short

import blocksim as bs
from blocksim.diagram.files import bundled_root

DOCS = Path(__file__).parents[2] / "docs"


def table(page, *head, first=0):
    """The rows of the table of a page whose first line has these cells, by their first cell; `first` of several."""
    blocks = re.findall(r"(?:^\|.*\n)+", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.M)
    tables = [[[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()] for block in blocks]
    rows = [rows for rows in tables if rows[0][: len(head)] == list(head)][first]
    return {row[0]: row[1:] for row in rows[2:]}


def numbers(cell):
    """All numbers of a cell."""
    return [float(text) for text in re.findall(r"[-+]?\d+(?:\.\d+)?(?:e-?\d+)?", cell)]


def rounding(text):
    """Half a unit of the last digit that is printed."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2]) if "." in text else 0.5


def test_what_the_page_of_identification_prints():
    """Its first example, to the last digit."""
    page = (DOCS / "identification.md").read_text(encoding="utf-8").partition("```\n")[2].partition("```")[0].strip()
    assert page.split() == f"didim: {bs.simulate('one_dof/identify').estimates['didim']}".split()  # lines fold at 80 columns


@pytest.mark.parametrize(
    ("page", "head", "fewest"),
    [("thesis", "figures", 13), ("tout2022", "paper", 5), ("gautier2001", "paper", 5), ("brunot2017", "paper", 5)],
)
def test_every_command_of_a_map_is_there(page, head, fewest):
    """Diagrams, studies and examples run in tests of their own; here each that a map names is one of them."""
    named = set()
    for block in re.findall(r"(?:^\|.*\n)+", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.M):
        if block.startswith(f"| {head} |"):
            named |= {word for code in re.findall(r"`([^`]+)`", block) for word in code.split() if "/" in word}
    assert len(named) >= fewest
    for word in named:
        places = [DOCS.parent / word, *(bundled_root() / f"{word}{end}" for end in (".yaml", ""))]
        assert any(place.is_file() for place in places), (page, word)


def test_starting_values_of_the_thesis():
    page = table("thesis", "peak", "Jm", "Ja", "k1", "d")
    found = scores(short("thesis/starting_values", repeat=2, ablate=None), "peak")
    for peak in (1, 3, 10, 30):
        for name, cell in zip(("Jm", "Ja", "k1", "d"), page[f"{peak} N m"], strict=True):
            spread = 3 * found["response", name, peak]["std_percent"]
            assert found["response", name, peak]["bias_percent"] == pytest.approx(float(cell), abs=rounding(cell) + spread + 0.05)


@pytest.mark.slow
def test_figure_6_of_tout():
    page = table("tout2022", "error in %", "J", "Fv", "Fc", "Ms")
    result = scores(short("tout2022/fig6", sweep={"factor": [0.7], "sigma_w2": [1e-4, 1e-2, 1]}), "sigma_w2")
    for number in range(1, 6):
        row = next(cells for key, cells in page.items() if key.startswith(f"Method {number}"))
        for name, cell in zip(("J", "Fv", "Fc", "Ms"), row, strict=True):
            lines = [line for key, line in result.items() if key[0].endswith(f"method{number}") and key[1] == name]
            expected = numbers(cell) if len(numbers(cell)) == 3 else 3 * numbers(cell)
            for line, value in zip(lines, expected, strict=True):
                assert line["bias_percent"] == pytest.approx(value, abs=max(rounding(cell.split(",")[0]), 0.06))


@pytest.mark.slow
def test_where_method_5_of_tout_converges():
    page = table("tout2022", "sigma_w2", "factor 0.3", "0.7", "1", "1.3", "2", first=1)
    found = scores(short("tout2022/convergence", sweep={"factor": [0.7, 1.3], "sigma_w2": [1e-4, 1e-2, 1]}), "sigma_w2", "factor")
    for sigma, label in ((1e-4, "1e-4"), (1e-2, "0.01"), (1, "1")):
        for factor, column in ((0.7, 1), (1.3, 3)):
            for method, cell in zip(("method5", "cloe"), page[label][column].split("/"), strict=True):
                lines = [found[method, name, sigma, factor] for name in ("J", "Fv", "Fc", "Ms")]
                if "diverged" in cell:
                    assert lines[0]["n"] == 0
                else:
                    assert max(abs(line["bias_percent"]) for line in lines) == pytest.approx(float(cell), abs=0.1)


@pytest.mark.slow
def test_table_1_of_gautier():
    page = table("gautier2001", "", "truth", "paper (1)")
    found = scores(short("gautier2001/table1", repeat=40))
    for name, cells in page.items():
        for method, cell in zip(("unfiltered", "forward", "full"), cells[2::2], strict=True):
            mean, spread = numbers(cell)
            line = found[method, name]
            assert line["mean"] == pytest.approx(mean, abs=4 * spread / 40**0.5 + rounding(cell.split(" ")[0]))
            assert 0.6 * spread - rounding(cell.split(" ")[-1]) < line["std"] < 1.6 * spread + rounding(cell.split(" ")[-1])


@pytest.mark.slow
def test_table_2_of_gautier():
    page = table("gautier2001", "", "truth", "EKF (2): paper")
    found = scores(short("gautier2001/table2", repeat=5))
    for name, cells in page.items():
        for method, cell in (("case2.ekf", cells[2]), ("case3.ekf", cells[5]), ("case3.rls", cells[6])):
            line = found[method, name]
            assert line["mean"] == pytest.approx(float(cell), abs=3 * line["std"] + rounding(cell))


@pytest.mark.slow
def test_inertias_of_brunot():
    page = table("brunot2017", "change of the inertia, good to poor")
    found = scores(short("brunot2017/priors", repeat=8))
    for joint in (1, 2):
        for method, cell in zip(("classical", "irwsm1", "irwsm2"), page[f"here, joint {joint}"], strict=True):
            good, poor = (found[f"{state}{joint}.{method}", "J"]["mean"] for state in ("good", "poor"))
            assert 100 * (poor / good - 1) == pytest.approx(numbers(cell)[0], abs=0.5)
