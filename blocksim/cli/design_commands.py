"""The commands that know an experiment before it is run: `blocksim information`, `blocksim design`, `blocksim sequential`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DiagramError
from .arguments import (
    AllowOutside,
    ColumnMap,
    EvenGrid,
    File,
    RowInterval,
    Set,
    TimeColumn,
    read_columns,
    read_settings,
    with_errors_told,
)

if TYPE_CHECKING:
    from ..planning.design.searching.search import SearchProgress


def comma_names(text: str | None) -> list[str]:
    """'robot.k1, robot.k3' -> two names."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


@with_errors_told
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
    plot: Annotated[Path | None, typer.Option(metavar="PATH", help="Write a picture: when and at which frequencies.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Tell what an experiment can teach, and what it cannot.

    Nothing is identified: the outputs' dependence on the parameters and the noise decide what any method could find.
    """
    from ..diagram.build import open_diagram
    from ..planning.information import information as inform

    outer, inner = read_settings(set_ or [])
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
    if plot is not None:
        from ..planning.figures import plot_information

        plot_information(result, plot)
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


@with_errors_told
def design_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A design file.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the result; the file's name when left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the best that is in the folder.")] = False,
    front: Annotated[
        str | None,
        typer.Option(metavar="OVER=A,B", help="What accuracy costs: one design for each peak=5,10,20 or duration=10,20."),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Write pictures of the signal and of what it teaches.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Find the excitation that teaches most, within its limits.

    Ctrl-C keeps the best so far. The folder gets source.yaml, the source to include, and diagram.yaml with it in place.
    """
    from ..planning.design.design import design

    folder = out or Path(f"{Path(file).stem}-design")
    if front is not None:
        if resume:
            raise DiagramError("--front makes every design from scratch: leave --resume out.")
        front_of_designs(file, front, folder, plot, json, quiet)
        return
    with search_bar(visible=not (quiet or json)) as watch:
        result = design(file, out=folder, resume=resume, progress=watch)
    paths = [str(folder)]
    if plot:
        from ..planning.figures import write_design_figures

        paths += write_design_figures(result, folder)
    if json:
        import json as writer

        typer.echo(writer.dumps(result.plain()))
    elif not quiet:
        typer.echo(str(result))
        typer.echo(f"wrote {', '.join(paths)}")


def front_of_designs(file: str, front: str, folder: Path, plot: bool, json: bool, quiet: bool) -> None:
    """One design after the other, their table, and its picture."""
    from ..planning.pareto import pareto

    over, _, words = front.partition("=")
    try:
        values = [float(word) for word in words.split(",")]
    except ValueError:
        raise DiagramError(f"--front: found '{front}'. peak=5,10,20 or duration=10,20 is wanted.") from None
    with search_bar(visible=not (quiet or json)) as watch:
        result = pareto(file, over.strip(), values, out=folder, progress=watch)
    paths = [str(folder)]
    if plot:
        from ..planning.figures import plot_front

        plot_front(result, folder / "front.png")
        paths.append(str(folder / "front.png"))
    if json:
        import json as writer

        typer.echo(writer.dumps({"over": result.over, "criterion": result.criterion, "values": result.values,
                                 "criteria": result.criteria}))  # fmt: skip
    elif not quiet:
        typer.echo(f"{result}\nwrote {', '.join(paths)}")


@contextlib.contextmanager
def search_bar(visible: bool) -> Iterator[Callable[[SearchProgress], None] | None]:
    """A bar on stderr with the share of the budget used and the best so far."""
    if not (visible and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    parts = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    bar = Progress(*parts, console=Console(stderr=True), transient=True)
    task = bar.add_task("starting", total=1.0)
    with bar:
        yield lambda state: bar.update(task, completed=state.share, description=state.summary())


@with_errors_told
def sequential_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A design file.")],
    guess: Annotated[
        list[str] | None,
        typer.Option("--guess", metavar="PARAM=VALUE", help="What is believed of a parameter at first. May be repeated."),
    ] = None,
    accuracy: Annotated[float | None, typer.Option(help="Relative standard deviation asked for of every parameter.")] = None,
    budget: Annotated[float | None, typer.Option(help="Seconds of experiments at most.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulated noise.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Step by step: the folder that keeps the campaign between experiments.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", "-r", metavar="PATH", help="What was measured with the last design of the folder.")
    ] = None,
    map_: ColumnMap = None,
    time: TimeColumn = None,
    every: RowInterval = None,
    resample: EvenGrid = None,
) -> None:
    """Design, measure, fit and design again, until it is enough.

    On simulated truth, which is that of the diagram, in one go. With --folder step by step: without --record it writes the
    next experiment, with --record it fits what was measured and, where that is not enough, writes the one after.
    """
    outer, inner = read_settings(guess or [])
    first = {**outer, **inner}
    if record is not None and folder is None:
        raise DiagramError("--record: say which campaign it belongs to, with --folder DIR.")
    if folder is None:
        campaign_on_truth(file, first, accuracy, budget, seed)
        return
    from ..running.identify import Reading

    reading = Reading(read_columns(map_ or []), time, every, resample)
    campaign_step(file, folder, first, record, reading, {"accuracy": accuracy, "budget": budget})


def campaign_on_truth(file: str, guess: dict[str, Any], accuracy: float | None, budget: float | None, seed: int) -> None:
    from ..planning.sequential import sequential

    if accuracy is None or budget is None:
        raise DiagramError("on simulated truth --accuracy and --budget say when to end; with --folder it goes step by step.")
    campaign = sequential(file, guess=guess, accuracy=accuracy, budget=budget, seed=seed)
    typer.echo(str(campaign))
    ending = "accurate enough" if max(campaign.relative_std.values()) <= accuracy else "the budget is used"
    typer.echo(f"{campaign.seconds:g} s of experiments: {ending}")


def campaign_step(
    file: str, folder: Path, guess: dict[str, Any], record: Path | None, reading: Any, goals: dict[str, float | None]
) -> None:
    """Learn from a record, if there is one, and write the next experiment, if one is needed."""
    from ..planning.campaign_folder import CampaignFolder
    from ..planning.sequential import BAD_MISFIT

    lab = CampaignFolder(file, folder)
    lab.guess(guess)
    lab.ask(**goals)
    if record is not None:
        fit, notes = lab.learn(record, reading)
        for note in notes:
            typer.echo(note, err=True)
        typer.echo(str(lab.campaign))
        if fit.misfit > BAD_MISFIT:
            typer.echo(
                f"misfit {fit.misfit:.3g}: the residuals are so many times the noise that the design assumes. The model is not "
                "what was measured, or the noise is larger: the standard deviations above are too small.",
                err=True,
            )
    elif lab.waiting is not None:
        place = folder / lab.waiting["folder"]
        raise DiagramError(f"'{place}' was designed and waits for its record: apply {place / 'source.yaml'}, then --record PATH.")
    if ending := lab.ending():
        typer.echo(f"{lab.campaign.seconds:g} s of experiments: {ending}")
        return
    place, result = lab.design()
    typer.echo(str(result))
    outputs = ", ".join([*lab.campaign.bench.outputs, *lab.campaign.bench.inputs])
    seconds = lab.campaign.bench.duration_of(result.x)
    typer.echo(
        f"wrote {place}: apply {place / 'source.yaml'} for {seconds:g} s and measure {outputs} every "
        f"{lab.campaign.bench.interval:g} s, then\n  blocksim sequential {file} --folder {folder} --record PATH"
    )
