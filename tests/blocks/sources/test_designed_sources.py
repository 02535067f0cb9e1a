"""Sources that designs need: a multisine with an amplitude for each line, listed levels, filtered noise by its peak."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

SOURCES = """
format: 1
simulate: {stop: 60.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  lines:  {type: Multisine, f_min: 1, f_max: 3, lines: 3, amplitudes: [1, 0.5, 0.2], phases: [0, 1, 2], amplitude: 2}
  listed: {type: Multisine, frequencies: [1, 2, 3], amplitudes: [1, 0.5, 0.2], phases: [0, 1, 2], amplitude: 2}
  noise:  {type: FilteredNoise, peak: 10.0, cutoff: 5.0, Ts: 0.01}
  steps:  {type: LevelSequence, amplitude: 2.0, clock: 0.1, values: [0.0, 0.5, -1.0]}
  bits:   {type: LevelSequence, amplitude: 3.0, clock: 0.1, signs: "++-", repeat: false}
"""


def test_they_are_what_they_say():
    record = bs.simulate(SOURCES)
    t = record.t
    expected = 2 * sum(a * np.cos(2 * np.pi * f * t + phi) for a, f, phi in ((1, 1, 0), (0.5, 2, 1), (0.2, 3, 2)))
    assert np.abs(record["lines"] - expected).max() < 1e-12 and np.abs(record["listed"] - expected).max() < 1e-12
    tick = (np.arange(len(t)) // 10).astype(int)
    assert (record["steps"] == 2.0 * np.array([0.0, 0.5, -1.0])[tick % 3]).all()
    assert (record["bits"] == np.where(tick < 2, 3.0, np.where(tick < 3, -3.0, 0.0))).all()


def test_noise_by_its_peak():
    """A third of the peak in standard deviation (a normal that is cut at three loses 1.3 % of it), and never beyond."""
    record = bs.simulate(SOURCES, stop=300)
    assert np.abs(record["noise"]).max() == 10.0
    assert np.std(record["noise"]) == pytest.approx(10.0 / 3.0 * 0.987, rel=0.03)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"type": "Multisine", "f_min": 1, "f_max": 2, "lines": 2, "amplitudes": [1]}, "one for each of the 2 lines"),
        ({"type": "Multisine", "f_min": 1, "f_max": 2, "lines": 2, "amplitudes": [1, -1]}, "numbers of at least 0"),
        (
            {"type": "Multisine", "f_min": 1, "f_max": 2, "lines": 2, "amplitudes": [1, 1], "phases": "optimised"},
            "equal amplitudes",
        ),
        ({"type": "LevelSequence", "clock": 0.1}, "give values, or signs"),
        ({"type": "LevelSequence", "clock": 0.1, "signs": "+0-"}, "plus and minus signs are wanted"),
    ],
)
def test_mistakes(settings, words):
    with pytest.raises(bs.DiagramError, match=words):
        bs.Diagram("x").add("u", settings.pop("type"), **settings)
