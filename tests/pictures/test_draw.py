"""The picture of a diagram: geometry on many random diagrams, the three rules for feedback, and the files."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise

import pytest

from blocksim.contract.block import Block, RecordBlock, SampledBlock, inport, outport, param, state, static
from blocksim.diagram.build import open_diagram
from blocksim.diagram.diagram import Diagram
from blocksim.diagram.files import bundled
from blocksim.diagram.spec import PortSpec
from blocksim.errors import BlocksimError
from blocksim.pictures.diagram.feedback import find_cuts, find_flips
from blocksim.pictures.diagram.graph import read_graph
from blocksim.pictures.diagram.layout import layout, plan
from blocksim.pictures.diagram.lettering import width_of
from blocksim.pictures.diagram.shapes import Picture, Shape, Wire
from blocksim.pictures.diagram.sizes import NAME_FONT
from blocksim.pictures.draw import draw, draw_svg


class Source(Block):
    """A source."""

    colour = "source"
    text: str = static("Source", "what stands in the block")
    y = outport("output")

    @staticmethod
    def output(t):
        return t

    def label(self):
        return self.text.split("|")


class Plain(Block):
    """y = u."""

    text: str = static("Plain", "what stands in the block")
    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return u

    def label(self):
        return self.text.split("|")


class Lag(Plain):
    """x' = u."""

    x = state(0.0, "state")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(u):
        return u


class Plant(Lag):
    """x' = u, on the forward path by its colour."""

    colour = "plant"


class Sampled(SampledBlock):
    """y = u at its hits."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return u


class Adder(Block):
    """Sum."""

    shape = "circle"
    signs: str = static("", "signs")
    u = inport("inputs", many=True)
    y = outport("sum")

    @staticmethod
    def output(u):
        return u[0]


class Amplifier(Block):
    """y = k u."""

    shape = "triangle"
    k: float = param(1.0, "gain")
    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u, k):
        return k * u


class Display(Block):
    """A scope."""

    colour = "sink"
    u = inport("input")


class Robot(Block):
    """Two inputs, three outputs."""

    colour = "plant"
    J: float = param(1.0, "inertia", "kg m^2")
    tau = inport("torque")
    load = inport("load")
    q = outport("position", size=2)
    qd = outport("velocity")
    qdd = outport("acceleration")
    x = state(0.0, "state")

    @staticmethod
    def output_q(x):
        return x

    @staticmethod
    def output_qd(x):
        return x

    @staticmethod
    def output_qdd(tau, load):
        return tau - load

    @staticmethod
    def derivative(tau):
        return tau


class Smoother(RecordBlock):
    """A record block."""

    u = inport("input")
    x = outport("smoothed")
    dx = outport("derivative")

    def process(self, t, u):
        return u, u


YAML = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  ref:   {type: Step, time: 0.1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  plant: {type: Integrator, in: error}
"""


def target() -> Diagram:
    """PI loop with PRBS, coloured noise and a sensor on the way back."""
    d = Diagram("loop")
    d.add("r", Source(text="r"))
    d.add("e1", Adder(signs="+-"), ["r", "F"])
    d.add("C", Lag(text="PI|Kp=2, Ki=0.5"), "e1")
    d.add("d", Source(text="PRBS|0.3, N=127"))
    d.add("s2", Adder(signs="++"), ["C", "d"])
    d.add("sat", Plain(text="sat|±5"), "s2")
    d.add("G", Lag(text="B(q)/A(q)"), "sat")
    d.add("e", Source(text="white|σ=0.1"))
    d.add("H", Lag(text="1/D(q)"), "e")
    d.add("s3", Adder(signs="++"), ["G", "H"])
    d.add("y", Display(), "s3")
    d.add("F", Lag(text="sensor|z⁻¹"), "s3")
    return d


def cascade() -> Diagram:
    """Two nested loops and a scope on the sensor: the diagram that a rule by dominators draws wrong."""
    d = Diagram("cascade")
    d.add("r", Source(text="r"))
    d.add("e1", Adder(signs="+-"), ["r", "F"])
    d.add("C1", Lag(text="outer PI"), "e1")
    d.add("e2", Adder(signs="+-"), ["C1", "G2"])
    d.add("C2", Lag(text="inner P"), "e2")
    d.add("d", Source(text="PRBS"))
    d.add("s", Adder(signs="++"), ["C2", "d"])
    d.add("u", Display(), "s")
    d.add("G2", Lag(text="G2(q)"), "s")
    d.add("G1", Lag(text="G1(q)"), "G2")
    d.add("n", Source(text="noise"))
    d.add("s3", Adder(signs="++"), ["G1", "n"])
    d.add("y", Display(), "s3")
    d.add("F", Lag(text="filter"), "s3")
    d.add("yf", Display(), "F")
    return d


def servo() -> Diagram:
    """Nothing but the loop itself, with an encoder after the plant and record blocks after the run."""
    d = Diagram("servo")
    d.add("ref", Source())
    d.add("error", Adder(signs="+-"), ["ref", "encoder"])
    d.add("pid", Plain(text="PID"), "error")
    d.add("joint", Plant(text="Joint"), "pid")
    d.add("encoder", Plain(text="Encoder"), "joint")
    d.add("smooth", Smoother(), "encoder")
    d.add("again", Smoother(), "smooth.dx")
    return d


def chain(count: int) -> Diagram:
    """A loop of many blocks in a row."""
    d = Diagram("chain")
    d.add("r", Source())
    d.add("e", Adder(signs="+-"), ["r", f"b{count - 1}"])
    for n in range(count):
        d.add(f"b{n}", Plain(), f"b{n - 1}" if n else "e")
    return d


def scattered(seed: int) -> Diagram:
    """Random blocks, mostly wired to near ones, with loops, self loops, several ports and unconnected inputs."""
    dice = random.Random(seed)
    d = Diagram(f"random {seed}")
    kinds = [
        dice.choice([Source, Plain, Lag, Plant, Adder, Adder, Amplifier, Display, Robot, Smoother])
        for _ in range(dice.randint(1, 26))
    ]
    signals = [(n, f"b{n}.{port}") for n, kind in enumerate(kinds) for port in kind(**{}).of(type(Robot.q))]
    running = [(n, s) for n, s in signals if kinds[n] is not Smoother]

    def pick(n: int) -> str:
        if not running or dice.random() < 0.05:
            return "nowhere"
        pool = signals if kinds[n] is Smoother else running
        near = [s for k, s in pool if abs(k - n) < 5]
        return dice.choice(near if near and dice.random() < 0.7 else [s for _, s in pool])

    for n, kind in enumerate(kinds):
        wires = {Source: 0, Robot: 2, Adder: dice.choice([2, 2, 3, 4])}.get(kind, 1)
        settings = {"signs": "".join(dice.choice("++-") for _ in range(wires))} if kind is Adder else {}
        d.add(f"b{n}", kind(**settings), [pick(n) for _ in range(wires)] or None, flip=dice.choice([None] * 9 + [True, False]))
    return d


def segments(wire: Wire):
    return list(zip(wire.points, wire.points[1:], strict=False))


def enters(segment, shape: Shape) -> bool:
    """Whether a stretch of wire lies inside a block rather than at its edge."""
    (ax, ay), (bx, by) = segment
    left, top, right, bottom = shape.box
    return min(ax, bx) < right - 0.1 and max(ax, bx) > left + 0.1 and min(ay, by) < bottom - 0.1 and max(ay, by) > top + 0.1


def overlap(one, other) -> bool:
    """Whether two stretches share more than a point."""
    for axis in (0, 1):
        fixed = {round(p[axis], 3) for p in (*one, *other)}
        if len(fixed) == 1:
            a, b = sorted(p[1 - axis] for p in one)
            c, d = sorted(p[1 - axis] for p in other)
            return min(b, d) - max(a, c) > 0.01
    return False


def on(point, wire: Wire) -> bool:
    return any(
        min(a[0], b[0]) - 0.01 <= point[0] <= max(a[0], b[0]) + 0.01
        and min(a[1], b[1]) - 0.01 <= point[1] <= max(a[1], b[1]) + 0.01
        for a, b in segments(wire)
    )


def at_edge(point, shape: Shape) -> bool:
    left, top, right, bottom = shape.box
    x, y = point
    return (min(abs(x - left), abs(x - right)) < 0.01 and top <= y <= bottom) or (
        min(abs(y - top), abs(y - bottom)) < 0.01 and left <= x <= right
    )


def check_geometry(diagram: Diagram, picture: Picture) -> None:
    """What must hold for every picture."""
    shapes = {shape.key: shape for shape in picture.shapes}
    assert set(diagram.nodes) <= set(shapes)
    assert len(picture.wires) == len(read_graph(diagram).links)
    for one, other in combinations(picture.shapes, 2):
        a, b = one.box, other.box
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1], f"{one.key} covers {other.key}"
    for shape in picture.shapes:
        left, top, right, bottom = shape.box
        assert left >= 0 and top >= 0 and right <= picture.width and bottom <= picture.height
    for wire in picture.wires:
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in segments(wire)), "a wire runs askew"
        assert at_edge(wire.points[-1], shapes[wire.target[0]])
        mates = [w for w in picture.wires if w.source == wire.source and w is not wire]
        assert at_edge(wire.points[0], shapes[wire.source[0]]) or any(on(wire.points[0], w) for w in mates)
        for segment in segments(wire):
            through = [shape.key for shape in picture.shapes if enters(segment, shape)]
            assert not through, f"the wire {wire.source} -> {wire.target} runs through {through}"
    for one, other in combinations(picture.wires, 2):
        if one.source != other.source:
            assert not any(overlap(a, b) for a in segments(one) for b in segments(other)), f"{one} lies on {other}"
            touching = [p for p in one.points if on(p, other)] + [p for p in other.points if on(p, one)]
            assert not touching, f"{one} touches {other} at {touching}"


@pytest.mark.parametrize("seed", range(60))
def test_geometry_of_random_diagrams(seed):
    diagram = scattered(seed)
    check_geometry(diagram, layout(diagram))


@pytest.mark.parametrize("make", [target, cascade, servo, lambda: chain(50), lambda: chain(2)])
def test_geometry_of_known_diagrams(make):
    diagram = make()
    check_geometry(diagram, layout(diagram))


def test_loop_is_cut_at_the_minus_sign_and_the_sensor_is_flipped():
    graph = read_graph(target())
    cuts = find_cuts(graph)
    assert [(cut.source, cut.target, cut.slot) for cut in cuts] == [("F", "e1", 1)]
    assert find_flips(graph, cuts) == {"F"}


def test_cascade_with_a_scope_on_the_sensor():
    graph = read_graph(cascade())
    cuts = find_cuts(graph)
    assert {(cut.source, cut.target) for cut in cuts} == {("F", "e1"), ("G2", "e2")}
    assert find_flips(graph, cuts) == {"F", "yf"}
    where = plan(cascade())
    forward = ["r", "e1", "C1", "e2", "C2", "s", "G2", "G1", "s3", "y"]
    assert [where.columns[key] for key in forward] == list(range(10))
    assert len({where.rows[key] for key in forward}) == 1, "the main path is straight"
    assert where.rows["F"] > where.rows["r"] > where.rows["d"]
    assert where.spots["in", "e1", 0].side == "W" and where.spots["in", "e1", 1].side == "S"
    assert where.spots["in", "s3", 1].side == "N"


def test_loop_without_minus_is_cut_at_the_later_sum_input():
    d = Diagram()
    d.add("a", Plain(), "s")
    d.add("s", Adder(signs="++"), ["r", "b"])
    d.add("b", Plain(), "a")
    d.add("r", Source())
    assert [(cut.source, cut.target) for cut in find_cuts(read_graph(d))] == [("b", "s")]


def test_loop_without_sum_is_cut_at_the_wire_furthest_back_in_the_file():
    d = Diagram()
    for name, driver in (("a", "d"), ("b", "a"), ("c", "b"), ("d", "c")):
        d.add(name, Plain(), driver)
    assert [(cut.source, cut.target) for cut in find_cuts(read_graph(d))] == [("d", "a")]


def test_minus_on_a_parallel_forward_branch_is_not_feedback():
    d = Diagram()
    d.add("r", Source())
    d.add("robot", Robot(), ["r", "out"])
    d.add("one", Plain(), "robot.q")
    d.add("two", Plain(), "robot.q")
    d.add("out", Adder(signs="+-"), ["one", "two"])
    assert [(cut.source, cut.target) for cut in find_cuts(read_graph(d))] == [("out", "robot")]


def test_plain_loop_keeps_its_plant_on_the_forward_path():
    where = plan(chain(2))
    assert not where.flipped
    assert len(set(where.rows.values())) == 1


def test_encoder_after_the_plant_is_flipped_though_nothing_branches_there():
    assert plan(servo()).flipped == {"encoder"}


def test_an_inner_loop_does_not_end_the_forward_path():
    d = Diagram()
    d.add("r", Source())
    d.add("e1", Adder(signs="+-"), ["r", "position"])
    d.add("k", Amplifier(), "e1")
    d.add("e2", Adder(signs="+-"), ["k", "speed"])
    d.add("c", Lag(), "e2")
    d.add("speed", Lag(), "c")
    d.add("position", Lag(), "speed")
    where = plan(d)
    assert not where.flipped and len(set(where.rows.values())) == 1


def test_what_samples_a_noisy_continuous_output_is_the_sensor():
    d = Diagram()
    d.add("r", Source())
    d.add("e", Adder(signs="+-"), ["r", "encoder"])
    d.add("pid", Sampled(Ts=0.1), "e")
    d.add("system", Lag(), "pid")
    d.add("noise", Source())
    d.add("sum", Adder(signs="++"), ["system", "noise"])
    d.add("encoder", Sampled(Ts=0.1), "sum")
    assert plan(d).flipped == {"encoder"}
    d.nodes["encoder"].inputs = "system"
    assert plan(d).flipped == {"encoder"}


@pytest.mark.parametrize("hint", [True, False])
def test_flip_hint_decides(hint):
    diagram = target()
    diagram.nodes["F"].flip = hint
    diagram.nodes["sat"].flip = not hint
    assert plan(diagram).flipped == ({"F"} if hint else {"sat"})
    check_geometry(diagram, layout(diagram))


def test_record_blocks_stand_below_in_a_frame_with_dashed_wires():
    picture = layout(servo())
    lowest = max(shape.box[3] for shape in picture.shapes if shape.key not in ("smooth", "again"))
    assert all(shape.box[1] > lowest for shape in picture.shapes if shape.key in ("smooth", "again"))
    assert {wire.target[0] for wire in picture.wires if wire.dashed} == {"smooth", "again"}
    assert [frame.caption for frame in picture.frames] == ["after the run"]


def test_fifty_blocks_fit_a_page():
    picture = layout(chain(50))
    assert picture.width < 1300 and picture.height < 900


def test_no_band_of_the_page_has_one_column_only():
    for count in range(2, 40):
        rows = {}
        for key, row in plan(chain(count)).rows.items():
            rows.setdefault(row, []).append(key)
        assert len(rows) == 1 or min(map(len, rows.values())) > 1


def test_signs_stand_inside_the_circle_and_a_crowded_sum_becomes_a_box():
    d = Diagram()
    for n in range(4):
        d.add(f"r{n}", Source())
    d.add("few", Adder(signs="+-"), ["r0", "r1"])
    d.add("many", Adder(signs="+--+"), ["r0", "r1", "r2", "r3"])
    shapes = {shape.key: shape for shape in layout(d).shapes}
    assert [text.text for text in shapes["few"].texts if text.text in "+−"] == ["+", "−"]
    assert shapes["many"].kind == "box"
    assert [text.text for text in shapes["many"].texts if text.text in "+−"] == ["+", "−", "−", "+"]


def test_bypass_enters_from_the_north_even_as_first_input():
    d = Diagram()
    d.add("r", Source())
    d.add("a", Plain(), "r")
    d.add("b", Plain(), "a")
    d.add("s", Adder(signs="++"), ["a", "b"])
    where = plan(d)
    assert (where.spots["in", "s", 0].side, where.spots["in", "s", 1].side) == ("N", "W")


def test_gain_shows_its_value_and_ports_their_names():
    d = Diagram()
    d.add("k", Amplifier(k=2.5), "robot.qd")
    d.add("robot", Robot(), ["k", "k"])
    d.add("e", Plain(), "robot.q[1]")
    picture = layout(d)
    words = {shape.key: [text.text for text in shape.texts] for shape in picture.shapes}
    assert "2.5" in words["k"]
    assert {"tau", "load", "qd", "q"} <= set(words["robot"]) and "qdd" not in words["robot"]
    assert [text.text for text in picture.texts] == ["[1]"]
    titles = {shape.key: shape.title for shape in picture.shapes}
    assert titles["robot"] == "robot: Robot\nJ = 1 kg m²\nx = 0"


def test_a_long_name_leaves_room_for_its_neighbours():
    """Names of neighbours do not touch, none is cut by the page, and its beginning and its end are seen."""
    names = ["the_reference_of_the_second_joint_of_the_left_robot", "a_lag_with_a_long_and_boring_name", "gain_that_nobody_chose"]
    text = f"format: 1\nblocks:\n  {names[0]}: {{type: Sine}}\n  {names[1]}: {{type: FirstOrderLag, T: 1, in: {names[0]}}}\n"
    picture = layout(open_diagram(text + f"  {names[2]}: {{type: Gain, in: {names[1]}}}\n"))
    labels = sorted(
        (t for shape in picture.shapes for t in shape.texts if t.size == NAME_FONT and t.y > shape.y), key=lambda t: t.x
    )
    assert len(labels) == 3
    for name, label in zip(names, labels, strict=True):
        head, _, tail = label.text.partition("…")
        assert name.startswith(head) and name.endswith(tail) and len(head) >= 2
    ends = [(t.x - width_of(t.text, NAME_FONT) / 2, t.x + width_of(t.text, NAME_FONT) / 2) for t in labels]
    assert ends[0][0] >= 0 and ends[-1][1] <= picture.width
    assert all(left[1] <= right[0] for left, right in pairwise(ends))


def test_subsystem_is_a_double_box_and_its_own_ports_are_terminals():
    inner = Diagram("Current loop", ports=PortSpec(inputs={"ref": 1}, outputs={"i": "k"}))
    inner.add("k", Amplifier(), "ref")
    outer = Diagram("drive", ports=PortSpec(inputs={"tau": 1}, outputs={"i": "loop"}))
    outer.add("loop", inner, "tau")
    picture = layout(outer)
    shapes = {shape.key: shape for shape in picture.shapes}
    assert shapes["loop"].double and shapes[">tau"].kind == shapes["i>"].kind == "oval"
    assert {(wire.source[0], wire.target[0]) for wire in picture.wires} == {(">tau", "loop"), ("loop", "i>")}


@pytest.mark.parametrize("make", [target, cascade, servo, lambda: scattered(3), Diagram])
def test_svg_is_xml_with_every_name_as_text(make):
    diagram = make()
    root = ElementTree.fromstring(draw_svg(diagram))
    words = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert set(diagram.nodes) <= words
    assert draw_svg(make()) == draw_svg(diagram), "the same diagram gives the same bytes"


def test_hostile_words_are_escaped():
    d = Diagram("<script>&\"'\x00")
    d.add("a", Source(text="</text><script>alert(1)</script>|a & b\x07 $x_1$ < c"))
    d.add("b", Plain(text="]]>"), "a")
    d.nodes["<b>&"] = d.nodes.pop("b")
    d.nodes["<b>&"].name = "<b>&"
    text = draw_svg(d)
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "<b>&" in words and "a & b  $x_1$ < c" in words


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg"), ("PNG", b"\x89PNG")])
def test_files(tmp_path, suffix, magic):
    paths = [tmp_path / f"{n}.{suffix}" for n in (1, 2)]
    for path in paths:
        draw(servo(), path)
    assert paths[0].read_bytes().startswith(magic)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(BlocksimError, match=r"cannot draw '.*loop.gif'. A picture's name ends in: .svg, .png, .pdf."):
        draw(servo(), tmp_path / "loop.gif")


def test_diagram_shows_itself_in_a_notebook():
    assert servo()._repr_svg_() == draw_svg(servo())


def test_a_file_is_drawn_by_its_name(tmp_path):
    path = tmp_path / "loop.yaml"
    path.write_text(YAML)
    draw(path, tmp_path / "loop.svg")
    assert (tmp_path / "loop.svg").read_text() == draw_svg(YAML)
    assert ">plant</text>" in draw_svg(str(path))


def on_wire(point, wire: Wire) -> bool:
    """Whether a point lies on a polyline of level and upright stretches."""
    (x, y), near = point, 1e-6
    return any(
        min(a[0], b[0]) - near <= x <= max(a[0], b[0]) + near and min(a[1], b[1]) - near <= y <= max(a[1], b[1]) + near
        for a, b in pairwise(wire.points)
    )


def solid_all_the_way(wire: Wire, picture: Picture) -> bool:
    """Whether one gets from the end of a wire back to its block on solid lines alone."""
    box = next(shape.box for shape in picture.shapes if shape.key == wire.source[0])
    x, y = wire.points[0]
    if box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1:
        return True
    trunk = [w for w in picture.wires if w is not wire and w.source == wire.source and not w.dashed and on_wire((x, y), w)]
    return any(solid_all_the_way(w, picture) for w in trunk)


@pytest.mark.parametrize("name", bundled())
def test_what_runs_in_the_loop_is_drawn_solid_from_end_to_end(name):
    picture = layout(open_diagram(name))
    broken = [f"{w.source} -> {w.target}" for w in picture.wires if not w.dashed and not solid_all_the_way(w, picture)]
    assert not broken
