"""`math: portable`: the bundled diagrams have the same bits here as on the machine that wrote the hashes.

python tests/evals/test_portable_bits.py writes them anew, which only a change of an equation or a function asks for.

Optimised phases of a multisine are the one thing that differs between processors, as its docstring says: Schroeder's stand here.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs
from blocksim.errors import DiagramError, SimulationError
from blocksim.simulation.noise import draw_noise
from blocksim.simulation.prepare import experiment
from blocksim.simulation.simulation import run_experiment

FOLDER = Path(__file__).parents[2] / "diagrams"
STORE = Path(__file__).with_name("portable_bits.json")
STEPS = 40


def bundled() -> list[str]:
    """Every diagram that runs by itself."""
    paths = [p for p in sorted(FOLDER.rglob("*.yaml")) if "studies" not in p.parts and "designs" not in p.parts]
    return [str(p.relative_to(FOLDER))[: -len(".yaml")] for p in paths]


def short(name: str) -> bs.Experiment | None:
    """The first steps of a diagram; None for a part of one."""
    try:
        blocks = {key: node.block for key, node in bs.build(bs.load(name)).nodes.items()}
        phases = {
            f"{key}.phases": "schroeder"
            for key, block in blocks.items()
            if getattr(block, "settings", {}).get("phases") == "optimised"
        }
        whole = experiment(name, phases, math="portable")
    except DiagramError:
        return None
    clock = whole.clock
    ticks = STEPS * min([period for _, period in clock.hits] + ([clock.step] if clock.step else []), default=0)
    ticks = ticks or (clock.end - clock.start) // 100
    return experiment(whole, {}, stop=str(clock.base * (clock.start + min(ticks, clock.end - clock.start))))


def bits(ready: bs.Experiment, engine: str) -> str:
    """A hash of everything that is logged; every nan is the same."""
    try:
        record = run_experiment(ready, {}, draw_noise(ready), engine)
    except SimulationError as error:
        record = error.record
    whole = hashlib.sha256()
    for name in sorted(record):
        values = np.asarray(record[name], dtype="<f8")
        whole.update(name.encode() + np.where(np.isnan(values), np.nan, values).tobytes())
    return whole.hexdigest()[:24]


def hashes(engine: str, names: list[str]) -> dict[str, str]:
    experiments = {name: short(name) for name in names}
    return {name: bits(ready, engine) for name, ready in experiments.items() if ready is not None}


def test_bundled_diagrams_have_the_stored_bits():
    stored = json.loads(STORE.read_text())
    assert hashes("python", bundled()) == stored


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["", "x86-64", "haswell"])
def test_compiled_for_other_processors_and_with_other_forms_of_libm(processor):
    """The C library is told to leave out fused and vector forms, numpy too: sines of libm differ then, ours must not."""
    stored = json.loads(STORE.read_text())
    environment = {**os.environ, "BLOCKSIM_CPU": processor, "BLOCKSIM_CACHE": "off"}
    if processor:
        environment |= {"BLOCKSIM_FEATURES": " ", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX"}
        environment["NPY_DISABLE_CPU_FEATURES"] = "AVX512F AVX512CD AVX512_SKX AVX2 FMA3"
    done = subprocess.run([sys.executable, __file__, "compiled"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == stored


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(hashes(sys.argv[1], sys.argv[2:] or bundled())))
    else:
        STORE.write_text(json.dumps(hashes("python", bundled()), indent=1) + "\n")
