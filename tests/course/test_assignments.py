"""Assignments: two students have two robots, nothing handed out holds the truth, and marks follow the rules."""

import math
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs
from blocksim.course.assignment import assignment_of, lessons
from blocksim.course.board import board_page
from blocksim.course.handout import write_handout
from blocksim.course.ledger import class_folder, measure_within_budget, open_class
from blocksim.course.marking import Submission, mark_once, mark_parameter, mark_submission, read_submission, reference_bounds
from blocksim.course.request import loop_of, read_request
from blocksim.course.secret import checked_student, noise_seed, student_truth


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    ours = open_class(tmp_path_factory.mktemp("class") / "ours")
    (ours.path / "secret.key").write_text("5ec2e7" * 10 + "0123\n")  # the same robots in every session
    return ours


def write_experiment(folder, text, name="experiment.yaml"):
    path = Path(folder) / name
    path.write_text(text)
    return path


MOVE = "ref: {type: FourierTrajectory, base_frequency: 0.1, a: [0.8, 0.3], b: [0.3, -0.3]}"


def experiment(student="ana", seconds=4, lesson=2, sources=MOVE, more=""):
    return f"format: 1\nexperiment: {lesson}\nstudent: {student}\nseconds: {seconds}\nsources:\n  {sources}\n{more}"


def test_every_student_has_a_robot_of_their_own(own):
    assignment = assignment_of(2)
    ana, bo = (student_truth(assignment, own.secret, name) for name in ("ana", "bo"))
    assert all(abs(math.log(ana[name] / bo[name])) > 1e-6 for name in ana)
    for truth in (ana, bo):
        assert all(low <= truth[name] <= high for name, (low, high) in assignment.ranges.items())
    assert student_truth(assignment, own.secret, "ana") == ana
    assert student_truth(assignment, b"another secret of 32 bytes or so", "ana") != ana


def test_truths_fill_their_ranges_evenly_on_a_logarithmic_scale(own):
    assignment = assignment_of(2)
    low, high = assignment.ranges["joint.J"]
    places = [
        math.log(student_truth(assignment, own.secret, f"s{k}")["joint.J"] / low) / math.log(high / low) for k in range(400)
    ]
    counts = np.histogram(places, bins=4, range=(0, 1))[0]
    assert ((counts - 100) ** 2 / 100).sum() < 16.3  # chi-square, 3 degrees of freedom, 0.1 %


def test_the_record_is_the_robots_and_only_the_measured_columns(own, tmp_path):
    request = read_request(write_experiment(tmp_path, experiment("carl", 3)))
    measurement, used = measure_within_budget(own, request)
    assert list(measurement.columns) == ["q", "tau"] and used.runs == 1 and used.seconds == pytest.approx(3)
    truth = student_truth(request.assignment, own.secret, "carl")
    again = bs.simulate(
        loop_of(request.assignment, request.sources),
        params=truth,
        stop=3,
        seed=noise_seed(request.assignment, own.secret, "carl", 1),
    )
    assert np.array_equal(measurement.columns["q"], again["encoder"])
    second, _ = measure_within_budget(own, request)
    assert not np.array_equal(second.columns["q"], measurement.columns["q"])  # new noise
    assert np.allclose(second.columns["q"], measurement.columns["q"], atol=0.05)  # the same robot


def test_budgets_are_kept(own, tmp_path):
    long = read_request(write_experiment(tmp_path, experiment("dan", 40)))
    measure_within_budget(own, long)
    with pytest.raises(bs.DiagramError, match=r"seconds: found 40, and 20 of 60 are left"):
        measure_within_budget(own, long)
    short = read_request(write_experiment(tmp_path, experiment("dan", 1)))
    for _ in range(3):
        measure_within_budget(own, short)
    with pytest.raises(bs.DiagramError, match=r"4 of 4 experiments"):
        measure_within_budget(own, short)


def test_a_limit_switches_the_robot_off_and_keeps_the_record_so_far(own, tmp_path):
    push = "push: {type: Step, time: 1, after: 5}"
    request = read_request(write_experiment(tmp_path, experiment("fay", 4, sources=push)))
    measurement, used = measure_within_budget(own, request)
    assert "switched off at 1" in measurement.stopped and "|tau| went beyond 4" in measurement.stopped
    assert 0.9 < measurement.seconds < 1.01 and used.seconds == pytest.approx(measurement.seconds)
    assert np.abs(measurement.columns["tau"]).max() <= 4


def test_a_refusal_by_the_true_robot_is_not_free(own, tmp_path):
    """So near the limit of the torque the noise decides at once: asked for again and again it would tell of robot and noise."""
    edge = "push: {type: Constant, value: 3.9}"
    for student in (f"edge{k}" for k in range(30)):
        request = read_request(write_experiment(tmp_path, experiment(student, 1, sources=edge, more="settings: {pid.kd: 2}\n")))
        try:
            measure_within_budget(own, request)
        except bs.DiagramError as error:
            assert "before anything was recorded" in str(error) and "It counts as one of 4 experiments" in str(error)
            break
    else:
        pytest.fail("none of 30 robots was switched off at once")
    assert [(row["seconds"], row["number"]) for row in own.entries("ledger.jsonl") if row["student"] == student] == [(0.0, 1)]


def test_what_fails_at_home_is_free(own, tmp_path):
    request = read_request(write_experiment(tmp_path, experiment("meg", 1, sources="push: {type: Constant, value: 5}")))
    with pytest.raises(bs.DiagramError, match=r"switched off at 0 s: \|tau\| went beyond 4 before anything"):
        measure_within_budget(own, request)
    assert not [row for row in own.entries("ledger.jsonl") if row["student"] == "meg"]


REFUSED = {
    "another plant": (
        "joint: {type: GravityJoint, J: 0.01}",
        "",
        r"experiment.yaml:6: sources has no 'joint'. Allowed here: ref, push",
    ),
    "a file": (
        "push: {type: FromRecord, file: secret.csv}",
        "",
        r"experiment.yaml:6: push: type: found 'FromRecord'. Allowed: Constant",
    ),
    "a subsystem": ("push: {type: ../../parts/x.yaml}", "", r"push: type: found"),
    "a wire": ("push: {type: Constant, in: joint.q}", "", r"'in' is not allowed"),
    "a formula": ('push: {type: Constant, value: "${1/0}"}', "", r"push: value: found"),
    "a setting of the robot": (
        MOVE,
        "settings: {joint.J: 1}\n",
        r"experiment.yaml:7: settings has no 'joint.J'. Allowed here: pid.kp",
    ),
    "too strong a gain": (MOVE, "settings: {pid.kp: 1e9}\n", r"pid.kp: found 1000000000.0. A number from 2 to 60 is allowed"),
    "three robots for one": (
        "push: {type: Constant, value: [0.1, 0.2, 0.3]}",
        "",
        r"several robots at once, and yours has one axis",
    ),
    "a source that keeps the teacher waiting": (
        "push: {type: PRBS, amplitude: 1, clock: 1e-9}",
        "",
        r"experiment.yaml:6: block 'push': clock: found 1e-09. The loop is run in steps of 0.001 s",
    ),
    "a switch": ("push: {type: Constant, enable: joint}", "", r"block 'push' has no parameter 'enable'"),
    "a number that is none": ("push: {type: Constant, value: .nan}", "", r"experiment.yaml:6: block 'push': value: nan is not"),
    "an unknown word": ("push: {type: Constant, valu: 1}", "", r"experiment.yaml:6: block 'push' has no parameter 'valu'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_experiments_than_allowed_are_refused_by_line(own, tmp_path, case):
    sources, more, words = REFUSED[case]
    path = write_experiment(tmp_path, experiment("gus", sources=sources, more=more))
    before = len(own.entries("ledger.jsonl"))
    with pytest.raises(bs.DiagramError, match=words):
        measure_within_budget(own, read_request(path))
    assert len(own.entries("ledger.jsonl")) == before


def test_a_run_that_fails_on_the_robot_says_nothing_of_it(own, tmp_path):
    wild = "push: {type: Step, time: 0.5, after: 1e9}"
    request = read_request(write_experiment(tmp_path, experiment("hal", 2, sources=wild)))
    measurement, _ = measure_within_budget(own, request)
    truth = student_truth(request.assignment, own.secret, "hal")
    assert "switched off" in measurement.stopped and not any(f"{v:.4g}" in measurement.stopped for v in truth.values())


def test_marks_follow_the_rules():
    good = mark_parameter("a", error=2.0, std=1.5, bound=1.0)
    assert (good.accuracy, good.honesty) == (1.0, 1.0) and "can be believed" in good.words
    sure = mark_parameter("a", error=-2.0, std=0.5, bound=1.0)  # z = 4
    assert (sure.accuracy, sure.honesty) == (1.0, 0.0) and "over-confident" in sure.words
    half = mark_parameter("a", error=3.0, std=1.0, bound=1.0)  # z = 3
    assert half.honesty == pytest.approx(0.5)
    wrong = mark_parameter("a", error=100.0, std=100.0, bound=1.0)  # far off, and says so
    assert (wrong.accuracy, wrong.honesty) == (0.0, 1.0) and "far off" in wrong.words
    vague = mark_parameter("a", error=1.0, std=500.0, bound=1.0)  # a claim that says nothing
    assert vague.accuracy == 1.0 and vague.honesty == pytest.approx(0.0) and "wider" in vague.words
    middle = mark_parameter("a", error=math.sqrt(300.0), std=20.0, bound=1.0)  # halfway between 3 and 100 on the logarithm
    assert middle.accuracy == pytest.approx(0.5)


def test_a_good_an_over_confident_and_a_wrong_submission(own):
    assignment = assignment_of(2)
    truth = student_truth(assignment, own.secret, "ida")
    bounds = reference_bounds(assignment, truth)
    assert all(0 < bounds[name] < 0.05 * truth[name] for name in truth)

    def points(offset, claim):
        values = {name: truth[name] + offset * bounds[name] for name in truth}
        return mark_submission(Submission(assignment, "ida", values, {n: claim * bounds[n] for n in truth}), own).points

    assert points(1, 1.2) == 100
    assert points(2, 0.1) == 60
    assert points(200, 0.1) == 0
    assert points(20, 15) == round(60 * math.log(100 / 20) / math.log(100 / 3) + 40)  # not near, and says so
    assert 0 < points(200, 150) < 40  # far off, and says hardly more than the task
    assert points(1, 1.2) == points(1, 1.2)


def test_a_submission_counts_once(own, tmp_path):
    path = tmp_path / "submission.yaml"
    rows = "".join(f"  {name}: {{value: {low}, std: {low}}}\n" for name, (low, _) in assignment_of(2).ranges.items())
    path.write_text(f"format: 1\nsubmission: 2\nstudent: joe\nestimates:\n{rows}")
    first = mark_once(read_submission(path), own)
    assert "no experiment of joe was measured in this class: is the name right?" in str(first)
    with pytest.raises(bs.DiagramError, match=rf"joe handed in lesson 2 before and got {first.points} of 100"):
        mark_once(read_submission(path), own)
    assert mark_once(read_submission(path), own, again=True) == first


OTHERS = "".join(f"  joint.{name}: {{value: 1, std: 1}}\n" for name in ("Fv", "Fc", "Ms"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("  joint.J: {value: 1, std: 1}\n", r"submission.yaml:4: estimates: joint.Fv, joint.Fc, joint.Ms are missing"),
        ("  joint.J: {value: 1}\n" + OTHERS,
         r"submission.yaml:5: joint.J: there is no std"),
        ("  joint.K: {value: 1, std: 1}\n", r"estimates has no 'joint.K'"),
        ("  joint.J: {value: 1, std: 0}\n" + OTHERS,
         r"joint.J: std: found 0. A number above 0 is wanted"),
    ],
)  # fmt: skip
def test_submissions_that_cannot_be_marked(tmp_path, rows, words):
    path = tmp_path / "submission.yaml"
    path.write_text(f"format: 1\nsubmission: 2\nstudent: kim\nestimates:\n{rows}")
    with pytest.raises(bs.DiagramError, match=words):
        read_submission(path)


def test_a_claim_that_says_no_more_than_the_task_earns_nothing(own):
    """The middle of the range and its standard deviation: what anybody could hand in without one experiment."""
    assignment = assignment_of(2)
    middle = {name: math.sqrt(low * high) for name, (low, high) in assignment.ranges.items()}
    idle = {name: (high - low) / math.sqrt(12) for name, (low, high) in assignment.ranges.items()}
    mark = mark_submission(Submission(assignment, "ida", middle, idle), own)
    assert mark.honesty == 0 and all("no more than the task" in part.words for part in mark.parts)
    whole = mark_parameter("a", error=4.0, std=4.0, bound=1.0, span=100.0)  # up to 5 bounds and more than a tenth
    none = mark_parameter("a", error=4.0, std=50 / math.sqrt(12), bound=1.0, span=100.0)  # half of what is open
    between = mark_parameter("a", error=4.0, std=math.sqrt(5.0 * 50 / math.sqrt(12)), bound=1.0, span=100.0)
    assert (whole.honesty, none.honesty) == (1.0, 0.0) and between.honesty == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["007", "ana", "e\u0301va"])
def test_a_name_is_the_same_in_the_handout_the_experiment_and_the_submission(tmp_path, name):
    student = checked_student(name)
    write_handout(assignment_of(2), student, tmp_path)
    assert read_request(tmp_path / "experiment.yaml").student == student == unicodedata.normalize("NFC", name)
    with pytest.raises(bs.DiagramError, match=r"submission.yaml:5: joint.J: value: found nothing. A number is wanted"):
        read_submission(tmp_path / "submission.yaml")


@pytest.mark.parametrize(
    ("name", "words"), [("007", "007 and 7 are two"), ("1e3", "no word"), ("'..'", "A letter or digit"), ("''", "")]
)
def test_names_that_would_be_somebody_elses_are_refused(tmp_path, name, words):
    with pytest.raises(bs.DiagramError, match=rf"experiment.yaml:3: student: found .*{words}"):
        read_request(write_experiment(tmp_path, experiment(name)))


def test_the_seed_of_the_noise_cannot_be_tried_out(own):
    seeds = [noise_seed(assignment_of(2), own.secret, "ana", k) for k in range(20)]
    assert len(set(seeds)) == 20 and max(seed.bit_length() for seed in seeds) > 120


def test_classes_and_students_that_are_none(tmp_path, own):
    with pytest.raises(bs.DiagramError, match="no folder of a class"):
        class_folder(tmp_path)
    with pytest.raises(bs.DiagramError, match="stays"):
        open_class(own.path)
    with pytest.raises(bs.DiagramError, match=r"lesson '3' has no assignment. There is one for: 2, 5, 7, 9"):
        assignment_of(3)
    path = write_experiment(tmp_path, experiment("'../../etc'"))
    with pytest.raises(bs.DiagramError, match=r"experiment.yaml:3: student: found"):
        read_request(path)


@pytest.mark.parametrize("lesson", [2, 5, 7, 9])
def test_the_reference_of_every_lesson_stays_within_its_limits_on_many_robots(own, lesson):
    assignment = assignment_of(lesson)
    assert lesson in lessons()
    for student in ("p1", "p2", "p3"):
        truth = student_truth(assignment, own.secret, student)
        record = bs.simulate(
            loop_of(assignment, assignment.reference["sources"]), params={**assignment.conditions, **truth}, stop=20, seed=3
        )
        for signal, limit in assignment.budget.limits.items():
            assert np.abs(record[signal]).max() < limit, (lesson, student, signal)


def test_the_board_ranks_without_telling(own):
    marks = [
        {"lesson": 2, "student": "a<b", "points": 80, "accuracy": 50.0, "honesty": 30.0, "seconds": 40.0},
        {"lesson": 2, "student": "zoe", "points": 95, "accuracy": 58.0, "honesty": 37.0, "seconds": 60.0},
    ]
    page = board_page(marks, "Robots 2027")
    assert page.index("zoe") < page.index("a&lt;b") and "<h1>Robots 2027</h1>" in page and "a<b" not in page


def test_the_board_sums_lessons_and_fits_a_telephone(open_page, tmp_path):
    marks = [
        {
            "lesson": lesson,
            "student": student,
            "points": points,
            "accuracy": 0.6 * points,
            "honesty": 0.4 * points,
            "seconds": 40.0,
        }
        for lesson, student, points in ((2, "a" * 64, 90), (9, "a" * 64, 20), (2, "zoe", 95), (9, "bo", 99))
    ]
    text = board_page(marks, "Robots 2027")
    assert text.index("All lessons") < text.index("Lesson 2") < text.index("Lesson 9")
    first = text[text.index("All lessons") : text.index("Lesson 2")]
    assert first.index("a" * 64) < first.index("bo</td>") < first.index("zoe") and ">110</td>" in first  # 110, 99, 95
    path = tmp_path / "board.html"
    path.write_text(text, encoding="utf-8")
    page = open_page(path.as_uri(), width=375, height=700)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375 and not page.watch.complaints
