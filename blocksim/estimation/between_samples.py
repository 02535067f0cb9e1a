"""What a recorded signal does between its samples: straight lines, or a cubic spline where the record shows that it is smooth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from scipy.interpolate import CubicSpline

FINER = 8  # points of a spline to a sample, joined by straight lines
SMOOTHER = 3.0  # times nearer that a cubic must come to samples that are left out than a line does
FEWEST = 16  # samples of which that can be told


def is_smooth(values: np.ndarray) -> bool:
    """Whether cubics through its neighbours come much nearer to each sample than lines do: not so of noise, steps, corners."""
    import numpy as np

    y = values.reshape(len(values), -1)
    if len(y) < FEWEST or not np.isfinite(y).all():
        return False
    middle = y[3:-3]
    near = y[2:-4] + y[4:-2]
    line = middle - near / 2
    cubic = middle - (9 * near - y[:-6] - y[6:]) / 16
    return bool(np.linalg.norm(cubic) * SMOOTHER < np.linalg.norm(line))


def spline_points(values: np.ndarray) -> tuple[CubicSpline, np.ndarray]:
    """The spline through samples at 0, 1, 2, ..., and where its points lie."""
    import numpy as np
    from scipy.interpolate import CubicSpline

    curve: Any = CubicSpline(np.arange(len(values)), values, axis=0)
    return curve, np.arange(FINER * (len(values) - 1) + 1) / FINER
