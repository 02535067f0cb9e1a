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
#: The longest line a block shows; the rest is in its tooltip.
LONGEST_LINE = 24


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
    """A line of settings, broken once at a comma when it is long."""
    if len(text) <= LONGEST_LINE or ", " not in text:
        return [cut_short(text)]
    places = [i for i in range(len(text)) if text.startswith(", ", i)]
    whole = [i for i in places if text[:i].count("[") == text[:i].count("]")]  # not inside a list, where that can be had
    places = whole if whole and min(max(i, len(text) - i) for i in whole) <= LONGEST_LINE + 4 else places
    middle = min(places, key=lambda i: abs(i - len(text) / 2))
    return [cut_short(text[: middle + 1]), cut_short(text[middle + 2 :])]
