"""A flexible axis as a laboratory records it, simulated without blocksim (examples/own_axis.py): what each step finds."""

from __future__ import annotations

import re
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


@pytest.fixture(scope="module")
def odd(folder) -> Path:
    """The first record of another logger: microseconds since 1970, turns, mrad the other way round, % of 20 N m, rows lost."""
    record = bs.Record.load(folder / "first.csv", time="Zeit")
    t, motor, arm, torque = record.t, record["Motor"] / 360, -1e3 * np.radians(record["Arm"]), 100 * 1.9 * record["Strom"] / 20
    speed = 60 * np.interp(t - 5e-3, t, np.gradient(motor, t))
    rows = [
        f"{k},{1_760_000_000_000_000 + round(1e6 * t[k])},{motor[k]:.8f},{arm[k]:.6f},{speed[k]:.2f},{torque[k]:.3f},OK"
        for k in range(len(t))
        if not 1000 <= k < 1007
    ]
    (folder / "odd.csv").write_text(
        "\n".join(["n,stamp_us,pos_mot (rev),pos_load (mrad),vel_mot (rpm),torque (%),status", *rows, ""])
    )
    return folder / "odd.csv"


def test_another_layout_is_looked_at(odd):
    command = ["look", str(odd), "--time", "stamp_us [us]", "--encoders", "pos_mot,pos_load", "--ratio"]
    turned = CliRunner().invoke(app, [*command, str(R)]).output
    assert "it counts the other way; map it with scale: -1" in turned and "1 gap (7 rows), the longest after 3.996 s" in turned
    late = re.search(r"'vel_mot' is ([\d.]+) ms late behind the slope of 'pos_mot'", turned)
    assert late is not None and float(late[1]) == pytest.approx(5, rel=0.02), turned
    assert "not read: status ('OK')" in turned
    told = CliRunner().invoke(app, [*command, str(-R)]).output
    assert "pos_load is 3.0" in told and "ms late behind pos_mot" in told and "zero -0.99" in told
    asked = CliRunner().invoke(app, ["look", str(odd), "--encoders", "pos_mot,pos_load"])
    assert asked.exit_code == 2 and "a lag needs the time of the rows" in asked.output + asked.stderr


def test_another_layout_gives_the_same_numbers(odd, estimates):
    columns = {
        "torque": {**current(estimates[0])["torque"], "column": "torque (%)", "scale": 0.2},
        "motor": "pos_mot [rev]",
        "arm": {"column": "pos_load", "scale": -1, "delay": "estimated", "offset": "estimated"},
    }
    found = bs.identify(AXIS, odd, columns=columns, time="stamp_us [us]", missing="bridge").estimates["ls"]
    assert found.vector() == pytest.approx(estimates[1].vector(), rel=0.02)
    with pytest.raises(bs.RecordError, match=r"arm\.q_hat moves.*it counts the other way"):
        bs.identify(AXIS, odd, columns={**columns, "arm": {**columns["arm"], "scale": 1}}, time="stamp_us [us]", resample=4e-3)
    with pytest.raises(bs.RecordError, match=r"'torque.y' drives what is simulated and misses 8 samples, the first at 4 s"):
        bs.validate(AXIS, odd, found, columns=columns, time="stamp_us [us]", missing="bridge")


def test_a_plant_that_nothing_holds_is_told(estimates, folder):
    held = bs.validate(AXIS, folder / "second.csv", estimates[0], columns=current(estimates[0]))
    assert "nothing holds the simulated plant: it is driven by torque.y alone" in str(held)


def test_noise_that_is_left_in_the_motion_is_told(folder, estimates):
    """An arm's encoder of 4096 counts per turn, through a filter that is too wide for it: inertia and stiffness shrink."""
    record = bs.Record.load(folder / "first.csv", time="Zeit")
    coarse = 360 / 4096 * np.round(record["Arm"] * 4096 / 360)
    arrays = {"Motor": record["Motor"], "Arm": coarse, "Strom": record["Strom"]}
    noisy = bs.Record.from_arrays(record.t, arrays, units={"Motor": "deg", "Arm": "deg", "Strom": "A"})
    columns = {**current(estimates[0]), "arm": {"column": "Arm", "delay": 3e-3, "offset": -0.0573}}
    found = bs.identify(AXIS, noisy, columns=columns).estimates["ls"]
    assert abs(found["k1"].value / TRUTH["k1"] - 1) > 0.2  # so it is
    (told,) = [text for text in found.warnings if text.startswith("noise is left in the motion")]
    assert "k1 -" in told and "Filter the motion more" in told
    assert not any("noise is left" in text for one in estimates for text in one.warnings)


def test_a_weight_at_another_angle_is_told(folder, estimates):
    """The zero of an encoder is rarely where the arm is level: with theta0 wrong, or no weight at all, the cause is named."""
    for params, words in (({"robot.theta0": 0.3}, "the weight acts -17"), ({"robot.Ms": 0.0}, "a weight acts that the diagram")):
        found = bs.identify(AXIS, folder / "first.csv", columns=current(estimates[0]), params=params).estimates["ls"]
        assert found.details["relative_error"] > 2 * estimates[1].details["relative_error"]  # what it does
        (told,) = [text for text in found.warnings if words in text]
        values = dict(re.findall(r"--set robot\.(\w+)=([-+.\de]+)", told))
        assert abs(float(values["theta0"])) < 0.02 and float(values.get("Ms", 90)) == pytest.approx(TRUTH["Ms"], rel=0.15)
    assert not any("weight acts" in text for one in estimates for text in one.warnings)
