"""A page for the class: who is where, without a number that leads to anybody's truth."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from .assignment import lessons
from .marking import ACCURACY, HONESTY

BOARD_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --paper: #fff; --line: #d5d9e0; --soft: #eef1f5; --near: #0072b2;
  --honest: #009e73 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --paper: #14181f; --line: #3a4250; --soft: #222a35; --near: #56b4e9;
  --honest: #2fbf93 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.bar { display: flex; height: .9rem; background: var(--soft); min-width: 8rem; border-radius: 2px; overflow: hidden }
.bar i { display: block; height: 100% } .near { background: var(--near) } .honest { background: var(--honest) }
.key i { display: inline-block; width: .9rem; height: .9rem; vertical-align: -.1rem; margin: 0 .3rem 0 1rem; border-radius: 2px }
"""


def board_page(marks: Sequence[dict[str, Any]], title: str = "Class") -> str:
    """The HTML of all marks: a table a lesson, best first, later marks of a student in place of earlier ones."""
    latest = {(row["lesson"], row["student"]): row for row in marks}
    titles = lessons()
    sections = []
    for lesson in sorted({lesson for lesson, _ in latest}):
        rows = sorted((r for (n, _), r in latest.items() if n == lesson), key=lambda r: (-r["points"], r["student"]))
        heading = f"<h2>Lesson {lesson}: {html.escape(titles.get(lesson, ''))}</h2>"
        head = '<tr><th class="n">rank</th><th>student</th><th class="n">points</th><th>near the truth, believable</th>'
        head += '<th class="n">seconds</th></tr>'
        sections.append(f"{heading}<table><thead>{head}</thead><tbody>{''.join(row_of(r, rows) for r in rows)}</tbody></table>")
    body = "".join(sections) or "<p>Nobody has handed in anything yet.</p>"
    key = f'<i class="near"></i>near the truth, of {ACCURACY:g} points<i class="honest"></i>standard deviations, of {HONESTY:g}'
    name = html.escape(title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>{name}</title><link rel="icon" href="data:,"><style>{BOARD_STYLE}</style></head>'
        f'<body><h1>{name}</h1><p class="key">{key}</p>{body}</body></html>\n'
    )


def row_of(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    rank = 1 + sum(other["points"] > row["points"] for other in rows)
    near, honest = float(row["accuracy"]), float(row["honesty"])
    bar = f'<div class="bar" role="img" aria-label="{near:.0f} of {ACCURACY:g} and {honest:.0f} of {HONESTY:g}">'
    bar += f'<i class="near" style="width:{near:.0f}%"></i><i class="honest" style="width:{honest:.0f}%"></i></div>'
    cells = f'<td class="n">{rank}</td><td>{html.escape(row["student"])}</td><td class="n">{row["points"]}</td><td>{bar}</td>'
    return f'<tr>{cells}<td class="n">{row["seconds"]:.0f}</td></tr>'
