"""The text that is written of a graph: readable, in order, computing nothing twice and nothing before its branch."""

import ast
import random

import pytest

from blocksim.contract.expression import function
from blocksim.tracing.code import Code, code
from blocksim.tracing.graph import Graph
from blocksim.tracing.straight_line import Text, function_text
from blocksim.tracing.tracer import Tracer
from blocksim.tracing.values import Untraceable, View


def traced(text, *names, **more):
    """The lines and results of a function of these names."""
    graph = Graph()
    reads = {n: graph.read("read", code(n)) for n in names}
    tracer = Tracer(graph, **more)
    value = tracer.run(function(text), reads)
    results = list(value) if isinstance(value, tuple) else [value]
    made = Text(graph, results, author=set(graph.names))
    return [str(line) for line in made.lines()], [str(e) for e in made.expressions()]


def test_lines_keep_the_authors_names_and_order():
    text = "def f(u, k):\n    first = k * u\n    second = first + 1.0\n    return second * second\n"
    assert traced(text, "u", "k") == (["first = k * u", "second = first + 1.0"], ["second * second"])


def test_what_is_used_twice_is_computed_once():
    lines, results = traced("def f(u, k):\n    return (u + k) * (u + k), u + k\n", "u", "k")
    assert lines == ["v1 = u + k"] and results == ["v1 * v1", "v1"]


def test_parentheses_keep_the_order_of_the_text():
    for text in (
        "a - (b - c)",
        "a + (b + c)",
        "(a + b) * c",
        "a / (b * c)",
        "-(a + b)",
        "(-a) * b",
        "a * -b",
        "-(-a)",
        "a - -2.0",
    ):
        _, (found,) = traced(f"def f(a, b, c):\n    return {text}\n", "a", "b", "c")
        assert ast.dump(ast.parse(found)) == ast.dump(ast.parse(text)), text


@pytest.mark.parametrize("seed", range(20))
def test_expressions_at_random_keep_their_tree(seed):
    draw = random.Random(seed)

    def grow(depth):
        if depth == 0:
            return draw.choice(["a", "b", "c", "2.5"])
        kind = draw.choice(["+", "-", "*", "/", "%", "//", "minus", "choice", "and"])
        if kind == "minus":
            return f"-({grow(depth - 1)})"
        if kind == "choice":
            return f"(({grow(depth - 1)}) if a < b else ({grow(depth - 1)}))"
        if kind == "and":
            return f"(1.0 if a < ({grow(depth - 1)}) and b < c or c < a else 2.0)"
        return f"({grow(depth - 1)}) {kind} ({grow(depth - 1)})"

    text = f"def f(a, b, c):\n    return {grow(4)}\n"
    graph = Graph()
    reads = {n: graph.read("read", code(n)) for n in "abc"}
    made = function(function_text(graph, "g", ["a", "b", "c"], {}, [graph.as_float(Tracer(graph).run(function(text), reads))]))
    for _ in range(20):
        values = [draw.uniform(-2, 2) for _ in range(3)]
        try:
            wanted = float(function(text)(*values))
        except ZeroDivisionError:
            continue
        assert made(*values) == (wanted,)


def test_a_guarded_division_stays_within_its_branch():
    text = "def f(u):\n    if u > 0.0:\n        w = 1.0 / u\n    else:\n        w = 0.0\n    return w + 1.0\n"
    lines, results = traced(text, "u")
    assert lines == ["if u > 0.0:\n    w = 1.0 / u\nelse:\n    w = 0.0"] and results == ["w + 1.0"]


def test_elements_of_arrays_and_calls_that_stay():
    graph = Graph()
    view = View(code("view(a, o[", 3, "], o[", 4, "])"), code("n"))
    text = "def f(u, w):\n    return w[int(u)] + len(w)\n"
    value = Tracer(graph).run(function(text), {"u": graph.read("read", code("u")), "w": view})
    (found,) = Text(graph, [value]).expressions()
    assert str(found) == "view(a, o[3], o[4])[int(u)] + n" and found.addresses == [3, 4]


def test_an_array_that_was_changed_is_not_read_again():
    graph = Graph()
    view = View(code("w"), code("n"), own=True)
    text = "def f(u, w):\n    w[int(u)] = 1.0\n    return w[0]\n"
    with pytest.raises(Untraceable, match="after it has been changed"):
        Tracer(graph).run(function(text), {"u": graph.read("read", code("u")), "w": view})


def test_equal_operations_are_one_node():
    graph = Graph()
    a, b = (graph.read("read", Code((n,))) for n in "ab")
    assert graph.apply("+", a, b) is graph.apply("+", a, b)
    assert graph.apply("+", a, b) is not graph.apply("+", b, a)
    assert graph.constant(0.0) is not graph.constant(-0.0)
    assert graph.constant(1) is not graph.constant(1.0)
    assert graph.apply("*", graph.constant(2.0), graph.constant(3.0)).value == 6.0


def test_whole_numbers_stay_whole_where_both_sides_are():
    graph = Graph()
    a = graph.read("read", code("a"))
    test = graph.apply("<", a, graph.constant(0.0))
    index = graph.choose(test, graph.constant(1), graph.apply("int", a))
    mixed = graph.choose(test, graph.constant(1), a)
    assert index.whole and index.inputs[1].value == 1 and type(index.inputs[1].value) is int
    assert not mixed.whole and type(mixed.inputs[1].value) is float
