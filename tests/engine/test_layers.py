"""The layers: the engine does not know the block library, modules import downwards only, and importing costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

ENGINE = Path(__file__).parents[2] / "blocksim"
MODULES = sorted(ENGINE.rglob("*.py"))
HEAVY = ("scipy", "matplotlib", "numba", "networkx", "pandas", "xarray", "pyarrow")
#: What describes a diagram, and may not need what runs one.
DESCRIBING = ("errors", "ticks", "declarations", "contract", "block", "library", "spec", "diagram", "checks", "parameters",
              "files", "yaml_lines", "loader", "writer", "build", "schema", "catalogue", "draw", "layout")
RUNNING = ("flatten", "codegen", "program", "cache", "experiment", "simulation", "simulate", "record", "solvers", "process",
           "plots")


def name_of(path: Path) -> str:
    """'solvers.driver' for blocksim/solvers/driver.py; '' for the package itself."""
    parts = path.relative_to(ENGINE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, everywhere: bool) -> set[str]:
    """Absolute names of what a module imports: at its top, or anywhere; never what only type checkers see."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = ["blocksim", *path.relative_to(ENGINE).parts[:-1]]
    found = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
    return found


def engine_graph() -> nx.DiGraph:
    """Who imports whom inside the engine when it is loaded."""
    names = {name_of(path) for path in MODULES}
    graph = nx.DiGraph()
    for path in MODULES:
        for target in imported(path, everywhere=False):
            inner = target.removeprefix("blocksim.") if target.startswith("blocksim.") else None
            if inner in names:
                graph.add_edge(name_of(path), inner)
    return graph


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_engine_never_imports_the_library(path):
    assert not [name for name in imported(path, everywhere=True) if name.split(".")[0] == "blocks"]


def test_modules_import_downwards_only():
    cycles = [cycle for cycle in nx.simple_cycles(engine_graph()) if len(cycle) > 1]
    assert not cycles, f"modules import each other: {cycles}"


def test_what_describes_a_diagram_does_not_need_what_runs_it():
    graph = engine_graph()
    for module in DESCRIBING:
        reached = {name.split(".")[0] for name in nx.descendants(graph, module)} if module in graph else set()
        assert not reached & set(RUNNING), f"{module} needs {sorted(reached & set(RUNNING))}"


def test_only_the_command_line_knows_the_command_line():
    for path in MODULES:
        if name_of(path) not in ("cli", "console"):
            assert not imported(path, everywhere=True) & {"blocksim.cli", "blocksim.console", "typer"}, name_of(path)


def loaded_after(statement: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_blocksim_and_its_command_line_is_light():
    loaded = loaded_after("import blocksim, blocksim.cli")
    assert "typer" in loaded
    assert not loaded & {*HEAVY, "numpy", "yaml", "rich"}


def test_loading_a_diagram_needs_nothing_heavy():
    code = "import blocksim as bs; bs.build(bs.load('format: 1\\nblocks:\\n  a: {type: Gain, in: b}\\n  b: {type: Constant}\\n'))"
    loaded = loaded_after(code)
    assert "blocks" in loaded and not loaded & set(HEAVY)


def test_public_names_are_there():
    import blocksim

    missing = {"linearize", "operating_point"} if not (ENGINE / "linearize.py").exists() else set()
    for name in set(blocksim.PUBLIC) - missing:
        assert callable(getattr(blocksim, name)), name
