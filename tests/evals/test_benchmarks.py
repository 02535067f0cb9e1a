"""The benchmark compares like with like: its diagrams and its C programs give the same trajectories. Nothing is timed here."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import cases  # noqa: E402
import native  # noqa: E402
import peers  # noqa: E402

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="no C compiler (cc): the benchmark's unit is hand-written C")


def columns(ready, record):
    """What was logged, a column per signal in the order of `log:`."""
    return np.column_stack([record[name] for group in ready.logs for name, _ in group.signals])


def worst(found, wanted):
    """The largest difference, relative to the largest value of each signal."""
    return np.max(np.abs(found - wanted) / np.abs(wanted).max(axis=0))


@pytest.mark.parametrize(("solver", "tolerance"), [("rk4", 1e-12), ("dopri5", 1e-9)])
def test_two_mass_robot_moves_as_in_c(solver, tolerance):
    ready = cases.two_mass(solver, stop=4.0)
    wanted = native.two_mass(solver, stop=4.0)
    assert np.abs(wanted[:, 2]).max() > 1e-3, "the arm should move"
    assert worst(columns(ready, bs.simulate(ready)), wanted) < tolerance


def test_two_mass_robot_with_every_nonlinearity_moves_as_in_c():
    ready = cases.two_mass("rk4", **cases.EFFECTS, backlash="elasto")
    wanted = native.two_mass("rk4", **cases.EFFECTS)
    phi = cases.ROBOT["r"] * wanted[:, 0] - wanted[:, 2]
    for phase in (phi > 0.5 * cases.EFFECTS["q"], np.abs(phi) < 0.5 * cases.EFFECTS["q"], phi < -0.5 * cases.EFFECTS["q"]):
        assert phase.mean() > 0.2, "the gap should be closed on either side and open"
    for name in cases.EFFECTS:
        assert worst(native.two_mass("rk4", **{**cases.EFFECTS, name: 0.0}), wanted) > 1e-3, f"{name} should count"
    found = columns(ready, bs.simulate(ready, engine="compiled"))
    if platform.machine() == "x86_64":
        assert np.array_equal(found, wanted)
    assert worst(found, wanted) < 1e-9


def test_servo_moves_as_in_c_to_the_last_count_of_the_encoder():
    ready = cases.servo(stop=3.0)
    assert worst(columns(ready, bs.simulate(ready)), native.servo(stop=3.0)) < 1e-9


def test_servo_from_a_file_is_the_same_servo():
    record = bs.simulate(cases.SERVO_FILE, stop=0.2)
    assert worst(record["position"][:, None], native.servo(stop=0.2)[:, 2:3]) < 1e-6


def test_servo_with_a_filter_moves_as_in_c():
    """Two ways to write one filter: rounding differs, and the encoder may count a step a sample earlier."""
    ready, wanted = cases.ekf_loop(stop=3.0), native.ekf_loop(stop=3.0)
    assert np.abs(wanted[:, 6] - wanted[:, 3])[100:].max() < 0.3 * np.abs(wanted[:, 3]).max(), "the filter should follow"
    assert worst(columns(ready, bs.simulate(ready)), wanted) < 1e-9


@pytest.mark.parametrize("lags", [10, 100])
def test_chain_of_lags_settles_as_in_c(lags):
    ready = cases.chain(lags, stop=1.0)
    assert worst(columns(ready, bs.simulate(ready)), native.chain(lags, stop=1.0)[:, None]) < 1e-12


def test_many_servos_move_as_in_c():
    table = cases.monte_carlo(6)
    ready = cases.servo(stop=0.5)
    records = bs.simulate_many(ready, params=table)
    logs = native.servo_many(table, threads=2, stop=0.5)
    for i, record in enumerate(records):
        assert worst(columns(ready, record), logs[i]) < 1e-9
    assert worst(logs[0], logs[5]) > 1e-3, "the joints should differ"


@pytest.mark.parametrize(("peer", "case"), sorted(peers.RUNS))
def test_peer_agrees_with_c(peer, case):
    if peers.installed(peer) is None:
        pytest.skip(f"{peer} is not installed: pip install blocksim[bench]")
    from run import disagreement

    assert disagreement(peer, case, stop=0.1) <= peers.AGREEMENT[peer, case]


def table_of(tmp_path, *options):
    """The printed table and the rows written as JSON."""
    command = [sys.executable, str(FOLDER / "run.py"), "--quick", "--json", str(tmp_path / "rows.json"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, json.loads((tmp_path / "rows.json").read_text())["rows"]


def test_one_command_prints_the_table(tmp_path):
    printed, rows = table_of(tmp_path, "--only", "b,d")
    assert "1 kHz PID, quantised encoder" in printed and "20 runs of (b)" in printed and "1.5" in printed
    assert all(row["verdict"] in ("met", "missed") for row in rows if row["bar"] is not None)
    assert {row["case"] for row in rows} == {"b", "d"}
    assert all(row["ratio"] > 0 for row in rows if row["taken"] is not None)


def test_identifications_are_counted_in_simulations(tmp_path):
    _, rows = table_of(tmp_path, "--only", "i")
    work = {row["what"]: int(row["note"].split(" simulations")[0].split()[-1]) for row in rows if "iterations" in row["note"]}
    assert len(work) == 3
    assert all(count < (12 if what.startswith("DIDIM") else 60) for what, count in work.items()), work


@pytest.mark.slow
def test_one_command_prints_every_case(tmp_path):
    _, rows = table_of(tmp_path)
    assert {row["case"] for row in rows} == set("abcdefghijklm")


def test_unknown_case_is_named():
    done = subprocess.run([sys.executable, str(FOLDER / "run.py"), "--only", "z"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no case z. Cases are: a, b, c, d, e, f, g, h, i, j, k, l, m." in done.stderr
