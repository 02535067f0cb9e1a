"""Estimates: numbers with uncertainty and truth; tables, files, pictures, scores; and what the command line makes of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocks.identifiers.regression.least_squares import LeastSquares
from blocks.plants.joints import ElectroMechanicalPositioner, GravityJoint
from blocksim.cli.commands import app
from blocksim.contract.plant import Plant
from blocksim.errors import RecordError
from blocksim.estimation.estimate_files import read_estimates
from blocksim.estimation.estimates import Estimate, Estimates
from blocksim.pictures.estimate_plot import plot_estimates

NAMES = ("J", "Fv", "Fc", "Ms")


def plant(path="joint", **settings) -> Plant:
    return Plant(GravityJoint, GravityJoint(**settings).settings, path)


@pytest.fixture
def found() -> Estimates:
    values = np.array([2e-4, 2e-4, 0.019, 0.0135])
    covariance = np.diag([1e-5, 1e-5, 1e-3, 1e-4]) ** 2
    covariance[0, 1] = covariance[1, 0] = 0.5e-10
    details = {"condition": math.inf, "a": np.arange(2)}
    return Estimates.of("wls", NAMES, values, covariance, plant(), warnings=("take care",), reason="enough", details=details)


def test_one_estimate_knows_its_error():
    one = Estimate("J", 1.1, 0.05, 1.0, "kg")
    assert (one.error, one.relative_error, one.z) == pytest.approx((0.1, 0.1, 2.0))
    assert one.interval == pytest.approx((1.1 - 1.96 * 0.05, 1.1 + 1.96 * 0.05), abs=1e-5)
    assert math.isnan(Estimate("J", 1.0).z) and Estimate("J", 0.0, 1.0).relative_std == math.inf


def test_units_truth_and_assumptions_come_from_the_plant(found):
    assert found["Fv"].unit == "N m s/rad" and found["J"].truth == 1.9e-4 and found.model == "joint"
    assert found.details["assumed"]["type"] == "GravityJoint"
    assert found.details["assumed"]["settings"] == {
        "N": 15.0,
        "theta0": 0.0,
        "g": 9.81,
        "friction": "tanh",
        "beta": 10.0,
        "offset": 0.0,
    }
    np.testing.assert_allclose(found.vector(["Fc", "J"]), [0.019, 2e-4])
    np.testing.assert_allclose(found.truth_vector(), [1.9e-4, 2e-4, 0.02, 0.0133])
    np.testing.assert_allclose(found.std_vector(["J"]), [1e-5])


def test_the_normalised_error_is_the_quadratic_form(found):
    error = found.vector() - found.truth_vector()
    assert found.nees == pytest.approx(error @ np.linalg.inv(found.covariance) @ error)
    unsure = found.covariance.copy()
    unsure[3, 3] = np.inf
    part = Estimates.of("x", NAMES, found.vector(), unsure, plant())
    assert part.nees == pytest.approx(error[:3] @ np.linalg.inv(unsure[:3, :3]) @ error[:3])
    assert math.isnan(Estimates.of("x", NAMES, found.vector(), None, plant()).nees)


def test_normalised_errors_of_honest_estimates_are_chi_squared():
    rng, truth = np.random.default_rng(1), np.array(list(plant().truth.values()))
    P = np.diag(0.1 * truth) @ (0.5 * np.eye(4) + 0.5) @ np.diag(0.1 * truth)
    nees = [Estimates.of("x", NAMES, rng.multivariate_normal(truth, P), P, plant()).nees for _ in range(1000)]
    assert np.mean(nees) == pytest.approx(4, abs=4 * math.sqrt(8 / 1000))
    assert np.var(nees) == pytest.approx(8, rel=0.25)


def test_the_table_is_aligned_and_says_what_is_known(found):
    lines = str(found).splitlines()
    assert lines[0] == "weighted least squares of joint"
    assert lines[1].split() == ["name", "value", "std", "%std", "truth", "error", "%", "z", "unit"]
    assert lines[2].split() == ["J", "0.0002", "1e-05", "5", "0.00019", "+5.26", "+1.0", "kg", "m²"]
    assert len({line.index("kg m²" if "J" in line else "N m") for line in (lines[2], lines[4])}) == 1
    assert lines[-2:] == ["enough", "warning: take care"]
    bare = str(Estimates.of("guess", ("J",), [1.0])).splitlines()
    assert bare == ["guess", "name  value", "J         1"]
    assert "<td>0.0002</td>" in found._repr_html_() and "take care" in found._repr_html_()


def test_a_truth_of_zero_has_no_percentage():
    row = Estimates("x", (Estimate("LMY2", 0.1, 0.1, 0.0),)).rows()
    assert row == (["name", "value", "std", "%std", "truth", "z"], [["LMY2", "0.1", "0.1", "100", "0", "+1.0"]])


def test_files_keep_everything(found, tmp_path):
    found.save(tmp_path / "x.json")
    again = Estimates.load(tmp_path / "x.json")
    assert str(again) == str(found) and again.entries == found.entries
    np.testing.assert_array_equal(again.covariance, found.covariance)
    assert again.details["a"] == [0, 1] and again.details["condition"] == "inf"
    unsure = Estimates.of("x", ("a",), [1.0], [[np.inf]])
    assert Estimates.from_dict(json.loads(json.dumps(unsure.to_dict(), allow_nan=False))).entries[0].std == math.inf
    found.save(tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0] == "name,value,std,truth,error,z,unit" and lines[1].startswith("J,0.0002,1e-05,0.00019,")
    with pytest.raises(RecordError, match=r"ends in \.json or \.csv"):
        found.save(tmp_path / "x.txt")


@pytest.mark.parametrize("text", ["{}", "[1]", '{"method": "x", "parameters": {"J": 3}}', '{"ls": {"J": 1}}', "{"])
def test_other_files_are_refused(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(RecordError, match=r"estimates|JSON"):
        read_estimates(tmp_path / "x.json")


def test_settings_for_a_run(found):
    assert found.as_params() == {"joint.J": 2e-4, "joint.Fv": 2e-4, "joint.Fc": 0.019, "joint.Ms": 0.0135}
    loose = Estimates.of("x", ("J",), [1.0])
    assert loose.as_params("arm") == {"arm.J": 1.0}
    with pytest.raises(RecordError, match="name the block"):
        loose.as_params()
    assert Estimates.of("x", ("arm.J",), [1.0]).as_params() == {"arm.J": 1.0}
    with pytest.raises(RecordError, match="J: no number was found"):
        Estimates.of("x", ("J",), [math.nan]).as_params("arm")


class TestScore:
    def test_the_same_model_with_other_values(self, found):
        other = found.score(plant(J=3e-4))
        assert other["J"].truth == 3e-4 and other.warnings == found.warnings

    def test_a_block_or_values_will_do(self, found):
        assert found.score(GravityJoint(J=3e-4))["J"].truth == 3e-4
        assert found.score({"J": 5.0})["J"].error == pytest.approx(2e-4 - 5)
        with pytest.raises(RecordError, match="names none of J"):
            found.score({"M": 5.0})

    def test_another_law_of_friction_or_ratio_is_named(self, found):
        other = found.score(GravityJoint(friction="sign", N=10.0, theta0=0.1))
        assert "assumed N = 15 (in truth 10); theta0 = 0 (in truth 0.1); friction = tanh (in truth sign)" in other.warnings[-1]

    def test_a_gain_of_the_drive_is_an_assumption_too(self):
        one = ElectroMechanicalPositioner()
        found = Estimates.of("x", ("M",), [90.0], None, Plant(type(one), one.settings))
        assert "gtau = 35.1507 (in truth 30)" in found.score(ElectroMechanicalPositioner(gtau=30.0)).warnings[-1]

    def test_another_type_is_refused(self, found):
        with pytest.raises(RecordError, match=r"estimates of GravityJoint cannot be compared .* ElectroMechanicalPositioner"):
            found.score(ElectroMechanicalPositioner())


class TestPicture:
    def test_points_lie_at_estimate_by_truth_and_lines_at_the_interval(self, found, tmp_path):
        figure = found.plot(tmp_path / "x.png")
        axes = figure.axes[0]
        dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
        np.testing.assert_allclose(dots, found.vector() / found.truth_vector())
        assert "truth" in axes.get_xlabel() and [t.get_text() for t in axes.get_yticklabels()] == list(NAMES)
        assert (tmp_path / "x.png").stat().st_size > 5000

    def test_identifiers_of_one_plant_share_an_axis(self, found):
        lone = Estimates.of("guess", ("a", "b"), [1.0, -2.0], [0.1, 0.1])
        figure = plot_estimates({"one": found, "two": found, "three": lone})
        assert len(figure.axes) == 2
        assert [t.get_text() for t in figure.axes[0].get_legend().get_texts()] == ["one", "two"]

    def test_whatever_the_numbers_are_it_is_drawn(self):
        strange = (
            Estimate("a_{$", 1e9, math.inf, 1.0),
            Estimate("b", math.nan),
            Estimate("c", 0.0, 1.0, 0.0),
            Estimate("d", 0.0),
            Estimate("e", -5.0, 0.1, 1.0),
        )
        assert len(plot_estimates({"": Estimates("x", strange)}).axes) == 1
        assert not plot_estimates({}).axes


PIPE = LeastSquares.example
LEAKY = (
    PIPE + "  other: {type: LeastSquares, model: joint, method: ols, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: push}}\n"
)


class TestCommand:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "x.yaml").write_text(PIPE)
        (tmp_path / "two.yaml").write_text(LEAKY)
        return tmp_path

    def call(self, *arguments, code=0):
        result = CliRunner().invoke(app, ["run", *arguments, "--debug", "--stop", "1"])
        assert result.exit_code == code, result.output
        return result.output

    def test_a_run_prints_the_table_and_writes_it(self, folder):
        text = self.call("x.yaml", "--out", "o", "--plot")
        assert "ls: weighted least squares of joint" in text and "error of the effort" in text and "leak of truth" in text
        assert (folder / "o/estimates.png").exists() and "o/estimates.json" in text
        data = json.loads((folder / "o/estimates.json").read_text())
        assert data["ls"]["parameters"]["J"]["truth"] == 1.9e-4
        assert json.loads(self.call("x.yaml", "--json"))["estimates"]["ls"]["parameters"].keys() == set(NAMES)

    def test_a_run_whose_identifier_fails_is_kept(self, folder):
        text = self.call("two.yaml", "--set", "ls.skip=5", "--out", "o", code=2)
        assert "block 'ls': no row is left" in text and "o/record.npz" in text
        assert list(json.loads((folder / "o/estimates.json").read_text())) == ["other"]
        assert "no row is left" in json.loads((folder / "o/run.json").read_text())["error"]["message"]

    def test_estimates_of_one_run_are_the_settings_of_another(self, folder):
        self.call("two.yaml", "--out", "o")
        both = json.loads((folder / "o/estimates.json").read_text())
        J = both["ls"]["parameters"]["J"]["value"]
        text = self.call("x.yaml", "--with-estimates", "o/estimates.json", "--estimates-of", "ls", "--out", "p")
        assert f"from o/estimates.json: joint.J = {J:.6g} (was 0.00019)" in text
        assert json.loads((folder / "p/estimates.json").read_text())["ls"]["parameters"]["J"]["truth"] == J
        assert json.loads((folder / "p/run.json").read_text())["parameters"]["joint.J"] == J
        assert "say which, e.g. --estimates-of ls" in self.call("x.yaml", "--with-estimates", "o/estimates.json", code=2)
        assert "has no estimates of 'rls'" in self.call(
            "x.yaml", "--with-estimates", "o/estimates.json", "--estimates-of", "rls", code=2
        )
        assert "cannot be read" in self.call("x.yaml", "--with-estimates", "none.json", code=2)

    def test_the_plant_may_have_another_name_there(self, folder):
        Estimates.of("ols", ("J",), [3e-4], None, plant(path="")).save(folder / "e.json")
        assert "joint.J = 0.0003 (was 0.00019)" in self.call("x.yaml", "--with-estimates", "e.json")
        Estimates.of(
            "ols", ("M",), [90.0], None, Plant(ElectroMechanicalPositioner, ElectroMechanicalPositioner().settings)
        ).save("f.json")
        assert "of that type the diagram has no block" in self.call("x.yaml", "--with-estimates", "f.json", code=2)


WIRED = """
format: 1
simulate: {stop: 0.1, solver: rk4, step: 1e-3}
blocks:
  ref:     {type: Sine}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  ideal:   {type: Sum, signs: "+-", in: [ref, joint.q]}
  pid:     {type: PID, Ts: 1e-3, kp: 1, in: error}
  free:    {type: PD, Ts: 1e-3, kp: 1, in: ideal}
  both:    {type: Sum, in: [pid, free]}
  limit:   {type: Saturation, lower: -1, upper: 1, in: both}
  joint:   {type: GravityJoint, in: limit}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}
  twice:   {type: Gain, k: 2, in: joint.qd}
  smooth:  {type: ZeroPhaseFilter, cutoff: 50, in: pid}
  spy:     {type: ZeroPhaseFilter, cutoff: 50, in: twice}
"""


def test_only_plants_and_what_follows_from_them_unsensed_are_truth():
    record = bs.simulate(WIRED, engine="python")
    truth = {name for name in record if not record.signal(name).measured}
    assert truth == {"ideal.y", "joint.q", "joint.qd", "joint.qdd", "twice.y", "spy.y"}
