"""Block functions at random: what Python itself computes is what the engine computes, interpreted and compiled, to the last bit.

Many generated blocks share a diagram, so that a few compilations try a hundred of them.
"""

import importlib.util
import math
import random
import struct

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import blocksim as bs
from blocksim.contract.vocabulary import FUNCTIONS
from blocksim.errors import BlockDefinitionError

NUMBERS = ["0.0", "1.0", "-0.5", "2.0", "0.3", "3", "LIMIT", "pi"]
WORDS = [n for n in FUNCTIONS if n not in ("bool", "float", "int", "power_int", "abs")]
HEAD = """
from math import pi
import math
from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, static
from blocksim.contract.vocabulary import *

LIMIT = 0.75
SCALES = (0.5, 2.0, -1.0)


def soft(a, k=2.0):
    if a > LIMIT:
        return LIMIT + (a - LIMIT) / (1.0 + k * abs(a - LIMIT))
    elif a < -LIMIT:
        return -LIMIT
    return a


def pair(a, b):
    low, high = (a, b) if a < b else (b, a)
    return low, high


def bisect(a, steps):
    low = high = 0.0
    high += 4.0
    turn = 0
    while turn < steps:
        middle = 0.5 * (low + high)
        if middle * middle > a:
            high = middle
        else:
            low = middle
        turn += 1
        if high - low < 1e-3:
            break
    return low
"""
CLASS = '''

class {name}(Block):
    """y = something at random."""

    k: float = param(1.5, "number")
    n: int = static(3, "turns")
    u = inport("input")
    v = inport("input")
    y = outport("output")
    z = outport("output")

    @staticmethod
    def output(u, v, k, n):
'''


def expressions(draw, names, depth=2):
    """An expression of these names, in floats."""

    def inner():
        return expressions(draw, names, depth - 1)

    kind = draw.choice(["name", "number"] if depth == 0 else KINDS)
    match kind:
        case "name":
            return draw.choice(names)
        case "number":
            return draw.choice(NUMBERS)
        case "binary":
            return f"({inner()} {draw.choice(['+', '-', '*', '/', '%', '//'])} {inner()})"
        case "minus":
            return f"-{inner()}"
        case "word":
            word = draw.choice(WORDS)
            dotted = draw.random() < 0.5 and FUNCTIONS[word].form == "libm"
            return f"{'math.' if dotted else ''}{word}({', '.join(inner() for _ in range(FUNCTIONS[word].takes))})"
        case "builtin":
            return draw.choice(["max({a}, {b}, {a})", "min(({a}, {b}))", "abs({a})", "float(round({a}))"]).format(
                a=inner(), b=inner()
            )
        case "choice":
            return f"({inner()} if {conditions(draw, names, depth - 1)} else {inner()})"
        case "helper":
            calls = ["soft({a})", "soft({a}, k={b})", "soft(k={b}, a={a})", "pair({a}, {b})[1]", "bisect({a}, 7)"]
            return draw.choice(calls).format(a=inner(), b=inner())
        case _:
            return f"SCALES[{draw.randint(0, 2)}]"


KINDS = ["name", "name", "number", "binary", "binary", "binary", "minus", "word", "word", "builtin", "choice", "helper", "scale"]


def conditions(draw, names, depth=2):
    """A condition."""
    a, b, c = (expressions(draw, names, max(depth - 1, 0)) for _ in range(3))
    shape = draw.choice(["{a} < {b}", "{a} >= {b}", "{a} < {b} <= {c}", "not {a} > {b}", "{a} < {b} and {c} != 0.0"])
    return draw.choice([shape, "({a} < {b} or {b} < {c})", "n > 2", shape]).format(a=a, b=b, c=c)


def blocks(draw, names, indent, depth, loop):
    """Lines of a block, and the names that have a value after them."""
    lines, names = [], list(names)
    for _ in range(draw.randint(1, 3)):
        kinds = ["set", "set", "set", "add", "pair", "both", "if", "if"] + ["for"] * (not loop) + ["return"] * (depth < 2)
        kind = draw.choice(kinds if depth else kinds[:5])
        pad = "    " * indent
        value = expressions(draw, names)
        target = draw.choice([*(n for n in names if n not in ("k",)), "a", "b", "c", "u"])
        match kind:
            case "set":
                lines.append(f"{pad}{target} = {value}")
                names.append(target)
            case "add":
                lines.append(f"{pad}{draw.choice(names)} {draw.choice(['+', '-', '*'])}= {value}")
            case "pair":
                lines.append(f"{pad}a, b = {draw.choice(['pair(u, v)', '(v, u)', f'(u, {value})'])}")
                names += ["a", "b"]
            case "both":
                lines.append(f"{pad}b = c = {value}")
                names += ["b", "c"]
            case "return":
                test = conditions(draw, names)
                lines += [f"{pad}if {test}:", f"{pad}    return {value}, {expressions(draw, names)}"]
            case "if":
                yes, after = blocks(draw, names, indent + 1, depth - 1, loop)
                no, other = blocks(draw, names, indent + 1, depth - 1, loop)
                lines += [f"{pad}if {conditions(draw, names)}:", *yes, f"{pad}else:", *no]
                names = [n for n in after if n in other or draw.randint(0, 30) == 0]  # now and then one without a value
            case "for":
                over = draw.choice(["range(3)", "range(n)", "(0.5, -1.0)", "SCALES"])
                inner, _ = blocks(draw, [*names, "i"], indent + 1, depth - 1, True)
                lines += [f"{pad}for i in {over}:", *inner]
    return lines, names


def modules(draw, count):
    """The text of a module of blocks."""
    text = HEAD
    for number in range(count):
        lines, names = blocks(draw, ["u", "v", "k"], 2, 2, False)
        lines.append(f"        return {expressions(draw, names)}, {expressions(draw, names)}")
        body = indented(CLASS.format(name=f"Made{number}") + "\n".join(lines))
        text += f"\n\ntry:\n{body}\nexcept Refusal as error:\n    print(error)\n"
    return text.replace("LIMIT = 0.75", "from blocksim.errors import BlockDefinitionError as Refusal\n\nLIMIT = 0.75", 1)


def indented(text):
    return "\n".join("    " + line if line else "" for line in text.splitlines())


def imported(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bits(value):
    return "nan" if value != value else struct.pack("<d", float(value))


def compare(module, count):
    """Plain Python beside both engines; gives how many classes there are."""
    made = bs.Diagram("generated")
    made.add("u", "Sine", amplitude=1.3, frequency=0.11)
    made.add("v", "Ramp", slope=0.4, start=0.0)
    names = [f"Made{k}" for k in range(count) if hasattr(module, f"Made{k}")]
    for name in names:
        made.add(name, getattr(module, name)(), inputs=["u", "v"])
    plain, fast = (bs.simulate(made, stop=9, solver="rk4", step=1, engine=e) for e in ("python", "compiled"))
    for name in names:
        for port in "yz":
            signals = [[bits(v) for v in record[f"{name}.{port}"]] for record in (plain, fast)]
            assert signals[0] == signals[1], f"{name}.{port}: CPython and compiled differ\n{source(module, name)}"
        for k, (u, v) in enumerate(zip(plain["u"], plain["v"], strict=True)):
            try:
                own = getattr(module, name).output(float(u), float(v), 1.5, 3)
            except (ArithmeticError, ValueError):
                continue  # plain Python raises where IEEE 754 has a value
            found = tuple(bits(plain[f"{name}.{port}"][k]) for port in "yz")
            assert found == tuple(bits(x) for x in own), f"{name} at {k}\n{source(module, name)}"
    return len(names)


def source(module, name):
    import ast

    from blocksim.contract.syntax import parsed

    return ast.unparse(parsed(getattr(module, name).output))


@settings(
    max_examples=4,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 10**9))
def test_generated_functions_have_the_bits_of_plain_python(tmp_path_factory, seed):
    text = modules(random.Random(seed), 20)
    module = imported(tmp_path_factory.mktemp("generated") / "generated.py", text)
    assert compare(module, 20) > 10  # few are refused, for a name that may have no value


ONE = CLASS.format(name="Made0")


@pytest.mark.parametrize(
    "lines",
    [
        "        if u < 0.5:\n            u = 0.0\n        return u * k, u",
        "        if u < 0.5:\n            w = 1.0\n        else:\n            w = k\n        return w, w * u",
        "        w = x = u\n        w += 1.0\n        return w, x",
        "        for i in range(n):\n            u, v = v, u + i\n        return u, v",
        "        n = n - 1\n        return n * u, float(n)",
        "        e = 0.5\n        return e * u, math.e",
        "        return soft(k=u, a=v), soft(u)",
        "        return (u if v else v), (u and v)",
        "        return 1 if u > 0.0 else 0, -(0 if u > 0.0 else 1)",
        "        i = int(v)\n        return SCALES[i % 3], SCALES[-1]",
        "        z = inf if u > 0.5 else -inf\n        return z, nan if u > 0.0 else 1.0",
        "        if u > 0.0:\n            if v > 1.0:\n                return 1.0, u\n            u = 5.0\n        return u, v",
        "        y = 2.0 * u\n        return 3.0 * y, y",
    ],
)
def test_a_form_has_the_bits_of_plain_python(tmp_path, lines):
    compare(imported(tmp_path / "form.py", HEAD + "\n\n" + ONE + lines + "\n"), 1)


def test_what_a_branch_guards_is_not_evaluated():
    """A division by zero in the branch not taken would make plain Python raise."""
    made = bs.Diagram("guarded")
    made.add("u", "Ramp", slope=1.0, start=0.0)
    made.add("y", "Function", expression="1 / u if u != 0 else log(u + 1)", inputs="u")
    record = bs.simulate(made, stop=2, solver="rk4", step=1, engine="python")
    assert record["y"].tolist() == [0.0, 1.0, 0.5]
    assert math.isfinite(record["y"][0])


def test_a_class_that_is_refused_says_why(tmp_path):
    text = HEAD + "\n\n" + ONE + "        if u > 0.0:\n            w = 1.0\n        return w, w\n"
    with pytest.raises(BlockDefinitionError) as caught:
        imported(tmp_path / "refused.py", text)
    assert "block Made0: output, line 4 of the function: 'w' may have no value there; give it one before" in str(caught.value)
