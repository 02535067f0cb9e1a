"""What observers have in common: the plant they know, what they measure of it, and classes whose ports follow it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from blocksim.contract.block import SampledBlock, fixed, inport, law, memory, model, param, static, table
from blocksim.contract.declarations import Declared, Inport, Outport, Param, State, Static
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import array
from blocksim.errors import DiagramError, did_you_mean, listing
from blocksim.tracing.equations import Equations, equations
from blocksim.tracing.graph import reached

__all__: list[str] = []


def known_plant(plant: Plant, changes: Mapping[str, Any] | None) -> Plant:
    """The plant as an observer believes it to be: with settings of its own in place of the true ones.

    Where one is the name of a block that will have found it, the plant keeps its own until then.
    """
    takes = [n for n, d in plant.kind.declared.items() if isinstance(d, (Param, Static)) and not isinstance(d, State)]
    for name in changes or {}:
        if name not in takes:
            raise DiagramError(
                f"parameters: {plant.name} has no parameter '{name}'. It takes: {listing(takes)}." + did_you_mean(name, takes)
            )
    changed = plant.changed({n: v for n, v in (changes or {}).items() if not awaits(plant, n, v)})
    problems = plant.kind.problems(changed.settings)
    if problems:
        raise DiagramError(f"parameters: {problems[0][1]}")
    return changed


def awaits(plant: Plant, name: str, value: Any) -> bool:
    """Whether a setting is the name of a block instead of a number."""
    return isinstance(value, str) and isinstance(plant.kind.declared.get(name), Param)


def equations_of(plant: Plant) -> Equations:
    """The plant's equations; one object for all plants that differ in numbers only, so that their observers share a program."""
    forms = tuple((n, form(d, plant.settings.get(n))) for n, d in plant.kind.declared.items() if d.settable)
    key = plant.kind, plant.kind(**plant.settings).variant(), forms
    if key not in EQUATIONS:
        try:
            EQUATIONS[key] = equations(plant.kind, plant.settings)
        except DiagramError as error:
            raise DiagramError(f"model: {error}") from None
    return EQUATIONS[key]


def form(declared: Declared, value: Any) -> Any:
    """What of a setting shapes the equations: all of a static, of a number only whether it is one, of a list its lengths."""
    if isinstance(declared, Static):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return np.shape(value)
    return value is None


EQUATIONS: dict[Any, Equations] = {}


def values_of(plant: Plant, names: Sequence[str]) -> np.ndarray:
    """The plant's parameters in the order its equations ask for them."""
    return np.array([float(plant.settings[n]) for n in names])


def initial_state(plant: Plant) -> np.ndarray:
    """The state the plant starts from, scalar by scalar."""
    eq = equations_of(plant)
    sizes = {s: sum(1 for n in eq.states if n.partition("[")[0] == s) for s in state_names(eq)}
    return np.concatenate([np.broadcast_to(np.asarray(plant.settings[s], dtype=float), (size,)) for s, size in sizes.items()])


def state_names(eq: Equations) -> list[str]:
    """States by name, vectors once."""
    return list(dict.fromkeys(s.partition("[")[0] for s in eq.states))


def measured_ports(plant: Plant, measures: str | Sequence[str] | None) -> tuple[str, ...]:
    """The outputs of the plant that are measured; its angle q where nothing is said."""
    eq = equations_of(plant)
    names = (measures,) if isinstance(measures, str) else tuple(measures or ())
    possible = [p for p, nodes in eq.signals.items() if not any(n.op == "input" for n in reached(nodes))]
    if not names and "q" in eq.ports:
        names = ("q",)
    if not names:
        raise DiagramError(f"measures: say which outputs of {plant.name} y measures, one or a list of: {listing(possible)}.")
    for name in names:
        if name not in possible:
            why = eq.refused.get(name, "there is no such outport").partition(". ")[0]
            if name in eq.signals:
                why = "it depends on its input at the same instant, which an observer gets only for the next sample"
            raise DiagramError(
                f"measures: '{name}' of {plant.name} cannot be measured: {why}. What can be: {listing(possible)}."
                + ("" if name in plant.kind.declared else did_you_mean(str(name), possible))
            )
    return names


def places(eq: Equations, ports: Sequence[str]) -> tuple[int, ...] | None:
    """Where in the state the measured outputs stand, under whatever name; None where one is no state."""
    nodes = [node for port in ports for node in eq.signals[port]]
    return tuple(eq.states.index(n.value) for n in nodes) if all(n.op == "state" for n in nodes) else None


def port_like(plant: Plant, name: str, what: str) -> Outport:
    """An output with the size and unit of a state or port of the plant."""
    declared = plant.kind.declared[name]
    return Outport(doc=f"{what} {declared.doc}", unit=declared.unit, size=getattr(declared, "size", 1))


def port_name(name: str) -> str:
    """A state or parameter as part of the name of a port: of a part of a subsystem, motor.w, it is motor_w."""
    return name.replace(".", "_")


def spread_over(value: Any, names: Sequence[str], what: str) -> np.ndarray:
    """One number for all, or one for each of the names."""
    numbers = np.atleast_1d(np.asarray(value, dtype=float))
    if numbers.size not in (1, len(names)):
        raise DiagramError(f"{what}: found {numbers.size} numbers; one for all is wanted, or one for each of: {listing(names)}.")
    return np.broadcast_to(numbers, (len(names),)).copy()


def reading_variance(R: Any, sensor: Plant | None, count: int, what: str = "R") -> np.ndarray:
    """The variance of each reading: as given, or that of the sensor that makes it."""
    if R is None or np.size(R) == 0:
        function = sensor.kind.functions.get("variance") if sensor is not None else None
        if function is None:
            source = f"y comes from {sensor.name}, which has none" if sensor is not None else "nothing drives y"
            raise DiagramError(
                f"{what}: the variance of the readings is taken from the sensor where it is not given, and {source}. Give {what}."
            )
        R = function(**sensor.given(function))  # type: ignore[union-attr]
    numbers = np.atleast_1d(np.asarray(R, dtype=float))
    if numbers.size not in (1, count) or not (numbers > 0).all():
        raise DiagramError(f"{what}: one variance above 0 for each of {count} readings is wanted, found {numbers.tolist()}.")
    return np.broadcast_to(numbers, (count,)).copy()


def chosen_parameters(plant: Plant, names: str | Sequence[str] | None) -> list[str]:
    """The parameters to estimate: those named, or all of the inverse model that the equations read."""
    eq = equations_of(plant)
    everything = [n for n in plant.parameters if n in eq.parameters]
    selection = everything if names is None else [names] if isinstance(names, str) else list(names)
    for name in selection:
        if name not in eq.parameters:
            raise DiagramError(
                f"estimate: the equations of {plant.name} do not depend on '{name}'. With its settings they depend on: "
                f"{listing(eq.parameters)}." + did_you_mean(name, eq.parameters)
            )
    twice = [n for n in selection if selection.count(n) > 1]
    if twice or not selection:
        raise DiagramError(f"estimate: '{twice[0]}' is named twice." if twice else "estimate: name at least one parameter.")
    return selection


def starting_plant(
    plant: Plant, parameters: Mapping[str, Any] | None, estimate: Any, start: Mapping[str, Any] | str | None, factor: float | None
) -> Plant:
    """The plant with the values an estimation starts from, which must be possible ones; what is not estimated stays as it is.

    The plant's own values are the truth of a simulation, so that nothing starts there unless `truth` is said.
    """
    belief = known_plant(plant, parameters)
    names = chosen_parameters(belief, estimate)
    firsts = dict.fromkeys(names, start) if isinstance(start, str) else dict(start or {})
    for name in firsts:
        if name not in names:
            raise DiagramError(f"start: '{name}' is not estimated. These are: {listing(names)}." + did_you_mean(name, names))
    left = [n for n in names if n not in firsts]
    true = [n for n in left if n not in (parameters or {})]
    if true and (factor is None or factor == 1):
        what = f"factor: {factor:g} starts at" if factor else "nothing is said of the start, and a start at"
        raise DiagramError(
            f"start: {listing(true)}: {what} the plant's own values, which in a simulation is the truth, proves nothing. Give "
            f"first values, start: {{{true[0]}: ...}}, or the name of a block that found them; a factor other than 1; or say "
            "start: truth where that is meant."
        )
    first = {n: belief.settings[n] if v == "truth" else v for n, v in firsts.items()}
    first = {n: v for n, v in first.items() if not awaits(plant, n, v)} | {n: (factor or 1.0) * belief.settings[n] for n in left}
    problems = plant.kind.problems({**belief.settings, **first})
    if problems:
        wrong = [v for v in first.values() if not isinstance(v, (int, float))]
        why = "" if wrong else " The plant's equations are solved for its accelerations, which is impossible there."
        raise DiagramError(f"start: {problems[0][1]}{why}")
    return belief.changed(first)


def estimate_port(plant: Plant, name: str) -> Outport:
    """A parameter's estimate as a signal."""
    declared = plant.kind.declared[name]
    return Outport(doc=f"estimate of the {declared.doc}", unit=declared.unit)


def with_theta(values, theta, spots, d):
    """The plant's parameters with the estimates in their places."""
    own = array(values)
    for k in range(d):
        own[spots[k]] = theta[k]
    return own


#: More steps between two samples than this are a plant too stiff for its samples, and each costs a look ahead its time.
MOST_SUBSTEPS = 200


def substeps_problem(substeps: int) -> str | None:
    """What is wrong with so many steps per sample, in words."""
    if substeps < 1:
        return f"substeps: must be at least 1, found {substeps}."
    if substeps > MOST_SUBSTEPS:
        return f"substeps: at most {MOST_SUBSTEPS} steps between two samples are taken, found {substeps}."
    return None


class PlantObserver(SampledBlock):
    """A block that knows the equations of a plant, gets readings of it and what drives it: what all such are told."""

    abstract = True
    family = "observers"

    sensor: str = model("the sensor that makes y, for the variance of its readings", port="y")
    model: str = model("the plant whose equations it knows")
    measures: Any = static(None, "outputs of the plant that y measures; q unless said", kind=(str, list, tuple))
    starts_from: ClassVar[tuple[str, ...]] = ("parameters",)
    parameters: Any = static(
        None, "settings of the plant as they are believed to be, {J: 2e-4}, each or the block that found it", kind=dict
    )
    x0: Any = param(None, "first state, for all or one each; the plant's unless given", shape=(None,))
    substeps: int = static(1, "steps of order 4 per sample", kind=int)

    # What the plant decides; these stand for one state that is measured.
    n = fixed(1, "states")
    m = fixed(1, "readings")
    inputs = fixed(1, "inputs of the plant")

    y = inport("readings", size="m")
    u = inport("what drives the plant", size="inputs")

    readings = law("readings of the plant at (x, u, p), their derivatives by the state and by the parameters")
    rates = law("rates of the plant at (x, u, p), their derivatives by the state and by the parameters")

    values = table("the plant's parameters as they are believed to be")
    variances = table("variance of each reading")

    @staticmethod
    def check(substeps):
        return substeps_problem(substeps)

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        if "model" not in plants:  # a block with mistakes, which are told elsewhere
            return {}
        plant = known_plant(plants["model"], self.settings["parameters"])
        ports = measured_ports(plant, self.settings["measures"])
        eq = equations_of(plant)
        sizes = {"n": len(eq.states), "m": sum(eq.ports[p] for p in ports), "inputs": len(eq.inputs)}
        return {**sizes, **self.decided_by(plant, ports)}

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        plant = plants["model"]
        ports = measured_ports(known_plant(plant, self.settings["parameters"]), self.settings["measures"])
        return {"y": plant.unit_of(*ports), "u": plant.unit_of(*plant.kind.of(Inport))}

    @abstractmethod
    def decided_by(self, plant: Plant, ports: tuple[str, ...]) -> dict[str, Any]:
        """What this plant decides, of which these ports are measured."""


class ParameterObserver(PlantObserver):
    """An observer that estimates parameters of its plant."""

    abstract = True

    estimate: Any = static(None, "parameters that are estimated; all of the inverse model unless said", kind=(str, list, tuple))
    starts_from = ("start", "parameters")
    start: Any = static(
        None, "first values of the parameters that are estimated, {J: 2e-4}, or the block that found them; 'truth': the plant's",
        kind=(dict, str),
    )  # fmt: skip
    factor: float | None = param(None, "first values of the others, as a multiple of the plant's; not 1", above=0)

    d = fixed(1, "parameters that are estimated")
    count = fixed(1, "parameters of the plant")
    spots = fixed((0,), "places of the estimated among the plant's parameters")

    own: Any = memory(0.0, "the plant's parameters with the estimates in their places", size="count", array=True, internal=True)

    @staticmethod
    def table_values(model, parameters, estimate, start, factor):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return values_of(plant, equations_of(plant).parameters)

    @staticmethod
    def table_own(model, parameters, estimate, start, factor):
        plant = starting_plant(model, parameters, estimate, start, factor)
        return values_of(plant, equations_of(plant).parameters)

    def decided_by(self, plant: Plant, ports: tuple[str, ...]) -> dict[str, Any]:
        settings, eq = self.settings, equations_of(plant)
        starting_plant(plant, None, settings["estimate"], settings["start"], settings["factor"])  # which says what is impossible
        names = tuple(chosen_parameters(plant, settings["estimate"]))
        spots = tuple(eq.parameters.index(name) for name in names)
        places_of = {"d": len(names), "count": len(eq.parameters), "spots": spots, "estimated": names}
        return {**places_of, **self.decided_for(plant, ports, names)}

    def prior(self, plants: Mapping[str, Plant]) -> Mapping[str, tuple[float, float]]:
        own = self.settings
        plant = starting_plant(plants["model"], *(own[n] for n in ("parameters", "estimate", "start", "factor")))
        names = chosen_parameters(plant, own["estimate"])
        spreads = np.sqrt(self.first_variances(plant, names))
        return {n: (float(v), float(s)) for n, v, s in zip(names, values_of(plant, names), spreads, strict=True)}

    def first_variances(self, plant: Plant, names: Sequence[str]) -> np.ndarray:
        """The variances that a plant with the first values of these parameters gives them."""
        return spread_over(self.settings["P0_parameters"], names, "P0_parameters")

    @abstractmethod
    def decided_for(self, plant: Plant, ports: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
        """What this plant decides, of which these ports are measured and these parameters estimated."""


def first_state(plant: Plant, x0: Any) -> np.ndarray:
    """Where the estimate of the state starts: as given, or where the plant does."""
    return initial_state(plant) if x0 is None else spread_over(x0, equations_of(plant).states, "x0")
