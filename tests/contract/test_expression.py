"""Arithmetic as text: what is computed, and what is refused in which words."""

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocksim.contract.expression import evaluate, function, names_in, parse_expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * Ts", 2e-3),
        ("-Ts ** 2", -1e-6),
        ("1 / Ts", 1000.0),
        ("2 ** -3", 0.125),
        ("2 ** 0.5", math.sqrt(2)),
        ("2 ** 3 ** 2", 512.0),
        ("sin(pi / 2) + max(1, 2)", 3.0),
        ("atan2(1, 1)", math.pi / 4),
        ("floor(-0.5) + round(2.5)", 1.0),
        ("0 < Ts < 1", 1.0),
        ("not (Ts > 1 or Ts == 0)", 1.0),
        ("3 if Ts > 1 else 4", 4.0),
        ("Ts and 0", 0.0),
        ("7", 7.0),
    ],
)
def test_values(text, value):
    found = evaluate(text, {"Ts": 1e-3})
    assert isinstance(found, float)
    assert found == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an expression is wanted"),
        ("2 *", "is not an expression"),
        ("u ^ 2", "'^' is not a power here; write **."),
        ("u % 2", "write fmod(a, b)"),
        ("u // 2", "write floor(a / b)"),
        ("math.sin(u)", "names have no dots"),
        ("u.real", "names have no dots"),
        ("sin", "'sin' is a function; call it"),
        ("sin(1, 2)", "sin takes 1 argument(s), found 2."),
        ("sinn(u)", "Did you mean 'sin'?"),
        ("v", "unknown name 'v'. Names are: u, pi, tau, e."),
        ("'text'", "is not allowed"),
        ("True", "is not allowed"),
        ("[1, 2]", "is not allowed"),
        ("(lambda: 1)()", "is not allowed"),
        ("sin(x=1)", "is not allowed"),
        ("u in u", "is not allowed"),
        ("(u := 2)", "is not allowed"),
        ("__import__('os').system('ls')", "names have no dots"),
        ("().__class__.__bases__", "names have no dots"),
        ("1 / 0", "has no value"),
        ("sqrt(-1)", "has no value"),
        ("9 ** 9 ** 9 ** 9", "has no value"),
        ("1e308 * 10", "is inf, not a finite number"),
        ("1e999", "too large"),
        ("1" + "0" * 400, "too large"),
        ("(" * 300 + "1" + ")" * 300, "is not an expression"),
        ("-" * 300 + "1", "nested deeper"),
        ("1+" * 600 + "1", "at most 1000 characters"),
        ("0 < (0 < u < 1) < 1", "write it with 'and'"),
        ("u\x00", "is not an expression"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(ValueError) as error:
        evaluate(text, {"u": 1.0})
    assert words in str(error.value)


def test_names():
    assert names_in(parse_expression("sin(a) * b + pi", {"a", "b", "c"})) == {"a", "b"}


def test_numbers_become_floats_and_powers_products():
    assert ast.unparse(parse_expression("2 * u ** 2 / u ** -3", {"u"})) == "2.0 * u ** 2 / (1.0 / u ** 3)"
    assert ast.unparse(parse_expression("u ** v", {"u", "v"})) == "power(u, v)"
    assert ast.unparse(parse_expression("u > 1", {"u"})) == "1.0 if u > 1.0 else 0.0"


def test_a_function_carries_its_source():
    made = function("def output(u):\n    return sin(u)\n")
    assert made(0.0) == 0.0 and "return sin(u)" in made.__source__


@given(st.text(alphabet="u1.+-*/()<>=sincoael _,ifr'[]{}:^%&|!~@", max_size=60))
def test_any_text_gives_a_float_or_words(text):
    try:
        assert math.isfinite(evaluate(text, {"u": 0.5}))
    except ValueError as error:
        assert str(error)
