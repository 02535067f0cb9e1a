"""The words of the code: one meaning per name, nouns for things."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "blocksim").rglob("*.py"), *(ROOT / "blocks").rglob("*.py")])
#: Top-level names that more than one module defines, because there they do mean one thing.
SHARED = {
    **dict.fromkeys(
        ("A", "C", "DENSE", "ERRORS", "JACOBIAN", "attempt", "interpolate"), "what a kind of solver gives the driver"
    ),
    **dict.fromkeys(("libm_pow", "matrix", "maximum", "minimum", "power", "view"), "a word, and what stands for it in a program"),
    **dict.fromkeys(
        (
            "acos",
            "asin",
            "atan",
            "atan2",
            "binary_exponent",
            "cos",
            "cosh",
            "exp",
            "expm1",
            "log",
            "log10",
            "log1p",
            "sin",
            "sinh",
        ),
        "a word, and its form in plain arithmetic",
    ),
    **dict.fromkeys(("tan", "tanh", "two_to"), "a word, and its form in plain arithmetic"),
    **dict.fromkeys(("draw", "identify", "schema"), "a command is called like the function it calls"),
    **dict.fromkeys(("read", "write"), "what every format of files has"),
    "rows": "a word for matrices, and the rows of a tableau as contributors write them",
}
#: Past participles that stand for a thing where a noun would say which. In functions of the same name they are verbs, and fine.
PARTICIPLES = {
    "asked", "begun", "built", "chosen", "found", "given", "held", "kept", "known", "made", "said", "seen", "shown", "taken",
    "told", "wanted", "written",
}  # fmt: skip
#: Arguments of block functions are named after what the block declares, and that is public.
DECLARED = ("blocks/basic/continuous.py", "held")


@functools.cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES]


def defined(tree: ast.Module) -> set[str]:
    """The functions, classes and constants of a module."""
    names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    names |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return {name for name in names if not name.startswith("__")}


def variables(function: ast.FunctionDef) -> set[str]:
    """The arguments and variables a function binds, those of functions inside it left to them."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = {argument.arg for argument in every}
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        pending += ast.iter_child_nodes(node)
    return names


@functools.cache
def participles() -> list[str]:
    """'module: function: word' for each variable that is called by a participle."""
    return [
        f"{path.relative_to(ROOT).as_posix()}: {node.name}: {name}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for name in sorted(variables(node) & PARTICIPLES)
    ]


def test_a_top_level_name_is_defined_once():
    owners: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees():
        for name in defined(tree):
            owners[name].append(str(path.relative_to(ROOT)))
    shared = {name: paths for name, paths in sorted(owners.items()) if len(paths) > 1}
    listing = "\n".join(f"{name}: {', '.join(paths)}" for name, paths in shared.items())
    assert set(shared) <= set(SHARED), f"names that more than one module defines:\n{listing}"


def test_things_have_nouns():
    words = [text for text in participles() if not (text.startswith(DECLARED[0]) and text.endswith(DECLARED[1]))]
    assert not words, "variables that are called by a participle:\n" + "\n".join(words)
