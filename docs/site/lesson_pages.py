"""A page for each lesson of docs/course/: text, code, questions live, and what `docs/lessons.py` kept of its cells."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from blocksim.course import quiz

WIDTH = 76  # letters of printed text on a page
QUESTION = re.compile(r"\s*(Quiz|Guess)\(")


def lesson_page(path: Path, root: Path) -> str:
    """A notebook as one page."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    here = "../" * (len(path.relative_to(root / "docs").parts) - 1)
    folder = path.parent.relative_to(root / "docs")
    pictures = root / "docs" / "images" / folder
    printed = json.loads((pictures / f"{path.stem}.json").read_text(encoding="utf-8"))
    parts = []
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        question = question_html(text, f"{path.stem}-{number}") if QUESTION.match(text) else ""
        parts.append(question or f"```python\n{text}\n```")
        if str(number) in printed:
            parts.append(f"```{{code-block}} text\n:class: printed\n\n{folded(printed[str(number)])}\n```")
        for picture in sorted(pictures.glob(f"{path.stem}-{number}-*")):
            parts.append(f"![Figure of the cell above]({here}images/{folder.as_posix()}/{picture.name})")
    return "\n\n".join(parts) + "\n"


def folded(text: str) -> str:
    """What a cell printed: tables as they are, and sentences that would leave the page on several lines."""
    lines = text.splitlines()
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) if len(line) > WIDTH else line
        for line in lines
    )


def question_html(text: str, name: str) -> str:
    """The form of a question that needs nothing but its own words; '' for one that the notebook has to compute."""
    scope: dict[str, Any] = {"Quiz": quiz.Quiz, "Guess": quiz.Guess}
    try:
        question = eval(text, scope)  # our own notebooks, at build time
    except NameError:
        return ""
    return "\n".join(
        line for line in type(question)(**{**vars(question), "name": f"quiz-{name}"})._repr_html_().splitlines() if line
    )
