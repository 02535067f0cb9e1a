"""Make the table of docs/methods.md again: python docs/methods.py (runs the study; a few minutes)."""

from __future__ import annotations

import re
from pathlib import Path

import blocksim as bs
from blocksim.diagram.files import bundled_root
from blocksim.studies.file import load_study

PAGE = Path(__file__).with_suffix(".md")
PARAMETERS = ("J", "Fv", "Fc", "Ms")


def cost(reasons: list[str]) -> str:
    """Simulations of one identification, from what the blocks say of their searches."""
    counts = [int(m[1]) for m in (re.search(r"(\d+) (?:simulations|iterations)", text) for text in reasons) if m]
    return f"{round(sum(counts) / len(counts))}" if counts else "0"


def table(result) -> list[str]:
    scores, estimates = (t.to_dict("records") for t in (result.scores, result.estimates))
    lines = ["| | bias of J, Fv, Fc, Ms [%] | spread [%] | coverage | simulations |", "|---|---|---|---|---|"]
    for method in dict.fromkeys(line["method"] for line in scores):
        rows = [line for line in scores if line["method"] == method]
        rows.sort(key=lambda line: PARAMETERS.index(line["parameter"]))
        bias = ", ".join(f"{line['bias_percent']:+.3f}" for line in rows)
        spread = ", ".join(f"{line['std_percent']:.3f}" for line in rows)
        coverage = f"{100 * sum(line['coverage'] for line in rows) / len(rows):.0f} %"
        reasons = [line["reason"] or "" for line in estimates if line["method"] == method]
        lines.append(f"| `{method}` | {bias} | {spread} | {coverage} | {cost(reasons)} |")
    return lines


if __name__ == "__main__":
    result = bs.run_study(load_study(bundled_root() / "one_dof" / "studies" / "all_methods.yaml"), report=False)
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index("| | bias of"), text.index("\n\n", text.index("| | bias of"))
    PAGE.write_text(text[:start] + "\n".join(table(result)) + text[end:], encoding="utf-8")
    print(f"wrote {PAGE.name}")
