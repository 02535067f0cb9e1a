"""Algorithm 3 of the thesis: truth without noise, the bound of Cramer and Rao with it, and what stops it."""

from fractions import Fraction

import numpy as np
import pytest

import blocksim as bs
from blocks.identifiers.rpem_hybrid import player
from blocks.identifiers.rpem_search import whiteness

#: Two parameters that are plain to see.
LAG = """
format: 1
simulate: {stop: 10, solver: dopri5, rtol: 1e-10, atol: 1e-12, every: 0.01, seed: 1}
parameters: {std: 0.0}
blocks:
  u:      {type: RandomBinary, amplitude: 1, clock: 0.05}
  plant:  {type: FirstOrderLag, k: 2.0, T: 0.4, in: u}
  noise:  {type: WhiteNoise, Ts: 0.01, std: "${std}"}
  y:      {type: Sum, in: [plant, noise]}
  hybrid: {type: RPEMHybrid, model: plant, signal: y, start: {k: 1.0, T: 1.0}, in: [u, y]}
"""
#: Name of the diagram, start as in the thesis or half of the truth, relative std in % of the reference computation.
THESIS = {
    "friction": ("thesis/u_sin", {"Fv": 0.05, "Fc": 0.2}, {"Fv": 0.16, "Fc": 0.018}),
    "stiffness": ("thesis/multisine_high", {"k1": 2e6, "k3": 5e10}, {"k1": 0.004, "k3": 0.004}),
    "hysteresis": ("thesis/hysteresis", {"alpha": 500.0, "A": 5e6}, {"alpha": 0.019, "A": 0.003}),
    "backlash": ("thesis/backlash", {"q": 0.5e-3}, {}),
}


def own(found):
    """Its warnings, without those about what was taken from the simulated plant."""
    return [w for w in found.warnings if not w.startswith("leak of truth")]


def with_hybrid(name, start, **settings):
    diagram = bs.open_diagram(name)
    diagram.add(
        "hybrid", "RPEMHybrid", inputs=["u", "y.w_hat"], model="robot", signal="w_m", start=start, hold="cubic", **settings
    )
    return diagram


def estimates(diagram, seeds, **options):
    return bs.simulate_many(diagram, seeds=seeds, collect=lambda record: record.estimates["hybrid"], **options)


# ---- without noise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["newton", "gradient"])
def test_without_noise_it_returns_the_truth(method):
    found = bs.simulate(LAG, params={"hybrid.method": method, "hybrid.iterations": 200}).estimates["hybrid"]
    within = 1e-7 if method == "newton" else 1e-2
    assert found["k"].value == pytest.approx(2.0, rel=within)
    assert found["T"].value == pytest.approx(0.4, rel=within)
    assert found.details["history"][0] == pytest.approx([1.0, 1.0])
    assert np.all(np.diff(found.details["loss"]) < 0)  # every step lowered V


def test_initial_states_are_parameters_too():
    start = "{k: 1.0, T: 1.0, x: 0.1}"
    text = LAG.replace("T: 0.4, in", "T: 0.4, x: 0.7, in").replace("{k: 1.0, T: 1.0}", start)
    found = bs.simulate(text).estimates["hybrid"]
    assert found["x"].value == pytest.approx(0.7, rel=1e-7) and found["k"].value == pytest.approx(2.0, rel=1e-7)


def test_a_thesis_experiment_without_noise():
    path, start, _ = THESIS["stiffness"]
    record = bs.simulate(with_hybrid(path, start), params={"y.sensor.std": 0.0}, step=2e-3)
    found = record.estimates["hybrid"]
    for one in found.values():
        assert abs(one.relative_error) < 1e-4, one  # what a cubic spline leaves of the input between samples
    assert np.abs(record["hybrid.residual"]).max() < 1e-4 * np.abs(record["robot.w_m"]).max()


def test_a_held_input_is_played_exactly():
    text = LAG.replace("RandomBinary, amplitude: 1, clock: 0.05", "ZeroOrderHold, Ts: 0.01, in: wave").replace(
        "blocks:", "blocks:\n  wave:   {type: Sine, amplitude: 1, frequency: 1.3}"
    )
    found = bs.simulate(text).estimates["hybrid"]
    assert [one.relative_error for one in found.values()] == pytest.approx([0, 0], abs=1e-7)


def test_the_input_between_samples():
    """Straight lines and cubic splines of sin: errors of h^2/8 and 5/384 h^4 at most (de Boor), and none at the samples."""
    t = np.arange(101) * 0.1
    for hold, bound in (("linear", 0.1**2 / 8), ("cubic", 3 * 5 / 384 * 0.1**4)):
        diagram = bs.Diagram()
        diagram.add("u", player(np.sin(t), Fraction(1, 10), hold))
        record = bs.simulate(diagram, stop=10, every=0.01)
        assert np.abs(record["u"] - np.sin(record.t)).max() < bound
        assert record["u"][::10] == pytest.approx(np.sin(t), abs=1e-12)


# ---- with noise -------------------------------------------------------------------------------------------------------


def test_estimates_are_honest_over_seeds():
    runs = estimates(LAG, range(60), params=[{"std": 0.2}], solver="rk4", step=0.01)
    for name, truth in (("k", 2.0), ("T", 0.4)):
        z = np.array([found[name].z for found in runs])
        assert runs[0][name].truth == truth
        assert abs(z.mean()) < 4 / np.sqrt(len(z)) and 0.75 < z.std() < 1.3
    assert np.mean([found.details["sigma"] for found in runs]) == pytest.approx(0.2, rel=0.02)
    assert sum("the residuals are coloured" in " ".join(found.warnings) for found in runs) <= 2
    assert all(found.reason.startswith("converged") and own(found) == [] for found in runs[:5])


def test_the_standard_deviation_is_the_bound_of_a_closed_form():
    """A constant through a gain alone: k is a mean, with std sigma / (u sqrt(N)) where T is known and short."""
    text = LAG.replace("RandomBinary, amplitude: 1, clock: 0.05", "Constant, value: 3").replace("T: 0.4", "T: 1e-3, x: 6.0")
    text = text.replace("{k: 1.0, T: 1.0}", "{k: 1.0}")
    found = bs.simulate(text, params={"std": 0.2}).estimates["hybrid"]
    assert found["k"].std == pytest.approx(found.details["sigma"] / (3 * np.sqrt(1001)), rel=2e-3)


@pytest.mark.parametrize("name", list(THESIS))
def test_the_thesis_experiments(name):
    """Each pair at once, which the thesis could not find, and the backlash that it could."""
    path, start, bound = THESIS[name]
    runs = estimates(with_hybrid(path, start), range(3), step=2e-3)
    z = np.array([[found[n].z for n in start] for found in runs])
    assert np.abs(z).max() < 4.5 and np.sqrt(np.mean(z**2)) < 2.2
    for parameter, percent in bound.items():
        claimed = 100 * np.mean([found[parameter].relative_std for found in runs])
        assert 0.4 * percent < claimed < 2.2 * percent  # the lines of the multisine have phases of their own
    for found in runs:
        assert own(found) == []  # it would say if it had not converged
        assert found.details["simulations"] <= 200


@pytest.mark.slow
@pytest.mark.parametrize("name", list(THESIS))
def test_the_thesis_experiments_over_many_seeds(name):
    path, start, _ = THESIS[name]
    runs = estimates(with_hybrid(path, start), range(40))
    for parameter in start:
        z = np.array([found[parameter].z for found in runs])
        assert abs(z.mean()) < 4 / np.sqrt(len(z)) and 0.7 < z.std() < 1.35, parameter


@pytest.mark.slow
def test_starting_values_and_search_need_nothing_but_the_gear_ratio():
    runs = bs.simulate_many("thesis/starting_values", seeds=range(6), collect=lambda record: dict(record.estimates))
    for found in runs:
        assert own(found["hybrid"]) == [] and not any("own value" in w for w in found["hybrid"].warnings)
        assert max(abs(one.z) for one in found["hybrid"].values()) < 4.5
        assert max(abs(one.relative_error) for one in found["hybrid"].values()) < 0.02


# ---- the printed algorithm --------------------------------------------------------------------------------------------


def test_the_printed_algorithm_finds_one_parameter_but_crawls_with_two():
    """Appendix B for q (scale 1, D = 1); the same rule with two parameters is still far away after its 20 iterations."""
    backlash = estimates(with_hybrid("thesis/backlash", {"q": 0.5e-3}, method="gradient", scale={"q": 1.0}), [1], step=2e-3)[0]
    assert abs(backlash["q"].z) < 4 and backlash["q"].value == pytest.approx(1e-3, rel=0.15)
    friction = estimates(with_hybrid("thesis/u_sin", {"Fv": 0.05, "Fc": 0.2}, method="gradient"), [1], step=2e-3)[0]
    assert abs(friction["Fv"].relative_error) > 1.0 and "iterations are used up" in friction.reason
    assert any("not converged" in text and "start: {Fv: cloe}" in text for text in friction.warnings)


def test_a_gradient_that_vanishes_is_called_so():
    """With A = 0 there is no hysteresis, and alpha changes nothing: the start of the thesis."""
    diagram = with_hybrid("thesis/hysteresis", {"alpha": 0.0}, scale={"alpha": 1e3}, known={"A": 0.0})
    found = bs.simulate(diagram, step=2e-3).estimates["hybrid"]
    assert found["alpha"].value == 0.0 and np.isinf(found["alpha"].std)
    assert any("does not depend on alpha" in text for text in found.warnings)
    assert "no parameter can move" in found.reason


def test_horizons_add_samples_and_go_on_where_the_last_one_ended():
    found = bs.simulate(LAG, params={"std": 0.1, "hybrid.horizons": 4}).estimates["hybrid"]
    ends = found.details["horizons"]
    assert len(ends) == 4 and len(found.details["history"]) == ends[-1]
    for end in ends[:-1]:
        assert np.array_equal(found.details["history"][end - 1], found.details["history"][end])
    whole = bs.simulate(LAG, params={"std": 0.1}).estimates["hybrid"]
    assert found["T"].value == pytest.approx(whole["T"].value, rel=1e-4)


# ---- limits, starts, failures -----------------------------------------------------------------------------------------


def test_bounds_hold_and_are_told():
    found = bs.simulate(LAG.replace("T: 1.0}", "T: 1.0}, bounds: {k: [0.5, 1.5]}")).estimates["hybrid"]
    assert found["k"].value == 1.5 and found.details["history"][:, 0].max() <= 1.5
    assert any("k ended at a limit" in text for text in found.warnings)


def test_a_start_may_come_from_another_identifier():
    second = "  again:  {type: RPEMHybrid, model: plant, signal: y, start: {T: hybrid}, known: {k: hybrid}, in: [u, y]}\n"
    record = bs.simulate(LAG + second, params={"std": 0.2})
    first, again = record.estimates["hybrid"], record.estimates["again"]
    assert again.details["history"][0][0] == first["T"].value
    assert again["T"].value == pytest.approx(first["T"].value, rel=1e-4)
    with pytest.raises(bs.DiagramError, match=r"start: 'ls' is neither a number nor 'truth' nor a block.*blocks are: hybrid"):
        bs.simulate(LAG + second.replace("{T: hybrid}", "{T: ls}"))


def test_a_model_that_cannot_be_simulated_gives_nan_with_the_reason():
    unstable = LAG.replace("solver: dopri5, rtol: 1e-10, atol: 1e-12, every", "solver: rk4, step: 0.01, every")
    unstable = unstable.replace("T: 1.0}", "T: 1e-5}, known: {k: 1.0}").replace("start: {k: 1.0, T: 1e-5}", "start: {T: 1e-5}")
    found = bs.simulate(unstable).estimates["hybrid"]  # a step of 1000 time constants
    assert np.isnan(found["T"].value) and "cannot be simulated" in found.reason
    assert found.details["simulations"] >= 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("signal: w", "has no output 'w'. It has: y"),
        ("start: {K: 1.0}", "start: no parameter 'K'"),
        ("start: {}", "at least one parameter is wanted"),
        ("start: {k: 0.0, T: 1.0}", "'k' starts at 0, so its size must be said"),
        ("start: {T: -1.0}", "lies outside its limits"),
        ("start: {k: 1.0}, bounds: {k: [2, 1]}", r"needs \[low, high\]"),
        ("start: {k: 1.0}, scale: {T: 1.0}", "scale: no parameter 'T'"),
        ("start: {k: 1.0}, horizons: 0", "at least 1 is wanted"),
        ("start: {k: 1.0}, skip: 10", "too few for 1 parameters"),
    ],
)
def test_mistakes_are_named(change, words):
    key = change.split(":")[0]
    old = {"signal": "signal: y", "start": "start: {k: 1.0, T: 1.0}"}[key]
    with pytest.raises(bs.DiagramError, match=words):
        bs.simulate(LAG.replace(old, change))


def test_what_is_taken_from_the_simulated_plant_is_told():
    found = bs.simulate(with_hybrid("thesis/u_sin", {"Fv": 0.02}), step=2e-3).estimates["hybrid"]
    assert any(w.startswith("leak of truth: Jm, Ja") and "own value" in w for w in found.warnings)


def test_whiteness_is_that_of_statsmodels():
    from statsmodels.stats.diagnostic import acorr_ljungbox

    e = np.random.default_rng(1).normal(size=500)
    e = e - e.mean()
    assert whiteness(e[:, None])[1] == pytest.approx(acorr_ljungbox(e, lags=[20])["lb_pvalue"].iloc[0], rel=1e-9)
