"""The command line: `blocksim run servo.yaml`. Only typer is imported here; a command imports what it needs.

Exit codes: 0, 1 for a run that failed, 2 for input that cannot be run (every problem on a line), 130 after Ctrl-C.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
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
    checked_options,
    read_settings,
    record_options,
    with_errors_told,
)
from .course_commands import course
from .design_commands import design_command, information_command, sequential_command
from .look_command import look_command
from .studio_command import studio_command
from .study_command import study_command
from .validate_command import validate_command

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DEMO, DEMO_FOLDER = "one_dof/identify", "blocksim-demo"


def main() -> None:
    """The `blocksim` command."""
    app(prog_name="blocksim")


def show_version(wish: bool) -> None:
    if wish:
        typer.echo(f"blocksim {__version__}")
        raise typer.Exit


@app.callback()
def blocksim(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Block diagrams for closed-loop identification: from a YAML file to a compiled simulation with known truth."""


@app.command()
@with_errors_told
def run(
    file: File,
    set_: Set = None,
    solver: Annotated[str | None, typer.Option(help="Such as rk4, dopri5 or scipy:Radau; a wrong name lists them all.")] = None,
    step: Annotated[str | None, typer.Option(help="Step of a fixed-step solver [s], e.g. 1e-3 or 1/3.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of an adaptive solver.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance of an adaptive solver.")] = None,
    every: Annotated[str | None, typer.Option(help="Interval of the log [s].")] = None,
    stop: Annotated[str | None, typer.Option(help="End of the run [s].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all noise.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the record, the diagram and run.json here.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Write a plot, and with --out a picture of the diagram.")] = False,
    with_estimates: Annotated[
        Path | None,
        typer.Option(
            "--with-estimates", metavar="FILE", help="Set the plant to the estimates of an earlier run (estimates.json)."
        ),
    ] = None,
    estimates_of: Annotated[
        str | None,
        typer.Option("--estimates-of", metavar="BLOCK", help="Whose, where the file has those of several identifiers."),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Run the program under plain Python: slow, breakpoints work.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    allow_outside: AllowOutside = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Simulate a diagram and print what came of it."""
    from ..records.writing import make_folder
    from . import console, results
    from . import verdict as verdicts

    options = checked_options(solver=solver, step=step, rtol=rtol, atol=atol, every=every, stop=stop, seed=seed)
    outer, inner = read_settings(set_ or [])
    diagram = verdicts.open_file(file, outer, allow_outside)
    if with_estimates is not None:
        estimated, changes = results.estimated_settings(with_estimates, estimates_of, diagram)
        inner = {**estimated, **inner}
        if not (quiet or json):
            typer.echo(f"from {with_estimates}: {', '.join(changes)}\n")
    if out is not None:
        make_folder(out)
    with console.progress_bar(visible=not (quiet or json)) as progress:
        outcome = results.run_diagram(diagram, inner, options, "python" if debug else "auto", progress)
    console.deliver(outcome, file, out, plot, json, quiet)


@app.command()
@with_errors_told
def identify(
    file: File,
    record: Annotated[
        list[Path] | None,
        typer.Option("--record", "-r", metavar="PATH", help="The measured record. Several are fitted together."),
    ] = None,
    map_: ColumnMap = None,
    time: TimeColumn = None,
    every: RowInterval = None,
    resample: EvenGrid = None,
    missing: MissingRule = None,
    assume: Assume = None,
    set_: Set = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the record, the diagram and run.json here.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Write a plot, and with --out a picture of the diagram.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    allow_outside: AllowOutside = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Run the record blocks of a diagram on measured data.

    Its filters, smoothers, identifiers and observers run; its plant only lends its equations. What is not given here, the
    diagram's record: says.
    """
    from ..diagram.build import open_diagram
    from ..records.writing import make_folder
    from . import console, results

    outer, inner = read_settings(set_ or [])
    diagram = open_diagram(file, outer, allow_outside=allow_outside)
    options = record_options(map_, time, every, resample, missing, assume)
    if out is not None:
        make_folder(out)
    outcome = results.identified(diagram, record or [], inner, options)
    console.deliver(outcome, file, out, plot, json, quiet)
    results.refuse_unconverged(outcome)


app.command("validate")(validate_command)


@app.command()
@with_errors_told
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A diagram or a study: a path, or a bundled name.")],
    set_: Set = None,
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for mistakes.")] = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Find every mistake in a file without running it.

    Warns of what would run and cannot be meant: units on wires, rates, what identifiers read, steps, unstable loops.
    """
    from . import console
    from . import verdict as verdicts

    outer, inner = read_settings(set_ or [])
    verdict = verdicts.check_file(file, outer, inner, allow_outside)
    console.warn(verdict.findings)
    if strict and verdict.findings:
        raise typer.Exit(2)
    warned = f", {verdicts.counted_noun(len(verdict.findings), 'warning')}" if verdict.findings else ""
    typer.echo("\n  ".join([f"{file}: {verdict.summary}{warned}", *verdict.lines]))


@app.command()
@with_errors_told
def draw(file: File, output: Output = None, set_: Set = None, allow_outside: AllowOutside = False) -> None:
    """Draw a diagram as SVG, PNG or PDF.

    Without -o it goes to the file's name with .svg, in this folder.
    """
    from ..diagram.build import open_diagram
    from ..pictures.draw import draw as draw_picture
    from ..records.writing import writing
    from . import results

    outer, inner = read_settings(set_ or [])
    diagram = results.changed_diagram(open_diagram(file, outer, allow_outside=allow_outside), inner)
    path = output or Path(f"{Path(file).stem}.svg")
    with writing(path):
        draw_picture(diagram, path)
    typer.echo(f"wrote {path}")


@app.command()
@with_errors_told
def show(
    file: File,
    program: Annotated[bool, typer.Option("--program", help="The generated program.")] = False,
    schedule: Annotated[bool, typer.Option("--schedule", help="The order in which blocks are computed, and when.")] = False,
    diagram: Annotated[bool, typer.Option("--diagram", help="The blocks and their inputs (the default).")] = False,
    set_: Set = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Show what a diagram became: blocks, schedule, program."""
    from ..diagram.build import open_diagram
    from ..simulation.many.lanes import lane_words
    from . import console, results

    outer, inner = read_settings(set_ or [])
    whole = open_diagram(file, outer, allow_outside=allow_outside)
    if diagram or not (program or schedule):
        console.show_diagram(results.changed_diagram(whole, inner))
    if schedule or program:
        ready = results.readied(whole, inner)
        if schedule:
            typer.echo(str(ready.schedule))
            typer.echo("\n" + lane_words(ready))
        if program:
            from ..compiler.legend import legend

            typer.echo(legend(ready.program.source, ready.schedule) + ready.program.source.text.rstrip("\n"))


@app.command()
@with_errors_told
def blocks(name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One block type, for its page.")] = None) -> None:
    """List the block types, or show one of them.

    The page of one has its equation, ports, parameters and an example.
    """
    from ..contract.library import find
    from . import console

    if name is None:
        console.show_families()
    else:
        console.show_block(find(name))


@app.command()
@with_errors_told
def schema(output: Output = None) -> None:
    """Write the JSON Schema of diagram files.

    Editors that know YAML use it for completion and checking.
    """
    import json

    from ..diagram.schema import schema as schema_of
    from ..records.writing import writing
    from ..solvers import solver_names

    text = json.dumps(schema_of(solvers=solver_names()), indent=1)
    if output is None:
        typer.echo(text)
        return
    with writing(output):
        output.write_text(text + "\n", encoding="utf-8")
    typer.echo(f"wrote {output}")


@app.command()
@with_errors_told
def demo() -> None:
    """Identify a robot joint in closed loop, into ./blocksim-demo/."""
    from ..diagram.build import open_diagram
    from ..records.writing import make_folder
    from . import console, results

    folder = Path(DEMO_FOLDER)
    make_folder(folder)
    with console.progress_bar() as progress:
        outcome = results.run_diagram(open_diagram(DEMO), {}, {}, "auto", progress)
    results.write_folder(outcome, folder, plot=True)
    console.show_outcome(outcome)
    copy = folder / "diagram.yaml"
    typer.echo(f"""
Look at   {folder / "diagram.svg"}, the loop
          {folder / "plot.png"}, what it did
          {folder / "estimates.png"}, what was found of it
Change    {copy}, then run it again:
          blocksim run {copy} --plot
Or try    blocksim run {DEMO} --set smooth.bandwidth=40
              too wide a band: least squares loses the inertia
          blocksim run {DEMO} --set encoder.resolution=1e-4
              a finer encoder
          blocksim signal {DEMO} -o ref.png
              crest factor and spectrum of its reference
          blocksim studio {DEMO}
              the same in the browser, with sliders (extra: studio)
          blocksim blocks
              what diagrams are made of""")


@app.command()
@with_errors_told
def signal(
    file: File,
    names: Annotated[list[str] | None, typer.Argument(metavar="[BLOCK]...", help="Blocks; all sources when left out.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH", help="Write a figure for each block.")] = None,
    stop: Annotated[str | None, typer.Option(help="End of the run [s].")] = None,
    every: Annotated[str | None, typer.Option(help="Sampling interval [s].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all noise.")] = None,
    set_: Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    allow_outside: AllowOutside = False,
) -> None:
    """Look at the sources of a diagram: crest factor, spectrum.

    Only the sources run, and what feeds them. Several blocks make several figures, each named after its block.
    """
    from ..diagram.build import open_diagram
    from ..pictures.signal_plot import write_figures
    from ..running import signals
    from . import console, results

    options = checked_options(stop=stop, every=every, seed=seed)
    outer, inner = read_settings(set_ or [])
    diagram = results.changed_diagram(open_diagram(file, outer, allow_outside=allow_outside), inner)
    analyses = signals.analyse_sources(diagram, names or (), **options)
    paths = [] if output is None else write_figures(diagram, analyses, output)
    if json:
        typer.echo(signals.analyses_as_json(analyses, paths))
        return
    console.show_table(signals.SIGNAL_COLUMNS, signals.analysis_rows(analyses), numbers=signals.SIGNAL_COLUMNS[2:])
    if paths:
        typer.echo(f"wrote {', '.join(paths)}")


app.command("study")(study_command)
app.command("look")(look_command)
app.command("information")(information_command)
app.command("design")(design_command)
app.command("sequential")(sequential_command)
app.command("studio")(studio_command)

app.add_typer(course, name="course")
