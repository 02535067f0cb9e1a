"""The block library. The engine finds it as it would find anybody's, by the entry point group `blocksim.libraries`."""

from __future__ import annotations

from importlib import import_module

from blocksim.contract.block import Block

#: In the order of the catalogue; each module lists its public blocks in `__all__`.
MODULES = (
    "sources.sources",
    "sources.sequences",
    "sources.noise",
    "sources.levels",
    "sources.multisine",
    "sources.trajectories",
    "basic.arithmetic",
    "basic.routing",
    "basic.logic",
    "basic.continuous",
    "basic.filters",
    "basic.discrete",
    "basic.holding",
    "basic.nonlinear",
    "basic.lookup",
    "plants.friction",
    "plants.parts",
    "plants.two_mass",
    "plants.three_mass",
    "plants.flexible_arm",
    "plants.joints",
    "plants.scara",
    "plants.serial.robot",
    "plants.inverse_dynamics",
    "control.sensors",
    "control.channel",
    "control.controllers",
    "smoothing.filters",
    "smoothing.resample",
    "smoothing.irw",
    "smoothing.grw",
    "observers.ekf",
    "observers.rts",
    "observers.joint_ekf",
    "observers.ukf",
    "observers.rpem",
    "observers.rls",
    "identifiers.regression.didim",
    "identifiers.regression.instrumental",
    "identifiers.output_error",
    "identifiers.regression.least_squares",
    "identifiers.frequency_response",
    "identifiers.mean_spring",
    "identifiers.rpem_hybrid",
)


def collect() -> dict[str, type[Block]]:
    """Every public block by its type name."""
    modules = [import_module(f".{name}", __name__) for name in MODULES]
    return {name: getattr(module, name) for module in modules for name in module.__all__}


LIBRARY: dict[str, type[Block]] = collect()
