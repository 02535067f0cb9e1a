"""A student who goes the way of the handout: an experiment, a record, an identifier in its loop, a submission, a mark."""

import pytest

import blocksim as bs
from blocksim.course.assignment import assignment_of
from blocksim.course.handout import write_handout
from blocksim.course.ledger import measure_within_budget, open_class
from blocksim.course.marking import Submission, mark_submission
from blocksim.course.measure import write_measurement
from blocksim.course.request import read_request

MOVE = "{type: FourierTrajectory, base_frequency: 0.1, a: [0.9, 0.5, 0.3, -0.5, 0.2, 0.4], b: [0.3, -0.4, 0.3, 0.4, -0.3, -0.3]}"
DIDIM = """  didim:   {type: DIDIM, model: joint, skip: 1, decimate: 5, start: {J: 0.03, Fv: 0.1, Fc: 0.2, Ms: 0.1},
            in: {tau: tau, q: encoder}}
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """The student's estimates of lesson 2, and the class."""
    folder = tmp_path_factory.mktemp("work")
    own = open_class(folder / "class")
    (own.path / "secret.key").write_text("5ec2e7" * 10 + "89ab\n")  # the same robot in every session
    write_handout(assignment_of(2), "lea", folder / "given")
    experiment = folder / "given" / "experiment.yaml"
    experiment.write_text(f"format: 1\nexperiment: 2\nstudent: lea\nseconds: 50\nsources:\n  ref: {MOVE}\n")
    measurement, _ = measure_within_budget(own, read_request(experiment))
    write_measurement(measurement, folder / "given" / "record_1.csv")
    loop = folder / "given" / "loop.yaml"
    lines = loop.read_text().splitlines(keepends=True)
    lines = [f"  ref: {MOVE}\n" if line.startswith("  ref:") else line for line in lines]
    loop.write_text("".join(lines).replace("log:", f"{DIDIM}log:"))
    return bs.identify(loop, folder / "given" / "record_1.csv").estimates["didim"], own


def mark(work, shrink):
    estimates, own = work
    values = {f"joint.{name}": entry.value for name, entry in estimates.items()}
    stds = {f"joint.{name}": shrink * entry.std for name, entry in estimates.items()}
    return mark_submission(Submission(assignment_of(2), "lea", values, stds), own)


def test_good_work_is_paid(work):
    result = mark(work, 1.0)
    assert result.accuracy > 50 and result.honesty > 25 and result.runs == 1


def test_the_same_values_with_a_twentieth_of_their_standard_deviation_are_not_believed(work):
    """An honest value lies within a tenth of its standard deviation in one of 12 cases: one of the four may be right by luck."""
    result = mark(work, 0.05)
    assert all(part.honesty == 0.0 and "over-confident" in part.words for part in result.parts if part.z > 4)
    assert sum(part.z > 4 for part in result.parts) >= 3 and result.accuracy > 50
