"""A diagram as far as its text goes: what can be made of an unfinished file, and all that is wrong with it."""

from __future__ import annotations

from ...contract.library import library
from ...errors import DiagramError, Problem
from ..build import Site, assemble
from ..diagram import Diagram, inports
from ..files import folders_for
from ..loader import parse_spec
from .wires import Ports


def sketch(text: str, path: str = "", allow_outside: bool = False) -> tuple[Diagram | None, list[Problem]]:
    """The diagram of a text, and its problems; none where the text is no YAML or no diagram at all."""
    try:
        spec = parse_spec(text, path, allow_outside)
        site = Site(library(), folders_for(path, allow_outside))
        return assemble(spec, {}, site), site.problems
    except DiagramError as error:
        return None, error.problems


def input_ports(diagram: Diagram) -> dict[str, Ports]:
    """The inputs of every block in order, and whether each takes many signals."""
    return {name: {port: bool(d.many) for port, d in inports(node.block).items()} for name, node in diagram.nodes.items()}
