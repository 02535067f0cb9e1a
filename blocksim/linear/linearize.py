"""linearize(): a diagram as x' = A x + B u, y = C x + D u around an operating point, by differences of its generated program.

    A, B, C, D = linearize("two_mass/open.yaml", inputs=["u"], outputs=["robot.w_m"])
    model = linearize("basics/pi_loop.yaml", "ref", "plant")
    model.poles(), model.frequency_response(w)

An input is added to the signal it names, all loops closed; with `cut` the signal is replaced by the input, the loop opened there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..contract.times import exact
from ..errors import DiagramError, listing
from ..schedule.schedule import Schedule
from ..simulation.prepare import Diagrammatic
from .differences import jacobian
from .linear_model import LinearModel, bode
from .local_map import LocalMap
from .operating import OperatingPoint, flattened, operating_point, starting
from .probe import Situation, continuous_states
from .taps import Tap, bypassed, taps

if TYPE_CHECKING:
    import numpy as np

__all__ = ["LinearModel", "OperatingPoint", "bode", "linearize", "operating_point"]

#: Entries whose estimated error is above this part of them are named in the note.
DOUBTFUL = 1e-5
Sides = tuple[dict[str, float], dict[str, float]]  # inputs and outputs at the operating point
Wire = tuple[str, str, int]


def linearize(
    diagram: Diagrammatic,
    inputs: str | Iterable[str],
    outputs: str | Iterable[str],
    at: Any = None,
    params: Mapping[str, Any] | None = None,
    t: float = 0.0,
    *,
    cut: bool | str | Iterable[str] = (),
    through: str | Iterable[str] = (),
    dt: Any = None,
    **options: Any,
) -> LinearModel:
    """Linearise a diagram from `inputs` to `outputs`, signals named block, block.port or block.port[element].

    at       where: None, the initial states; {"plant.x": 1.0}; a time the simulation runs to; or an `operating_point`
    params   settings changed, as for `simulate`; further options (algebraic_loops, solver, step ...) are those of `simulate`
    t        the time at which sources and other functions of time are taken; a time or an operating point as `at` has its own
    cut      signals that are cut rather than added to, so that loops through them are open; True cuts every input
    through  blocks taken as y = u, e.g. quantizers, which are flat between their steps and would open the loop
    dt       True or the sample time: the exact map over one period, sampled blocks included. Without it sampled outputs hold,
             unless every state is sampled

    An output is read where its block makes it: before the input of the same name is added, or at the far side of the cut.
    """
    built, whole = flattened(diagram, params, options)
    driven, read = taps(whole, inputs, "inputs"), taps(whole, outputs, "outputs")
    opened = driven if cut is True else taps(whole, cut or (), "cut")
    schedule = bypassed(whole, through)
    period = sample_time(schedule, dt)
    given = starting(built, whole, at, t, hit=period is None)
    offsets = at.offsets if isinstance(at, OperatingPoint) else {}
    closed = LocalMap(schedule, united(driven, held(offsets)), [*read, *united(driven, opened)], (), period, given)
    closed.prober.drive(offsets)
    if period is not None and hasattr(at, "__float__"):
        closed.carry_to_hit()
    own = {tap.wire: y for tap, y in zip(closed.prober.read, closed.outputs(), strict=True)}
    values = {wire: y + offsets.get(wire, 0.0) for wire, y in own.items()}
    local = closed
    if opened:
        local = LocalMap(schedule, united(driven, opened, held(offsets)), read, opened, period, given)
        local.take(closed)
        local.prober.drive({**offsets, **{tap.wire: values[tap.wire] for tap in opened}})
    sides = {tap.name: values[tap.wire] for tap in driven}, {tap.name: own[tap.wire] for tap in read}
    return modelled(schedule, local, sides, at_instant(given, closed), offsets)


def modelled(schedule: Schedule, local: LocalMap, sides: Sides, given: Situation, offsets: dict[Wire, float]) -> LinearModel:
    """The model around where a local map stands; its first inputs and outputs are those of `sides`, by name."""
    names, period = local.names, local.period
    if not names:
        sampled = " With dt=True sampled blocks are part of the model." if period is None and schedule.groups else ""
        raise DiagramError(f"this diagram has no {'continuous ' if sampled else ''}states: nothing to linearise.{sampled}")
    inputs, outputs = (list(side) for side in sides)
    (A, B, C, D), doubt = differenced(local, inputs, outputs)
    states = dict(zip(names, local.at().tolist(), strict=True))
    point = OperatingPoint(local.t, states, *sides, local.residual(), given, offsets)
    note = "; ".join(part for part in (*notes(schedule, local), doubt) if part)
    return LinearModel(A, B, C, D, names, inputs, outputs, point, None if period is None else float(period), note)


def united(*groups: Iterable[Tap]) -> list[Tap]:
    """Taps in order, each wire once."""
    found: dict[Wire, Tap] = {}
    for tap in (tap for group in groups for tap in group):
        found.setdefault(tap.wire, tap)
    return list(found.values())


def held(offsets: Mapping[Wire, float]) -> list[Tap]:
    """The signals an operating point holds."""
    return [Tap(f"{path}.{port}", path, port, element) for path, port, element in offsets]


def at_instant(given: Situation, local: LocalMap) -> Situation:
    """The situation at the instant of the linearisation."""
    x, _ = local.prober.now()
    return replace(given, t=local.t, states=dict(zip(local.prober.states, x.tolist(), strict=True)))


def sample_time(schedule: Schedule, dt: Any) -> Fraction | None:
    """The period of a sampled model; None for a continuous one."""
    groups = schedule.groups
    if dt is None or dt is False:
        lone = len(groups) == 1 and not any(continuous_states(u) for u in schedule.units)
        return groups[0].period if lone else None
    if len(groups) > 1:
        rates = [f"every {float(g.period):g} s" + (f" from {float(g.offset):g} s" if g.offset else "") for g in groups]
        raise DiagramError(
            f"dt: a sampled model is made of a diagram with one sample time; this one acts {listing(rates)}. Without dt the "
            "continuous part is linearised, sampled outputs held."
        )
    if dt is True:
        if not groups:
            raise DiagramError("dt: no block of this diagram is sampled; say dt=0.01 for inputs that hold for 0.01 s.")
        return groups[0].period
    try:
        period = exact(dt)
    except ValueError as error:
        raise DiagramError(f"dt: {error} True or seconds are wanted.") from None
    if period <= 0 or (groups and period != groups[0].period):
        wanted = f"True, or the sample time of the diagram, {float(groups[0].period):g} s," if groups else "a time above 0"
        raise DiagramError(f"dt: {wanted} is wanted, found {dt}.")
    return period


def differenced(local: LocalMap, inputs: list[str], outputs: list[str]) -> tuple[tuple[np.ndarray, ...], str]:
    """A, B, C, D, and a word on entries in doubt: a corner or a jump at the operating point."""
    import numpy as np

    n, k = len(local.names), len(inputs)
    start = np.concatenate([local.at(), local.prober.now()[1][:k]])
    J, errors = jacobian(local.function(k), start)
    J, errors = J[: n + len(outputs)], errors[: n + len(outputs)]
    rows, columns = [*local.names, *outputs], [*local.names, *inputs]
    if not np.all(np.isfinite(J)):
        i, j = np.argwhere(~np.isfinite(J))[0]
        raise DiagramError(f"the derivative of {rows[i]} over {columns[j]} is not finite here; linearise elsewhere (at=).")
    floor = 1e-3 * np.max(np.abs(J), axis=1, keepdims=True, initial=0.0)
    doubtful = np.argwhere(errors > DOUBTFUL * np.maximum(np.abs(J), floor))
    named = [f"{rows[i]} over {columns[j]}" for i, j in doubtful[:3]] + ["..."] * (len(doubtful) > 3)
    doubt = f"not smooth here, so of little meaning: {listing(named)}" if named else ""
    return (J[:n, :n], J[:n, n:], J[n:, :n], J[n:, n:]), doubt


def notes(schedule: Schedule, local: LocalMap) -> list[str]:
    """What a reader of the model must know."""
    if local.period is not None:
        events = local.prober.experiment.program.source.guards and local.prober.states
        return ["events between hits are left out"] if events else []
    holding = [u.path for u in schedule.units if u.group is not None]
    shown = [*holding[:6], *["..."] * (len(holding) > 6)]
    return [f"sampled blocks hold their outputs ({listing(shown)})"] if holding else []
