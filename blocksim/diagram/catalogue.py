"""The block catalogue, generated from what the blocks declare: python -m blocksim.diagram.catalogue docs/blocks.md"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..contract.block import Block
from ..contract.declarations import Declared, Inport, Outport, Param, Period, State, Static
from ..contract.library import library
from ..notation import unit_label
from .writer import flow

COMMAND = "python -m blocksim.diagram.catalogue docs/blocks.md"
PORTS = ("port", "unit", "size", "meaning")
PARAMETERS = ("parameter", "default", "unit", "limits", "meaning")
#: A paragraph of equations or a small table: indented, or with wide gaps.
IN_COLUMNS = re.compile(r"^ {4}\S|\S {3,}\S", re.M)

HEAD = f"""# Blocks

Generated from the library by `{COMMAND}`; `blocksim blocks NAME` shows the same page in a terminal.

- A parameter without a default must be given. A list given for a number makes the block a vector of independent copies.
- *Size* is the number of elements of a port; a name stands for a size that follows from the parameters or from what is connected.
- A setting marked *at the start* is the initial value of a state or a memory.
- Limits are checked when a file is loaded; a mistake is reported with its line.
"""


def catalogue(blocks: Mapping[str, type[Block]] | None = None) -> str:
    """Every block of a library (default: of all that are installed) as one Markdown page."""
    groups = block_families(blocks)
    index = [
        f"- [{family}](#{anchor(family)}): " + ", ".join(f"[{n}](#{anchor(n)})" for n in members)
        for family, members in groups.items()
    ]
    pages = [f"## {family}\n\n" + "\n".join(block_page(cls) for cls in members.values()) for family, members in groups.items()]
    return "\n".join([HEAD, *index, "", *pages])


def block_families(blocks: Mapping[str, type[Block]] | None = None) -> dict[str, dict[str, type[Block]]]:
    """Blocks by family, both in the library's order."""
    groups: dict[str, dict[str, type[Block]]] = {}
    for name, cls in (library() if blocks is None else blocks).items():
        groups.setdefault(cls.family or "others", {})[name] = cls
    return groups


def block_page(cls: type[Block]) -> str:
    """One block: equation, what else there is to say, ports, parameters, an example."""
    first, _, rest = documentation(cls).partition("\n")
    parts = [
        f"### {cls.__name__}",
        f"**{markdown_literal(first)}**",
        markdown_text(rest),
        markdown_table(PORTS, port_rows(cls)),
        markdown_table(PARAMETERS, parameter_rows(cls)),
    ]
    if cls.example.strip():
        parts.append(f"```yaml\n{cls.example.strip()}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def documentation(cls: type[Block]) -> str:
    return inspect.getdoc(cls) or ""


def equation(cls: type[Block]) -> str:
    """The first line of a block's documentation."""
    return documentation(cls).partition("\n")[0]


def port_rows(cls: type[Block]) -> list[tuple[str, ...]]:
    """Ports as PORTS lists them; inputs first."""
    rows = []
    for name, port in cls.of(Inport, Outport).items():
        inwards = isinstance(port, Inport)
        notes = []
        if inwards and port.many:
            notes.append("any number")
        if inwards and port.optional:
            notes.append(f"optional, else {flow(port.default)}")
        if not inwards and port.measured:
            notes.append("measured")
        meaning = port.doc + (f" ({', '.join(notes)})" if notes else "")
        measure = unit_label(port.unit if inwards else port.measure())
        rows.append((not inwards, (f"{name} {'in' if inwards else 'out'}", measure, str(port.size), meaning)))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def parameter_rows(cls: type[Block]) -> list[tuple[str, ...]]:
    """Settings as PARAMETERS lists them: parameters, then initial values."""
    settable = {name: one for name, one in cls.declared.items() if one.settable}
    first = {name: one for name, one in settable.items() if not isinstance(one, State)}
    return [parameter_row(name, one) for name, one in {**first, **settable}.items()]


def parameter_row(name: str, one: Declared) -> tuple[str, ...]:
    meaning = f"{one.doc} at the start" if isinstance(one, State) else one.doc
    return name, default(one), unit_label(one.unit), limit_words(one), meaning


def default(one: Declared) -> str:
    if one.required:
        return ""
    return "none" if one.default is None else flow(one.default)


def limit_words(one: Declared) -> str:
    """What the value must be, in words."""
    if isinstance(one, Static):
        return " / ".join(map(str, one.choices)) or kinds(one.kind)
    if isinstance(one, Period):
        return "at least 0" if one.optional else "above 0"
    if not isinstance(one, Param):
        return ""
    shape = {0: "", 1: "list", 2: "matrix"}.get(len(one.shape), "")
    return ", ".join(part for part in (shape, str(one.limits)) if part)


def kinds(kind: type | tuple[type, ...]) -> str:
    words = {int: "whole number", float: "number", str: "text", bool: "true / false", list: "list", tuple: "list"}
    types = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(dict.fromkeys(words[k] for k in types if k in words))


def markdown_table(columns: Iterable[str], rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    lines: list[Iterable[str]] = [columns, ["---"] * len(rows[0]), *([f"`{r[0]}`", *map(markdown_cell, r[1:])] for r in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown_cell(text: str) -> str:
    return markdown_literal(text).replace("|", "\\|")


def markdown_text(text: str) -> str:
    """Paragraphs of a docstring; those set in columns keep their lines."""
    return "\n\n".join(
        f"```text\n{textwrap.dedent(part)}\n```" if columns else markdown_literal(part.strip())
        for part, columns in paragraphs(text)
    )


def paragraphs(text: str) -> list[tuple[str, bool]]:
    """The paragraphs of a docstring, each with whether it is set in columns."""
    parts = [part.strip("\n") for part in re.split(r"\n\s*\n", text) if part.strip()]
    return [(part, IN_COLUMNS.search(part) is not None) for part in parts]


def markdown_literal(text: str) -> str:
    """Text whose signs Markdown would take for its own, a * b, x_1, a < b; what stands in backticks stays."""
    pieces = text.split("`")
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([\\*_<\[])", r"\\\1", pieces[i])
    return "`".join(pieces)


def anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def write_catalogue(arguments: list[str]) -> None:
    if not arguments:
        sys.stdout.write(catalogue())
        return
    Path(arguments[0]).write_text(catalogue(), encoding="utf-8")


if __name__ == "__main__":
    write_catalogue(sys.argv[1:])
