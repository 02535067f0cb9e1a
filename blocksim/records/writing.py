"""Writing files of results: folders, JSON that every reader takes, what the system says against it in words."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BlocksimError


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
    path.write_text(json.dumps(finite_or_none(value), indent=1, allow_nan=False) + "\n", encoding="utf-8")


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
