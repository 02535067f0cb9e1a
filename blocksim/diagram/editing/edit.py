"""One edit of a text: a change of its meaning, written with few characters, read again and compared before it counts.

text = edit(text, set_setting, "pid", "kp", 30).text
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

from ...errors import DiagramError, Problem
from ..checks import raise_all
from ..yaml_lines import read_yaml
from .operations import Change, Meaning
from .patches import Patch, apply_patches, inverse_patches
from .retext import retext, same_meaning
from .spans import spans

Arguments = ParamSpec("Arguments")


@dataclass(frozen=True)
class Edit:
    """A text after an edit, the patches that made it and those that take it back, and what to say about it."""

    text: str
    patches: tuple[Patch, ...]
    inverse: tuple[Patch, ...]
    words: str
    news: tuple[str, ...] = ()


def meaning_of(text: str, file: str = "<text>") -> Meaning:
    """What a text means. DiagramError where it cannot be read, or reading had to pass over something."""
    root, problems = read_yaml(text, file)
    raise_all(problems)
    if not isinstance(root.value, dict):
        raise DiagramError([Problem("a diagram file is a mapping: format: 1, blocks: {...}.")])
    meaning: Meaning = root.plain()
    return meaning


def edit(
    text: str, operation: Callable[Concatenate[Meaning, Arguments], Change], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Edit:
    """The text after an operation. DiagramError, and nothing changed, where the text cannot be made to say just that."""
    meaning = meaning_of(text)
    return edit_of(text, meaning, operation(meaning, *args, **kwargs))


def edit_of(text: str, meaning: Meaning, change: Change) -> Edit:
    """A change written into the text that means `meaning`."""
    patches = retext(text, spans(text), meaning, change.meaning, change.renames)
    new = apply_patches(text, patches)
    if not says(new, change.meaning):
        raise DiagramError(
            f"{change.words}: this cannot be written into the text without changing something else, so nothing is changed. "
            "A value that is repeated through an alias (*name) or written in an unusual way is edited in the text itself."
        )
    return Edit(new, tuple(patches), tuple(inverse_patches(text, patches)), change.words, change.news)


def says(text: str, meaning: Any) -> bool:
    """Whether a text means exactly this."""
    try:
        return same_meaning(meaning_of(text), meaning)
    except DiagramError:
        return False
