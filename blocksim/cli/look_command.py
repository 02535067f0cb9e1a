"""`blocksim look`: what a measured file holds, before a diagram is made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import Output, with_errors_told


@with_errors_told
def look_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A record: .csv, .txt, .dat, .mat, .npz, .parquet.")],
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of time; 'zeit [ms]' with its unit.")] = None,
    every: Annotated[str | None, typer.Option(help="Interval of the rows [s], in place of a column of time.")] = None,
    encoders: Annotated[
        str | None,
        typer.Option(metavar="MOTOR,ARM", help="Two encoders of one axis: lag and zero between them; 'arm [deg]' with a unit."),
    ] = None,
    ratio: Annotated[float | None, typer.Option(help="Angle of the second encoder per angle of the first.")] = None,
    load: Annotated[str | None, typer.Option(metavar="COLUMN", help="A known torque on the arm, where one acted.")] = None,
    output: Output = None,
) -> None:
    """Show what a measured file holds, and what is odd about it.

    Columns, time base, gaps, quantisation, likely units; with -o a plot of all.

    With --encoders two columns are compared: how late one is, and how far their zeros differ.
    """
    from ..diagram.spec import RecordSpec
    from ..errors import DiagramError
    from ..records.writing import writing
    from ..running.identify import axis_of
    from ..running.looking import compared_columns, view_of_file

    record, view = view_of_file(file, axis_of(RecordSpec(time=time, every=every)))
    typer.echo(str(view))
    if encoders is not None:
        names = [name.strip() for name in encoders.split(",")]
        if len(names) != 2:
            raise DiagramError(f"--encoders {encoders}: two columns are wanted, e.g. --encoders motor,arm.")
        if not view.timed:
            raise DiagramError("--encoders: a lag needs the time of the rows; say --time or --every, as the note above.")
        typer.echo(f"\n{compared_columns(record, names[0], names[1], ratio, load)}")
    if output is not None:
        from ..pictures.plots import plot

        with writing(output):
            plot(record, list(record), path=output)
        typer.echo(f"wrote {output}")
