"""k1 and k3 of a cubic spring from two mean stiffnesses: (6.8) of the thesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, model, static
from blocksim.contract.plant import Plant
from blocksim.errors import RecordError, listing
from blocksim.estimation.estimates import Estimates

from ..smoothing.filters import sample_time
from .two_mass_response import FITTED, gear_ratio, mean_springs

__all__ = ["MeanSpring"]


class MeanSpring(RecordBlock):
    """min sum (k[i] x - k1 x - k3 x^3)^2 over the wind-ups x of two records, i = 1, 2: a cubic spring from two mean ones (6.8).

    A FrequencyResponse sees the cubic spring of a two-mass robot as one stiffness, the larger the more the gear is wound up.
    `small` and `large` name two of them, of records with unlike torques; `u` are these torques. The wind-up cannot be measured:
    it is that of the linear robot each response has found, driven by its torque, held between samples. What comes out is a start:
    a mean stiffness is not k1 + k3 x^2 at every instant. As printed, the record with the larger wind-up has nearly all the say,
    and is best explained by k1 = k and k3 = 0; `weights: equal` gives both the same.
    """

    family = "identification"
    icon = "0,0 0.4,0.15 0.7,0.45 1,1; 0,0 0.62,0.36; 0,0 0.9,0.8"
    formula = r"\min_{k_{1}, k_{3}} \sum_{i=1}^{2} \sum_{x} \left(k[i] \, x - k_{1} x - k_{3} x^{3}\right)^{2}"
    example = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}
blocks:
  wave:  {type: Multisine, f_min: 1, f_max: 40, lines: 40, amplitude: 1, phases: schroeder}
  u1:    {type: ZeroOrderHold, Ts: 2e-3, in: wave}
  u2:    {type: Gain, k: 10, in: u1}
  soft:  {type: TwoMassRobot, in: u1}
  hard:  {type: TwoMassRobot, in: u2}
  noise: {type: WhiteNoise, Ts: 2e-3, std: 0.01}
  y1:    {type: Sum, in: [soft.w_m, noise]}
  y2:    {type: Sum, in: [hard.w_m, noise]}
  few:   {type: FrequencyResponse, period: 1, skip: 0, hold: zero, model: soft, in: [u1, y1]}
  much:  {type: FrequencyResponse, period: 1, skip: 0, hold: zero, model: hard, in: [u2, y2]}
  spring: {type: MeanSpring, model: soft, small: few, large: much, in: [u1, u2]}
"""
    starts_from, start_words = ("small", "large"), ()

    model: str = model("the two-mass robot, for its ratio")
    small: Any = static(None, "the FrequencyResponse under the smaller torque", kind=(str, dict), required=True)
    large: Any = static(None, "the FrequencyResponse under the larger torque", kind=(str, dict), required=True)
    weights: str = static("printed", "what the two records weigh", choices=("printed", "equal"))
    u = inport("the torques of the two records", "N m", many=True)

    def process(self, t, u, model: Plant):
        if len(u) != 2:
            raise RecordError(f"{len(u)} torques are connected to u; that of `small` and that of `large` are wanted.")
        robots = [self.settings["small"], self.settings["large"]]
        for name, robot in zip(("small", "large"), robots, strict=True):
            if missing := [n for n in FITTED if n not in robot]:
                raise RecordError(f"{name}: it found no {listing(missing)} of a two-mass robot, but: {listing(robot)}.")
        r, Ts = gear_ratio(model), sample_time(t)
        windups = [linear_windup(robot, r, Ts, np.asarray(torque, float)) for robot, torque in zip(robots, u, strict=True)]
        springs = mean_springs([robot["k1"] for robot in robots], windups, self.weights == "equal")
        details = {"mean_stiffness": [robot["k1"] for robot in robots], "windup": [float(np.abs(x).max()) for x in windups]}
        reason = "of two mean stiffnesses; a start, without standard deviations"
        return Estimates.of("mean spring", ("k1", "k3"), springs, None, model, reason=reason, details=details)


def linear_windup(robot: Mapping[str, float], r: float, Ts: float, torque: np.ndarray) -> np.ndarray:
    """x = r phi_m - phi_a of a linear two-mass robot from rest, exact for a held torque."""
    from scipy.signal import cont2discrete, dlsim

    k, d, Jm, Ja = (robot[n] for n in ("k1", "d", "Jm", "Ja"))
    A = np.array([
        [0.0, r, -1.0],
        [-r * k / Jm, -(robot["Fv"] + r * r * d) / Jm, r * d / Jm],
        [k / Ja, r * d / Ja, -d / Ja],
    ])  # fmt: skip
    B, C = np.array([[0.0], [1 / Jm], [0.0]]), np.array([[1.0, 0.0, 0.0]])
    system = cont2discrete((A, B, C, np.zeros((1, 1))), Ts)
    windup: np.ndarray = dlsim(system, torque)[1][:, 0]
    return windup
