"""What travels between page and server: requests as JSON; answers as JSON, arrays as float32 behind it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import BlocksimError, DiagramError, Place, Problem, SimulationError

if TYPE_CHECKING:
    import numpy as np

#: What a page may send at once: a diagram's text, or a record dropped on it.
MESSAGE_BYTES = 64 << 20
ALIGNMENT = 4  # of float32 in the page's buffer


@dataclass
class Answer:
    """Data for JSON, and arrays by name. `more` says that the same request is answered again."""

    data: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    more: bool = False


def header(answer: Answer, kind: str, number: int | None) -> dict[str, Any]:
    """What goes before the arrays: whose answer it is, its data, and the name and length of each array."""
    lengths = [[name, len(values)] for name, values in answer.arrays.items()]
    return {"id": number, "kind": kind, "more": answer.more, "data": json_values(answer.data), "arrays": lengths}


def pack(answer: Answer, kind: str, number: int | None) -> str | bytes:
    """One message: a text where there are no arrays, else the header's length, the header, and the arrays."""
    text = json.dumps(header(answer, kind, number), allow_nan=False, separators=(",", ":"))
    if not answer.arrays:
        return text
    head = text.encode()
    head += b" " * (-len(head) % ALIGNMENT)
    return b"".join([len(head).to_bytes(4, "little"), head, *buffers(answer)])


def buffers(answer: Answer) -> list[bytes]:
    """The arrays as bytes, in the order of the header; what is beyond float32, as of a run that diverges, is infinite there."""
    import numpy as np

    with np.errstate(over="ignore"):
        return [np.ascontiguousarray(values, dtype="<f4").tobytes() for values in answer.arrays.values()]


def json_values(value: Any) -> Any:
    """The same in values that JSON has: null for nan, 'inf' and '-inf'."""
    if isinstance(value, dict):
        return {str(key): json_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(item) for item in value]
    if hasattr(value, "tolist"):
        return json_values(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def failure_data(error: BaseException) -> dict[str, Any]:
    """An error as the page shows it: its own words, and each problem with its line and its block."""
    if isinstance(error, DiagramError):
        problems = [problem_data(problem) for problem in error.problems]
    else:
        problems = [problem_data(Problem(str(error)))]
    words = str(error) if isinstance(error, BlocksimError) else f"{type(error).__name__}: {error}"
    time = error.time if isinstance(error, SimulationError) else None
    return {"text": words, "problems": problems, "time": time, "expected": isinstance(error, BlocksimError)}


def problem_data(problem: Problem) -> dict[str, Any]:
    where = problem.where or Place("", 0)
    return {"what": problem.what, "file": where.file, "line": where.line, "block": block_named(problem.what)}


def block_named(text: str) -> str:
    """The block that a sentence begins with: "block 'pid': ..." or "block 'pid' has ..."."""
    return text.split("'")[1] if text.startswith("block '") and text.count("'") > 1 else ""
