"""Matrices in block functions: the words against numpy, two-dimensional ports and memories, results by name."""

import numpy as np
import pytest

import blocksim as bs
from blocksim.compiler import following
from blocksim.contract import matrices
from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, static
from blocksim.contract.vocabulary import (
    MATRIX,
    add,
    alongside,
    array,
    block,
    chained,
    chosen,
    diagonal,
    divide,
    dot,
    identity,
    multiply,
    outer,
    part,
    rows,
    scale,
    stack,
    subtract,
    symmetric,
    transpose,
    zeros,
)  # fmt: skip
from blocksim.errors import BlockDefinitionError

DRAW = np.random.default_rng(3)
A, B, C = DRAW.standard_normal((3, 2)), DRAW.standard_normal((2, 4)), DRAW.standard_normal((3, 4))
v, w = DRAW.standard_normal(2), DRAW.standard_normal(2)
CASES = {
    "dot": (matrices.dot(v, w, plus=2.0), 2.0 + v @ w),
    "multiply": (matrices.multiply(A, B, plus=C), A @ B + C),
    "multiply by a vector": (matrices.multiply(A, v), A @ v),
    "transpose": (matrices.transpose(A), A.T),
    "outer": (matrices.outer(v, w), np.outer(v, w)),
    "add": (matrices.add(A, A), A + A),
    "subtract": (matrices.subtract(v, w), v - w),
    "scale": (matrices.scale(A, 3.0), 3 * A),
    "scale by columns": (matrices.scale(A, v), A @ np.diag(v)),
    "divide": (matrices.divide(A, 3.0), A / 3),
    "divide by columns": (matrices.divide(A, v), A / v),
    "identity": (matrices.identity(3), np.eye(3)),
    "diagonal": (matrices.diagonal(v), np.diag(v)),
    "symmetric": (matrices.symmetric([[1.0, 2.0], [9.0, 3.0]]), [[1, 2], [2, 3]]),
    "part": (matrices.part(C[0], 1, 2), C[0, 1:3]),
    "rows": (matrices.rows(B.ravel(), 1, 4, 4), B[1:]),
    "scale by elements": (matrices.scale(v, w), v * w),
    "divide by elements": (matrices.divide(v, w), v / w),
    "block": (matrices.block(C, 1, 1, 2, 3), C[1:3, 1:4]),
    "zeros": (matrices.zeros(2, 3), np.zeros((2, 3))),
    "array": (matrices.array(A), A),
    "chained": (matrices.chained(v, C[0]), np.concatenate([v, C[0]])),
    "stack": (matrices.stack(A, v), np.vstack([A, v])),
    "alongside": (matrices.alongside(A, C), np.hstack([A, C])),
    "chosen": (matrices.chosen(C[0], (2, 0)), C[0, [2, 0]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_word_is_what_numpy_says(name):
    found, wanted = CASES[name]
    np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-14)


def test_every_word_is_tried():
    assert {name.partition(" ")[0] for name in CASES} == set(MATRIX)


class Kalman(SampledBlock):
    """x' = F x + K (y - H x), P' = F (P - K H P) F^T + Q: a linear filter in its textbook lines."""

    n: int = static(2, "states")
    q: float = param(0.1, "variance added to each state")
    r: float = param(0.5, "variance of a reading")
    y = inport("reading")
    x_hat = outport("estimate", size="n")
    P = outport("its covariance", size=("n", "n"))
    x: float = memory(0.0, "predicted state", size="n")
    S: float = memory(0.0, "predicted covariance", size=("n", "n"), internal=True)

    @staticmethod
    def step(y, x, S, q, r, n):
        F = ((1.0, 0.1), (0.0, 1.0))
        H = (1.0, 0.0)
        Sh = multiply(S, H)
        variance = Sh[0] + r
        K = divide(Sh, variance)
        x = add(x, scale(K, y - x[0]))
        P = symmetric(add(S, scale(outer(K, Sh), -1.0)))
        ahead = multiply(multiply(F, P), transpose(F), plus=scale(identity(n), q))
        return {"x_hat": x, "P": P, "next_x": multiply(F, x), "next_S": ahead}

    @staticmethod
    def table_S(n):
        return 2.0 * np.eye(n)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_filter_of_matrices_is_the_one_of_numpy(engine):
    made = bs.Diagram("kalman")
    made.add("y", "Sine", frequency=0.3)
    made.add("k", Kalman(Ts=0.1), inputs="y")
    record = bs.simulate(made, stop=3, solver="rk4", step=0.1, engine=engine)
    F, H, x, S = np.array([[1, 0.1], [0, 1]]), np.array([[1.0, 0.0]]), np.zeros(2), 2 * np.eye(2)
    for k, y in enumerate(record["y"]):
        K = S @ H.T / (H @ S @ H.T + 0.5)
        x, P = x + K[:, 0] * (y - x[0]), S - K @ H @ S
        np.testing.assert_allclose(record["k.x_hat"][k], x, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(record["k.P"][k].reshape(2, 2), P, rtol=1e-10, atol=1e-13)
        x, S = F @ x, F @ P @ F.T + 0.1 * np.eye(2)


class Shifted(SampledBlock):
    """A[i, j] = A[i - 1, j] + u: an array memory of two dimensions, changed in place, written out or in loops."""

    n: int = static(3, "rows and columns")
    u = inport("input")
    y = outport("last element")
    A: float = memory(0.0, "matrix", size=("n", "n"), array=True, internal=True)

    @staticmethod
    def output(A, n):
        return A[n - 1, n - 1] + A[0, n - 1]

    @staticmethod
    def update(u, A, n):
        for r in range(n - 1):
            i = n - 1 - r
            for j in range(n):
                A[i, j] = A[i - 1, j] + u
        for j in range(n):
            A[0, j] = u * j


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_an_array_memory_may_have_two_dimensions(n, engine):
    made = bs.Diagram("shifted")
    made.add("u", "Ramp", slope=1.0)
    made.add("s", Shifted(Ts=1, n=n), inputs="u")
    record = bs.simulate(made, stop=20, solver="rk4", step=1, engine=engine)
    A = np.zeros((n, n))
    for k, u in enumerate(record["u"]):
        assert record["s"][k] == A[-1, -1] + A[0, -1]
        A = np.vstack([u * np.arange(n), A[:-1] + u])


class Mixed(Block):
    """Y = diag(u) U: a matrix in, a matrix out."""

    u = inport("vector", size=2)
    U = inport("matrix", size=(2, 3))
    Y = outport("matrix", size=(2, 3))

    @staticmethod
    def output(u, U):
        return multiply(diagonal(u), U)


def test_ports_may_be_matrices():
    made = bs.Diagram("mixed")
    made.add("u", "Constant", value=[2.0, 3.0])
    made.add("U", "Constant", value=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    made.add("Y", Mixed(), inputs={"u": "u", "U": "U"})
    record = bs.simulate(made, stop=1, solver="rk4", step=1, engine="python")
    assert record["Y"][0].tolist() == [2, 4, 6, 12, 15, 18]
    made.add("Z", Mixed(), inputs={"u": "U", "U": "U"})
    with pytest.raises(bs.DiagramError, match="has 6 elements, input 'u' of 'Z' \\(Mixed\\) takes 2"):
        bs.simulate(made, stop=1)


class Unfit(Mixed):
    """Y = u U, which do not fit."""

    @staticmethod
    def output(u, U):
        return multiply(U, u)


class Short(Mixed):
    """Y by a name that is not wanted."""

    @staticmethod
    def output(u, U):
        return {"y": U}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Unfit, r"Unfit\.output has 'multiply\(U, u\)', whose parts do not fit together: 2 values, 2 values"),
        (Short, r"Short\.output returns y by name where Y are wanted"),
    ],
)
def test_what_does_not_fit_is_refused(kind, words):
    made = bs.Diagram("unfit")
    made.add("u", "Constant", value=[2.0, 3.0])
    made.add("U", "Constant", value=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    made.add("Y", kind(), inputs={"u": "u", "U": "U"})
    with pytest.raises(BlockDefinitionError, match=words):
        bs.simulate(made, stop=1, engine="python")


def test_zeros_of_structure_cost_nothing():
    made = bs.Diagram("kalman")
    made.add("y", "Sine")
    made.add("k", Kalman(Ts=0.1), inputs="y")
    from blocksim.simulation.experiment import make_experiment

    text = make_experiment(made, stop=1, solver="rk4", step=0.1).program.source.text
    lines = [line for line in text.splitlines() if " k_" in line]
    assert not any("0.0 *" in line or "* 0.0" in line or "1.0 *" in line for line in lines)


def solved(A, b, n):
    """x of A x = b by elimination, in arrays of its own."""
    A, x = array(A), array(b)
    for k in range(n):
        for i in range(n):
            if i != k:
                share = A[i, k] / A[k, k]
                x[i] = x[i] - share * x[k]
                for j in range(n):
                    A[i, j] = A[i, j] - share * A[k, j]
    for i in range(n):
        x[i] = x[i] / A[i, i]
    return x


class EveryWord(SampledBlock):
    """Something of every word, with what may go wrong in loops: names that change, swaps, matrices read while they are set."""

    n: int = static(3, "size")
    u = inport("input")
    y = outport("results", size=3)
    Z = outport("results", size=(6, 6))
    A: float = memory(0.0, "matrix", size=("n", "n"), array=True, internal=True)
    b: float = memory(1.0, "vector", size="n", array=True, internal=True)

    @staticmethod
    def output(u, A, b, n):
        B = add(A, scale(identity(n), 2.0 + u))
        before = B
        a, c = b, scale(b, u)
        for _ in range(3):
            a, c = c, add(a, c)  # a swap
            B = symmetric(multiply(B, transpose(before), plus=outer(a, c)))  # reads itself at other places
            B = divide(B, 1.0 + dot(a, a))
            if u > 0.5:
                a = scale(a, 0.5)
            else:
                c = subtract(c, b)
        X = zeros(2, n)
        X[0] = a
        for i in range(n):
            X[1, i] = c[i] * i
        parts = alongside(stack(B, X), block(stack(A, X), 0, 0, n + 2, 1), rows(chained(a, c, (u, 1.0, 2.0, 3.0)), n + 2, 2))
        Z = stack(parts, chosen(chained(a, c), (5, 4, 3, 2, 1, 0)))
        return solved(add(B, scale(diagonal(add(c, b)), 3.0)), divide(part(chained(b, a), 1, n), (2.0, 4.0, 8.0)), n), Z

    @staticmethod
    def update(u, A, b, n):
        return {"A": add(transpose(A), scale(outer(b, b), u)), "b": add(multiply(A, b), scale(b, 0.1))}


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_loops_give_the_bits_of_what_is_written_out(engine, monkeypatch):
    results = []
    for limit in (10**6, 0):
        monkeypatch.setattr(following, "MATRICES", limit)
        made = bs.Diagram("words")
        made.add("u", "Sine", frequency=0.1)
        made.add("w", EveryWord(Ts=1), inputs="u")
        record = bs.simulate(made, stop=8, solver="rk4", step=1, engine=engine)
        results.append(np.hstack([record["w.y"], record["w.Z"]]))
    assert np.isfinite(results[0]).all() and np.ptp(results[0], axis=0).max() > 0.1
    assert np.array_equal(results[0], results[1])
    plain = EveryWord.output(0.3, np.eye(3), np.array([1.0, 2.0, 3.0]), 3)  # the same text is ordinary Python
    assert np.array(plain[1]).shape == (6, 6)


def test_what_does_not_fit_is_refused_in_loops_too(monkeypatch):
    monkeypatch.setattr(following, "MATRICES", 0)
    made = bs.Diagram("unfit")
    made.add("u", "Constant", value=[2.0, 3.0])
    made.add("U", "Constant", value=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    made.add("Y", Unfit(), inputs={"u": "u", "U": "U"})
    with pytest.raises(BlockDefinitionError, match=r"Unfit\.output has 'multiply\(U, u\)', whose parts do not fit together"):
        bs.simulate(made, stop=1, engine="python")


def test_only_arrays_of_ones_own_may_be_set():
    with pytest.raises(BlockDefinitionError, match=r"it stores into 'B\[0\]'"):

        class Grabbing(Mixed):
            """Y = U, changed on the way."""

            @staticmethod
            def output(u, U):
                B = U
                B[0] = u
                return B
