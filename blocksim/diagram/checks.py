"""What can be wrong with single values of a file, in words; and all problems raised as one error."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from ..contract.portable.choice import CHOICES
from ..contract.times import exact
from ..errors import DiagramError, Place, Problem
from .spec import RecordSpec, SimulateSpec

#: How many problems are shown, how many are looked for, and how long one may be.
MAX_PROBLEMS = 50
MAX_FOUND = 200
MAX_WORDS = 2000
RESAMPLING = ("linear", "hold", "cubic")
TIME_TEXT = re.compile(r"\s*\d{1,30}\s*/\s*\d{1,30}\s*\Z|\s*\d{0,30}\.?\d{0,30}([eE][-+]?\d{1,2})?\s*\Z")


def note(problems: list[Problem], what: str, where: Place | None) -> None:
    """Add a problem; when there are more than anyone will read, stop looking."""
    problems.append(Problem(what, where))
    if len(problems) >= MAX_FOUND:
        raise_all(problems)


def raise_all(problems: Iterable[Problem]) -> None:
    """All problems as one error, in the order of the file; cut short when there is very much to say."""
    unique = sorted(dict.fromkeys(problems), key=lambda p: (p.where.file, p.where.line) if p.where else ("", 0))
    if len(unique) > MAX_PROBLEMS:
        rest = "many" if len(unique) >= MAX_FOUND else len(unique) - MAX_PROBLEMS
        unique = [*unique[:MAX_PROBLEMS], Problem(f"... and {rest} more problems.")]
    if unique:
        raise DiagramError(Problem(p.what if len(p.what) <= MAX_WORDS else p.what[:MAX_WORDS] + " ...", p.where) for p in unique)


def simulate_problems(simulate: SimulateSpec, places: dict[str, Place]) -> list[Problem]:
    """What is wrong with `simulate:`; values that are still ${...} are checked once they are numbers."""
    texts: list[tuple[str, str]] = []
    for key in ("start", "stop", "step", "every"):
        if text := time_problem(getattr(simulate, key), zero=key in ("start", "stop")):
            texts.append((key, text))
    for key in ("rtol", "atol", "max_step"):
        value = getattr(simulate, key)
        if value is not None and not is_reference(value) and not (is_number(value) and 0 < value < math.inf):
            texts.append((key, f"found {brief_value(value)}. A number above 0 is wanted."))
    if not is_reference(simulate.seed) and (type(simulate.seed) is not int or simulate.seed < 0):
        texts.append(("seed", f"found {brief_value(simulate.seed)}. A whole number, 0 or more, is wanted."))
    if simulate.solver is not None and not isinstance(simulate.solver, str):
        texts.append(("solver", f"found {brief_value(simulate.solver)}. A solver's name is wanted, such as rk4."))
    if simulate.algebraic_loops not in ("refuse", "solve"):
        texts.append(("algebraic_loops", f"found {brief_value(simulate.algebraic_loops)}. refuse or solve is wanted."))
    if simulate.math not in CHOICES:
        texts.append(("math", f"found {brief_value(simulate.math)}. libm or portable is wanted."))
    times = (simulate.start, simulate.stop)
    if not texts and not any(t is None or is_reference(t) for t in times) and exact(simulate.stop) <= exact(simulate.start):
        texts.append(("stop", f"{simulate.stop} is not after the start, {simulate.start}."))
    return [Problem(f"simulate: {key}: {text}", places.get(f"simulate.{key}", places.get("simulate"))) for key, text in texts]


def record_problems(record: RecordSpec) -> list[Problem]:
    """What is wrong with `record:` itself; what is wrong with the file is known when it is read."""
    texts: list[tuple[str, str]] = []
    files = record.file if isinstance(record.file, list) else [record.file]
    if not files or not all(isinstance(file, str) or (file is None and record.file is None) for file in files):
        what = "The path of a .csv, .mat, .npz or .parquet file is wanted, or a list of them."
        texts.append(("file", f"found {brief_value(record.file)}. {what}"))
    if isinstance(record.time, dict):
        if not record.time.keys() <= {"column", "unit"} or not is_column(record.time.get("column")):
            texts.append(("time", f"found {brief_value(record.time)}. A column is wanted, or {{column: clock, unit: ms}}."))
    elif record.time is not None and not is_column(record.time):
        texts.append(("time", f"found {brief_value(record.time)}. The name of the column of time is wanted."))
    if text := time_problem(record.every):
        texts.append(("every", text))
    if record.every is not None and record.time is not None:
        texts.append(("every", "a column of time or the interval of the rows, one of them; found both."))
    resample = record.resample if isinstance(record.resample, dict) else {"every": record.resample}
    if not resample.keys() <= {"every", "method", "rows"} or (
        isinstance(record.resample, dict) and resample.get("every") is None
    ):
        texts.append(("resample", f"found {brief_value(record.resample)}. Write {{every: 1e-3, method: linear}}."))
    elif text := time_problem(resample.get("every")):
        texts.append(("resample", text))
    if resample.get("rows", "even") != "even":
        texts.append(("resample", f"rows: found {brief_value(resample['rows'])}. rows: even, or nothing."))
    if resample.get("method", "linear") not in RESAMPLING:
        texts.append(("resample", f"method: found {brief_value(resample['method'])}. {', '.join(RESAMPLING)} are there."))
    if record.missing not in ("refuse", "bridge"):
        texts.append(("missing", f"found {brief_value(record.missing)}. refuse or bridge is wanted."))
    sources = [] if record.assume in (None, "all") else record.assume
    if not isinstance(sources, list) or not all(isinstance(name, str) for name in sources):
        texts.append(("assume", f"found {brief_value(record.assume)}. A list of sources is wanted, or all."))
    for signal, column in record.signals.items():
        for key in ("scale", "offset", "delay"):
            value = getattr(column, key)
            if key != "scale" and value == "estimated":
                continue
            if value is not None and not is_reference(value) and not (is_number(value) and math.isfinite(value)):
                more = "" if key == "scale" else " Or 'estimated', from the other encoder of the axis."
                texts.append((f"signals.{signal}", f"{key}: found {brief_value(value)}. A number is wanted.{more}"))
            elif key == "scale" and value == 0:
                texts.append((f"signals.{signal}", "scale: must not be 0."))
    return [Problem(f"record: {key.replace('.', ': ', 1)}: {text}", record.places.get(key)) for key, text in texts]


def is_column(name: Any) -> bool:
    """Whether this names a column; columns of a file without names are numbers."""
    return isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool))


def time_problem(value: Any, zero: bool = False) -> str:
    """What is wrong with a time, in words; nothing and ${...} are fine. Texts are bounded before exact() multiplies them out."""
    if value is None or is_reference(value):
        return ""
    advice = 'Seconds are wanted, a number such as 0.001 or a fraction such as "1/3".'
    if isinstance(value, str) and not TIME_TEXT.match(value):
        return f"found {brief_value(value)}. {advice}"
    try:
        seconds = exact(value)
    except ValueError:
        return f"found {brief_value(value)}. {advice}"
    if seconds < 0 or (seconds == 0 and not zero):
        return f"must be {'at least' if zero else 'above'} 0, found {value}."
    return ""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_finite_number(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def is_reference(value: Any) -> bool:
    """Whether a value is written ${...}."""
    return isinstance(value, str) and "${" in value


def brief_value(value: Any) -> str:
    """A value for a message, cut where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
