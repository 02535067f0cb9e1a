"""Programs under CPython by the rules of IEEE 754, as the compiled program has them: 1/0 is inf, log(0) is -inf."""

from __future__ import annotations

import ast
import copy
import math
from typing import Any

from ..syntax import parse
from ..vocabulary import WORDS, power_outside


def ieee(text: str) -> Any:
    """The text with every division as a call that never raises."""
    words = {ast.Div: "divide", ast.Mod: "remainder", ast.FloorDiv: "quotient"}

    def divided(node: ast.BinOp | ast.AugAssign, left: ast.expr, right: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(words[type(node.op)], ast.Load()), [left, right], []), node)

    class Divisions(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            return divided(node, node.left, node.right) if type(node.op) in words else node

        def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
            self.generic_visit(node)
            if type(node.op) not in words:
                return node
            old = copy.deepcopy(node.target)
            old.ctx = ast.Load()
            return ast.copy_location(ast.Assign([node.target], divided(node, old, node.value)), node)

    return ast.fix_missing_locations(Divisions().visit(parse(text)))


def ieee_divide(a: float, b: float) -> float:
    """a / b by IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or a == 0:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def remainder(a: float, b: float) -> float:
    """a % b; nan where b is 0, and 0 of whole numbers, which have no nan."""
    try:
        return a % b
    except ZeroDivisionError:
        return 0 if isinstance(a, int) and isinstance(b, int) else math.nan


def ieee_quotient(a: float, b: float) -> float:
    """a // b; as a / b where b is 0, and 0 of whole numbers."""
    try:
        return a // b
    except ZeroDivisionError:
        return 0 if isinstance(a, int) and isinstance(b, int) else ieee_divide(a, b)


def forgiving(function: Any, outside: Any) -> Any:
    """A function of libm that gives what IEEE 754 says where CPython raises."""

    def wrapped(*values: float) -> float:
        try:
            return float(function(*values))
        except (OverflowError, ValueError):
            return float(outside(*values))

    return wrapped


#: What the functions of a program are by IEEE rules.
IEEE: dict[str, Any] = {
    "divide": ieee_divide,
    "remainder": remainder,
    "quotient": ieee_quotient,
    "libm_pow": forgiving(math.pow, power_outside),
    **{name: forgiving(word.meaning, word.outside) for name, word in WORDS.items() if word.outside},
}
