"""What a block declares: names with units and limits, and pure functions whose argument list is their dependency list.

    class FirstOrderLag(Block):
        "T y' + y = k u."
        k: float = param(1.0, "static gain")
        T: float = required("time constant", "s", above=0)
        u = inport("input")
        y = outport("lagged input")
        x: float = state(0.0, "lagged value")

        @staticmethod
        def output(x):
            return x

        @staticmethod
        def derivative(x, u, k, T):
            return (k * u - x) / T

`output(x)` has no direct feedthrough, `output(u, k)` has: nothing else says so. Mistakes are refused when the class is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from ..errors import DiagramError, Problem, did_you_mean, listing
from ..notation import brief
from .decision import decided_class
from .declarations import (
    Declared,
    Param,
    Period,
    StatePort,
    Static,
    fixed,
    inport,
    law,
    memory,
    model,
    normal,
    outport,
    param,
    period,
    required,
    state,
    static,
    table,
    uniform,
)
from .definition import arguments, check_class

if TYPE_CHECKING:
    from .plant import Plant

GuardFunction = TypeVar("GuardFunction", bound=Callable[..., Any])
AnyDeclared = TypeVar("AnyDeclared", bound=Declared)

__all__ = [
    "Block",
    "RecordBlock",
    "SampledBlock",
    "both",
    "brief",
    "falling",
    "fixed",
    "inport",
    "law",
    "memory",
    "model",
    "normal",
    "outport",
    "param",
    "period",
    "required",
    "rising",
    "state",
    "static",
    "table",
    "uniform",
]


def falling(function: GuardFunction) -> GuardFunction:
    """Mark a guard: its reset fires when it falls below zero (what an unmarked guard does)."""
    function.__dict__["direction"] = 1
    return function


def rising(function: GuardFunction) -> GuardFunction:
    """Mark a guard: its reset fires when it rises above zero."""
    function.__dict__["direction"] = -1
    return function


def both(function: GuardFunction) -> GuardFunction:
    """Mark a guard: its reset fires whenever it changes sign."""
    function.__dict__["direction"] = 0
    return function


class Block:
    """A block of a diagram. Subclass it with declarations and static functions; an instance holds checked settings."""

    family: ClassVar[str] = ""
    declared: ClassVar[dict[str, Declared]] = {}
    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    #: The declarations of each kind that was asked for: they are asked for thousands of times in a run's life.
    _sorted: ClassVar[dict[tuple[type[Declared], ...], dict[str, Any]]] = {}
    #: How `draw` shows it: 'box', 'circle' (Sum) or 'triangle' (Gain); 'source', 'plant', 'plain', 'sink' or 'record'.
    shape: ClassVar[str] = "box"
    colour: ClassVar[str] = "plain"
    #: A small sign above its text: polylines in a unit square, y upwards: "0,0 0.5,0 0.5,1 1,1; 0,0 1,0".
    icon: ClassVar[str] = ""
    #: Its equation in LaTeX for its page, where the first line of the docstring is a sentence and cannot be typeset.
    formula: ClassVar[str] = ""
    #: Its outputs have the unit of its inputs: a sum, a sensor, a hold.
    same_unit: ClassVar[bool] = False
    #: Outputs are computed at the block's sample hits only, and hold between them.
    sampled: ClassVar[bool] = False
    #: Works on whole records after the run instead of during it.
    after_run: ClassVar[bool] = False
    #: Names of the parameters it estimates while it runs: its outputs theta and std end up among the record's estimates.
    estimated: ClassVar[tuple[str, ...]] = ()
    #: Settings in which the name of another block stands for what that block found: {J: ls}; and words that are no such name.
    starts_from: ClassVar[tuple[str, ...]] = ()
    start_words: ClassVar[tuple[str, ...]] = ("truth",)
    #: YAML for a complete small diagram that uses the block; shown in the catalogue and run by the tests.
    example: ClassVar[str] = ""

    settings: dict[str, Any]
    #: The class `modelled` gave once the plant was found that a setting names; its ports are the block's.
    bound: type[Block] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        collected: dict[str, Declared] = {}
        functions: dict[str, Callable[..., Any]] = {}
        for base in reversed(cls.__mro__):
            for name, value in vars(base).items():
                if isinstance(value, Declared):
                    collected.pop(name, None)
                    collected[name] = value
                elif isinstance(value, staticmethod):
                    functions[name] = value.__func__
        for name, declaration in collected.items():
            if isinstance(declaration, StatePort) and f"output_{name}" not in functions:
                functions[f"output_{name}"] = state_output(name)
        cls.declared, cls.functions, cls._sorted = collected, functions, {}
        check_class(cls)

    def __init__(self, **settings: Any):
        problems = type(self).problems(settings)
        if problems:
            raise DiagramError([Problem(f"{type(self).__name__}: {text}") for _, text in problems])
        defaults = {n: d.default for n, d in type(self).declared.items() if d.settable}
        self.settings = {**defaults, **{n: v.tolist() if hasattr(v, "tolist") else v for n, v in settings.items()}}

    def __repr__(self) -> str:
        own = ", ".join(f"{k}={v!r}" for k, v in self.settings.items() if v != type(self).declared[k].default)
        return f"{type(self).__name__}({own})"

    def label(self) -> list[str]:
        """Up to two lines for the picture: what it is, and its one or two telling settings; or a fraction with its bar."""
        declared = type(self).declared
        telling = [
            f"{k}={brief(v)}"
            for k, v in self.settings.items()
            if isinstance(declared[k], (Param, Static, Period)) and (declared[k].required or v != declared[k].default)
        ]
        return [type(self).__name__, ", ".join(telling[:2])] if telling else [type(self).__name__]

    def variant(self, inputs: int = 1) -> type[Block]:
        """The class whose functions run for these settings and this many inputs: usually its own."""
        return self.bound or type(self)

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        """What these plants decide, by the setting that names each: values of `fixed`, functions of `law`, ports of theirs."""
        return {}

    def modelled(self, plants: Mapping[str, Plant]) -> type[Block]:
        """The class for these plants: with what they decide. Equal plants, the same class."""
        parts = self.decided(plants)
        return decided_class(type(self), parts) if parts else type(self)

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        """Units of ports that its settings and the plants it names decide, {"y": "rad"}; the others are as declared."""
        return {}

    def element_units(self) -> Mapping[str, tuple[str, ...]]:
        """Units of the elements of ports where these differ, {"q": ("rad", "m")}."""
        return {}

    def prior(self, plants: Mapping[str, Plant]) -> Mapping[str, tuple[float, float]]:
        """Of each parameter that it estimates the first value, and how far that may be off, nan where nothing is said."""
        return {}

    def ideal(self) -> Block:
        """The block in a world without faults: a sensor says so here, with a block of the same ports that reads the truth."""
        return self

    def smooth(self) -> Block:
        """The block without noise and rounding, its other faults as they are: what a sensor reads on average."""
        return self.ideal()

    def figure(self) -> Mapping[str, Any]:
        """How it is seen to move: {} where it is not. `kind` is link, slide, masses or chain; `signals` the outputs it is drawn
        from, positions first; what else a kind takes stands in docs/own-blocks.md."""
        return {}

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        """Why a run in which its ports moved so tells little of these parameters of it: words that follow 'because', or ''."""
        return ""

    @overload
    @classmethod
    def of(cls, kind: type[AnyDeclared], /) -> dict[str, AnyDeclared]: ...
    @overload
    @classmethod
    def of(cls, *kinds: type[Declared]) -> dict[str, Any]: ...
    @classmethod
    def of(cls, *kinds: type[Declared]) -> dict[str, Any]:
        """The declarations of these kinds, in order."""
        if kinds not in cls._sorted:
            cls._sorted[kinds] = {n: d for n, d in cls.declared.items() if isinstance(d, kinds)}
        return dict(cls._sorted[kinds])

    @classmethod
    def problems(cls, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Everything wrong with these settings, as (setting, words)."""
        takes = {n: d for n, d in cls.declared.items() if d.settable}
        texts = []
        for name in settings:
            if name not in takes:
                texts.append(
                    (name, f"no parameter '{name}'. {cls.__name__} takes: {listing(takes)}." + did_you_mean(name, takes))
                )
        for name, declaration in takes.items():
            if name in settings and settings[name] is None and declaration.default is None and not declaration.required:
                continue  # nothing, said or not: what the block itself makes of that
            if name in settings:
                texts += [(name, f"{name}: {text}") for text in declaration.problems(settings[name])]
            elif declaration.required:
                texts.append((name, f"'{name}' must be given: {declaration.meaning()}."))
        if not texts and "check" in cls.functions:
            values = {n: settings.get(n, d.default) for n, d in takes.items()}
            check = cls.functions["check"]
            text = check(**{n: values[n] for n in arguments(check)})
            if text:
                texts.append(("", text))
        return texts


class SampledBlock(Block):
    """A block that acts every Ts seconds; between its hits its outputs hold."""

    abstract = True
    sampled = True
    Ts = period(doc="sample time", required=True)
    offset = period(0, "time of the first hit", optional=True)


class RecordBlock(Block):
    """A block that works on whole recorded signals, after the run: filters, smoothers, identifiers.

    Its one ordinary method `process(self, t, <inports>)` returns an array per outport (a tuple in port order). A block that
    changes the grid (a decimation) says the times of its outputs with `times(self, t)`.
    """

    abstract = True
    after_run = True
    colour = "record"
    repeats_loop = False  # whether it simulates the loop again, controller and all

    def times(self, t: Any) -> Any:
        """The times of its outputs, given those of its inputs: the same ones."""
        return t

    def judged_rows(self, plant: Any, signals: Mapping[str, Any]) -> Any:
        """Which rows (samples, equations) its model of a plant is judged by; None where all are."""
        return None

    def used_times(self, t: Any) -> Any:
        """Of the times of its inputs, those it makes use of; where none is left, raise RecordError, and `check` says so."""
        return t

    def fits(self, path: str, schedule: Any) -> None:
        """Refuse, before anything runs, a diagram it cannot work in: raise DiagramError. `path` is its own."""


def state_output(name: str) -> Callable[..., Any]:
    """The output function of a state that is a port: the state itself."""
    text = f"def output_{name}({name}):\n    return {name}\n"
    space: dict[str, Any] = {}
    exec(text, space)
    result: Callable[..., Any] = space[f"output_{name}"]
    result.__dict__["__source__"] = text
    return result
