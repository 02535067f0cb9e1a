"""The bits of every bundled diagram: a hash of all its signals and one of its estimates, to compare two states of the program.

    python benchmarks/bits.py before.json                     # in one checkout
    python benchmarks/bits.py after.json --against before.json   # in the other: names what differs, and exits with 1

Runs end after `--stop` seconds (0.2) under the engine of `--engine` (python), which gives the bits of the compiled one. A diagram
that fails is hashed by the record it kept and the words of its error; one that only reads a measured file is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import blocksim as bs
from blocksim.diagram.files import bundled


def hashed(parts: list[tuple[str, Any]]) -> str:
    """Names and bits of arrays, in order of their names."""
    whole = hashlib.sha256()
    for name, values in sorted(parts, key=lambda part: part[0]):
        whole.update(name.encode())
        whole.update(np.ascontiguousarray(np.asarray(values, dtype=float)).tobytes())
    return whole.hexdigest()[:24]


def bits_of(name: str, stop: float, engine: str) -> dict[str, str]:
    """What a diagram gives: its signals, those that record blocks made among them, its estimates, and its error if it failed."""
    error = ""
    try:
        record = bs.simulate(name, stop=stop, engine=engine)
    except bs.BlocksimError as failure:
        error, record = str(failure).splitlines()[0], getattr(failure, "record", None)
    if record is None:
        return {"error": error}
    estimates = [
        (f"{block}.{one.name}.{key}", getattr(one, key))
        for block, found in record.estimates.items()
        for one in found.entries
        for key in ("value", "std")
    ]
    return {"signals": hashed([(signal, record[signal]) for signal in record]), "estimates": hashed(estimates), "error": error}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", type=Path)
    options.add_argument("--against", type=Path)
    options.add_argument("--stop", type=float, default=0.2)
    options.add_argument("--engine", default="python", choices=("python", "compiled"))
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    now = {}
    for name in bundled():
        diagram = bs.load(name)
        if diagram.ports is None or not diagram.ports.inputs:
            now[name] = bits_of(name, chosen.stop, chosen.engine)
            print(name, *now[name].values(), flush=True)
    chosen.file.write_text(json.dumps(now, indent=1), encoding="utf-8")
    if chosen.against is None:
        return 0
    before = json.loads(chosen.against.read_text(encoding="utf-8"))
    different = {n: [k for k in now[n] if now[n][k] != before[n].get(k)] for n in now if n in before and now[n] != before[n]}
    for name, keys in different.items():
        print(f"differs: {name}: {', '.join(keys)}")
    print(f"{len(set(now) & set(before))} diagrams in both, {len(different)} differ, {len(set(now) - set(before))} are new")
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
