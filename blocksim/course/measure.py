"""ExperimentRequest -> record: the experiment on the true robot, within its limits, and only the columns a student may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..diagram.files import write_whole
from ..errors import BlocksimError, DiagramError, Place, Problem, SimulationError
from ..running.simulate import simulate
from .request import ExperimentRequest, loop_of, steps_of
from .secret import noise_seed, student_truth

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..records.record import Record

#: Settings that are a time from one change of a source to the next.
SPACINGS = ("clock", "period", "Ts")
HOME_SEED = 0
CANNOT_DO = "the robot cannot do this experiment. Try the sources in your own loop.yaml: blocksim check, blocksim run."


@dataclass(frozen=True)
class Measurement:
    """What a student gets: columns over time, the seconds it took, and why it ended early."""

    t: FloatArray
    columns: dict[str, FloatArray]
    seconds: float
    stopped: str = ""


def rehearse(request: ExperimentRequest) -> None:
    """The experiment on the robot of the handout: nothing there is secret, so what is refused is told in full, and is free."""
    check_pace(request)
    check_at_home(request)
    run_robot(request, {}, HOME_SEED)


def measure_robot(request: ExperimentRequest, secret: bytes, number: int) -> Measurement:
    """Run a rehearsed request on the student's robot. A signal beyond its limit ends it there, as an emergency stop does."""
    assignment = request.assignment
    truth = student_truth(assignment, secret, request.student)
    return run_robot(request, truth, noise_seed(assignment, secret, request.student, number))


def run_robot(request: ExperimentRequest, numbers: Mapping[str, float], seed: int) -> Measurement:
    """Run the request on a robot with these numbers; errors are not passed on: their words may hold the numbers."""
    assignment = request.assignment
    try:
        record = simulate(
            loop_of(assignment, request.sources),
            params={**assignment.conditions, **request.settings, **numbers},
            stop=request.seconds,
            seed=seed,
        )
    except SimulationError as error:
        record = error.record
        if record is None:
            raise DiagramError(CANNOT_DO) from None
    except BlocksimError:
        raise DiagramError(CANNOT_DO) from None
    if any(record[signal].ndim != 1 for signal in [*assignment.measured.values(), *assignment.budget.limits]):
        raise DiagramError(
            "this experiment asks for several robots at once, and yours has one axis: no list where one value drives it."
        )
    return cut(record, request)


def check_pace(request: ExperimentRequest) -> None:
    """No source changes more often than the loop steps: it would not be felt, and the teacher would wait for it."""
    step = steps_of(request.assignment)
    for block, source in request.sources.items():
        for key in SPACINGS:
            value = source.get(key)
            if isinstance(value, (int, float)) and 0 < value < step:
                words = f"block '{block}': {key}: found {value:g}. The loop is run in steps of {step:g} s; that is the least."
                raise DiagramError([Problem(words, request.places.get(block))])


def check_at_home(request: ExperimentRequest) -> None:
    """Mistakes in the experiment, by the lines of the student's file."""
    from ..diagram.build import open_diagram
    from ..simulation.prepare import prepared

    settings = {**request.assignment.conditions, **request.settings}
    try:
        prepared(open_diagram(loop_of(request.assignment, request.sources)), settings, {"stop": request.seconds})
    except DiagramError as error:  # the lines are those of the student's file, not of the loop made of it
        problems = [Problem(problem.what, source_place(problem, request)) for problem in error.problems]
        raise DiagramError(problems) from None


def source_place(problem: Problem, request: ExperimentRequest) -> Place | None:
    """The line of the source that a problem speaks of."""
    return next((place for block, place in request.places.items() if f"'{block}'" in problem.what), None)


def cut(record: Record, request: ExperimentRequest) -> Measurement:
    """The rows up to the first that passes a limit."""
    import numpy as np

    assignment = request.assignment
    t = np.asarray(record.t)
    rows, stopped = len(t), ""
    if t[-1] < request.seconds * (1 - 1e-9) - 1e-9:
        stopped = f"the robot was switched off at {t[-1]:.3g} s: it ran away"
    for signal, limit in assignment.budget.limits.items():
        beyond = ~(np.abs(np.asarray(record[signal])) <= limit)
        if beyond.any() and (row := int(np.argmax(beyond))) < rows:
            rows, stopped = row, f"the robot was switched off at {t[row]:.3g} s: |{signal}| went beyond {limit:g}"
    if rows < 2:
        raise DiagramError(f"{stopped or CANNOT_DO} before anything was recorded. The robot rests at 0: begin there, and gently.")
    columns = {column: np.asarray(record[signal])[:rows] for column, signal in assignment.measured.items()}
    return Measurement(t[:rows], columns, float(t[rows - 1] - t[0]), stopped)


def write_measurement(measurement: Measurement, path: Path) -> None:
    """t and the measured columns as csv: no provenance, which would hold the robot."""
    import io

    import numpy as np

    text = io.StringIO()
    names = ["t", *measurement.columns]
    rows = np.column_stack([measurement.t, *measurement.columns.values()])
    np.savetxt(text, rows, fmt="%.10g", delimiter=",", header=",".join(names), comments="")
    write_whole(path, text.getvalue())
