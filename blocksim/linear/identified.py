"""linear_model(): what ARX, OE or Subspace found, as a LinearModel: poles, zeros, response, python-control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RecordError
from .linear_model import LinearModel

if TYPE_CHECKING:
    from ..estimation.estimates import Estimates


def linear_model(estimates: Estimates) -> LinearModel:
    """The linear model of estimates that hold one (A, B, C, D and dt among their details): of ARX, OE and Subspace.

    `linear_model(record.estimates["arx"]).to_control()` is its control.StateSpace.
    """
    import numpy as np

    if not all(name in estimates.details for name in ("A", "B", "C", "D", "dt")):
        raise RecordError(f"estimates by {estimates.method} hold no linear model; those of ARX, OE and Subspace do.")
    A, B, C, D = (np.asarray(estimates.details[name], dtype=float) for name in "ABCD")
    states, inputs, outputs = ([f"{x}{k + 1}" for k in range(n)] for x, n in (("x", len(A)), ("u", B.shape[1]), ("y", len(C))))
    return LinearModel(A, B, C, D, states, inputs, outputs, None, float(estimates.details["dt"]), f"found by {estimates.method}")
