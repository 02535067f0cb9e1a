"""Plant: the system another block knows the equations of, with the values it has in this run.

An observer or an identifier says `model: joint`, a block of its diagram, whose values are then the truth; or
`model: GravityJoint`, a type of the library with its defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import DiagramError, RecordError, did_you_mean, listing
from .block import Block
from .declarations import Inport, Model, Outport
from .definition import arguments
from .library import find, library

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Grouping:
    """base = matrix @ standard. Each base parameter is a kept standard one and its share of others."""

    names: tuple[str, ...]
    standard: tuple[str, ...]
    kept: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def values(self, settings: Mapping[str, float]) -> tuple[float, ...]:
        """The base parameters of a plant with these standard ones."""
        own = [float(settings[name]) for name in self.standard]
        return tuple(sum(k * v for k, v in zip(row, own, strict=True) if k) for row in self.matrix)

    def settings(self, base: Sequence[float]) -> dict[str, float]:
        """Standard parameters that move as these base ones say: the kept ones have their values, the others are 0."""
        return {**dict.fromkeys(self.standard, 0.0), **dict(zip(self.kept, map(float, base), strict=True))}

    def formulas(self) -> dict[str, str]:
        """What each base parameter is made of: {'ZZ1R': 'ZZ1 + Ia1 + YY2 + 0.05185 M3'}."""
        return {name: self.formula(row, own) for name, row, own in zip(self.names, self.matrix, self.kept, strict=True)}

    def formula(self, row: Sequence[float], own: str) -> str:
        text = own
        for name, share in zip(self.standard, row, strict=True):
            if share and name != own:
                size = f"{abs(share):.9g}"
                text += (" - " if share < 0 else " + ") + (name if size == "1" else f"{size} {name}")
        return text

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        head = f"{len(self.names)} base parameters of {len(self.standard)} standard ones"
        hidden = [n for k, n in enumerate(self.standard) if not any(row[k] for row in self.matrix)]
        lines = [f"  {name.ljust(width)} = {formula}" for name, formula in self.formulas().items() if name != formula]
        alone = [name for name, formula in self.formulas().items() if name == formula]
        tail = [f"  alone: {', '.join(alone)}"] if alone else []
        tail += [f"  without effect: {', '.join(hidden)}"] if hidden else []
        return "\n".join([head, *lines, *tail])


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

    @property
    def grouping(self) -> Grouping | None:
        """What its base parameters are made of; None where its parameters can be told apart one by one."""
        regrouped: Grouping | None = self.kind.grouping() if hasattr(self.kind, "grouping") else None
        return regrouped

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters its inverse dynamic model is linear in, base ones where it has them; () where it gives none."""
        return self.grouping.names if self.grouping else self.standard

    @property
    def standard(self) -> tuple[str, ...]:
        """Its own parameters, of which base ones are made."""
        return getattr(self.kind, "inverse_parameters", ())

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

    @property
    def motion(self) -> tuple[str, ...]:
        """The signals its regressor asks for, such as q, qd, qdd."""
        signals = self.kind.of(Inport, Outport)  # a state that is a port has a setting of its name too: where it starts
        return tuple(a for a in arguments(self.row_function()) if a not in self.settings or a in signals)

    @property
    def drive(self) -> str:
        """The input that drives it, such as tau."""
        return next(iter(self.kind.of(Inport)))

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
        values = drive if function is None else function(**{self.drive: drive, **self.given(function)})
        return np.asarray(values, dtype=float).reshape(len(values), -1)

    def given(self, function: Any) -> dict[str, Any]:
        """The settings a function of the plant asks for."""
        return {a: self.settings[a] for a in arguments(function) if a in self.settings}

    def changed(self, settings: Mapping[str, Any]) -> Plant:
        return replace(self, settings={**self.settings, **settings}) if settings else self

    def updated(self, new: Mapping[str, Mapping[str, Any]]) -> Plant:
        """With new settings by path, for itself and for the plants it names."""
        plants = {name: plant.updated(new) for name, plant in self.plants.items()}
        return replace(self.changed(new.get(self.path, {})), plants=plants)


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
