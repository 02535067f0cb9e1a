"""Drafts: unsaved texts kept in the user's state folder, so that a closed tab or a dead machine loses nothing."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

from ...diagram.files import write_whole
from ..recent import state_folder

#: Drafts that nobody asked for again are swept after so many days.
KEPT_DAYS = 60


@dataclass
class Draft:
    """The draft of one tab for one file; it is there while the text differs from the file."""

    path: str
    own: str = field(default_factory=lambda: secrets.token_hex(6))

    def folder(self) -> Path | None:
        """Where drafts lie; None for one who has no home."""
        folder = state_folder()
        return None if folder is None else folder / "drafts"

    def stem(self) -> str:
        return hashlib.sha256(os.path.realpath(self.path).encode()).hexdigest()[:20]

    def keep(self, text: str) -> None:
        """Write the text; where there is no place for drafts, nothing is kept."""
        folder = self.folder()
        if folder is None:
            return
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(folder / f"{self.stem()}-{self.own}.yaml", text)

    def drop(self) -> None:
        self.remove(f"{self.stem()}-{self.own}.yaml")

    def remove(self, name: str) -> None:
        folder = self.folder()
        if folder is not None and name.startswith(self.stem()):
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)

    def others(self, disk: str, text: str) -> list[dict[str, str]]:
        """Drafts that other tabs or earlier days left of this file and that say something else than `text`, the newest first.

        One that says what is on the disk by now is of no use and goes.
        """
        folder = self.folder()
        if folder is None or not folder.is_dir():
            return []
        rows = []
        for path in folder.glob(f"{self.stem()}-*.yaml"):
            if self.own in path.name:
                continue
            with contextlib.suppress(OSError, UnicodeDecodeError):
                age = time.time() - path.stat().st_mtime
                content = path.read_bytes().decode()
                if content == disk or age > 86400 * KEPT_DAYS:
                    path.unlink(missing_ok=True)
                elif content != text:
                    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - age))
                    rows.append((age, {"name": path.name, "when": when, "text": content}))
        return [row for _, row in sorted(rows, key=lambda pair: pair[0])]
