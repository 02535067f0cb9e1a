"""Bands of a spectrum: their places found by arithmetic are those of a search, their means those of slices."""

import numpy as np
import pytest

from blocks.identifiers.noise.bands import BAND_LINES, Bands, bands_of, ranks_among, running_sums


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("lines", "slow"), [(40, 40), (257, 256), (3000, 256)])
def test_ranks_are_those_of_a_search(lines, slow, side, rng):
    left = np.ones(lines)
    left[:slow] = rng.random(slow)
    left[slow // 2 : slow // 2 + 5] = 0.0  # sums that stand still
    sums = running_sums(left / 2)
    values = np.sort(np.concatenate([rng.random(500) * sums[-1], sums[: slow + 1]]))
    np.testing.assert_array_equal(ranks_among(sums, values, slow, side), np.searchsorted(sums, values, side=side))


def test_a_band_holds_enough_of_what_a_fit_has_left(rng):
    left = np.ones(2000)
    left[:100] = rng.random(100)
    bands = bands_of(left, 256)
    held = [left[a:b].sum() / 2 for a, b in zip(bands.first, bands.last, strict=True)]
    assert min(held) >= BAND_LINES - 1e-9 and (bands.first <= np.arange(2000)).all() and (bands.last > np.arange(2000)).all()


def test_means_are_those_of_slices(rng):
    values, first = rng.random(300), rng.integers(0, 150, 300)
    last = first + rng.integers(1, 150, 300)
    expected = [values[a:b].mean() for a, b in zip(first, last, strict=True)]
    np.testing.assert_allclose(Bands(first, last).mean(values), expected, rtol=1e-11)
