"""A page for each block from its declarations: equation, ports, parameters, the picture of its example, the example itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from equations import formula

from blocksim.diagram.catalogue import (
    PARAMETERS,
    PORTS,
    block_families,
    documentation,
    markdown_literal,
    markdown_table,
    markdown_text,
    parameter_rows,
    port_rows,
)

#: LaTeX that fits one line of the page.
LONGEST_LINE = 100
#: A comma after which another equation begins, outside brackets.
BETWEEN_EQUATIONS = re.compile(r",\s*\\quad\s*|,\\,(?=(?:\\,|\(\w\)|[^,()])*?=)")
#: The example of a source that plays a file: the file comes first, by a run of its own.
RECORDED_FIRST = "blocksim run one_dof/pid --stop 2 --out lab"
RECORDED = """format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  measured: {type: FromRecord, file: lab/record.npz, signal: pid.u}
  drive:    {type: FirstOrderLag, T: 0.02, in: measured}
"""


def write_block_pages(source: Path) -> dict[str, str]:
    """All pages and pictures by their names below the source folder."""
    texts: dict[str, str] = {}
    index = ["# Blocks by name", "", "Generated from the library: what `blocksim blocks NAME` shows in a terminal.", ""]
    names: list[str] = []
    for family, members in block_families().items():
        index += [f"## {family}", ""]
        for name, kind in members.items():
            texts[f"images/blocks/{name}.svg"] = block_picture(kind)
            texts[f"blocks/{name}.md"] = block_page(name, family, kind)
            first = documentation(kind).partition("\n")[0]
            index.append(f"- [{name}]({name}.md): {markdown_literal(first)}")
            names.append(name)
        index.append("")
    index += ["```{toctree}", ":hidden:", "", *names, "```", ""]
    texts["blocks/index.md"] = "\n".join(index)
    return texts


def block_equation(kind: Any) -> tuple[str, str]:
    """The block's equation or criterion in LaTeX, and the words that go with it."""
    first = documentation(kind).partition("\n")[0]
    return (kind.formula, first) if kind.formula else formula(first, kind.declared) or ("", first)


def equation_lines(equation: str) -> list[str]:
    """Equations that do not fit side by side, each on a line of its own."""
    if len(equation) <= LONGEST_LINE:
        return [equation] if equation else []
    return [line for line in BETWEEN_EQUATIONS.split(equation) if line]


def block_picture(kind: Any) -> str:
    """The picture of its example."""
    from tempfile import TemporaryDirectory

    from blocksim.pictures.draw import draw_svg

    if kind.example.strip():
        return draw_svg(kind.example.strip() + "\n")
    with TemporaryDirectory() as folder:
        return draw_svg(write_recorded_example(Path(folder)))


def write_recorded_example(folder: Path) -> Path:
    """The example of FromRecord with its file beside it."""
    import blocksim as bs

    (folder / "lab").mkdir()
    bs.simulate("one_dof/pid", stop=2).save(str(folder / "lab" / "record.npz"))
    path = folder / "fromrecord.yaml"
    path.write_text(RECORDED, encoding="utf-8")
    return path


def block_page(name: str, family: str, kind: Any) -> str:
    rest = documentation(kind).partition("\n")[2]
    equation, words = block_equation(kind)
    parts = [f"# {name}", f"*{family}*", *(f"$$\n{line}\n$$" for line in equation_lines(equation)), markdown_literal(words)]
    parts.append(markdown_text(rest))
    parts += ["## Ports", markdown_table(PORTS, port_rows(kind))]
    rows = parameter_rows(kind)
    parts += ["## Parameters", markdown_table(PARAMETERS, rows)] if rows else []
    example = kind.example.strip() or RECORDED.strip()
    parts += ["## Example", f"![The diagram below](../images/blocks/{name}.svg)", f"```yaml\n{example}\n```"]
    parts.append("" if kind.example.strip() else f"It plays what another run has written: `{RECORDED_FIRST}`")
    parts.append(f"Save it as `{name.lower()}.yaml` and run it: `blocksim run {name.lower()}.yaml --plot`; the tests run it too.")
    return "\n\n".join(part for part in parts if part) + "\n"
