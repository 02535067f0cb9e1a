"""The front end as a notebook takes it: one module and one style sheet, put together from the files of the page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE_FILES = Path(__file__).parents[1] / "page"
#: Modules of the page in the order in which they use each other; the last one says what a notebook calls.
JOINED = (
    "dom", "bands", "elements", "store", "wire", "sliders", "controls", "defects", "diagram", "estimates", "ellipse", "scopes",
    "bench", "busy", "explore",
)  # fmt: skip
SHEETS = ("style", "bench", "explore")
IMPORT = re.compile(r"^import .*? from \"\./\w+\.js\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
ROOT_SELECTOR = re.compile(r":root(?=[\s\[{:])")
SCOPE = ".blocksim-explore"


@cache
def joined_module() -> str:
    """All modules in one text: what they import from each other is there already."""
    texts = [(PAGE_FILES / f"{name}.js").read_text(encoding="utf-8") for name in JOINED]
    return "\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in texts)


@cache
def scoped_sheet() -> str:
    """All styles, kept to the widget: the page's own rules for the whole document apply within it."""
    texts = [(PAGE_FILES / f"{name}.css").read_text(encoding="utf-8") for name in SHEETS]
    return f"{SCOPE} {{\n" + "\n".join(ROOT_SELECTOR.sub("&", text) for text in texts) + "\n}\n"


def top_level_names(name: str) -> list[str]:
    """What a module of the page defines; in one text every name is there once."""
    return TOP_LEVEL.findall((PAGE_FILES / f"{name}.js").read_text(encoding="utf-8"))
