"""Whether a robot's numbers are those of a robot: bodies that can be, and a mass matrix that is positive definite everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .chain import INERTIAL, Chain
from .texts import motor_names, pivot_law

CONFIGURATIONS = 40
BODY_ROUNDING = 1e-9


def pseudo_inertia(ten: Any) -> np.ndarray:
    """[[sum m r r', sum m r], [sum m r', M]]: positive semidefinite of every body that can be (Wensing et al. 2018)."""
    XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = (float(v) for v in ten)
    half = (XX + YY + ZZ) / 2
    return np.array([[half - XX, -XY, -XZ, MX], [-XY, half - YY, -YZ, MY], [-XZ, -YZ, half - ZZ, MZ], [MX, MY, MZ, M]])


def body_problem(ten: Sequence[float], name: str) -> str:
    """Why these are not the numbers of a body, in words; '' where they are, or where some are left out, as in a regrouped set."""
    values = np.asarray(ten, dtype=float)
    if values[9] < 0:
        return f"{name} has the mass {values[9]:g}: a mass is not negative."
    if values[9] == 0 or 0 in (values[0], values[3], values[5]):
        return ""
    matrix = pseudo_inertia(values)
    scale = np.sqrt(np.maximum(np.abs(np.diag(matrix)), BODY_ROUNDING * np.abs(matrix).max()))
    least = float(np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0])
    if least > -BODY_ROUNDING:
        return ""
    centre = values[6:9] / values[9]
    at = ", ".join(f"{v:.3g}" for v in centre)
    central = np.linalg.eigvalsh(inertia_matrix(values) - values[9] * (centre @ centre * np.eye(3) - np.outer(centre, centre)))
    moments = ", ".join(f"{v:.3g}" for v in central)
    return (
        f"{name} is no body: with its centre of mass at ({at}) m its principal moments of inertia there are {moments} kg m^2, "
        "and each must be above 0 and at most the sum of the two others. Inertias are about the origin of the link's frame."
    )


def inertia_matrix(ten: Any) -> np.ndarray:
    XX, XY, XZ, YY, YZ, ZZ = ten[:6]
    return np.array([[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]])


def configurations(chain: Chain) -> np.ndarray:
    """Where the mass matrix is looked at: at 0 and at random."""
    random = np.random.default_rng(1)
    return np.vstack([np.zeros(len(chain)), random.uniform(-np.pi, np.pi, (CONFIGURATIONS, len(chain)))])


def pivot_problem(chain: Chain, values: Mapping[str, Any], q: Sequence[float]) -> str:
    """Why a robot cannot move at a configuration, in words: the first joint whose inertia, all before it held, is not above 0."""
    law = pivot_law(chain)
    numbers = [float(values[name]) for name in law.parameters]
    with np.errstate(all="ignore"):
        try:
            pivots = law.function(tuple(float(v) for v in q), numbers)
        except ZeroDivisionError:
            pivots = (0.0,)
    for j, pivot in enumerate(pivots):
        if not pivot > BODY_ROUNDING * max(abs(p) for p in pivots):
            at = ", ".join(f"{v:.4g}" for v in q)
            kind = (
                "singular"
                if abs(pivot) < BODY_ROUNDING * max((abs(p) for p in pivots), default=1.0) or pivot == 0
                else "not positive definite"
            )
            motor = "; its motor is behind a spring" if j in chain.flexible else f", or its motor one, Ia{j + 1}"
            return (
                f"the mass matrix is {kind}: joint {j + 1} has the inertia {pivot:.3g} at q = [{at}]. Give link {j + 1} (or one "
                f"it carries) an inertia about its axis{motor}."
            )
    return ""


def with_payload(chain: Chain, values: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers with the payload within those of the last link."""
    total = dict(values)
    if f"{INERTIAL[0]}L" in values:
        for symbol in INERTIAL:
            total[f"{symbol}{len(chain)}"] = float(values[f"{symbol}{len(chain)}"]) + float(values[f"{symbol}L"])
    return total


def robot_inertia_problem(chain: Chain, values: Mapping[str, Any]) -> str:
    """What is wrong with a robot's inertias; a robot that has none at all is a model of kinematics, which nobody simulates."""
    inertial = {name: float(values[name]) for name in (*pivot_law(chain).parameters, *motor_names(chain)) if name in values}
    if not any(inertial.values()):
        return ""
    for j in (k + 1 for k in chain.flexible):
        if not values[f"Ia{j}"] > 0:
            return f"joint {j} is flexible, and its motor has the inertia Ia{j} = {values[f'Ia{j}']:g}: it must be above 0."
    for j in range(1, len(chain) + 1):
        if text := body_problem([values[f"{symbol}{j}"] for symbol in INERTIAL], f"link {j}"):
            return text
    if "ML" in values and (text := body_problem([values[f"{symbol}L"] for symbol in INERTIAL], "the payload")):
        return text
    total = with_payload(chain, values)
    return next((text for q in configurations(chain) if (text := pivot_problem(chain, total, q))), "")
