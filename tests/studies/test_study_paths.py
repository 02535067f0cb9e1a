"""Which files a study may read: its own folder and the bundled diagrams, as a diagram may. Nothing of another file is told."""

import os

import pytest

import blocksim as bs
from blocksim.studies.file import load_study
from blocksim.studies.plan import make_plan
from blocksim.studies.study import rerun_study

DIAGRAM = """format: 1
simulate: {stop: 0.1, solver: rk4, step: 0.01}
blocks:
  noise: {type: WhiteNoise, std: 1, Ts: 0.01}
"""
STUDY = "format: 1\nstudy: s\ndiagram: loop.yaml\nrepeat: 2\ncollect: [{signal: noise, statistic: rms}]\n"


@pytest.fixture
def home(tmp_path):
    """A study's folder, and a secret beside it."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "loop.yaml").write_text(DIAGRAM)
    (tmp_path / "secret").write_text("root:x:0:0 the secret words\n")
    return folder


def refusal(folder, text, **options):
    """What a user reads who opens the study."""
    (folder / "s.yaml").write_text(text)
    with pytest.raises(bs.DiagramError) as caught:
        make_plan(load_study(folder / "s.yaml"), **options)
    message = str(caught.value)
    assert "root:x" not in message and "secret words" not in message
    return message


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "../nothing-there", "link.yaml"])
def test_a_diagram_outside_the_folder_of_the_study_is_not_read(home, name):
    os.symlink("../secret", home / "link.yaml")
    message = refusal(home, STUDY.replace("loop.yaml", name))
    assert message == (
        f"{home}/s.yaml:3: diagram: '{name}' lies outside the folder of the study and is not read. Move it there, or allow it "
        "with --allow-outside (in Python: allow_outside=True)."
    )


def test_nor_is_that_of_a_method(home):
    message = refusal(home, STUDY + "methods: {a: {}, b: {diagram: ../secret}}\n")
    assert "s.yaml:6: diagram: '../secret' lies outside the folder of the study" in message


def test_a_file_that_happens_to_lie_where_the_user_stands_is_not_meant(home, monkeypatch):
    monkeypatch.chdir(home.parent)
    message = refusal(home, STUDY.replace("loop.yaml", "secret"))
    assert "s.yaml:3: diagram: there is no file 'secret'" in message and "Bundled diagrams are" in message


def test_the_user_may_allow_it(home, tmp_path):
    (tmp_path / "outer.yaml").write_text(DIAGRAM)
    (home / "s.yaml").write_text(STUDY.replace("loop.yaml", "../outer.yaml"))
    assert make_plan(load_study(home / "s.yaml"), allow_outside=True).runs == 2
    plan = make_plan(load_study({"study": "s", "diagram": str(tmp_path / "outer.yaml"), "collect": [{"signal": "noise"}]}))
    assert plan.runs == 1, "in Python: the caller's own word"


def test_beside_it_and_bundled_ones_are_found(home):
    for name, signal in (("loop.yaml", "noise"), ("basics/servo", "motor.q"), ("basics/servo.yaml", "motor.q")):
        (home / "s.yaml").write_text(f"format: 1\nstudy: s\ndiagram: {name}\ncollect: [{{signal: {signal}}}]\n")
        assert make_plan(load_study(home / "s.yaml")).runs == 1


def test_a_swept_text_cannot_name_a_file_either(home):
    reader = '  data: {type: FromRecord, file: "${name}", signal: u}\n'
    (home / "loop.yaml").write_text(DIAGRAM + reader + "parameters: {name: own.csv}\n")
    (home / "own.csv").write_text("t,u\n0,1\n1,2\n")
    message = refusal(home, STUDY + "sweep: {name: [own.csv, ../secret]}\n")
    assert "'../secret' lies outside the folder of the diagram and is not read" in message


def test_the_folder_of_a_study_that_is_run_again_is_a_strangers(home, tmp_path):
    """A study with data elsewhere runs again only with the user's word for that."""
    (tmp_path / "data.csv").write_text("t,u\n0,1\n1,2\n")
    (home / "loop.yaml").write_text(DIAGRAM + "  data: {type: FromRecord, file: ../data.csv, signal: u}\n")
    (home / "s.yaml").write_text(STUDY)
    bs.run_study(home / "s.yaml", out=home / "out", jobs=1, report=False, allow_outside=True)
    with pytest.raises(bs.DiagramError, match=r"'\.\./\.\./data.csv' lies outside the folder of the diagram and is not read"):
        rerun_study(home / "out", jobs=1)
    rerun_study(home / "out", jobs=1, allow_outside=True)


def test_a_text_does_not_become_a_formula_in_the_tables(home):
    """Spreadsheets compute cells that begin with = + - @."""
    (home / "loop.yaml").write_text(DIAGRAM + "  law: {type: Function, expression: u, in: noise}\n")
    (home / "s.yaml").write_text(STUDY + 'sweep: {law.expression: ["u", "-2*u"]}\n')
    result = bs.run_study(home / "s.yaml", out=home / "out", jobs=1, report=False)
    text = (home / "out/signals.csv").read_text()
    assert ",'-2*u," in text and ",-2*u" not in text
    assert {line["law.expression"] for line in result.signals.to_dict("records")} == {"u", "-2*u"}
