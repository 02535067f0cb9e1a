"""ClassFolder: what the teacher holds, the secret, a ledger of every experiment, and the marks. Students never get it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DiagramError
from ..records.writing import make_folder
from .measure import Measurement, measure_robot, rehearse
from .request import ExperimentRequest
from .secret import new_secret, read_secret

VARIABLE = "BLOCKSIM_CLASS"


@dataclass(frozen=True)
class ClassFolder:
    """secret.key, ledger.jsonl and marks.jsonl in one folder."""

    path: Path

    @property
    def secret(self) -> bytes:
        return read_secret(self.path / "secret.key")

    def entries(self, name: str) -> list[dict[str, Any]]:
        """The lines of ledger.jsonl or marks.jsonl."""
        file = self.path / name
        if not file.is_file():
            return []
        rows = []
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            try:
                rows.append(dict(json.loads(line)))
            except (ValueError, TypeError):
                raise DiagramError(f"{file}:{number}: this line is damaged. Mend or remove it; the others are kept.") from None
        return rows

    def append(self, name: str, entry: dict[str, Any]) -> None:
        """One more line, on the disk before anything is handed out."""
        with open(self.path / name, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """One experiment or mark at a time, so that no budget is spent twice."""
        lock = self.path / "lock"
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise DiagramError(f"'{lock}' says that another command is at work in this class. If none is, remove it.") from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def open_class(folder: Path) -> ClassFolder:
    """A new class: a folder with a secret of its own."""
    make_folder(folder)
    folder.chmod(0o700)  # the ledger and the marks are the teacher's too
    new_secret(folder / "secret.key")
    return ClassFolder(folder)


def class_folder(folder: Path | None) -> ClassFolder:
    """The class of a folder, or of the one that BLOCKSIM_CLASS names."""
    place = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if place is None:
        raise DiagramError(
            f"which class? Name its folder with --class, or in {VARIABLE}. A new one: blocksim course open FOLDER."
        )
    if not (place / "secret.key").is_file():
        raise DiagramError(f"'{place}' is no folder of a class: there is no secret.key. A new one: blocksim course open FOLDER.")
    return ClassFolder(place)


@dataclass(frozen=True)
class Spent:
    """What a student has used of a lesson's budget."""

    runs: int
    seconds: float


def spent(own: ClassFolder, lesson: int, student: str) -> Spent:
    rows = [row for row in own.entries("ledger.jsonl") if row["lesson"] == lesson and row["student"] == student]
    return Spent(len(rows), sum(float(row["seconds"]) for row in rows))


def measure_within_budget(own: ClassFolder, request: ExperimentRequest) -> tuple[Measurement, Spent]:
    """Run the request if the student's budget allows it; what it took is written down before the record is given away.

    What fails at home is refused and free. A run of the true robot counts, whatever comes of it: a refusal that depends on
    the robot says something of it, and could be asked for as often as one likes.
    """
    assignment, budget = request.assignment, request.assignment.budget
    with own.alone():
        before = spent(own, assignment.lesson, request.student)
        left = budget.seconds - before.seconds
        if before.runs >= budget.runs:
            raise DiagramError(f"the budget of lesson {assignment.lesson} is used: {before.runs} of {budget.runs} experiments.")
        if request.seconds > left * (1 + 1e-9):
            raise DiagramError(
                f"seconds: found {request.seconds:g}, and {left:g} of {budget.seconds:g} are left. Ask for a shorter experiment."
            )
        rehearse(request)
        entry = {"lesson": assignment.lesson, "student": request.student, "number": before.runs + 1, "seconds": 0.0}
        entry |= {"sources": request.sources, "settings": request.settings}
        try:
            measurement = measure_robot(request, own.secret, before.runs + 1)
        except DiagramError as error:
            own.append("ledger.jsonl", entry)
            raise DiagramError(f"{error} It counts as one of {budget.runs} experiments.") from None
        own.append("ledger.jsonl", entry | {"seconds": measurement.seconds})
    return measurement, spent(own, assignment.lesson, request.student)
