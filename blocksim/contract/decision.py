"""What a plant decides of a block that names it: sizes, ports and functions, put into a class of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..errors import BlockDefinitionError, listing
from .declarations import Declared, Fixed, Law
from .definition import kind_of

if TYPE_CHECKING:
    from .block import Block

#: Classes by what was decided: equal plants give the same class.
CLASSES: dict[Any, type[Block]] = {}


def decided_class(base: type[Block], parts: Mapping[str, Any]) -> type[Block]:
    """The block with these parts in place of its own: a value for a `fixed`, a function for a `law`, new ports by their names."""
    key = (base, *((name, content(value)) for name, value in parts.items()))
    if key not in CLASSES:
        members = {name: member(base, name, value) for name, value in parts.items()}
        CLASSES[key] = type(base.__name__, (base,), {"__doc__": base.__doc__, "__module__": base.__module__, **members})
    return CLASSES[key]


def member(base: type[Block], name: str, value: Any) -> Any:
    declared = base.declared.get(name)
    if isinstance(value, Declared):
        return value
    if isinstance(declared, Fixed):
        return Fixed(doc=declared.doc, default=value)
    if isinstance(declared, Law):
        return Law(doc=declared.doc, function=value)
    if kind_of(name):
        return staticmethod(value)
    if name == "estimated":
        return value
    raise BlockDefinitionError(
        f"block {base.__name__}: 'decided' gives '{name}', which is neither declared as fixed or law nor a port. "
        f"Declared so are: {listing(base.of(Fixed, Law))}."
    )


def content(value: Any) -> Any:
    """What makes two parts equal: the fields of a declaration, lists as tuples."""
    if isinstance(value, Declared):
        return type(value), tuple(content(getattr(value, f.name)) for f in fields(value) if f.name != "name")
    return tuple(content(v) for v in value) if isinstance(value, (list, tuple)) else value
