"""Where each value of a YAML text stands: the loader's tree with the first and the last character of every part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..yaml_lines import read_yaml


@dataclass(slots=True)
class Span:
    """A value of the text: `text[start:stop]`, without comments that follow it.

    `items` are the values of a list, or the entries of a mapping as (key, value); a scalar and an alias have none.
    """

    kind: str  # scalar, alias, list or mapping
    start: int
    stop: int
    flow: bool = True  # in braces or brackets, or a scalar within one line
    value: Any = None  # of a scalar, its text; of a key too
    quote: str = ""  # ', ", | or > where a scalar has one
    items: list[Any] = field(default_factory=list)
    anchor: str = ""

    def keys(self) -> list[str]:
        return [key.value for key, _ in self.items]

    def entry(self, key: str) -> tuple[Span, Span]:
        """The key and the value of a mapping's entry."""
        return next((name, value) for name, value in self.items if name.value == key)


def spans(text: str) -> Span:
    """The tree of a text that the loader can read; DiagramError as it raises it."""
    import yaml

    read_yaml(text, "<text>")  # bounds, depth and characters are its concern
    root: Span | None = None
    open_spans: list[tuple[Span, list[Span]]] = []  # collections that are not closed yet, and their parts so far
    event: Any
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        kind = type(event).__name__
        if kind in ("SequenceStartEvent", "MappingStartEvent"):
            name = "list" if kind[0] == "S" else "mapping"
            first = event.start_mark.index
            open_spans.append((Span(name, first, first, bool(event.flow_style), anchor=event.anchor or ""), []))
            continue
        if kind in ("SequenceEndEvent", "MappingEndEvent"):
            span, parts = open_spans.pop()
            close(span, parts, event.end_mark.index)
        elif kind == "ScalarEvent":
            span = scalar_span(event, text)
        elif kind == "AliasEvent":
            span = Span("alias", event.start_mark.index, event.end_mark.index, value=event.anchor)
        else:
            continue
        if open_spans:
            open_spans[-1][1].append(span)
        else:
            root = span
    assert root is not None
    return root


def close(span: Span, parts: list[Span], end: int) -> None:
    """A collection with its parts: one in flow style ends at its bracket, one in block style with its last part."""
    span.items = list(zip(parts[::2], parts[1::2], strict=True)) if span.kind == "mapping" else list(parts)
    span.stop = end if span.flow or not parts else parts[-1].stop


def scalar_span(event: Any, text: str) -> Span:
    start, stop = event.start_mark.index, event.end_mark.index
    quote = event.style if event.style and event.style in "'\"|>" else ""
    if quote in ("|", ">") and quote:
        while stop > start and text[stop - 1] in "\r\n":
            stop -= 1
    return Span("scalar", start, stop, quote not in ("|", ">"), event.value, quote, anchor=event.anchor or "")
