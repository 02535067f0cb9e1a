"""Short versions of the studies of the thesis' experiments: what failed there fails here, for the reason the page gives.

What is said to work attains the Cramer-Rao bound, which is found by finite differences of the plant.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from short_studies import lines, points, short, study_path

import blocksim as bs
from blocksim.studies.file import load_study

STUDIES = study_path("thesis/friction").parent
#: The reference's relative bounds in %, for the diagrams' own 20 s.
REFERENCE = {"Fv": 0.16, "Fc": 0.018}


@cache
def scores(name, methods, inputs=(), repeat=6, bounded=False):
    """Scores by (method, input, parameter) of some methods and inputs of a study."""
    keys = {"repeat": repeat} | ({"zip": points(name, input=inputs)} if inputs else {})
    found = short(name, methods, **keys, **({} if bounded else {"bound": None}))
    return {(row["method"], row.get("input", ""), row["parameter"]): row for row in lines(found.scores)}


def bound(bench, names, **params):
    """Relative Cramer-Rao bounds in %, from central differences of the speed by each parameter."""
    diagram = bs.open_diagram(STUDIES / f"bench_{bench}.yaml", params or None)
    del diagram.nodes["rpem"]
    diagram.log = [entry for entry in diagram.log if not entry.signal.startswith("rpem")]
    robot, noise = diagram.nodes["robot"].block.settings, diagram.nodes["y"].block.settings["std"]
    moves = [{f"robot.{n}": robot[n] * (1 + s)} for n in names for s in (1e-4, -1e-4)]
    runs = bs.simulate_many(diagram, params=moves, collect=lambda record: record["robot.w_m"])
    psi = np.array([(runs[2 * k] - runs[2 * k + 1]) / 2e-4 for k in range(len(names))]).T
    return dict(zip(names, 100 * noise * np.sqrt(np.diag(np.linalg.inv(psi.T @ psi))), strict=True))


def claimed(row):
    return 100 * row["claimed_std"] / row["truth"]


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_file_can_be_read(path):
    if path.stem.startswith("bench_"):
        assert {"robot", "y", "rpem"} <= set(bs.open_diagram(path).nodes)
    else:
        assert load_study(path).title


# ---- friction ---------------------------------------------------------------------------------------------------------


def test_friction_as_printed_leaves_Fv_where_it_was():
    """Figures 8.1 and 8.4: Fc is found, Fv is not; and under the sine P says that it was."""
    found = scores("thesis/friction", ("printed", "half"), ("u_slump", "u_sin"), 4, True)
    assert abs(found["printed", "u_slump", "Fc"]["bias_percent"]) < 2 and found["printed", "u_slump", "Fv"]["rmse_percent"] > 15
    pinned = found["printed", "u_sin", "Fv"]
    assert 1 < pinned["bias_percent"] < 2.5 and pinned["z_mean"] > 8 and pinned["coverage"] == 0
    assert abs(found["printed", "u_sin", "Fc"]["bias_percent"]) < 0.5


def test_friction_set_right_attains_the_bound_under_the_same_sine():
    found, limit = scores("thesis/friction", ("printed", "half"), ("u_slump", "u_sin"), 4, True), bound("friction", ("Fv", "Fc"))
    for name, wanted in REFERENCE.items():
        row = found["half", "u_sin", name]
        assert limit[name] == pytest.approx(wanted, rel=0.05)
        assert claimed(row) == pytest.approx(limit[name], rel=0.05)
        assert 100 * row["crb_std"] / row["truth"] == pytest.approx(limit[name], rel=0.01)  # the study's own
        assert abs(row["z_mean"]) < 1.2 and row["z_std"] < 2 and row["rmse_percent"] < 2 * limit[name]


def test_no_tuning_finds_Fv_under_low_pass_noise():
    """The bound itself is half of Fv there: an excitation that says nothing."""
    row = scores("thesis/friction", ("printed", "half"), ("u_slump", "u_sin"), 4, True)["half", "u_slump", "Fv"]
    assert bound("friction", ("Fv", "Fc"), slump=1, sine=0, noise=8e-4)["Fv"] > 35
    assert claimed(row) > 25 and row["coverage"] > 0.8  # and it knows


@pytest.mark.slow
def test_a_start_that_is_not_trusted_is_not_lost():
    """From the thesis' good start, P0 = 1 takes Fv to its limit in some runs before the robot moves; it comes back."""
    found = scores("thesis/friction", ("followed", "wide"), ("u_sin",), repeat=12)
    for method in ("followed", "wide"):
        row = found[method, "u_sin", "Fv"]
        assert abs(row["z_mean"]) < 1.2 and row["rmse_percent"] < 0.5


# ---- stiffness --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_k3_cannot_be_seen_with_one_newton_metre():
    """Figure 8.8: k1 comes, k3 does not, whatever the tuning."""
    found, limit = (
        scores("thesis/stiffness", ("printed", "half"), ("u_bin", "multisine_low"), repeat=4),
        bound("stiffness", ("k1", "k3"), peak=0, binary=1, noise=2.3e-3),
    )
    assert limit["k3"] > 100 and limit["k1"] < 0.02
    for method in ("printed", "half"):
        assert abs(found[method, "u_bin", "k1"]["bias_percent"]) < 0.1
        assert found[method, "u_bin", "k3"]["rmse_percent"] > 5
    assert claimed(found["half", "u_bin", "k3"]) > 40


@pytest.mark.slow
def test_ten_newton_metres_show_k3_and_break_the_printed_recursion():
    found, limit = (
        scores("thesis/stiffness", ("printed", "half"), ("u_bin", "multisine_low"), repeat=4),
        bound("stiffness", ("k1", "k3")),
    )
    assert found["printed", "multisine_low", "k3"]["failures"] == 4
    for name in ("k1", "k3"):
        row = found["half", "multisine_low", name]
        assert limit[name] < 0.12 and claimed(row) == pytest.approx(limit[name], rel=0.05)
        assert abs(row["z_mean"]) < 1.5 and row["rmse_percent"] < 2 * limit[name]


def test_one_run_shows_what_one_newton_metre_hides_and_ten_do_not():
    """Figure 8.8 and the multisine beside it, in short: k1 comes, k3 does not; the printed recursion breaks where k3 shows."""
    found = scores("thesis/stiffness", ("printed", "half"), ("u_bin", "multisine_low"), repeat=1)
    for method in ("printed", "half"):
        assert abs(found[method, "u_bin", "k1"]["bias_percent"]) < 0.1
    assert claimed(found["half", "u_bin", "k3"]) > 40 and abs(found["half", "u_bin", "k3"]["bias_percent"]) > 20
    assert found["printed", "multisine_low", "k3"]["failures"] == 1
    assert abs(found["half", "multisine_low", "k3"]["bias_percent"]) < 0.5  # the bound is 0.1


def test_one_at_a_time_the_printed_recursion_finds_all_but_k3():
    """Figures 8.5, 8.6, 8.12 and 8.13; k3 comes with a torque that winds the gear up."""
    found = scores("thesis/one_by_one", ("Fv", "Fc", "k1", "k3", "k3_wound"), repeat=1)
    for name in ("Fv", "Fc", "k1"):
        assert abs(found[name, "", name]["bias_percent"]) < 0.3, name
    assert abs(found["k3", "", "k3"]["bias_percent"]) > 25 and abs(found["k3_wound", "", "k3"]["bias_percent"]) < 0.3


# ---- hysteresis -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_hysteresis_shows_under_the_thesis_own_binary_torque():
    """Printed, A stays where it starts; set right, both attain the bound, from half and from 0 alike."""
    found = scores("thesis/hysteresis", ("half", "followed", "zero"), ("u_bin",), repeat=4)
    limit = bound("hysteresis", ("alpha", "A"), peak=0, binary=1, lines=100, noise=2.4e-3)
    assert found["half", "u_bin", "A"]["bias_percent"] < -45
    assert limit["alpha"] == pytest.approx(0.35, rel=0.1) and limit["A"] == pytest.approx(0.003, rel=0.2)  # the reference's
    for method in ("followed", "zero"):
        for name in ("alpha", "A"):
            row = found[method, "u_bin", name]
            assert claimed(row) == pytest.approx(limit[name], rel=0.1)
            assert abs(row["z_mean"]) < 1.5 and row["rmse_percent"] < 2 * limit[name]


def test_hysteresis_in_one_run():
    """Figure 8.14 in short: printed, A stays at half; followed, both are within 4 of the reference's bounds, 0.35 and 0.003 %."""
    found = scores("thesis/hysteresis", ("half", "followed"), ("u_bin",), repeat=1)
    assert found["half", "u_bin", "A"]["bias_percent"] < -45
    assert abs(found["followed", "u_bin", "alpha"]["bias_percent"]) < 1.4
    assert abs(found["followed", "u_bin", "A"]["bias_percent"]) < 0.012


@pytest.mark.slow
def test_what_hid_the_hysteresis_was_the_scale_of_its_gradient():
    """With nothing else put right, from 0: A comes under low-pass noise, both under the binary torque."""
    found = scores("thesis/hysteresis", ("printed", "scaled_0"), ("u_slump", "u_bin"), repeat=4)
    assert found["printed", "u_slump", "A"]["bias_percent"] < -99 and found["scaled_0", "u_slump", "A"]["rmse_percent"] < 12
    assert found["scaled_0", "u_bin", "A"]["rmse_percent"] < 0.1 and found["scaled_0", "u_bin", "alpha"]["rmse_percent"] < 8


@pytest.mark.slow
def test_a_state_that_does_not_follow_is_sure_of_wrong_values():
    found = scores("thesis/hysteresis", ("tuned", "followed"), ("multisine_high",), repeat=4)
    assert found["tuned", "multisine_high", "alpha"]["z_mean"] > 4
    assert abs(found["followed", "multisine_high", "alpha"]["z_mean"]) < 1.5


def test_at_zero_the_gradient_of_alpha_is_zero():
    """alpha multiplies a torque that A makes: with A = 0 there is none. It has to wait until A has left 0."""
    diagram = bs.open_diagram(STUDIES / "bench_hysteresis.yaml")
    diagram.nodes.pop("rpem")
    diagram.log = [entry for entry in diagram.log if not entry.signal.startswith("rpem")]
    speeds = bs.simulate_many(
        diagram, params=[{"robot.A": 0.0, "robot.alpha": a} for a in (0.0, 1e3)], stop=1, collect=lambda r: r["robot.w_m"]
    )
    assert np.array_equal(*speeds)


# ---- backlash and starting values -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_wrong_backlash_of_the_thesis_is_its_noise():
    """q = 0.93 mrad at 7.9 rad/s (figure 8.18) is two standard deviations; errors shrink with the noise."""
    quiet, loud = lines(short("thesis/backlash", ("newton",), sweep={"noise": [0.79, 7.9]}, repeat=3).scores)
    assert loud["std_percent"] < 6 and 2.5 < claimed(loud) < 4.5 and abs(loud["z_mean"]) < 1.8
    assert claimed(quiet) == pytest.approx(claimed(loud) / 10, rel=0.05)
    assert 1.5 < 7 / claimed(loud) < 3


def test_backlash_at_a_tenth_of_the_noise_is_right_to_the_bound():
    (quiet,) = lines(short("thesis/backlash", ("newton",), sweep={"noise": [0.79]}, repeat=2).scores)
    assert quiet["claimed_std"] == pytest.approx(quiet["crb_std"], rel=0.1)
    assert abs(quiet["bias"]) < 3 * quiet["crb_std"] and 100 * quiet["crb_std"] / quiet["truth"] < 0.5


def test_starting_values_are_best_under_a_small_torque_and_bent_by_the_spring_under_a_large_one():
    """Figure 6.1: 1 % at 1 N m, where friction damps the resonance; 2 % of k1 at 3, 60 % at 30; 1 % without Fc and k3."""
    bent = {"bent": {"robot.Fc": 0.0, "robot.k3": 0.0}}
    rows = lines(short("thesis/starting_values", repeat=2, ablate=bent, simulate={"stop": 6}).scores)
    k1 = {(row["peak"], row["ablation"]): row for row in rows if row["parameter"] == "k1"}
    names = {ablation for _, ablation in k1}
    linear = next(n for n in names if n not in ("full",) and abs(k1[30, n]["bias_percent"]) < 1)
    assert all(k1[peak, "full"]["failures"] == 0 for peak in (1, 3, 10, 30)) and abs(k1[1, "full"]["bias_percent"]) < 1.5
    assert all(
        abs(r["bias_percent"]) < 1 for r in rows if r["peak"] == 1 and r["parameter"] in ("Jm", "Ja", "notch", "resonance")
    )
    assert -5 < k1[3, "full"]["bias_percent"] < -1 and 5 < k1[10, "full"]["bias_percent"] < 15
    assert k1[30, "full"]["bias_percent"] > 40
    assert all(abs(k1[peak, linear]["bias_percent"]) < 1 for peak in (1, 3, 10, 30))
