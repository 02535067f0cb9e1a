"""Solvers: a tableau each (fixed steps, error control, a stiff method), and scipy's as the independent reference.

Ours, and those that installed packages add as `blocksim.solvers`; what one can do follows from its tableau.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..errors import BlocksimError, DiagramError, did_you_mean, listing

if TYPE_CHECKING:
    from .tableau import Rosenbrock, ScipyMethod, Tableau

SCIPY = tuple(f"scipy:{m}" for m in ("RK45", "DOP853", "Radau", "BDF", "LSODA"))
DEFAULT = "dopri5"


@cache
def solver_names() -> tuple[str, ...]:
    """Every solver there is: ours, those of installed packages, scipy's."""
    from ..extensions import entries
    from .tableaus import OWN

    for entry in entries("solvers"):
        if entry.name in OWN:
            raise BlocksimError(f"an installed package adds the solver '{entry.name}' ({entry.value}), which is ours. Rename it.")
    return (*OWN, *dict.fromkeys(entry.name for entry in entries("solvers")), *SCIPY)


@cache
def find_solver(name: str) -> Tableau | Rosenbrock | ScipyMethod:
    """A solver by its name, or an error that lists the names there are."""
    from ..extensions import extension
    from .tableau import Rosenbrock, ScipyMethod, Tableau
    from .tableaus import OWN

    if name in OWN:  # without asking what is installed, which takes its time
        return OWN[name]
    names = solver_names()
    if name not in names:
        raise DiagramError(f"there is no solver '{name}'. Solvers are: {listing(names)}." + did_you_mean(name, names))
    if name in SCIPY:
        return ScipyMethod(name)
    method = extension("solvers", name)
    if not isinstance(method, (Tableau, Rosenbrock)):
        raise BlocksimError(f"'{name}' of blocksim's solvers is a {type(method).__name__}; a Tableau is wanted.")
    return method


def find_tableau(name: str) -> Tableau | Rosenbrock:
    """A compiled solver by its name."""
    from .tableau import ScipyMethod

    method = find_solver(name)
    assert not isinstance(method, ScipyMethod), name
    return method
