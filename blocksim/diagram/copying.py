"""A diagram with the files of its subsystems, written into one folder that can be moved and run elsewhere."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from .diagram import Diagram
from .files import is_subsystem, read_file, write_whole
from .loader import parse_spec
from .spec import Spec
from .writer import as_spec, dump, moved, moved_record

PARTS = "parts"


def write_copy(diagram: Diagram, path: str | os.PathLike[str]) -> None:
    """Write the diagram to `path` and its subsystems to the folder `parts` beside it; data files stay where they are."""
    target = Path(path)
    names: dict[str, str] = {}  # of the copies, by the real path of what they copy
    text = dump(relinked(as_spec(diagram), target.parent, f"./{PARTS}/", names))
    write_whole(target, text)


def relinked(spec: Spec, folder: Path, prefix: str, names: dict[str, str]) -> Spec:
    """The spec with its subsystems named `prefix` + copy, each copied into `folder`/parts."""
    old = os.path.dirname(os.path.abspath(spec.path))
    new = os.path.abspath(folder if prefix != "./" else folder / PARTS)
    blocks = {}
    for name, block in spec.blocks.items():
        if is_subsystem(block.type):
            source = os.path.join(old, block.type)
            blocks[name] = replace(moved(block, old, new), type=prefix + copied(source, folder, names))
        else:
            blocks[name] = moved(block, old, new)
    return replace(spec, blocks=blocks, record=moved_record(spec.record, old, new))


def copied(source: str, folder: Path, names: dict[str, str]) -> str:
    """The name of a subsystem's copy, made when it is asked for first."""
    real = os.path.realpath(source)
    if real not in names:
        stem, number = Path(real).stem, 1
        while (name := f"{stem}{'' if number == 1 else f'_{number}'}.yaml") in names.values():
            number += 1
        names[real] = name
        text = read_file(real, source)
        spec = parse_spec(text, real)
        if any(is_subsystem(block.type) or "file" in block.settings for block in spec.blocks.values()):
            text = dump(relinked(spec, folder, "./", names))
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        write_whole(folder / PARTS / name, text)
    return names[real]
