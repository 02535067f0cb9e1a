"""`blocksim validate`: estimates judged by a record that was not used to find them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import (
    AllowOutside,
    Assume,
    ColumnMap,
    EvenGrid,
    File,
    MissingRule,
    Output,
    RowInterval,
    Set,
    TimeColumn,
    read_settings,
    record_options,
    with_errors_told,
)


@with_errors_told
def validate_command(
    file: File,
    record: Annotated[
        list[Path] | None, typer.Option("--record", "-r", metavar="PATH", help="A record not used before; several with --folds.")
    ] = None,
    with_estimates: Annotated[
        list[Path] | None,
        typer.Option("--with-estimates", metavar="FILE", help="Values to judge (estimates.json). Several are compared."),
    ] = None,
    estimates_of: Annotated[
        str | None, typer.Option("--estimates-of", metavar="BLOCK", help="Whose, where there are several identifiers.")
    ] = None,
    split: Annotated[float | None, typer.Option(help="Identify on this share of the record, judge by the rest.")] = None,
    folds: Annotated[
        bool, typer.Option("--folds", help="Hold back each of several records once, and identify on the others.")
    ] = False,
    parts: Annotated[
        int | None, typer.Option(metavar="K", help="The same with pieces: cut each record, or the only one, into K.")
    ] = None,
    first: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The record the values come from, scored beside; else that of their folder."),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="loop: simulate it; predict: from its own states again and again; inverse: the inverse model.")
    ] = "loop",
    horizon: Annotated[float, typer.Option(help="predict: how long until it begins again [s].")] = 0.1,
    initial: Annotated[
        str, typer.Option(help="Where the loop starts: at the record's first samples, or the diagram's.")
    ] = "record",
    skip: Annotated[float, typer.Option(help="Time at the start that is not compared, while a controller settles [s].")] = 0.0,
    map_: ColumnMap = None,
    time: TimeColumn = None,
    every: RowInterval = None,
    resample: EvenGrid = None,
    missing: MissingRule = None,
    assume: Assume = None,
    set_: Set = None,
    output: Output = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Judge estimates by a record that was not used to find them.

    Each signal that was measured in the loop is put beside what the loop does with these values: error, fit, what is left. With
    -o both are drawn, the residual below.
    """
    from . import validating

    outer, inner = read_settings(set_ or [])
    options = {
        "block": estimates_of or "",
        "mode": mode,
        "horizon": horizon,
        "initial": initial,
        "skip": skip,
        "params": inner,
        **record_options(map_, time, every, resample, missing, assume),
    }
    request = validating.JudgeRequest(record or [], with_estimates or [], split, folds, parts, first)
    typer.echo(validating.validated(file, outer, allow_outside, request, options, output, json))
