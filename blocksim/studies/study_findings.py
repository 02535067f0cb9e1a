"""What about a study runs and cannot be meant: that of its diagrams at every point, and points or runs that do not differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..checking.findings import examine, quick_findings
from ..contract.declarations import Noise
from ..diagram.checks import raise_all
from ..errors import DiagramError, Finding, Place, Problem
from ..schedule.schedule import Schedule, Unit
from ..simulation.experiment import Experiment
from ..simulation.overrides import Overrides
from ..simulation.prepare import experiment
from .checks import ELEMENT_SUFFIX, is_parameter

if TYPE_CHECKING:
    from .plan import Plan, Variant
    from .spec import SweepAxis

#: Settings by which noise is turned off.
LOUDNESS = ("std", "noise_std", "amplitude", "sigma", "variance", "density", "intensity", "power")
#: Points beside the first that are looked at, each value of a sweep by itself.
MOST_POINTS = 20


def study_findings(plan: Plan, quick: bool = False) -> tuple[Finding, ...]:
    """Of every diagram with the settings of its first row, of what a sweep changes about that; and of the study itself.

    `quick` leaves out what takes long to find: what is told of every study that is run.
    """
    spec, examined, findings = plan.spec, list[Experiment](), list[Finding]()
    for variant in plan.variants:
        ready = changed(plan, variant, plan.points[0])
        examined.append(ready)
        findings += quick_findings(ready) if quick else examine(ready).findings
    if not quick:
        findings += elsewhere(plan, {(finding.name, finding.what) for finding in findings})
    touched = {name for point in plan.points for name in point} | {name for _, changes in plan.arms for name in changes}
    parts = [taking_part(plan, v, ready.schedule) for v, ready in zip(plan.variants, examined, strict=True)]
    noisy = ([u for u in ready.schedule.units if u.path in part] for part, ready in zip(parts, examined, strict=True))
    if plan.repeat > 1 and not any(draws_noise(units, touched) for units in noisy):
        findings.append(
            Finding(
                "nothing-random",
                f"repeat: {plan.repeat}, but nothing that is collected has anything random in it: all repetitions will give the "
                "same numbers.",
                "Add noise (noise_std of an Encoder, std of a TorqueSensor, WhiteNoise), or write repeat: 1.",
                spec.places.get("repeat"),
            )
        )
    findings += idle_changes(plan, set[str]().union(*parts))
    findings += [*hidden_changes(plan), *like_methods(plan), *same_arms(plan, [ready.schedule for ready in examined])]
    return tuple(dict.fromkeys(findings))


def changed(plan: Plan, variant: Variant, point: Mapping[str, Any]) -> Experiment:
    """A diagram of the study at one of its points, ready to be looked at."""
    changes = {**plan.spec.params, **variant.params, **point}
    return experiment(Overrides(changes).diagram(variant.diagram), {}, **plan.spec.simulate)


def elsewhere(plan: Plan, earlier: set[tuple[str, str]]) -> Iterator[Finding]:
    """What cannot be meant at other points than the first, with the value that makes it so and its line in the study."""
    looks = [(variant, *other) for variant in plan.variants for other in other_points(plan)]
    for variant, point, text, place in looks[:MOST_POINTS]:
        try:
            findings = examine(changed(plan, variant, point)).findings
        except DiagramError as error:
            raise_all(Problem(f"{text}: {p.what}", place) for p in error.problems)
            raise
        for finding in findings:
            if (finding.name, finding.what) not in earlier:
                earlier.add((finding.name, finding.what))
                yield Finding(finding.name, f"with {text}, {finding.what}", finding.remedy, place or finding.where)


def other_points(plan: Plan) -> Iterator[tuple[dict[str, Any], str, Place | None]]:
    """The first point with one other step of one axis: its settings, the change in words, and its line."""
    for axis in plan.spec.axes:
        for step in axis.values[1:]:
            change = dict(zip(axis.names, step, strict=True))
            text = ", ".join(f"{name}: {value}" for name, value in change.items())
            yield {**plan.points[0], **change}, text, axis_place(axis)


def axis_place(axis: SweepAxis) -> Place | None:
    return next((place for name in axis.names if (place := axis.places.get(name)) is not None), None)


def draws_noise(units: Iterable[Unit], touched: Iterable[str]) -> bool:
    """Whether a block draws numbers that show; one whose noise a study changes may."""
    for unit in units:
        if unit.kind.of(Noise):
            sizes = [unit.settings[name] for name in LOUDNESS if isinstance(unit.settings.get(name), (int, float))]
            if not sizes or any(sizes) or any(name.startswith(f"{unit.path}.") for name in touched):
                return True
    return False


def taking_part(plan: Plan, variant: Variant, schedule: Schedule) -> set[str]:
    """The blocks that have a part in what is collected: those it is made of, over any number of wires, names and switches."""
    spec, parts = plan.spec, set[str]()
    units = {unit.path: unit for unit in (*schedule.units, *schedule.after_run)}
    names = [ELEMENT_SUFFIX.sub("", entry.signal) for entry in spec.signals]
    names += [entry.block for entry in spec.details]
    names += [u.path for u in units.values() if u.after or u.kind.estimated] if variant.blocks is None else variant.blocks
    waiting = [path for name in names for path in owners(name, units)]
    while waiting:
        path = waiting.pop()
        if path in parts:
            continue
        parts.add(path)
        unit = units[path]
        waiting += [ref.block for refs in unit.inputs.values() for ref in refs if ref.block in units]
        waiting += [owner for gate in unit.gates for owner in owners(gate, units)]
        waiting += [owner for plant in unit.plants.values() for owner in owners(plant.path, units)]
        waiting += [owner for name in texts_in(list(unit.settings.values())) for owner in owners(name, units)]
    return parts


def owners(name: str, units: Mapping[str, Unit]) -> list[str]:
    """The blocks that a name stands for: itself, the block of a port or setting, or all of a subsystem."""
    if name in units:
        return [name]
    head = name.rpartition(".")[0]
    return [head] if head in units else [p for p in units if name and p.startswith((f"{name}.", f"{head or name}."))]


def texts_in(value: Any) -> Iterator[str]:
    """Every text in the settings of a block, keys included: names of other blocks are among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_in(key)
            yield from texts_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_in(item)


def idle_changes(plan: Plan, parts: set[str]) -> Iterator[Finding]:
    """Sweeps and ablations of blocks that have no part in what is collected, and points that are the same."""
    spec = plan.spec
    sweeps = [(axis.names, "sweep", axis_place(axis)) for axis in spec.axes]
    defects = [(tuple(c), f"ablate: {n}", spec.places.get(f"ablate.{n}.{next(iter(c), '')}")) for n, c in spec.ablate.items()]
    for names, key, place in (*sweeps, *defects):
        if names and not any(has_part(plan, name, parts) for name in names):
            yield Finding(
                "idle-sweep",
                f"{key}: {', '.join(names)} changes nothing that is collected: all its points will give the same numbers.",
                "Change a block that has a part in it, connect this one, or collect what it makes.",
                place,
            )
    for axis in spec.axes:
        steps = [repr(step) for step in axis.values]
        if len(set(steps)) < len(steps):
            again = next(step for step in axis.values if steps.count(repr(step)) > 1)
            words = ", ".join(f"{name}: {value}" for name, value in zip(axis.names, again, strict=True))
            yield Finding("idle-sweep", f"sweep: {words} stands in it more than once.", "Leave it out.", axis_place(axis))


def hidden_changes(plan: Plan) -> Iterator[Finding]:
    """Settings of the study or of a method that a sweep gives again: the last one wins, and nobody sees the first."""
    spec = plan.spec
    axes = {name: axis for axis in spec.axes for name in axis.names}
    earlier = [("params", name, spec.places.get(f"params.{name}")) for name in spec.params]
    earlier += [(f"methods: {m.name}: params", name, m.places.get(name)) for m in spec.methods for name in m.params]
    for key, name, place in earlier:
        if name in axes:
            what = f"{key}: {name} is varied by the sweep too, which wins: what stands here is used in no run."
            yield Finding("hidden-setting", what, "Leave one of the two out.", place or axis_place(axes[name]))


def like_methods(plan: Plan) -> Iterator[Finding]:
    """Methods that are the same diagram with the same settings, and collect the same."""
    spec, names = plan.spec, dict[str, str]()
    for method, variant in zip(spec.methods, plan.variants, strict=False):
        own = repr((method.diagram or spec.diagram, sorted(method.params.items()), variant.blocks))
        if own in names:
            what = f"methods: '{method.name}' is the same as '{names[own]}': both will give the same numbers."
            yield Finding("idle-sweep", what, "Change what should differ, or leave it out.", spec.places.get("methods"))
        names.setdefault(own, method.name)


def same_arms(plan: Plan, schedules: list[Schedule]) -> Iterator[Finding]:
    """Ablations that set what is set already."""
    spec = plan.spec
    units = [{u.path: u for u in (*schedule.units, *schedule.after_run)} for schedule in schedules]
    varied = {name for axis in spec.axes for name in axis.names} | {name for m in spec.methods for name in m.params}
    for arm, changes in spec.ablate.items():
        parts = [(name, *name.rpartition(".")[::2], value) for name, value in changes.items()]
        same = [
            name not in varied and all(path in own and own[path].settings.get(key) == value for own in units)
            for name, path, key, value in parts
        ]
        if same and all(same):
            settings = ", ".join(f"{name}: {value}" for name, value in changes.items())
            place = spec.places.get(f"ablate.{arm}.{parts[0][0]}")
            what = f"ablate: {arm}: {settings} is so already: with and without it the runs are the same."
            yield Finding("idle-sweep", what, "Set what turns the defect off.", place)


def has_part(plan: Plan, name: str, parts: set[str]) -> bool:
    """Whether a change may be seen: of a parameter of the diagram or a subsystem it may."""
    path = name.rpartition(".")[0]
    return path in parts or any(is_parameter(variant.diagram, name) for variant in plan.variants)
