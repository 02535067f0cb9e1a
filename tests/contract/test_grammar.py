"""What a block function may not contain is refused when the class is made, with its line and what to write instead."""

import importlib.util

import pytest

from blocksim.errors import BlockDefinitionError

HEAD = '''
import math
from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param
from blocksim.contract.vocabulary import sin

LIMIT = 2.0
THINGS = [1.0, 2.0]


def helper(a, b=1.0):
    return a * b


def endless(a):
    return endless(a) + 1.0


def first(a):
    return second(a)


def second(a):
    return first(a)


def risky(a):
    try:
        return 1.0 / a
    except ZeroDivisionError:
        return 0.0


def writes(values):
    values[0] = 1.0


class Made(Block):
    """y = something."""

    k: float = param(1.0, "number")
    w = param([1.0], "numbers", shape=(None,))
    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u, k, w):
'''

REFUSALS = [
    ("try:\n    y = 1.0 / u\nexcept ZeroDivisionError:\n    y = 0.0\nreturn y", 2, "it has try", "an if before it"),
    ("with open('f') as f:\n    return u", 2, "it has with", "table_<name>"),
    ("f = lambda a: a\nreturn f(u)", 2, "it has lambda", "a function of the module"),
    ("def f(a):\n    return a\nreturn f(u)", 2, "a function within a function", "into the module"),
    ("return sum([a * u for a in (1.0, 2.0)])", 2, "it has a comprehension", "a for loop"),
    ("return max(a for a in (u, k))", 2, "it has a generator", "a for loop"),
    ("global LIMIT\nLIMIT = u\nreturn u", 2, "it has global", "a memory"),
    ("a = u\ndel a\nreturn u", 3, "it has del", "leave the name"),
    ("if u > 1.0:\n    raise ValueError\nreturn u", 3, "it has raise", "check(...)"),
    ("assert u > 0.0\nreturn u", 2, "it has assert", "check(...)"),
    ("yield u", 2, "it has yield", "return the values"),
    ("return helper(*(u, k))", 2, "it has *", "one by one"),
    ("import math\nreturn u", 2, "it has import", "top of the module"),
    ("return (a := u) + a", 2, "it has :=", "on a line of its own"),
    ("a = {'y': u}\nreturn u", 2, "it has a dict", "only what is returned may be one"),
    ("a = w[0:1]\nreturn u", 2, "it has a slice", "one by one"),
    ("return u @ k", 2, "the operator MatMult", "+ - * /"),
    ("return u ^ k", 2, "the operator BitXor", "+ - * /"),
    ("return ~u", 2, "it uses ~", "'not' or a minus"),
    ("return u.real", 2, "it uses 'u.real'", "names without dots"),
    ("return math.gamma(u)", 2, "it uses 'math.gamma'", "the words are: sin, cos"),
    ("return helper(u, 1.0, 2.0)", 2, "it calls 'helper(u, 1.0, 2.0)'", "helper takes: a, b"),
    ("return helper(u, c=1.0)", 2, "it calls 'helper(u, c=1.0)'", "helper takes: a, b"),
    ("return sin(u, k)", 2, "it calls 'sin(u, k)'", "sin takes 1"),
    ("return sin(x=u)", 2, "it calls 'sin(x=u)'", "sin takes 1 plain"),
    ("return endless(u)", 2, "in endless, line 2 of the function: 'endless' calls itself", "write a loop"),
    ("return first(u)", 2, "'first' calls itself", "write a loop"),
    ("return risky(u)", 2, "in risky, line 2 of the function: it has try", "an if before it"),
    ("return k(u)", 2, "it calls its own 'k'", "by its name"),
    ("return sin", 2, "'sin' is a function", "call it: sin(...)"),
    ("w[0] = u\nreturn u", 2, "it stores into 'w[0]'", "of `out` or of an array memory"),
    ("writes(w)\nreturn u", 2, "in writes, line 2 of the function: it stores into 'values[0]'", "of `out` or of an array memory"),
    ("u + k\nreturn u", 2, "'u + k' has no effect", "assign it or return it"),
    ("for i in range(3):\n    a = u\nreturn a", 4, "'a' may have no value there", "before the branch or loop"),
    ("if u > 0.0:\n    a = u\nreturn a", 4, "'a' may have no value there", "before the branch or loop"),
    ("for i in range(3):\n    u = u + 1.0\nelse:\n    u = 0.0\nreturn u", 2, "a loop has an else", "test it behind"),
    ("u.real = 1.0\nreturn u", 2, "it assigns to 'u.real'", "assign to names"),
    ("return f'{u}'", 2, "an f-string", "compute numbers"),
    ("r = range(3)\nreturn u", 2, "range(...) as a value", "for i in range(n)"),
]


def imported(folder, text):
    path = folder / "refused.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("refused", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize(("lines", "line", "found", "instead"), REFUSALS, ids=[r[2] for r in REFUSALS])
def test_refusals_name_class_function_line_and_what_to_write(tmp_path, lines, line, found, instead):
    body = "\n".join("        " + text for text in lines.splitlines())
    with pytest.raises(BlockDefinitionError) as caught:
        imported(tmp_path, HEAD + body + "\n")
    text = str(caught.value)
    assert text.startswith("block Made: output")
    assert found in text and instead in text
    assert f"line {line} of the function" in text or ", in " in text


def test_names_from_outside_are_refused(tmp_path):
    with pytest.raises(BlockDefinitionError, match="uses 'THINGS', which a compiled function cannot see"):
        imported(tmp_path, HEAD + "        return u * THINGS[0]\n")
    with pytest.raises(BlockDefinitionError, match=r"uses 'sinn', which .* Did you mean 'sin'"):
        imported(tmp_path, HEAD + "        return sinn(u)\n")


def test_names_of_a_function_around_it_are_refused(tmp_path):
    text = HEAD.partition("class Made")[0]
    lines = ["def make(gain):", "    class Inner(Block):", "        'y = gain u.'", "        u = inport('input')"]
    lines += ["        y = outport('output')", "        @staticmethod", "        def output(u):", "            return gain * u"]
    words = "block Inner: output, line 1 of the function: it uses 'gain' of a function around"
    with pytest.raises(BlockDefinitionError, match=words):
        imported(tmp_path, text + "\n".join(lines) + "\n\n\nmake(2.0)\n")
