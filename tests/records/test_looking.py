"""What a look at a file shows."""

from __future__ import annotations

import numpy as np
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.running.looking import look_at


def test_time_base_gaps_steps_and_guesses():
    t = np.arange(2000) * 1e-3
    angle = np.round(np.sin(7 * t) / (2 * np.pi / 4096)) * (2 * np.pi / 4096)
    counts = np.round(500 * np.cos(3 * t))
    rows = np.r_[0:700, 760:2000]
    signals = {
        "q": angle[rows],
        "n": counts[rows],
        "u": np.sin(t[rows]),
        "still": np.ones(len(rows)),
        "flag": (t[rows] > 1) * 1.0,
    }
    view = look_at(bs.Record.from_arrays(t[rows], signals, units={"u": "V"}))
    columns = {c.name: c for c in view.columns}
    assert np.isclose(columns["q"].step, 2 * np.pi / 4096) and "4096 counts per turn" in columns["q"].guess
    assert columns["n"].step == 1 and "counts" in columns["n"].guess and columns["u"].step == 0
    assert columns["still"].guess == "constant" and columns["flag"].guess == "on and off"
    assert "every 0.001 s (1000 Hz), 1 gap (60 rows), the longest after 0.699 s" in view.times[0]


def test_a_name_that_ends_in_a_unit_is_asked_about():
    t = np.arange(500) * 1e-3
    heads = {"arm_rad": "rad", "log.spd_rpm": "rpm", "trq-pct": "%", "axis.enc_inc": "counts", "F_kN": "kN"}
    plain = ("q_m", "brand", "u_s", "model_a", "sign_in")
    record = bs.Record.from_arrays(t, {name: np.sin(7 * t) for name in (*heads, *plain)})
    guesses = {column.name: column.guess for column in look_at(record).columns}
    assert guesses == {**{name: f"in {unit}, by its name?" for name, unit in heads.items()}, **dict.fromkeys(plain, "")}


def test_a_rest_is_no_limit():
    """A motion that slows down and stays at its largest value rests there; a current that is cut off does not slow down."""
    t = np.arange(3000) * 1e-3
    s = np.clip(t % 1.5 / 1.0, 0, 1)
    motion = (s**3 * (10 - 15 * s + 6 * s * s)) * (t >= 0)
    cut = np.clip(1.4 * np.sin(9 * t), -1, 1)
    columns = {c.name: c.guess for c in look_at(bs.Record.from_arrays(t, {"ref": motion, "i": cut})).columns}
    assert columns["ref"] == "" and "at its largest value 1" in columns["i"] and "a limit?" in columns["i"]


def test_the_command_prints_compares_and_draws(tmp_path):
    t = np.arange(0, 20, 4e-3)
    waves = [(0.8, 0.1), (0.3, 0.35), (0.02, 2.3), (0.004, 5.1)]

    def arm(t):
        return sum(a * np.sin(2 * np.pi * f * t + k) for k, (a, f) in enumerate(waves))

    table = np.c_[t, 100 * arm(t), arm(t - 3e-3) + 1e-3]
    np.savetxt(tmp_path / "lab.txt", table)
    command = [
        "look",
        str(tmp_path / "lab.txt"),
        "--time",
        "1",
        "--encoders",
        "2,3",
        "--ratio",
        "0.01",
        "-o",
        str(tmp_path / "a.png"),
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "5000 rows, 0 to 19.996 s, every 0.004 s (250 Hz)" in result.output
    assert "3 is 3 ms late behind 2" in result.output and "the zero of 3 is +1 mrad" in result.output
    assert (tmp_path / "a.png").exists()
    assert CliRunner().invoke(app, ["look", str(tmp_path / "lab.txt"), "--time", "1", "--encoders", "2"]).exit_code == 2


def test_a_file_without_a_time_is_looked_at_and_asked_about(tmp_path):
    t = 200.743 + np.cumsum(np.resize([0.01, 0.012, 0.008], 300))
    np.savetxt(tmp_path / "arm.csv", np.c_[t, np.sin(t), np.cos(t)], delimiter=",", fmt="%.4f")
    result = CliRunner().invoke(app, ["look", str(tmp_path / "arm.csv")])
    assert result.exit_code == 0 and "300 rows; their time is not known" in result.output
    assert "column 1 rises by 0.01 from row to row: is it the time? --time 1" in result.output
