"""The first diagram anybody builds: a PI loop, against its closed form, from Python and from a file."""

from pathlib import Path

import numpy as np
import pytest

import blocksim as bs

YAML = Path(__file__).parents[2] / "diagrams" / "basics" / "pi_loop.yaml"


def closed_form(t):
    """With C = 10 + 3/s and P = 0.5/(2s + 1), L = C P = (5 s + 1.5) / (2 s^2 + s) and

        Y/R = L / (1 + L) = (2.5 s + 0.75) / (s^2 + 3 s + 0.75).

    Two real poles p1, p2 = (-3 +- sqrt(6)) / 2, so that after the step at 1, with s = t - 1,
    y = 1 + A exp(p1 s) + B exp(p2 s), A = (2.5 p1 + 0.75) / (p1 (p1 - p2)), B = (2.5 p2 + 0.75) / (p2 (p2 - p1)).
    """
    p1, p2 = (-3 + np.sqrt(6)) / 2, (-3 - np.sqrt(6)) / 2
    a, b = (2.5 * p1 + 0.75) / (p1 * (p1 - p2)), (2.5 * p2 + 0.75) / (p2 * (p2 - p1))
    s = np.maximum(t - 1, 0)
    return np.where(t < 1, 0, 1 + a * np.exp(p1 * s) + b * np.exp(p2 * s))


def test_the_closed_form_gives_the_published_number():
    assert closed_form(np.array(10.0)) == pytest.approx(0.99229561256, abs=5e-12)


def test_from_python_in_eight_lines():
    d = bs.Diagram("PI loop")
    d.add("ref", "Step", time=1)
    d.add("error", "Sum", signs="+-", inputs=["ref", "plant"])
    d.add("pi", "TransferFunction", num=[10, 3], den=[1, 0], inputs="error")
    d.add("plant", "FirstOrderLag", k=0.5, T=2, inputs="pi")
    record = bs.simulate(d, stop=10)
    assert record["plant"][-1] == pytest.approx(0.99229561256, abs=1e-9)
    assert record.t[-1] == 10
    assert np.max(np.abs(record["plant"] - closed_form(record.t))) < 1e-7


@pytest.mark.parametrize(("solver", "most"), [("dopri5", 1000), ("rodas4", 2000)])
def test_from_a_file(solver, most):
    record = bs.simulate(YAML, solver=solver, engine="python")
    assert record["plant"][-1] == pytest.approx(0.99229561256, abs=1e-9)
    assert record.provenance["work"]["evaluations"] < most


def test_with_a_fixed_step():
    record = bs.simulate(YAML, solver="rk4", step=0.01, engine="python")
    assert record["plant"] == pytest.approx(closed_form(record.t), abs=1e-7)
