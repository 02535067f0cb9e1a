"""The lessons run as they stand, without a warning, and every claim in them holds; their questions answer right and wrong."""

import json
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

from blocksim.course.quiz import Guess, Quiz

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "docs" / "course").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "docs" / "course" / "solutions").glob("*.ipynb"))
QUICK = ("01", "02", "05", "07", "10")  # the others take half a minute together


#: JupyterLab takes these keys for its cells before anything in them sees them.
GREEDY = """<script>document.addEventListener("keydown", function (event) {
  if (event.key === "Enter" || event.key.startsWith("Arrow")) { event.preventDefault(); event.stopPropagation(); }
}, true)</script>"""


def run_notebook(path, folder):
    module = runpy.run_path(str(ROOT / "docs" / "lessons.py"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module["run"](path, folder)


def test_there_are_ten_lessons_each_with_solutions():
    assert [p.name[:2] for p in LESSONS] == [f"{n:02}" for n in range(1, 11)]
    assert [p.name for p in SOLUTIONS] == [p.name for p in LESSONS]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_runs_and_its_claims_hold(path, tmp_path):
    run_notebook(path, tmp_path)
    assert list(tmp_path.glob("*.png")), "a lesson has a picture to remember"


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[] if p.name[:2] in QUICK else [pytest.mark.slow]) for p in SOLUTIONS], ids=lambda p: p.stem
)
def test_the_solutions_run_and_their_claims_hold(path, tmp_path):
    run_notebook(path, tmp_path)


@pytest.mark.parametrize("path", [*LESSONS, *SOLUTIONS], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_notebooks_are_kept_without_outputs_and_have_their_parts(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    text = "\n".join("".join(cell["source"]) for cell in cells)
    if path in LESSONS:
        assert "**Question.**" in text and "**The picture to remember**" in text and "Quiz(" in text and "bs.explore(" in text
        assert re.search(r"## Exercises\n\n1\. .*\n2\. .*\n3\. ", text)
        assert f"solutions/{path.stem}.ipynb" in text
    for cell in cells:
        source = "".join(cell["source"])
        if "Quiz(" in source or "Guess(" in source:  # guess first: the answers stand in the source, which stays folded
            assert re.match(r"(Quiz|Guess)\(", source) and cell["metadata"]["jupyter"] == {"source_hidden": True}
    for link in re.findall(r"\]\(([\w./-]+\.ipynb)\)", text):
        assert (path.parent / link).is_file(), link


def test_a_question_shows_itself_as_words_where_there_is_no_page():
    question = Quiz("What helps?", {"noise": "No.", "a filter": "Right."})
    assert repr(question) == "What helps?\n  ( ) noise\n  ( ) a filter" and "No." not in repr(question)
    assert repr(Guess("How many?", 5, 0, "One in twenty.")) == "How many? ____"


def test_a_reply_cannot_end_the_script():
    page = Quiz("<b>?", {"</script>": "</script><img src=x>"})._repr_html_()
    assert page.count("</script>") == 1 and "<b>?" not in page


def lesson_two():
    """The questions of lesson 2 on one page, as the site has them."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        from lesson_pages import lesson_page
    finally:
        sys.path.pop(0)
    forms = re.findall(r"<form.*?</script>", lesson_page(LESSONS[1], ROOT), re.DOTALL)
    assert len(forms) == 2
    return f"<!doctype html><meta charset=utf-8><title>2</title><link rel=icon href='data:,'>{GREEDY}" + "".join(forms)


def test_lesson_two_is_answered_with_the_keyboard_alone(tmp_path, open_page):
    path = tmp_path / "lesson.html"
    path.write_text(lesson_two(), encoding="utf-8")
    page = open_page(path.as_uri())
    replies = page.locator("[role=status]")
    page.keyboard.press("Tab")  # the number
    for typed, words in (
        ("", "A number is wanted."),
        ("50", "It is less."),
        ("1", "It is more."),
        ("10", "Right. 1 / (1 + 3^2)"),
    ):
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        assert replies.nth(0).inner_text().startswith(words)
    page.keyboard.press("Tab")  # its button
    page.keyboard.press("Tab")  # the choices
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert replies.nth(1).inner_text().startswith("No: more rows")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert replies.nth(1).inner_text().startswith("Right: a filter")
    assert not page.watch.complaints
