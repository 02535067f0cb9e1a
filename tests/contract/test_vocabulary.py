"""Every word of the vocabulary has the same bits wherever it may stand: ${...}, Function, a block, interpreted or compiled."""

import inspect
import itertools
import math
import struct

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract import expression
from blocksim.contract.block import Block, inport, outport, param
from blocksim.contract.vocabulary import BUILTINS, CONSTANTS, FUNCTIONS, MATRIX, VOCABULARY, WORDS, power, power_int
from blocksim.tracing.derivative_rules import RULES

CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-310, 4.6e15, 710.5, -745.2, 1e300, math.inf, -math.inf, math.nan]
PAIRS = [*itertools.product(CORNERS, [0.0, -0.0, 1.0, -1.0, 2.0, 0.3, -1.7, math.inf, -math.inf, math.nan])]
#: What numpy calls a word, for an independent word on what IEEE 754 gives.
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "power": "power", "abs": "abs"}
LIBM = [name for name, word in WORDS.items() if word.form == "libm"]
OFFERED = [n for n in FUNCTIONS if n not in ("bool", "float", "int", "power_int")]


def bits(value):
    return "nan" if value != value else struct.pack("<d", value)


class Pairs(Block):
    """y = (first, second) of pair number t."""

    first = param([0.0], "first numbers", shape=(None,), infinite=True)
    second = param([0.0], "second numbers", shape=(None,), infinite=True)
    a = outport("first number")
    b = outport("second number")

    @staticmethod
    def output_a(t, first):
        return first[int(t + 0.5)]

    @staticmethod
    def output_b(t, second):
        return second[int(t + 0.5)]


def numbers_of(word):
    return ", ".join(("u1", "u2")[: FUNCTIONS[word].takes])


def word_block(word):
    """A block that is one word."""
    call = f"{word}({', '.join(('u', 'v')[: FUNCTIONS[word].takes])})"
    names = ", ".join(("u", "v")[: FUNCTIONS[word].takes])
    output = expression.function(f"def output({names}):\n    return {call}\n")
    ports = {"u": inport("u"), "v": inport("v", optional=True), "y": outport("y")}
    return type("Word", (Block,), {"__doc__": f"y = {call}.", **ports, "output": staticmethod(output)})


@pytest.fixture(scope="module")
def records():
    """All words at all pairs of corner cases, under CPython and compiled."""
    finite = [(a, b) for a, b in PAIRS if not (math.isnan(a) or math.isnan(b))]  # a parameter cannot be nan; 0 * inf makes one
    made = bs.Diagram("words")
    made.add("pairs", Pairs(first=[a for a, _ in finite], second=[b for _, b in finite]))
    for word in OFFERED:
        wires = {"u": "pairs.a", "v": "pairs.b"} if FUNCTIONS[word].takes == 2 else {"u": "pairs.a"}
        made.add(f"b_{word}", word_block(word)(), inputs=wires)
        made.add(f"f_{word}", "Function", expression=f"{word}({numbers_of(word)})", inputs=["pairs.a", "pairs.b"])
    options = {"stop": len(finite) - 1, "solver": "rk4", "step": 1}
    return finite, [bs.simulate(made, engine=engine, **options) for engine in ("python", "compiled")]


@pytest.mark.parametrize("word", OFFERED)
def test_a_word_has_the_same_bits_everywhere(records, word):
    pairs, (plain, fast) = records
    signals = [[bits(v) for v in record[f"{kind}_{word}.y"]] for record in (plain, fast) for kind in "bf"]
    assert signals[0] == signals[1] == signals[2] == signals[3]
    takes = FUNCTIONS[word].takes
    for k, pair in enumerate(pairs):
        try:
            own = float(WORDS[word].meaning(*pair[:takes]))
        except (ArithmeticError, ValueError):
            continue
        assert bits(own) == signals[0][k], pair


@pytest.mark.parametrize("word", OFFERED)
def test_a_word_has_the_same_bits_in_a_file(records, word):
    pairs, (plain, _) = records
    takes = FUNCTIONS[word].takes
    for k, pair in enumerate(pairs):
        value = plain[f"b_{word}.y"][k]
        if not all(math.isfinite(v) for v in pair[:takes]):
            continue
        text = f"{word}({', '.join(map(repr, pair[:takes]))})"
        if math.isfinite(value):
            assert bits(expression.evaluate(text, {})) == bits(value), text
        else:
            with pytest.raises(ValueError, match=r"no value|not a finite number"):
                expression.evaluate(text, {})


@pytest.mark.parametrize("word", [*LIBM, "fmod", "floor", "ceil", "sign", "power", "abs"])
def test_a_word_follows_ieee_where_python_raises(records, word):
    """numpy's own functions say what is not finite, and where."""
    pairs, (plain, _) = records
    takes = FUNCTIONS[word].takes
    with np.errstate(all="ignore"):
        wanted = [float(getattr(np, NUMPY.get(word, word))(*pair[:takes])) for pair in pairs]
    for pair, value, other in zip(pairs, plain[f"b_{word}.y"], wanted, strict=True):
        if math.isfinite(other):
            assert value == pytest.approx(other, rel=1e-14, abs=1e-320), pair
        else:
            assert bits(value) == bits(other), pair


def test_nan_goes_through():
    with np.errstate(all="ignore"):
        for word in LIBM:
            assert math.isnan(WORDS[word].meaning(*[math.nan] * FUNCTIONS[word].takes)) or word in ("atan2",)


def test_every_function_of_numbers_has_a_derivative_rule():
    ruled = {*RULES, "maximum", "minimum"}  # branches stand in of_node
    assert {n for n in FUNCTIONS if n not in ruled} == set()


def test_the_words_that_are_offered_run():
    """Function's own docstring, the error texts and the docs page name words of the table only."""
    from blocks.basic.arithmetic import Function

    named = inspect.getdoc(Function).partition("the functions")[2].partition(". ")[0].split()
    assert set(named) - set(expression.CALLABLES) - set(expression.SYNONYMS) == set()
    for name in (*expression.CALLABLES, *expression.SYNONYMS):
        takes = FUNCTIONS[expression.SYNONYMS.get(name, name)].takes
        assert math.isfinite(expression.evaluate(f"{name}({', '.join(['0.5'] * takes)})", {}))
    assert set(VOCABULARY) == {*FUNCTIONS, *CONSTANTS, *BUILTINS, *MATRIX}


@pytest.mark.parametrize("text", ["u ** 2", "u ** 3", "u ** 7", "u ** -5", "u ** 0.5", "u ** 1.7", "2 ** u", "u1 ** u2"])
def test_powers_have_the_same_bits_everywhere(text):
    made = bs.Diagram("powers")
    made.add("u", "Ramp", slope=0.37, start=0.0)
    made.add("y", "Function", expression=text, inputs=["u", "u"] if "u2" in text else ["u"])
    plain, fast = (bs.simulate(made, stop=40, solver="rk4", step=1, engine=e) for e in ("python", "compiled"))
    assert [bits(v) for v in plain["y"]] == [bits(v) for v in fast["y"]]
    for u, y in list(zip(plain["u"], plain["y"], strict=True))[1:]:
        assert bits(expression.evaluate(text, {"u": u, "u1": u, "u2": u})) == bits(y)


def test_whole_powers_are_products():
    assert power_int(1.1, 5) == 1.1 * 1.1 * 1.1 * 1.1 * 1.1
    assert power_int(1.1, -2) == 1.0 / (1.1 * 1.1)
    assert power(2.0, 0.5) == math.pow(2.0, 0.5)
