"""What several commands share: the arguments they take, and how their errors are told."""

from __future__ import annotations

import functools
import inspect
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
OwnBlocks = Annotated[
    list[Path] | None,
    typer.Option("--blocks", metavar="FILE.py", help="A Python file with blocks of your own, which is run. May be repeated."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to write it.")]


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
