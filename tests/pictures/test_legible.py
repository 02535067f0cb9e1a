"""Every bundled diagram can be read: no text lies over another or under a wire, and what is cut is cut at its end."""

import itertools

import pytest

from blocksim import open_diagram
from blocksim.diagram.files import bundled
from blocksim.pictures.diagram.layout import layout
from blocksim.pictures.diagram.lettering import settings_lines, width_of
from blocksim.pictures.diagram.sizes import SECOND_FONT


def area_of(text):
    """Where a line of text lies: left, top, right, bottom; letters are lower than their line."""
    wide = width_of(text.text, text.size)
    left = {"middle": text.x - wide / 2, "end": text.x - wide, "start": text.x}[text.anchor]
    return left, text.y - 0.4 * text.size, left + wide, text.y + 0.4 * text.size


def meet(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def stretches(wire):
    for (x1, y1), (x2, y2) in itertools.pairwise(wire.points):
        yield min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


@pytest.mark.parametrize("name", bundled())
def test_no_text_lies_over_another_or_under_a_wire(name):
    picture = layout(open_diagram(name))
    texts = [*picture.texts, *(text for shape in picture.shapes for text in shape.texts), *(f.label() for f in picture.frames)]
    areas = {text: area_of(text) for text in texts if text.text not in "+−"}
    over = [(a.text, b.text) for a, b in itertools.combinations(areas, 2) if meet(areas[a], areas[b])]
    wires = [stretch for wire in picture.wires for stretch in stretches(wire)]
    under = [text.text for text, area in areas.items() if any(meet(area, wire) for wire in wires)]
    assert (over, under) == ([], [])


@pytest.mark.parametrize("name", bundled())
def test_only_the_end_of_a_text_is_cut(name):
    for shape in layout(open_diagram(name)).shapes:
        lines = [text.text for text in shape.texts if text.size == SECOND_FONT]
        assert not any(line.endswith("…") for line in lines[:-1]), lines
        assert all(line.count("[") == line.count("]") for line in lines), lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("kp=[4000, 4000, 3000, 2000, …], ki=[8000, 8000, 6000, 4000, …]", ["kp=[4000, 4000, …]", "ki=[8000, 8000, …]"]),
        ("parameters=Jm, Ja, k1, k3, d, alpha, A, Fv, output=pi", ["parameters=Jm, Ja, k1,", "k3, d, alpha, A, Fv, …"]),
        ("parameters=J, Fv, Fc, Ms, output=pid", ["parameters=J, Fv,", "Fc, Ms, output=pid"]),
        ("std=[0.3, 0.3, 0.3, 0.3, …], Ts=0.001", ["std=[0.3, 0.3, 0.3, …]", "Ts=0.001"]),
    ],
)
def test_long_settings_have_two_lines(text, lines):
    assert settings_lines(text) == lines
