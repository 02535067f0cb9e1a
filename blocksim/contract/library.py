"""Type name -> Block class. Libraries are found through the entry-point group `blocksim.libraries`, ours like anyone's.

[project.entry-points."blocksim.libraries"]
mine = "my_package.blocks"           # a module, or a dict of name -> class such as "blocks:LIBRARY"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from ..errors import BlockDefinitionError, DiagramError, did_you_mean, listing
from ..extensions import entries
from .block import Block

_registered: dict[str, type[Block]] = {}


def library() -> dict[str, type[Block]]:
    """Every block type by name: the installed libraries, then what was registered."""
    return {**installed(), **_registered}


def register(*classes: type[Block]) -> None:
    """Make blocks of a script or a notebook known by name. Defining one again replaces it."""
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, Block)):
            raise BlockDefinitionError(f"{cls!r} is not a Block class.")
        namesake = library().get(cls.__name__)
        if namesake is not None and origin(namesake) != origin(cls):
            raise BlockDefinitionError(f"two blocks are called {cls.__name__}: {origin(namesake)} and {origin(cls)}.")
        _registered[cls.__name__] = cls


def registered() -> list[type[Block]]:
    """The blocks this process registered, which another one does not know."""
    return list(_registered.values())


def find(type_name: str, blocks: Mapping[str, type[Block]] | None = None) -> type[Block]:
    """The class of a block type; for an unknown one, the name that was probably meant."""
    blocks = library() if blocks is None else blocks
    if type_name in blocks:
        return blocks[type_name]
    raise DiagramError(unknown_type(type_name, blocks))


def unknown_type(type_name: Any, blocks: Iterable[str]) -> str:
    """What to say about a type nobody knows."""
    names = sorted(blocks)
    same = [n for n in names if n.lower() == str(type_name).lower()]
    guess = f" Did you mean '{same[0]}'?" if same else did_you_mean(type_name, names)
    return f"there is no block type '{type_name}'." + (guess or f" There are: {listing(names)}.")


@cache
def installed() -> dict[str, type[Block]]:
    """The blocks of every installed library. A name that two libraries use is refused with both."""
    result: dict[str, type[Block]] = {}
    owner: dict[str, str] = {}
    for entry in entries("libraries"):
        try:
            blocks = members(entry.load())
        except (ImportError, AttributeError) as error:
            raise DiagramError(f"the block library '{entry.name}' ({entry.value}) cannot be loaded: {error}.") from error
        for name, cls in blocks.items():
            if result.setdefault(name, cls) is not cls:
                raise DiagramError(
                    f"two libraries have a block {name}: '{owner[name]}' ({origin(result[name])}) and "
                    f"'{entry.name}' ({origin(cls)}). Remove one."
                )
            owner.setdefault(name, entry.name)
    return result


def members(loaded: Any) -> dict[str, type[Block]]:
    """The blocks of a loaded entry: a dict as it is, or the public Block classes a module defines."""
    if isinstance(loaded, ModuleType):
        return {
            n: c
            for n, c in vars(loaded).items()
            if isinstance(c, type)
            and issubclass(c, Block)
            and not n.startswith("_")
            and c.__module__.split(".")[0] == loaded.__name__.split(".")[0]
            and not c.__dict__.get("abstract")
        }
    return dict(loaded)


def origin(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
