"""The names a block author may use: helpers, constants and arguments mean in the program what they mean in the module."""

import importlib.util

import pytest

import blocksim as bs
from blocksim.contract.block import Block, normal, outport, period
from blocksim.contract.declarations import Inport
from blocksim.errors import BlockDefinitionError


def module(folder, name, text):
    """A module of blocks, written and imported."""
    path = folder / f"{name}.py"
    path.write_text("from blocksim.contract.block import Block, inport, outport, param, state\n" + text)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def values(engine="python", **blocks):
    """The output of each block for the input [2, 3]."""
    made = bs.Diagram("names")
    made.add("u", "Constant", value=2.0)
    made.add("uu", "Constant", value=[2.0, 3.0])
    for name, block in blocks.items():
        made.add(name, block, "uu" if block.of(Inport)["u"].size != 1 else "u")
    record = bs.simulate(made, stop=1, solver="rk4", step=0.5, engine=engine)
    return {name: record[name][-1].tolist() for name in blocks}


ONE = '''
FACTOR = {factor}


def helper(x):
    if x > 100.0:
        return deeper(x)
    return x * FACTOR


def deeper(x):
    return x + FACTOR


class Times(Block):
    """y = FACTOR u."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return helper(u)


class Sums(Block):
    """y[i] = FACTOR + u[0] + ... + u[i], over a table too long to be written out."""

    u = inport("input", size=2)
    y = outport("output", size=2)

    @staticmethod
    def output(u, out):
        total = FACTOR
        i = 0
        while i < 2:
            total = total + u[i]
            out[i] = total
            i = i + 1
'''


def test_helpers_and_classes_of_one_name_in_two_modules(tmp_path):
    # Both modules call their helper `helper` and their blocks Times and Sums; each block must get its own.
    a, b = (module(tmp_path, n, ONE.replace("{factor}", f)) for n, f in (("first", "2.0"), ("second", "5.0")))
    found = values(a=a.Times(), b=b.Times(), c=a.Sums(), d=b.Sums())
    assert found == {"a": 4.0, "b": 10.0, "c": [4.0, 7.0], "d": [7.0, 10.0]}


def test_a_helper_may_be_called_like_a_part_of_the_program(tmp_path):
    text = '''
def {name}(x):
    return x + 40.0


class Plus(Block):
    """y = u + 40."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return {name}(u)
'''
    for name in ("hit", "derivative", "advance", "seconds", "reset", "settle", "rows", "attempt", "p_y"):
        block = module(tmp_path, f"called_{name}", text.replace("{name}", name)).Plus()
        assert values(p=block) == {"p": 42.0}, name


def test_own_constants_and_functions_win_over_the_vocabulary(tmp_path):
    # In mechanics e is a restitution and tau a torque or a time constant.
    text = '''
e = 0.5
tau = 10.0


def sign(x):
    return 7.0


class Own(Block):
    """y = e u + tau + sign(u)."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return e * u + tau + sign(u)
'''
    assert values(y=module(tmp_path, "own", text).Own()) == {"y": 18.0}


def test_arguments_and_locals_may_be_called_like_constants(tmp_path):
    text = '''
def lever(tau, pi):
    e = tau * pi
    if e > 0.0:
        return e
    return -e


class Arguments(Block):
    """y = 3 u, by way of names that are constants elsewhere."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        tau = 3.0
        return lever(u, tau)
'''
    assert values(y=module(tmp_path, "arguments", text).Arguments()) == {"y": 6.0}


def test_math_is_math_whatever_the_locals_are_called(tmp_path):
    text = '''
import math


class Mathematical(Block):
    """y = math.pi + u."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        pi = u
        return math.pi + pi
'''
    assert values(y=module(tmp_path, "mathematical", text).Mathematical())["y"] == pytest.approx(5.141592653589793, abs=1e-15)


def test_compiled_programs_know_the_same_names(tmp_path):
    a, b = (module(tmp_path, n, ONE.replace("{factor}", f)) for n, f in (("third", "2.0"), ("fourth", "5.0")))
    assert values("compiled", a=a.Times(), b=b.Times()) == {"a": 4.0, "b": 10.0}


def test_a_continuous_output_cannot_draw():
    with pytest.raises(BlockDefinitionError, match=r"asks for the draw 'w', which is made at sample hits.*SampledBlock"):

        class Wrong(Block):
            """y = w."""

            Ts = period(doc="sample time", required=True)
            w = normal("the draw")
            y = outport("noise")

            @staticmethod
            def output(w):
                return w
