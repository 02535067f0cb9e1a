"""A finished study in words: its scores, its budget and what failed as plain tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...notation import unit_label
from ..budget import FULL

if TYPE_CHECKING:
    from ..study import StudyResult

#: Columns of the printed table, and how many lines it has at most.
PRINTED_COLUMNS = ("parameter", "truth", "bias", "bias %", "std", "rmse", "coverage", "failures")
MOST_PRINTED_LINES = 60
#: Columns that a narrow terminal does without, the first first.
SPARE_COLUMNS = ("rmse", "truth", "failures", "std", "std / bound", "bias %", "alone", "% of truth")


def printed(result: StudyResult, width: int = 0) -> str:
    """The scores as a table, signals and budget where there are some, what failed, and the verdict.

    Where a line has only `width` characters, columns that can be done without are left out.
    """
    parts = [result.title]
    for words, (rows, columns), file in (
        ("", summary_rows(result), "scores.csv"),
        ("Signals", signal_rows(result), "signal_scores.csv"),
        ("Error budget: what each defect adds to the bias", budget_rows(result), "budget.csv"),
    ):
        if rows:
            more = f"\n... and {len(rows) - MOST_PRINTED_LINES} more lines in {file}" if len(rows) > MOST_PRINTED_LINES else ""
            parts += [*([words] if words else []), as_text(*narrowed(columns, rows[:MOST_PRINTED_LINES], width)) + more]
    parts += study_remarks(result)
    for runs, verb in ((result.failures, "failed"), (result.unconverged, "did not converge and are in no score")):
        if runs:
            parts.append(f"{len(runs)} {verb}, the first with seed {runs[0]['seed']}: {runs[0]['reason']}")
    sentences = [f"{method}: {text}." for method, text in verdicts(result).items()]
    if sentences:
        parts.append("\n".join(["Verdict", *sentences]))
    return "\n\n".join(parts)


def narrowed(columns: list[str], rows: list[list[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """The table without columns that can be done without, until its lines fit; all of them are in the .csv file."""
    for name in SPARE_COLUMNS:
        wide = sum(2 + max(len(line[i]) for line in [columns, *rows]) for i in range(len(columns))) - 2
        if not width or wide <= width:
            break
        if name in columns:
            place = columns.index(name)
            columns, *rows = ([cell for i, cell in enumerate(line) if i != place] for line in [columns, *rows])
    return columns, rows


def verdicts(result: StudyResult) -> dict[str, str]:
    """For each method, its worst bias, coverage, consistency and spread, in words."""
    lines = [line for line in records(result.scores) if line["ablation"] in ("", FULL) and line["n"]]
    return {
        str(method): "; ".join(worst_words([line for line in lines if line["method"] == method]))
        for method in dict.fromkeys(line["method"] for line in lines)
    }


def worst_words(own: list[dict[str, Any]]) -> Iterator[str]:
    def scored(name: str) -> list[dict[str, Any]]:
        return [line for line in own if line[name] == line[name]]

    if biases := scored("bias_percent"):
        worst = max(biases, key=lambda s: abs(s["bias_percent"]))
        count = sum(line["bias_significant"] is True for line in own)
        yield f"largest bias {worst['bias_percent']:+.3g} % ({worst['parameter']})"
        yield f"{count if count else 'none'} of {len(own)} biases {'is' if count < 2 else 'are'} more than chance"
    if covers := scored("coverage"):
        yield coverage_words(min(covers, key=lambda s: s["coverage"]))
    if nees := scored("nees"):
        far = max(nees, key=lambda s: abs(math.log(s["nees"] / s["nees_expected"])) if s["nees"] > 0 else 0.0)
        within = f"{far['nees_consistent_low']:.3g} to {far['nees_consistent_high']:.3g}"
        yield f"mean NEES {far['nees']:.3g} at worst (honest: {within})"
    if bounds := scored("crb_ratio"):
        worst = max(bounds, key=lambda s: s["crb_ratio"])
        yield f"spread at most {worst['crb_ratio']:.3g} times the Cramer-Rao bound ({worst['parameter']})"


def coverage_words(worst: dict[str, Any]) -> str:
    """The coverage that is lowest, as counts: a share of few runs says less than it seems."""
    runs = int(worst["n"])
    hits = round(worst["coverage"] * runs)
    if hits == runs:
        return f"the 95 % interval holds the truth of every parameter in all {runs} runs"
    where = f"{worst['parameter']}, the worst"
    return f"the 95 % interval holds the truth in {hits} of {runs} runs, {100 * worst['coverage']:.0f} % ({where})"


def study_remarks(result: StudyResult) -> list[str]:
    """What a reader of the tables should know first."""
    texts = []
    if lines := result.about.get("altered_lines", 0):
        texts.append(
            f"{lines} line{'s' if lines > 1 else ''} of results.jsonl did not fit the checksum: somebody altered the file, and "
            "what stood there was run again."
        )
    if result.about.get("pairs", result.about["repeat"] - 1) > 0 and not result.about["random"]:
        texts.append(
            "All repetitions gave the same numbers: nothing in the diagram is random. Spread, coverage "
            "and intervals say nothing then; add noise, or repeat: 1."
        )
    for method, warned in result.about["warnings"].items():
        texts.append(f"{method} warned in {warned['runs']} run{'s' if warned['runs'] > 1 else ''}, first: {warned['first']}")
    for line in records(result.scores):
        if line["ablation"] == FULL and line["not_learnt"]:
            where = ", ".join(f"{n} {short(line[n])}" for n in result.shown)
            texts.append(
                f"{line['method']}{' at ' + where if where else ''}: {line['parameter']} not learnt in {line['not_learnt']} of "
                f"{line['n']} runs: it hardly left its prior, and its scores are those of the start."
            )
    return texts


def summary_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    """The scores with every defect on; what happens without each is the budget's to tell."""
    head = ["method", *result.shown]
    lines = [line for line in records(result.scores) if line["ablation"] == FULL]
    bound = any(line["crb_ratio"] == line["crb_ratio"] for line in lines)
    unsettled = any(line["unconverged"] for line in lines)
    rows = []
    for line in lines:
        cover = f"{100 * line['coverage']:.0f} % [{100 * line['coverage_low']:.0f}, {100 * line['coverage_high']:.0f}]"
        rows.append([
            *(short(line[name]) for name in head),
            f"{line['parameter']}{' [' + unit_label(line['unit']) + ']' if line['unit'] else ''}",
            short(line["truth"]),
            around(line, "bias", line["bias_significant"] is True),
            short(line["bias_percent"], 3),
            short(line["std"]),
            *([short(line["crb_ratio"], 3)] if bound else []),
            short(line["rmse"]),
            cover if line["coverage"] == line["coverage"] else "",
            f"{line['failures']}/{line['runs']}",
            *([f"{line['unconverged']}/{line['runs']}"] if unsettled else []),
        ])  # fmt: skip
    after = PRINTED_COLUMNS.index("std") + 1
    return rows, [*head, *PRINTED_COLUMNS[:after], *(["std / bound"] if bound else []), *PRINTED_COLUMNS[after:],
                  *(["unconverged"] if unsettled else [])]  # fmt: skip


def signal_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    """Mean and spread of every collected signal, with every defect on."""
    lines = [line for line in records(result.signal_scores) if line["ablation"] == FULL]
    head = [*(["method"] if lines and "method" in lines[0] else []), *result.shown, "signal"]
    rows = [[*(short(line[n]) for n in head), around(line, "mean", False), short(line["std"]), str(line["n"])] for line in lines]
    return rows, [*head, "mean", "std", "runs"]


def budget_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    head = ["method", *result.shown, "parameter", "defect"]
    rows, lines = [], records(result.budget)
    alone = any(line["alone"] == line["alone"] for line in lines)
    for line in lines:
        effect = around(line, "effect", line["significant"])
        by_itself = [short(line["alone"])] if alone else []
        rows.append([*(short(line[name]) for name in head), effect, short(line["percent_of_truth"], 3), *by_itself])
    return rows, [*head, "effect on bias", "% of truth", *(["alone"] if alone else [])]


def records(table: Any) -> list[dict[str, Any]]:
    """A table as a list of dicts, whichever it is."""
    lines: list[dict[str, Any]] = table.to_dict("records") if hasattr(table, "to_dict") else table
    return lines


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
    words = {"method", "ablation", "parameter", "defect", "signal"}
    widths = [max(len(line[i]) for line in [columns, *rows]) for i in range(len(columns))]
    lines = []
    for line in [columns, *rows]:
        cells = [c.ljust(w) if n in words else c.rjust(w) for c, w, n in zip(line, widths, columns, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
