"""What `blocksim validate` prints and draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..diagram.build import open_diagram
from ..records.writing import finite_or_none, writing


def validated(
    file: str,
    parameters: Mapping[str, Any],
    allow_outside: bool,
    record: Path | None,
    estimates: list[Path],
    options: Mapping[str, Any],
    output: Path | None,
    as_json: bool,
) -> str:
    """One table for each set of values, and below several of them which is worth its parameters."""
    from ..estimation.validation import compared
    from ..running.validate import validate

    diagram = open_diagram(file, parameters, allow_outside=allow_outside)
    results = {str(path): validate(diagram, record, path, **options) for path in estimates}
    if not results:
        results[file] = validate(diagram, record, None, **options)
    if as_json:
        return json.dumps(finite_or_none({name: one.to_dict() for name, one in results.items()}), allow_nan=False)
    texts = [f"{name}: {one}" if len(results) > 1 else str(one) for name, one in results.items()]
    if len(results) > 1:
        texts.append("on the same held-back record:\n" + compared(results))
    for n, one in enumerate(results.values() if output is not None else ()):
        path = output if n == 0 else output.with_name(f"{output.stem}_{n + 1}{output.suffix}")  # type: ignore[union-attr]
        with writing(path):  # type: ignore[arg-type]
            one.plot(path)
        texts.append(f"wrote {path}")
    return "\n\n".join(texts)
