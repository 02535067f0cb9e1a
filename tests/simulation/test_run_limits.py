"""What a run may ask for: memory, ticks and sizes are counted before anything is allocated; each refusal has its line."""

from __future__ import annotations

import resource
import sys

import pytest

import blocksim as bs
from blocksim.cli.verdict import check_diagram
from blocksim.diagram.build import open_diagram
from blocksim.diagram.files import bundled_root
from blocksim.simulation import experiment

UNIT = "  s: {type: Constant}\n  x: {type: UnitDelay, Ts: 1, in: s}\n"
NOISY = "".join(f"  n{i}: {{type: WhiteNoise, std: 1, Ts: 1e-6}}\n" for i in range(3))


def text(blocks: str = UNIT, simulate: str = "{stop: 1}", more: str = "") -> str:
    return f"format: 1\nsimulate: {simulate}\n{more}blocks:\n{blocks}"


def refusal(source: str, **options) -> str:
    with pytest.raises(bs.DiagramError) as caught:
        bs.simulate(source, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "source, line, words",
    [
        (text(simulate="{stop: 1e308}"), 2, "simulate.stop: 1e+308 s is too long to be counted exactly; at most 9.01e+15 s is."),
        (text(simulate="{stop: 1, every: 1e19}"), 2, "simulate.every: 1e+19 s is too long"),
        (text(simulate="{stop: 1, step: 1e19, solver: rk4}"), 2, "simulate.step: 1e+19 s is too long"),
        (text(simulate="{start: 1e300, stop: 1.1e300}"), 2, "simulate.start: 1e+300 s is too long"),
        (text(UNIT.replace("Ts: 1", "Ts: 1e19")), 5, "block 'x': Ts: 1e+19 s is too long"),
        (text(UNIT.replace("Ts: 1", "Ts: 1, offset: 1e19")), 5, "block 'x': offset: 1e+19 s is too long"),
        (text(more="log: [{signal: x, every: 1e19}]\n"), 3, "log: every: 1e+19 s is too long"),
        (text(simulate="{stop: 1, step: 1e-9, solver: rk4}", more="log: [{signal: x, every: 1e12}]\n"), 3,
         "log: every: 1e+12 s is 1e+21 ticks of 1e-09 s; at most 9.01e+15 are counted."),
        (text(UNIT.replace("Ts: 1", "Ts: 1.000000000000007"), "{stop: 1000, every: 0.9}"), 5,
         "too many to count exactly. Use rounder numbers; the least round is block 'x': Ts, 1.000000000000007 s."),
    ],
)  # fmt: skip
def test_times_that_cannot_be_counted_have_a_line(source, line, words):
    message = refusal(source)
    assert f"<text>:{line}: " in message and words in message
    assert all(one.startswith("<text>:") for one in message.splitlines())


def test_so_have_those_of_blocks_that_work_after_the_run():
    text = (bundled_root() / "gautier2001/rls.yaml").read_text(encoding="utf-8")
    message = refusal(text.replace('Ts: "${Ts}", model', "Ts: 1e80, model"))
    assert "block 'rls': Ts: 1e+80 s is too long to be counted exactly" in message and message.startswith("<text>:")


def test_options_that_cannot_be_counted_are_said_too():
    assert refusal(text(), every=1e19) == (
        "<text>:2: simulate.every: 1e+19 s is too long to be counted exactly; at most 9.01e+15 s is."
    )


def test_noise_counts_before_it_is_drawn():
    message = refusal(text(NOISY, "{stop: 1000, every: 1}"))
    assert message == (
        "<text>:2: this run takes 22.4 GiB (log 0.0, noise 22.4, tables 0.0), more than 4. Draw noise more seldom (Ts), or "
        "shorten the run."
    )


def test_so_does_the_log():
    message = refusal(text(simulate="{stop: 1000, every: 1e-6}"))
    assert "this run takes 14.9 GiB (log 14.9, noise 0.0, tables 0.0), more than 4. Log less (log:) or more seldom" in message


def test_they_count_together(monkeypatch):
    """Each alone would fit: 2 signals of 1001 rows, 1001 draws, a delay of 502 samples."""
    source = text("  n: {type: WhiteNoise, Ts: 1e-3}\n  d: {type: TransportDelay, delay: 0.5, Ts: 1e-3, in: n}\n", "{stop: 1}")
    room = experiment.make_experiment(open_diagram(source)).room
    assert room["log"] == 8 * 2 * 1001 and room["noise"] == 8 * 1001 and room["tables"] == 8 * 502
    monkeypatch.setattr(experiment, "MAX_BYTES", sum(room.values()) - 1)
    assert "more than" in refusal(source)
    monkeypatch.setattr(experiment, "MAX_BYTES", sum(room.values()))
    assert len(bs.simulate(source, engine="python").t) == 1001


def test_a_delay_counts_before_it_is_made(monkeypatch):
    monkeypatch.setattr(experiment, "MAX_BYTES", 8 * 1000)
    source = text("  s: {type: Constant}\n  d: {type: TransportDelay, delay: 0.5, Ts: 1e-4, in: s}\n")
    assert "<text>:5: this run takes 0.0 GiB (tables 0.0), more than 0. Make delays and tables shorter." in refusal(source)


def test_a_signal_that_is_joined_with_itself_ends():
    """30 joins would make 2^30 elements of one."""
    blocks = "  m0: {type: Constant}\n" + "".join(f"  m{i}: {{type: Mux, in: [m{i - 1}, m{i - 1}]}}\n" for i in range(1, 31))
    assert refusal(text(blocks)) == "<text>:21: block 'm17': a signal of 131072 elements; at most 100000 are carried by one."


def test_many_wide_signals_end():
    wide = "  w: {type: Constant, value: [" + "1, " * 2000 + "1]}\n"
    blocks = wide + "".join(f"  m{i}: {{type: Gain, k: 1, in: {'w' if i == 1 else f'm{i - 1}'}}}\n" for i in range(1, 1100))
    assert "elements in all; at most 2000000 are carried." in refusal(text(blocks))


def test_check_says_what_the_run_would():
    with pytest.raises(bs.DiagramError, match=r"this run takes 22.4 GiB \(log 0.0, noise 22.4, tables 0.0\)"):
        check_diagram(open_diagram(text(NOISY, "{stop: 1000, every: 1}")), {})


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system for the most memory used so far")
def test_a_refusal_costs_no_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusal(text(NOISY, "{stop: 1000, every: 1}"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 100_000  # KiB
