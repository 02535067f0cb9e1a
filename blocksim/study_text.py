"""A finished study in words: its scores, its budget and what failed as plain tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ablation import FULL

if TYPE_CHECKING:
    from .study import StudyResult

#: Columns of the printed table, and how many lines it has at most.
SHOWN = ("parameter", "truth", "bias", "bias %", "std", "rmse", "coverage", "failures")
MOST_LINES = 60


def printed(result: StudyResult) -> str:
    """The scores as a table, the budget where there is one, and what failed."""
    rows, columns = summary_rows(result)
    text = f"{result.title}\n\n{as_text(columns, rows[:MOST_LINES])}"
    if len(rows) > MOST_LINES:
        text += f"\n... and {len(rows) - MOST_LINES} more lines in scores.csv"
    budget = budget_rows(result)
    if budget[0]:
        text += f"\n\nError budget: what each defect adds to the bias\n\n{as_text(budget[1], budget[0][:MOST_LINES])}"
    for method, warned in result.about["warnings"].items():
        text += f"\n\n{method} warned in {warned['runs']} runs, first: {warned['first']}"
    if result.failures:
        first = result.failures[0]
        text += f"\n\n{len(result.failures)} failed, the first with seed {first['seed']}: {first['reason']}"
    return text


def summary_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    """The scores with every defect on; what happens without each is the budget's to tell."""
    head = ["method", *result.swept]
    rows = []
    for line in (one for one in records(result.scores) if one["ablation"] == FULL):
        cover = f"{100 * line['coverage']:.0f} % [{100 * line['coverage_low']:.0f}, {100 * line['coverage_high']:.0f}]"
        rows.append([
            *(short(line[name]) for name in head),
            f"{line['parameter']}{' [' + line['unit'] + ']' if line['unit'] else ''}",
            short(line["truth"]),
            around(line, "bias", line["bias_significant"] is True),
            short(line["bias_percent"], 3),
            short(line["std"]),
            short(line["rmse"]),
            cover if line["coverage"] == line["coverage"] else "",
            f"{line['failures']}/{line['runs']}",
        ])  # fmt: skip
    return rows, [*head, *SHOWN]


def budget_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    head = ["method", *result.swept, "parameter", "defect"]
    rows, lines = [], records(result.budget)
    alone = any(line["alone"] == line["alone"] for line in lines)
    for line in lines:
        effect = around(line, "effect", line["significant"])
        by_itself = [short(line["alone"])] if alone else []
        rows.append([*(short(line[name]) for name in head), effect, short(line["percent_of_truth"], 3), *by_itself])
    return rows, [*head, "effect on bias", "% of truth", *(["alone"] if alone else [])]


def records(table: Any) -> list[dict[str, Any]]:
    """A table as a list of dicts, whichever it is."""
    return table.to_dict("records") if hasattr(table, "to_dict") else table


def short(value: Any, digits: int = 4) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}g}"
    return str(value)


def around(line: dict[str, Any], name: str, marked: bool) -> str:
    """'0.012 ± 0.003 *': a score, half its interval, and a mark where it is more than luck."""
    value, half = short(line[name]), short((line[f"{name}_high"] - line[f"{name}_low"]) / 2, 2)
    return value + (f" ± {half}" if half else "") + (" *" if marked else "")


def as_text(columns: list[str], rows: list[list[str]]) -> str:
    """A plain table; columns of numbers flush right."""
    words = {"method", "ablation", "parameter", "defect"}
    widths = [max(len(line[i]) for line in [columns, *rows]) for i in range(len(columns))]
    lines = []
    for line in [columns, *rows]:
        cells = [c.ljust(w) if n in words else c.rjust(w) for c, w, n in zip(line, widths, columns, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
