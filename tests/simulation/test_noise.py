"""Random streams: named, seeded, independent of everything else in the diagram, and distributed as they should be."""

import numpy as np
import pytest
from scipy import stats

import blocksim as bs
from blocksim.diagram.spec import PortSpec


def diagram(*names, extra=(), std=1.0, Ts=0.01):
    made = bs.Diagram("noise")
    for name in names:
        made.add(name, "WhiteNoise", std=std, Ts=Ts)
    made.add("lag", "FirstOrderLag", names[0], T=0.1)
    for name, kind, settings in extra:
        made.add(name, kind, **settings)
    return made


def stream(made, name="a", **options):
    record = bs.simulate(made, **{"stop": 2, "solver": "rk4", "engine": "python", **options})
    return record[name][:: max(1, round(0.01 / (record.t[1] - record.t[0])))]


def test_nothing_else_in_the_diagram_changes_a_stream():
    alone = stream(diagram("a"))
    assert len(alone) == 201
    others = {
        "a block before it": stream(diagram("b", "a")),
        "a block after it": stream(diagram("a", "b")),
        "another kind of noise": stream(diagram("a", extra=[("coin", "RandomBinary", {"clock": 0.05})])),
        "another solver": stream(diagram("a"), solver="dopri5"),
        "a stiff solver": stream(diagram("a"), solver="rodas4"),
        "another step": stream(diagram("a"), step=0.005, every=0.01),
        "another log grid": stream(diagram("a"), every=0.0025),
        "a longer run": stream(diagram("a"), stop=3)[:201],
        "another name of the diagram": stream(bs.Diagram("x", nodes=diagram("a").nodes)),
    }
    for what, values in others.items():
        assert np.array_equal(values, alone), what


def test_scaling_a_noise_leaves_its_draws():
    # Common random numbers: a sweep over std sees the same noise, only louder.
    assert stream(diagram("a"), params={"a.std": 3.0}) == pytest.approx(3 * stream(diagram("a")), rel=1e-15)


def test_draws_are_counted_by_hits():
    # Twice the rate draws twice as many numbers from the same stream.
    slow, fast = stream(diagram("a")), bs.simulate(diagram("a", Ts=0.005), stop=1, solver="rk4", engine="python")["a"]
    assert np.array_equal(slow, fast)


def test_a_seed_is_a_seed():
    first, again, other = (stream(diagram("a"), seed=s) for s in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.any(first == other)


def test_the_same_block_in_two_subsystems_has_two_streams():
    def part():
        inner = bs.Diagram("part", ports=PortSpec({}, {"y": "w.y"}))
        inner.add("w", "WhiteNoise", Ts=0.01)
        return inner

    made = bs.Diagram("two")
    made.add("left", part())
    made.add("right", part())
    record = bs.simulate(made, stop=10, solver="rk4", engine="python")
    left, right = record["left.w"], record["right.w"]
    assert abs(np.corrcoef(left, right)[0, 1]) < 4 / np.sqrt(len(left))


def test_cpython_and_compiled_draw_the_same():
    made = diagram("a", "b", extra=[("coin", "RandomBinary", {"clock": 0.05})])
    runs = [bs.simulate(made, stop=1, solver="rk4", engine=engine) for engine in ("python", "compiled")]
    for name in ("a", "b", "coin", "lag"):
        assert np.array_equal(runs[0][name], runs[1][name])


@pytest.fixture(scope="module")
def long():
    """Five streams of 40 000 draws, and the elements of a vector noise."""
    made = bs.Diagram("long")
    for name in "abc":
        made.add(name, "WhiteNoise", Ts=1, std=2.0, mean=1.0)
    made.add("vector", "WhiteNoise", Ts=1, std=[1.0, 1.0])
    made.add("coin", "RandomBinary", clock=1, amplitude=0.5)
    return [bs.simulate(made, stop=39_999, solver="rk4", engine="python", seed=seed) for seed in (1, 2)]


def test_mean_and_variance(long):
    # The mean of n draws has the standard deviation s / sqrt(n), the variance s^2 sqrt(2 / n): four of them are the bounds.
    for record in long:
        for name in "abc":
            x, n = record[name], len(record[name])
            assert x.mean() == pytest.approx(1, abs=4 * 2 / np.sqrt(n))
            assert x.var() == pytest.approx(4, abs=4 * 4 * np.sqrt(2 / n))


def test_distribution(long):
    for record in long:
        for name in "abc":
            assert stats.kstest(record[name], stats.norm(1, 2).cdf).pvalue > 1e-4
        assert set(np.unique(record["coin"])) == {-0.5, 0.5}
        heads = np.sum(record["coin"] > 0)
        assert stats.binomtest(int(heads), len(record["coin"])).pvalue > 1e-4


def test_streams_are_independent_of_each_other_of_the_past_and_of_the_seed(long):
    # The correlation of n independent pairs has the standard deviation 1 / sqrt(n).
    streams = [record[name] for record in long for name in ("a", "b", "c", "coin")]
    streams += [record["vector"][:, k] for record in long for k in range(2)]
    n = len(streams[0])
    correlation = np.corrcoef(streams)
    assert np.max(np.abs(correlation - np.eye(len(streams)))) < 5 / np.sqrt(n)
    for x in streams:
        for lag in (1, 2, 10):
            assert abs(np.corrcoef(x[lag:], x[:-lag])[0, 1]) < 5 / np.sqrt(n)


def test_neighbouring_seeds_and_names_are_unrelated():
    runs = np.array([stream(diagram("a"), seed=s, stop=20) for s in range(8)])
    n = runs.shape[1]
    assert np.max(np.abs(np.corrcoef(runs) - np.eye(8))) < 5 / np.sqrt(n)


def test_noise_between_its_hits_is_held():
    record = bs.simulate(diagram("a", Ts=0.1), stop=1, every=0.01, step=0.01, solver="rk4", engine="python")
    x = record["a"][:100].reshape(10, 10)
    assert np.all(x == x[:, :1])
    assert len(np.unique(record["a"])) == 11


def test_filtered_noise_has_the_power_its_filter_lets_through():
    # White noise of variance s^2 through H: the variance is s^2 times the sum of the squared impulse response.
    from scipy.signal import butter, sosfilt

    made = bs.Diagram("filtered")
    made.add("v", "FilteredNoise", amplitude=3.0, cutoff=50.0, Ts=1e-3)
    record = bs.simulate(made, stop=40, solver="rk4", engine="python")
    impulse = np.zeros(4000)
    impulse[0] = 1
    expected = 3.0**2 / 3 * np.sum(sosfilt(butter(4, 50, fs=1000, output="sos"), impulse) ** 2)
    # About 2 * 50 * 40 independent values: the variance is known to 1 part in sqrt(2000).
    assert record["v"][1000:].var() == pytest.approx(expected, rel=5 / np.sqrt(2000))
