"""How wide a text is, without a font file, and how to fit it into a block."""

from __future__ import annotations

#: Advance of the characters from space to tilde in hundredths of the size: DejaVu Sans, the widest of the usual sans fonts.
ADVANCE = (
    32,
    40,
    46,
    84,
    64,
    95,
    78,
    27,
    39,
    39,
    50,
    84,
    32,
    36,
    32,
    34,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    64,
    34,
    34,
    84,
    84,
    84,
    53,
    100,
    68,
    69,
    70,
    77,
    63,
    58,
    77,
    75,
    29,
    29,
    66,
    56,
    86,
    75,
    79,
    60,
    79,
    69,
    63,
    61,
    73,
    68,
    99,
    69,
    61,
    69,
    39,
    34,
    39,
    84,
    50,
    50,
    61,
    63,
    55,
    63,
    62,
    35,
    63,
    63,
    28,
    28,
    58,
    28,
    97,
    63,
    61,
    63,
    63,
    41,
    52,
    39,
    63,
    59,
    82,
    59,
    59,
    52,
    64,
    34,
    64,
    84,
)
WIDE_LETTER, OTHER_LETTER = 100, 66
#: The longest line of settings that a block shows, and the longest name; the rest is in its tooltip.
LONGEST_LINE, LONGEST_NAME = 24, 32


def width_of(text: str, size: float) -> float:
    """Estimated width in pixels."""
    total = 0
    for character in text:
        code = ord(character)
        total += ADVANCE[code - 32] if 32 <= code < 127 else (WIDE_LETTER if code > 0x2E80 or character == "…" else OTHER_LETTER)
    return total * size / 100


def clean(text: str) -> str:
    """One printable line: what XML or a font cannot show becomes a space."""
    return "".join(c if c.isprintable() else " " for c in str(text)).strip()


def name_within(name: str, room: float, size: float) -> str:
    """A name that fits into so many pixels; of a longer one its beginning and its end, by which names are told apart."""
    letters = len(name)
    short = name
    while width_of(short, size) > room and letters > 4:
        letters -= 1
        short = f"{name[: (letters + 1) // 2]}…{name[len(name) - letters // 2 :]}"
    return short


def cut_short(text: str, longest: int = LONGEST_LINE) -> str:
    """A text that fits, cut between numbers or words where it can be: '[9000, 9000, …]', never '[9000, 90…'."""
    if len(text) <= longest:
        return text
    closing = "]" if "[" in text[: longest - 3] and text.endswith("]") else ""
    part = text[: longest - 2 - len(closing)]
    for mark in (", ", " + ", " - ", " "):
        head = part.rpartition(mark)[0]
        if head and len(head) >= longest // 3:
            return f"{head}{mark if mark != ' - ' else ' + '}…{closing if '[' in head else ''}"
    return text[: longest - 1].rstrip(" ,") + "…"


def settings_lines(text: str) -> list[str]:
    """A line of settings, broken once at a comma when it is long: outside a list where that can be had; only an end is cut."""
    if len(text) <= LONGEST_LINE or ", " not in text:
        return [cut_short(text)]
    places = [i for i in range(len(text)) if text.startswith(", ", i)]
    outside = [i for i in places if text[:i].count("[") == text[:i].count("]")]
    whole = [i for i in outside if max(i + 1, len(text) - i - 2) <= LONGEST_LINE]
    early = [i for i in outside if i < LONGEST_LINE]
    if whole:
        middle = min(whole, key=lambda i: abs(i - len(text) / 2))
    elif early:
        middle = early[-1]
    else:  # one long list, or several: each line cut for itself
        middle = outside[0] if outside else max([i for i in places if i < LONGEST_LINE], default=places[0])
    first = text[:middle]
    return [first + "," if len(first) < LONGEST_LINE else cut_short(first), cut_short(text[middle + 2 :])]
