"""blocksim: block diagrams for closed-loop identification, run at the speed of hand-written C.

import blocksim as bs
record = bs.simulate("one_dof/pid.yaml", stop=10, params={"joint.J": 0.02}, seed=3)
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

#: Where each public name lives; loaded when first used, so that `import blocksim` costs next to nothing.
PUBLIC = {
    "Block": "block",
    "RecordBlock": "block",
    "SampledBlock": "block",
    "falling": "block",
    "rising": "block",
    "both": "block",
    "param": "declarations",
    "required": "declarations",
    "static": "declarations",
    "model": "declarations",
    "fixed": "declarations",
    "state": "declarations",
    "memory": "declarations",
    "inport": "declarations",
    "outport": "declarations",
    "normal": "declarations",
    "uniform": "declarations",
    "table": "declarations",
    "period": "declarations",
    "Diagram": "diagram",
    "Record": "record",
    "Estimate": "estimates",
    "Estimates": "estimates",
    "BlocksimError": "errors",
    "BlockDefinitionError": "errors",
    "DiagramError": "errors",
    "RecordError": "errors",
    "StudyError": "errors",
    "SimulationError": "errors",
    "load": "loader",
    "save": "loader",
    "build": "build",
    "open_diagram": "build",
    "flatten": "flatten",
    "generate": "codegen",
    "simulate": "simulate",
    "simulate_many": "simulate",
    "start": "simulate",
    "rerun": "simulate",
    "run_study": "study",
    "process": "process",
    "identify": "measured",
    "linearize": "linearize",
    "operating_point": "linearize",
    "draw": "draw",
    "plot": "plots",
    "plot_traces": "estimate_traces",
    "library": "library",
    "register": "library",
    "schema": "schema",
}
__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'blocksim' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f".{PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


class Package(ModuleType):
    """Keeps `blocksim.simulate` the function although a module of that name exists."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in PUBLIC):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package


def __dir__() -> list[str]:
    return sorted(__all__)
