"""Arithmetic as text, made safe: an allow-list of operations, limits on size, and words for what is refused.

evaluate("2 * Ts", {"Ts": 1e-3})                 # 0.002, what the loader does with ${2 * Ts}
parse("sin(u1) * u2", {"u1", "u2"})              # an ast.expr in floats, what the block Function compiles
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import did_you_mean, listing
from . import syntax, vocabulary

LONGEST_EXPRESSION = 1000
DEEPEST = 50
#: Whole exponents up to this one are written as products; everything else goes through power(a, b).
LARGEST_PRODUCT = 16
FORMULA_NUMBERS = tuple(name for name, value in vocabulary.CONSTANTS.items() if math.isfinite(value))
#: Functions by the number of their arguments; all take floats and give a float.
CALLABLES = {n: w.takes for n, w in vocabulary.FUNCTIONS.items() if n not in ("bool", "float", "int", "power_int")}
#: What people write first, and the name it has here.
SYNONYMS = {n: w.same_as for n, w in vocabulary.WORDS.items() if w.same_as}
HINTS: dict[type, str] = {
    ast.BitXor: "'^' is not a power here; write **.",
    ast.Mod: "write fmod(a, b) instead of '%'.",
    ast.FloorDiv: "write floor(a / b) instead of '//'.",
    ast.BitAnd: "write 'and' instead of '&'.",
    ast.BitOr: "write 'or' instead of '|'.",
    ast.Attribute: "names have no dots: write sin(u), not math.sin(u).",
}
ALLOWED = "Numbers, + - * / **, comparisons, and, or, not, 'a if c else b'"


def parse_expression(text: str, names: set[str]) -> ast.expr:
    """The expression as a tree of floats over these names. ValueError says what was found and what is allowed."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"found {text!r}; an expression is wanted, e.g. 'sin(u1) * u2'.")
    if len(text) > LONGEST_EXPRESSION:
        raise ValueError(f"an expression has at most {LONGEST_EXPRESSION} characters, found {len(text)}.")
    try:
        tree = syntax.parse(text.strip(), "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "too deep"
        raise ValueError(f"'{shortened(text)}' is not an expression ({reason}). {ALLOWED} are allowed.") from None
    if depth(tree) > DEEPEST:
        raise ValueError(f"'{shortened(text)}' is nested deeper than {DEEPEST} levels.")
    return ast.fix_missing_locations(numeral(tree, frozenset(names)))


def names_in(expression: ast.expr) -> set[str]:
    """The names an expression reads: its arguments, not its functions and constants."""
    called = {id(n.func) for n in ast.walk(expression) if isinstance(n, ast.Call)}
    return {n.id for n in ast.walk(expression) if isinstance(n, ast.Name) and id(n) not in called} - set(FORMULA_NUMBERS)


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """The value of an expression, a finite float. ValueError in words for everything else."""
    tree = parse_expression(text, set(values))
    try:
        value: float = expression_value(tree, values)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        raise ValueError(f"'{shortened(text)}' has no value: {error}.") from None
    if not math.isfinite(value):
        raise ValueError(f"'{shortened(text)}' is {value}, not a finite number.")
    return value


def function(source: str) -> Callable[..., Any]:
    """A block function from its source text, which it carries along for the engine to inline."""
    space: dict[str, Any] = {name: getattr(vocabulary, name) for name in vocabulary.__all__}
    exec(source, space)  # the text comes from this package: validated expressions and port numbers
    result: Callable[..., Any] = next(v for k, v in reversed(space.items()) if k != "__builtins__")
    result.__dict__["__source__"] = source
    return result


def numeral(node: ast.AST, names: frozenset[str]) -> ast.expr:
    """A node that stands for a number, checked and rewritten in floats."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return literal_node(value)
        case ast.Name(id=name):
            return ast.Name(known_name(name, names), ast.Load())
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            return ast.UnaryOp(sign, numeral(operand, names))
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            return raised(numeral(base, names), exponent, names)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            return ast.BinOp(numeral(left, names), op, numeral(right, names))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ast.IfExp(truth(test, names), numeral(body, names), numeral(orelse, names))
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return ast.IfExp(truth(node, names), ast.Constant(1.0), ast.Constant(0.0))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return call_node(name, arguments, names)
    raise ValueError(refusal(node, names))


def truth(node: ast.AST, names: frozenset[str]) -> ast.expr:
    """A node that stands for a condition; a plain number is true when it is not zero."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)) for op in ops
        ):
            return chain([left, *others], ops, names)
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(op, [truth(v, names) for v in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.UnaryOp(ast.Not(), truth(operand, names))
        case ast.Compare():
            raise ValueError(refusal(node, names))
    return ast.Compare(numeral(node, names), [ast.NotEq()], [ast.Constant(0.0)])


def chain(values: list[ast.expr], ops: list[ast.cmpop], names: frozenset[str]) -> ast.expr:
    """0 < u < 1 as '0 < u and u < 1': one comparison at a time, which every compiler reads alike."""
    if any(holds(middle, ast.Compare) for middle in values[1:-1]):  # each level would double the work
        raise ValueError("a comparison inside a chain of comparisons is not allowed; write it with 'and'.")
    pairs: list[ast.expr] = [
        ast.Compare(numeral(a, names), [op], [numeral(b, names)]) for a, op, b in zip(values, ops, values[1:], strict=False)
    ]
    return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), pairs)


def literal_node(value: int | float) -> ast.expr:
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError("holds a number too large for a float.")
    return ast.Constant(value)


def known_name(name: str, names: frozenset[str]) -> str:
    if name in names or name in FORMULA_NUMBERS:
        return name
    options = [*sorted(names), *FORMULA_NUMBERS]
    if name in CALLABLES:
        raise ValueError(f"'{name}' is a function; call it: {name}(...).")
    raise ValueError(f"unknown name '{name}'. Names are: {listing(options)}." + did_you_mean(name, options))


def call_node(name: str, arguments: list[ast.expr], names: frozenset[str]) -> ast.expr:
    called = SYNONYMS.get(name, name)
    if called not in CALLABLES:
        raise ValueError(f"unknown function '{name}'. Functions are: {listing(CALLABLES)}." + did_you_mean(name, CALLABLES))
    if len(arguments) != CALLABLES[called]:
        raise ValueError(f"{name} takes {CALLABLES[called]} argument(s), found {len(arguments)}.")
    return ast.Call(ast.Name(called, ast.Load()), [numeral(a, names) for a in arguments], [])


def raised(base: ast.expr, exponent: ast.expr, names: frozenset[str]) -> ast.expr:
    """base ** exponent: small whole exponents stay a product, the rest is power(base, exponent)."""
    checked = numeral(exponent, names)
    negative = isinstance(checked, ast.UnaryOp) and isinstance(checked.op, ast.USub)
    size = checked.operand if isinstance(checked, ast.UnaryOp) else checked
    if isinstance(size, ast.Constant) and size.value in range(2, LARGEST_PRODUCT + 1):
        product = ast.BinOp(base, ast.Pow(), ast.Constant(int(size.value)))  # type: ignore[arg-type]
        return ast.BinOp(ast.Constant(1.0), ast.Div(), product) if negative else product
    return ast.Call(ast.Name("power", ast.Load()), [base, checked], [])


def holds(tree: ast.AST, kind: type) -> bool:
    return any(isinstance(node, kind) for node in ast.walk(tree))


def refusal(node: ast.AST, names: frozenset[str]) -> str:
    expression = ast.unparse(node)
    kind = type(node.op) if isinstance(node, ast.BinOp) else type(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        kind = ast.Attribute
    hint = HINTS.get(
        kind,
        f"{ALLOWED}, the names {listing([*sorted(names), *FORMULA_NUMBERS])} and the functions {listing(CALLABLES)} are allowed.",
    )
    return f"'{shortened(expression)}' is not allowed; {hint}"


def depth(tree: ast.AST) -> int:
    """Levels of nesting, found without recursion so that a bomb cannot go off here."""
    level, nodes = 0, [tree]
    while nodes:
        level, nodes = level + 1, [child for node in nodes for child in ast.iter_child_nodes(node)]
    return level


def shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def expression_value(node: ast.expr, values: Mapping[str, float]) -> Any:
    """Walk a tree `parse` has passed."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return float(values[name]) if name in values else vocabulary.CONSTANTS[name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not expression_value(operand, values)
        case ast.UnaryOp(op=op, operand=operand):
            value = expression_value(operand, values)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATION_NODES[type(op)](expression_value(left, values), expression_value(right, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return COMPARISON_NODES[type(op)](expression_value(left, values), expression_value(right, values))
        case ast.BoolOp(op=op, values=parts):
            return (all if isinstance(op, ast.And) else any)(expression_value(p, values) for p in parts)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return expression_value(body if expression_value(test, values) else orelse, values)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return vocabulary.WORDS[name].meaning(*(expression_value(a, values) for a in arguments))
    raise AssertionError(ast.dump(node))


OPERATION_NODES: dict[type, Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: vocabulary.power_int(a, int(b)),  # which has the bits of a compiled product
}
COMPARISON_NODES: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
