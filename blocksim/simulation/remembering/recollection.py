"""What was prepared is remembered: a diagram that comes again, by content, is found opened and ready.

A file counts as the same while it, the subsystems it is made of and the data it reads are the same. The oldest are forgotten.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...contract.library import registered
from ...diagram.diagram import Diagram
from .content import UnknownContentError, content_of, frozen, snapshot
from .opened import OpenedDiagram, files_of
from .shelf import Shelf

#: How many diagrams are remembered, and how many bytes of numbers and tables they may hold together.
MOST, MOST_BYTES = 64, 512 * 2**20
#: A file written less than this many nanoseconds before it was read may be written again within the same time stamp.
JUST_WRITTEN = 2 * 10**9


@dataclass
class Stamp:
    """A file as it was when it was read."""

    path: str
    status: tuple[int, int, int]  # time of the last change, length, inode
    read: int  # when, in nanoseconds
    digest: bytes

    def still_true(self) -> bool:
        """Whether the file is what it was; its text is read again only where its time stamp does not tell."""
        try:
            status, now = status_of(self.path), time.time_ns()
            if status == self.status and self.read - status[0] > JUST_WRITTEN:
                return True
            if digest_of(self.path) != self.digest:
                return False
        except OSError:
            return False
        self.status, self.read = status, now
        return True


def stamp(path: str) -> Stamp:
    return Stamp(path, status_of(path), time.time_ns(), digest_of(path))


def status_of(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size, status.st_ino


def digest_of(path: str) -> bytes:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


@dataclass
class Entry:
    """A diagram that was opened, and the files it came from."""

    opened: OpenedDiagram
    stamps: list[Stamp]


class Recollection:
    """OpenedDiagram diagrams by the content they were made from."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES):
        self.shelf: Shelf[Entry] = Shelf(most)
        self.most_bytes = most_bytes

    def recall(self, source: Any, options: Mapping[str, Any], make: Callable[[Any], OpenedDiagram]) -> OpenedDiagram:
        """The diagram that `source` names, opened with these options: remembered, or made now."""
        try:
            key = (content_of(source), frozen(dict(options)), tuple(registered()), os.getcwd())
        except UnknownContentError:
            return make(source)
        entry = self.shelf.find(key)
        if entry is not None and not all(one.still_true() for one in entry.stamps):
            self.shelf.drop(key)
        # What is remembered must not change when the diagram's maker goes on with it.
        entry = self.shelf.recall(key, lambda: remembered(snapshot(source) if isinstance(source, Diagram) else source, make))
        self.shrink()
        return entry.opened

    def shrink(self) -> None:
        """Forget the oldest while all together hold too much."""
        entries = self.shelf.values()
        sizes = [entry.opened.size for entry in entries]
        while len(sizes) > 1 and sum(sizes) > self.most_bytes:
            self.shelf.oldest()
            sizes.pop(0)


def remembered(source: Any, make: Callable[[Any], OpenedDiagram]) -> Entry:
    """Open a diagram and stamp its files; one that changed meanwhile has a stamp that is never true."""
    begin = time.time_ns()
    opened = make(source)
    stamps = []
    for path in sorted(set(files_of(opened.diagram))):
        try:
            one = stamp(path)
        except OSError:
            one = Stamp(path, (0, 0, 0), 0, b"")
        stamps.append(one if one.status[0] < begin else Stamp(path, (0, 0, 0), 0, b""))
    return Entry(opened, stamps)


#: What this process has prepared.
RECOLLECTION = Recollection()
