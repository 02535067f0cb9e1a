"""Document: the text under edit, its past, and the file it belongs to, which others may change meanwhile."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...diagram.editing.edit import edit
from ...diagram.editing.history import History
from ...diagram.editing.operations import Change, Meaning
from ...diagram.files import read_file, write_whole
from ...diagram.spec import BlockSpec
from ...diagram.writer import moved
from ...errors import BlocksimError, DiagramError
from .drafts import Draft

FileStamp = tuple[int, int]


@dataclass
class Document:
    """A text with its history; `disk` is the file's text as it was last read or written here."""

    path: str
    history: History
    disk: str
    draft: Draft
    stamp: FileStamp | None = None
    outside: str | None = None  # what others wrote into the file while the text here differs from it
    news: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.history.text

    @property
    def dirty(self) -> bool:
        return self.history.text != self.disk

    def keep_draft(self) -> None:
        if self.dirty:
            self.draft.keep(self.text)
        else:
            self.draft.drop()

    def poll(self) -> str:
        """Look at the file: 'reloaded', 'conflict', 'gone', or '' where nothing is new."""
        stamp = stamp_of(self.path)
        if stamp == self.stamp:
            return ""
        self.stamp = stamp
        if stamp is None:
            return "gone"
        text = read_file(self.path, self.path)
        if text == self.disk:
            self.outside = None
            return ""
        if self.dirty and text != self.text:
            self.outside = text
            return "conflict"
        self.history.type(text, "read from the file")
        self.disk, self.outside = text, None
        return "reloaded"

    def reload(self) -> None:
        """Take the file's text; the one here stays one undo away."""
        text = read_file(self.path, self.path)
        self.history.type(text, "read from the file")
        self.disk, self.outside, self.stamp = text, None, stamp_of(self.path)

    def save(self, force: bool = False) -> None:
        """Write the text to its file. Refused, in words, where others changed it since it was read here."""
        present: str | None = None
        with contextlib.suppress(DiagramError):
            present = read_file(self.path, self.path) if os.path.exists(self.path) else None
        if present is not None and present not in (self.disk, self.text) and not force:
            self.outside = present
            raise BlocksimError(
                f"'{self.path}' was changed outside since it was read here. Nothing is written. Take the file's text (yours "
                "stays in undo), overwrite it, or save under another name."
            )
        try:
            write_whole(self.path, self.text)
        except OSError as error:
            raise BlocksimError(f"'{self.path}' cannot be written: {error.strerror or error}. The draft is kept.") from None
        self.disk, self.outside, self.stamp = self.text, None, stamp_of(self.path)
        self.draft.drop()

    def save_as(self, path: str, force: bool = False) -> None:
        """Write the text to another file and go on there; the files it names are found from there."""
        target = path if path.endswith((".yaml", ".yml")) else f"{path}.yaml"
        if not Path(target).parent.is_dir():
            raise BlocksimError(f"there is no folder '{Path(target).parent}' (looked in {os.getcwd()}).")
        if os.path.exists(target) and not force and os.path.realpath(target) != os.path.realpath(self.path):
            raise BlocksimError(f"there is a file '{target}' already. Choose another name, or overwrite it.")
        old, new = (os.path.dirname(os.path.abspath(name)) for name in (self.path, target))
        text = self.text
        if os.path.realpath(old) != os.path.realpath(new):
            with contextlib.suppress(DiagramError):  # what cannot be read is saved as it is
                text = edit(text, at_another_place, old, new).text
        self.draft.drop()
        self.path, self.draft = target, replace(self.draft, path=target)
        self.history.type(text, f"saved as {target}")
        self.save(force=True)


def stamp_of(path: str) -> FileStamp | None:
    """When the file was written and how long it is; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def at_another_place(meaning: Meaning, old: str, new: str) -> Change:
    """The same diagram in another folder: relative paths of parts and data lead to where they led."""
    blocks = {}
    for name, entry in (meaning.get("blocks") or {}).items():
        blocks[name] = entry
        if isinstance(entry, dict) and isinstance(entry.get("type"), str):
            settings = {"file": entry["file"]} if isinstance(entry.get("file"), str) else {}
            block = moved(BlockSpec(name, entry["type"], settings=settings), old, new)
            blocks[name] = {k: block.type if k == "type" else block.settings.get(k, v) for k, v in entry.items()}
    result: dict[str, Any] = {**meaning, "blocks": blocks}
    record = meaning.get("record")
    file = record.get("file") if isinstance(record, dict) else None
    if isinstance(record, dict) and isinstance(file, str) and os.path.isfile(os.path.join(old, file)):
        result["record"] = {**record, "file": os.path.relpath(os.path.join(old, file), new)}
    return Change(result, "saved elsewhere")
