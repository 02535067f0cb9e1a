"""The results of a study on disk: one line of JSON per run, appended as they come, so that an interrupted study goes on.

The first line says which study it is. A last line torn by a crash or a full disk is dropped when the file is opened again; a run
that is there already is not written twice. Numbers are written as repr, which gives back the same bits. Every line ends with a
checksum of itself: one that was altered is as good as missing, and its run is made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import zlib
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import StudyError

FILE = "results.jsonl"
STORE_FORMAT = 2
CHECKSUM = re.compile(rb',"crc":"([0-9a-f]{8})"\}\n\Z')
MISSING = -1


class Store:
    """The lines of a study's runs, found by the number of the run. One process writes at a time."""

    def __init__(self, folder: str | os.PathLike[str], identity: str, runs: int, resume: bool = False):
        self.path = Path(folder) / FILE
        self.identity = identity
        self.offsets = array("q", [MISSING]) * runs
        self.done = 0
        self.altered = 0  # whole lines that do not fit their checksum
        self.end = 0
        self.lock = threading.Lock()
        there = self.path.exists() and self.path.stat().st_size > 0
        if there and not resume:
            raise StudyError(
                f"'{folder}' holds the results of a study already. Go on with it: --resume (in Python: resume=True); or name "
                "another folder: --out (out=)."
            )
        with wording(self.path, "be opened"):
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        try:
            claim(self.fd, folder)
            if there:
                self.take_up(folder)
            if self.end == 0:
                self.write(sealed(json.dumps({"study": STORE_FORMAT, "identity": identity, "runs": runs})))
        except BaseException:
            self.close()
            raise

    def take_up(self, folder: str | os.PathLike[str]) -> None:
        """Find what is there, and cut off what was only half written."""
        with open(self.path, "rb") as stream:
            for number, line in enumerate(stream):
                value = complete_line(line)
                if number == 0:
                    if value is None:
                        break  # not even the first line was finished
                    self.check_identity(value, folder)
                elif value is not None:
                    self.note(value.get("run"), self.end)
                elif not line.endswith(b"\n"):
                    break
                else:
                    self.altered += 1
                self.end += len(line)
        with wording(self.path, "be cut to its last whole line"):
            os.ftruncate(self.fd, self.end)

    def check_identity(self, header: dict[str, Any], folder: str | os.PathLike[str]) -> None:
        if header.get("identity") != self.identity or header.get("runs") != len(self.offsets):
            raise StudyError(
                f"the results in '{folder}' are of another study: its file, a diagram, a data file or the version of blocksim "
                "has changed since. Undo the change, or start anew in another folder: --out (in Python: out=)."
            )

    def note(self, run: Any, offset: int) -> bool:
        """Remember where a run's line starts; False where it is known or no run of this study."""
        if type(run) is not int or not 0 <= run < len(self.offsets) or self.offsets[run] != MISSING:
            return False
        self.offsets[run] = offset
        self.done += 1
        return True

    def add(self, results: Iterable[tuple[int, str]]) -> list[int]:
        """Append the lines of some runs and wait until the disk has them; gives the runs that were new."""
        with self.lock:
            text, fresh, offset = "", [], self.end
            for run, line in results:
                if self.offsets[run] == MISSING and run not in fresh:
                    fresh.append(run)
                    text += sealed(line)
            if not fresh:
                return []
            self.write(text)
            for run, line in zip(fresh, text.split("\n"), strict=False):
                self.note(run, offset)
                offset += len(line.encode()) + 1
            return fresh

    def write(self, text: str) -> None:
        """All of a text or nothing: what a full disk took in part is cut off again."""
        data = text.encode()
        try:
            append(self.fd, data)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self.fd, self.end)
            raise StudyError(
                f"'{self.path}' cannot be written: {error.strerror or error}. What was computed before is kept: {self.done} of "
                f"{len(self.offsets)} runs. Make room, then go on with --resume (in Python: resume=True)."
            ) from None
        self.end += len(data)

    def __contains__(self, run: int) -> bool:
        return self.offsets[run] != MISSING

    def missing(self) -> array[int]:
        """The runs that are still to be made, in order."""
        return array("q", (run for run, offset in enumerate(self.offsets) if offset == MISSING))

    def read(self, first: int, count: int) -> list[dict[str, Any]]:
        """The results of runs first ... first + count - 1, by number; those not made are left out."""
        return list(self.each(first, count))

    def each(self, first: int, count: int) -> Iterator[dict[str, Any]]:
        """The same one by one, so that memory holds one of them."""
        with open(self.path, "rb") as stream:
            for run in range(first, first + count):
                if run in self:
                    if stream.tell() != self.offsets[run]:
                        stream.seek(self.offsets[run])
                    yield self.read_line(stream.readline())

    def read_line(self, line: bytes) -> dict[str, Any]:
        value = complete_line(line)
        if value is None:
            raise StudyError(f"'{self.path}' was altered while it was read. --resume (in Python: resume=True) mends it.")
        return value

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.fd)  # gives up the claim, too


def sealed(line: str) -> str:
    """A line of JSON with the checksum of itself as its last entry."""
    return f'{line[:-1]},"crc":"{zlib.crc32(line.encode()):08x}"}}\n'


def append(fd: int, data: bytes) -> None:
    """Write all bytes and have the disk confirm them."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.fsync(fd)


def complete_line(line: bytes) -> dict[str, Any] | None:
    """The value of a line that was written to its end and not altered since; None for any other."""
    match = CHECKSUM.search(line)
    if match is None or int(match[1], 16) != zlib.crc32(line[: match.start()] + b"}"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def claim(fd: int, folder: str | os.PathLike[str]) -> None:
    """Keep others from writing to the same study; the system gives the claim up when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StudyError(f"another process is running the study in '{folder}'. Wait for it, or name another folder.") from None
    except OSError:  # a file system without locks
        return


@contextlib.contextmanager
def wording(path: Path, act: str) -> Any:
    try:
        yield
    except OSError as error:
        raise StudyError(f"'{path}' cannot {act}: {error.strerror or error}.") from None
