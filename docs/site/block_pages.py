"""A page for each block from its declarations: equation, ports, parameters, the picture of its example, the example itself."""

from __future__ import annotations

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
    parameter_rows,
    port_rows,
)
from blocksim.errors import BlocksimError


def write_block_pages(source: Path) -> dict[str, str]:
    """All pages and pictures by their names below the source folder."""
    texts: dict[str, str] = {}
    index = ["# Blocks by name", "", "Generated from the library: what `blocksim blocks NAME` shows in a terminal.", ""]
    names: list[str] = []
    for family, members in block_families().items():
        index += [f"## {family}", ""]
        for name, kind in members.items():
            picture = block_picture(kind)
            if picture:
                texts[f"images/blocks/{name}.svg"] = picture
            texts[f"blocks/{name}.md"] = block_page(name, family, kind, bool(picture))
            first = documentation(kind).partition("\n")[0]
            index.append(f"- [{name}]({name}.md): {markdown_literal(first)}")
            names.append(name)
        index.append("")
    index += ["```{toctree}", ":hidden:", "", *names, "```", ""]
    texts["blocks/index.md"] = "\n".join(index)
    return texts


def block_picture(kind: Any) -> str:
    from blocksim.pictures.draw import draw_svg

    try:
        return draw_svg(kind.example.strip() + "\n") if kind.example.strip() else ""
    except BlocksimError:
        return ""


def block_page(name: str, family: str, kind: Any, picture: bool) -> str:
    first, _, rest = documentation(kind).partition("\n")
    equation = formula(first, kind.declared)
    parts = [f"# {name}", f"*{family}*"]
    if equation:
        parts += [f"$$\n{equation[0]}\n$$", markdown_literal(equation[1])]
    else:
        parts.append(markdown_literal(first))
    parts.append(markdown_literal(rest.strip()))
    parts += ["## Ports", markdown_table(PORTS, port_rows(kind))]
    rows = parameter_rows(kind)
    parts += ["## Parameters", markdown_table(PARAMETERS, rows)] if rows else []
    if kind.example.strip():
        parts += ["## Example", f"![The diagram below](../images/blocks/{name}.svg)" if picture else ""]
        command = f"Save it as `{name.lower()}.yaml` and run it: `blocksim run {name.lower()}.yaml --plot`"
        parts += [f"```yaml\n{kind.example.strip()}\n```", f"{command}; the tests run it too."]
    return "\n\n".join(part for part in parts if part) + "\n"
