"""What several commands share: the arguments they take, and how their errors are told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BlocksimError, SimulationError

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
AllowOutside = Annotated[bool, typer.Option("--allow-outside", help="Let the diagram read files outside its own folder.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to write it.")]


def with_errors_told(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are read by people: words on stderr and an exit code, never a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        from . import console

        try:
            command(*args, **options)
        except BlocksimError as error:
            console.complain(error)
            raise typer.Exit(1 if isinstance(error, SimulationError) else 2) from None
        except KeyboardInterrupt as interrupt:
            typer.echo(str(interrupt) or "interrupted", err=True)
            raise typer.Exit(130) from None

    return run
