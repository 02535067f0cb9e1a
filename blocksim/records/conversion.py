"""Conversion of units: what a column says it is measured in, as a factor to what a signal of the diagram is measured in."""

from __future__ import annotations

import math
import re

Dimension = tuple[tuple[str, int], ...]
Dimensions = tuple[float, dict[str, int]]

FORCE, TORQUE = {"kg": 1, "m": 1, "s": -2}, {"kg": 1, "m": 2, "s": -2}
#: Words of units: how much of the base units they are. Angles and volts count as base units of their own.
UNIT_WORDS: dict[str, Dimensions] = {
    "1": (1.0, {}),
    "%": (1e-2, {}),
    "m": (1.0, {"m": 1}),
    "km": (1e3, {"m": 1}),
    "cm": (1e-2, {"m": 1}),
    "mm": (1e-3, {"m": 1}),
    "um": (1e-6, {"m": 1}),
    "µm": (1e-6, {"m": 1}),
    "nm": (1e-9, {"m": 1}),
    "in": (0.0254, {"m": 1}),
    "rad": (1.0, {"rad": 1}),
    "mrad": (1e-3, {"rad": 1}),
    "deg": (math.pi / 180, {"rad": 1}),
    "°": (math.pi / 180, {"rad": 1}),
    "rev": (2 * math.pi, {"rad": 1}),
    "turn": (2 * math.pi, {"rad": 1}),
    "rpm": (2 * math.pi / 60, {"rad": 1, "s": -1}),
    "s": (1.0, {"s": 1}),
    "sec": (1.0, {"s": 1}),
    "seconds": (1.0, {"s": 1}),
    "ms": (1e-3, {"s": 1}),
    "us": (1e-6, {"s": 1}),
    "µs": (1e-6, {"s": 1}),
    "ns": (1e-9, {"s": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "Hz": (1.0, {"s": -1}),
    "kHz": (1e3, {"s": -1}),
    "kg": (1.0, {"kg": 1}),
    "g": (1e-3, {"kg": 1}),
    "N": (1.0, FORCE),
    "mN": (1e-3, FORCE),
    "kN": (1e3, FORCE),
    "Nm": (1.0, TORQUE),
    "mNm": (1e-3, TORQUE),
    "kNm": (1e3, TORQUE),
    "V": (1.0, {"V": 1}),
    "mV": (1e-3, {"V": 1}),
    "kV": (1e3, {"V": 1}),
    "A": (1.0, {"A": 1}),
    "mA": (1e-3, {"A": 1}),
}
#: The same in full, as instruments write them.
UNIT_WORDS |= {
    word: UNIT_WORDS[short]
    for short, words in {
        "s": "second Second Seconds",
        "V": "volt volts Volt Volts",
        "A": "ampere amperes Ampere amp amps",
        "deg": "degree degrees Degrees",
        "rad": "radian radians Radians",
    }.items()
    for word in words.split()
}
#: Units in SI as people write them.
COMMON_UNITS = ("rad", "m", "s", "rad/s", "m/s", "rad/s^2", "m/s^2", "N m", "N", "V", "A", "kg", "kg m^2", "Hz")
POWERS = str.maketrans({"²": "2", "³": "3"})
UNIT_WORD = re.compile(r"([A-Za-zµ°]+|1|%)(?:\^?(-?\d))?\Z")


#: A name with its unit: 'q [deg]', 'q[deg]', 'q (deg)', 'q(deg)'.
SQUARE = re.compile(r"(.+?)(?:\s+\[(.*)\]|\[([^\[\]]*[^\d\[\]][^\[\]]*)\])")
ROUND = re.compile(r"(.+?)(\s*)\(([^()]*(?:\([^()]*\))?[^()]*)\)")
#: Words in round brackets that a name may end in without meaning a unit: f(s), v(in), T(min).
PLAIN_WORDS = ("in", "min")


def name_and_unit(head: str) -> tuple[str, str]:
    """'q [rad]' -> ('q', 'rad'), 'q (deg)' -> ('q', 'deg'); but 'q[1]' and 'q(1)' are elements, and 'f(s)' is a name.

    What stands in round brackets is a unit where it is a known one; close to the name, where it has more than one letter.
    """
    if match := SQUARE.fullmatch(head):
        return match[1], (match[2] or match[3] or "").strip()
    match = ROUND.fullmatch(head)
    unit = match[3].strip() if match else ""
    if not match or unit.isdigit() or measure(unit) is None:
        return head, ""
    apart = bool(match[2]) or (len(unit) > 1 and unit not in PLAIN_WORDS)
    return (match[1], unit) if apart else (head, "")


def unit_in_row(cell: str) -> str | None:
    """The unit in a cell of a row of units, 'deg', '[deg]' or '(deg)'; '' for an empty cell or a dash, None for anything else."""
    word = cell.strip().removeprefix("[").removesuffix("]").removeprefix("(").removesuffix(")").strip()
    if word in ("", "-"):
        return ""
    return word if not word.isdigit() and measure(word) is not None else None


def to_base(unit: str) -> float:
    """What a number in `unit` is multiplied with to be in SI units; 1 for a unit that is not known."""
    scaled = measure(unit) if unit else None
    return scaled[0] if scaled else 1.0


def base_unit(unit: str) -> str:
    """The unit that a number has once it is multiplied with `to_base`: 'rad' for 'deg'; a unit that is not known stays."""
    scaled = measure(unit) if unit else None
    if scaled is None or scaled[0] == 1:
        return unit
    common = next((name for name in COMMON_UNITS if measure(name) == (1.0, scaled[1])), "")
    return common or " ".join(f"{base}^{power}" for base, power in scaled[1])


def unit_factor(unit: str, aim: str) -> float | None:
    """What a number in `unit` is multiplied with to be in `aim`; None where neither can be made of the other."""
    if unit == aim:
        return 1.0
    source, target = measure(unit), measure(aim)
    return source[0] / target[0] if source and target and source[1] == target[1] else None


def measure(unit: str) -> tuple[float, Dimension] | None:
    """A unit such as 'N m s/rad' as a factor and powers of base units; None for a word that is not known."""
    value, powers = 1.0, dict[str, int]()
    above, *below = unit.translate(POWERS).split("/")
    for text, side in [(above, 1), *((part, -1) for part in below)]:
        for token in re.split(r"[\s.*·]+", text.strip("() ")):
            match = UNIT_WORD.match(token)
            if not match or match[1] not in UNIT_WORDS:
                return None
            scale, dimension = UNIT_WORDS[match[1]]
            power = side * int(match[2] or 1)
            value *= scale**power
            for base, exponent in dimension.items():
                powers[base] = powers.get(base, 0) + exponent * power
    return value, tuple(sorted((base, power) for base, power in powers.items() if power))


#: Ends of names that mean a unit, beside units of two letters and more.
NAME_ENDS = {
    "pct": "%",
    "percent": "%",
    "inc": "counts",
    "incr": "counts",
    "cnt": "counts",
    "counts": "counts",
    "ticks": "counts",
}


def unit_in_name(name: str) -> str:
    """The unit that a name like 'pos_rad' or 'speed.rpm' ends in, '' where it ends in none: one letter may be anything."""
    parts = re.split(r"[_.\s-]+", re.sub(r"\[\d+\]$", "", name))
    word = parts[-1] if len(parts) > 1 else ""
    if word.lower() in NAME_ENDS:
        return NAME_ENDS[word.lower()]
    same = next((unit for unit in UNIT_WORDS if unit.lower() == word.lower() and unit not in ("in", "min")), "")
    return same if len(same) > 1 else ""
