"""Runs that fail: whatever the solver, every row up to the failure is kept, and the failure has its time, not a step's begin."""

import math

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.block import Block, SampledBlock, memory, outport, state
from blocksim.solvers import find_solver, solver_names

EVERY = 0.01


class Explosion(Block):
    """x' = x^2 from 1: the solution 1 / (1 - t) ends at t = 1."""

    y = outport("value")
    x: float = state(1.0, "value")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x):
        return x * x


class Gap(Block):
    """x' = -x up to 0.555 s, and no number after it."""

    y = outport("value")
    x: float = state(1.0, "value")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(t, x):
        return -x if t < 0.555 else (x - x) / (x - x)


class Overflow(SampledBlock):
    """y = 10^(40 k) at the k-th hit: below 1e150 up to k = 3; the fourth is beyond any credible scale."""

    y = outport("value")
    value: float = memory(1.0, "value")

    @staticmethod
    def output(value):
        return value

    @staticmethod
    def update(value):
        return value * 1e40


def alone(block):
    made = bs.Diagram("one block")
    made.add("b", block)
    return made


def relay(band=0.0):
    """A relay without hysteresis around an integrator: from 1 it reaches the switching point at t = 1, and stays there."""
    made = bs.Diagram("relay")
    made.add("relay", "Relay", "b", on_point=band, off_point=-band, on_value=-1.0, off_value=1.0)
    made.add("b", "Integrator", "relay", x=1.0)
    return made


def sampled():
    made = bs.Diagram("sampled")
    made.add("b", Overflow(Ts=0.1))
    made.add("one", "Constant")
    made.add("area", "Integrator", "one")
    return made


def loop():
    """y = u - y^2 with u = -t: no real solution once u < -1/4."""
    made = bs.Diagram("loop")
    made.add("ramp", "Ramp", slope=-1.0)
    made.add("b", "Function", ["ramp", "b"], expression="u1 - u2 * u2")
    made.add("area", "Integrator", "b")
    return made


#: Kind of failure: the diagram, when it happens, how close to that a solver sees it, the words, the solution until then.
KINDS = {
    "explosion": (
        lambda: alone(Explosion()),
        1.0,
        0.15,
        "cannot meet its tolerance|beyond any|became inf",
        lambda t: 1 / (1 - t),
    ),
    "no number": (lambda: alone(Gap()), 0.555, 0.02, "cannot meet its tolerance|became nan", lambda t: np.exp(-t)),
    "chattering": (relay, 1.0, 1e-9, "chattering at t = 1 s: guard 'switch' of block 'relay'", lambda t: 1 - t),
    "stuck": (lambda: relay(1e-9), 1.0, 1e-5, "the run is stuck.* guard 'switch' of block 'relay'", lambda t: 1 - t),
    "memory": (sampled, 0.3, 1e-12, r"'value' of block 'b' became 1e\+160, ", lambda t: 10.0 ** (40 * np.floor(t * 10 + 1e-9))),
    "loop": (loop, 0.25, 0.02, "the algebraic loop .* has no solution", lambda t: (np.sqrt(np.maximum(1 - 4 * t, 0)) - 1) / 2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", solver_names())
def test_every_row_up_to_the_failure_is_kept(solver, kind):
    made, when, close, words, truth = KINDS[kind]
    options = {} if find_solver(solver).adaptive else {"step": EVERY}
    if kind == "loop":
        options["algebraic_loops"] = "solve"
    if kind == "stuck":
        options["limit"] = 3000
    with pytest.raises(bs.SimulationError, match=words) as caught:
        bs.simulate(made(), stop=2, every=EVERY, solver=solver, **options)
    error = caught.value
    record = error.record
    assert error.time == pytest.approx(when, abs=close)
    rows = math.floor(error.time / EVERY + 1e-9) + 1
    assert rows - 1 <= len(record.t) <= rows  # a row at the very failure may be missing
    assert record.t == pytest.approx(EVERY * np.arange(len(record.t)), abs=1e-12)
    good = record.t < 0.8 * when
    tolerance = {1: 0.1, 2: 5e-3}.get(getattr(find_solver(solver), "order", 4), 1e-3)
    assert np.all(np.isfinite(record["b"]))
    assert record["b"][good] == pytest.approx(truth(record.t[good]), rel=tolerance)


@pytest.mark.parametrize("solver", [name for name in solver_names() if not getattr(find_solver(name), "adaptive", True)])
def test_rows_inside_the_fixed_step_that_fails_are_kept(solver):
    # Ten rows a step: those that are still numbers stay, none is infinite.
    with pytest.raises(bs.SimulationError, match=r"beyond any credible scale|became inf") as caught:
        bs.simulate(alone(Explosion()), stop=2, every=0.005, step=0.05, solver=solver)
    error = caught.value
    assert np.all(np.isfinite(error.record["b"]))
    assert error.time - 0.05 <= error.record.t[-1] <= error.time
