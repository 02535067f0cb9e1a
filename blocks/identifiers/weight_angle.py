"""Torques of a measured arm that the diagram does not say: a weight at another angle, a torque that is always lost.

Where an encoder's zero lies is rarely known, and a weight at a wrong angle bends every estimate; so does a forgotten offset.

Ms g cos(q + theta0 + a) = Ms cos(a) g cos(q + theta0) + Ms sin(a) g cos(q + theta0 + pi/2): one more column tells the angle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blocksim.contract.plant import Plant

from .effort_lag import CERTAIN, GAIN_TO_TELL

SLIGHT_ANGLE = 0.01  # rad: less harms little
WEIGHT, ANGLE, OFFSET = "Ms", "theta0", "offset"


@dataclass(frozen=True)
class WeightAngle:
    """What the motion shows of a weight: its first moment, the angle from `theta0`, and what is left with it and without."""

    moment: float  # kg m
    angle: float  # rad, of the weight at zero above the horizontal
    std: float
    said: float  # rad, theta0 of the diagram
    absent: bool  # whether the diagram has no weight at all
    before: float
    after: float
    plant: str = ""  # its name

    @property
    def found(self) -> bool:
        off = self.absent or abs(self.angle - self.said) > max(CERTAIN * self.std, SLIGHT_ANGLE)
        return off and self.std < 0.5 and self.after < (1 - GAIN_TO_TELL) * self.before

    def remarks(self) -> list[str]:
        """In words: what acts, and what to write."""
        if not self.found:
            return []
        less = f"with it {100 * (1 - self.after / self.before):.0f} % less is left of the effort"
        change = f"--set {self.plant}.{ANGLE}={self.angle:.4g}"
        if self.absent:
            return [
                f"a weight acts that the diagram does not have ({WEIGHT} is 0): {less}, and the parameters bend without it. Say "
                f"--set {self.plant}.{WEIGHT}={self.moment:.4g} {change}; {WEIGHT} is then looked for, too"
            ]
        return [
            f"the weight acts {math.degrees(self.angle - self.said):+.3g} degrees from where {ANGLE} = {self.said:.4g} has it "
            f"(+- {math.degrees(self.std):.2g}): {less}, and all parameters bend without it. Say {change}"
        ]

    def put_right(self, plant: Plant) -> Plant:
        """The plant with its weight where it acts, where that is to be told."""
        return plant.changed({WEIGHT: self.moment, ANGLE: self.angle}) if self.found else plant


@dataclass(frozen=True)
class LostTorque:
    """A constant torque that the motion shows and the diagram does not have."""

    value: float  # in the unit of the effort
    std: float
    before: float
    after: float
    plant: str = ""

    def remarks(self) -> list[str]:
        if abs(self.value) <= CERTAIN * self.std or self.after > (1 - GAIN_TO_TELL) * self.before:
            return []
        return [
            f"a constant torque of {self.value:.4g} (+- {self.std:.2g}) is lost that the diagram does not have: with it "
            f"{100 * (1 - self.after / self.before):.0f} % less is left of the effort. Say --set {self.plant}.{OFFSET}="
            f"{self.value:.4g}; it is then looked for, too"
        ]


@dataclass(frozen=True)
class UnsaidTorques:
    """What is found of both; None where the plant has no such thing, or has it among its parameters."""

    weight: WeightAngle | None = None
    lost: LostTorque | None = None

    def remarks(self) -> list[str]:
        return [text for one in (self.weight, self.lost) if one is not None for text in one.remarks()]

    def put_right(self, plant: Plant) -> Plant:
        """The plant with what is to be told: other things that are off are told beside it."""
        plant = plant if self.weight is None else self.weight.put_right(plant)
        lost = self.lost is not None and self.lost.remarks()
        return plant.changed({OFFSET: self.lost.value}) if lost and self.lost is not None else plant


def has_weight(plant: Plant) -> bool:
    """Whether gravity may act on a plant at an angle of its own."""
    return {WEIGHT, ANGLE} <= plant.settings.keys() and WEIGHT in with_weight(plant).parameters


def with_weight(plant: Plant, turn: float = 0.0) -> Plant:
    """The plant with a weight, turned by an angle."""
    return plant.changed({WEIGHT: plant.settings[WEIGHT] or 1.0, ANGLE: plant.settings[ANGLE] + turn})


def turned_angle(along: float, across: float, covariance: np.ndarray) -> tuple[float, float]:
    """The angle of (along, across) and its standard deviation, from their covariance."""
    size = along**2 + across**2
    if not size:
        return 0.0, math.inf
    slope = np.array([-across, along]) / size
    return math.atan2(across, along), float(np.sqrt(max(slope @ covariance @ slope, 0.0)))


def offset_column(plant: Plant, signals: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The column of a lost torque, (samples, joints, 1); None where the plant looks for one already, or knows none."""
    if OFFSET not in plant.settings or OFFSET in plant.parameters:
        return None
    shifted = plant.changed({OFFSET: 1.0})
    return column_of(shifted, OFFSET, signals) if OFFSET in shifted.parameters else None


def weight_columns(plant: Plant, names: tuple[str, ...], signals: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """A quarter turn from the weight, (samples, joints, 1), and where the diagram has none the weight before it; or None."""
    if not has_weight(plant) or (WEIGHT in plant.parameters and WEIGHT not in names):
        return None
    turns = [] if WEIGHT in plant.parameters else [0.0]
    return np.concatenate([column_of(with_weight(plant, turn), WEIGHT, signals) for turn in (*turns, math.pi / 2)], axis=-1)


def column_of(plant: Plant, name: str, signals: Mapping[str, np.ndarray]) -> np.ndarray:
    return plant.regressor(signals)[:, :, [plant.parameters.index(name)]]
