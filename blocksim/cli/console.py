"""What the command line prints: errors with their place, tables, a progress bar. Colour on a terminal only."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from ..errors import BlocksimError, DiagramError, Finding, Problem

if TYPE_CHECKING:
    from ..contract.block import Block
    from ..diagram.diagram import Diagram
    from .results import Outcome

#: A run that takes less shows no bar [s].
PATIENCE = 0.5
MOST_ROWS = 60
#: Work beside the simulation that took less is not told [s].
WORTH_TELLING = 0.01
#: Characters a line may have where there is no terminal to say.
WIDE = 200
#: Characters of a line of prose that are read with ease, on a terminal that has more.
PROSE = 120


def complain(error: BlocksimError, own_blocks: object = None) -> None:
    """Each problem on a line of stderr, its place first; where a block type is unknown, how to bring one's own."""
    colour = False if "NO_COLOR" in os.environ else None
    problems = list(error.problems) if isinstance(error, DiagramError) else [Problem(str(error), getattr(error, "where", None))]
    unknown = ["There are:" in problem.what for problem in problems if "there is no block type" in problem.what]
    if any(unknown) and not own_blocks:
        problems.append(Problem("Blocks of your own are read from a Python file that you name: --blocks my_blocks.py"))
    for problem in problems:
        place = f"{problem.where}: " if problem.where else ""
        text = fit_lines(place + problem.what, sys.stderr)[len(place) :]
        typer.echo(typer.style(place, fg="cyan", bold=True) + typer.style(text, fg="red"), err=True, color=colour)


def warn(findings: Iterable[Finding]) -> None:
    """Each finding on a line of stderr: its place, what was found, what to do, its name."""
    colour = False if "NO_COLOR" in os.environ else None
    for finding in findings:
        place = f"{finding.where}: " if finding.where else ""
        text = fit_lines(f"{place}warning: {finding.what} {finding.remedy} [{finding.name}]", sys.stderr)[len(place) :]
        typer.echo(typer.style(place, fg="cyan", bold=True) + typer.style(text, fg="yellow"), err=True, color=colour)


def show_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    numbers: Iterable[str] = (),
    header: bool = True,
    width: int | None = None,
) -> None:
    """A plain table as wide as the terminal, or as it wants where there is none; columns in `numbers` are set flush right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_header=header)
    for place, name in enumerate(columns):
        table.add_column(
            name,
            justify="right" if name in numbers else "left",
            overflow="fold",
            no_wrap=place == 0,
            min_width=width if place == 0 else None,
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    with console.capture() as text:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in text.get().splitlines()))


def deliver(outcome: Outcome, file: str, out: Path | None, plot: bool, json: bool, quiet: bool) -> None:
    """Write and print what came of a run, and raise what ended it."""
    from . import results
    from .telling import told_once

    findings, error = told_once(outcome.findings, outcome.error)

    if out is not None:
        results.write_folder(outcome, out, plot)
    elif plot:
        results.write_plot(outcome, f"{Path(file).stem}.png")
    if json:
        typer.echo(results.as_json(outcome))
    elif not quiet:
        warn(findings)
        show_outcome(outcome)
    if error is not None:
        raise error


def show_outcome(outcome: Outcome) -> None:
    """The signals of a run, what was identified, how it was run, and the files written."""
    from ..notation import unit_label
    from .results import record_rows

    table = record_rows(outcome.record)
    cells = [
        [r.signal, unit_label(r.unit), figure_text(r.min), figure_text(r.max), figure_text(r.final)] for r in table[:MOST_ROWS]
    ]
    show_table(("signal", "unit", "min", "max", "final"), cells, numbers=("min", "max", "final"))
    if len(table) > MOST_ROWS:
        typer.echo(f"... and {len(table) - MOST_ROWS} more")
    for block, estimates in outcome.record.estimates.items():
        say(f"\n{block}: {estimates}")
    say(f"\n{story(outcome)}")
    if outcome.written:
        say(f"wrote {', '.join(outcome.written)}")


def say(text: str) -> None:
    """Print; on a terminal, sentences that are longer than a line are broken between words."""
    typer.echo(fit_lines(text, sys.stdout))


def fit_lines(text: str, stream: TextIO) -> str:
    """The text with lines that fit the terminal, where the stream is one."""
    import textwrap

    if not stream.isatty():
        return text
    width = line_width(stream)
    fold = functools.partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)

    def fitted(line: str) -> str:
        indent = line[: len(line) - len(line.lstrip())] + "  "
        return line if len(line) <= width else fold(line, subsequent_indent=indent)

    whole = text.replace(" %", "\N{NO-BREAK SPACE}%")  # 95 % stays on one line; textwrap breaks at ordinary spaces only
    return "\n".join(map(fitted, whole.split("\n"))).replace("\N{NO-BREAK SPACE}%", " %")


def line_width(stream: TextIO | None = None) -> int:
    """Characters of a line: the terminal's, or plenty where there is none."""
    import shutil

    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else WIDE


def story(outcome: Outcome) -> str:
    """'10 s simulated in 0.21 s: rk4, 10000 steps, seed 7; compiled in 0.9 s; identified in 1.2 s'."""
    t, provenance = outcome.record.t, outcome.record.provenance
    span = float(t[-1] - t[0]) if len(t) else 0.0
    if "pipeline" in provenance:
        read = f"{len(t)} samples, {span:g} s, of {provenance['source']} in {outcome.seconds:.2f} s"
        if outcome.others:
            read += f", fitted together with {', '.join(str(r.provenance['source']) for r in outcome.others)}"
        return "\n".join([*(f"note: {note}" for note in provenance["notes"]), read])
    work = provenance.get("work", {})
    parts = [str(provenance["solver"]), f"{work['steps']} steps"] if work else [str(provenance["solver"])]
    if work.get("rejected"):
        parts.append(f"{work['rejected']} rejected")
    if work.get("events"):
        parts.append(f"{work['events']} event{'s' if work['events'] != 1 else ''}")
    times = outcome.times
    own = times.get("simulated", outcome.seconds)
    more = [f"; {word} in {seconds:.2f} s" for word, seconds in times.items() if word != "simulated" and seconds >= WORTH_TELLING]
    return f"{span:g} s simulated in {own:.2f} s: {', '.join([*parts, 'seed ' + str(provenance['seed'])])}{''.join(more)}"


def figure_text(value: float) -> str:
    return f"{value:.6g}"


def show_diagram(diagram: Diagram) -> None:
    """Every block: its type, what it reads, its settings."""
    from ..contract.block import brief
    from ..diagram.diagram import Diagram, walk
    from ..diagram.writer import flow

    if diagram.name:
        typer.echo(diagram.name + "\n")
    rows = []
    for path, node in walk(diagram):
        settings = node.block.parameters if isinstance(node.block, Diagram) else own_settings(node.block)
        inputs = "" if node.inputs is None else flow(node.inputs)
        rows.append(
            [path, kind_name(node.block), inputs, ", ".join(f"{name}={brief(value)}" for name, value in settings.items())]
        )
    show_table(("block", "type", "in", "settings"), rows)


def kind_name(block: Any) -> str:
    from ..diagram.diagram import Diagram

    return os.path.basename(block.path) if isinstance(block, Diagram) else type(block).__name__


def own_settings(block: Block) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    from ..diagram.writer import same

    return {name: value for name, value in block.settings.items() if not same(value, type(block).declared[name].default)}


def show_families() -> None:
    """Every block type with its equation, by family."""
    from ..diagram.catalogue import block_families, equation

    for number, (family, members) in enumerate(block_families().items()):
        typer.echo(("\n" if number else "") + typer.style(family, bold=True))
        show_table(("name", "equation"), [[f"  {name}", equation(cls)] for name, cls in members.items()], header=False, width=28)
    typer.echo("\nblocksim blocks NAME shows one: ports, parameters, an example.")


def show_block(cls: type[Block]) -> None:
    """One block's page."""
    import textwrap

    from ..diagram.catalogue import PARAMETERS, PORTS, documentation, paragraphs, parameter_rows, port_rows

    typer.echo(typer.style(f"{cls.__name__} ({cls.family})", bold=True) + "\n")
    first, _, rest = documentation(cls).partition("\n")
    fold = functools.partial(textwrap.fill, width=min(line_width(), PROSE), break_long_words=False, break_on_hyphens=False)
    for part, columns in [(first, False), *paragraphs(rest)]:
        say((part if columns else fold(" ".join(part.split()))) + "\n")
    show_table(PORTS, port_rows(cls))
    if parameters := parameter_rows(cls):
        typer.echo("")
        show_table(PARAMETERS, parameters)
    if cls.example.strip():
        typer.echo(f"\n{typer.style('example', bold=True)}\n{cls.example.strip()}")


@contextlib.contextmanager
def progress_bar(visible: bool = True) -> Iterator[Callable[[float], None]]:
    """A bar with the time left on stderr, for runs long enough to wonder; gives the function to call with the share done.

    A run that reports its progress also hears Ctrl-C, so there is a function even where nothing is shown.
    """
    if not (visible and sys.stderr.isatty()):
        yield lambda share: None
        return
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()


class Bar:
    """A progress bar that appears by itself once PATIENCE is over, even while nothing is reported.

    `doing` says in a word what goes on: it is asked as often as the bar is drawn.
    """

    def __init__(self) -> None:
        self.doing: Callable[[], str] = lambda: "simulating"
        self.share = 0.0
        self.progress: Any = None
        self.timer = threading.Timer(PATIENCE, self.open)
        self.timer.daemon = True
        self.timer.start()

    def open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, RenderableColumn, TaskProgressColumn, TimeRemainingColumn
        from rich.text import Text

        bar = self

        class Doing(RenderableColumn):
            def render(self, task: Any) -> Text:
                return Text(bar.doing())

        progress = Progress(
            Doing(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        progress.update(progress.add_task("run", total=1.0), completed=self.share)
        progress.start()
        self.progress = progress

    def __call__(self, share: float) -> None:
        self.share = share
        if self.progress is not None:
            self.progress.update(self.progress.task_ids[0], completed=share)

    def close(self) -> None:
        self.timer.cancel()
        self.timer.join()
        if self.progress is not None:
            self.progress.stop()
