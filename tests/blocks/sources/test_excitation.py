"""Excitation signals as they come out of a run: lines, crest factors, correlation and noise against theory and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

import blocks
import blocksim as bs
from blocks.sources.multisine import grid, harmonics, peak, scaled

PYTHON = {"engine": "python"}


def played(source, stop, every, **options):
    """One source alone, its samples without the one at the end."""
    text = f"format: 1\nsimulate: {{stop: {stop}, solver: euler, step: {every}, seed: 3}}\nblocks:\n  u: {source}\n"
    return bs.simulate(text, **{**PYTHON, **options})["u"][:-1]


def crest(y):
    return np.abs(y).max() / np.sqrt(np.mean(np.square(y)))


def multisine(n, phases, **more):
    settings = {"f_min": 1.0, "f_max": float(n), "lines": n, "phases": phases, **more}
    return "{type: Multisine, " + ", ".join(f"{key}: {value}" for key, value in settings.items()) + "}"


@pytest.mark.parametrize("phases", ["schroeder", "random", "optimised"])
def test_a_multisine_has_its_lines_and_nothing_else(phases):
    y = played(f"{{type: Multisine, f_min: 0.5, f_max: 10, lines: 20, amplitude: 3, phases: {phases}}}", 2, "1/128")
    lines = np.abs(np.fft.rfft(y)) * 2 / len(y)
    asked = np.arange(1, 21)  # multiples of 1/2 Hz over two seconds
    assert np.ptp(lines[asked]) < 1e-12
    assert np.delete(lines, asked).max() < 1e-12
    assert np.abs(y).max() <= 3.0 * (1 + 1e-9)


def test_odd_lines_leave_the_even_ones_empty_so_that_a_square_shows_there():
    y = played("{type: Multisine, f_min: 1, f_max: 31, lines: 31, odd_only: true, phases: optimised}", 1, "1/256")
    lines = np.abs(np.fft.rfft(y)) / len(y)
    assert lines[1:32:2].min() > 0.05 and lines[0:64:2].max() < 1e-14
    distorted = np.abs(np.fft.rfft(y + 0.1 * y**2)) / len(y)
    assert distorted[2:32:2].min() > 1e-5


def crest_of(lines, phases):
    """Exact to the search of the peak, without a run: peak over rms of a flat spectrum."""
    f = tuple(map(float, lines))
    re, im = scaled(f, phases, 0)
    return 1.0 / np.sqrt(np.sum(re**2 + im**2) / 2)


@pytest.mark.parametrize(
    ("lines", "reached"),
    [
        (np.arange(1, 6), 1.50),
        (np.arange(1, 16), 1.42),
        (np.arange(1, 32), 1.42),
        (np.arange(1, 51), 1.42),
        (np.arange(1, 50, 2), 1.42),
    ],
)
def test_the_descent_beats_schroeder_on_flat_spectra(lines, reached):
    # Schroeder's phases are known for about 1.7; a single sine has 1.41.
    schroeder, optimised = crest_of(lines, "schroeder"), crest_of(lines, "optimised")
    assert 1.6 < schroeder < 1.85
    assert optimised < reached < schroeder


def test_the_peak_is_that_of_a_far_finer_grid():
    for phases in ("schroeder", "optimised"):
        re, im = scaled(tuple(map(float, range(1, 32))), phases, 0)
        x = np.linspace(0, 2 * np.pi, 200_001)[:, None] * np.arange(1, 32)
        assert np.abs(np.cos(x) @ re - np.sin(x) @ im).max() == pytest.approx(1.0, abs=2e-5)


def test_phases_cannot_be_optimised_below_those_of_a_single_sine_by_luck():
    assert crest_of([2.0], "optimised") == pytest.approx(np.sqrt(2))
    assert peak(harmonics((2.0,)), np.zeros(1)) == pytest.approx(1.0)


def test_a_random_multisine_obeys_its_seed():
    one, same, other = (played(multisine(15, "random", seed=s), 1, "1/64") for s in (1, 1, 2))
    assert np.array_equal(one, same) and not np.allclose(one, other)


def test_grid_of_odd_lines():
    assert grid(2.0, 12.0, 11, None, True).tolist() == [3, 5, 7, 9, 11]


@pytest.mark.parametrize("bits", [5, 9])
def test_prbs_correlates_as_theory_says(bits):
    length = 2**bits - 1
    y = played(f"{{type: PRBS, bits: {bits}, amplitude: 2, clock: 1/10}}", f"{2 * length}/10", "1/10")
    period = y[:length]
    assert np.array_equal(period, y[length:])
    correlation = np.fft.ifft(np.abs(np.fft.fft(period)) ** 2).real / length
    assert correlation[0] == pytest.approx(4)
    assert correlation[1:] == pytest.approx(np.full(length - 1, -4 / length))
    assert crest(period) == 1 and abs(period.sum()) == 2  # one more of one sign


def test_random_binary_is_fair_and_white():
    y = played("{type: RandomBinary, amplitude: 0.5, clock: 1/10}", 400, "1/10")
    assert set(y) == {-0.5, 0.5} and abs(y.mean()) < 0.5 * 3 / np.sqrt(len(y))
    correlation = [np.mean(y[k:] * y[: len(y) - k]) / 0.25 for k in range(1, 20)]
    assert np.abs(correlation).max() < 4 / np.sqrt(len(y))


class Uniform(bs.SampledBlock):
    """y[k] = the draw itself: under the same path and name a block draws the same numbers."""

    w = bs.uniform("the draw")
    y = bs.outport("the draw")

    @staticmethod
    def output(w):
        return w


def test_filtered_noise_is_the_thesis_filter_on_the_very_draws_of_the_run():
    """[num, den] = butter(4, 10/(f/2)); u_slump = filter(num, den, 2*rand(length(t), 1) - 1), f = 500 Hz."""
    diagram = bs.Diagram()
    diagram.add("u", Uniform(Ts="2e-3"))
    rand = bs.simulate(diagram, stop=4, solver="euler", step="2e-3", seed=3, **PYTHON)["u"][:-1]
    num, den = signal.butter(4, 10 / 250)
    y = played("{type: FilteredNoise, amplitude: 1, cutoff: 10, order: 4, Ts: 2e-3}", 4, "2e-3")
    assert y == pytest.approx(signal.lfilter(num, den, 2 * rand - 1), abs=1e-10)


def test_filtered_noise_has_the_power_and_the_band_of_its_filter():
    y = played("{type: FilteredNoise, amplitude: 1, cutoff: 10, order: 4, Ts: 2e-3}", 60, "2e-3", engine="auto")[500:]
    _, h = signal.freqz(*signal.butter(4, 10 / 250), worN=4096)
    expected = np.sqrt(np.mean(np.abs(h) ** 2) / 3)  # 0.117: a uniform draw has variance 1/3, and 4 % of the band passes
    assert np.std(y) == pytest.approx(expected, rel=0.05)
    f, power = signal.welch(y, 500, nperseg=2048)
    inside, beyond = power[(f > 1) & (f < 8)].mean(), power[(f > 19) & (f < 21)].mean()
    assert 10 * np.log10(inside / beyond) == pytest.approx(24.1, abs=1.5)  # order 4: an octave above the cutoff
    assert np.abs(y).max() < 1


TRAJECTORIES = {
    "fourier": "{type: FourierTrajectory, base_frequency: 0.2, a: [[8, 0, -2], [1, 2, 3]], b: [[-4, 3, 1], [0, 1, 0]]}",
    "polynomial": "{type: PolynomialTrajectory, times: [0, 1, 2.5, 4], points: [[0, 1, -1, 0.5], [1, 0, 2, 0]]}",
    "trapezoid": "{type: TrapezoidTrajectory, points: [[0, 2, 0], [0, 0.5, 1]], speed: 1.5, acceleration: [4, 2], pause: 0.2}",
}


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_speed_and_acceleration_integrate_to_position_and_speed(name):
    text = f"format: 1\nsimulate: {{stop: 5, solver: euler, step: 1e-3}}\nblocks:\n  ref: {TRAJECTORIES[name]}\n"
    record = bs.simulate(text)
    for value, rate in (("ref.q", "ref.qd"), ("ref.qd", "ref.qdd")):
        y, dy = record[value], record[rate]
        integral = np.cumsum((dy[1:] + dy[:-1]) / 2 * 1e-3, axis=0)  # trapezoidal rule: error of the order of 1e-6
        assert y[1:] - y[0] == pytest.approx(integral, abs=2e-5 * np.abs(dy).max())


@pytest.mark.parametrize("hold", ["zero", "linear"])
def test_a_recorded_vector_is_played_back(tmp_path, hold):
    t = np.array([0.0, 0.25, 0.5, 1.0])
    values = np.array([[0, 1], [2, -1], [4, 3], [-4, 0]], float)
    bs.Record.from_arrays(t, q=values).save(tmp_path / "moves.npz")
    diagram = bs.Diagram()
    diagram.add("u", "FromRecord", file=str(tmp_path / "moves.npz"), signal="q", hold=hold)
    record = bs.simulate(diagram, stop=1.25, every="1/32", solver="euler", step="1/32", **PYTHON)
    if hold == "linear":
        expected = np.stack([np.interp(record.t, t, column) for column in values.T], axis=1)
    else:
        expected = values[np.searchsorted(t, record.t, side="right") - 1]
    assert record["u"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("Multisine", {"f_min": 0.1, "f_max": 10, "lines": 100, "amplitude": 10}, "0.1 to 10 Hz, peak 10"),
        ("Multisine", {"frequencies": [3, 1, 2]}, "1 to 3 Hz, peak 1"),
        ("FilteredNoise", {"cutoff": 10, "Ts": 0.002}, "below 10 Hz"),
        ("RandomBinary", {"amplitude": 2, "clock": 0.1}, "±2 every 0.1 s"),
        ("PRBS", {"clock": 0.1}, "±1 every 0.1 s"),
        ("FourierTrajectory", {"a": [[1, 2], [3, 4]]}, "2 harmonics of 0.1 Hz"),
        ("PolynomialTrajectory", {"times": [0, 1, 2], "points": [0, 1, 0]}, "3 way points"),
        ("TrapezoidTrajectory", {"points": [0, 1], "speed": 1, "acceleration": 1}, "2 way points"),
    ],
)
def test_pictures_say_what_a_source_does(name, settings, words):
    assert blocks.LIBRARY[name](**settings).label() == [name, words]
