"""Type name -> Block class. Libraries are found through the entry-point group `blocksim.libraries`, ours like anyone's.

[project.entry-points."blocksim.libraries"]
mine = "my_package.blocks"           # a module, or a mapping of name -> class such as "blocks:LIBRARY"
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from types import ModuleType
from typing import Any, cast

from ..errors import BlockDefinitionError, DiagramError, did_you_mean, listing
from ..extensions import entries
from ..simulink import simulink_word
from .block import Block

_registered: dict[str, type[Block]] = {}


class LazyBlocks(Mapping[str, type[Block]]):
    """Blocks by type name, each made known by a function that is called when the block is taken: a library may import it then."""

    def __init__(self, ways: Mapping[str, Callable[[], type[Block]]]):
        self.ways = ways

    def __getitem__(self, name: str) -> type[Block]:
        way = self.ways[name]
        try:
            return way()
        except (ImportError, AttributeError) as error:
            raise DiagramError(f"the block {name} cannot be loaded: {error}.") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.ways)

    def __len__(self) -> int:
        return len(self.ways)

    def __contains__(self, name: object) -> bool:
        return name in self.ways


def library() -> Mapping[str, type[Block]]:
    """Every block type by name: the installed libraries, then what was registered. Ours are imported when they are taken."""
    return ChainMap(dict(_registered), cast("dict[str, type[Block]]", installed()))


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
    guess = f" Did you mean '{same[0]}'?" if same else simulink_word(type_name) or did_you_mean(type_name, names)
    return f"there is no block type '{type_name}'." + (guess or f" There are: {listing(names)}.")


@cache
def installed() -> Mapping[str, type[Block]]:
    """The blocks of every installed library. A name that two libraries use is refused with both."""
    owners: dict[str, Mapping[str, type[Block]]] = {}
    entry_names: dict[str, str] = {}
    for entry in entries("libraries"):
        try:
            blocks = members(entry.load())
        except (ImportError, AttributeError) as error:
            raise DiagramError(f"the block library '{entry.name}' ({entry.value}) cannot be loaded: {error}.") from error
        for name in blocks:
            if name in owners and owners[name][name] is not blocks[name]:
                raise DiagramError(
                    f"two libraries have a block {name}: '{entry_names[name]}' ({origin(owners[name][name])}) and "
                    f"'{entry.name}' ({origin(blocks[name])}). Remove one."
                )
            owners.setdefault(name, blocks)
            entry_names.setdefault(name, entry.name)
    return LazyBlocks({name: partial(blocks.__getitem__, name) for name, blocks in owners.items()})


def members(loaded: Any) -> Mapping[str, type[Block]]:
    """The blocks of a loaded entry: a mapping as it is, or the public Block classes a module defines."""
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
    return cast(Mapping[str, type[Block]], loaded)


def origin(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
