"""blocksim: block diagrams for closed-loop identification, run at the speed of hand-written C.

import blocksim as bs
record = bs.simulate("one_dof/pid.yaml", stop=10, params={"joint.J": 0.02}, seed=3)
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

#: Where each public name lives; loaded when first used, so that `import blocksim` costs next to nothing. Type checkers and
#: editors read `__init__.pyi` instead, which has the same names.
PUBLIC = {
    "Block": "contract.block",
    "RecordBlock": "contract.block",
    "SampledBlock": "contract.block",
    "falling": "contract.block",
    "rising": "contract.block",
    "both": "contract.block",
    "param": "contract.declarations",
    "required": "contract.declarations",
    "static": "contract.declarations",
    "model": "contract.declarations",
    "fixed": "contract.declarations",
    "law": "contract.declarations",
    "state": "contract.declarations",
    "memory": "contract.declarations",
    "inport": "contract.declarations",
    "outport": "contract.declarations",
    "normal": "contract.declarations",
    "uniform": "contract.declarations",
    "table": "contract.declarations",
    "period": "contract.declarations",
    "Diagram": "diagram.diagram",
    "Spec": "diagram.spec",
    "Schedule": "schedule.schedule",
    "Experiment": "simulation.experiment",
    "experiment": "simulation.prepare",
    "Simulation": "simulation.simulation",
    "Record": "records.record",
    "Estimate": "estimation.estimates",
    "Estimates": "estimation.estimates",
    "BlocksimError": "errors",
    "BlockDefinitionError": "errors",
    "DiagramError": "errors",
    "RecordError": "errors",
    "StudyError": "errors",
    "Finding": "errors",
    "findings": "checking.findings",
    "SimulationError": "errors",
    "load": "diagram.loader",
    "save": "diagram.loader",
    "build": "diagram.build",
    "open_diagram": "diagram.build",
    "flatten": "schedule.flatten",
    "generate": "compiler.codegen",
    "simulate": "running.simulate",
    "simulate_many": "running.simulate",
    "start": "running.simulate",
    "rerun": "running.rerun",
    "run_study": "studies.study",
    "StudyResult": "studies.study",
    "process": "estimation.process",
    "pool": "estimation.pool",
    "compare_encoders": "estimation.encoder_pair",
    "EncoderPair": "estimation.encoder_pair",
    "identify": "running.identify",
    "identify_together": "running.together",
    "validate": "running.validate",
    "compare_structures": "running.structures",
    "judge_structures": "running.judging",
    "StructureJudgement": "running.judging",
    "cross_validate": "running.judging",
    "StructureChoice": "running.structures",
    "Validation": "estimation.validation",
    "linearize": "linear.linearize",
    "operating_point": "linear.linearize",
    "linear_model": "linear.identified",
    "LinearModel": "linear.linear_model",
    "OperatingPoint": "linear.operating",
    "design": "planning.design.design",
    "DesignResult": "planning.design.design",
    "pareto": "planning.pareto",
    "Campaign": "planning.sequential",
    "CampaignFolder": "planning.campaign_folder",
    "sequential": "planning.sequential",
    "information": "planning.information",
    "Information": "planning.information",
    "explore": "studio.notebook.explore",
    "draw": "pictures.draw",
    "plot": "pictures.plots",
    "plot_traces": "pictures.estimate_traces",
    "library": "contract.library",
    "register": "contract.library",
    "schema": "diagram.schema",
}
__all__ = ["__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'blocksim' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f".{PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
