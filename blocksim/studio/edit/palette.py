"""The palette: every block of the installed libraries by family, with its ports, settings and words, from the declarations."""

from __future__ import annotations

import functools
from typing import Any

from ...contract.block import Block
from ...diagram.catalogue import PARAMETERS, PORTS, block_families, documentation, equation, paragraphs, parameter_rows, port_rows


@functools.cache
def palette() -> list[dict[str, Any]]:
    """Families with their blocks, in the library's order."""
    return [
        {"family": family, "blocks": [entry(kind) for kind in members.values()]} for family, members in block_families().items()
    ]


def entry(kind: type[Block]) -> dict[str, Any]:
    return {"name": kind.__name__, "equation": equation(kind), "colour": kind.colour}


def page(kind: type[Block]) -> dict[str, Any]:
    """All that there is to say about a block."""
    return {
        **entry(kind),
        "doc": [list(part) for part in paragraphs(documentation(kind).partition("\n")[2])],
        "ports": [dict(zip(PORTS, row, strict=True)) for row in port_rows(kind)],
        "settings": [dict(zip(PARAMETERS, row, strict=True)) for row in parameter_rows(kind)],
        "example": kind.example.strip(),
    }
