"""What a student gets to begin with: the task, the loop with round numbers, an experiment and a submission to fill in."""

from __future__ import annotations

from pathlib import Path

from ..diagram.files import find_diagram, read_file, write_whole
from ..errors import DiagramError
from ..notation import unit_label
from ..records.writing import make_folder
from .assignment import Assignment
from .request import own_loop


def write_handout(assignment: Assignment, student: str, folder: Path) -> list[Path]:
    """The files of an assignment, none of which depends on the secret; what is there already is not overwritten."""
    make_folder(folder)
    path = find_diagram(assignment.diagram)
    texts = {
        "README.md": task_text(assignment, student),
        "loop.yaml": loop_text(assignment, read_file(path, path)),
        "experiment.yaml": experiment_text(assignment, student),
        "submission.yaml": submission_text(assignment, student),
    }
    obstacles = [name for name in texts if (folder / name).exists()]
    if obstacles:
        raise DiagramError(f"'{folder / obstacles[0]}' is there already. Name another folder with --out.")
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


def task_text(assignment: Assignment, student: str) -> str:
    budget = assignment.budget
    limits = ", ".join(f"|{signal}| <= {limit:g}" for signal, limit in budget.limits.items())
    ranges = "\n".join(
        f"| `{name}` | {low:g} to {high:g} | {unit_label(assignment.units[name])} |"
        for name, (low, high) in assignment.ranges.items()
    )
    conditions = "".join(f" `{name}` is {value:g} on the robot." for name, value in assignment.conditions.items())
    sources = "\n".join(f"- `{block}`: {', '.join(types)}" for block, types in assignment.sources.items())
    settings = "".join(f"- `{name}`: {low:g} to {high:g}\n" for name, (low, high) in assignment.settings.items())
    outputs = ",".join(assignment.outputs)
    return f"""# Lesson {assignment.lesson}: {assignment.title}

For {student}. The robot is yours alone: no other student has its numbers.

{assignment.task}

| parameter | lies between | unit |
|---|---|---|
{ranges}

## Budget

{budget.seconds:g} s in at most {budget.runs} experiments. Beyond {limits} the robot is switched off; you keep the record so far.
Every run of your robot counts, whatever comes of it. What `loop.yaml` cannot do either is refused, and costs nothing.

An experiment may choose these sources and settings:

{sources}
{settings}
## How to go on

1. `loop.yaml` is the loop with round numbers in place of the truth.{conditions} Try experiments there: `blocksim run loop.yaml`,
   `blocksim information loop.yaml -p {",".join(assignment.parameters)} -y {outputs}`, `blocksim design`.
2. Write the experiment you want into `experiment.yaml` and hand it to your teacher, who returns a record with the columns
   t, {", ".join(assignment.measured)}: `blocksim course measure experiment.yaml`.
3. Put your sources and settings into `loop.yaml`, add identifiers, and run them on the record:
   `blocksim identify loop.yaml --record record_1.csv`.
4. Fill in `submission.yaml`: values, and standard deviations that you believe. It is marked once.

60 points are for values near the truth, 40 for standard deviations that can be believed. A claim that is too narrow costs more
than one that is too wide; one that says no more than the table above earns nothing.
"""


def loop_text(assignment: Assignment, text: str) -> str:
    """The bundled loop, with this lesson's conditions said on top and the record's columns at the end."""
    signals = ", ".join(f"{signal}: {column}" for column, signal in assignment.measured.items())
    conditions = "".join(f"# On the robot: {name} = {value:g}\n" for name, value in assignment.conditions.items())
    sources = ", ".join(assignment.sources)  # not measured, and known: they acted as the experiment says
    return f"{conditions}{text.rstrip()}\nrecord: {{signals: {{{signals}}}, assume: [{sources}]}}\n"


def experiment_text(assignment: Assignment, student: str) -> str:
    """An experiment to begin with: short, and with the loop's own sources and settings."""
    path = find_diagram(assignment.diagram)
    text = read_file(path, path)
    names = tuple(f"{block}:" for block in assignment.sources)
    lines = [line for line in text.splitlines() if line.strip().startswith(names)]
    blocks = own_loop(assignment)["blocks"]
    own = {name: blocks[block][key] for name in assignment.settings for block, _, key in [name.partition(".")]}
    settings = "".join(f"#  {name}: {value:g}\n" for name, value in own.items())
    note = f"#settings:\n{settings}" if settings else ""
    body = "\n".join(lines)
    return f"format: 1\nexperiment: {assignment.lesson}\nstudent: '{student}'\nseconds: 10\nsources:\n{body}\n{note}"


def submission_text(assignment: Assignment, student: str) -> str:
    rows = "".join(f"  {name}: {{value: , std: }}    # {unit_label(assignment.units[name])}\n" for name in assignment.parameters)
    return f"format: 1\nsubmission: {assignment.lesson}\nstudent: '{student}'\nestimates:\n{rows}"
