"""YAML as plain data where every value knows its line. Reads untrusted files: no tags, no code, bounded in every direction.

Scalars follow the YAML 1.2 core schema: `1e-3` is a number, `on` and `no` are words. Works on the parser's events with a stack
of its own, because composing recursively would let a deeply nested file exhaust the C stack.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from ..errors import DiagramError, Place, Problem
from .checks import note, raise_all

#: What a file may cost: its bytes, its nesting, the values its aliases repeat, the characters of one number.
MAX_TEXT_BYTES = 1 << 20
MAX_DEPTH = 50
MAX_COPIED = 100_000
MAX_DIGITS = 100

UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
WORD_VALUES = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    ".inf": math.inf,
    ".Inf": math.inf,
    ".INF": math.inf,
    "+.inf": math.inf,
    "+.Inf": math.inf,
    "+.INF": math.inf,
    "-.inf": -math.inf,
    "-.Inf": -math.inf,
    "-.INF": -math.inf,
    ".nan": math.nan,
    ".NaN": math.nan,
    ".NAN": math.nan,
}


@dataclass(slots=True)
class Lined:
    """A value (a scalar, a list of Lined, a dict of Lined) and its line; in a mapping, the line of its key."""

    value: Any
    line: int
    size: int = 1
    height: int = 1

    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return self.value


def scalar(text: str) -> Any:
    """The value of an unquoted scalar. ValueError, in words, for a number no float can hold."""
    if text in WORD_VALUES:
        return WORD_VALUES[text]
    if INTEGER.match(text) or DECIMAL.match(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of {len(text)} characters; at most {MAX_DIGITS} are read.")
        if INTEGER.match(text):
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if math.isinf(float(text)):
            raise ValueError(f"{text} is too large for a number.")
        return float(text)
    return text


def decode(data: bytes, file: str) -> str:
    """The text of a file, or a named error."""
    if len(data) > MAX_TEXT_BYTES:
        raise DiagramError([Problem(f"the file is larger than {MAX_TEXT_BYTES} bytes, the most that is read.", Place(file, 1))])
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DiagramError([Problem("the file is UTF-16. Save it as UTF-8.", Place(file, 1))])
    if data[:3] == b"\xef\xbb\xbf":
        raise DiagramError([Problem("the file starts with a byte order mark. Save it as UTF-8 without one.", Place(file, 1))])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = Place(file, data.count(b"\n", 0, error.start) + 1)
        raise DiagramError([Problem(f"byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8.", place)]) from None


def read_yaml(text: str, file: str) -> tuple[Lined, list[Problem]]:
    """The one document of a text, and what is wrong in it that reading could get past (double keys, tags)."""
    import yaml

    if len(text) > MAX_TEXT_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise DiagramError([Problem(f"the text is larger than {MAX_TEXT_BYTES} bytes, the most that is read.", Place(file, 1))])
    bad = UNREADABLE.search(text)
    if bad:
        name = "a NUL" if bad[0] == "\0" else f"the control character U+{ord(bad[0]):04X}"
        place = Place(file, text.count("\n", 0, bad.start()) + 1)
        raise DiagramError([Problem(f"{name} cannot stand in a diagram.", place)])
    tree = DocumentTree(file)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            tree.take(event)
    except yaml.MarkedYAMLError as error:
        raise_all([*tree.problems, syntax_problem(error, text, file)])
    if tree.root is None:
        raise DiagramError([*tree.problems, Problem("the file is empty.", Place(file, 1))])
    return tree.root, tree.problems


class DocumentTree:
    """The document under construction: a stack of open lists and mappings, and the anchors seen."""

    def __init__(self, file: str):
        self.file = file
        self.root: Lined | None = None
        self.problems: list[Problem] = []
        self.open: list[Branch] = []
        self.anchors: dict[str, Lined | None] = {}  # None while the anchored value is still open
        self.copied = 0
        self.line = 1

    def complain(self, what: str) -> None:
        note(self.problems, what, Place(self.file, self.line))

    def refuse(self, what: str) -> None:
        """A problem after which reading on is pointless or costly."""
        self.complain(what)
        raise_all(self.problems)

    def take(self, event: Any) -> None:
        """One event of the parser."""
        kind = type(event).__name__
        self.line = event.start_mark.line + 1
        if kind == "DocumentStartEvent" and self.root is not None:
            self.refuse("a second document starts here; a file holds one diagram.")
        elif kind == "ScalarEvent":
            self.place(event, Lined(self.scalar(event), self.line))
        elif kind == "AliasEvent":
            self.place(event, self.alias(event.anchor))
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            self.check_tag(event)
            if len(self.open) >= MAX_DEPTH:
                self.refuse(f"nested deeper than {MAX_DEPTH} levels.")
            if event.anchor:
                self.anchors[event.anchor] = None
            self.open.append(Branch([] if kind[0] == "S" else {}, self.line, event))
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            branch = self.open.pop()
            self.line = branch.line
            if branch.height > MAX_DEPTH:
                self.refuse(f"nested deeper than {MAX_DEPTH} levels through aliases.")
            self.place(branch.event, Lined(branch.value, branch.line, branch.size, branch.height))

    def check_tag(self, event: Any) -> None:
        if event.tag not in (None, "!"):
            self.complain(f"the tag {event.tag} is not read; write the value plainly.")

    def scalar(self, event: Any) -> Any:
        self.check_tag(event)
        text = event.value
        if not text.isprintable() and UNREADABLE.search(text):
            self.complain(f"{text!r} holds a control character.")
        is_key = self.open and self.open[-1].wants_key()
        if event.style or is_key or event.tag == "!":
            return text
        try:
            return scalar(text)
        except ValueError as error:
            self.complain(str(error))
            return 0

    def alias(self, name: str) -> Lined:
        if name not in self.anchors:
            self.refuse(f"*{name} repeats a value that is not named above; &{name} would name one.")
        target = self.anchors[name]
        if target is None:
            self.refuse(f"*{name} stands inside the value it repeats, which would have no end.")
        assert target is not None
        self.copied += target.size
        if self.copied > MAX_COPIED:
            self.refuse(f"aliases repeat more than {MAX_COPIED} values.")
        return target

    def place(self, event: Any, value: Lined) -> None:
        """Put a finished value where it belongs: into the open list or mapping, or at the root."""
        anchor = getattr(event, "anchor", None)
        if anchor and type(event).__name__ != "AliasEvent":
            self.anchors[anchor] = value
        if not self.open:
            self.root = value
            return
        branch = self.open[-1]
        branch.size += value.size
        branch.height = max(branch.height, value.height + 1)
        if isinstance(branch.value, list):
            branch.value.append(value)
        elif branch.wants_key():
            self.check_key(branch, value)
        else:
            key, line = branch.key, branch.key_line
            if key not in branch.value:
                branch.value[key] = Lined(value.value, line, value.size, value.height)
            branch.key = None

    def check_key(self, branch: Branch, value: Lined) -> None:
        key = value.value
        if not isinstance(key, str):
            if isinstance(key, (list, dict)):
                self.complain('a key must be a word, found a list or a mapping. A ${name} between braces is quoted: "${name}".')
            key = str(key)
        elif key == "<<":
            self.complain("the merge key << is not read; write the keys out.")
        elif key in branch.value:
            self.complain(f"'{key}' is given twice, first on line {branch.value[key].line}.")
        branch.key, branch.key_line = key, self.line


class Branch:
    """An open list or mapping; a mapping remembers the key that waits for its value."""

    __slots__ = ("event", "height", "key", "key_line", "line", "size", "value")

    def __init__(self, value: Any, line: int, event: Any):
        self.value, self.line, self.event = value, line, event
        self.size = self.height = 1
        self.key: str | None = None
        self.key_line = line

    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


def syntax_problem(error: Any, text: str, file: str) -> Problem:
    """A parser's complaint in plain words."""
    mark = error.problem_mark or error.context_mark
    number = mark.line + 1 if mark else 1
    lines = text.split("\n")
    line = lines[min(number, len(lines)) - 1]
    reason = f"{error.context + ': ' if error.context else ''}{error.problem or 'not YAML'}"
    if re.match(r" *\t", line) or "'\\t'" in reason:
        return Problem("a tab stands where spaces are wanted. Indent with spaces.", Place(file, number))
    hint = ""
    if re.search(r"[^\"'$]\$\{", line):
        hint = ' A parameter between braces is quoted: "${name}".'
    elif element := re.search(r"[A-Za-z_][\w.]*\[-?\d+\](?![\"'])", line):
        hint = f' An element of a signal is quoted: "{element[0]}".'
    return Problem(f"this is not YAML: {reason}.{hint}", Place(file, number))
