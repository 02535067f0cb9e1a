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
table { border-collapse: collapse; width: 100%; table-layout: fixed }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
  vertical-align: middle }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal }
col.rank, col.points { width: 4.6rem } col.seconds { width: 5.6rem } col.share { width: 45% }
.bar { display: flex; height: .9rem; background: var(--soft); border-radius: 2px; overflow: hidden }
.bar i { display: block; height: 100% } .near { background: var(--near) } .honest { background: var(--honest) }
.key span { white-space: nowrap; margin-right: 1rem }
.key i { display: inline-block; width: .9rem; height: .9rem; vertical-align: -.1rem; margin-right: .3rem; border-radius: 2px }
@media (max-width: 600px) { th, td { padding: .4rem .25rem } col.rank { width: 3rem } col.points { width: 3.8rem }
  col.share { width: 30% }
  col.seconds { width: 0 } .seconds { display: none } }
"""


BOARD_COLUMNS = '<colgroup><col class="rank"><col><col class="points"><col class="share"><col class="seconds"></colgroup>'


def board_page(marks: Sequence[dict[str, Any]], title: str = "Class") -> str:
    """The HTML of all marks: a table a lesson, best first, later marks of a student in place of earlier ones."""
    latest = {(row["lesson"], row["student"]): row for row in marks}
    titles = lessons()
    numbers = sorted({lesson for lesson, _ in latest})
    sections = [board_table("All lessons", summed_marks(list(latest.values())), len(numbers))] if len(numbers) > 1 else []
    for lesson in numbers:
        rows = [row for (number, _), row in latest.items() if number == lesson]
        sections.append(board_table(f"Lesson {lesson}: {titles.get(lesson, '')}", rows))
    body = "".join(sections) or "<p>Nobody has handed in anything yet.</p>"
    key = f'<span><i class="near"></i>near the truth, of {ACCURACY:g} points</span>'
    key += f'<span><i class="honest"></i>standard deviations, of {HONESTY:g}</span>'
    name = html.escape(title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>{name}</title><link rel="icon" href="data:,"><style>{BOARD_STYLE}</style></head>'
        f'<body><h1>{name}</h1><p class="key">{key}</p>{body}</body></html>\n'
    )


def summed_marks(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sums of each student over the lessons."""
    students = dict.fromkeys(row["student"] for row in rows)
    keys = ("points", "accuracy", "honesty", "seconds")
    return [{"student": one, **{key: sum(row[key] for row in rows if row["student"] == one) for key in keys}} for one in students]


def board_table(heading: str, rows: Sequence[dict[str, Any]], lessons_in_it: int = 1) -> str:
    """One table, best first; a bar is full where every lesson in it has all points."""
    ranked = sorted(rows, key=lambda row: (-row["points"], row["student"]))
    head = '<tr><th class="n">rank</th><th>student</th><th class="n">points</th><th>near, honest</th>'
    head += '<th class="n seconds">seconds</th></tr>'
    body = "".join(row_of(row, ranked, lessons_in_it) for row in ranked)
    return f"<h2>{html.escape(heading)}</h2><table>{BOARD_COLUMNS}<thead>{head}</thead><tbody>{body}</tbody></table>"


def row_of(row: dict[str, Any], rows: Sequence[dict[str, Any]], lessons_in_it: int) -> str:
    rank = 1 + sum(other["points"] > row["points"] for other in rows)
    near, honest = float(row["accuracy"]), float(row["honesty"])
    label = f"{near:.0f} of {lessons_in_it * ACCURACY:g} and {honest:.0f} of {lessons_in_it * HONESTY:g}"
    parts = f'<i class="near" style="width:{near / lessons_in_it:.0f}%"></i>'
    parts += f'<i class="honest" style="width:{honest / lessons_in_it:.0f}%"></i>'
    bar = f'<div class="bar" role="img" aria-label="{label}">{parts}</div>'
    cells = f'<td class="n">{rank}</td><td>{html.escape(row["student"])}</td><td class="n">{row["points"]}</td><td>{bar}</td>'
    return f'<tr>{cells}<td class="n seconds">{row["seconds"]:.0f}</td></tr>'
