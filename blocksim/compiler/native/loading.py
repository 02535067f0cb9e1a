"""Machine code from the cache or made now."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import Any

from ..cache import SEAL
from .refusal import UnsupportedError

#: Left in the cache where a program has something that is not turned into machine code here.
REFUSAL = "unsupported"


@functools.cache
def code_mark() -> str:
    """What machine code depends on beside the text: the processor and this compiler."""
    from .build import target_machine

    machine = target_machine()
    parts = [str(machine.triple), os.environ.get("BLOCKSIM_CPU", ""), processor()]
    parts += [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def processor() -> str:
    import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def load_entry(text: str, rows: int, lanes: int, place: Path | None) -> Any:
    """`enter` of a program for so many runs in lockstep; `rows` is the number of the solver's rows of work."""
    from .build import NativeEntry, intermediate, machine_code

    file = None if place is None else place / f"{code_mark()}-{lanes}.o"
    if place is not None and (place / REFUSAL).exists():
        raise UnsupportedError((place / REFUSAL).read_text(encoding="utf-8"))
    if file is not None and file.exists():
        return NativeEntry(file.read_bytes(), rows, lanes)
    sealed = place is not None and (place / SEAL).exists()  # what was made on another machine stays as it is
    try:
        code = machine_code(intermediate(text, rows, lanes))
    except UnsupportedError as error:
        if place is not None and not sealed:
            (place / REFUSAL).write_text(str(error), encoding="utf-8")
        raise
    if file is not None and not sealed:
        file.write_bytes(code)
    return NativeEntry(code, rows, lanes)
