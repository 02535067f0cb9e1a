"""What several commands share: the arguments they take, what their texts say, and how their errors are told."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BlocksimError, DiagramError, Problem, SimulationError

File = Annotated[str, typer.Argument(metavar="FILE", help="A diagram: a path, or a bundled name such as basics/servo.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="BLOCK.PARAM=VALUE",
        help="Change a setting, or a parameter of the diagram (NAME=VALUE). May be repeated.",
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="SOURCE", help="A source the record does not hold, which acted as in the diagram."),
]
ColumnMap = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="SIGNAL=COLUMN", help="The column a signal is read from, 'arm=q [deg]' with its unit. May be repeated."
    ),
]
TimeColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column of time, when not t or time; 'zeit [ms]' with its unit.")
]
RowInterval = Annotated[str | None, typer.Option(help="Interval of the rows [s], in place of a column of time.")]
EvenGrid = Annotated[str | None, typer.Option(metavar="SECONDS", help="Put an uneven record on an even grid first.")]
MissingRule = Annotated[str | None, typer.Option(help="What to do with nan: refuse or bridge.")]
AllowOutside = Annotated[bool, typer.Option("--allow-outside", help="Let the diagram read files outside its own folder.")]
OwnBlocks = Annotated[
    list[Path] | None,
    typer.Option("--blocks", metavar="FILE.py", help="A Python file with blocks of your own, which is run. May be repeated."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to write it.")]

TIMES = ("step", "every", "stop")


def with_errors_told(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are read by people: words on stderr and an exit code, never a traceback.

    One that takes a FILE also takes --blocks, whose blocks are known before the file is read.
    """
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        from . import console

        own = options.pop("own_blocks", None)
        try:
            if own:
                from .block_files import register_files

                register_files(own)
            command(*args, **options)
        except BlocksimError as error:
            console.complain(error, own)
            raise typer.Exit(1 if isinstance(error, SimulationError) else 2) from None
        except KeyboardInterrupt as interrupt:
            typer.echo(str(interrupt) or "interrupted", err=True)
            raise typer.Exit(130) from None

    if "file" in signature.parameters:
        more = inspect.Parameter("own_blocks", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OwnBlocks)
        run.__dict__["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), more])
        run.__annotations__ = {**command.__annotations__, "own_blocks": OwnBlocks}
    return run


# ---- what the texts say ---------------------------------------------------------------------------------------------------


def checked_options(**options: Any) -> dict[str, Any]:
    """The options that were given, as `simulate` takes them; what is wrong is said in the words of the command line."""
    from ..diagram.checks import simulate_problems
    from ..diagram.spec import SimulateSpec
    from ..solvers import DEFAULT, find_solver

    present = {name: value for name, value in options.items() if value is not None}
    for name in TIMES:
        if name in present:
            present[name] = scalar_or_text(present[name])
    problems = [Problem(p.what.replace("simulate: ", "--", 1)) for p in simulate_problems(replace(SimulateSpec(), **present), {})]
    try:
        find_solver(present.get("solver", DEFAULT))
    except DiagramError as error:
        problems += [Problem(f"--solver: {p.what}") for p in error.problems]
    if problems:
        raise DiagramError(problems)
    return present


def scalar_or_text(text: str) -> Any:
    """A number where the text is one."""
    from ..diagram.yaml_lines import scalar

    try:
        return scalar(text)
    except ValueError:
        return text


def read_settings(items: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """`--set` as values: the diagram's own parameters by name, and by path the blocks' settings, and elements of lists."""
    from ..diagram.checks import brief_value
    from ..diagram.yaml_lines import read_yaml

    problems, settings = [], dict[str, Any]()
    for item in items:
        name, equals, text = (part.strip() for part in item.partition("="))
        if not (name and equals and text):
            problems.append(Problem(f"--set {item}: write BLOCK.PARAM=VALUE, e.g. --set pid.kp=5, or NAME=VALUE."))
            continue
        if name in settings:
            problems.append(Problem(f"--set {item}: {name} is given twice, first as {brief_value(settings[name])}."))
        try:
            root, more = read_yaml(text, "")
            problems += [Problem(f"--set {item}: {p.what}") for p in more]
            settings[name] = root.plain()
        except DiagramError as error:
            problems += [Problem(f"--set {item}: {p.what}") for p in error.problems]
    if problems:
        raise DiagramError(problems)
    outer = {n: v for n, v in settings.items() if "." not in n and "[" not in n}
    return outer, {n: v for n, v in settings.items() if n not in outer}


def record_options(
    columns: list[str] | None,
    time: str | None,
    every: str | None,
    resample: str | None,
    missing: str | None,
    assume: list[str] | None,
) -> dict[str, Any]:
    """How a measured record is to be read, as options of `identify` and `validate`."""
    return {
        "time": time,
        "every": every,
        "resample": read_resample(resample),
        "missing": missing,
        "assume": assume,
        "columns": read_columns(columns or []),
    }


def read_columns(items: list[str]) -> dict[str, Any]:
    """`--map` as columns by signal: 'arm=q', 'arm=q [deg]', 'robot.q=q1,q2', 'arm={column: q, delay: 3e-3}'."""
    from ..diagram.yaml_lines import read_yaml
    from ..records.conversion import name_and_unit

    columns = {}
    for item in items:
        signal, equals, text = (part.strip() for part in item.partition("="))
        if signal and text.startswith("{"):
            root, more = read_yaml(text, "")
            if more:
                raise DiagramError(Problem(f"--map {item}: {p.what}") for p in more)
            columns[signal] = root.plain()
            continue
        column, unit = name_and_unit(text)
        names = [name.strip() for name in column.split(",")]
        if not (signal and equals and all(names)):
            raise DiagramError(f"--map {item}: write SIGNAL=COLUMN, e.g. --map encoder=qm or --map 'arm.q=angle [deg]'.")
        columns[signal] = {"column": names if len(names) > 1 else names[0], "unit": unit}
    return columns


def read_resample(text: str | None) -> Any:
    """`--resample` as an interval, or as the mapping that the file may hold: '{every: 4e-3, rows: even}'."""
    from ..diagram.yaml_lines import read_yaml

    if text is None or not text.strip().startswith("{"):
        return text
    root, more = read_yaml(text, "")
    if more:
        raise DiagramError(Problem(f"--resample {text}: {p.what}") for p in more)
    return root.plain()
