"""A flexible axis as a laboratory records it, simulated without blocksim (examples/own_axis.py): what each step finds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
from own_axis import DEAD, LATE, TRUTH, ZERO, R, recorded  # noqa: E402

AXIS = EXAMPLES / "own_axis.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("lab")
    recorded(str(place / "first.csv"), [0, 270, -60, 200, -280, 60, -150, 0], 1)
    recorded(str(place / "second.csv"), [0, -200, 150, -250, 100, -60, 120, 0], 2)
    return place


@pytest.fixture(scope="module")
def estimates(folder) -> list[bs.Estimates]:
    """Those of the record as it is, and with the current moved to when it acted."""
    first = bs.identify(AXIS, folder / "first.csv").estimates["ls"]
    return [first, bs.identify(AXIS, folder / "first.csv", columns=current(first)).estimates["ls"]]


def current(found: bs.Estimates) -> dict[str, object]:
    return {"torque": {"column": "Strom", "scale": 1.9, "unit": "N m", "delay": found.details["effort_lag"]["lag"]}}


def test_look_tells_lag_and_zero_in_the_columns_own_unit(folder):
    command = ["look", str(folder / "first.csv"), "--time", "Zeit", "--encoders", "Motor,Arm", "--ratio", str(R)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0 and "5000 rows, 0 to 19.996 s, every 0.004 s (250 Hz)" in result.output, result.output
    record = bs.Record.load(folder / "first.csv", time="Zeit")
    pair = bs.compare_encoders(record.t, record["Motor"], record["Arm"], R, unit="deg")
    assert pair.lag == pytest.approx(1e-3 * LATE, rel=0.02) and pair.zero == pytest.approx(np.degrees(ZERO), rel=0.02)
    assert f"offset: {-pair.zero:.4g}" in result.output


def test_a_current_that_is_logged_early_is_told(estimates):
    """Dead time of 2 ms and the hold of a controller at 1 kHz, half a millisecond on average."""
    lag = estimates[0].details["effort_lag"]
    assert lag["lag"] == pytest.approx(-(DEAD + 0.5) * 1e-3, rel=0.02)
    assert any("ms ahead of the motion" in text and "delay: -0.00" in text for text in estimates[0].warnings)
    assert not any("motion" in text for text in estimates[1].warnings)  # put right, it is told no more


def test_the_parameters_are_found(estimates):
    errors = {name: abs(estimates[1][name].value / truth - 1) for name, truth in TRUTH.items()}
    limits = {"Jm": 0.02, "Ja": 0.01, "Fv": 0.03, "Fc": 0.05, "k1": 0.03, "d": 0.03, "Ms": 0.03, "k3": 0.15, "offset": 0.25}
    assert all(errors[name] < most for name, most in limits.items()), errors


def test_a_second_record_judges_them(estimates, folder):
    options = {"columns": current(estimates[0]), "mode": "inverse"}
    good, early = (bs.validate(AXIS, folder / "second.csv", one, **options)["ls.tau"] for one in estimates[::-1])
    assert good.relative_error < 0.05 and early.relative_error > 1.5 * good.relative_error


def test_short_predictions_need_no_controller(estimates, folder):
    options = {"columns": current(estimates[0]), "mode": "predict", "horizon": 0.1}
    held = bs.validate(AXIS, folder / "second.csv", estimates[1], **options)
    assert set(held) == {"motor.q_hat", "arm.q_hat"} and "driven by torque.y as recorded" in str(held)
    values = {**{f"robot.{n}": e.value for n, e in estimates[1].items()}, "robot.Ja": 1.3 * TRUTH["Ja"]}
    heavy = bs.validate(AXIS, folder / "second.csv", values, **options)
    assert heavy["motor"].rms > 4 * held["motor"].rms
    longer = bs.validate(AXIS, folder / "second.csv", estimates[1], **{**options, "horizon": 0.5})
    assert longer["motor"].rms > held["motor"].rms
    with pytest.raises(bs.DiagramError, match="horizon: found 0"):
        bs.validate(AXIS, folder / "second.csv", estimates[1], **{**options, "horizon": 0})


def test_a_clock_that_jitters_over_even_samples_is_found_out(estimates, folder):
    """Times off by 0.15 ms, two rows in a hundred lost, one cell in two hundred empty, some rows twice."""
    random = np.random.default_rng(5)
    head, *lines = (folder / "first.csv").read_text().splitlines()
    kept = []
    for line in lines:
        if random.random() < 0.02:
            continue
        clock, motor, arm, current_text = line.split(";")
        clock = f"{float(clock.replace(',', '.')) + 0.15 * random.normal():.3f}".replace(".", ",")
        kept += [f"{clock};{motor};{'' if random.random() < 0.005 else arm};{current_text}"] * (1 + (random.random() < 0.003))
    (folder / "rough.csv").write_text("\n".join([head, *kept, ""]))
    columns = current(estimates[0])
    with pytest.raises(bs.RecordError, match=r"times smoother at even times: the clock jitters.*rows: even"):
        bs.identify(AXIS, folder / "rough.csv", columns=columns)
    believed, even = (
        bs.identify(AXIS, folder / "rough.csv", columns=columns, resample={"every": 4e-3, "method": "cubic", **more})
        for more in ({}, {"rows": "even"})
    )
    assert any("the clock jitters; say rows: even" in text for text in believed.provenance["notes"])
    assert any("rows were taken as even" in text for text in even.provenance["notes"])
    for name in ("Jm", "Ja", "k1", "d", "Ms"):
        assert even.estimates["ls"][name].value == pytest.approx(estimates[1][name].value, rel=0.01)
    assert abs(believed.estimates["ls"]["Ja"].value / TRUTH["Ja"] - 1) > 0.1  # what the times say is not what was sampled


def test_what_the_fit_took_out_is_taken_out_of_the_judgement(estimates, folder):
    """`channels: estimated` moves the arm's signals before the fit; the inverse model must see them so too."""
    plain = {**current(estimates[0]), "arm": "Arm"}
    params = {"ls.channels": "estimated"}
    found = bs.identify(AXIS, folder / "first.csv", columns=plain, params=params).estimates["ls"]
    held = bs.validate(AXIS, folder / "second.csv", found, columns=plain, mode="inverse")
    assert held["ls.tau"].relative_error < 0.06 and "the arm's encoder was moved by 3" in str(held)
