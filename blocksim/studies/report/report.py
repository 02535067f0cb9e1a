"""The report of a study: one HTML page that needs nothing but itself, with pictures, tables, seeds and versions."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...diagram.files import write_whole
from ...records.writing import writing
from ..study import StudyResult
from .page_style import SCRIPT, STYLE
from .text import budget_rows, signal_rows, study_remarks, summary_rows, verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTIONS = {
    "clouds": "Errors of all runs, two parameters at a time: a point for each run, an ellipse for 95 % of a normal cloud.",
    "estimates": "Errors of all runs in % of the truth: distribution, quartiles (bar) and median (dot); the line is the truth.",
    "bias": "Bias in % of the truth against the swept setting, with its 95 % interval.",
    "spread": "Standard deviation of the estimates, the one the method claims, and the Cramer-Rao bound where there is one.",
    "coverage": "How often the method's own 95 % interval holds the truth, with Wilson's interval; the line is 95 %.",
    "budget": "What each defect adds to the bias, with its 95 % interval; (interaction) is what the parts do not add up to.",
}
LEFT_COLUMNS = {"method", "ablation", "parameter", "defect", "reason", "signal", "changes"}
MOST_PAGE_LINES = 400
LONGEST_OPEN = 60  # rows of a table that stands unfolded


def write_report(result: StudyResult) -> Path:
    """Write report.html and figures/ into the folder of a study."""
    from .figures import save_figures, study_figures

    figures = study_figures(result)
    save_figures(figures, result.folder)
    path = result.folder / "report.html"
    with writing(result.folder):
        write_whole(path, report_page(result, figures))
    return path


def report_page(result: StudyResult, figures: dict[str, Any]) -> str:
    """The whole page."""
    about = result.about
    parts = [f"<h1>{code_words(result.title or 'Study')}</h1>", f'<p class="lead">{lead(result)}</p>']
    if about.get("description"):
        parts.append(prose(about["description"]))
    parts += [
        "<h2>What was found</h2>",
        verdict(result),
        *(f'<p class="remark">{code_words(remark)}</p>' for remark in study_remarks(result)),
    ]
    parts += ['<div class="figures">', *(figure_html(name, figure) for name, figure in figures.items()), "</div>"]
    rows, columns = summary_rows(result)
    if rows:
        note = (
            "<p>Red: a bias whose 95 % interval excludes zero, a coverage whose interval excludes 95 %. Green: a coverage that "
            "may be 95 %. Click a head to sort. All columns are in scores.csv.</p>"
        )
        parts += ["<h2>Scores</h2>", note, table_html(columns, rows)]
    for title, (lines, heads) in (("Signals", signal_rows(result)), ("Error budget", budget_rows(result))):
        if lines:
            table = table_html(heads, lines, "signal_scores.csv" if title == "Signals" else "budget.csv")
            long = len(lines) > LONGEST_OPEN
            parts += [f"<h2>{title}</h2>", f"<details><summary>{len(lines)} rows</summary>{table}</details>" if long else table]
    parts += ["<h2>Experiment</h2>", *(diagram_html(result.folder, name) for name in diagrams(result.folder))]
    parts += [text_html("study.yaml", result.folder / "study.yaml")]
    for title, runs in (("Failures", result.failures), ("Unconverged", result.unconverged)):
        parts += [f"<h2>{title}</h2>", failures_html(runs)] if runs else []
    parts += ["<h2>Seeds and versions</h2>", provenance_html(about)]
    body = "\n".join(parts)
    phone = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{phone}<title>{escape(result.title or "Study")}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n<script>{SCRIPT}</script></body></html>\n'


def lead(result: StudyResult) -> str:
    about = result.about
    swept = f", swept: {', '.join(result.swept)}" if result.swept else ""
    failed = f', <span class="flag">{len(result.failures)} failed</span>' if result.failures else ", none failed"
    failed += f', <span class="flag">{len(result.unconverged)} did not converge</span>' if result.unconverged else ""
    counts = {"repetition": about["repeat"], "point": len(about["points"]), "method": len(about["methods"]),
              "ablation": len(about["ablations"])}  # fmt: skip
    factors = [f"{n} {noun}{'s' if n > 1 else ''}" for noun, n in counts.items() if n > 1 or noun == "repetition"]
    return f"{about['runs']} runs: {' x '.join(factors)}{escape(swept)}{failed}."


def verdict(result: StudyResult) -> str:
    """For each method, its worst bias and its worst coverage, in words."""
    items = [f"<li><b>{escape(method)}</b>: {escape(words)}.</li>" for method, words in verdicts(result).items()]
    if items:
        return f"<ul>{''.join(items)}</ul>"
    return "" if len(result.signal_scores) else "<p>No run gave an estimate.</p>"


def prose(text: str) -> str:
    """A description as paragraphs, names in backticks as code."""
    return "".join(f"<p>{code_words(part)}</p>" for part in re.split(r"\n\s*\n", text.strip()))


def code_words(text: str) -> str:
    """Marks of Markdown as what they mean."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"<b>\1</b>", text)
    return re.sub(r"(?<![\w*])\*([^\s*][^*\n]*)\*(?![\w*])", r"<em>\1</em>", text)


def notebook_html(result: StudyResult) -> str:
    """What a notebook shows of a study: verdict, the first figure, scores to unfold."""
    from .figures import study_figures

    figures = study_figures(result)
    first = "".join(figure_html(name, figures[name]) for name in list(figures)[:1])
    rows, columns = summary_rows(result)
    table = f"<details><summary>{len(rows)} scores</summary>{table_html(columns, rows)}</details>" if rows else ""
    return f"<h4>{escape(result.title or 'Study')}</h4><p>{lead(result)}</p>{verdict(result)}{first}{table}"


def figure_html(name: str, figure: Figure) -> str:
    """A figure as part of the page; the names inside made its own, since several share the page."""
    from ...pictures.plots import write_figure

    text = io.StringIO()
    write_figure(figure, text, "svg")
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    return f"<figure>{own_names(svg, name)}<figcaption>{CAPTIONS[name]}</figcaption></figure>"


def own_names(svg: str, prefix: str) -> str:
    """Ids and references with a prefix: two pictures in one page must not share them."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(xlink:href|href)="#', rf'\1="#{prefix}-', svg)
    return svg.replace("url(#", f"url(#{prefix}-")


def table_html(columns: list[str], rows: list[list[str]], file: str = "scores.csv") -> str:
    def line(cells: list[str], tag: str) -> str:
        kinds = ["words" if name in LEFT_COLUMNS else cell_colour(name, c) for name, c in zip(columns, cells, strict=True)]
        classes = [f' class="{kind}"' if kind else "" for kind in kinds]
        texts = [escape(c.removesuffix(" *")) for c in cells]
        return "<tr>" + "".join(f"<{tag}{k}>{c}</{tag}>" for k, c in zip(classes, texts, strict=True)) + "</tr>"

    more = f"<p>{len(rows) - MOST_PAGE_LINES} more lines are in {file}.</p>" if len(rows) > MOST_PAGE_LINES else ""
    body = "\n".join(line(row, "td") for row in rows[:MOST_PAGE_LINES])
    return f'<div class="wide"><table><thead>{line(columns, "th")}</thead><tbody>{body}</tbody></table></div>{more}'


def cell_colour(column: str, cell: str) -> str:
    """The colour of a cell: whether a bias is more than luck, and whether a coverage may be 95 %."""
    if cell.endswith(" *"):
        return "bad"
    ends = re.search(r"\[(\d+), (\d+)\]", cell) if column == "coverage" else None
    return "" if ends is None else "good" if int(ends[1]) <= 95 <= int(ends[2]) else "bad"


def diagrams(folder: Path) -> list[str]:
    """The diagrams kept beside the study."""
    from ...diagram.yaml_lines import read_yaml

    names = []
    for path in sorted(folder.rglob("*.yaml")):
        if path.name != "study.yaml":
            root, _ = read_yaml(path.read_text(encoding="utf-8"), path.name)
            plain = root.plain()
            if isinstance(plain, dict) and "blocks" in plain and "ports" not in plain:
                names.append(str(path.relative_to(folder)))
    return names


def diagram_html(folder: Path, name: str) -> str:
    """The picture of a diagram, and its text to unfold; a picture that fails does not cost the report."""
    from ...diagram.build import build
    from ...diagram.loader import load
    from ...errors import BlocksimError
    from ...pictures.draw import draw_svg

    try:
        svg = draw_svg(build(load(str(folder / name), allow_outside=True)))
        drawing = own_names(svg, re.sub(r"[^A-Za-z0-9]", "-", name))
        picture = f"<figure class='diagram'>{drawing}<figcaption>{escape(name)}</figcaption></figure>"
    except BlocksimError as error:
        picture = f"<p>{escape(name)} cannot be drawn: {escape(str(error))}</p>"
    return picture + text_html(name, folder / name)


def text_html(name: str, path: Path) -> str:
    return f"<details><summary>{escape(name)}</summary><pre>{escape(path.read_text(encoding='utf-8'))}</pre></details>"


def failures_html(failures: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for failure in failures[:MOST_PAGE_LINES] for key in failure))
    return table_html(columns, [[str(failure.get(c, "")) for c in columns] for failure in failures], "study.json")


def provenance_html(about: dict[str, Any]) -> str:
    seeds = ", ".join(map(str, about["seeds"][:20])) + (" ..." if len(about["seeds"]) > 20 else "")
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    again = "blocksim study --rerun FOLDER gives the same numbers."
    rows = [f"master seed {about['seed']}; seeds {seeds}", f"versions: {versions}", f"identity {about['identity']}", again]
    return "<ul>" + "".join(f"<li>{escape(row)}</li>" for row in rows) + "</ul>"
