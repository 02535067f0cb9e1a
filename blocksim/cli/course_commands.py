"""`blocksim course`: assignments that mark themselves; `new` is for students, `open`, `measure`, `mark`, `board` for teachers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..errors import BlocksimError, DiagramError, Problem
from .arguments import with_errors_told

course = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Assignments with a robot for every student.")

Class = Annotated[
    Path | None, typer.Option("--class", metavar="DIR", help="The folder of the class; else the one BLOCKSIM_CLASS names.")
]


def each_of(paths: list[Path], act: Callable[[Path], None]) -> None:
    """Act on every file of a class; one student's mistake is told and does not keep the others waiting."""
    from . import console

    refused = 0
    for path in paths:
        try:
            act(path)
        except BlocksimError as error:
            problems = error.problems if isinstance(error, DiagramError) else [Problem(str(error))]
            console.complain(DiagramError([p if p.where else Problem(f"{path}: {p.what}") for p in problems]))
            refused += 1
    if refused:
        raise typer.Exit(2)


@course.command("list")
@with_errors_told
def list_command() -> None:
    """The lessons that have an assignment."""
    from ..course.assignment import lessons

    for number, title in lessons().items():
        typer.echo(f"{number:3}  {title}")


@course.command("new")
@with_errors_told
def new_command(
    lesson: Annotated[str, typer.Argument(help="The number of a lesson; `blocksim course list` has them.")],
    student: Annotated[str, typer.Option(help="Who: the robot depends on it.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write it.")] = None,
) -> None:
    """Write a student's assignment: the task, and files to fill in.

    A loop to try things on, an experiment and a submission.
    """
    from ..course.assignment import assignment_of
    from ..course.handout import write_handout
    from ..course.secret import checked_student

    name = checked_student(student)
    for path in write_handout(assignment_of(lesson), name, out or Path(f"lesson-{lesson}-{name}")):
        typer.echo(f"wrote {path}")


@course.command("open")
@with_errors_told
def open_command(folder: Annotated[Path, typer.Argument(help="A new folder, which only the teacher can read.")]) -> None:
    """Open a class: make the secret that every robot comes from."""
    from ..course.ledger import open_class

    open_class(folder)
    typer.echo(f"wrote {folder / 'secret.key'}: keep it, and give it to nobody. Without it nothing can be measured or marked.")


@course.command("measure")
@with_errors_told
def measure_command(
    experiments: Annotated[list[Path], typer.Argument(help="Experiment files of students.")],
    class_: Class = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where records go, by student and lesson; else beside each experiment.")
    ] = None,
) -> None:
    """Run students' experiments on their robots; write the records.

    Each within the budget of its student.
    """
    from ..course.ledger import class_folder, measure_within_budget
    from ..course.measure import write_measurement
    from ..course.request import read_request
    from ..records.writing import make_folder

    own = class_folder(class_)

    def measure(path: Path) -> None:
        request = read_request(path)
        measurement, used = measure_within_budget(own, request)
        folder = out / request.student / f"lesson-{request.assignment.lesson}" if out else path.parent
        make_folder(folder)
        target = folder / f"record_{used.runs}.csv"
        write_measurement(measurement, target)
        budget = request.assignment.budget
        who = f"{request.student}, lesson {request.assignment.lesson}"
        typer.echo(f"wrote {target} for {who}: {measurement.stopped or f'{measurement.seconds:g} s'}")
        typer.echo(f"  used {used.seconds:g} of {budget.seconds:g} s, {used.runs} of {budget.runs} experiments")

    each_of(experiments, measure)


@course.command("mark")
@with_errors_told
def mark_command(
    submissions: Annotated[list[Path], typer.Argument(help="Submission files of students.")],
    class_: Class = None,
    again: Annotated[bool, typer.Option("--again", help="Mark a student who was marked before once more.")] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="For the teacher: errors and claims in bounds too.")] = False,
) -> None:
    """Mark submissions by the truth: how near, and how honest."""
    from ..course.ledger import class_folder
    from ..course.marking import mark_once, read_submission

    own = class_folder(class_)

    def mark_file(path: Path) -> None:
        mark = mark_once(read_submission(path), own, again)
        typer.echo(str(mark))
        for part in mark.parts if reveal else ():
            numbers = f"error {part.error_in_bounds:.2f} bounds, claim {part.std_in_bounds:.2f} bounds, z {part.z:.2f}"
            typer.echo(f"  {part.name:<12} {numbers}")

    each_of(submissions, mark_file)


@course.command("board")
@with_errors_told
def board_command(
    class_: Class = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="The page.")] = Path("board.html"),
    title: Annotated[str, typer.Option(help="Its heading.")] = "Class",
) -> None:
    """Write the page of the class: points of everybody, best first."""
    from ..course.board import board_page
    from ..course.ledger import class_folder
    from ..diagram.files import write_whole

    write_whole(output, board_page(class_folder(class_).entries("marks.jsonl"), title))
    typer.echo(f"wrote {output}")
