"""A page for each lesson of docs/course/: its text, its code, its questions live, and the pictures of `docs/lessons.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from blocksim.course import quiz

QUESTION = re.compile(r"\s*(Quiz|Guess)\(")
LINK = re.compile(r"\]\(([\w./-]+)\.ipynb\)")


def lesson_pages(root: Path) -> dict[str, str]:
    """course/NN-name.md -> text, solutions included."""
    folder = root / "docs" / "course"
    names = sorted(folder.glob("*.ipynb")) + sorted(folder.glob("solutions/*.ipynb"))
    return {f"course/{path.relative_to(folder).with_suffix('.md').as_posix()}": lesson_page(path, root) for path in names}


def lesson_page(path: Path, root: Path) -> str:
    """A notebook as one page; its links to other notebooks lead to their pages."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    up = "../" * len(path.relative_to(root / "docs" / "course").parts)
    pictures = root / "docs" / "images" / "course"
    parts = []
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(LINK.sub(r"](\1.md)", text))
            continue
        question = question_html(text, f"{path.stem}-{number}") if QUESTION.match(text) else ""
        parts.append(question or f"```python\n{text}\n```")
        for picture in sorted(pictures.glob(f"{path.stem}-{number}-*.png")):
            parts.append(f"![Figure of the cell above]({up}images/course/{picture.name})")
    return "\n\n".join(parts) + "\n"


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
