"""The kinds of name a block declares: each knows its meaning, its unit, its limits, and what is wrong with a given value."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from .limits import Interval
from .times import Seconds, exact

#: A number, a name of one, or the two of a matrix, which is laid out row by row.
Size = int | str | tuple[int | str, int | str]
#: Types of settings as people say them.
KINDS = {int: "a whole number", float: "a number", str: "a text", list: "a list", dict: "a mapping {name: value}"}


@dataclass(kw_only=True, eq=False)
class Declared:
    """A declared name. On the class it is itself; on a block it reads as the block's setting."""

    doc: str
    unit: str = ""
    default: Any = None
    required: bool = False
    settable = True
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance.settings[self.name]

    def problems(self, value: Any) -> list[str]:
        """What is wrong with this value, in words."""
        return []

    def mistake(self) -> str:
        """What is wrong with the declaration itself, in words."""
        return "" if self.doc.strip() else "a declaration says in words what it is."

    def meaning(self) -> str:
        return f"{self.doc} [{self.unit}]" if self.unit else self.doc


@dataclass(kw_only=True, eq=False)
class Param(Declared):
    """A number (or an array of them) in the run-time vector: swept, fitted, changed without recompiling."""

    above: float | None = None
    below: float | None = None
    min: float | None = None
    max: float | None = None
    infinite: bool = False
    shape: tuple[int | str | None, ...] = ()

    @functools.cached_property
    def limits(self) -> Interval:
        """The values it may have."""
        return Interval.of(self.above, self.min, self.below, self.max)

    def problems(self, value: Any) -> list[str]:
        if type(value) is float and not self.shape and self.limits.contains(value) and math.isfinite(value):
            return []  # as nearly always
        dims = len(self.shape)
        if getattr(value, "ndim", 0):
            value = value.tolist()
        if dims == 1 and self.shape == (None,) and not isinstance(value, (list, tuple)):
            dims = 0  # a number is a list of one
        if dims == 0 and isinstance(value, (list, tuple)):
            dims = 1  # a scalar block may be widened to a vector: one number per element
        return array_problems(self, value, dims)

    def number_problem(self, value: Any) -> str:
        text = not_a_number(value)
        if text:
            return text + self.wanted()
        if math.isnan(value) or (math.isinf(value) and not self.infinite):
            return f"{value} is not a finite number." + self.wanted()
        return "" if self.limits.contains(value) else f"must be {self.limits}, found {value:g}."

    def wanted(self) -> str:
        return f" A number is wanted: {self.meaning()}" + (f", {words}." if (words := str(self.limits)) else ".")

    def mistake(self) -> str:
        if not self.required and self.default is not None and self.problems(self.default):
            return f"its default: {self.problems(self.default)[0]}"
        return super().mistake()


@dataclass(kw_only=True, eq=False)
class State(Param):
    """A continuous state; the setting of the same name is its initial value."""

    size: Size = 1

    def problems(self, value: Any) -> list[str]:
        return array_problems(self, value, 1 if isinstance(value, (list, tuple)) else 0)


@dataclass(kw_only=True, eq=False)
class Memory(State):
    """A discrete state: changed at sample hits and by resets, constant between. With `array`, a buffer changed in place."""

    array: bool = False
    internal: bool = False  # no setting: its first value is 0, or what `table_<name>` gives

    def __post_init__(self) -> None:
        self.settable = not self.internal


@dataclass(kw_only=True, eq=False)
class Static(Declared):
    """A setting that shapes the code: a size, a variant, a text."""

    choices: tuple[Any, ...] = ()
    kind: type | tuple[type, ...] = object

    def problems(self, value: Any) -> list[str]:
        if self.choices and value not in self.choices:
            return [f"{value!r} is not one of {', '.join(str(c) for c in self.choices)}."]
        if isinstance(value, bool) and self.kind not in (bool, object):
            return [f"found {value!r}. {self.meaning()} is wanted."]
        if not isinstance(value, self.kind) and (self.required or value is not self.default):
            types = self.kind if isinstance(self.kind, tuple) else (self.kind,)
            words = " or ".join(KINDS.get(k, k.__name__) for k in types)
            return [f"found {value!r}. {words[0].upper()}{words[1:]} is wanted: {self.meaning()}."]
        return []

    def mistake(self) -> str:
        if self.choices and not self.required and self.default not in self.choices:
            return f"its default {self.default!r} is not one of its choices."
        return super().mistake()


@dataclass(kw_only=True, eq=False)
class Fixed(Declared):
    """A constant of the class that shapes the code: a size, a list of places. Classes made for a plant have others."""

    settable = False


@dataclass(kw_only=True, eq=False)
class Law(Declared):
    """A function of the plant, such as its rates: block functions take it as an argument and call it.

    `decided(plants)` gives it, once the plant is known.
    """

    function: Callable[..., Any] | None = None
    settable = False


@dataclass(kw_only=True, eq=False)
class Model(Static):
    """A setting that names a plant, whose equations the block uses: a block of the diagram, or a type of the library.

    In functions called before or after the run (`table_<name>`, `process`) the name stands for a `Plant`.
    """

    kind: type | tuple[type, ...] = str
    port: str = ""  # where nothing is named: the block that drives this port


@dataclass(kw_only=True, eq=False)
class Period(Declared):
    """A time that sets sample hits, kept exact: a number of seconds or a fraction such as '1/3'."""

    optional: bool = False

    def problems(self, value: Any) -> list[str]:
        try:
            seconds = exact(value)
        except ValueError as error:
            return [f"{error} Seconds are wanted: {self.meaning()}."]
        if seconds < 0 or (seconds == 0 and not self.optional):
            return [f"must be {'at least' if self.optional else 'above'} 0, found {value}."]
        return []


@dataclass(kw_only=True, eq=False)
class Inport(Declared):
    """An input. `many` takes any number of signals; an `optional` one reads `default` when nothing is connected.

    Where what it is for depends on what is connected, `like` names the port that has the same unit, or the setting that names
    signals with it; `rate_of` the port whose derivative this is.
    """

    size: Size = 1
    many: bool = False
    optional: bool = False
    like: str = ""
    rate_of: str = ""
    settable = False


@dataclass(kw_only=True, eq=False)
class Outport(Declared):
    """An output. `measured` marks what a real sensor could deliver; everything else is truth.

    Where the unit depends on what is connected, `like` names the port that has the same one, `rate_of` the port whose
    derivative this is, `integral_of` the port whose integral.
    """

    size: Size = 1
    measured: bool = False
    like: str = ""
    rate_of: str = ""
    integral_of: str = ""
    settable = False

    def relative(self) -> tuple[str, int]:
        """The port that tells its unit, and how often that is differentiated in it; ('', 0) where none does."""
        choices = ((self.like, 0), (self.rate_of, 1), (self.integral_of, -1))
        return next((choice for choice in choices if choice[0]), ("", 0))

    def measure(self) -> str:
        """Its unit in words, for the catalogue."""
        name, times = self.relative()
        return self.unit or (f"of {name}{('', ', per s', ' times s')[times]}" if name else "")


@dataclass(kw_only=True, eq=False)
class StatePort(State, Outport):
    """A continuous state that is an output of its block too, under the same name."""

    settable = True


@dataclass(kw_only=True, eq=False)
class Noise(Declared):
    """One random draw per sample hit from a stream of the block's own."""

    kind: str = "normal"
    settable = False


@dataclass(kw_only=True, eq=False)
class Table(Declared):
    """An array computed before the run by `table_<name>(...)`."""

    shape: tuple[int | str | None, ...] = (None,)
    settable = False


def not_a_number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 and value.dtype.kind in "fiu":
            return ""
        return f"found {value!r}."
    return ""


def array_problems(declaration: Param, value: Any, dims: int) -> list[str]:
    """Check a number (dims 0), a list of numbers (1) or a list of equally long rows (2)."""
    if dims == 0:
        text = declaration.number_problem(value)
        return [text] if text else []
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return [f"found {value!r}; a list of {'rows' if dims == 2 else 'numbers'} is wanted: {declaration.meaning()}."]
    if dims == 2:
        rows = {len(row) if isinstance(row, (list, tuple)) else -1 for row in value}
        if len(rows) != 1:
            return [f"its rows differ in length; a matrix is a list of equally long rows: {declaration.meaning()}."]
    return [text for item in value for text in array_problems(declaration, item, dims - 1)][:3]


class Limits(TypedDict, total=False):
    """What `param` and `required` take beside default, doc and unit."""

    above: float
    min: float
    below: float
    max: float
    infinite: bool
    shape: tuple[int | str | None, ...]


class Choice(TypedDict, total=False):
    """What `static` takes beside default and doc."""

    required: bool
    choices: tuple[Any, ...]
    kind: type | tuple[type, ...]


def param(default: Any, doc: str, unit: str = "", **limits: Unpack[Limits]) -> Any:
    """A number with a default. `above`, `min`, `below`, `max` limit it; `shape` makes it an array."""
    return Param(default=default, doc=doc, unit=unit, **limits)


def required(doc: str, unit: str = "", **limits: Unpack[Limits]) -> Any:
    """A number the user must give."""
    return Param(required=True, doc=doc, unit=unit, **limits)


def static(default: Any, doc: str, **more: Unpack[Choice]) -> Any:
    """A setting that shapes the code; a change recompiles."""
    return Static(default=default, doc=doc, **more)


def fixed(value: Any, doc: str) -> Any:
    """A constant of the class, such as a size that ports and functions use by name."""
    return Fixed(default=value, doc=doc)


def law(doc: str) -> Any:
    """A function of the plant, which functions of the block take as an argument and call."""
    return Law(doc=doc)


def model(doc: str, required: bool = True, port: str = "") -> Any:
    """The name of a block of the diagram whose equations and values are used, or a block type with its defaults.

    With `port`, it is the block that drives that input where none is named.
    """
    return Model(default=None, doc=doc, required=required and not port, port=port)


def period(default: Seconds | None = None, doc: str = "sample time", required: bool = False, optional: bool = False) -> Any:
    """An exact time in seconds that sets the block's sample hits."""
    return Period(default=default, doc=doc, unit="s", required=required, optional=optional)


def state(x0: float, doc: str, unit: str = "", size: Size = 1, port: bool = False) -> Any:
    """A continuous state; its initial value is a setting of the same name. With `port` it is an output too."""
    return (StatePort if port else State)(default=x0, doc=doc, unit=unit, size=size)


def memory(m0: float, doc: str, unit: str = "", size: Size = 1, array: bool = False, internal: bool = False) -> Any:
    """A discrete state; its initial value is a setting of the same name, unless it is `internal`."""
    return Memory(default=m0, doc=doc, unit=unit, size=size, array=array, internal=internal)


def inport(
    doc: str, unit: str = "", size: Size = 1, many: bool = False, optional: bool = False, default: float = 0.0,
    like: str = "", rate_of: str = "",
) -> Any:  # fmt: skip
    """An input port."""
    return Inport(doc=doc, unit=unit, size=size, many=many, optional=optional, default=default, like=like, rate_of=rate_of)


def outport(
    doc: str, unit: str = "", size: Size = 1, measured: bool = False, like: str = "", rate_of: str = "", integral_of: str = ""
) -> Any:
    """An output port."""
    return Outport(doc=doc, unit=unit, size=size, measured=measured, like=like, rate_of=rate_of, integral_of=integral_of)


def normal(doc: str) -> Any:
    """One standard normal draw per sample hit."""
    return Noise(doc=doc, kind="normal")


def uniform(doc: str) -> Any:
    """One draw per sample hit, uniform on [0, 1)."""
    return Noise(doc=doc, kind="uniform")


def table(doc: str, unit: str = "", shape: tuple[int | str | None, ...] = (None,)) -> Any:
    """An array computed before the run by the block's function `table_<name>`."""
    return Table(doc=doc, unit=unit, shape=shape)
