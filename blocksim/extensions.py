"""Extension points: what installed packages add to blocksim, found through entry points, ours like anyone's.

[project.entry-points."blocksim.libraries"]     # a module of blocks, or a dict of name -> class
[project.entry-points."blocksim.formats"]       # suffix such as .rec -> read(path) and, where it can, write(record, path)
[project.entry-points."blocksim.plots"]         # kind -> function that draws a record, draw(record) -> matplotlib Figure
[project.entry-points."blocksim.solvers"]       # name -> Tableau, a solver under that name
[project.entry-points."blocksim.views"]         # class name -> function that shows an object as SVG text

docs/extending.md has an example of each.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .errors import BlocksimError, did_you_mean, listing

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def entries(group: str) -> tuple[EntryPoint, ...]:
    """Every entry of a group such as 'plots'; an editable install next to a wheel lists the same one twice."""
    from importlib.metadata import entry_points

    return tuple(e for _, e in sorted({(e.name, e.value): e for e in entry_points(group=f"blocksim.{group}")}.items()))


@cache
def extension(group: str, name: str) -> Any:
    """What is installed under a name of a group; an error says what there is, or who else has that name."""
    named = [entry for entry in entries(group) if entry.name == name]
    if not named:
        names = [entry.name for entry in entries(group)]
        raise BlocksimError(f"there is no '{name}' among the installed {group}: {listing(names)}." + did_you_mean(name, names))
    if len(named) > 1:
        places = " and ".join(entry.value for entry in named)
        raise BlocksimError(f"two packages add '{name}' to blocksim's {group}: {places}. Remove one.")
    try:
        return named[0].load()
    except (ImportError, AttributeError) as error:
        raise BlocksimError(f"'{name}' of blocksim's {group} ({named[0].value}) cannot be loaded: {error}.") from error
