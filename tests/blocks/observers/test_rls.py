"""Recursive least squares: at every sample the same as least squares over all samples so far."""

import numpy as np
import pytest

import blocksim as bs
from blocks.observers.rls import UNKNOWN, RecursiveLeastSquares, Regressor
from blocksim.errors import DiagramError

NAMES = ("a", "b", "c")


def data(samples=60, rows=1, seed=3, sigma=0.1):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((samples, rows, len(NAMES))) * [1.0, 1e3, 1e-3]
    return W, W @ np.array([2.0, -3e-3, 5e2]) + sigma * rng.standard_normal((samples, rows))


def estimated(W, y, names=NAMES, **settings):
    """The estimator over given equations, each sample 1 s after the last."""
    rows = W.shape[1]
    diagram = bs.Diagram("rls")
    for name, values in (("w", W.reshape(len(W), -1)), ("y", y)):
        diagram.add(name, Held(values=values.tolist(), Ts=1))
    diagram.add("rls", RecursiveLeastSquares(Ts=1, names=list(names), rows=rows, **settings), {"w": "w", "y": "y"})
    return bs.simulate(diagram, stop=len(W) - 1, solver="rk4", step=1, engine="python")


class Held(bs.SampledBlock):
    """y[k] = values[k]."""

    values = bs.param([[0.0]], "a row per sample", shape=(None, None))
    k: float = bs.memory(0.0, "row")
    y = bs.outport("row", size="columns")

    @staticmethod
    def size_columns(values):
        return len(values[0])

    @staticmethod
    def output(values, k, columns, out):
        for j in range(columns):
            out[j] = values[int(k), j]

    @staticmethod
    def update(k):
        return k + 1.0


def batch(W, y, weights):
    """Weighted least squares by numpy: values and the inverse of the normal matrix."""
    A, b = (W * weights[..., None]).reshape(-1, W.shape[-1]), (y * weights).ravel()
    scale = np.linalg.norm(A, axis=0)
    x = np.linalg.lstsq(A / scale, b, rcond=None)[0] / scale
    R = np.linalg.qr(A / scale, mode="r")
    inverse = np.linalg.inv(R)
    return x, inverse @ inverse.T / np.outer(scale, scale), np.sum((b - A @ x) ** 2)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_it_is_least_squares_at_every_sample(rows, forgetting):
    W, y = data(rows=rows)
    R = np.array([0.04, 0.01])[:rows]
    record = estimated(W, y, R=R.tolist(), forgetting=forgetting)
    for k in range(len(NAMES), len(W) + 1):
        weights = forgetting ** (0.5 * np.arange(k)[::-1, None]) / np.sqrt(R)
        x, P, loss = batch(W[:k], y[:k], weights)
        assert record["rls.theta"][k - 1] == pytest.approx(x, rel=1e-10)
        assert record["rls.P"][k - 1] == pytest.approx(P.ravel(), rel=1e-9, abs=1e-10 * P.max() * 1e-6)
        assert record["rls.std"][k - 1] == pytest.approx(np.sqrt(np.diag(P)), rel=1e-10)
        assert record["rls.loss"][k - 1] == pytest.approx(loss, rel=1e-8, abs=1e-12)


def test_the_textbook_recursion():
    """theta += K (y - w theta) with P by the matrix inversion lemma, from P0."""
    W, y = data()
    P, theta = np.diag([4.0, 1e-4, 1e6]), np.array([1.0, 0.0, 0.0])
    record = estimated(W, y, P0=[4.0, 1e-4, 1e6], start={"a": 1.0}, R=0.01, forgetting=0.95)
    for k in range(len(W)):
        w = W[k, 0]
        P = P / 0.95
        assert record["rls.residual"][k] == pytest.approx(y[k, 0] - w @ theta, rel=1e-8, abs=1e-10)
        K = P @ w / (0.01 + w @ P @ w)
        theta = theta + K * (y[k, 0] - w @ theta)
        P = P - np.outer(K, w @ P)
        assert record["rls.theta"][k] == pytest.approx(theta, rel=1e-8)


def test_until_the_rows_suffice_the_estimates_are_the_start():
    W, y = data()
    record = estimated(W, y, start={"b": 7.0}, R=0.01)
    assert record["rls.theta"][:2].tolist() == [[0, 7, 0]] * 2 and (record["rls.std"][:2] == UNKNOWN).all()
    assert (record["rls.std"][2:] < UNKNOWN).all()
    late = estimated(W, y, R=0.01, count=20)
    assert (late["rls.theta"][:19] == 0).all()
    assert late["rls.theta"][19:] == pytest.approx(record["rls.theta"][19:], rel=1e-12)


def test_equations_that_never_tell_a_parameter():
    W, y = data()
    W[:, :, 1] = 2 * W[:, :, 0]
    record = estimated(W, y)
    assert (record["rls.theta"] == 0).all()
    assert not np.isfinite(record.estimates["rls"].std_vector()).any()


def test_without_R_the_residuals_say_how_sure_it_is():
    """Standard deviations over 300 runs are those of the estimates, and those of white least squares."""
    W, _ = data(40)
    x = np.array([2.0, -3e-3, 5e2])
    rng = np.random.default_rng(0)
    y = (W @ x)[:, :1] + 0.3 * rng.standard_normal((40, 1))
    record = estimated(W, y)
    _, P, loss = batch(W, y, np.ones((40, 1)))
    assert record["rls.std"][-1] == pytest.approx(np.sqrt(loss / (40 - 3) * np.diag(P)), rel=1e-9)


def test_both_engines_give_the_same_bits():
    one, other = (bs.simulate(RecursiveLeastSquares.example, stop=0.3, engine=e) for e in ("python", "compiled"))
    assert all(np.array_equal(one[s], other[s]) for s in one)


@pytest.fixture(scope="module")
def run():
    return bs.simulate(RecursiveLeastSquares.example)


class TestOfAPlant:
    def test_the_regressor_as_a_signal(self, run):
        assert run["rows.w"].shape == (4001, 4) and run["rows.y"].shape == (4001,)
        exact = run["rows.w"] @ [1.9e-4, 2e-4, 0.02, 0.0133]
        assert exact == pytest.approx(run["push.y"], abs=1e-9)

    def test_rows_of_a_slow_joint_say_nothing(self):
        """Zeros in their place, which do not count."""
        text = RecursiveLeastSquares.example.replace("{type: Regressor,", "{type: Regressor, drop_slow: 0.2,").replace(
            "R: 4e-6,", ""
        )
        record = bs.simulate(text, stop=0.5)
        speed = np.abs(record["joint.qd"])
        slow = speed < 0.2 * speed.max()
        W, y = record["rows.w"], record["rows.y"]
        assert slow.any() and (W[slow] == 0).all() and (y[slow] == 0).all() and (W[~slow] != 0).any(axis=1).all()
        assert record["rls.rows_used"][-1] == np.sum(~slow)
        assert record["rls.theta"][-1] == pytest.approx(np.linalg.lstsq(W[~slow], y[~slow], rcond=None)[0], rel=1e-8)

    def test_a_port_for_each_parameter(self, run):
        for k, name in enumerate(("J", "Fv", "Fc", "Ms")):
            assert (run[f"rls.{name}_hat"] == run["rls.theta"][:, k]).all()
        assert run.unit("rls.J_hat") == "kg m^2"

    def test_its_last_estimates(self, run):
        found = run.estimates["rls"]
        W, y = run["rows.w"], run["rows.y"]
        assert found.vector() == pytest.approx(np.linalg.lstsq(W, y, rcond=None)[0], rel=1e-9)
        assert (np.abs([e.z for e in found.values()]) < 4).all() and 0 < found.nees < 20

    def test_honest_over_seeds(self):
        runs = bs.simulate_many(RecursiveLeastSquares.example, stop=0.5, seeds=range(24), collect=lambda r: r.estimates["rls"])
        z = np.array([[e.z for e in found.values()] for found in runs])
        assert (np.abs(z.mean(axis=0)) < 4 / np.sqrt(24)).all() and (np.abs(z.std(axis=0) - 1) < 0.6).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "names: name the parameters, or a plant"),
        ({"names": ["a", "a"]}, "names: a twice"),
        ({"names": []}, "names: a list of names is wanted"),
        ({"names": ["a"], "start": {"b": 1}}, "start: 'b' is not estimated"),
        ({"names": ["a"], "rows": 0}, "rows: a whole number of at least 1"),
        ({"model": "Constant"}, "gives no regressor"),
        ({"model": "GravityJoint", "names": ["a"]}, "leave out either names or model"),
        ({"names": ["a"], "R": [1, 2]}, "R: found 2 numbers"),
    ],
)
def test_what_is_refused(settings, words):
    with pytest.raises(DiagramError, match=words):
        diagram = bs.Diagram("wrong")
        diagram.add("one", "Constant", value=1.0)
        diagram.add("rls", "RecursiveLeastSquares", {"w": "one", "y": "one"}, Ts=1, **settings)
        bs.simulate(diagram, stop=2, solver="rk4", step=1)


def test_rows_of_another_size_are_refused():
    with pytest.raises(DiagramError, match=r"size mismatch.*rls"):
        diagram = bs.Diagram("wrong")
        diagram.add("one", "Constant", value=[1.0, 2.0])
        diagram.add("rls", "RecursiveLeastSquares", {"w": "one", "y": "one"}, Ts=1, names=["a"])
        bs.simulate(diagram, stop=2, solver="rk4", step=1)


def test_the_regressor_refuses_missing_samples():
    with pytest.raises(bs.RecordError, match="input 'q': 1 samples are missing"):
        Regressor(model="GravityJoint").process(np.arange(2.0), None, q=np.array([0.0, np.nan]))
