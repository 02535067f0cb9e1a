"""One colour for each method, wherever it is drawn."""

from __future__ import annotations

import matplotlib.colors
import pytest

import blocksim as bs
from blocksim.diagram.build import open_diagram
from blocksim.estimation.estimates import Estimate, Estimates
from blocksim.pictures.estimate_plot import plot_estimates
from blocksim.pictures.palette import looks_of
from blocksim.schedule.flatten import flatten
from blocksim.studio.running.methods import methods_data

LOOP = """format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, seed: 7}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [1.0, 0.4], b: [0.3, -0.2]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, noise_std: 0.3, in: joint.q}
  ekf:     {type: JointEKF, Ts: 1e-3, model: joint, factor: 1.1, in: {y: encoder, u: pid}}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 10, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: pid}}
  didim:   {type: DIDIM, model: joint, initial: diagram, decimate: 10, in: pid}
"""


@pytest.fixture(scope="module")
def record():
    return bs.simulate(LOOP)


def test_methods_come_as_the_file_has_them_with_the_colours_of_the_studio(record):
    assert list(record.estimates) == ["ekf", "ls", "didim"]
    studio = {row["name"]: row["colour"] for row in methods_data(flatten(open_diagram(LOOP)))}
    assert studio == {name: look.colour for name, look in looks_of(record.estimates).items()}


def test_a_residual_has_the_colour_of_its_estimates(record):
    looks = looks_of(record.estimates)
    lines = {axes.get_ylabel(): axes.get_lines() for axes in bs.plot(record).axes}
    for name in ("ls", "didim"):
        (line,) = lines[f"{name}.residual [N m]"]
        assert matplotlib.colors.same_color(line.get_color(), looks[name].colour)


@pytest.mark.parametrize("methods", [2, 5, 13, 24])
def test_many_methods_leave_their_axis_its_room(methods):
    values = [Estimate("J", 1.0, 0.1, 1.0, "kg m^2"), Estimate("Fv", 2.0, 0.1, 2.0, "N m s/rad")]
    figure = plot_estimates({f"method_{n}": Estimates("ls", tuple(values), model="joint") for n in range(methods)})
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_position().width > 0.6
    legend = axes.get_legend().get_window_extent()
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.x1
