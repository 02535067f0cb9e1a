"""The Python API by topic; Sphinx reads signatures, types and docstrings from the package itself."""

from __future__ import annotations

import inspect

TOPICS = {
    "running": ("Running", ["simulate", "simulate_many", "start", "Simulation", "rerun", "experiment", "Experiment"]),
    "studies": ("Studies", ["run_study", "StudyResult"]),
    "diagrams": ("Diagrams", ["load", "save", "build", "open_diagram", "Diagram", "Spec", "findings", "Finding", "schema",
                              "draw"]),
    "records": ("Records and plots", ["Record", "plot", "plot_traces"]),
    "identification": (
        "Identification",
        ["identify", "identify_together", "validate", "cross_validate", "judge_structures", "compare_structures",
         "Validation", "StructureChoice", "StructureJudgement", "Estimate", "Estimates", "process", "pool"],
    ),
    "planning": ("Information and design", ["information", "Information", "design", "DesignResult", "pareto", "sequential",
                                            "Campaign"]),
    "linear": ("Linear models", ["linearize", "linear_model", "operating_point", "LinearModel", "OperatingPoint"]),
    "blocks": ("Writing blocks", ["Block", "SampledBlock", "RecordBlock", "param", "required", "static", "model", "fixed", "law",
                                  "state", "memory", "inport", "outport", "normal", "uniform", "table", "period", "rising",
                                  "falling", "both", "library", "register"]),
    "engine": ("The engine", ["flatten", "Schedule", "generate"]),
    "errors": ("Errors", ["BlocksimError", "BlockDefinitionError", "DiagramError", "RecordError", "SimulationError",
                          "StudyError"]),
}  # fmt: skip


def write_python_pages() -> dict[str, str]:
    """One page for each topic; a public name that no topic has goes to the page of others."""
    import blocksim as bs

    public = [name for name in bs.__all__ if not name.startswith("_")]
    placed = {name for _, names in TOPICS.values() for name in names}
    topics = {**TOPICS, "others": ("Others", [name for name in public if name not in placed])}
    topics = {key: (title, [n for n in names if n in public]) for key, (title, names) in topics.items()}
    topics = {key: topic for key, topic in topics.items() if topic[1]}
    texts = {f"api/{key}.rst": page(title, names) for key, (title, names) in topics.items()}
    entries = "".join(f"   {key}\n" for key in topics)
    title = "Python API\n==========\n\n``import blocksim as bs``; every public name stands here.\n\n"
    texts["api/index.rst"] = f"{title}.. toctree::\n   :maxdepth: 2\n\n{entries}"
    return texts


def page(title: str, names: list[str]) -> str:
    import blocksim as bs

    lines = [title, "=" * len(title), "", ".. currentmodule:: blocksim", ""]
    for name in names:
        thing = getattr(bs, name)
        directive = "autoclass" if inspect.isclass(thing) else "autofunction"
        lines += [name, "-" * len(name), "", f".. {directive}:: {name}"]
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            lines.append("   :members:")
        lines.append("")
    return "\n".join(lines)
