"""A run that does not get on says so, where it is and what holds it up, and keeps its record; so does one that is interrupted."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli import console
from blocksim.cli.commands import app
from blocksim.simulation import pace
from blocksim.simulation.failures import InterruptedRun

DRIVEN = "  s: {type: Sine, frequency: 1}\n  lag: {type: FirstOrderLag, T: 1, in: s}\n"
SLIDING = """  e: {type: Gain, k: -1, in: x}
  switch: {type: Relay, on_point: 1e-9, off_point: -1e-9, on_value: 1, off_value: -1, in: e}
  x: {type: Integrator, in: switch}
"""


def diagram(blocks: str, simulate: str = "{stop: 10}") -> str:
    return f"format: 1\nsimulate: {simulate}\nblocks:\n{blocks}"


def stuck(source: str, **options) -> bs.SimulationError:
    with pytest.raises(bs.SimulationError, match="the run is stuck") as caught:
        bs.simulate(source, engine="python", **options)
    assert caught.value.record is not None and len(caught.value.record.t) >= 1
    assert caught.value.record.t[-1] <= caught.value.time
    return caught.value


def test_a_tolerance_finer_than_numbers():
    error = stuck(diagram(DRIVEN, "{stop: 10, rtol: 1e-15, atol: 1e-300}"), limit=2000)
    assert str(error) == (
        "at t = 0 s the run is stuck: 2000 steps took it from 0 s to there, and the end is at 10 s. Of these steps, state 'x' of "
        "block 'lag' (now 0) asks for the shortest. rtol 1e-15 asks for more digits than numbers have; 1e-13 is about the least. "
        "In Python limit= allows more steps."
    )


@pytest.mark.parametrize("solver", ["dopri5", "rodas4", "scipy:RK45"])
def test_a_sine_that_cannot_be_followed(solver):
    error = stuck(diagram(DRIVEN.replace("frequency: 1", "frequency: 1e300"), f"{{stop: 10, solver: '{solver}'}}"), limit=3000)
    assert (error.block, error.state) == ("lag", "x") and 0 < error.time < 0.01
    advice = "rtol and atol loosen" if solver == "rodas4" else "rodas4 suits stiff systems"  # not told to who uses it
    assert f"What drives it may change too fast to be followed; {advice}" in str(error)


@pytest.mark.parametrize("solver", ["dopri5", "rk4", "scipy:RK45"])
def test_a_relay_with_next_to_no_band(solver):
    """It crosses the band of 2e-9 at speed 1: an event every 2e-9 s; scipy begins anew after each, with a short step."""
    error = stuck(diagram(SLIDING, f"{{stop: 10, solver: '{solver}', step: 0.01}}"), limit=2000)
    assert error.block == "switch" and 1000 * 2e-9 <= error.time <= 2000 * 2e-9 + 1e-12
    assert "ended at an event, the last of guard 'switch' of block 'switch' (Relay). A wider hysteresis" in str(error)


def test_the_pace_tells_long_before_the_steps_are_used_up(monkeypatch):
    """Without limit=: at 2e-9 s a step, 10 s would take 5e9 steps."""
    monkeypatch.setattr(pace, "LOOK", 2000)
    error = stuck(diagram(SLIDING))
    assert str(error).startswith(
        "at t = 3.999e-06 s the run is stuck: 2000 steps took it from 0 s to there, and the end is at 10 s."
    )


def test_a_slow_run_that_gets_on_is_let_go_on(monkeypatch):
    monkeypatch.setattr(pace, "LOOK", 50)
    source = diagram(DRIVEN, "{stop: 10, max_step: 1e-2}")
    patient, usual = bs.simulate(source, engine="python"), bs.simulate(source, engine="python", limit=10**9)
    np.testing.assert_array_equal(patient["lag"], usual["lag"])  # looking on changes no bit


def test_a_limit_is_the_steps_that_may_be_taken():
    source = diagram(DRIVEN, "{stop: 10, max_step: 1e-2}")
    assert len(bs.simulate(source, engine="python", limit=1500).t) == 1001
    assert stuck(source, limit=500).time == pytest.approx(5, rel=0.05)


def test_a_blow_up_ends_with_every_solver_near_where_it_is():
    """x' = x^2 from 1 is 1 / (1 - t): it has no end at t = 1."""
    source = diagram("  f: {type: Function, expression: u*u, in: x}\n  x: {type: Integrator, x: 1, in: f}\n")
    for solver in ("dopri5", "rodas4", "scipy:RK45", "scipy:DOP853", "scipy:Radau", "scipy:BDF", "scipy:LSODA"):
        with pytest.raises(bs.SimulationError) as caught:
            bs.simulate(source, solver=solver, engine="python")
        assert caught.value.time == pytest.approx(1, abs=1e-6) and caught.value.block == "x", solver
        assert len(caught.value.record.t) in (100, 101), f"{solver} keeps the rows 0, 0.01, ... 0.99"


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------------


def interrupting(calls: int):
    """A progress function that presses Ctrl-C."""
    count = iter(range(calls + 1))

    def progress(fraction: float) -> None:
        if next(count) == calls - 1:
            os.kill(os.getpid(), signal.SIGINT)

    return progress


@pytest.fixture
def heeded():
    """Ctrl-C is heeded, also where the tests run in the background of a shell that lets it pass."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("solver", ["rk4", "dopri5", "scipy:RK45"])
def test_an_interrupted_run_has_its_record(solver, heeded):
    source = diagram(DRIVEN, f"{{stop: 100, solver: '{solver}', step: 0.01, max_step: 0.01}}")
    if solver.startswith("scipy"):
        source += "  hold: {type: ZeroOrderHold, Ts: 1, in: lag}\n"  # scipy's progress is told from hit to hit
    whole = bs.simulate(source, engine="python")
    with pytest.raises(InterruptedRun, match=r"interrupted at t = .* s; the record up to there is kept") as caught:
        bs.simulate(source, engine="python", progress=interrupting(3))
    record = caught.value.record
    assert 1 < len(record.t) < len(whole.t) and record.t[-1] <= caught.value.time
    np.testing.assert_array_equal(record["lag"], whole["lag"][: len(record.t)])


def test_run_out_keeps_the_record_so_far(heeded, tmp_path, monkeypatch):
    (tmp_path / "d.yaml").write_text(diagram(DRIVEN, "{stop: 100, solver: rk4, step: 0.01}"))

    class Bar:
        def __enter__(self):
            return interrupting(3)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(console, "progress_bar", lambda visible: Bar())
    result = CliRunner().invoke(app, ["run", str(tmp_path / "d.yaml"), "--debug", "--out", str(tmp_path / "out")])
    assert result.exit_code == 130 and "s; the record up to there is kept." in result.stderr
    record = bs.Record.load(tmp_path / "out/record.npz")
    assert 1 < len(record.t) < 10001
    assert '"message": "interrupted at t =' in (tmp_path / "out/run.json").read_text()
