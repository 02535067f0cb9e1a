"""Sample rates that cannot be meant: a controller that is continuous behind a sampled signal, or slower than what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ..contract.declarations import Inport, Memory, Period, State
from ..errors import Finding
from ..schedule.schedule import Schedule, Unit
from ..schedule.true_outputs import is_plant
from ..simulation.experiment import Experiment
from .upstream import signals_into, upstream

CONTROLLERS, OBSERVERS = "control", "observers"
SENSORS = ("sensors", OBSERVERS)
#: What does the work of a continuous block at sample times.
SAMPLED_KINDS = {
    "TransferFunction": "DiscreteTransferFunction", "ZeroPole": "DiscreteTransferFunction", "Integrator": "DiscreteIntegrator",
    "StateSpace": "DiscreteStateSpace", "FirstOrderLag": "LowPass",
}  # fmt: skip
#: Sample times of a block in a run from which on it takes minutes.
SAMPLES_OF_A_RUN = 1e8


def rate_findings(schedule: Schedule) -> Iterator[Finding]:
    for unit in schedule.units:
        sources = [s for s in sampled_sources(unit, schedule) if s is not unit]
        if unit.group is None:
            yield from continuous_controller(unit, sources, schedule)
            continue
        own = schedule.groups[unit.group]
        for source in sources:
            period = period_of(source, schedule)
            ratio = own.period / period
            if ratio.denominator != 1 and ratio.numerator != 1:
                yield Finding(
                    "uneven-rates",
                    f"block '{unit.path}' acts every {brief_time(own.period)} s and reads '{source.path}', which acts every "
                    f"{brief_time(period)} s: neither divides the other, so that the delay changes from sample to sample.",
                    "Give one a whole multiple of the other's sample time.",
                    unit.node.at("Ts"),
                )
            elif unit.kind.family == CONTROLLERS and source.kind.family in SENSORS and own.period > period:
                yield Finding(
                    "slow-controller",
                    f"controller '{unit.path}' acts every {brief_time(own.period)} s on '{source.path}', which is read every "
                    f"{brief_time(period)} s: {int(ratio) - 1} of {int(ratio)} readings are lost, and what is faster folds back.",
                    f"Write Ts: {brief_time(period)} in '{unit.path}', or Ts: {brief_time(own.period)} in '{source.path}'.",
                    unit.node.at("Ts"),
                )
            elif unit.kind.family in (CONTROLLERS, OBSERVERS) and source.kind.family == "sensors" and own.period < period:
                yield Finding(
                    "held-reading",
                    f"block '{unit.path}' ({type(unit.block).__name__}) acts every {brief_time(own.period)} s on "
                    f"'{source.path}', which is read every {brief_time(period)} s: it takes each reading {int(1 / ratio)} times, "
                    "as if it were new.",
                    f"Write Ts: {brief_time(period)} in '{unit.path}', or Ts: {brief_time(own.period)} in '{source.path}'.",
                    unit.node.at("Ts"),
                )


def sample_findings(experiment: Experiment) -> Iterator[Finding]:
    """Blocks that act more often than any run needs, or once and never again."""
    clock, schedule = experiment.clock, experiment.schedule
    span = clock.base * (clock.end - clock.start)
    for unit in schedule.units:
        if unit.group is None:
            continue
        period, name = period_of(unit, schedule), next(iter(unit.kind.of(Period)), "Ts")
        acts = f"block '{unit.path}' acts every {brief_time(period)} s"
        if span / period > SAMPLES_OF_A_RUN:
            what = f"{acts}, {float(span / period):.3g} times in {brief_time(span)} s: such a run takes minutes or more."
            yield Finding(
                "many-samples", what, f"Times are in seconds: make {name} longer or the run shorter.", unit.node.at(name)
            )
        elif 0 < span < period and unit.kind.of(Inport):
            what = f"{acts}, and the run lasts {brief_time(span)} s: it acts once and never again."
            yield Finding("one-sample", what, f"Times are in seconds: make {name} shorter or the run longer.", unit.node.at(name))


def continuous_controller(unit: Unit, sources: list[Unit], schedule: Schedule) -> Iterator[Finding]:
    """A controller without a clock, or a transfer function in place of one, that closes a loop over a sampled sensor."""
    readings = [s for s in sources if s.kind.family in SENSORS or samples_plant(s, schedule)]
    name, timed = type(unit.block).__name__, bool(type(unit.block).of(Period))
    if not readings or not (timed if unit.kind.family == CONTROLLERS else stands_for_controller(unit, readings, schedule)):
        return
    period = brief_time(min(period_of(s, schedule) for s in readings))
    sampled = f"Use {SAMPLED_KINDS[name]} with" if name in SAMPLED_KINDS else "Use a sampled block with"
    yield Finding(
        "continuous-controller",
        f"{'controller' if unit.kind.family == CONTROLLERS else 'block'} '{unit.path}' ({name}) has no sample time and reads "
        f"'{readings[0].path}', which is taken every {period} s: it runs on continuously over a staircase.",
        f"{'Write' if timed else sampled} Ts: {period} in '{unit.path}'.",
        unit.node.place,
    )


def samples_plant(unit: Unit, schedule: Schedule) -> bool:
    """Whether a hold takes the output of a plant at sample times, as a sensor does."""
    return unit.kind.same_unit and any(
        is_plant(maker.kind) for ref in signals_into(unit) if (maker := schedule.by_path.get(ref.block)) is not None
    )


def stands_for_controller(unit: Unit, readings: list[Unit], schedule: Schedule) -> bool:
    """Whether a block with states of its own lies on the way from a sensor back to it."""
    if unit.kind.family != "continuous" or all(isinstance(d, Memory) for d in unit.kind.of(State).values()):
        return False
    return any(unit.path in upstream(signals_into(reading), schedule.by_path) for reading in readings)


def sampled_sources(unit: Unit, schedule: Schedule) -> list[Unit]:
    """The sampled blocks whose outputs reach a block at once: straight, or through blocks without a clock and without states."""
    waiting, visits, sources = [unit], {unit.path}, []
    while waiting:
        for refs in waiting.pop().inputs.values():
            for ref in refs:
                source = schedule.by_path.get(ref.block)
                if source is None or source.path in visits:
                    continue
                visits.add(source.path)
                if source.group is not None:
                    sources.append(source)
                elif all(isinstance(d, Memory) for d in source.kind.of(State).values()):
                    waiting.append(source)
    return sources


def period_of(unit: Unit, schedule: Schedule) -> Fraction:
    assert unit.group is not None
    return schedule.groups[unit.group].period


def brief_time(time: Fraction) -> str:
    return f"{float(time):g}"
