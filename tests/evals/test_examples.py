"""Every example runs as it stands, in an empty folder, and says what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import blocksim as bs
from blocksim.diagram.loader import bundled

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(p for p in EXAMPLES.iterdir() if p.suffix in (".py", ".yaml"))


def output_of(name: str, folder: Path) -> str:
    result = subprocess.run([sys.executable, EXAMPLES / name], cwd=folder, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".py"], ids=lambda p: p.stem)
def test_script(path, tmp_path):
    assert output_of(path.name, tmp_path)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_short_and_explained(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert text.count("#") >= 2 and (f"python examples/{path.name}" in text or f"examples/{path.name}" in text)


DIAGRAMS = [p for p in FILES if p.suffix == ".yaml" and "\ndesign:" not in p.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", DIAGRAMS, ids=lambda p: p.stem)
def test_diagram(path):
    assert len(bs.simulate(path).t) > 1


@pytest.mark.parametrize("name", [n for n in bundled() if n.startswith("basics/")])
def test_bundled_basics_run_and_draw(name, tmp_path):
    diagram = bs.open_diagram(name)
    assert diagram.name and diagram.description
    record = bs.simulate(diagram)
    assert all((abs(record[signal]) < 1e6).all() for signal in record)
    bs.draw(diagram, tmp_path / "x.svg")


def test_bounces_come_when_the_closed_form_says(tmp_path):
    pairs = re.findall(r"bounce \d+: ([\d.]+) s, closed form ([\d.]+) s", output_of("events.py", tmp_path))
    assert len(pairs) == 6
    assert all(float(found) == pytest.approx(float(exact), abs=1e-11) for found, exact in pairs)


def test_overshoot_is_that_of_the_closed_form(tmp_path):
    lines = output_of("sweep.py", tmp_path).splitlines()[-2:]
    assert lines[0].split(":")[1].split() == lines[1].split(":")[1].split()


def test_the_first_diagram_draws_plots_and_names_mistakes(tmp_path):
    text = output_of("first_diagram.py", tmp_path)
    assert (tmp_path / "level.svg").exists() and (tmp_path / "level.png").exists()
    assert "has no parameter 'sign'" in text and "T: must be above 0, found -5" in text


def test_the_thermostat_switches_where_its_lag_reaches_the_points():
    """From 10 to 20.5 against 30, then between 19.5 and 20.5: the times of a first-order lag, T = 300 s."""
    from math import log

    record = bs.simulate("basics/thermostat", every="1/4")
    t, heater = record.t, record["heater"]
    off = t[1:][(heater[:-1] > 0) & (heater[1:] == 0)]
    on = t[1:][(heater[:-1] == 0) & (heater[1:] > 0)]
    assert off[0] == pytest.approx(300 * log(20 / 9.5), abs=0.26)
    assert on[0] - off[0] == pytest.approx(300 * log(20.5 / 19.5), abs=0.5)
    assert off[1] - on[0] == pytest.approx(300 * log(10.5 / 9.5), abs=0.5)


def test_the_cascade_ends_where_it_must():
    """The integrating inner loop takes all of the load, so the position ends at its reference."""
    record = bs.simulate("basics/cascade", stop=8)
    assert record["position"][-1] == pytest.approx(1.0, abs=1e-6)
    assert record["speed_c"][-1] == pytest.approx(3.0, abs=1e-4)


def test_the_oscillator_ends_on_the_cycle_that_scipy_finds():
    """Period and amplitude of the Van der Pol cycle, mu = 2, against an integration by scipy from another start."""
    from scipy.integrate import solve_ivp

    def up(t, z):
        return z[0]

    up.direction = 1
    reference = solve_ivp(
        lambda t, z: (z[1], 2 * (1 - z[0] ** 2) * z[1] - z[0]),
        (0, 80),
        (2.0, 0.0),
        method="DOP853",
        events=up,
        rtol=1e-11,
        atol=1e-12,
        max_step=0.01,
    )
    record = bs.simulate("basics/oscillator", stop=60, every=0.001, rtol=1e-9)
    t, x = record.t, record["position"]
    found = t[1:][(x[:-1] < 0) & (x[1:] >= 0)]
    assert found[-1] - found[-2] == pytest.approx(reference.t_events[0][-1] - reference.t_events[0][-2], abs=0.002)
    assert abs(x[20000:]).max() == pytest.approx(abs(reference.y[0][2000:]).max(), abs=2e-4)
