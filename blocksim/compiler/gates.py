"""Subsystems that are switched: what the program does for their units only while their switches are on.

`retain` is called before anything happens at an instant. It keeps what the outputs and sampled signals of the subsystem are as
long as it is on, so that they can stay that way when the very instant switches it off; and, the first time, where states began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract.declarations import Memory, Outport, State
from ..schedule.enabling import EnableSwitch, HeldOutput
from ..schedule.schedule import Unit, evaluation_of
from ..solvers.stores import signature
from ..tracing.code import code
from .following import element_of, written
from .scope import Scope, indented
from .slots import Region, Slot

if TYPE_CHECKING:
    from .generator import Generator


def switches(generator: Generator) -> list[Unit]:
    return [u for u in generator.units if isinstance(u.block, EnableSwitch)]


def gate_condition(generator: Generator, unit: Unit, *more: Unit) -> str:
    """Whether all switches around a unit are on, as text; '' where it has none."""
    around = [generator.schedule.by_path[path] for path in unit.gates] + list(more)
    return " and ".join(f"m[{generator.slots.where[(u.index, 'side')][0]}] > 0.5" for u in around)


def held_units(generator: Generator, switch: Unit) -> list[Unit]:
    """What a switch holds, but other switches and what they keep."""
    return [u for u in generator.units if switch.path in u.gates and not u.border]


def gated(generator: Generator, scope: Scope, unit: Unit, inner: Scope, otherwise: Scope | None = None) -> None:
    """Put what was written for a unit into a scope; only while it is on, where it has switches."""
    test = gate_condition(generator, unit)
    if not test:
        scope.pieces += inner.pieces
        return
    scope.nest(f"if {test}:", inner.blocks())
    if otherwise is not None:
        scope.pieces[-2].lines.append(code(f"else:\n{indented(otherwise.blocks())}"))


# ---- retain -----------------------------------------------------------------------------------------------------------


def retain_text(generator: Generator) -> str:
    """The function `retain` of a program with switches."""
    from .generator import program_function

    scope = Scope()
    first = beginnings(generator)
    if first.written():
        place = new_place(generator, "begun")
        first.write(f"m[{place}] = 1.0")
        scope.nest(f"if m[{place}] < 0.5:", first.blocks())
    for switch in switches(generator):
        inner = Scope()
        for signal, place in saved_signals(generator, switch):
            inner.write(code("m[", place, "] = m[", signal, "]"))
        for unit in generator.units:
            if isinstance(unit.block, HeldOutput) and unit.inputs["on"][0].block == switch.path:
                retain_output(generator, inner, unit)
        if inner.written():
            scope.nest(f"if {gate_condition(generator, switch, switch)}:", inner.blocks())
    return program_function("retain", signature("retain"), scope.blocks())


def retain_output(generator: Generator, scope: Scope, unit: Unit) -> None:
    """Remember what leaves the subsystem now."""
    elements = unit.elements["u"][0]
    generator.compute(scope, [evaluation_of(generator.units[e[0]], e[1]) for e in elements])
    scope.begin(f"{unit.path}: {unit.kind.__name__}")
    for place, element in zip(generator.slots.where[(unit.index, "last")], elements, strict=True):
        scope.write(code("m[", place, "] = ", written(generator.signal(scope, element))))


def saved_signals(generator: Generator, switch: Unit) -> list[tuple[int, int]]:
    """Of each sampled signal inside, where in m it is and where it is kept."""
    pairs = []
    for unit in held_units(generator, switch):
        for port in unit.kind.of(Outport) if unit.kind.sampled else ():
            for k, signal in enumerate(generator.slots.where[(unit.index, port)]):
                key = (switch.index, f"{unit.path}.{port} kept", k)
                if key not in generator.wires:
                    generator.wires[key] = new_place(generator, key[1])
                pairs.append((signal, generator.wires[key]))
    return pairs


def new_place(generator: Generator, name: str) -> int:
    generator.slots.m.append(Slot("", name))
    return len(generator.slots.m) - 1


def beginnings(generator: Generator) -> Scope:
    """States and memories of subsystems that begin anew, copied while they are still where the run began."""
    scope = Scope()
    for switch in resetting(generator):
        for unit in held_units(generator, switch):
            for store, places, region in starts(generator, switch, unit):
                for k, place in enumerate(places):
                    scope.write(code(element_of(region, k), f" = {store}[", place, "]"))
            for own, region in array_starts(generator, switch, unit):
                scope.write(array_copy(own, region))
    return scope


def resetting(generator: Generator) -> list[Unit]:
    return [u for u in switches(generator) if u.settings["states"] == "reset"]


def starts(generator: Generator, switch: Unit, unit: Unit) -> list[tuple[str, list[int], Region]]:
    """Of a unit's plain states and memories: store, addresses, and the stretch of the array store that has their beginnings."""
    result = []
    for name, declared in unit.kind.of(State).items():
        if isinstance(declared, Memory) and declared.array:
            continue
        places = generator.slots.where[(unit.index, name)]
        region = generator.scratch(unit, f"{switch.path} {name} at the start", len(places))
        result.append(("m" if isinstance(declared, Memory) else "x", places, region))
    return result


def array_starts(generator: Generator, switch: Unit, unit: Unit) -> list[tuple[Region, Region]]:
    """Of each array memory: its own stretch, and the one that has its beginning."""
    pairs = []
    for name, declared in unit.kind.of(Memory).items():
        for copy in range(unit.width if declared.array else 0):
            own = generator.slots.array(unit, name, copy)
            length = generator.slots.length(generator.schedule, own)
            pairs.append((own, generator.scratch(unit, f"{switch.path} {name} {copy} at the start", length)))
    return pairs


def array_copy(source: Region, target: Region) -> str:
    """One array copied over another, as text."""
    return f"for i in range(o[{source.index + 1}] - o[{source.index}]):\n    a[o[{target.index}] + i] = a[o[{source.index}] + i]"


# ---- what happens when it is switched ---------------------------------------------------------------------------------


def switched(generator: Generator, branch: Scope, switch: Unit) -> None:
    """After a switch has changed: signals as they were before this instant, or states as they began."""
    off, on = Scope(), Scope()
    for signal, place in saved_signals(generator, switch):
        off.write(code("m[", signal, "] = m[", place, "]"))
    if switch in resetting(generator):
        for unit in held_units(generator, switch):
            on.begin(f"{unit.path}: {unit.kind.__name__}")
            for store, places, region in starts(generator, switch, unit):
                for k, place in enumerate(places):
                    on.write(code(f"{store}[", place, "] = ", element_of(region, k)))
            for own, region in array_starts(generator, switch, unit):
                on.write(array_copy(region, own))
    side = f"m[{generator.slots.where[(switch.index, 'side')][0]}]"
    for test, scope in ((f"{side} > 0.5", on), (f"{side} < 0.5", off)):
        if scope.written():
            branch.nest(f"if {test}:", scope.blocks())
