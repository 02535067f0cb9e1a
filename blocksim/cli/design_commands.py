"""The commands that know an experiment before it is run: `blocksim information` and `blocksim design`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .arguments import AllowOutside, File, Set, reported


def comma_names(text: str | None) -> list[str]:
    """'robot.k1, robot.k3' -> two names."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


@reported
def information_command(
    file: File,
    parameters: Annotated[str, typer.Option("--parameters", "-p", metavar="A,B", help="Numbers of blocks, initial states too.")],
    outputs: Annotated[str, typer.Option("--outputs", "-y", metavar="A,B", help="The signals that are read.")],
    noise_std: Annotated[
        str | None,
        typer.Option("--noise-std", metavar="STD", help="Of every output, or A=STD,B=STD; left out: the diagram's own noise."),
    ] = None,
    inputs: Annotated[str | None, typer.Option(metavar="A,B", help="Recorded signals that are known as they were.")] = None,
    nuisance: Annotated[str | None, typer.Option(metavar="A,B", help="Parameters that are unknown too.")] = None,
    every: Annotated[str | None, typer.Option(help="Time between readings [s].")] = None,
    skip: Annotated[float, typer.Option(help="Time at the start that is not read [s].")] = 0.0,
    stop: Annotated[str | None, typer.Option(help="End of the run [s].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all noise.")] = None,
    set_: Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Tell what an experiment can teach: bounds, and why something is not seen.

    Nothing is identified: the outputs' dependence on the parameters and the noise decide what any method could find.
    """
    from ..diagram.build import open_diagram
    from ..planning.information import information as inform
    from . import results

    outer, inner = results.read_settings(set_ or [])
    result = inform(
        open_diagram(file, outer, allow_outside=allow_outside),
        comma_names(parameters),
        comma_names(outputs),
        noise_of(noise_std),
        comma_names(inputs),
        nuisance=comma_names(nuisance),
        params=inner,
        every=every,
        skip=skip,
        stop=stop,
        seed=seed,
    )
    if json:
        import json as writer

        typer.echo(writer.dumps(result.plain()))
    else:
        typer.echo(str(result))


def noise_of(text: str | None) -> Any:
    """'0.05', 'y.std', or 'q=1e-3,pid=0.1'."""
    if text is None:
        return None

    def value(word: str) -> float | str:
        try:
            return float(word)
        except ValueError:
            return word.strip()

    if "=" not in text:
        return value(text)
    return {name.strip(): value(word) for name, _, word in (part.partition("=") for part in text.split(","))}
