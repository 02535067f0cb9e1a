"""The rooms: the engine does not know the library, rooms import from those before them only, importing costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "blocksim"
MODULES = sorted(ENGINE.rglob("*.py"))
LIBRARY = sorted((ROOT / "blocks").rglob("*.py"))
HEAVY = ("scipy", "matplotlib", "numba", "networkx", "pandas", "xarray", "pyarrow", "starlette", "uvicorn", "anywidget")
#: The rooms in the order of the road; each imports from those before it only.
ROAD = ("errors", "extensions", "notation", "simulink", "contract", "tracing", "solvers", "diagram", "schedule", "compiler",
        "records", "simulation", "estimation", "running", "pictures", "linear", "checking", "planning", "studies", "course",
        "studio", "cli")  # fmt: skip
MOST = 15  # modules in a room, its __init__ included
#: What describes a diagram, and may not need what runs one.
DESCRIBING = ("errors", "extensions", "notation", "simulink", "contract", "diagram")


def name_of(path: Path) -> str:
    """'blocksim.solvers.driver' for blocksim/solvers/driver.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, loading: bool = False) -> set[str]:
    """Absolute names of what a module imports anywhere, functions and type checking included; or only what loading it loads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = list(path.relative_to(ROOT).parts[:-1])
    found = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        later = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if loading and (later or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        else:
            pending += ast.iter_child_nodes(node)
    return found


def room_of(name: str) -> str:
    """'solvers' for blocksim.solvers.driver, 'plants' for blocks.plants.joints."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_rooms_import_only_from_rooms_before_them(path):
    own = room_of(name_of(path))
    if own in ("", "__main__"):
        return  # the front door knows every room, and `python -m blocksim` is the command line
    assert own in ROAD, f"room '{own}' has no place on the road"
    rooms = {room_of(name) for name in imported(path) if name.startswith("blocksim.")}
    later = {room for room in rooms if room in ROAD and ROAD.index(room) > ROAD.index(own)}
    assert not later, f"{name_of(path)} imports from {sorted(later)}, which come later"


def test_rooms_of_the_library_import_each_other_one_way():
    graph = nx.DiGraph()
    names = {name_of(path) for path in LIBRARY}
    for path in LIBRARY:
        for target in imported(path) & names:
            if room_of(target) and room_of(name_of(path)) and room_of(target) != room_of(name_of(path)):
                graph.add_edge(room_of(name_of(path)), room_of(target))
    assert nx.is_directed_acyclic_graph(graph), list(nx.simple_cycles(graph))


def test_rooms_are_small_and_introduce_themselves():
    for top in ("blocksim", "blocks"):
        for folder in {path.parent for path in (ROOT / top).rglob("*.py")}:
            inside = list(folder.glob("*.py"))
            assert len(inside) <= MOST, f"{folder.relative_to(ROOT)} has {len(inside)} modules"
            assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))), folder


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_engine_never_imports_the_library(path):
    assert not [name for name in imported(path) if name.split(".")[0] == "blocks"]


def test_modules_import_each_other_one_way_when_loaded():
    names = {name_of(path) for path in (*MODULES, *LIBRARY)} - {"blocksim", "blocks"}
    graph = nx.DiGraph((name_of(p), t) for p in (*MODULES, *LIBRARY) for t in imported(p, loading=True) & names)
    cycles = [cycle for cycle in nx.simple_cycles(graph) if len(cycle) > 1]
    assert not cycles, f"modules import each other: {cycles}"


def test_what_describes_a_diagram_does_not_need_what_runs_it():
    for path in MODULES:
        if room_of(name_of(path)) in DESCRIBING:
            rooms = {room_of(name) for name in imported(path) if name.startswith("blocksim.")} & set(ROAD)
            assert rooms <= set(DESCRIBING), f"{name_of(path)} needs {sorted(rooms - set(DESCRIBING))}"


def test_only_the_command_line_knows_the_command_line():
    for path in MODULES:
        if room_of(name_of(path)) != "cli":
            assert "typer" not in imported(path), name_of(path)


def loaded_after(statement: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_blocksim_and_its_command_line_is_light():
    loaded = loaded_after("import blocksim, blocksim.cli.commands")
    assert "typer" in loaded
    assert not loaded & {*HEAVY, "numpy", "yaml", "rich"}


def test_loading_a_diagram_needs_nothing_heavy():
    code = "import blocksim as bs; bs.build(bs.load('format: 1\\nblocks:\\n  a: {type: Gain, in: b}\\n  b: {type: Constant}\\n'))"
    loaded = loaded_after(code)
    assert "blocks" in loaded and not loaded & set(HEAVY)


def test_public_names_are_there():
    import blocksim

    for name in blocksim.PUBLIC:
        assert callable(getattr(blocksim, name)), name
