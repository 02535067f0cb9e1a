"""Parameters of a file that nothing in it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..diagram.diagram import Diagram
from ..errors import Finding
from ..schedule.clock import key_place


def parameter_findings(diagram: Diagram) -> Iterator[Finding]:
    """Parameters that stand in no ${...}: whoever changes them changes nothing. A text may be a name for tables."""
    if diagram.spec is None:
        return
    text = repr(replace(diagram.spec, text="", description=""))
    for name, value in diagram.spec.parameters.items():
        if not isinstance(value, str) and not re.search(rf"\$\{{[^}}]*\b{re.escape(name)}\b", text):
            yield Finding(
                "unused-parameter",
                f"parameter '{name}' of the file is used by nothing in it.",
                f"Write ${{{name}}} where it is meant, or leave it out.",
                key_place(diagram, "parameters"),
            )
