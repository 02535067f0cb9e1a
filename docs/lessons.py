"""Run the lessons of docs/course/ and keep their pictures: `python docs/lessons.py [NN ...]` writes docs/images/course/.

Every cell is run in order, as a reader would; a claim that does not hold ends the command. The site shows the pictures.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "course"
PICTURES = Path(__file__).parent / "images" / "course"


def run(path: Path, pictures: Path) -> None:
    """Execute the code cells in one namespace; the figures a cell makes are named after it."""
    scope = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), scope)
            for index, figure in enumerate(plt.get_fignums()):
                plt.figure(figure).savefig(pictures / f"{path.stem}-{number}-{index}.png", dpi=80)
            plt.close("all")


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        if len(sys.argv) == 1 or notebook.name[:2] in sys.argv[1:]:
            run(notebook, PICTURES)
            print(f"{notebook.name}: run, every claim holds")
