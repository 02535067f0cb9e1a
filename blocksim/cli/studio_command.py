"""`blocksim studio`: the window on a diagram in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from .arguments import AllowOutside, with_errors_told


@with_errors_told
def studio_command(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A diagram: a path, or a bundled name.")] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; a free one when left out.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    allow_outside: AllowOutside = False,
) -> None:
    """Open a diagram in the browser: drag a number, and it answers.

    Serves this machine only, to whoever has the address with its token. Ctrl-C ends it.
    """
    from ..studio.server import serve_studio

    def ready(address: str) -> None:
        typer.echo(f"studio at {address}\nCtrl-C ends it")
        if browser:
            import webbrowser

            webbrowser.open(address)

    serve_studio(file or "", port, allow_outside, ready)
