"""Make the tables of docs/methods.md again: python docs/methods.py [joint] [scara] (runs the studies; some minutes)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import blocksim as bs
from blocksim.diagram.files import bundled_root
from blocksim.studies.file import load_study

PAGE = Path(__file__).with_suffix(".md")
#: The study of each table, and the parameters whose bias and spread it prints.
TABLES = {"joint": ("one_dof", ("J", "Fv", "Fc", "Ms")), "scara": ("gautier2001", ("ZZR1", "Fs1", "LMX2", "Fv2"))}


def cost(reasons: list[str]) -> str:
    """Simulations of one identification, from what the blocks say of their searches."""
    counts = [int(m[1]) for m in (re.search(r"(\d+) (?:simulations|iterations)", text) for text in reasons) if m]
    return f"{round(sum(counts) / len(counts))}" if counts else "0"


def table(result: bs.StudyResult, parameters: tuple[str, ...]) -> list[str]:
    scores, estimates = (t.to_dict("records") for t in (result.scores, result.estimates))
    lines = [f"| | bias of {', '.join(parameters)} [%] | spread [%] | coverage | simulations |", "|---|---|---|---|---|"]
    for method in dict.fromkeys(line["method"] for line in scores):
        every = {line["parameter"]: line for line in scores if line["method"] == method}
        rows = [every[name] for name in parameters]
        bias = ", ".join(f"{line['bias_percent']:+.3f}" for line in rows)
        spread = ", ".join(f"{line['std_percent']:.3f}" for line in rows)
        coverage = f"{100 * sum(line['coverage'] for line in every.values()) / len(every):.0f} %"
        reasons = [line["reason"] or "" for line in estimates if line["method"] == method]
        lines.append(f"| `{method}` | {bias} | {spread} | {coverage} | {cost(reasons)} |")
    return lines


def put(text: str, mark: str, rows: list[str]) -> str:
    """The page with the rows between two marks."""
    start, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    head, rest = text.split(start)
    return head + start + "\n" + "\n".join(rows) + "\n\n" + end + rest.split(end, 1)[1]


if __name__ == "__main__":
    for mark in sys.argv[1:] or TABLES:
        folder, parameters = TABLES[mark]
        result = bs.run_study(load_study(bundled_root() / folder / "studies" / "all_methods.yaml"), report=False)
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), mark, table(result, parameters)), encoding="utf-8")
    print(f"wrote {PAGE.name}")
