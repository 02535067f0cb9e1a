"""Random diagrams: arithmetic against numpy, lags and gains against the matrix exponential, in any order and nesting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import blocksim as bs
from blocksim.diagram.spec import PortSpec

NUMBERS = st.floats(-3, 3, allow_nan=False).map(lambda v: round(v, 3))


def wave(t):
    return np.sin(2 * np.pi * 1.3 * t + 0.4)


@st.composite
def arithmetic(draw):
    """Blocks by name with inputs and settings, and what each is as a function of the values before it."""
    plan = [
        ("wave", None, "Sine", {"frequency": 1.3, "phase": 0.4}, wave),
        ("ramp", None, "Ramp", {"slope": 0.5}, lambda t: 0.5 * t),
    ]
    names = ["wave", "ramp"]
    for index in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["Gain", "Sum", "Product", "Abs", "Saturation", "DeadZone", "Function", "Constant"]))
        pick = lambda: names[draw(st.integers(0, len(names) - 1))]
        name = f"b{index}"
        if kind == "Constant":
            value = draw(NUMBERS)
            plan.append((name, None, kind, {"value": value}, lambda t, value=value: np.full_like(t, value)))
        elif kind == "Gain":
            k = draw(NUMBERS)
            plan.append((name, [pick()], kind, {"k": k}, lambda u, k=k: k * u))
        elif kind == "Abs":
            plan.append((name, [pick()], kind, {}, np.abs))
        elif kind == "Saturation":
            plan.append((name, [pick()], kind, {"lower": -0.5, "upper": 0.7}, lambda u: np.clip(u, -0.5, 0.7)))
        elif kind == "DeadZone":
            plan.append((name, [pick()], kind, {}, lambda u: np.where(u > 0.5, u - 0.5, np.where(u < -0.5, u + 0.5, 0))))
        elif kind == "Function":
            plan.append(
                (name, [pick(), pick()], kind, {"expression": "tanh(u1) - u2 / 4 + t"}, lambda u, v, t: np.tanh(u) - v / 4 + t)
            )
        elif kind == "Product":
            plan.append((name, [pick(), pick()], kind, {}, lambda u, v: u * v))
        else:
            count = draw(st.integers(1, 4))
            signs = "".join(draw(st.lists(st.sampled_from("+-"), min_size=count, max_size=count)))
            total = lambda *us, signs=signs: sum(u if s == "+" else -u for s, u in zip(signs, us, strict=True))
            plan.append((name, [pick() for _ in range(count)], kind, {"signs": signs}, total))
        names.append(name)
    return plan, draw(st.permutations(range(len(plan))))


@given(arithmetic())
def test_arithmetic_equals_numpy(case):
    # The order in which the blocks are written must not matter.
    plan, order = case
    made = bs.Diagram("random")
    for index in order:
        name, inputs, kind, block_settings, _ = plan[index]
        made.add(name, kind, inputs, **block_settings)
    record = bs.simulate(made, stop=1, solver="rk4", step=0.1, engine="python")
    t, values = record.t, {}
    for name, inputs, kind, _, function in plan:
        given_ = [values[i] for i in inputs or []]
        values[name] = function(t) if inputs is None else function(*given_, t) if kind == "Function" else function(*given_)
        size = 1 + np.max(np.abs(values[name]))
        assert np.max(np.abs(record[name] - values[name])) < 1e-12 * size, name


@given(arithmetic())
@settings(max_examples=15)
def test_sampled_copies_equal_numpy_one_sample_later(case):
    # Every signal through a UnitDelay: what it was one sample ago, whatever the order of the blocks.
    plan, order = case
    made = bs.Diagram("random")
    for index in order:
        name, inputs, kind, block_settings, _ = plan[index]
        made.add(f"late_{name}", "UnitDelay", name, Ts=0.1, x=9.0)
        made.add(name, kind, inputs, **block_settings)
    record = bs.simulate(made, stop=1, solver="dopri5", engine="python")
    for name, *_ in plan:
        assert record[f"late_{name}"][0] == 9.0
        assert np.array_equal(record[f"late_{name}"][1:], record[name][:-1])


@given(arithmetic(), st.integers(1, 6))
@settings(max_examples=15)
def test_subsystems_change_nothing(case, cut):
    # Some of the blocks moved into a subsystem: the same signals, under longer names.
    plan, _ = case
    inside = {name for name, *_ in plan[2 : 2 + cut]}
    flat, nested = bs.Diagram("flat"), bs.Diagram("nested")
    part = bs.Diagram("part", ports=PortSpec({"in_wave": 1, "in_ramp": 1}, {f"out_{n}": f"{n}.y" for n in sorted(inside)}))
    for name, inputs, kind, block_settings, _ in plan:
        flat.add(name, kind, inputs, **block_settings)
        if name in inside:
            part.add(name, kind, inputs and [f"in_{i}" if i in ("wave", "ramp") else i for i in inputs], **block_settings)
        else:
            nested.add(name, kind, inputs and [f"part.out_{i}" if i in inside else i for i in inputs], **block_settings)
    nested.add("part", part, {"in_wave": "wave", "in_ramp": "ramp"})
    one, two = (bs.simulate(d, stop=1, solver="rk4", step=0.25, engine="python") for d in (flat, nested))
    for name, *_ in plan:
        assert np.array_equal(one[name], two[f"part.{name}" if name in inside else name])


@st.composite
def lag_networks(draw):
    """Lags that feed each other at random: T x' = k (W x + b) - x."""
    n = draw(st.integers(1, 5))
    weights = np.array(draw(st.lists(NUMBERS.map(lambda v: v / 6), min_size=n * n, max_size=n * n))).reshape(n, n)
    drive = np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    T = np.array(draw(st.lists(st.floats(0.1, 2).map(lambda v: round(v, 2)), min_size=n, max_size=n)))
    start = np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    return weights, drive, T, start


@given(lag_networks(), st.sampled_from(["dopri5", "rodas4", "rk4"]))
@settings(max_examples=25)
def test_networks_of_lags_equal_the_matrix_exponential(case, solver):
    # x' = A x + c with A = (W - 1) / T and c = b / T: [x; 1](t) = expm([[A, c], [0, 0]] t) [x0; 1].
    weights, drive, T, start = case
    n = len(drive)
    made = bs.Diagram("network")
    made.add("one", "Constant", value=1.0)
    for i in range(n):
        made.add(f"lag{i}", "FirstOrderLag", f"sum{i}", T=float(T[i]), x=float(start[i]))
        made.add(f"sum{i}", "Sum", [*(f"w{i}{j}" for j in range(n)), f"d{i}"])
        made.add(f"d{i}", "Gain", "one", k=float(drive[i]))
        for j in range(n):
            made.add(f"w{i}{j}", "Gain", f"lag{j}", k=float(weights[i, j]))
    options = {"step": 0.01} if solver == "rk4" else {"rtol": 1e-9, "atol": 1e-11}
    record = bs.simulate(made, stop=1, every=0.5, solver=solver, engine="python", **options)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = (weights - np.eye(n)) / T[:, None]
    system[:n, n] = drive / T
    for k, t in enumerate(record.t):
        expected = (expm(system * t) @ np.append(start, 1.0))[:n]
        found = np.array([record[f"lag{i}"][k] for i in range(n)])
        assert np.max(np.abs(found - expected)) < 1e-6 * (1 + np.max(np.abs(expected)))


@given(st.lists(NUMBERS, min_size=2, max_size=6), st.lists(NUMBERS, min_size=2, max_size=6))
@settings(max_examples=20)
def test_vectors_equal_their_elements(values, gains):
    # A wide Gain, Product and Integrator are as many narrow ones.
    n = min(len(values), len(gains))
    values, gains = values[:n], gains[:n]
    made = bs.Diagram("wide")
    made.add("v", "Constant", value=values)
    made.add("g", "Gain", "v", k=gains)
    made.add("p", "Product", ["g", "v"])
    made.add("x", "Integrator", "p", x=values)
    made.add("last", "Gain", f"x[{n - 1}]", k=2.0)
    record = bs.simulate(made, stop=1, solver="heun", step=0.5, engine="python")
    slopes = np.array(gains) * np.array(values) ** 2
    assert record["x"][-1] == pytest.approx(np.array(values) + slopes, abs=1e-12)
    assert record["last"][-1] == pytest.approx(2 * (values[-1] + slopes[-1]), abs=1e-12)
