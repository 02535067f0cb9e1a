"""Whether estimates are those of a physical robot: closed forms, a robot known to be none, and the nearest that is one."""

import numpy as np
import pytest
from arms import ARM

import blocksim as bs
from blocks.plants.serial import feasible
from blocks.plants.serial.chain import INERTIAL
from blocks.plants.serial.feasible import nearest_physical
from blocks.plants.serial.robot import SerialRobot
from blocks.plants.serial.soundness import pseudo_inertia

pytest.importorskip("clarabel")


def kind_of(**settings):
    kind = type(SerialRobot(**settings))
    return kind, kind.shape_here.chain, kind.grouping()


def test_a_negative_inertia_is_as_far_as_it_is_negative():
    """One joint: ZZ1R = ZZ1 + Ia1 is at least 0."""
    _, chain, grouping = kind_of(joints=[{"alpha": np.pi / 2, "ZZ": 1.0}])
    values = {"ZZ1R": -0.3, "MX1": 0.0, "MY1": 0.0, "Fv1": 1.0, "Fc1": 1.0, "off1": 0.5}
    answer = nearest_physical(chain, grouping, values, np.diag([100.0, 1, 1, 1, 1, 1]))
    assert not answer.physical and answer.distance == pytest.approx(3.0, abs=1e-3)  # 0.3 in standard deviations of 0.1
    assert any("link 1" in text for text in answer.reasons) and answer.nearest[0] == pytest.approx(0.0, abs=1e-4)
    fine = nearest_physical(chain, grouping, {**values, "ZZ1R": 0.3}, np.eye(6))
    assert fine.physical and str(fine) == "a physical robot has these parameters"


def test_friction_and_motors_are_named():
    _, chain, grouping = kind_of(joints=[{"alpha": np.pi / 2, "ZZ": 1.0}, {"a": 0.3, "ZZ": 0.1}])
    truth = dict(
        zip(grouping.names, grouping.values({**dict.fromkeys(grouping.standard, 0.0), "ZZ1": 1.0, "ZZ2": 0.1}), strict=True)
    )
    for name, words in (("Fv2", "joint 2: negative viscous friction"), ("Fc1", "joint 1: negative Coulomb friction"),
                        ("Ia2", "joint 2: negative inertia of the motor")):  # fmt: skip
        answer = nearest_physical(chain, grouping, {**truth, name: -0.2}, np.eye(len(truth)))
        assert answer.reasons[0] == words and answer.distance == pytest.approx(0.2, abs=0.02), name


def motions(seed, noise):
    """Least squares of efforts of an arm in random motion: truth, estimates, information."""
    random = np.random.default_rng(seed)
    kind, chain, grouping = kind_of(joints=[{**row, "Fv": 0.3, "Fc": 0.2, "Ia": 0.01} for row in ARM])
    q, qd, qdd = random.normal(size=(3, 60, 3))
    W = kind.rows(grouping.kept, q, qd, qdd, "sign", 1.0).reshape(-1, len(grouping.names))
    settings = {**dict.fromkeys(grouping.standard, 0.0)}
    for j, row in enumerate(ARM, 1):
        settings |= {f"{symbol}{j}": row[symbol] for symbol in INERTIAL} | {f"Fv{j}": 0.3, f"Fc{j}": 0.2, f"Ia{j}": 0.01}
    truth = np.array(grouping.values(settings))
    y = W @ truth + noise * random.normal(size=len(W))
    values = np.linalg.lstsq(W, y, rcond=None)[0]
    return chain, grouping, truth, values, W.T @ W / noise**2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_nearest_is_physical_and_no_better_one_lies_towards_the_truth(seed):
    chain, grouping, truth, values, information = motions(seed, noise=0.5)
    answer = nearest_physical(chain, grouping, dict(zip(grouping.names, values, strict=True)), information, smallest=1e-7)
    assert not answer.physical  # with this noise
    for j in range(1, 4):
        assert np.linalg.eigvalsh(pseudo_inertia([answer.standard[f"{s}{j}"] for s in INERTIAL]))[0] > 0
    nearest = np.array(answer.nearest)
    assert np.allclose(nearest, grouping.values(answer.standard), atol=1e-9)

    def distance(x):
        return float((x - values) @ information @ (x - values))

    assert distance(nearest) < distance(truth)  # the truth is physical, too
    towards = nearest + 1e-3 * (truth - nearest)  # and so is all between: the set is convex
    assert distance(towards) > distance(nearest) * (1 - 1e-6)
    error = [float((x - truth) @ information @ (x - truth)) for x in (nearest, values)]
    assert error[0] < error[1]  # the nearest point of a convex set that holds the truth is nearer to it


def test_printed_values_that_no_body_has():
    """Brunot 2017, Table 1: XX3R = 0.14 and ZZ3R = 0.11 break a triangle inequality; the completed truth does not."""
    arm = bs.build(bs.load("brunot2017/tx40")).nodes["robot"].block.nodes["arm"].block
    kind = type(arm)
    truth = dict(zip(kind.grouping().names, kind.grouping().values(arm.settings), strict=True))
    scale = {"XX3R": 0.0128, "ZZ3R": 0.0099}  # their printed standard deviations; the others are held
    weights = np.diag([1.0 / scale.get(n, 1e-3 * max(abs(v), 0.01)) ** 2 for n, v in truth.items()])
    assert kind.nearest_physical(truth, weights).distance < 0.2  # bodies a little better than possible
    spoilt = kind.nearest_physical({**truth, "XX3R": 0.14, "ZZ3R": 0.11}, weights)
    assert not spoilt.physical and "link 3" in spoilt.reasons[0] and "XX3R" in str(spoilt)


def test_without_the_solver(monkeypatch):
    monkeypatch.setattr(feasible, "solver_installed", lambda: False)
    kind, _, grouping = kind_of(joints=[{"ZZ": 1.0}])
    with pytest.raises(bs.RecordError, match=r"Clarabel, which is not installed: pip install 'blocksim\[feasible\]'"):
        kind.nearest_physical(dict.fromkeys(grouping.names, 1.0), np.eye(len(grouping.names)))
