"""Run lessons and solutions of docs/course/ and keep what they show: `python docs/lessons.py [NN ...]`, into docs/images/course/.

Every cell is run in order, as a reader would; a claim that does not hold ends the command. The site shows the pictures, and below
each cell what it printed, from one file of texts for each lesson.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "course"
PICTURES = Path(__file__).parent / "images" / "course"
DPI = 80


def run(path: Path, pictures: Path) -> None:
    """Execute the code cells in one namespace; the figures a cell makes are named after it, texts stand in NAME.json."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    texts = {}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = value_of(ast.parse("".join(cell["source"]), f"{path.name}, cell {number}"), scope)
            texts |= {str(number): printed.getvalue().rstrip()} if printed.getvalue().strip() else {}
            keep_pictures(value, pictures, f"{path.stem}-{number}")
    (pictures / f"{path.stem}.json").write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def value_of(cell: ast.Module, scope: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, where that is one, as a notebook has it."""
    last = cell.body.pop() if cell.body and isinstance(cell.body[-1], ast.Expr) else None
    exec(compile(cell, "<cell>", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), scope) if last is not None else None


def keep_pictures(value: Any, pictures: Path, name: str) -> None:
    """The figures of pyplot, and what a value shows of itself, as a notebook would."""
    for index, figure in enumerate(plt.get_fignums()):
        plt.figure(figure).savefig(pictures / f"{name}-{index}.png", dpi=DPI)
    if not plt.get_fignums() and hasattr(value, "_repr_png_"):
        value.savefig(pictures / f"{name}-0.png", dpi=DPI)
    elif hasattr(value, "_repr_svg_"):
        (pictures / f"{name}-0.svg").write_text(value._repr_svg_(), encoding="utf-8")
    plt.close("all")


if __name__ == "__main__":
    for notebook in [*sorted(FOLDER.glob("*.ipynb")), *sorted((FOLDER / "solutions").glob("*.ipynb"))]:
        if len(sys.argv) == 1 or notebook.name[:2] in sys.argv[1:]:
            target = PICTURES / notebook.parent.relative_to(FOLDER)
            target.mkdir(parents=True, exist_ok=True)
            for old in target.glob(f"{notebook.stem}-*"):
                old.unlink()
            run(notebook, target)
            print(f"{notebook.relative_to(FOLDER)}: run, every claim holds", flush=True)
