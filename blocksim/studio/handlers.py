"""The table of what a page may ask for: kind of request -> handler. Panes add theirs when they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import BlocksimError, did_you_mean, listing
from .protocol import Answer

if TYPE_CHECKING:
    from .session import Session

#: Modules of this room whose handlers are in the table.
PANES = (
    "session", "bench", "edit.requests", "edit.saving", "edit.keeping", "edit.exports", "excitation.requests",
    "excitation.improving", "study.requests", "data.requests", "robot",
)  # fmt: skip
Request: TypeAlias = Mapping[str, Any]
Handling: TypeAlias = Callable[["Session", Request], "Answer | Iterator[Answer]"]


@dataclass(frozen=True)
class Handler:
    """What answers a kind of request, in which lane, and whether only the newest of its kind counts."""

    kind: str
    function: Handling
    lane: str
    latest: bool


TABLE: dict[str, Handler] = {}


def handles(kind: str, lane: str = "main", latest: bool = False) -> Callable[[Handling], Handling]:
    """Put a function into the table. Its answers may be one or, from a generator, many."""

    def put(function: Handling) -> Handling:
        TABLE[kind] = Handler(kind, function, lane, latest)
        return function

    return put


def handler_of(kind: object) -> Handler:
    """The handler of a kind of request; the panes are loaded when it is first asked for."""
    for name in PANES:
        import_module(f".{name}", __package__)
    if kind not in TABLE:
        raise BlocksimError(f"nothing answers '{kind}'. Requests are: {listing(TABLE)}." + did_you_mean(kind, TABLE))
    return TABLE[str(kind)]


def answers(session: Session, handler: Handler, request: Request) -> Iterator[Answer]:
    """All answers of a handler, one or many; each says whether another follows."""
    result = handler.function(session, request)
    if isinstance(result, Answer):
        yield result
        return
    last: Answer | None = None
    for answer in result:
        if last is not None:
            last.more = True
            yield last
        last = answer
    yield last if last is not None else Answer()
