"""ARX, OE and Subspace against other implementations, and poles whose intervals hold; coefficients sought by output errors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.optimize import curve_fit
from scipy.signal import cont2discrete, decimate, dlsim, lfilter

import blocksim as bs
from blocks.identifiers.linear.arx import ARX
from blocks.identifiers.linear.oe import OE
from blocks.identifiers.linear.subspace import Subspace

NUM, DEN = [0.0, 0.10, 0.08], [1.0, -1.5, 0.7]
POLE = 0.75 + 1j * np.sqrt(0.7 - 0.75**2)
SAMPLES = 600


def data(seed: int, where: str, std: float = 0.1, samples: int = SAMPLES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, input and output of the plant with noise in the equation, white on the reading, or slow on the reading."""
    random = np.random.default_rng(seed)
    u, e = np.sign(random.standard_normal(samples)), std * random.standard_normal(samples)
    noise = {"equation": lfilter([1.0], DEN, e), "white": e, "slow": lfilter([0.45], [1, -0.9], e)}[where]
    return 0.1 * np.arange(samples), u, lfilter(NUM, DEN, u) + noise


def test_arx_is_the_least_squares_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    t, u, y = data(1, "equation")
    predicted, rest, estimates = ARX(na=2, nb=2).process(t, None, u, y)
    columns = np.stack([-y[1:-1], -y[:-2], u[1:-1], u[:-2], np.ones(len(y) - 2)], axis=1)
    other = api.OLS(y[2:], columns).fit()
    np.testing.assert_allclose(estimates.vector(), other.params[:4], rtol=1e-9)
    np.testing.assert_allclose(estimates.std_vector(), other.bse[:4], rtol=1e-9)
    np.testing.assert_allclose(rest[2:], other.resid, atol=1e-12)
    np.testing.assert_allclose(predicted + rest, y)


def test_oe_is_what_scipy_fits_to_a_simulation():
    t, u, y = data(2, "white")

    def simulated(_, a1, a2, b0, b1):
        return dlsim(([b0, b1], [1.0, a1, a2], 0.1), u)[1][:, 0]

    values, covariance = curve_fit(simulated, t, y, p0=[-1.4, 0.65, 0.1, 0.1])
    estimates = OE(na=2, nb=2, initial="zero", offset=False, errors="white").process(t, None, u, y)[2]
    assert estimates.converged
    np.testing.assert_allclose(estimates.vector(), values, rtol=1e-4)
    np.testing.assert_allclose(estimates.std_vector(), np.sqrt(np.diag(covariance)), rtol=1e-2)


@pytest.mark.parametrize("method", ["n4sid", "cva"])
def test_subspace_finds_the_poles_that_nfoursid_finds(method):
    module = pytest.importorskip("nfoursid.nfoursid")
    pandas = pytest.importorskip("pandas")
    for std, tolerance in ((0.0, 1e-6), (0.05, 0.02)):
        t, u, y = data(3, "white", std)
        estimates = Subspace(order=2, method=method).process(t, u, y)[2]
        other = module.NFourSID(pandas.DataFrame({"u": u, "y": y}), ["y"], ["u"], num_block_rows=10)
        other.subspace_identification()
        poles = np.linalg.eigvals(other.system_identification(rank=2)[0].a)
        found = bs.linear_model(estimates).poles()
        np.testing.assert_allclose(sorted(found.real), sorted(poles.real), atol=tolerance)
        np.testing.assert_allclose(sorted(found.imag), sorted(poles.imag), atol=tolerance)
        assert abs(complex(estimates["p1.re"].value, estimates["p1.im"].value) - POLE) < max(tolerance, 0.02)


@pytest.mark.parametrize(
    ("block", "where"),
    [
        (ARX(na=2, nb=2), "equation"),
        (OE(na=2, nb=2), "white"),
        (OE(na=2, nb=2), "slow"),
        (Subspace(order=2), "white"),
        (Subspace(order=2, method="cva"), "white"),
    ],
    ids=["arx", "oe", "oe slow", "n4sid", "cva"],
)
def test_intervals_of_poles_hold_over_seeds(block, where):
    inside, z = [], []
    for seed in range(30 if not isinstance(block, Subspace) else 20):
        t, u, y = data(seed, where)
        arguments = (t, u, y) if isinstance(block, Subspace) else (t, None, u, y)
        pole = block.process(*arguments)[2].details["poles"][0]
        for part, truth in (("real", POLE.real), ("imag", POLE.imag)):
            z.append((pole[part] - truth) / pole[f"{part}_std"])
            inside.append(abs(z[-1]) < 2.1)
    assert np.mean(inside) > 0.86 and 0.6 < np.std(z) < 1.4 and abs(np.mean(z)) < 0.6, (np.mean(inside), np.std(z), np.mean(z))


def test_noise_of_the_reading_is_told_by_arx_and_left_right_by_oe():
    t, u, y = data(4, "white", 0.3)
    arx, oe = (kind(na=2, nb=2).process(t, None, u, y)[2] for kind in (ARX, OE))
    assert any("coloured" in text for text in arx.warnings)
    assert abs(oe["den[2]"].value - 0.7) < 3 * oe["den[2]"].std < abs(arx["den[2]"].value - 0.7)


def test_several_inputs_and_outputs():
    random = np.random.default_rng(5)
    A, B = np.array([[0.9, 0.2], [-0.2, 0.8]]), np.array([[1.0, 0.0], [0.3, 0.5]])
    u, x, rows = random.standard_normal((500, 2)), np.zeros(2), []
    for value in u:
        rows.append(x.copy())
        x = A @ x + B @ value
    y = np.array(rows) + 1e-3 * random.standard_normal((500, 2))
    predicted, _, estimates = Subspace(order=2).process(np.arange(500.0), u, y)
    poles, truth = (np.sort(np.linalg.eigvals(matrix)) for matrix in (estimates.details["A"], A))
    np.testing.assert_allclose(poles, truth, atol=1e-3)
    assert predicted.shape == (500, 2) and np.std(y - predicted) < 3e-3


def test_models_go_to_python_control():
    control = pytest.importorskip("control")
    t, u, y = data(6, "equation")
    estimates = ARX(na=2, nb=2).process(t, None, u, y)[2]
    system = bs.linear_model(estimates).to_control()
    assert system.dt == 0.1 and isinstance(system, control.StateSpace)
    np.testing.assert_allclose(np.sort(system.poles()), np.sort(np.roots([1, *estimates.vector()[:2]])))
    np.testing.assert_allclose(system(1.0), sum(estimates.vector()[2:]) / (1 + sum(estimates.vector()[:2])), rtol=1e-9)
    with pytest.raises(bs.RecordError, match="hold no linear model"):
        bs.linear_model(bs.Estimates("projection", ()))


SOUGHT = """
format: 1
simulate: {stop: 20, solver: rk4, step: 0.02, every: 0.1, seed: 3}
blocks:
  push:  {type: PRBS, amplitude: 1.0, bits: 7, clock: 0.2}
  plant: PLANT
  y:     {type: NoisySensor, Ts: 0.1, std: 0.01, in: plant}
  arx:   {type: ARX, na: 2, nb: 2, in: {u: push, y: y}}
  found: {type: OutputError, model: plant, output: plant, parameters: PARAMETERS, in: {u: push, y: y}}
log: [push, y]
"""
SPACE = "{type: StateSpace, A: [[0, 1], [-4, -0.8]], B: [[0], [4]], C: [[1, 0]], in: push}"


@pytest.mark.parametrize(
    ("plant", "parameters"),
    [
        (
            "{type: TransferFunction, num: [4], den: [1, 0.8, 4], in: push}",
            "{'plant.num[0]': 3, 'plant.den[1]': 1, 'plant.den[2]': 5}",
        ),
        (SPACE, "{'plant.A[1,0]': -5, 'plant.A[1,1]': -1, 'plant.B[1,0]': 3}"),
        (
            "{type: DiscreteTransferFunction, Ts: 0.1, num: [0.1, 0.08], den: [1, -1.5, 0.7], in: push}",
            "{'plant.num[0]': 0.12, 'plant.num[1]': 0.06, 'plant.den[1]': -1.4, 'plant.den[2]': 0.6}",
        ),
    ],
    ids=["transfer function", "state space", "discrete"],
)
def test_coefficients_are_parameters_of_an_output_error(plant, parameters):
    record = bs.simulate(SOUGHT.replace("PLANT", plant).replace("PARAMETERS", parameters))
    found = record.estimates["found"]
    assert np.isfinite(found.truth_vector()).all() and found.converged
    assert max(abs(e.z) for e in found.values()) < 4 and max(abs(e.relative_error) for e in found.values()) < 0.05
    held = bs.validate(
        SOUGHT.replace("PLANT", plant).replace("PARAMETERS", parameters), record.select("push.y", "y.y_hat"), found, skip=1.0
    )
    assert held["y"].fit > 0.9


def test_arx_starts_an_output_error():
    text = SOUGHT.replace("PLANT", "{type: DiscreteTransferFunction, Ts: 0.1, num: [0.1, 0.08], den: [1, -1.5, 0.7], in: push}")
    text = text.replace("type: ARX, na", "type: ARX, model: plant, na")
    names = ("num[0]", "num[1]", "den[1]", "den[2]")
    text = text.replace("PARAMETERS", "{" + ", ".join(f"'plant.{name}': arx" for name in names) + "}")
    record = bs.simulate(text)
    assert record.estimates["found"]["den[1]"].start == pytest.approx(record.estimates["arx"]["den[1]"].value)
    assert abs(record.estimates["found"]["den[1]"].z) < 4 and record.estimates["arx"]["num[0]"].truth == 0.1


def test_a_continuous_plant_has_the_poles_that_sampling_gives_it():
    text = SOUGHT.replace("PLANT", SPACE).replace("PARAMETERS", "{'plant.A[1,0]': -5}")
    arx = bs.simulate(text, params={"y.std": 1e-5}).estimates["arx"]
    A = cont2discrete((np.array([[0.0, 1], [-4, -0.8]]), np.zeros((2, 1)), np.zeros((1, 2)), 0), 0.1)[0]
    np.testing.assert_allclose(np.sort(bs.linear_model(arx).poles()), np.sort(np.linalg.eigvals(A)), rtol=1e-3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{type: ARX, na: 0, nb: 2, in: {u: push, y: y}}", "na: a whole number of at least 1"),
        ("{type: ARX, na: 3, nb: 2, model: plant, in: {u: push, y: y}}", "A denominator of 4 coefficients"),
        ("{type: OE, na: 200, nb: 2, in: {u: push, y: y}}", "too few for"),
        ("{type: Subspace, order: 4, rows: 3, in: {u: push, y: y}}", "more than the order"),
        ("{type: Subspace, order: 40, in: {u: push, y: y}}", "too few for 120 block rows"),
        ("{type: ARX, na: 2, nb: 2, in: {u: still, y: y}}", "can be told apart"),
        (
            "{type: OutputError, model: plant, output: plant, parameters: ['plant.den'], in: {u: push, y: y}}",
            r"den\[0\], den\[1\]",
        ),
    ],
)
def test_mistakes_are_told(line, words):
    plant = "{type: DiscreteTransferFunction, Ts: 0.1, num: [0.1, 0.08], den: [1, -1.5, 0.7], in: push}"
    text = SOUGHT.partition("  arx:")[0].replace("PLANT", plant)
    text += f"  still: {{type: Constant, value: 1.0}}\n  wrong: {line}\nlog: [push, y, still]\n"
    with pytest.raises(bs.BlocksimError, match=words):
        bs.simulate(text)


@pytest.fixture(scope="module")
def published() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, force command and speed of the published EMPS record, every 20 ms."""
    folder = os.environ.get("BLOCKSIM_DATA", "")
    if not folder:
        pytest.skip("BLOCKSIM_DATA names no folder with the EMPS record")
    data = loadmat(Path(folder) / "emps" / "DATA_EMPS.mat")
    speed = np.gradient(data["qm"].ravel(), 1e-3)
    u, y = (decimate(values, 20, ftype="fir") for values in (data["vir"].ravel(), speed))
    return 0.02 * np.arange(len(u)), u, y


def test_arx_on_a_published_record_is_that_of_statsmodels(published):
    api = pytest.importorskip("statsmodels.api")
    t, u, y = published
    estimates = ARX(na=2, nb=2).process(t, None, u, y)[2]
    other = api.OLS(y[2:], np.stack([-y[1:-1], -y[:-2], u[1:-1], u[:-2], np.ones(len(y) - 2)], axis=1)).fit()
    np.testing.assert_allclose(estimates.vector(), other.params[:4], rtol=1e-8)
    np.testing.assert_allclose(estimates.std_vector(), other.bse[:4], rtol=1e-8)
    assert any("coloured" in text for text in estimates.warnings)  # friction is not linear


def test_oe_on_a_published_record_is_where_scipy_ends(published):
    t, u, y = published
    estimates = OE(na=2, nb=2, initial="zero", errors="white").process(t, None, u, y)[2]

    def simulated(_, a1, a2, b0, b1, offset):
        return lfilter([0.0, b0, b1], [1.0, a1, a2], u) + offset

    start = [*estimates.vector(), float(np.mean(y))]
    values, covariance = curve_fit(simulated, t, y, p0=start)
    np.testing.assert_allclose(estimates.vector(), values[:4], rtol=1e-3)
    np.testing.assert_allclose(estimates.std_vector(), np.sqrt(np.diag(covariance))[:4], rtol=0.02)


def test_subspace_on_a_published_record_is_near_nfoursid(published):
    """Two poles near 1, which neither knows well: they differ by less than the standard deviation that is told."""
    module = pytest.importorskip("nfoursid.nfoursid")
    pandas = pytest.importorskip("pandas")
    t, u, y = published
    estimates = Subspace(order=2, draws=10).process(t, u, y)[2]
    other = module.NFourSID(pandas.DataFrame({"u": u, "y": y}), ["y"], ["u"], num_block_rows=10)
    other.subspace_identification()
    pole = max(np.linalg.eigvals(other.system_identification(rank=2)[0].a), key=lambda p: p.imag)
    first = estimates.details["poles"][0]
    assert abs(first["real"] - pole.real) < 2 * first["real_std"] and abs(abs(first["imag"]) - pole.imag) < 2 * first["imag_std"]
