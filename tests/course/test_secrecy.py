"""A class at the command line: nothing that a student sees or gets holds the truth, a seed or the secret."""

import math
import struct

import pytest
from typer.testing import CliRunner

from blocksim.cli.course_commands import course
from blocksim.course.assignment import assignment_of
from blocksim.course.ledger import open_class
from blocksim.course.secret import noise_seed, student_truth


def spellings(value):
    """How a number may stand in a text or a binary file: itself and scaled copies, rounded to 4 digits or more, its logarithm."""
    numbers = [
        value,
        -value,
        1 / value,
        math.log(value),
        math.degrees(value),
        *(value * 10.0**k for k in (-6, -3, -2, -1, 1, 2, 3, 6)),
    ]
    texts = {f"{number:.{digits}g}" for number in numbers for digits in (5, 6, 8, 12, 17)} | {repr(n) for n in numbers}
    packed = {struct.pack(order + kind, number) for number in numbers for order in "<>" for kind in "df"}
    return {t.encode() for t in texts if len(t.strip("-0.")) >= 5} | packed


def run_commands(lesson, folder, own):
    """A student and a teacher at the command line; everything that they see or get."""
    given = folder / "given"
    heard = []
    for words in (
        ("new", lesson, "--student", "eve", "--out", given),
        ("measure", given / "experiment.yaml", "--class", own.path),
        ("measure", given / "broken.yaml", given / "experiment.yaml", "--class", own.path, "--out", folder / "records"),
        ("mark", given / "submission.yaml", "--class", own.path),
        ("mark", given / "submission.yaml", "--class", own.path),
        ("board", "--class", own.path, "-o", given / "board.html"),
    ):
        if words[0] == "mark":
            truth = student_truth(assignment_of(lesson), own.secret, "eve")
            rows = "".join(f"  {name}: {{value: {1.01 * value}, std: {0.02 * value}}}\n" for name, value in truth.items())
            words[1].write_text(f"format: 1\nsubmission: {lesson}\nstudent: eve\nestimates:\n{rows}")
        if words[1] == given / "broken.yaml":
            words[1].write_text(f"format: 1\nexperiment: {lesson}\nstudent: eve\nseconds: 1000\n")
        result = CliRunner().invoke(course, [str(word) for word in words])
        heard.append((result.exit_code, result.output))
    return heard


@pytest.mark.parametrize("lesson", [2, pytest.param(5, marks=pytest.mark.slow), 7, 9])
def test_nothing_on_the_road_of_a_class_tells_the_truth(tmp_path, lesson, monkeypatch):
    monkeypatch.setenv("BLOCKSIM_CACHE", str(tmp_path / "cache"))
    own = open_class(tmp_path / "class")
    (own.path / "secret.key").write_text("5ec2e7" * 10 + "4567\n")  # the same robots in every session
    heard = run_commands(lesson, tmp_path, own)
    assert [code for code, _ in heard] == [0, 0, 2, 0, 2, 0], heard
    assert (tmp_path / "records" / "eve" / f"lesson-{lesson}" / "record_2.csv").is_file()  # in spite of the broken one before
    assert "broken.yaml:4: seconds: found 1000" in heard[2][1]
    assert "submission.yaml: eve handed in" in " ".join(heard[4][1].split())
    truth = student_truth(assignment_of(lesson), own.secret, "eve")
    needles = set().union(*(spellings(value) for value in truth.values()))
    needles |= {str(noise_seed(assignment_of(lesson), own.secret, "eve", k)).encode() for k in (1, 2)}
    needles |= {own.secret, own.secret.hex().encode(), own.secret.hex().upper().encode()}
    texts = {"terminal": "".join(text for _, text in heard).encode()}
    folders = [tmp_path / name for name in ("given", "records", "cache")]
    texts |= {path.name: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}
    for name, data in texts.items():
        hits = [needle for needle in needles if needle in data]
        if name.endswith(".csv"):  # a measured value may agree with a truth in five digits by chance, in one place
            hits = [needle for needle in hits if len(needle) > 8 or data.count(needle) > 2]
        assert not hits, (name, hits)
