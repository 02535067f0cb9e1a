"""The TX40 of Brunot 2017: its base parameters, its measured record, and the simulated robot whose truth is known."""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest
from short_studies import lines, scores, short
from test_pages import numbers, table

import blocksim as bs
from blocks.plants.serial.chain import INERTIAL
from blocksim.contract.plant import Plant
from blocksim.studies.tables import read_table

DATA = Path(os.environ.get("BLOCKSIM_DATA", "data")) / "staubli_tx40"
measured = pytest.mark.skipif(not DATA.is_dir(), reason="BLOCKSIM_DATA does not name the folder of the measured records")

#: Relative errors of an independent implementation on the same record (numpy and pinocchio's regressor), and the paper's.
GOOD = {"classical": (4.97, 5.1), "irwsm1": (5.07, 5.1), "irwsm2": (4.95, 5.1)}
POOR = {"classical": (8.78, 9.2), "irwsm1": (7.30, 7.5), "irwsm2": (8.58, 8.6)}
#: Weighted least squares of the same implementation, rows below 1 % of the top speed left out.
FRICTION = {"Fv1": 8.066, "Fc1": 7.094, "Fv2": 5.568, "Fc2": 8.137, "Fv3": 1.970, "Fc3": 6.325, "Fv4": 1.105, "Fc4": 2.498,
            "Fv5": 1.832, "Fc5": 3.099, "Fv6": 0.641, "Fvm6": 0.613}  # fmt: skip


def arm():
    block = bs.build(bs.load("brunot2017/tx40")).nodes["robot"].block.nodes["arm"].block
    return Plant(type(block), block.settings, "robot.arm")


def bodies_can_be(standard, joints):
    """By their own definition: inertias about the centre of mass obey the triangle inequalities, masses are positive."""
    for j in range(1, joints + 1):
        XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = (standard[f"{symbol}{j}"] for symbol in INERTIAL)
        c = np.array([MX, MY, MZ]) / M
        moments = np.linalg.eigvalsh(
            np.array([[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]]) - M * (c @ c * np.eye(3) - np.outer(c, c))
        )
        if not (M > 0 and moments[0] > 0 and moments[2] < moments[0] + moments[1]):
            return False
    return True


def test_table_1_is_the_truth_to_its_digits():
    """Printed values within 1.5 of their standard deviations; all but XX3R and ZZ3R, which no body has, as printed."""
    printed = {"ZZ1R": (1.24, 1.31), "XX2R": (-0.48, 2.89), "XZ2R": (-0.16, 4.45), "ZZ2R": (1.09, 1.08), "MX2R": (2.22, 2.35),
               "XX3R": (0.14, 9.15), "ZZ3R": (0.11, 9.01), "MY3R": (-0.59, 2.56), "Ia3": (0.09, 9.26), "MX4": (-0.03, 28.2),
               "Ia4": (0.03, 16.4), "MY5R": (-0.03, 17.8), "Ia5": (0.04, 14.3), "Ia6": (0.01, 30.9)}  # fmt: skip
    truth = arm().truth
    for name, (value, percent) in printed.items():
        assert abs(truth[name] - value) <= 1.5 * abs(value) * percent / 100 + 1e-4, name


@measured
def test_regrouping_is_the_published_one_and_ia6():
    symbols = {"fs": "Fc", "fv": "Fv", "fsm": "Fcm", "fvm": "Fvm", "off": "off", "Ia": "Ia", "Iam": "Iam", "m": "M"}

    def terms(text):
        """'Izz1 + 1.0*Ia1 - 0.05*m3' -> {'ZZ1': 1.0, 'Ia1': 1.0, 'M3': -0.05}"""
        found = {}
        for sign, share, symbol, joint in re.findall(r"([+-]?)\s*(?:([\d.]+)[* ])?\s*([A-Za-z]+)(\d)", text):
            name = symbols.get(symbol) or symbol.removeprefix("I").upper()
            found[name + joint] = (-1 if sign == "-" else 1) * float(share or 1)
        return found

    with open(DATA / "TX40_bp_5.csv") as file:
        published = [terms(row[0]) for row in csv.reader(file)]
    grouping = arm().grouping
    ours = [{n: k for n, k in zip(grouping.standard, row, strict=True) if k} for row in grouping.matrix]
    assert len(ours) == 61 and len(published) == 60
    missing = [row for row in ours if not any(row.keys() == other.keys() for other in published)]
    assert missing == [{"Ia6": 1.0}]
    for row in published:
        same = next(other for other in ours if other.keys() == row.keys())
        assert same == pytest.approx(row, abs=1e-9)


@measured
@pytest.mark.parametrize(("settings", "expected"), [({}, GOOD), ({"cutoff": 200, "factor": 20}, POOR)], ids=["good", "poor"])
def test_relative_errors_of_the_measured_record(settings, expected):
    record = bs.identify("brunot2017/tx40", params=settings)
    for method, (reference, paper) in expected.items():
        details = record.estimates[method].details
        assert details["rank"] == 61
        assert details["relative_error"] == pytest.approx(reference, abs=0.2)
        assert details["relative_error"] == pytest.approx(paper, abs=0.6)
    if settings == {}:
        weighted = {"factor": 100, "slow": 0.01, "skip": [0.0, 0.0], "window": 1, "classical.method": "wls"}
        found = bs.identify("brunot2017/tx40", params=weighted).estimates["classical"]
        for name, value in FRICTION.items():
            assert found[name].value == pytest.approx(value, rel=0.01), name
        assert found["Ia3"].value == pytest.approx(0.096, abs=0.002)


@pytest.mark.slow
@measured
def test_claims_of_the_paper_are_those_of_white_residuals():
    """Table 1's relative standard deviations, printed with two digits of values as small as 0.03."""
    page = table("brunot2017", "relative standard deviation [%], Classical")
    parameters = [name for name in page if not name.startswith("all")]
    white = {"cutoff": 50, "factor": 200, "classical.errors": "white"}
    found = bs.identify("brunot2017/tx40", params=white).estimates["classical"]
    shares = []
    for name in parameters:
        paper, here = numbers(" ".join(page[name][:2]))
        ours = 100 * found[name].std / abs(found[name].value)
        assert ours == pytest.approx(here, rel=0.02), name
        shares.append(ours / paper)
    assert len(shares) == 28 and np.median(shares) == pytest.approx(1, abs=0.05) and 0.8 < min(shares) < max(shares) < 1.2


@measured
def test_at_one_bandwidth_the_three_tie_on_the_measured_record():
    """The order of the paper's Table 2 is the order of their bandwidths: with 45 Hz for all, nothing of it is left."""
    record = bs.identify("brunot2017/tx40", params={"cutoff": 44.75, "factor": 20, "smooth.nvr": 3.16e-8})
    errors = [record.estimates[m].details["relative_error"] for m in ("classical", "irwsm1", "irwsm2")]
    assert max(errors) - min(errors) < 0.1 and errors[1] == pytest.approx(7.30, abs=0.2)


def test_rows_at_rest_cost_every_method():
    """One run of the study: twice the relative error of 4 % that rows in motion have; at one bandwidth the same for all three."""
    result = short("brunot2017/tx40_rest", methods=("matched",), repeat=1)
    table = lines(read_table(result.folder / "signal_scores.csv"))
    errors = [line["mean"] for line in table if line["signal"].startswith("relative_error")]
    assert len(errors) == 3 and max(errors) - min(errors) < 0.4 and min(errors) > 8


def test_the_friction_of_the_wrist_is_found_without_the_rows_of_its_resting_motor():
    """Without noise: Fc6 and Fcm6 are the truth; rows in which the common motor rests took a third of one for the other."""
    quiet = {"slow": 0.02, "encoder.noise_std": 0, "encoder.resolution": 1e-9, "ripple.amplitude": [0.0] * 6}
    found = scores(short("brunot2017/tx40", methods=("poor",), repeat=1, params={**quiet, "slow_motors": 0.02}))
    for method in ("classical", "irwsm1", "irwsm2"):
        assert found[f"poor.{method}", "Fc6"]["mean"] == pytest.approx(0.29, rel=0.02)
        assert found[f"poor.{method}", "Fcm6"]["mean"] == pytest.approx(1.83, rel=0.005)
    biased = scores(short("brunot2017/tx40_motors", methods=("poor",), repeat=1, params=quiet))
    assert biased["poor.classical", "Fc6"]["mean"] > 0.35


def test_the_simulated_robot_is_identified():
    """One run: every base parameter within what its standard deviation allows."""
    record = bs.simulate("brunot2017/tx40", params={"slow": 0.02, "irwsm2.physical": "required"})
    for method in ("classical", "irwsm1", "irwsm2"):
        estimates = record.estimates[method]
        z = np.array([e.z for e in estimates.values()])
        assert len(z) == estimates.details["rank"] == 61
        assert np.sqrt(np.mean(z**2)) < 1.8
        assert np.mean(np.abs(z) < 3) > 0.9
    free, bound = record.estimates["classical"], record.estimates["irwsm2"]
    assert free.details["physical"] is False and any("no physical robot has these" in text for text in free.warnings)
    assert type(record.estimates["irwsm2"]) is type(free) and bound.details["physical"] is True
    assert bodies_can_be(bound.details["standard"], 6)
    pull = np.array([bound[n].z for n in bound]), np.array([free[n].z for n in free])
    assert np.mean(pull[0] ** 2) < np.mean(pull[1] ** 2)  # what is known of bodies helps
    assert record.estimates["classical"].details["condition"] < 500  # 257 with the rows at rest
