"""Frequency response, closed-loop output error, hybrid search: ten parameters of a flexible robot, from guesses."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocks.identifiers.mean_spring import MeanSpring
from blocksim.studies.scores import consistent_interval

NAMES = ("Jm", "Ja", "k1", "k3", "d", "alpha", "A", "q", "Fv", "Fc")


@pytest.fixture(scope="module")
def run():
    return bs.simulate("thesis/chain", stop=4)


@pytest.fixture(scope="module")
def chain(run):
    return run.estimates


def test_the_same_file_identifies_a_record(run, chain, tmp_path):
    """Of what was recorded, and nothing else: the guesses are the file's, the truth is not there."""
    run.save(str(tmp_path / "lab.npz"))
    found = bs.identify("thesis/chain", str(tmp_path / "lab.npz"), assume=["lines"]).estimates["hybrid"]
    assert [found[n].value for n in NAMES] == pytest.approx([chain["hybrid"][n].value for n in NAMES], rel=1e-6)
    assert all(np.isnan(found[n].truth) for n in NAMES)


def test_the_three_hand_on_what_they_found(chain):
    response, cloe, hybrid = chain["response"], chain["cloe"], chain["hybrid"]
    assert [cloe[n].start for n in ("Jm", "Ja")] == [response[n].value for n in ("Jm", "Ja")]
    assert [hybrid[n].start for n in NAMES] == [cloe[n].value for n in NAMES]
    assert not any("starts at the truth" in w for e in chain.values() for w in e.warnings)


def test_the_start_is_rough_and_the_end_is_not(chain):
    """The linear robot of the response is 15 to 1000 % off; after the search every error is one of noise."""
    assert max(abs(chain["response"][n].relative_error) for n in ("Jm", "Ja", "k1", "d")) > 0.5
    assert all(abs(chain["cloe"][n].start / chain["cloe"][n].truth - 1) > 0.1 for n in NAMES)
    hybrid = chain["hybrid"]
    assert np.abs([hybrid[n].z for n in NAMES]).max() < 4
    assert max(hybrid[n].std / hybrid[n].truth for n in NAMES) < 0.01
    assert hybrid.nees < 30  # 10 on average; 0.1 % of honest runs are above 29.6


def test_the_loop_hides_friction_and_the_recorded_torque_shows_it(chain):
    assert all(chain["hybrid"][n].std < 0.4 * chain["cloe"][n].std for n in ("Fv", "Fc"))


def test_three_masses_are_found_from_the_motor_alone():
    found = bs.simulate("thesis/three_mass_search", stop=2).estimates["hybrid"]
    assert len(found) == 10 and np.abs([e.z for e in found.values()]).max() < 4 and found.nees < 30
    assert max(e.std / e.truth for e in found.values()) < 0.03


def test_a_rigid_robot_is_a_start():
    """(6.1): Jm + r^2 Ja of Table 7.1 by hand, 0.0121 + 1130 / 224.3^2; friction is biased near standstill."""
    found = bs.simulate("thesis/rigid", stop=10).estimates["ls"]
    assert found["J"].truth == pytest.approx(0.0121 + 1130 / 224.3**2) and abs(found["J"].relative_error) < 0.02
    assert abs(found["Fc"].relative_error) < 0.2 and abs(found["Fv"].relative_error) < 0.4


def test_two_mean_stiffnesses_make_a_cubic_spring_when_both_have_a_say():
    """(6.8) as printed is the stiffness of the larger record and no k3; with equal weights it is a start."""
    estimates = bs.simulate("thesis/mean_spring").estimates
    printed, fair = estimates["spring"], estimates["fair"]
    assert printed["k1"].value == pytest.approx(estimates["much"]["k1"].value, rel=0.01) and printed["k3"].relative_error < -0.9
    assert abs(fair["k1"].relative_error) < 0.05 and -0.5 < fair["k3"].relative_error < -0.1


def test_a_mean_spring_wants_two_torques_and_two_responses():
    text = MeanSpring.example
    with pytest.raises(bs.DiagramError, match=r"block 'spring': 1 torques are connected to u; that of `small`"):
        bs.simulate(text.replace("large: much, in: [u1, u2]", "large: much, in: u1"))
    with pytest.raises(bs.DiagramError, match=r"block 'spring': small: 'fwe' is neither.*Did you mean 'few'"):
        bs.simulate(text.replace("small: few", "small: fwe"))


@pytest.mark.slow
def test_the_end_is_at_the_bound():
    """What it claims, sigma^2 (psi' psi)^-1, is the bound for the recorded torque; over seeds its errors are that large."""
    found = [bs.simulate("thesis/chain", seed=seed).estimates["hybrid"] for seed in range(100, 112)]
    z = np.array([[e[n].z for n in NAMES] for e in found])
    low, high = consistent_interval(len(NAMES), len(found))
    assert low < np.mean([e.nees for e in found]) < high
    assert np.abs(z.mean(axis=0)).max() < 3.5 / np.sqrt(len(found)) and 0.8 < z.std() < 1.2
