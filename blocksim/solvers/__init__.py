"""Solvers: fixed steps, error control, a stiff method, and scipy's as the independent reference."""

from __future__ import annotations

from ..errors import DiagramError, did_you_mean, listing

FIXED = ("euler", "heun", "rk4")
ADAPTIVE = ("dopri5", "rodas4")
COMPILED = (*FIXED, *ADAPTIVE)
SCIPY = tuple(f"scipy:{m}" for m in ("RK45", "DOP853", "Radau", "BDF", "LSODA"))
NAMES = (*COMPILED, *SCIPY)
DEFAULT = "dopri5"


def check_solver(name: str) -> str:
    """The name itself, or an error that lists the names there are."""
    if name not in NAMES:
        raise DiagramError(f"there is no solver '{name}'. Solvers are: {listing(NAMES)}." + did_you_mean(name, NAMES))
    return name
