"""Forward differentiation: the exact partial derivatives of a graph's nodes.

Every function of the vocabulary has its rule. A comparison has no derivative: it is that of the branch taken. Where a function
has a value but no finite derivative (abs and hypot at 0, sqrt at 0, a jump) the derivative is taken as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from .graph import COMPARISONS, Graph, Term, reached

Rule = Callable[..., Sequence[Term]]
Partials = dict[Term, Term]


def where(g: Graph, test: Term, value: Callable[[], Term]) -> Term:
    """The value where the test holds, else 0."""
    return g.choose(test, g.where(test, True, value), g.zero)


def reciprocal(g: Graph, root: Term) -> Term:
    """1/root where it is not 0."""
    return where(g, g.call(">", root, 0.0), lambda: g.over(g.constant(1.0), root))


def slope_of_sqrt(g: Graph, y: Term, a: Term) -> list[Term]:
    return [where(g, g.call(">", y, 0.0), lambda: g.over(g.constant(0.5), y))]


def slope_of_asin(g: Graph, y: Term, a: Term) -> list[Term]:
    return [reciprocal(g, g.call("sqrt", g.minus(g.constant(1.0), g.times(a, a))))]


def slopes_of_atan2(g: Graph, z: Term, y: Term, x: Term) -> list[Term]:
    size = g.plus(g.times(x, x), g.times(y, y))
    apart = g.call(">", size, 0.0)
    return [where(g, apart, lambda: g.over(x, size)), where(g, apart, lambda: g.negative(g.over(y, size)))]


def slopes_of_hypot(g: Graph, y: Term, a: Term, b: Term) -> list[Term]:
    apart = g.call(">", y, 0.0)
    return [where(g, apart, lambda: g.over(a, y)), where(g, apart, lambda: g.over(b, y))]


def slopes_of_power(g: Graph, y: Term, a: Term, b: Term) -> list[Term]:
    finite = g.choose(g.call("!=", a, 0.0), g.constant(True), g.call(">=", b, 1.0))
    return [
        where(g, finite, lambda: g.times(b, g.call("power", a, g.minus(b, g.constant(1.0))))),
        where(g, g.call(">", a, 0.0), lambda: g.times(y, g.call("log", a))),
    ]


def slopes_of_power_int(g: Graph, y: Term, a: Term, n: Term) -> list[Term]:
    if not n.known:
        return [g.times(n, g.call("power_int", a, g.minus(n, g.constant(1)))), g.zero]
    count = n.value
    lower = {0: g.constant(1.0), 1: a, 2: g.call("square", a), 3: g.call("cube", a)}
    down = lower[count - 1] if count - 1 in lower else g.call("power_int", a, g.constant(count - 1))
    return [g.times(g.constant(float(count)), down), g.zero]


def slopes_of_mod(g: Graph, y: Term, a: Term, b: Term) -> list[Term]:
    return [g.constant(1.0), g.negative(g.call("//", a, b))]


def slopes_of_fmod(g: Graph, y: Term, a: Term, b: Term) -> list[Term]:
    """fmod(a, b) = a - b trunc(a / b)."""
    ratio = g.call("/", a, b)
    return [g.constant(1.0), g.negative(g.call("copysign", g.call("floor", g.call("abs", ratio)), ratio))]


def signs(g: Graph, a: Term, b: Term) -> Term:
    return g.times(g.call("copysign", 1.0, a), g.call("copysign", 1.0, b))


def one_minus_square(g: Graph, y: Term) -> Term:
    return g.minus(g.constant(1.0), g.times(y, y))


def flat(g: Graph, y: Term, *inputs: Term) -> list[Term]:
    return [g.zero] * len(inputs)


#: Per operation: the derivative with respect to each of its inputs, from the graph, the result and the inputs. What is a branch
#: (a choice, maximum, minimum) and the quotient stand in `of_node`.
RULES: dict[str, Rule] = {
    "+": lambda g, y, a, b: [g.constant(1.0), g.constant(1.0)],
    "-": lambda g, y, a, b: [g.constant(1.0), g.constant(-1.0)],
    "*": lambda g, y, a, b: [b, a],
    "%": slopes_of_mod,
    "//": flat,
    "negative": lambda g, y, a: [g.constant(-1.0)],
    "sin": lambda g, y, a: [g.call("cos", a)],
    "cos": lambda g, y, a: [g.negative(g.call("sin", a))],
    "tan": lambda g, y, a: [g.plus(g.constant(1.0), g.times(y, y))],
    "asin": slope_of_asin,
    "acos": lambda g, y, a: [g.negative(slope_of_asin(g, y, a)[0])],
    "atan": lambda g, y, a: [g.over(g.constant(1.0), g.plus(g.constant(1.0), g.times(a, a)))],
    "atan2": slopes_of_atan2,
    "sinh": lambda g, y, a: [g.call("cosh", a)],
    "cosh": lambda g, y, a: [g.call("sinh", a)],
    "tanh": lambda g, y, a: [one_minus_square(g, y)],
    "exp": lambda g, y, a: [y],
    "expm1": lambda g, y, a: [g.call("exp", a)],
    "log": lambda g, y, a: [g.over(g.constant(1.0), a)],
    "log10": lambda g, y, a: [g.over(g.constant(1.0 / math.log(10.0)), a)],
    "log1p": lambda g, y, a: [g.over(g.constant(1.0), g.plus(g.constant(1.0), a))],
    "sqrt": slope_of_sqrt,
    "fmod": slopes_of_fmod,
    "copysign": lambda g, y, a, b: [signs(g, a, b), g.zero],
    "floor": flat,
    "ceil": flat,
    "round_half_even": flat,
    "sign": flat,
    "hypot": slopes_of_hypot,
    "power": slopes_of_power,
    "square": lambda g, y, a: [g.times(g.constant(2.0), a)],
    "cube": lambda g, y, a: [g.times(g.constant(3.0), g.times(a, a))],
    "power_int": slopes_of_power_int,
    "abs": lambda g, y, a: [g.call("sign", a)],
    "float": lambda g, y, a: [g.constant(1.0)],
    "int": flat,
    "bool": flat,
    "not": flat,
    **dict.fromkeys(COMPARISONS, flat),
}


def differentiate(graph: Graph, roots: Iterable[Term], variables: Sequence[Term]) -> dict[Term, Partials]:
    """The partial derivatives of these nodes and of all they need; a variable a node does not depend on is not among them."""
    partials: dict[Term, Partials] = {v: {v: graph.constant(1.0)} for v in variables}
    for node in reached(roots):
        if node not in partials:
            slopes: Partials = {}
            for facts in graph.homes.get(node, ()):  # its derivatives can be computed wherever it can be itself
                graph.facts = facts
                slopes = {v: d for v, d in of_node(graph, node, partials).items() if not d.is_number(0.0)}
            partials[node] = {v: slopes[v] for v in variables if v in slopes}
            label(graph, node, partials[node])
    graph.facts = frozenset()
    return partials


def of_node(g: Graph, node: Term, partials: dict[Term, Partials]) -> Partials:
    """One node from its inputs, by the chain rule."""
    parts = [partials[n] for n in node.inputs]
    touched = list(dict.fromkeys(v for part in parts for v in part))
    if not touched:
        return {}
    if node.op == "choice":
        test, _, _ = node.inputs
        return {v: g.choose(test, parts[1].get(v, g.zero), parts[2].get(v, g.zero)) for v in touched}
    if node.op in ("maximum", "minimum"):  # the branch itself, not its share of both
        first, second = node.inputs
        test = g.call(">" if node.op == "maximum" else "<", second, first)
        return {v: g.choose(test, parts[1].get(v, g.zero), parts[0].get(v, g.zero)) for v in touched}
    if node.op == "/":
        return {v: quotient(g, node, parts[0].get(v, g.zero), parts[1].get(v, g.zero)) for v in touched}
    slopes = RULES[node.op](g, node, *node.inputs)
    partials_of_node: Partials = {}
    for slope, part in zip(slopes, parts, strict=True):
        for v, inner in part.items():
            partials_of_node[v] = g.plus(partials_of_node.get(v, g.zero), g.times(slope, inner))
    return partials_of_node


def quotient(g: Graph, node: Term, upper: Term, lower: Term) -> Term:
    """(a/b)' = (a' - (a/b) b') / b."""
    return g.over(g.minus(upper, g.times(node, lower)), node.inputs[1])


def label(graph: Graph, node: Term, partials: Partials) -> None:
    """Derivatives are called after what they are derivatives of."""
    if node in graph.names:
        for variable, derivative in partials.items():
            if derivative.inputs:
                graph.names.setdefault(derivative, f"d_{graph.names[node]}_{variable.value}")
