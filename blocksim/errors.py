"""One family of errors: where it is, what was found, what is allowed, what to do."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """A line of a file, the spot an error points at."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, in words, and where."""

    what: str
    where: Place | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclass(frozen=True)
class Finding:
    """Something that runs and cannot be meant: its short name (a section of docs/warnings.md), what was found, what to do."""

    name: str
    what: str
    remedy: str
    where: Place | None = None

    def __str__(self) -> str:
        return f"{f'{self.where}: ' if self.where else ''}warning: {self.what} {self.remedy} [{self.name}]"


class BlocksimError(Exception):
    """Everything blocksim raises on purpose. Where a run had begun, `record` holds what there was of it."""

    record: Any = None

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the reader's own line and the words, without the lines of the library."""
        import traceback

        home = os.path.dirname(__file__)
        frames = traceback.extract_tb(self.__traceback__)
        own = [f for f in frames if not f.filename.startswith(home) and "site-packages" not in f.filename]
        line = [f"line {own[-1].lineno}: {own[-1].line}"] if own and own[-1].line else []
        return [*line, f"{type(self).__name__}: {self}"]


class BlockDefinitionError(BlocksimError):
    """A block class that contradicts itself; raised when the class is made."""


class SolverDefinitionError(BlocksimError):
    """A solver whose coefficients contradict each other; raised when its tableau is made."""


class DiagramError(BlocksimError):
    """A file or a diagram that cannot be run, or blocks that cannot use their record: all problems at once."""

    def __init__(self, problems: Iterable[Problem] | str, record: Any = None):
        self.problems = [Problem(problems)] if isinstance(problems, str) else list(problems)
        self.record = record
        super().__init__("\n".join(str(p) for p in self.problems))


class RecordError(BlocksimError):
    """A record that cannot be read, written or sliced as asked."""


class StudyError(BlocksimError):
    """A study that cannot go on; what it computed so far is in its folder."""


class SimulationError(BlocksimError):
    """A run that ended early; what was recorded up to there is in `record`."""

    def __init__(self, message: str, *, time: float, block: str = "", state: str = "", where: Place | None = None):
        super().__init__(message)
        self.time, self.block, self.state, self.where = time, block, state, where


def did_you_mean(word: object, options: Iterable[str]) -> str:
    """' Did you mean 'kp'?' or nothing."""
    by_lower = {o.lower(): o for o in options}
    close = difflib.get_close_matches(str(word).lower(), list(by_lower), n=1, cutoff=0.6)
    return f" Did you mean '{by_lower[close[0]]}'?" if close else ""


def lines_of(places: Iterable[Place | None]) -> str:
    """' (lines 4 and 7)' for places in one file, ' (a.yaml:4, b.yaml:7)' for more; nothing where a place is not known."""
    unique = list(dict.fromkeys(places))
    spots = sorted((place for place in unique if place is not None), key=lambda place: (place.file, place.line))
    if not spots or len(spots) < len(unique):
        return ""
    if len({place.file for place in spots}) > 1:
        return f" ({listing(spots)})"
    *most, last = [str(place.line) for place in spots]
    return f" (lines {', '.join(most)} and {last})" if most else f" (line {last})"


def listing(options: Iterable[object]) -> str:
    """Names for a message, in the order given: 'a, b, c', or 'nothing'."""
    return ", ".join(str(o) for o in options) or "nothing"
