"""The pages tell the truth: their diagrams load, their classes are accepted, their links and pictures are there."""

from __future__ import annotations

import re
import runpy
import shlex
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import typer

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.diagram.files import bundled, bundled_root
from blocksim.diagram.spec import SimulateSpec
from blocksim.pictures.draw import draw_svg
from blocksim.solvers import solver_names

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])


def fenced(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def whole_diagrams(kind: str = "") -> list[tuple[str, str]]:
    """The YAML of the pages that is complete: of diagrams, of each 'study', or of each 'design'."""
    written = [path for path in PAGES if path.name != "blocks.md"]
    texts = [(path.name, text) for path in written for text in fenced(path, "yaml") if "format: 1" in text]
    kinds = {text: next((own for own in ("study", "design") if f"\n{own}:" in text), "") for _, text in texts}
    return [(name, text) for name, text in texts if kinds[text] == kind]


@pytest.mark.parametrize(("page", "text"), whole_diagrams())
def test_a_diagram_of_a_page_loads(page, text):
    diagram = bs.open_diagram(text)
    if not diagram.ports:
        late = any(isinstance(node.block, bs.RecordBlock) for node in diagram.nodes.values())
        bs.simulate(diagram, stop=2 if late else 0.1)  # an identifier needs rows


@pytest.mark.parametrize(("page", "text"), whole_diagrams("study"))
def test_a_study_of_a_page_can_be_planned(page, text, tmp_path):
    from blocksim.studies.file import load_study
    from blocksim.studies.plan import make_plan

    path = next(path for path in PAGES if path.name == page)
    for name, saved in re.findall(r"Save this as `(\w+\.yaml)`.*?```yaml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / name).write_text(saved, encoding="utf-8")
    (tmp_path / "study_of_the_page.yaml").write_text(text, encoding="utf-8")
    assert make_plan(load_study(tmp_path / "study_of_the_page.yaml")).runs > 1


@pytest.mark.parametrize(("page", "text"), whole_diagrams("design"))
def test_a_design_of_a_page_has_an_experiment(page, text):
    from blocksim.planning.design.bench import Bench
    from blocksim.planning.design.file import load_design

    assert Bench(load_design(text)).unknowns > 0


def test_every_class_of_own_blocks_is_accepted(tmp_path):
    head = "from blocksim import Block, Estimates, RecordBlock, fixed, inport, law, memory, model, outport, param, table\n"
    head += "from blocksim.contract.vocabulary import *\nfrom blocksim.tracing.equations import equations\n"
    classes = [text for text in fenced(ROOT / "docs" / "own-blocks.md", "python") if "class " in text]
    assert len(classes) == 8
    (tmp_path / "pages.py").write_text(head + "\n\n".join(classes))
    space = runpy.run_path(str(tmp_path / "pages.py"))
    assert space["FirstOrderLag"].derivative(x=0, u=1, k=2, T=0.5) == 4
    diagram = bs.Diagram()
    diagram.add("wave", "Sine", frequency=1.0)
    diagram.add("pair", "Mux", inputs=["wave", "wave"])
    diagram.add("turn", space["Rotate"](a=0.5), inputs="pair")
    diagram.add("lag", space["FirstOrderLag"](T=2), inputs="wave")
    diagram.add("late", space["NoisyDelay"](Ts=0.1, std=0.0), inputs="wave")
    diagram.add("relay", space["Relay"](), inputs="wave")
    diagram.add("mean", space["Detrend"](), inputs="wave")
    diagram.add("joint", "GravityJoint", inputs="wave", J=2.0, Fv=0.0, Fc=0.0, Ms=0.0)
    diagram.add("found", space["Inertia"](model="joint"), inputs={"tau": "wave", "qdd": "joint.qdd"})
    diagram.add("filter", space["Filter"](Ts=0.1, Q=10.0, R=1e-3), inputs="wave")
    diagram.add("slope", space["Slope"](model="lag"), inputs="wave")
    record = bs.simulate(diagram, stop=2, every=0.1)
    assert record["slope"] == pytest.approx(-record["wave"] / 2)
    assert np.abs(record["filter"][10:, 0] - record["wave"][10:]).max() < 0.05
    assert record.estimates["found"]["J"].value == pytest.approx(record.estimates["found"]["J"].truth) == 2.0
    assert abs(record["mean"].mean()) < 1e-12 and set(record["relay"]) == {0.0, 1.0}
    assert record["late"][1:] == pytest.approx(record["wave"][:-1])


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_links_and_pictures_are_there(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} points at {target}"


def test_commands_of_the_pages_exist():
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    for path in PAGES:
        used = {name for text in fenced(path, "bash") for name in re.findall(r"(?:^|/|\s)blocksim ([a-z]+)", text)}
        assert used <= known, f"{path.name}: {used - known}"


def command_lines(path: Path) -> list[tuple[str, bool]]:
    """What a page says to type: lines of its shell blocks, whole, and commands in its sentences, which may be a beginning."""
    blocks = "\n".join(fenced(path, "bash")).replace("\\\n", " ").splitlines()
    prose = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    typed = [(line, True) for line in blocks] + [(span, False) for span in spans if "..." not in span]
    found = [(re.match(r"(?:\w+=\S+ +)*blocksim +([a-z].*)", line.strip()), whole) for line, whole in typed]
    return [(re.split(r" +(?:#|&&|\||;|>) ?", match[1])[0], whole) for match, whole in found if match]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_commands_of_the_pages_are_understood(path):
    """Every option and argument, and the bundled file that is named; none of them is run."""
    root = typer.main.get_command(app)
    for line, whole in command_lines(path):
        command, words = root, shlex.split(line)
        try:
            while words and getattr(command, "commands", None):
                command, words = command.commands[words[0]], words[1:]
            command.make_context("blocksim", list(words))
        except Exception as error:  # typer has a click of its own, whose errors have no public name
            if whole or type(error).__name__ not in ("MissingParameter", "NoArgsIsHelpError"):
                pytest.fail(f"{path.name}: blocksim {line}: {error}")
        for word in words:
            if re.fullmatch(r"\w+(/\w+)+", word) and (bundled_root() / word.partition("/")[0]).is_dir():
                assert (bundled_root() / f"{word}.yaml").is_file(), f"{path.name}: {word}"


def test_the_look_at_commands_sees_an_argument_too_many(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Draw it: `blocksim run basics/servo --plot pd`\n\n```bash\nblocksim study\n```\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match="unexpected extra argument"):
        test_commands_of_the_pages_are_understood(page)
    assert command_lines(page) == [("study", True), ("run basics/servo --plot pd", False)]


def test_the_format_page_has_every_key():
    text = (ROOT / "docs" / "diagrams.md").read_text(encoding="utf-8")
    assert not [f.name for f in fields(SimulateSpec) if f"`{f.name}`" not in text]
    assert not [name for name in solver_names() if f"`{name}`" not in text]
    assert not [name for name in bundled() if name.startswith("basics/") and f"`{name}`" not in text]


def test_the_index_lists_every_page():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert not [p.name for p in (ROOT / "docs").glob("*.md") if p.name != "index.md" and f"({p.name})" not in text]


def drawings() -> list[tuple[str, str]]:
    """(diagram, picture) of every `blocksim draw` that a page names below a picture."""
    texts = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    return sorted(set(re.findall(r"\*[^*\n]*`blocksim draw (\w+/\w+) -o (docs/images/\w+\.svg)`", texts)))


def drawings_after() -> list[tuple[str, str]]:
    """The same of the pictures `after` of docs/pictures.md."""
    pairs = runpy.run_path(str(ROOT / "docs" / "before_after.py"))["PAIRS"]
    return [(p.words[1], f"docs/images/before_after/{name}_after.svg") for name, p in pairs.items() if p.words[0] == "draw"]


@pytest.mark.parametrize(("diagram", "picture"), [*drawings(), *drawings_after()])
def test_a_drawing_on_a_page_is_what_its_command_draws(diagram, picture):
    assert (ROOT / picture).read_text(encoding="utf-8") == draw_svg(diagram)
