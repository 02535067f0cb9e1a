"""A new meaning written into an old text: only what differs is touched, each kind of place in its own style."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..writer import LINE_WIDTH, paragraph, text
from .patches import Patch
from .spans import Span
from .wording import block_lines, flow_lines, scalar_text

#: Keys that have another name, by the path of the mapping they stand in and their name so far.
Renames = Mapping[tuple[str, ...], str]
#: Keys and values to write; an item of a list has the key ''.
NewItems = list[tuple[str, Any]]


@dataclass(frozen=True)
class TextItem:
    """An entry of a mapping, or an item of a list, which has no key."""

    key: Span | None
    value: Span

    @property
    def start(self) -> int:
        return self.value.start if self.key is None else self.key.start

    @property
    def stop(self) -> int:
        return self.value.stop


def same_meaning(one: Any, other: Any) -> bool:
    """Whether two values of a file are the same: order of keys included, true is not 1, and nan is nan."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same_meaning(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_meaning, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) or (one != one and other != other)


class Retext:
    """The patches that change one text."""

    def __init__(self, source: str, renames: Renames):
        self.source = source
        self.renames = renames
        self.newline = "\r\n" if "\r\n" in source else "\n"
        self.patches: list[Patch] = []

    def patch(self, start: int, stop: int, new: str) -> None:
        if new != self.source[start:stop]:
            self.patches.append(Patch(start, stop, new))

    def line_start(self, at: int) -> int:
        return self.source.rfind("\n", 0, at) + 1

    def line_stop(self, at: int) -> int:
        """Where the line ends, its line break left out."""
        end = self.source.find("\n", at)
        end = len(self.source) if end < 0 else end
        return end - 1 if end > at and self.source[end - 1] == "\r" else end

    def column(self, at: int) -> int:
        return at - self.line_start(at)

    def starts_line(self, at: int) -> bool:
        return not self.source[self.line_start(at) : at].strip()

    def rewrite(self, item: TextItem, old: Any, new: Any, path: tuple[str, ...]) -> None:
        """Make the text of one value mean `new`."""
        span = item.value
        if isinstance(old, dict) and isinstance(new, dict) and span.kind == "mapping" and self.entries(span, old, new, path):
            return
        if same_meaning(old, new):
            return
        if isinstance(old, list) and isinstance(new, list) and span.kind == "list" and self.elements(span, old, new, path):
            return
        self.replace(item, new, path)

    def replace(self, item: TextItem, new: Any, path: tuple[str, ...]) -> None:
        """Put another value in the place of a whole one."""
        span = item.value
        start = span.start + (len(span.anchor) + 2 if span.anchor else 0)
        if len(path) == 1 and isinstance(new, str) and "\n" in new:
            return self.patch(start, span.stop, paragraph(new).replace("\n", self.newline))
        if span.kind == "scalar" and span.flow and not isinstance(new, (dict, list)):
            words = scalar_text(new, span, self.source)
        else:
            words = flow_lines(new, self.column(start), newline=self.newline)
        if span.flow and span.stop > span.start:
            return self.patch(start, span.stop, words)
        after = item.key.stop + 1 if item.key is not None else start  # behind the colon: what was in lines of its own, or empty
        if item.key is not None and not span.flow:
            words = flow_lines(new, self.column(after) + 1, newline=self.newline)
        return self.patch(after, span.stop, (" " if item.key is not None else "") + words)

    def entries(self, span: Span, old: dict[str, Any], new: dict[str, Any], path: tuple[str, ...]) -> bool:
        """A mapping, key by key; False where it is written anew because too little of it stays."""
        names = {key: self.renames.get((*path, key), key) for key in old}
        staying = [key for key in old if names[key] in new]
        if not staying or [names[key] for key in staying] != [key for key in new if key in {names[k] for k in staying}]:
            return False
        items = {key.value: TextItem(key, value) for key, value in span.items}
        if items.keys() != old.keys():
            return False
        column = self.value_column(span)
        for key in staying:
            if names[key] != key:
                self.rename(items[key], names[key], span.flow, column)
            self.rewrite(items[key], old[key], new[names[key]], (*path, key))
        order = list(items.values())
        self.cut(span, order, [key not in staying for key in items])
        back = {names[key]: items[key] for key in staying}
        before: TextItem | None = None
        waiting: list[str] = []
        for name in new:
            if name not in back:
                waiting.append(name)
                continue
            if waiting:
                self.put(span, before, back[name], [(key, new[key]) for key in waiting], column)
            before, waiting = back[name], []
        if waiting:
            self.put(span, before, None, [(key, new[key]) for key in waiting], column)
        return True

    def elements(self, span: Span, old: list[Any], new: list[Any], path: tuple[str, ...]) -> bool:
        """A list, item by item: what both share at the begin and at the end stays."""
        if not old or not new:
            return False
        shortest = min(len(old), len(new))
        head = next((i for i in range(shortest) if not same_meaning(old[i], new[i])), shortest)
        tail = next((i for i in range(shortest - head) if not same_meaning(old[-1 - i], new[-1 - i])), shortest - head)
        items = [TextItem(None, value) for value in span.items]
        pairs = min(len(old), len(new)) - head - tail
        for i in range(head, head + pairs):
            self.rewrite(items[i], old[i], new[i], (*path, str(i)))
        self.cut(span, items, [head + pairs <= i < len(old) - tail for i in range(len(old))])
        more = [("", value) for value in new[head + pairs : len(new) - tail]]
        if more:
            before = items[head + pairs - 1] if head + pairs else None
            after = items[len(old) - tail] if tail else None
            self.put(span, before, after, more, None)
        return True

    def value_column(self, span: Span) -> int | None:
        """The column at which the values of a mapping in block style stand, where most of them share one."""
        columns = [self.column(v.start) for k, v in span.items if self.line_start(v.start) == self.line_start(k.start)]
        if span.flow or len(columns) < 2:
            return None
        column, times = Counter(columns).most_common(1)[0]
        return column if times >= max(2, 0.6 * len(columns)) else None

    def rename(self, item: TextItem, name: str, flow: bool, column: int | None) -> None:
        """Another key; its value stays in its column where there is room."""
        assert item.key is not None
        words, stop = text(name), item.key.stop
        gap = self.source[stop : item.value.start]
        aligned = not flow and column is not None and self.column(item.value.start) == column
        if aligned and column is not None and gap[:1] == ":" and not gap[1:].strip(" "):
            room = column - self.column(item.key.start) - len(words) - 1
            self.patch(item.key.start, item.value.start, words + ":" + " " * max(room, 1))
        else:
            self.patch(item.key.start, stop, words)

    def cut(self, span: Span, items: list[TextItem], leaving: list[bool]) -> None:
        """Take items out, each run of neighbours at once; at least one stays."""
        first = 0
        while first < len(items):
            if not leaving[first]:
                first += 1
                continue
            last = first
            while last + 1 < len(items) and leaving[last + 1]:
                last += 1
            before = items[first - 1] if first else None
            after = items[last + 1] if last + 1 < len(items) else None
            if span.flow:
                self.cut_flow(before, items[first], items[last], after)
            else:
                self.cut_lines(span, items[first], items[last], after)
            first = last + 1

    def cut_flow(self, before: TextItem | None, first: TextItem, last: TextItem, after: TextItem | None) -> None:
        commented = before is not None and "#" in self.source[before.stop : first.start]
        line_of_its_own = self.starts_line(first.start) and after is not None and "\n" not in self.source[last.stop : after.start]
        if after is not None and (before is None or commented or line_of_its_own):
            self.patch(first.start, after.start, "")
        elif before is not None and not commented:
            self.patch(before.stop, last.stop, "")
        else:
            self.patch(first.start, last.stop, "")

    def cut_lines(self, span: Span, first: TextItem, last: TextItem, after: TextItem | None) -> None:
        start = self.dash(first) if span.kind == "list" else first.start
        if self.starts_line(start):
            stop = self.line_stop(last.stop)
            stop += len(self.newline) if self.source.startswith(self.newline, stop) else 0
            self.patch(self.line_start(start), stop, "")
        elif after is not None:  # behind the dash of a list
            self.patch(start, self.dash(after) if span.kind == "list" else after.start, "")

    def dash(self, item: TextItem) -> int:
        return self.source.rfind("-", 0, item.start)

    def put(self, span: Span, before: TextItem | None, after: TextItem | None, new: NewItems, column: int | None) -> None:
        """Write new items between two neighbours."""
        if span.flow:
            self.put_flow(span, before, after, new)
        else:
            self.put_lines(span, before, after, new, column)

    def put_flow(self, span: Span, before: TextItem | None, after: TextItem | None, new: NewItems) -> None:
        heads = [(f"{text(key)}: " if span.kind == "mapping" else "", value) for key, value in new]
        if before is None:
            assert after is not None
            words = "".join(f"{head}{flow_lines(value, LINE_WIDTH - 40)}, " for head, value in heads)
            return self.patch(after.start, after.start, words)
        line = self.line_stop(before.stop) - self.line_start(before.stop)
        first = TextItem(*span.items[0]) if span.kind == "mapping" else TextItem(None, span.items[0])
        margin = self.column(first.start)
        words = ""
        for head, value in heads:
            piece = f"{head}{flow_lines(value, margin + len(head))}"
            if line + len(piece) + 2 > LINE_WIDTH + 10:
                words += f",{self.newline}{' ' * margin}{piece}"
                line = margin + len(piece) + self.line_stop(before.stop) - before.stop
            else:
                words += f", {piece}"
                line += len(piece) + 2
        return self.patch(before.stop, before.stop, words)

    def put_lines(self, span: Span, before: TextItem | None, after: TextItem | None, new: NewItems, column: int | None) -> None:
        neighbour = before or after
        assert neighbour is not None
        begin = neighbour.start if span.kind == "mapping" else self.dash(neighbour)
        margin = " " * self.column(begin)
        lines = [margin + self.line(span, neighbour, key, value, margin, column) for key, value in new]
        if before is not None:
            at = self.line_stop(before.stop)
            self.patch(at, at, "".join(self.newline + line for line in lines))
        elif self.starts_line(begin):
            at = self.line_start(begin)
            self.patch(at, at, "".join(line + self.newline for line in lines))
        else:  # behind the dash of a list
            words = (self.newline + margin).join(line.removeprefix(margin) for line in lines)
            self.patch(begin, begin, words + self.newline + margin)

    def line(self, span: Span, neighbour: TextItem, key: str, value: Any, margin: str, column: int | None) -> str:
        """One new line of a mapping or list in block style, without its margin."""
        if span.kind == "list":
            return f"- {flow_lines(value, len(margin) + 2, newline=self.newline)}"
        head = f"{text(key)}:"
        model = neighbour.value
        if isinstance(value, dict) and value and model.kind == "mapping" and not model.flow:
            step = " " * self.column(model.items[0][0].start)
            return head + block_lines(value, step, self.newline)
        head = head.ljust((column or 0) - len(margin)) if column and len(margin) + len(head) < column else head + " "
        if len(margin) == 0 and isinstance(value, str) and "\n" in value:
            return head + paragraph(value).replace("\n", self.newline)
        return head + flow_lines(value, len(margin) + len(head), newline=self.newline)


def retext(source: str, tree: Span, old: Any, new: Any, renames: Renames | None = None) -> list[Patch]:
    """The patches after which the text `source`, whose tree means `old`, means `new`."""
    work = Retext(source, renames or {})
    work.rewrite(TextItem(None, tree), old, new, ())
    return sorted(work.patches)
