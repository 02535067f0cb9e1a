"""The report of a study: one page that needs nothing but itself, the same in a browser as in the file."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import blocksim as bs
from blocksim.studies.file import load_study
from blocksim.studies.study import StudyResult

STUDY = """
format: 1
study: Gain of a sensor <b>by least squares</b>
description: A toy whose bias is known.
diagram: |
  format: 1
  simulate: {stop: 1.0, solver: rk4, step: 1e-2}
  blocks:
    push:   {type: Sine, amplitude: 0.05, frequency: 2.0, bias: 0.13}
    joint:  {type: GravityJoint, in: push}
    noise:  {type: WhiteNoise, std: 1e-3, Ts: 1e-2}
    torque: {type: Sum, in: [push, noise]}
    ls:     {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: torque}}
repeat: 12
sweep: {noise.std: [1e-4, 1e-3]}
collect: [ls]
ablate: {noise: {noise.std: 0}}
"""
BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "gain"
    bs.run_study(STUDY, out=out, jobs=1, progress=False)
    return out


class Page(HTMLParser):
    """Collects what a page refers to, and checks that its elements close."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href"):
                self.links.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in ("meta", "br", "img"):
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_whole_and_needs_no_other_file(folder):
    page = Page()
    text = (folder / "report.html").read_text()
    page.feed(text)
    assert page.open == []
    assert all(link.startswith("#") for link in page.links), "it would ask the network or the disk for something"
    assert not re.search(r"<script[^>]|@import|url\((?!#)|fetch\(|XMLHttpRequest", text) and text.count("<script>") == 1
    assert len(page.ids) == len(set(page.ids)), "two pictures share an id"
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_it_says_what_was_asked_found_and_with_which_seeds(folder):
    page = Page()
    page.feed((folder / "report.html").read_text())
    words = " ".join("".join(page.text).split())
    assert "Gain of a sensor <b>by least squares</b>" in words  # as text, not as markup
    assert "48 runs: 12 repetitions x 2 points x 2 ablations, swept: noise.std, none failed." in words
    assert "master seed 0" in words and "numpy" in words
    for parameter in ("J", "Fv", "Fc", "Ms"):
        assert parameter in words
    assert "type: GravityJoint" in words  # the diagram's text


def test_figures_are_there_for_the_page_and_for_a_paper(folder):
    names = {path.name for path in (folder / "figures").iterdir()}
    assert {"estimates.png", "estimates.pdf", "bias.png", "coverage.png", "budget.pdf"} <= names
    assert (folder / "figures" / "bias.png").read_bytes()[:4] == b"\x89PNG"


TOGETHER = """
zip: {shape: [slow, fast], push.frequency: [0.5, 2.0], noise.std: [1e-4, 1e-3], joint.J: [0.1, 0.2]}
collect: [ls, {signal: push, statistic: peak}]
"""


def test_signals_are_told_and_settings_that_vary_together_share_a_name(tmp_path):
    """Four settings of one axis are told by the first; a text has a place on an axis as a number has."""
    text = STUDY[: STUDY.index("sweep:")].replace("  blocks:", "  parameters: {shape: slow}\n  blocks:") + TOGETHER
    result = bs.run_study(text, out=tmp_path / "out", jobs=1, progress=False)
    assert result.shown == ["shape"] and len(result.swept) == 4 and result.about["units"]["push.frequency"] == "Hz"
    page = Page()
    page.feed((tmp_path / "out" / "report.html").read_text())
    assert "peak(push)" in "".join(page.text) and "slow" in "".join(page.text)
    assert (tmp_path / "out" / "figures" / "bias.png").is_file()
    assert "peak(push)" in str(result) and "push.frequency" not in str(result)


def test_tables_are_there_as_parquet(folder):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'blocksim[parquet]'")
    found = parquet.read_table(folder / "estimates.parquet")
    assert found.num_rows == 48 * 4 and found["value"][0].as_py() == StudyResult(folder).estimates["value"][0]


def test_a_phone_sees_the_page_at_its_width(folder):
    assert '<meta name="viewport" content="width=device-width' in (folder / "report.html").read_text()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_shows_it_without_a_complaint(folder, tmp_path):
    shot = tmp_path / "page.png"
    looks = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1200,2600"]
    places = [f"--screenshot={shot}", f"--user-data-dir={tmp_path / 'profile'}", (folder / "report.html").as_uri()]
    command = [BROWSER, *looks, *places]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    from matplotlib.image import imread

    pixels = imread(shot)[..., :3]
    assert pixels.shape[:2] == (2600, 1200)
    inked = (pixels < 0.9).any(axis=2).mean(axis=1) > 0
    assert inked[:2000].mean() > 0.5  # text, tables and figures down the page, not a blank sheet


def test_a_parameter_of_the_file_has_the_unit_of_what_it_sets():
    """Where it is used as it is, and everywhere in the same unit."""
    from blocksim.studies.plan import make_plan
    from blocksim.studies.tables import units_of

    diagram = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
parameters: {f: 5, both: 1, gain: 2}
blocks:
  push:  {type: Sine, frequency: "${f}", phase: "${both}", amplitude: "${gain * 2}"}
  lag:   {type: FirstOrderLag, T: "${both}", in: push}
  joint: {type: GravityJoint, in: lag}
  ls:    {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: lag}}
"""
    plan = make_plan(load_study({"study": "x", "diagram": diagram, "sweep": {"f": [1, 2], "both": [1, 2], "gain": [1, 2]}}))
    assert units_of(plan) == {"f": "Hz"}


def test_tables_are_coloured_and_marks_are_gone(folder):
    text = (folder / "report.html").read_text()
    assert 'class="good"' in text and " *</td>" not in text and "prefers-color-scheme: dark" in text
    assert "noise.std" in text  # settings by their names


def test_marks_of_markdown_become_what_they_mean():
    from blocksim.studies.report.report import code_words, prose

    assert code_words("`ls` is **best**, *mostly*; 2 * 3 * 4 < 5") == (
        "<code>ls</code> is <b>best</b>, <em>mostly</em>; 2 * 3 * 4 &lt; 5"
    )
    assert prose("one\n\ntwo") == "<p>one</p><p>two</p>"


def test_coverage_is_told_as_counts():
    from blocksim.studies.report.text import coverage_words

    assert coverage_words({"n": 30, "coverage": 1.0, "parameter": "J"}).endswith("of every parameter in all 30 runs")
    assert coverage_words({"n": 30, "coverage": 0.9, "parameter": "J"}).endswith("in 27 of 30 runs, 90 % (J, the worst)")


def test_an_ellipse_holds_its_share_of_a_normal_cloud():
    import numpy as np

    from blocksim.studies.report.clouds import CHI_SQUARE_95, ellipse

    points = np.random.default_rng(1).multivariate_normal([1.0, -2.0], [[4.0, 1.5], [1.5, 1.0]], 40000)
    middle, inverse = points.mean(axis=0), np.linalg.inv(np.cov(points.T))
    outline = ellipse(points).T - middle
    assert np.allclose(np.einsum("ni,ij,nj->n", outline, inverse, outline), CHI_SQUARE_95)
    inside = np.einsum("ni,ij,nj->n", points - middle, inverse, points - middle) < CHI_SQUARE_95
    assert abs(inside.mean() - 0.95) < 0.005
