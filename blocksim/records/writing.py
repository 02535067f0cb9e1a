"""Writing files of results: folders, JSON that every reader takes, what the system says against it in words."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..diagram.files import whole_file
from ..errors import BlocksimError

#: What a spreadsheet would compute, quoted already or not.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


def finite_or_none(value: Any) -> Any:
    """The value with None for every number that is not finite."""
    if isinstance(value, dict):
        return {key: finite_or_none(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_none(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """What the system says against writing a file, as an error in words."""
    try:
        yield
    except OSError as error:
        raise BlocksimError(f"'{path}' cannot be written: {error.strerror or error}.") from None


def make_folder(folder: Path) -> None:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Piece by piece: the text of a long list takes many times the memory of its numbers."""
    plain = finite_or_none(value)
    with whole_file(path) as scratch, scratch.open("w", encoding="utf-8", newline="\n") as stream:
        json.dump(plain, stream, indent=1, allow_nan=False)
        stream.write("\n")


def text_cell(text: str) -> str:
    """A name or a text for a cell of a csv file: a spreadsheet takes what begins with = + - @ for a formula, unless quoted."""
    return f"'{text}" if FORMULA.match(text) else text


def cell_text(cell: str) -> str:
    """What `text_cell` wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def versions() -> dict[str, str]:
    """What the numbers may depend on beside the diagram."""
    import platform
    from importlib.metadata import version

    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
    }
