"""Plant: the system another block knows the equations of, with the values it has in this run.

An observer or an identifier says `model: joint`, a block of its diagram, whose values are then the truth; or
`model: GravityJoint`, a type of the library with its defaults; or `model: drive`, a subsystem, which is then one plant: a
`Composite` that knows its parts, their settings under dotted names, and how they are wired. What the whole computes is followed
from part to part (`tracing.wiring`); a diagram runs the parts themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import DiagramError, RecordError, did_you_mean, listing
from .block import Block
from .declarations import Declared, Inport, Model, Outport, State
from .definition import arguments
from .library import find, library

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Plant:
    """A block type with settings; `path` is the block of the diagram that has them, '' where only a type was named."""

    kind: type[Block]
    settings: dict[str, Any] = field(default_factory=dict)
    path: str = ""
    plants: dict[str, Plant] = field(default_factory=dict)  # those it names itself, as a filter does that a smoother names

    @property
    def name(self) -> str:
        return f"'{self.path}' ({self.kind.__name__})" if self.path else self.kind.__name__

    @functools.cached_property
    def grouping(self) -> Any:
        """What its base parameters are made of, as its class says; None where its parameters can be told apart one by one."""
        return self.kind.grouping() if hasattr(self.kind, "grouping") else None

    @property
    def shared_motors(self) -> tuple[tuple[float, ...], ...]:
        """Of each motor that several joints turn: its speed by theirs, as its class says."""
        return self.kind.shared_motors() if hasattr(self.kind, "shared_motors") else ()

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The parameters its inverse dynamic model is linear in, base ones where it has them; () where it gives none."""
        return self.grouping.names if self.grouping else self.standard

    @functools.cached_property
    def standard(self) -> tuple[str, ...]:
        """Its own parameters, of which base ones are made."""
        more: tuple[str, ...] = getattr(
            self.kind, "weight_parameters", ()
        )  # columns that it has where they or the first of them are not 0
        return (*getattr(self.kind, "inverse_parameters", ()), *(n for n in more if self.settings[n] or self.settings[more[0]]))

    @property
    def values(self) -> dict[str, float]:
        """Their values by its settings."""
        if self.grouping:
            return dict(zip(self.grouping.names, self.grouping.values(self.settings), strict=True))
        return {n: float(self.settings[n]) for n in self.parameters}

    @property
    def truth(self) -> dict[str, float]:
        """Their values in this run; nothing where only a type was named."""
        return self.values if self.path else {}

    def settings_of(self, values: Mapping[str, float]) -> dict[str, float]:
        """Settings with which it moves as these values of its parameters say."""
        return self.grouping.settings([values[n] for n in self.grouping.names]) if self.grouping else dict(values)

    def declared(self, parameter: str) -> Any:
        """The declaration of a parameter; of a base parameter that of the standard one it is named after."""
        if self.grouping and parameter in self.grouping.names:
            parameter = self.grouping.kept[self.grouping.names.index(parameter)]
        return self.kind.declared.get(parameter)

    @functools.cached_property
    def motion(self) -> tuple[str, ...]:
        """The signals its regressor asks for, such as q, qd, qdd."""
        signals = self.kind.of(Inport, Outport)  # a state that is a port has a setting of its name too: where it starts
        return tuple(a for a in arguments(self.row_function()) if a not in self.settings or a in signals)

    @property
    def drive(self) -> str:
        """The input that drives it, such as tau."""
        return next(iter(self.kind.of(Inport)))

    @property
    def effort_unit(self) -> str:
        """That of the drive, where the effort is made of it and of what has the same unit; else what its class says."""
        declared, unit = self.kind.declared, self.kind.declared[self.drive].unit
        parts = arguments(self.kind.functions["effort"]) if "effort" in self.kind.functions else ()
        return unit if all(declared[name].unit == unit for name in parts) else str(getattr(self.kind, "gained_unit", ""))

    def unit_of(self, *ports: str) -> str:
        """The unit that these ports of it share; '' where they share none, or it is not known."""
        units = {getattr(self.kind.of(Inport, Outport).get(port), "unit", "") for port in ports}
        return units.pop() if len(units) == 1 else ""

    def row_function(self) -> Any:
        if "regressor" not in self.kind.functions or not self.parameters:
            raise DiagramError(
                f"{self.name} gives no regressor: its inverse model is not known to be linear in its parameters. Plants that "
                f"give one: {listing(sorted(n for n, k in library().items() if 'regressor' in k.functions))}."
            )
        return self.kind.functions["regressor"]

    def regressor(self, motion: Mapping[str, Any]) -> np.ndarray:
        """Rows of the inverse dynamic model, shape (samples, joints, parameters), from signals by name."""
        import numpy as np

        function = self.row_function()
        signals = {a: motion[a] if a in motion else self.settings[a] for a in arguments(function)}
        kind: Any = self.kind
        rows = np.asarray(kind.rows(self.grouping.kept, **signals) if self.grouping else function(**signals))
        if not np.isfinite(rows).all():
            raise RecordError(f"the regressor of {self.name} is not finite everywhere; are there nan in the signals?")
        return rows[:, None, :] if rows.ndim == 2 else rows

    def effort(self, drive: Any) -> np.ndarray:
        """What the rows times the parameters give, shape (samples, joints): the drive, through the gain some plants have."""
        import numpy as np

        function = self.kind.functions.get("effort")
        constants = {} if function is None else {n: 0.0 if n in self.parameters else v for n, v in self.given(function).items()}
        values = drive if function is None else function(**{self.drive: drive, **constants})
        return np.asarray(values, dtype=float).reshape(len(values), -1)

    def given(self, function: Any) -> dict[str, Any]:
        """The settings a function of the plant asks for."""
        return {a: self.settings[a] for a in arguments(function) if a in self.settings}

    def changed(self, settings: Mapping[str, Any]) -> Plant:
        return replace(self, settings={**self.settings, **settings}) if settings else self

    def updated(self, new: Mapping[str, Mapping[str, Any]]) -> Plant:
        """With new settings by path, for itself and for the plants it names."""
        plants = {name: plant.updated(new) for name, plant in self.plants.items()}
        return replace(self.changed(changes_within(self.path, self.settings, new)), plants=plants)


def changes_within(path: str, settings: Mapping[str, Any], new: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """New settings by path, as settings of one plant: its own, and where it is a subsystem those of its parts by dotted names."""
    changes = dict(new.get(path, {}))
    for part, own in new.items() if path else ():
        if part.startswith(f"{path}."):
            dotted = {f"{part[len(path) + 1 :]}.{name}": value for name, value in own.items()}
            changes |= {name: value for name, value in dotted.items() if name in settings}
    return changes


def plants_of(block: Block, blocks: Mapping[str, Block], prefix: str = "") -> dict[str, Plant]:
    """The plants a block's settings name, by setting. A name of the diagram goes before a type of the same name."""
    result = {}
    for setting in block.of(Model):
        name = block.settings[setting]
        if name is None:
            continue
        if name in blocks:
            others = {path: other for path, other in blocks.items() if path != name}  # so that a circle of names ends
            result[setting] = Plant(
                type(blocks[name]), blocks[name].settings, prefix + name, plants_of(blocks[name], others, prefix)
            )
        elif name in library():
            kind = find(name)
            wanting = [n for n, d in kind.declared.items() if d.settable and d.required]
            if wanting:
                raise DiagramError(
                    f"{setting}: {name} has no default for {listing(wanting)}; name a block of the diagram instead."
                )
            result[setting] = Plant(kind, kind().settings)
        else:
            raise DiagramError(
                f"{setting}: '{name}' is neither a block of the diagram nor a block type. Blocks are: {listing(blocks)}."
                + did_you_mean(name, [*blocks, *library()])
            )
    return result


def bind(block: Block, plants: Mapping[str, Plant]) -> None:
    """Fix the class of a block for its plants; its ports are known from here on."""
    block.bound = block.modelled(plants)


@dataclass(frozen=True)
class PartSignal:
    """A signal within a subsystem: the output of a part, or, where no part is named, an input of the whole."""

    part: str
    port: str
    element: int | None = None


@dataclass(frozen=True)
class Part:
    """A block of a subsystem: its dotted name, its class, and the signals at each of its inputs."""

    name: str
    kind: type[Block]
    wires: tuple[tuple[str, tuple[PartSignal, ...]], ...]

    def wires_to(self, port: str) -> tuple[PartSignal, ...]:
        return dict(self.wires).get(port, ())

    def own(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Its settings among those of the whole."""
        return {n: settings[f"{self.name}.{n}"] for n, d in self.kind.declared.items() if d.settable}

    def block(self, settings: Mapping[str, Any]) -> Block:
        return self.kind(**{n: v for n, v in self.own(settings).items() if v is not None})

    def variant(self, settings: Mapping[str, Any]) -> type[Block]:
        """The class whose functions run for these settings."""
        return self.block(settings).variant(sum(len(wires) for _, wires in self.wires))


class Composite(Block):
    """A subsystem taken for one plant; each has a class of its own."""

    abstract = True
    colour = "plant"
    parts: ClassVar[tuple[Part, ...]] = ()
    outputs: ClassVar[tuple[tuple[str, PartSignal], ...]] = ()

    @classmethod
    def problems(cls, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
        texts = super().problems(settings)
        for part in cls.parts if not texts else ():
            own = {n: v for n, v in part.own({**defaults(cls), **settings}).items() if v is not None}
            texts += [(f"{part.name}.{n}" if n else "", f"{part.name}.{text}") for n, text in part.kind.problems(own)]
        return texts

    def variant(self, inputs: int = 1) -> type[Block]:
        """Its own class; but that the parts' are what they are is found out here, where a setting may change them."""
        return type(self)


#: Classes by what they are made of: equal subsystems share one, and observers of them a program.
COMPOSITES: dict[Any, type[Composite]] = {}


def defaults(kind: type[Block]) -> dict[str, Any]:
    return {n: d.default for n, d in kind.declared.items() if d.settable}


def composite_class(
    name: str, parts: tuple[Part, ...], inputs: tuple[str, ...], outputs: tuple[tuple[str, PartSignal], ...]
) -> type[Composite]:
    """The class of a subsystem with these parts, inputs and outputs."""
    key = name, parts, inputs, outputs
    if key not in COMPOSITES:
        members: dict[str, Any] = {"__doc__": f"{name}: a subsystem as one plant.", "abstract": True}
        members |= {"parts": parts, "outputs": outputs}
        for part in parts:
            members |= {f"{part.name}.{n}": inner(d) for n, d in part.kind.declared.items() if d.settable}
        kinds = {part.name: part.kind for part in parts}
        members |= {port: Inport(doc=f"input of {name}", unit=unit_at(parts, port)) for port in inputs}
        for port, wire in outputs:
            declared = kinds[wire.part].declared[wire.port] if wire.part else Inport(doc="input passed on")
            size = 1 if wire.element is not None else getattr(declared, "size", 1)
            members[port] = Outport(doc=declared.doc, unit=declared.unit, size=size)
        COMPOSITES[key] = type(name, (Composite,), members)
    return COMPOSITES[key]


def inner(declared: Declared) -> Declared:
    """A part's declaration as one of the whole: of a state that is a port, only the state."""
    if isinstance(declared, Outport):
        return State(doc=declared.doc, unit=declared.unit, default=declared.default, size=declared.size)
    return replace(declared, name="")


def unit_at(parts: tuple[Part, ...], port: str) -> str:
    """The unit of an input of the whole: that of the first input it is wired to."""
    for part in parts:
        for name, wires in part.wires:
            if PartSignal("", port) in wires and part.kind.declared[name].unit:
                return part.kind.declared[name].unit
    return ""


def refuse_sampled(name: str, part: Part, settings: Mapping[str, Any]) -> None:
    """A plant moves continuously: what acts at samples is no part of one."""
    variant = part.variant(settings)
    if variant.sampled or variant.after_run:
        raise DiagramError(
            f"{name} is no plant: its block '{part.name}' ({part.kind.__name__}) "
            + ("works after the run." if variant.after_run else "acts at sample hits.")
            + " Put it outside the subsystem."
        )
