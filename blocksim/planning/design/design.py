"""design(): the source that teaches most within its limits, as YAML to include, with what it will teach beside what was there."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...contract.library import find
from ...diagram.copying import write_copy
from ...diagram.diagram import Diagram
from ...diagram.writer import flow
from ...errors import DiagramError, SimulationError
from ...records.writing import make_folder, write_json, writing
from ...simulation.elements import settings_in_diagram
from ...simulation.overrides import Overrides
from ..information import Information, information
from .bench import Bench
from .criteria import SEES_NOTHING
from .families import DURATION, AnyNumber
from .file import load_design
from .limits import Margin
from .searching.fine_grid import best_on_fine_grid
from .searching.search import DesignSearch, SearchProgress
from .searching.trial import Trial
from .spec import DesignSpec
from .words import placed, told_at

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray

#: Files of a design's folder.
SOURCE_FILE, DIAGRAM_FILE, RESULT_FILE, POINT_FILE = "source.yaml", "diagram.yaml", "design.json", "unknowns.json"
#: Seconds between two writings of the best while searching.
KEEP_EVERY = 5.0


@dataclass(frozen=True)
class DesignResult:
    """A finished design: the settings that were found, what they will teach, and how the search went."""

    spec: DesignSpec
    settings: dict[str, dict[str, Any]]
    predicted: Information | None  # by the diagram's own solver, both step sizes; None for a condition number
    before: Information | None  # the same of the diagram as it was
    criterion: float
    criterion_before: float
    margins: tuple[Margin, ...]
    progress: SearchProgress
    diagram: Diagram = field(repr=False)
    x: FloatArray = field(repr=False)
    broken_before: tuple[Margin, ...] = ()  # limits that the diagram as it was breaks
    obscure_before: str = ""  # why the diagram as it was cannot be judged

    @property
    def simulations(self) -> int:
        return self.progress.simulations

    @property
    def stop(self) -> str:
        """Why the search ended."""
        return self.progress.stop

    @property
    def params(self) -> dict[str, Any]:
        """The numbers of blocks that were found, as `params` of simulate; `diagram` has them too."""
        return {path: settings[""] for path, settings in self.settings.items() if "" in settings and path != DURATION}

    @property
    def duration(self) -> float | None:
        """How long the run lasts, where that was sought; `diagram` has it as its end."""
        return self.settings[DURATION][""] if DURATION in self.settings else None

    @property
    def yaml(self) -> str:
        """The designed sources as lines of `blocks:`."""
        lines = []
        for path, settings in self.settings.items():
            if "" in settings:
                lines.append(f"# {path}: {settings['']:.9g}")
                continue
            numbers = {key: file_numbers(value) for key, value in settings.items()}
            lines.append(f"{path}: {flow({'type': type(self.diagram.nodes[path].block).__name__, **numbers})}")
        return "\n".join(lines) + "\n"

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write source.yaml, diagram.yaml, which is the whole experiment, design.json, and the unknowns to go on from."""
        place = Path(folder)
        with writing(place):
            place.mkdir(parents=True, exist_ok=True)
            (place / SOURCE_FILE).write_text(self.yaml, encoding="utf-8")
            write_copy(self.diagram, place / DIAGRAM_FILE)
        write_json(place / POINT_FILE, self.x.tolist())
        write_json(place / RESULT_FILE, self.plain())
        return place

    def plain(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        stds = [None if info is None else info.relative_std for info in (self.before, self.predicted)]
        margins = [str(margin) for margin in self.margins]
        criteria = {"criterion": self.criterion, "criterion_before": self.criterion_before}
        work = {"simulations": self.simulations, "seconds": self.progress.seconds, "stop": self.stop}
        return {"title": self.spec.title, **criteria, "before": stds[0], "predicted": stds[1], "limits": margins, **work}

    def __str__(self) -> str:
        before = f"{self.criterion_before:.4g}" if self.criterion_before < SEES_NOTHING else "nothing"
        before = "not judged" if self.obscure_before else before
        lines = [f"{self.spec.title}: {self.spec.criterion} {before} before, {self.criterion:.4g} designed"]
        if self.obscure_before:
            lines.append(f"what was there before is not judged: {self.obscure_before}")
        if self.broken_before:
            lines.append(f"what was there before breaks limits: {'; '.join(map(str, self.broken_before))}")
        if self.predicted is not None:
            lines.append(f"{'parameter':20} {'before %':>10} {'designed %':>10}")
            for name, share in self.predicted.relative_std.items():
                was = f"{100 * self.before.relative_std[name]:10.3g}" if self.before is not None else f"{'-':>10}"
                lines.append(f"{name:20} {was} {100 * share:10.3g}")
        lines += [] if self.duration is None else [f"duration {self.duration:.4g} s"]
        lines += [f"limit: {margin}" for margin in self.margins]
        lines += [] if self.predicted is None else [finding.words for finding in self.predicted.findings]
        lines.append(f"{self.simulations} simulations in {self.progress.seconds:.3g} s; ended because {self.stop}")
        return "\n".join(lines)


def design(
    source: str | os.PathLike[str] | Mapping[str, Any] | DesignSpec,
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[SearchProgress], None] | None = None,
    learnt: FloatArray | None = None,
) -> DesignResult:
    """Find the excitation that teaches most: a path, YAML text, or the keys of a design as a dict.

    The result has `yaml` of the sources, `predicted` information, `before`, `margins` of every limit on the fine grid, and why
    the search stopped. Ctrl-C keeps the best so far. With `out` it is written to a folder; `resume` goes on from what is there,
    also where the search was ended by force: its unknowns are kept meanwhile. `learnt` is the information about relative changes
    of the parameters that earlier experiments gave.
    """
    spec = source if isinstance(source, DesignSpec) else load_design(source)
    spec = placed(spec)
    if not spec.vary:
        with told_at(spec, "vary"):
            raise DiagramError("vary: found nothing. Name a source with its family, or a number with min and max.")
    bench = Bench(spec, spec.search.step, learnt)
    start = earlier(Path(out), bench) if out is not None and resume else None
    ending = DesignSearch(bench, progress if out is None else keeping_best(Path(out), progress), start).run()
    if ending.best is None:
        with told_at(spec, "limits") if ending.nearest else nullcontext():
            raise DiagramError(obstacle(bench, ending.nearest))
    result = checked_result(spec, bench, ending)
    if out is not None:
        result.write(out)
    return result


def keeping_best(folder: Path, watch: Callable[[SearchProgress], None] | None) -> Callable[[SearchProgress], None]:
    """Write the best's unknowns now and then, and before it is judged: a search that is ended by force can be gone on with."""
    last = [0.0]  # when it was written, in seconds of the search

    def keep(state: SearchProgress) -> None:
        if state.best is not None and (state.stop or state.seconds - last[0] > KEEP_EVERY):
            make_folder(folder)
            write_json(folder / POINT_FILE, state.best.x.tolist())
            last[0] = state.seconds
        if watch:
            watch(state)

    return keep


def earlier(folder: Path, bench: Bench) -> FloatArray | None:
    """The unknowns a folder was left with."""
    import numpy as np

    path = folder / POINT_FILE
    if not path.is_file():
        raise DiagramError(f"there is nothing to go on from in '{folder}': {POINT_FILE} is missing.")
    x = np.array(json.loads(path.read_text(encoding="utf-8")), dtype=float)
    if len(x) != bench.unknowns:
        raise DiagramError(f"'{path}' has {len(x)} unknowns, this design has {bench.unknowns}: it belongs to another one.")
    return x


def obstacle(bench: Bench, nearest: Trial | None) -> str:
    """Why no candidate will do: all break limits, or by one of them: its run fails, or a parameter does not show."""
    import numpy as np

    if nearest is not None:
        broken = "; ".join(str(margin) for margin in nearest.margins if margin.broken)
        return (
            f"no candidate keeps the limits after {bench.simulations} simulations; the nearest one has {broken}. Ask for less "
            "peak, vary more, or search longer."
        )
    x = bench.draw(np.random.default_rng(bench.spec.search.seed))
    if bench.regressor is not None:
        return "no candidate shows something of every parameter: more way points, harmonics or joints that move may."
    try:
        info = predicted_information(bench.spec, designed_diagram(bench, bench.settings_of(x)))
        return f"no candidate shows something of every parameter. {info.verdict}"
    except SimulationError as error:
        return f"every run fails: {error}"


def checked_result(spec: DesignSpec, bench: Bench, ending: SearchProgress) -> DesignResult:
    """The best candidate with the diagram's own solver, limits on the fine grid, and the diagram as it was beside it."""
    assert ending.best is not None
    x, fine = best_on_fine_grid(spec, bench, ending)
    settings = bench.settings_of(x)
    diagram = designed_diagram(bench, settings)
    predicted = None if spec.by_regressor else predicted_information(spec, diagram)
    before, criterion, broken, obscure = judged_before(spec)
    criteria = fine.criterion, criterion
    return DesignResult(spec, settings, predicted, before, *criteria, fine.margins, ending, diagram, x, broken, obscure)


def judged_before(spec: DesignSpec) -> tuple[Information | None, float, tuple[Margin, ...], str]:
    """What the diagram as it was teaches, its criterion, limits that it breaks; or why it cannot be judged."""
    import numpy as np

    try:
        bench = Bench(replace(spec, vary={}))
        was = bench.try_out(np.zeros(0), math.inf)
        before = None if spec.by_regressor else predicted_information(spec, designed_diagram(bench, {}))
    except DiagramError as error:  # its sources need not be such that its recorded inputs can be played
        return None, SEES_NOTHING, (), error.problems[0].what
    return before, was.criterion, tuple(margin for margin in was.margins if margin.broken), ""


def predicted_information(spec: DesignSpec, diagram: Diagram) -> Information:
    """What an experiment will teach of the parameters of a design, with the diagram's own solver and both step sizes."""
    names, words = list(spec.parameters), dict(spec.outputs)
    outputs, nuisance = list(words), spec.nuisance
    return information(diagram, names, outputs, words, spec.inputs, nuisance=nuisance, every=spec.every, skip=spec.skip)


def with_run(diagram: Diagram, spec: DesignSpec) -> Diagram:
    """A diagram that runs as the design says."""
    return replace(diagram, simulate=replace(diagram.simulate, **spec.simulate))


def designed_diagram(bench: Bench, settings: Mapping[str, Mapping[str, Any]]) -> Diagram:
    """The whole experiment: the diagram with all that was found and all that the design says beside it, ending when it does."""
    nodes, whole = dict(bench.diagram.nodes), with_run(bench.diagram, bench.spec)
    numbers = {path: own[""] for path, own in settings.items() if "" in own and path != DURATION}
    for family in bench.families:
        if not isinstance(family, AnyNumber):
            nodes[family.block] = replace(nodes[family.block], block=find(family.type)(**settings[family.block]))
    if DURATION in settings:
        whole = replace(whole, simulate=replace(whole.simulate, stop=float(f"{settings[DURATION]['']:.10g}")))
    whole = replace(whole, nodes=nodes)
    return Overrides(settings_in_diagram(whole, {**bench.params, **numbers})).put_into(whole)


def file_numbers(value: Any) -> Any:
    """Numbers as a file has them: ten digits; a list of plus and minus one stays a list of whole numbers."""
    if isinstance(value, list):
        return [file_numbers(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e6 else float(f"{value:.10g}")
    return value
