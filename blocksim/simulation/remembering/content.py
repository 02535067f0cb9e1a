"""Content: what names a diagram, as something to compare. Equal content makes equal experiments."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ...contract.block import Block
from ...diagram.diagram import Diagram
from ...diagram.files import find_diagram
from ...diagram.spec import Spec


class UnknownContentError(Exception):
    """Something that can only be told by which object it is, not by what it holds."""


def content_of(source: Any) -> Hashable:
    """A text is its own content, a file is known by its path, a Diagram by all that it holds."""
    if isinstance(source, Diagram):
        return frozen(source)
    if isinstance(source, Spec):  # whoever holds one may change it
        raise UnknownContentError("Spec")
    if isinstance(source, str) and "\n" in source:
        return source
    path = find_diagram(source)
    return (path, os.path.realpath(path))


def frozen(value: Any) -> Hashable:
    """A value as something that can be compared and hashed; 1, 1.0 and True stay apart."""
    if value is None or isinstance(value, (str, int, float, bytes, type)):
        return (value.__class__, value)
    if isinstance(value, (list, tuple)):
        return ("list", *[frozen(item) for item in value])
    if isinstance(value, dict):
        return ("dict", *[(name, frozen(item)) for name, item in value.items()])
    if isinstance(value, (set, frozenset)):
        return ("set", frozenset(value))
    if isinstance(value, Block):
        return (type(value), frozen(value.settings))
    if isinstance(value, Diagram):  # its Spec does not change: the object stands for what it holds
        names = [item.name for item in fields(value) if item.name != "spec"]
        return ("diagram", id(value.spec), *[frozen(getattr(value, name)) for name in names])
    if hasattr(value, "tobytes"):
        return ("array", value.shape, str(value.dtype), hashlib.sha256(value.tobytes()).digest())
    if is_dataclass(value):
        return (type(value), *[frozen(getattr(value, item.name)) for item in fields(value)])
    if isinstance(value, Hashable) and any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1]):
        return (type(value), value)
    raise UnknownContentError(type(value).__name__)


def snapshot(diagram: Diagram) -> Diagram:
    """A copy that later changes of the diagram do not reach; blocks do not change once they are made."""
    nodes = {
        name: replace(node, block=snapshot(node.block) if isinstance(node.block, Diagram) else node.block)
        for name, node in diagram.nodes.items()
    }
    log = None if diagram.log is None else [replace(entry) for entry in diagram.log]
    return replace(diagram, nodes=nodes, log=log, simulate=replace(diagram.simulate))
