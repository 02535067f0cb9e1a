"""What stands in a block of the picture: fractions with their bar, signs, numbers that are not cut, and who is a plant."""

from __future__ import annotations

import re

import pytest

import blocksim as bs
from blocksim.diagram.loader import bundled
from blocksim.pictures.diagram.finishing import icon_lines
from blocksim.pictures.diagram.layout import layout, plan
from blocksim.pictures.diagram.lettering import cut_short, settings_lines
from blocksim.pictures.draw import draw_svg

DIAGRAMS = [name for name in bundled() if not name.startswith("studies") and "/studies/" not in name]


@pytest.mark.parametrize("name", DIAGRAMS)
def test_every_bundled_diagram_fits_a_page_and_cuts_no_number(name):
    try:
        diagram = bs.build(bs.load(name))
    except bs.BlocksimError:
        pytest.skip("no diagram")
    picture = layout(diagram)
    assert picture.width < 1700
    for text in (line.text for shape in picture.shapes for line in shape.texts):
        assert "e+" not in text and not re.search(r"\d…", text), text


def test_a_fraction_has_its_bar_between_numerator_and_denominator():
    diagram = bs.Diagram()
    diagram.add("G", "TransferFunction", num=[1000, 2], den=[1, 0.5, 3])
    (shape,) = layout(diagram).shapes
    (bar,) = shape.strokes
    top, bottom = (line for line in shape.texts if line.text != "G")
    assert (top.text, bottom.text) == ("1000s + 2", "s² + 0.5s + 3")
    assert top.y < bar[0][1] == bar[1][1] < bottom.y and bar[1][0] - bar[0][0] > 60


def test_a_sign_stands_above_the_text_and_inside_the_box():
    diagram = bs.Diagram()
    diagram.add("limit", "Saturation", lower=-1, upper=1)
    (shape,) = layout(diagram).shapes
    left, top, right, _ = shape.box
    points = [point for stroke in shape.strokes for point in stroke]
    assert all(left < x < right and top < y < min(t.y for t in shape.texts) for x, y in points)
    text = draw_svg(diagram)
    assert '<g data-block="limit">' in text and 'stroke-linejoin="round"' in text


def test_signs_of_all_blocks_stay_in_their_square():
    for name, kind in bs.library().items():
        for x, y in (point for line in icon_lines(kind.icon) for point in line):
            assert 0 <= x <= 1 and 0 <= y <= 1, name


def sign_of(name, kind, folder):
    """What tells a block apart in a picture: its sign, its shape, a fraction, or a label that is a formula and no name."""
    if not kind.example.strip():
        return kind.icon
    path = folder / f"{name}.yaml"
    path.write_text(kind.example.strip() + "\n", encoding="utf-8")
    diagram = bs.open_diagram(path)
    key = next(key for key, node in diagram.nodes.items() if type(node.block).__name__ == name)
    item = plan(diagram).graph.items[key]
    words = any(part in name.lower() for part in re.findall(r"[a-z]{4,}", item.lines[0].lower()))
    return item.icon or (item.shape if item.shape != "box" else "") or ("" if words else item.lines[0])


def test_every_block_of_the_library_is_told_apart_by_a_sign(tmp_path):
    kinds = {name: kind for name, kind in bs.library().items() if kind.__module__.startswith("blocks.")}
    assert [name for name, kind in kinds.items() if not sign_of(name, kind, tmp_path)] == []


def test_a_continuous_controller_is_not_coloured_as_a_plant():
    def colours(name):
        return {key: item.colour for key, item in plan(bs.build(bs.load(name))).graph.items.items()}

    assert colours("basics/pi_loop")["pi"] == "plain" and colours("basics/pi_loop")["plant"] == "plant"
    cascade = colours("basics/cascade")
    assert (cascade["speed_c"], cascade["speed"], cascade["position"]) == ("plain", "plant", "plant")
    assert colours("thesis/closed_loop")["pi"] == "plain"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("ki=[18000, 18000, 12000, 9000]", "ki=[18000, 18000, …]"),
        ("0.0466z⁴ + 0.186z³ + 0.28z²", "0.0466z⁴ + 0.186z³ + …"),
        ("short", "short"),
        ("a" * 40, "a" * 23 + "…"),
    ],
)
def test_texts_are_cut_between_numbers(text, short):
    assert cut_short(text) == short


def test_settings_break_between_lists():
    assert settings_lines("kp=[850, 25, 3], kd=[90, 2, 1]") == ["kp=[850, 25, 3],", "kd=[90, 2, 1]"]
