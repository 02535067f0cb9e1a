"""What an identifier or an observer reads against the plant it names: another plant's motion, an effort that is not its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..contract.declarations import Inport
from ..contract.plant import Plant
from ..diagram.diagram import Ref
from ..errors import Finding, listing
from ..schedule.schedule import Schedule, Unit
from ..schedule.true_outputs import is_plant
from .rates import CONTROLLERS
from .upstream import signals_into, units_by_path, upstream

#: Ports of identifiers and observers that take what drives the plant, beside those named as the plant's own drive.
DRIVES = ("u",)
#: Blocks that make another effort of one: what reaches the plant is not what went into them.
CHANGERS = ("Gain", "Saturation", "DeadZone", "RateLimiter", "Quantizer", "Backlash", "Relay", "Sign", "Abs")
#: What delivers a signal as it was: sensors, and what works on records.
DELIVERERS = ("sensors", "record")


def plant_findings(schedule: Schedule) -> Iterator[Finding]:
    """Of every block that names a plant of the diagram as its model, and reads signals."""
    units = units_by_path(schedule)
    for unit in units.values():
        for plant in unit.plants.values():
            members = {path for path in units if plant.path and (path == plant.path or path.startswith(f"{plant.path}."))}
            if members:
                yield from other_plants(unit, plant, members, units)
                yield from other_efforts(unit, plant, members, units)
        if not unit.plants:
            yield from other_outputs(unit, units)
        yield from idle_parameters(unit, units)


def other_plants(unit: Unit, plant: Plant, members: set[str], units: Mapping[str, Unit]) -> Iterator[Finding]:
    """Motion that comes from plants, and from none of this one."""
    for port, refs in unit.inputs.items():
        if is_drive(port, plant) or port not in {"y", *regressor_ports(plant)}:
            continue
        makers = sorted(set[str]().union(*(plants_behind(ref.block, units) for ref in refs)))
        if makers and not members.intersection(upstream(refs, units)) and not stands_beside(members, makers, units):
            yield Finding(
                "other-plant",
                f"{input_words(unit, port)} is {listing(map(str, refs))}, which comes from {listing(map(repr, makers))}, and "
                f"its model is '{plant.path}', which has no part in that.",
                f"Write model: {makers[0]}, or connect the motion of '{plant.path}'.",
                unit.node.at("in"),
            )
            return


def other_outputs(unit: Unit, units: Mapping[str, Unit]) -> Iterator[Finding]:
    """A signal that is compared with one of another plant, where a setting names what each is compared with."""
    for port, refs in unit.inputs.items():
        names = unit.settings.get(unit.kind.of(Inport)[port].like)
        named = [names] if isinstance(names, str) else names if isinstance(names, list) else []
        for name, ref in zip(named, refs, strict=False):
            partners, makers = (plants_behind(block, units) for block in (named_block(str(name), units), ref.block))
            if partners and makers and not partners & makers and not stands_beside(partners, sorted(makers), units):
                yield Finding(
                    "other-plant",
                    f"{input_words(unit, port)} is '{ref}', which comes from {listing(map(repr, sorted(makers)))}, and is "
                    f"compared with '{name}', in which that has no part.",
                    f"Write the output of {listing(map(repr, sorted(makers)))}, or connect what is measured of '{name}'.",
                    unit.node.at("in"),
                )


def idle_parameters(unit: Unit, units: Mapping[str, Unit]) -> Iterator[Finding]:
    """Parameters that are sought and have no part in the signals they are sought by, where a search says which those are."""
    names, sought = unit.settings.get("output"), unit.settings.get("parameters")
    outputs = [names] if isinstance(names, str) else names if isinstance(names, list) else []
    if not outputs or not isinstance(sought, (list, dict)):
        return
    driven = {plant.path for plant in unit.plants.values() if plant.path in units}
    scope = f"{unit.path.rpartition('.')[0]}." if "." in unit.path else ""
    ends = [Ref(named_block(f"{scope}{name}", units), "") for name in outputs]
    parts = upstream(ends, units, lambda u: u.path not in driven)
    idle = [name for name in map(str, sought) if not taking_part_in(f"{scope}{name}", units, parts)]
    if idle and len(parts) > 0:
        yield Finding(
            "idle-parameter",
            f"block '{unit.path}' ({type(unit.block).__name__}) seeks {listing(idle)}: no part of {listing(outputs)} depends on "
            "that.",
            f"Seek parameters of {listing(path for path in parts if parts[path].inputs)}, or compare another output.",
            unit.node.at("parameters"),
        )


def taking_part_in(name: str, units: Mapping[str, Unit], parts: Mapping[str, Unit]) -> bool:
    """Whether a setting is one of these blocks, or of none that there is."""
    path = name.partition("[")[0].rpartition(".")[0]
    return path in parts or path not in units


def plants_behind(block: str, units: Mapping[str, Unit]) -> set[str]:
    """The nearest plants that have a part in what a block puts out, itself among them; behind a controller none is near."""
    nearest = upstream([Ref(block, "")], units, lambda u: not is_plant(u.kind) and u.kind.family != CONTROLLERS)
    return {path for path, u in nearest.items() if is_plant(u.kind)}


def named_block(name: str, units: Mapping[str, Unit]) -> str:
    """The block of a signal by its name, 'joint.q' or 'pid'."""
    whole = name.partition("[")[0]
    return whole if whole in units else whole.rpartition(".")[0]


def stands_beside(members: set[str], makers: list[str], units: Mapping[str, Unit]) -> bool:
    """Whether a plant is a model beside another: driven by what drives that, or by the other itself."""
    own = upstream(entering(members, units), units, lambda u: u.kind.family != CONTROLLERS and not is_plant(u.kind))
    drivers = {ref.block for ref in entering(set(makers), units)}
    return not drivers.union(makers).isdisjoint(own)


def entering(members: set[str], units: Mapping[str, Unit]) -> list[Ref]:
    """The signals that enter a plant of these blocks."""
    return [ref for path in members for ref in signals_into(units[path]) if ref.block not in members]


def other_efforts(unit: Unit, plant: Plant, members: set[str], units: Mapping[str, Unit]) -> Iterator[Finding]:
    """An effort that has no part in what drives the plant, or that is changed on its way there."""
    into = entering(members, units)
    if not into:
        return
    drivers = upstream(into, units)
    for port, refs in unit.inputs.items():
        if not is_drive(port, plant):
            continue
        for ref in refs:
            origins = upstream([ref], units, lambda u: u.kind.family != CONTROLLERS and not is_plant(u.kind))
            played = any("file" in origin.settings for origin in origins.values())  # measured: no plant of the file made it
            if origins and not played and not any(path in drivers for path in origins):
                yield Finding(
                    "other-effort",
                    f"{input_words(unit, port)} is '{ref}', which has no part in what drives '{plant.path}', the plant of "
                    "its model.",
                    f"Connect what drives '{plant.path}': {listing(dict.fromkeys(map(str, into)))}.",
                    unit.node.at("in"),
                )
                return
        yield from changed_efforts(unit, port, plant, members, units)


def changed_efforts(unit: Unit, port: str, plant: Plant, members: set[str], units: Mapping[str, Unit]) -> Iterator[Finding]:
    """An effort that a limit, a gain or the like makes another of before it reaches the plant."""
    if plant.path not in units or plant.drive not in units[plant.path].inputs:
        return
    own, arriving = [delivered(ref, units) for ref in unit.inputs[port]], units[plant.path].inputs[plant.drive]
    for ref in arriving:
        at, on_the_way = ref, list[Unit]()
        while str(at) not in map(str, own):
            source = units.get(at.block)
            if source is None or type(source.block).__name__ not in CHANGERS or passes_along(source):
                break
            on_the_way.append(source)
            at = source.inputs[next(iter(source.kind.of(Inport)))][0]
        else:
            if on_the_way:
                makers = listing(f"'{u.path}' ({type(u.block).__name__})" for u in reversed(on_the_way))
                yield Finding(
                    "changed-effort",
                    f"{input_words(unit, port)} is '{at}', of which {makers} makes what '{plant.path}' is driven by: where "
                    "that is another, the estimates are wrong.",
                    f"Connect '{ref}'.",
                    unit.node.at("in"),
                )


def passes_along(unit: Unit) -> bool:
    return unit.settings.get("k") in (1, 1.0)


def delivered(ref: Ref, units: Mapping[str, Unit]) -> Ref:
    """The signal that sensors and filters of records deliver, as it is before them."""
    unit = units.get(ref.block)
    while unit is not None and unit.kind.family in DELIVERERS and any(unit.inputs.values()):
        ref = next(source for sources in unit.inputs.values() for source in sources)
        unit = units.get(ref.block)
    return ref


def is_drive(port: str, plant: Plant) -> bool:
    return port in (plant.drive, *DRIVES)


def regressor_ports(plant: Plant) -> tuple[str, ...]:
    """The signals of its regressor, where it has one."""
    return plant.motion if "regressor" in plant.kind.functions and plant.parameters else ()


def input_words(unit: Unit, port: str) -> str:
    return f"input '{port}' of block '{unit.path}' ({type(unit.block).__name__})"
