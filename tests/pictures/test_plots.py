"""Scopes of a record: what shares an axis, how it is labelled, and that long records stay quick and lose no peak."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from blocksim.errors import BlocksimError, RecordError
from blocksim.estimation.estimates import Estimate, Estimates
from blocksim.pictures.plots import plot, record_svg, thinned
from blocksim.records.record import Grid, Record, Signal


def closed_loop() -> Record:
    """A step into a servo with a quantised, held encoder on a slower grid."""
    t = np.linspace(0, 2, 2001)
    q = np.where(t < 0.2, 0.0, 1 - np.exp(-6 * (t - 0.2)) * np.cos(14 * (t - 0.2)))
    slow = t[::50]
    fast = Grid(
        t,
        {
            "ref.y": Signal(np.where(t < 0.2, 0.0, 1.0), "rad"),
            "joint.q": Signal(q, "rad"),
            "joint.qd": Signal(np.gradient(q, t), "rad/s"),
            "pid.y": Signal(20 * (1 - q), "N m"),
            "small.y": Signal(1e-3 * np.sin(20 * t), "rad"),
        },
    )
    held = Grid(slow, {"encoder.y": Signal(np.floor(q[::50] / 0.1) * 0.1, "rad", measured=True, hold=True)})
    return Record([fast, held])


def shown(figure) -> list[list[str]]:
    """Names on each axis, as a reader sees them."""
    names = []
    for axes in figure.axes:
        legend = axes.get_legend()
        names.append([text.get_text() for text in legend.get_texts()] if legend else [axes.get_ylabel()])
    return names


def test_signals_of_one_unit_and_size_share_an_axis():
    figure = plot(closed_loop())
    assert shown(figure) == [["ref.y", "joint.q", "encoder.y"], ["joint.qd [rad/s]"], ["pid.y [N m]"], ["small.y [rad]"]]
    assert figure.axes[0].get_ylabel() == "[rad]"
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "", "time [s]"]


def test_held_signals_are_steps_and_last_to_the_end():
    record = closed_loop()
    short = Record([record.grids[0], Grid(np.array([0.0, 1.0]), {"held": Signal(np.array([0.0, 3.0]), "rad", hold=True)})])
    line = plot(short, ["held"]).axes[0].lines[0]
    assert line.get_drawstyle() == "steps-post"
    assert list(line.get_xdata()) == [0.0, 1.0, 2.0] and list(line.get_ydata()) == [0.0, 3.0, 3.0]
    assert plot(record, ["joint.q"]).axes[0].lines[0].get_drawstyle() == "default"


def test_axes_as_asked():
    figure = plot(closed_loop(), ["pid", ["joint.q", "small.y"], "encoder"])
    assert shown(figure) == [["pid [N m]"], ["joint.q", "small.y"], ["encoder [rad]"]]
    assert shown(plot(closed_loop(), "joint.q")) == [["joint.q [rad]"]]


def test_vectors_show_every_element_and_four_lines_at_most():
    t = np.linspace(0, 1, 50)
    record = Record.from_arrays(t, q=np.outer(t, np.arange(1.0, 7.0)), units={"q": "rad"})
    assert shown(plot(record)) == [["q[0]", "q[1]", "q[2]", "q[3]"], ["q[4]", "q[5]"]]


def test_many_signals_go_into_columns():
    t = np.linspace(0, 1, 50)
    record = Record.from_arrays(t, {f"s{n}": t for n in range(20)}, units={f"s{n}": f"u{n}" for n in range(20)})
    figure = plot(record)
    assert len({round(axes.get_subplotspec().colspan.start) for axes in figure.axes}) == 3
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert len(visible) == 20
    assert sum(axes.get_xlabel() == "time [s]" for axes in visible) == 3


def test_thinning_keeps_every_peak_and_a_million_samples_are_quick():
    t = np.arange(1_000_000) * 1e-6
    values = np.sin(2 * np.pi * 50 * t)
    values[123_457], values[777_777] = 9.0, -7.0
    values[5000] = np.nan
    kept_t, kept = thinned(t, values)
    assert len(kept) < 6000 and np.nanmax(kept) == 9.0 and np.nanmin(kept) == -7.0
    assert kept_t[0] == t[0] and kept_t[-1] == t[-1] and np.all(np.diff(kept_t) > 0)
    record = Record.from_arrays(t, {f"s{n}": values for n in range(4)})
    before = time.process_time()
    record_svg(record)
    assert time.process_time() - before < 5


def test_short_signals_are_drawn_as_they_are():
    t = np.linspace(0, 1, 5000)
    assert thinned(t, t)[0] is t


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_files(tmp_path, suffix, magic):
    paths = [tmp_path / f"{n}.{suffix}" for n in (1, 2)]
    for path in paths:
        plot(closed_loop(), path=path)
    assert paths[0].read_bytes().startswith(magic)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_svg_has_real_text_and_escapes_hostile_names():
    t = np.linspace(0, 1, 10)
    hostile = ["<script>alert(1)</script>", "_hidden", "$\\frac{$", "a & b"]
    text = record_svg(Record.from_arrays(t, {name: t for name in hostile}))
    root = ElementTree.fromstring(text)
    words = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert set(hostile) <= words and "time [s]" in words
    assert not re.search(r"<script", text)


def test_nothing_to_plot():
    assert not plot(Record([Grid(np.array([0.0]), {})])).axes
    assert len(plot(Record.from_arrays(np.array([0.0]), q=np.array([np.nan]))).axes) == 1


def test_mistakes_are_named(tmp_path):
    with pytest.raises(RecordError, match=r"no signal 'joint.w'. The record holds: .* Did you mean 'joint.q'"):
        plot(closed_loop(), ["joint.w"])
    with pytest.raises(RecordError, match=r"cannot plot to '.*run.gif'. A figure's name ends in: .svg, .png, .pdf."):
        plot(closed_loop(), path=tmp_path / "run.gif")


def test_a_function_of_the_record_draws_what_was_asked_for(tmp_path):
    from matplotlib.figure import Figure

    def names(record):
        figure = Figure()
        figure.suptitle(" ".join(record))
        return figure

    assert plot(closed_loop(), kind=names).get_suptitle() == " ".join(closed_loop())
    assert plot(closed_loop(), ["pid", "joint.q"], tmp_path / "a.png", kind=names).get_suptitle() == "pid.y joint.q"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_kinds_that_come_along(tmp_path):
    record = closed_loop()
    record.estimates["ls"] = Estimates("ls", (Estimate("J", 1.1, 0.1, 1.0),))
    assert [text.get_text() for text in plot(record, kind="estimates").axes[0].get_yticklabels()] == ["J"]
    assert len(plot(record, kind="record").axes) == len(plot(record).axes)


def test_a_kind_nobody_has_and_one_that_draws_nothing():
    with pytest.raises(BlocksimError, match=r"there is no 'estimate' among the installed plots: .*Did you mean 'estimates'"):
        plot(closed_loop(), kind="estimate")
    with pytest.raises(RecordError, match="gave list where a matplotlib Figure is wanted"):
        plot(closed_loop(), kind=list)
