"""URDF files: against pinocchio's reader, what is fixed counted to its link, and everything that is refused."""

import numpy as np
import pytest

import blocksim as bs
from blocks.plants.serial.robot import SerialRobot
from blocks.plants.serial.texts import effort_law

ROBOT = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0.02 0.3" rpy="0.1 0.2 0.3"/><mass value="3"/>
    <inertia ixx="0.05" ixy="0.001" ixz="0.002" iyy="0.06" iyz="-0.003" izz="0.04"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual></link>
  <link name="plate"><inertial><origin xyz="0 0 0.05"/><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0 0.1 0"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.02"/></inertial></link>
  <link name="slide"><inertial><mass value="0.7"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.004"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3" rpy="0 1.5707963267948966 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="10" velocity="3"/><dynamics damping="0.4" friction="0.2"/></joint>
  <joint name="f1" type="fixed"><parent link="upper"/><child link="plate"/><origin xyz="0.2 0 0.1" rpy="0.3 0 0.5"/></joint>
  <joint name="j2" type="continuous"><parent link="plate"/><child link="fore"/><origin xyz="0.1 0 0.1" rpy="0.2 -0.4 1"/>
    <axis xyz="0.3 1 -0.2"/></joint>
  <joint name="j3" type="prismatic"><parent link="fore"/><child link="slide"/><origin xyz="0 0.3 0"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="1"/></joint>
</robot>
"""


def made(tmp_path, text, **more):
    path = tmp_path / "arm.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return SerialRobot(file=str(path), **more)


def test_a_file_is_the_robot_that_pinocchio_reads(tmp_path):
    pin = pytest.importorskip("pinocchio")
    robot = made(tmp_path, ROBOT)
    assert (robot.settings["Fv1"], robot.settings["Fc1"]) == (0.4, 0.2)
    model = pin.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    data, random = model.createData(), np.random.default_rng(3)
    law = effort_law(type(robot).shape_here.chain)
    numbers = [robot.settings[name] for name in law.parameters]
    for _ in range(5):
        q, v, a = random.normal(size=(3, 3))
        place = np.array([q[0], np.cos(q[1]), np.sin(q[1]), q[2]])  # a continuous joint is a point of the circle there
        assert np.allclose(law.function(q, v, a, numbers), pin.rnea(model, data, place, v, a), atol=1e-10)


def test_a_diagram_reads_the_file_beside_it(tmp_path):
    (tmp_path / "arm.urdf").write_text(ROBOT)
    text = "format: 1\nsimulate: {stop: 0.1, solver: rk4, step: 1e-3}\nblocks:\n  tau: {type: Constant, value: [0, 0, 0]}\n"
    (tmp_path / "arm.yaml").write_text(text + "  robot: {type: SerialRobot, file: arm.urdf, in: tau}\n")
    assert np.isfinite(bs.simulate(tmp_path / "arm.yaml")["robot.q"]).all()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "arm.yaml").write_text(text + "  robot: {type: SerialRobot, file: ../arm.urdf, in: tau}\n")
    with pytest.raises(bs.DiagramError, match="lies outside the folder of the diagram"):
        bs.simulate(tmp_path / "inner" / "arm.yaml")


BOMB = '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>'
EXTERNAL = '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="x"><link name="&a;"/></robot>'
SLIDE = '<joint name="j3" type="prismatic"><parent link="fore"/><child link="slide"/>'
JOINT = '<joint name="j{0}" type="revolute"><parent link="l{0}"/><child link="l{1}"/></joint>'


def long_chain(joints):
    links = "".join(f'<link name="l{i}"/>' for i in range(joints + 1))
    return f"<robot>{links}{''.join(JOINT.format(i, i + 1) for i in range(joints))}</robot>"


CHAIN, DEEP = long_chain(60), long_chain(4000).replace("revolute", "fixed")
BAD = {
    "entities": (BOMB, "line 1: a document type or an entity is not read"),
    "external": (EXTERNAL, "line 1: a document type or an entity is not read"),
    "nested": ("<robot>" + "<a>" * 100 + "</a>" * 100 + "</robot>", "nested deeper than 30 levels"),
    "many": ("<robot>" + "<a/>" * 30_000 + "</robot>", "more than 20000 elements"),
    "huge": ("<robot><!--" + "x" * 6_000_000 + "--></robot>", "more than 5000000 bytes"),
    "malformed": ("<robot><link name='a'></robot>", "line 1: this is not XML: mismatched tag"),
    "other": ("<html/>", "there is no <robot>"),
    "no link": ("<robot/>", "it has no links: an empty robot"),
    "no joint": ("<robot><link name='a'/></robot>", "no joint of it moves"),
    "branch": (ROBOT.replace(SLIDE, SLIDE.replace("fore", "plate")), "link 'plate' branches to fore, slide; name the last"),
    "loop": (
        ROBOT.replace("</robot>", SLIDE.replace("j3", "j4") + "</joint></robot>"),
        "hangs on two joints, 'j3' and 'j4': a loop",
    ),
    "round": (ROBOT.replace('<parent link="base"/>', '<parent link="slide"/>').replace('<link name="base"/>', ""), "in a loop"),
    "unknown link": (ROBOT.replace('<parent link="fore"/>', '<parent link="arm"/>'), "names the link 'arm', which is not there"),
    "floating": (ROBOT.replace("continuous", "floating"), "joint 'j2': floating has several degrees of freedom"),
    "mimic": (ROBOT.replace('<axis xyz="0 -1 0"/>', '<mimic joint="j1"/>'), "joint 'j3' mimics another one"),
    "axis": (ROBOT.replace("0 -1 0", "0 0 0"), "joint 'j3': its axis has no direction"),
    "number": (ROBOT.replace('value="3"', 'value="three"'), 'three": 1 finite number(s) are wanted'),
    "infinite": (ROBOT.replace('value="3"', 'value="inf"'), "1 finite number(s) are wanted"),
    "negative": (ROBOT.replace('value="3"', 'value="-3"'), "link 'upper' is no body: mass -3 kg"),
    "empty": ("", "line 1: this is not XML: no element found"),
    "binary": ("solid\0\1\2", "line 1: this is not XML"),
    "two bytes": (ROBOT[: len(ROBOT) // 2].encode("utf-16"), "this is not XML"),
    "other encoding": ('<?xml version="1.0" encoding="klingon"?><robot/>', "line 1: this is not XML: unknown encoding"),
    "xacro": (ROBOT.replace("<link", '<xacro:property name="m" value="3"/><link', 1), "this is a xacro file; expand it first"),
    "formula": (ROBOT.replace('value="3"', 'value="${m}"'), '<mass> value="${m}": 1 finite number(s) are wanted'),
    "same link": (ROBOT.replace('<link name="base"/>', 2 * '<link name="base"/>'), "there is a link 'base' already"),
    "same joint": (ROBOT.replace('"j3"', '"j1"'), "there is a joint 'j1' already, in line"),
    "nameless": (ROBOT.replace('<link name="base"/>', "<link/>"), "<link> has no name"),
    "itself": (ROBOT.replace('<parent link="fore"/>', '<parent link="slide"/>'), "joins the link 'slide' to itself"),
    "two roots": (ROBOT.replace("</robot>", "<link name='spare'/></robot>"), "the roots are base, spare"),
    "no parent": (ROBOT.replace('<parent link="fore"/>', ""), "joint 'j3' has no <parent>"),
    "not a number": (ROBOT.replace('value="3"', 'value="nan"'), "1 finite number(s) are wanted"),
    "long": (CHAIN, "joints move; chains of up to"),
    "deep": (DEEP, "joints are nested too deeply"),
    "screw": (ROBOT.replace("continuous", "screw"), "joint 'j2': screw is no type of joint"),
    "no mass": (ROBOT.replace('<mass value="3"/>', ""), "<inertial> of link 'upper' needs <mass> and <inertia>"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named(tmp_path, case):
    text, expected = BAD[case]
    with pytest.raises(bs.DiagramError) as error:
        made(tmp_path, text)
    assert "arm.urdf" in str(error.value) and expected in str(error.value), str(error.value)


def test_a_file_in_two_bytes_a_letter_is_read(tmp_path):
    one, two = (made(tmp_path, text).settings for text in (ROBOT, ROBOT.replace('<?xml version="1.0"?>', "").encode("utf-16")))
    assert {k: v for k, v in one.items() if k != "file"} == {k: v for k, v in two.items() if k != "file"}


def test_a_tip_chooses_the_branch(tmp_path):
    text = ROBOT.replace(SLIDE, SLIDE.replace("fore", "plate"))
    assert type(made(tmp_path, text, tip="slide")).declared["joint_count"].default == 2
    with pytest.raises(bs.DiagramError, match="there is no link 'hand' for the tip"):
        made(tmp_path, text, tip="hand")


FINGER = """<link name="{0}"><inertial><origin xyz="0 0.01 0.02"/><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="{0}_joint" type="prismatic"><parent link="slide"/><child link="{0}"/><origin xyz="0.02 0 0.1" rpy="0 0 {1}"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="1" effort="9" velocity="1"/>{2}</joint>
"""
WHEEL = """<link name="caster"><inertial><mass value="1"/>
    <inertia ixx="-1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="roll" type="floating"><parent link="base"/><child link="caster"/></joint>
"""
HAND = FINGER.format("left", 0, "") + FINGER.format("right", 3.14, '<mimic joint="left_joint" multiplier="1"/>')


def test_what_the_chain_carries_is_held_as_in_pinocchios_reduced_model(tmp_path):
    """Descriptions as people have them: a gripper that mimics, exporters' fixed joints with an axis of zeros."""
    pin = pytest.importorskip("pinocchio")
    text = ROBOT.replace('rpy="0.3 0 0.5"/></joint>', 'rpy="0.3 0 0.5"/><axis xyz="0 0 0"/></joint>')
    text = text.replace("</robot>", HAND + "</robot>")
    robot = made(tmp_path, text, tip="slide")
    full = pin.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    fingers = [full.getJointId(f"{side}_joint") for side in ("left", "right")]
    model = pin.buildReducedModel(full, fingers, pin.neutral(full))
    data, random = model.createData(), np.random.default_rng(4)
    law = effort_law(type(robot).shape_here.chain)
    numbers = [robot.settings[name] for name in law.parameters]
    q, v, a = random.normal(size=(3, 3))
    place = np.array([q[0], np.cos(q[1]), np.sin(q[1]), q[2]])
    assert np.allclose(law.function(q, v, a, numbers), pin.rnea(model, data, place, v, a), atol=1e-10)


def test_what_does_not_move_with_the_chain_need_not_be_sound(tmp_path):
    text = ROBOT.replace("</robot>", WHEEL + "</robot>")
    with pytest.raises(bs.DiagramError, match=r"branches to upper, caster; .* such as slide, caster[.]$"):
        made(tmp_path, text)
    robot = made(tmp_path, text, tip="slide")
    assert {k: v for k, v in robot.settings.items() if k not in ("file", "tip")} == {
        k: v for k, v in made(tmp_path, ROBOT).settings.items() if k not in ("file", "tip")
    }


def test_a_gripper_is_told_with_the_link_before_it(tmp_path):
    with pytest.raises(bs.DiagramError) as error:
        made(tmp_path, ROBOT.replace("</robot>", HAND + "</robot>"))
    assert "link 'slide' branches to left, right" in str(error.value) and "tip: slide ends the chain there" in str(error.value)
