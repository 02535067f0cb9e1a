"""In a notebook things show themselves: figures, records, estimates, studies; and errors are words."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import blocksim as bs
from blocksim.errors import DiagramError

LOOP = """
format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3}
blocks:
  u:     {type: Sine, amplitude: 2, frequency: 2}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: u}
  ls:    {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: u}}
"""


@pytest.fixture(scope="module")
def record():
    return bs.simulate(LOOP)


def test_a_figure_shows_itself_without_pyplot(record):
    figure = bs.plot(record)
    assert figure._repr_png_().startswith(b"\x89PNG") and type(figure).__name__ == "Figure"


def test_a_record_shows_its_picture_and_its_signals(record):
    text = record._repr_html_()
    assert "<svg" in text and "joint.q" in text and "<details>" in text and not hasattr(record, "_repr_mimebundle_")


def test_estimates_have_tables_and_figures(record):
    text = record.estimates._repr_html_()
    ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    assert "<h4>ls</h4>" in text and "<td>J</td>" in text and str(record.estimates).startswith("ls: ")
    for figure in (bs.plot(record.estimates), bs.plot(record.estimates["ls"]), record.estimates.plot()):
        assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == list(record.estimates["ls"])


def test_estimates_become_tables_of_pandas(record):
    table = record.estimates["ls"].to_pandas()
    assert list(table.index) == list(record.estimates["ls"]) and table.loc["J", "truth"] == 0.02
    assert np.allclose(table["error"], table["value"] - table["truth"]) and (table["low"] <= table["high"]).all()
    assert record.estimates.to_pandas().loc[("ls", "J"), "unit"] == "kg m^2"


def test_a_file_that_was_loaded_can_be_run():
    spec = bs.load(LOOP)
    first = bs.simulate(spec)["joint.q"]
    assert np.array_equal(first, bs.simulate(LOOP)["joint.q"])
    spec.blocks["joint"].settings["J"] = 0.04
    assert not np.array_equal(first, bs.simulate(spec)["joint.q"])


def test_errors_show_the_readers_line_and_the_words_only():
    with pytest.raises(DiagramError) as caught:
        bs.simulate(LOOP.replace("GravityJoint", "GravityJiont"))
    lines = caught.value._render_traceback_()
    assert len(lines) == 2 and "bs.simulate(LOOP" in lines[0]
    assert lines[1].startswith("DiagramError: <text>:6: block 'joint': there is no block type 'GravityJiont'")


def test_a_study_shows_verdict_figure_and_scores(tmp_path):
    study = {"format": 1, "study": "two", "diagram": LOOP.replace("tau: u}", "tau: noisy}") + NOISE, "repeat": 12}
    result = bs.run_study(study, jobs=1, out=tmp_path / "out", progress=False)
    text = result._repr_html_()
    assert "<svg" in text and "the 95 % interval holds the truth" in text and "<table>" in text
    assert {"estimates", "clouds"} <= set(result.figures) and result.plot("clouds", tmp_path / "c.png") is not None
    with pytest.raises(bs.StudyError, match=r"there is no figure 'cloud'. This study has: estimates, clouds, coverage"):
        result.plot("cloud")


NOISE = "  noisy: {type: TorqueSensor, Ts: 1e-3, std: 0.05, in: u}\n"
