"""Draw the rooms of the house from the imports of their modules: python docs/rooms.py

Rooms stand on the diagonal in the order of the page architecture.md, each with the number of its modules. A line goes down from a
room to those that import from it, with the number of modules that do. Lines go one way, so everything lies below the diagonal.
"""

from __future__ import annotations

import ast
import re
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGE, PICTURE = DOCS / "architecture.md", DOCS / "images" / "rooms.svg"
ARROW = re.compile(r"^\| (\w+) \| `(\w+)` \| `([\w/.]+)` \|", re.MULTILINE)
ROOM = re.compile(r"^\| \*\*(\w+)\*\* \|", re.MULTILINE)

LEFT, TOP, ACROSS, DOWN, WIDE, HIGH = 24, 24, 42, 34, 190, 26
COLOURS = {"blocksim": ("#dbe9f6", "#3d6a99"), "blocks": ("#e2f0d9", "#5a8a3c")}


def rooms() -> list[Path]:
    """The folders of the rooms in the order of the page: the engine's, then the library's."""
    names = ROOM.findall(PAGE.read_text(encoding="utf-8"))
    return [next(ROOT / top / name for top in ("blocksim", "blocks") if (ROOT / top / name).is_dir()) for name in names]


def arrows() -> list[tuple[str, str, str]]:
    """The road as the page has it: arrow, function, file."""
    return ARROW.findall(PAGE.read_text(encoding="utf-8"))


def modules(room: Path) -> list[Path]:
    return sorted(path for path in room.rglob("*.py") if path.name != "__init__.py")


def imported(path: Path) -> set[Path]:
    """What a module imports, anywhere in it, as files and folders; names in a module count as the module."""
    package, targets = path.parent, set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package
            for _ in range(node.level - 1):
                base = base.parent
            base = (base if node.level else ROOT).joinpath(*(node.module or "").split("."))
            targets |= {base, *(base / alias.name for alias in node.names)}
    return targets


def edges(of: list[Path]) -> dict[tuple[int, int], int]:
    """(importer, imported) -> how many modules of the first import from the second."""
    counts: dict[tuple[int, int], int] = {}
    for importer, room in enumerate(of):
        for path in modules(room):
            folders = {folder for target in imported(path) for folder in (target, *target.parents)}
            used = [target for target, other in enumerate(of) if target != importer and other in folders]
            for target in used:
                counts[importer, target] = counts.get((importer, target), 0) + 1
    return counts


def picture() -> str:
    """The rooms and their edges as SVG."""
    of = rooms()
    counts, shapes = edges(of), []
    x, y = [LEFT + ACROSS * k for k in range(len(of))], [TOP + DOWN * k for k in range(len(of))]
    for target in range(len(of)):
        users = [importer for importer, other in counts if other == target]
        if users:
            shapes.append(line(x[target] + 16, y[target] + HIGH, x[target] + 16, y[max(users)] + HIGH / 2))
    for importer in range(len(of)):
        used = [target for other, target in counts if other == importer]
        if used:
            shapes.append(line(x[min(used)] + 16, y[importer] + HIGH / 2, x[importer], y[importer] + HIGH / 2))
    for (importer, target), count in sorted(counts.items()):
        shapes.append(f'<circle cx="{x[target] + 16}" cy="{y[importer] + HIGH / 2}" r="10" fill="#fff" stroke="#667"/>')
        shapes.append(text(x[target] + 16, y[importer] + HIGH / 2, str(count), 'font-size="11" text-anchor="middle"'))
    for room, left, top in zip(of, x, y, strict=True):
        fill, edge = COLOURS[room.parent.name]
        size = f'width="{WIDE}" height="{HIGH}" rx="4" fill="{fill}" stroke="{edge}"'
        shapes.append(f'<rect x="{left}" y="{top}" {size}/>')
        shapes.append(text(left + 10, top + HIGH / 2, room.name, 'font-weight="bold"'))
        number = len(modules(room))
        shapes.append(text(left + WIDE - 10, top + HIGH / 2, f"{number} module{'s'[: number != 1]}", 'text-anchor="end"'))
        own = [arrow for arrow, _, file in arrows() if ROOT / file in room.rglob("*.py")]
        if own:
            shapes.append(text(left + WIDE + 14, top + HIGH / 2, " → ".join(own), 'font-style="italic" fill="#a04000"'))
    width, height = x[-1] + WIDE + LEFT, y[-1] + HIGH + TOP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    style = ' font-family="Helvetica, Arial, sans-serif" font-size="13">\n<title>The rooms of blocksim and their imports</title>'
    ground = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head + style, ground, *shapes, "</svg>", ""])


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="#b8bec8" stroke-width="1.5" fill="none"/>'


def text(x: float, y: float, words: str, more: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" dominant-baseline="central" {more}>{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
