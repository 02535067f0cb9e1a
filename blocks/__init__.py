"""The block library. The engine finds it as it would find anybody's, by the entry point group `blocksim.libraries`."""

from __future__ import annotations

from importlib import import_module

from blocksim.block import Block

#: In the order of the catalogue; each module lists its public blocks in `__all__`.
MODULES = (
    "sources",
    "noise",
    "multisine",
    "trajectories",
    "arithmetic",
    "routing",
    "continuous",
    "discrete",
    "nonlinear",
    "friction",
    "two_mass",
    "three_mass",
    "joints",
    "scara",
    "sensors",
    "control",
    "filters",
    "resample",
    "irw",
    "ekf",
    "rts",
    "joint_ekf",
    "rpem",
    "rls",
    "didim",
    "instrumental",
    "output_error",
    "least_squares",
    "frequency_response",
    "rpem_hybrid",
)


def collect() -> dict[str, type[Block]]:
    """Every public block by its type name."""
    modules = [import_module(f".{name}", __name__) for name in MODULES]
    return {name: getattr(module, name) for module in modules for name in module.__all__}


LIBRARY: dict[str, type[Block]] = collect()
