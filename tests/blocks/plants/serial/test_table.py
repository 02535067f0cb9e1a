"""Tables of joints: the classical convention against pinocchio, files beside the diagram, mistakes in them."""

import math

import numpy as np
import pytest

import blocksim as bs
from blocks.plants.serial.robot import SerialRobot
from blocks.plants.serial.texts import effort_law

UR10E = [(0.1807, 0.0, math.pi / 2), (0.0, -0.6127, 0.0), (0.0, -0.57155, 0.0), (0.17415, 0.0, math.pi / 2),
         (0.11985, 0.0, -math.pi / 2), (0.11655, 0.0, 0.0)]  # fmt: skip
CSV = """theta [deg], d [mm], a [mm], alpha
0, 180.7, 0, pi/2
0, 0, -612.7, 0
0, 0, -571.55, 0
0, 174.15, 0, pi/2
0, 119.85, 0, -pi/2
0, 116.55, 0, 0
"""


def classical_model(pin, rows):
    """The definition: Rot(z, theta + q) Trans(z, d) Trans(x, a) Rot(x, alpha), each body held by the joint's near frame."""
    model, parent, before, bodies = pin.Model(), 0, pin.SE3.Identity(), []
    for theta, d, a, alpha, slides in rows:
        joint = pin.JointModelPZ() if slides else pin.JointModelRZ()
        near = before * pin.SE3(pin.utils.rotate("z", theta), np.zeros(3))
        parent = model.addJoint(parent, joint, near, f"j{len(bodies)}")
        bodies.append(pin.Inertia.Random())
        # The row's frames lie d beyond, where the modified table has them too.
        model.appendBodyToJoint(parent, bodies[-1], pin.SE3(np.eye(3), np.array([0.0, 0.0, d])))
        before = pin.SE3(np.eye(3), np.array([a, 0.0, d])) * pin.SE3(pin.utils.rotate("x", alpha), np.zeros(3))
    return model, bodies


@pytest.mark.parametrize("seed", range(4))
def test_a_classical_table_is_the_robot_of_its_definition(seed):
    pin = pytest.importorskip("pinocchio")
    pin.seed(seed)
    random = np.random.default_rng(seed)
    rows = [(*random.uniform(-2, 2, 4), bool(k == 2)) for k in range(5)]
    model, bodies = classical_model(pin, rows)
    table = [
        {"theta": th, "d": d, "a": a, "alpha": alpha, "joint": "prismatic" if slides else "revolute"}
        for th, d, a, alpha, slides in rows
    ]
    chain = type(SerialRobot(joints=table, convention="classical")).shape_here.chain
    law = effort_law(chain)
    own = {}
    for j, body in enumerate(bodies, 1):
        M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ = body.toDynamicParameters()
        ten = {"XX": XX, "XY": XY, "XZ": XZ, "YY": YY, "YZ": YZ, "ZZ": ZZ, "MX": MX, "MY": MY, "MZ": MZ, "M": M}
        own |= {f"{key}{j}": float(value) for key, value in ten.items()}
    q, v, a = random.normal(size=(3, 5))
    efforts = law.function(q, v, a, [own[name] for name in law.parameters])
    assert np.allclose(efforts, pin.rnea(model, model.createData(), q, v, a), rtol=1e-10, atol=1e-10)


def test_a_ur_has_its_36_base_parameters():
    rows = [{"d": d, "a": a, "alpha": alpha} for d, a, alpha in UR10E]
    names = type(SerialRobot(joints=rows, convention="classical")).grouping().names
    inertial = [name for name in names if not name.startswith(("Ia", "Fv", "Fc", "off"))]
    assert len(inertial) == 36 and len(names) == 36 + 4 + 18


def test_a_panda_has_its_43_base_parameters():
    """As many as Gaz et al. (2019) count of the Panda, whose modified table its maker publishes."""
    turns = [0, -1, 1, 1, -1, 1, 1]
    rows = [{"alpha": turn * math.pi / 2} for turn in turns]
    for j, more in {0: {"d": 0.333}, 2: {"d": 0.316}, 3: {"a": 0.0825}, 4: {"a": -0.0825, "d": 0.384}, 6: {"a": 0.088}}.items():
        rows[j] |= more
    names = type(SerialRobot(joints=rows)).grouping().names
    assert len([name for name in names if not name.startswith(("Ia", "Fv", "Fc", "off"))]) == 43


def test_a_file_is_the_same_table(tmp_path):
    text = "[{d: 0.1807, alpha: \"${pi / 2}\"}, {a: -0.6127}, {a: -0.57155}, {d: 0.17415, alpha: \"${pi / 2}\"}, " \
           "{d: 0.11985, alpha: \"${-pi / 2}\"}, {d: 0.11655}]"  # fmt: skip
    (tmp_path / "ur.csv").write_text(CSV)
    (tmp_path / "ur.yaml").write_text(text)
    kinds = [type(SerialRobot(joints=[{"d": d, "a": a, "alpha": b} for d, a, b in UR10E], convention="classical"))]
    for name in ("ur.csv", "ur.yaml"):
        robot = f"robot: {{type: SerialRobot, convention: classical, file: {name}, in: push}}"
        (tmp_path / "arm.yaml").write_text(
            f"format: 1\nblocks:\n  push: {{type: Constant, value: [0, 0, 0, 0, 0, 0]}}\n  {robot}\n"
        )
        kinds.append(type(bs.build(bs.load(tmp_path / "arm.yaml")).nodes["robot"].block))
    places = [[link.place for link in kind.shape_here.chain.links] for kind in kinds]
    turns = [[link.rotation for link in kind.shape_here.chain.links] for kind in kinds]
    assert np.allclose(places[0], places[1], atol=1e-15) and np.allclose(places[0], places[2], atol=1e-15)
    assert turns[0] == turns[1] == turns[2]


BAD = {
    ("t.csv", "alpha"): "a line of names and a line for each joint are wanted",
    ("t.csv", "beta, d\n0, 1"): "there is no column 'beta'",
    ("t.csv", "alpha [m]\n0"): "alpha is in rad, which cannot be made of m",
    ("t.csv", "alpha, d\n0"): "joint 1: 1 cells for 2 columns",
    ("t.csv", "alpha\nnarrow"): "narrow",
    ("t.csv", "alpha\n1e999"): "1e999",
    ("t.yaml", "alpha: 0"): "a list with a row for each joint is wanted",
    ("t.yaml", "[{alpha: 0, b: 1}]"): "row 1 has no 'b'",
    ("t.yaml", "[{alpha: !!python/object:os.system 0}]"): "tag",
    ("t.csv", "alpha\n" + "0\n" * 21): "chains of up to 20 joints",
}


@pytest.mark.parametrize("name, text", BAD)
def test_mistakes_in_a_file_are_named(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    (tmp_path / "arm.yaml").write_text(f"format: 1\nblocks:\n  robot: {{type: SerialRobot, file: {name}}}\n")
    with pytest.raises(bs.DiagramError) as error:
        bs.build(bs.load(tmp_path / "arm.yaml"))
    assert BAD[name, text] in str(error.value) and "block 'robot'" in str(error.value)


def test_a_urdf_file_has_no_convention(tmp_path):
    (tmp_path / "arm.urdf").write_text("<robot name='r'/>")
    text = "format: 1\nblocks:\n  robot: {type: SerialRobot, convention: classical, file: arm.urdf}\n"
    (tmp_path / "arm.yaml").write_text(text)
    with pytest.raises(bs.DiagramError, match="a URDF file has poses, not Denavit-Hartenberg parameters"):
        bs.build(bs.load(tmp_path / "arm.yaml"))


def test_estimates_of_another_table_are_refused(tmp_path):
    """Base parameters of one convention say nothing in another."""
    t = 0.01 * np.arange(2000)
    q = np.c_[np.sin(t), np.cos(1.7 * t)]
    table = np.c_[q, 30 * np.cos(q[:, :1]) + 3 * np.cos(t)[:, None], 5 * np.sin(q.sum(1))]
    np.savetxt(tmp_path / "lab.csv", table, delimiter=",", header="q1,q2,u1,u2", comments="")
    arm = """format: 1
blocks:
  torque: {type: Constant, value: [0, 0]}
  robot:  {type: SerialRobot, friction: sign, convention: modified, joints: [{alpha: 1.5}, {a: 0.5, alpha: 0.4}], in: torque}
  smooth: {type: IRWSmoother, order: 3, bandwidth: 10, in: robot.q}
  ls: {type: LeastSquares, model: robot, drop_slow: 0.02, in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
record: {every: 0.01, signals: {robot.q: [q1, q2], torque: [u1, u2]}}
"""
    (tmp_path / "arm.yaml").write_text(arm)
    found = bs.identify(tmp_path / "arm.yaml", tmp_path / "lab.csv").estimates["ls"]
    assert bs.validate(tmp_path / "arm.yaml", tmp_path / "lab.csv", found, mode="inverse")["ls.tau"].counted is not None
    (tmp_path / "other.yaml").write_text(arm.replace("modified", "classical"))
    with pytest.raises(bs.DiagramError, match=r"these are not estimates of 'robot': its inverse model has no .*one convention"):
        bs.validate(tmp_path / "other.yaml", tmp_path / "lab.csv", found, mode="inverse")
