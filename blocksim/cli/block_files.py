"""Blocks of one's own from a Python file, asked for by name on the command line. A diagram can never ask for one: it is data."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ..contract.block import Block
from ..contract.library import register
from ..errors import BlocksimError, DiagramError

WANTED = "A file of blocks defines classes that inherit from blocksim.Block; docs/own-blocks.md has several."


def register_files(paths: Iterable[Path]) -> None:
    """Run each file and make its blocks known by name."""
    for path in paths:
        register(*file_blocks(path))


def file_blocks(path: Path) -> list[type[Block]]:
    """The public blocks that a file defines."""
    if not path.is_file():
        raise DiagramError(f"--blocks {path}: there is no such file. {WANTED}")
    if path.suffix != ".py":
        raise DiagramError(f"--blocks {path}: a Python file is wanted, its name ending in .py. {WANTED}")
    name = f"blocks_of_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DiagramError(f"--blocks {path}: it cannot be loaded as Python. {WANTED}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except BlocksimError as error:
        raise DiagramError(f"--blocks {path}: {error}") from error
    except Exception as error:  # whatever the file raises is its author's to hear
        line = getattr(error, "lineno", None) or last_line(error, path)
        raise DiagramError(f"--blocks {path}{f':{line}' if line else ''}: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.pop(0)
    kinds = [value for key, value in vars(module).items() if is_own(value, name) and not key.startswith("_")]
    if not kinds:
        raise DiagramError(f"--blocks {path}: it defines no block. {WANTED}")
    return kinds


def is_own(value: object, module: str) -> bool:
    kind = isinstance(value, type) and issubclass(value, Block) and value.__module__ == module
    return kind and not vars(value).get("abstract")


def last_line(error: BaseException, path: Path) -> int | None:
    """The line of the file that raised."""
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if os.path.basename(frame.filename) == path.name]
    return lines[-1] if lines else None
