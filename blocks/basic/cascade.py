"""A cascade of second-order sections: how it runs, in continuous time or sampled, and how it is made of zeros and poles.

Sections in a row stay accurate where polynomials of high order do not.
"""

# mypy: disable-error-code="override, misc"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, period, state, table


class Cascade(Block):
    """x' = A x + B u, y = C x + D u (sampled: x[k+1] = ...): sections in a row, so that A has no more than one diagonal above."""

    abstract = True
    family = "continuous"

    Ts = period(0, "sample time; 0 acts continuously", optional=True)
    u = inport("input")
    y = outport("filtered input", like="u")
    A = table("how the states move", shape=(None, None))
    B = table("how the input moves them")
    C = table("how they make the output")
    D = table("what passes directly, one number")


class InTime:
    """x' = A x + B u, y = C x + D u."""

    x: Any = state(0.0, "states, two for each section", size="n")

    @staticmethod
    def derivative(x, u, A, B, n, out):
        next_states(x, u, A, B, n, out)

    @staticmethod
    def output(x, u, C, D, n):
        return passed_on(x, C, n, D[0] * u)


class InSamples:
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k]."""

    sampled = True
    x: Any = memory(0.0, "states, two for each section", size="n")

    @staticmethod
    def update(x, u, A, B, n, out):
        next_states(x, u, A, B, n, out)

    @staticmethod
    def output(x, u, C, D, n):
        return passed_on(x, C, n, D[0] * u)


class Blocked:
    """y = C x: nothing passes directly."""

    @staticmethod
    def output(x, C, n):
        return passed_on(x, C, n, 0.0)


def next_states(x, u, A, B, n, out):
    """A x + B u, A having no more than one diagonal above."""
    for i in range(n):
        total = B[i] * u
        for j in range(min(i + 2, n)):
            total = total + A[i, j] * x[j]
        out[i] = total


def passed_on(x, C, n, y):
    """y + C x."""
    for i in range(n):
        y = y + C[i] * x[i]
    return y


def cascade(zeros: Any, poles: Any, gain: float) -> tuple[Any, Any, Any, Any]:
    """(A, B, C, D) of second-order sections in a row, each in controllable canonical form; D is 0 with fewer zeros than poles."""
    import numpy as np

    A, B, C, D = np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0
    for top, bottom in sections(zeros, poles):
        degree = len(bottom)
        a = np.poly(bottom).real
        b = np.concatenate([np.zeros(degree - len(top)), np.atleast_1d(np.poly(top).real)])
        first = np.eye(degree)[0]
        own = np.diag(np.ones(degree - 1), -1)
        own[0] = -a[1:]
        A = np.block([[A, np.zeros((len(A), degree))], [np.outer(first, C), own]])
        B = np.concatenate([B, D * first])
        C, D = np.concatenate([b[0] * C, b[1:] - b[0] * a[1:]]), b[0] * D
    return A, B, gain * C, np.array([gain * D])


def sections(zeros: Any, poles: Any) -> list[tuple[list[complex], list[complex]]]:
    """Zeros and poles in twos, conjugates together; a single pole comes last."""
    pole_pairs, real_poles = conjugates(poles)
    zero_pairs, real_zeros = conjugates(zeros)
    bottoms = pole_pairs + [real_poles[i : i + 2] for i in range(0, len(real_poles), 2)]
    tops = [zero_pairs.pop() if zero_pairs and len(bottom) == 2 else [] for bottom in bottoms]
    for top, bottom in zip(tops, bottoms, strict=True):
        while real_zeros and len(top) < len(bottom):
            top.append(real_zeros.pop())
    return list(zip(tops, bottoms, strict=True))


def conjugates(numbers: Any) -> tuple[list[list[complex]], list[complex]]:
    """Conjugate pairs, and the real numbers."""
    level = [abs(r.imag) <= 1e-12 * abs(r) for r in numbers]
    pairs = [[complex(r), complex(r).conjugate()] for r, flat in zip(numbers, level, strict=True) if not flat and r.imag > 0]
    return pairs, [complex(r.real) for r, flat in zip(numbers, level, strict=True) if flat]
