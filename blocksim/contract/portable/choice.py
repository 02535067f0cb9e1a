"""Which elementary functions a program has: the system's (libm), or ours, the same on every machine (portable)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

SYSTEM, PORTABLE = "libm", "portable"
CHOICES = (SYSTEM, PORTABLE)
#: Of the program that is being written.
MATH: ContextVar[str] = ContextVar("math", default=SYSTEM)


@contextmanager
def with_math(math: str) -> Iterator[None]:
    """While a program with these functions is written: what is known beforehand is computed by them too."""
    before = MATH.set(math)
    try:
        yield
    finally:
        MATH.reset(before)


def function_in_use(name: str, usual: Callable[..., Any]) -> Callable[..., Any]:
    """The function of that name in the program that is being written."""
    if MATH.get() == SYSTEM:
        return usual
    from .text import meaning

    return meaning({"power": "libm_pow"}.get(name, name)) or usual
