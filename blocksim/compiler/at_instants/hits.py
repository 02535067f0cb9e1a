"""What a program does at an instant: due outputs, log, due memories; as the text of its function `hit`."""

from __future__ import annotations

from ...contract.declarations import Memory, Noise
from ...schedule.schedule import Evaluation, LogGroup, Unit, evaluation_of, output_functions
from ...solvers.kernel import CHATTERING, MANY
from ...solvers.stores import LOG, signature
from ...tracing.code import Code, code
from ..following import written
from ..gates import gated, switches
from ..generator import Generator, program_function
from ..scope import Scope
from ..slots import Region
from .ahead import outputs_ahead

HIT, SETTLE, RETAIN = (signature(name) for name in ("hit", "settle", "retain"))
Pending = dict[tuple[int, str, int], Code]


def hit_text(generator: Generator) -> str:
    """Due outputs, log, due memories; where there are guards, outputs again until no guard fires."""
    scope = Scope()
    groups = range(len(generator.schedule.groups))
    for g in groups:
        scope.write(f"due_{g} = tick == hits[{2 * g}]")
    for j, group in enumerate(generator.logs):
        scope.write(f"log_{j} = tick == logs[{LOG * j}]" if group.follows is None else f"log_{j} = due_{group.follows}")
    acting = [[u for u in generator.units if u.group == g] for g in groups]
    pending = pending_places(generator, scope, acting)
    settling = bool(generator.guards and acting)
    outputs = Scope()
    scopes = due_outputs(generator, outputs, pending)
    due = " or ".join(f"due_{g}" for g in groups)
    if settling:  # at a log row between hits nothing may change
        outputs.write(
            f"fired = settle({SETTLE})\nturns += 1\nif fired < 0 or turns > {MANY}:\n    return {CHATTERING}\nfiring = fired > 0"
        )
        scope.write(f"turns = 0\nfiring = {due}")
        scope.nest("while firing:", outputs.blocks())
        scopes = {}  # a reset may have changed them
    else:
        scope.pieces += outputs.pieces
    for j, group in enumerate(generator.logs):
        log_rows(generator, scope, j, group, scopes.get(f"due_{group.follows}", Scope()))
    inputs = [due_inputs(generator, units, scopes.get(f"due_{g}", Scope())) for g, units in enumerate(acting)]
    if len(acting) > 1:  # memories of one rate may be read by another: all inputs before any memory
        for g, inner in enumerate(inputs):
            if inner.written():
                scope.nest(f"if due_{g}:", generator.finish(inner, f"inputs_{g}", HIT))
        inputs = [Scope(signals=inner.signals, done=inner.done) for inner in inputs]
    for g, units in enumerate(acting):
        due_memories(generator, scope, g, units, pending, inputs[g])
    if settling:
        if switches(generator):  # what memories switch off now was on until here
            scope.write(f"if {due}:\n    retain({RETAIN})")
        scope.write(f"if ({due}) and settle({SETTLE}) < 0:\n    return {CHATTERING}")
    scope.write("return 0")
    return program_function("hit", HIT, scope.blocks())


def pending_places(generator: Generator, scope: Scope, acting: list[list[Unit]]) -> Pending:
    """Places for memories that `step` computes before they may be stored."""
    places: Pending = {}
    for unit in (u for units in acting for u in units if "step" in u.kind.functions):
        for name, declaration in unit.kind.of(Memory).items():
            for k in range(0 if declaration.array else unit.width * unit.sizes.get(name, 1)):
                places[(unit.index, name, k)] = (
                    code("m[", generator.wire((unit.index, f"next {name}", k)), "]")
                    if generator.large
                    else code(f"{generator.names[unit.index]}_next_{name}" + (f"_{k}" if k else ""))
                )
    if not generator.large:
        for place in places.values():
            scope.write(code(place, " = 0.0"))
    return places


def due_outputs(generator: Generator, scope: Scope, pending: Pending) -> dict[str, Scope]:
    """Outputs of all sampled blocks in feedthrough order, each when it is due, with the continuous signals they read.

    Gives, for each group alone, the signals that are known while it is due.
    """
    targets = [(u.index, f) for u in generator.units if u.kind.sampled for f in output_functions(u.kind)]
    entries = generator.needed(targets, stored=False)
    conditions = due_for(generator, entries)
    shared = Scope()
    for g in range(len(generator.schedule.groups)):
        outputs_ahead(generator, scope, shared, g, [entry for entry in entries if conditions[entry[0]] == {g}])
    runs: list[tuple[str, Scope]] = []
    for entry in entries:
        if entry[0] in shared.done:
            continue
        condition = " or ".join(f"due_{g}" for g in sorted(conditions[entry[0]]))
        if not runs or runs[-1][0] != condition:
            runs.append((condition, Scope(signals=shared.signals, done=shared.done)))
        unit = generator.units[entry[0][0]]
        if unit.kind.sampled:
            shared.done.update(entry)
            inner = Scope(signals=shared.signals)
            sampled_output(generator, inner, unit, entry[0][1], pending)
            gated(generator, runs[-1][1], unit, inner)
        else:
            generator.write_entry(runs[-1][1], entry)
    for number, (condition, inner) in enumerate(runs):
        scope.nest(f"if {condition}:", generator.finish(inner, f"outputs_{number}", HIT))
    scopes = {}
    for g in range(len(generator.schedule.groups)):
        done = {e for e in shared.done if g in conditions[e]}
        mine = {k: v for k, v in shared.signals.items() if evaluation_of(generator.units[k[0]], k[1]) in done}
        scopes[f"due_{g}"] = Scope(signals=mine, done=done)
    return scopes


def due_for(generator: Generator, entries: list[list[Evaluation]]) -> dict[Evaluation, set[int]]:
    """For each evaluation, the groups it is evaluated for: its own, or those of the sampled blocks that read it."""
    rates: dict[Evaluation, set[int]] = {}
    for entry in reversed(entries):
        for evaluation in entry:
            unit = generator.units[evaluation[0]]
            if unit.kind.sampled:
                rates[evaluation] = {unit.group if unit.group is not None else 0}
        union = set().union(*(rates.get(e, set()) for e in entry))
        for evaluation in entry:
            rates[evaluation] = union
            for source in generator.schedule.needs[evaluation]:
                if not generator.units[source[0]].kind.sampled and source not in entry:
                    rates.setdefault(source, set()).update(union)
    return rates


def sampled_output(generator: Generator, scope: Scope, unit: Unit, function: str, pending: Pending) -> None:
    scope.begin(f"{unit.path}: {unit.kind.__name__}")
    ports = output_functions(unit.kind)[function]
    memories = [n for n, d in unit.kind.of(Memory).items() if not d.array] if function == "step" else []
    for copy in range(unit.width):
        shadow(generator, scope, unit, function, copy)
        results = [(n, unit.sizes[n]) for n in ports]
        results += [(f"next_{n}", unit.sizes.get(n, 1)) for n in memories]
        outcome = generator.apply(scope, unit, function, results, copy)
        for port in ports:
            for k, part in enumerate(outcome[port]):
                scope.write(code(generator.held((unit.index, port, copy if unit.wide else k)), " = ", written(part)))
        for name in memories:
            for k, part in enumerate(outcome[f"next_{name}"]):
                target = pending[(unit.index, name, copy * unit.sizes.get(name, 1) + k)]
                if target != part:
                    scope.write(code(target, " = ", written(part)))


def shadow(generator: Generator, scope: Scope, unit: Unit, function: str, copy: int) -> None:
    """Where outputs may be computed again, `step` changes a copy of its array memories, stored with the other memories."""
    if function != "step" or not generator.guards:
        return
    for name, declaration in unit.kind.of(Memory).items():
        if declaration.array:
            own = generator.slots.array(unit, name, copy)
            region = generator.slots.region(unit.index, f"{name}.shadow", own.shape, unit.sizes.get(name, 1), copy)
            generator.shadows[(unit.index, name, copy)] = region
            scope.write(copy_text(own, region))


def copy_text(source: Region, target: Region) -> Code:
    """One array copied over another."""
    turns = code("for i in range(o[", source.index + 1, "] - o[", source.index, "]):\n    a[o[", target.index, "] + i]")
    return code(turns, " = a[o[", source.index, "] + i]")


def log_rows(generator: Generator, scope: Scope, j: int, group: LogGroup, earlier: Scope) -> None:
    inner = Scope(signals=dict(earlier.signals), done=set(earlier.done))
    elements = [e for _, es in group.signals for e in es]
    generator.compute(inner, [evaluation_of(generator.units[e[0]], e[1]) for e in elements])
    row, count, start = (f"logs[{LOG * j + k}]" for k in (2, 3, 4))
    if not generator.large:
        inner.begin()
        inner.write(f"row = {row}\ncount = {count}\nstart = {start}")
        row, count, start = "row", "count", "start"
    column = 0
    for _, signal in group.signals:  # each signal is a stretch of the record: its rows one after the other
        for k, element in enumerate(signal):
            if generator.large:
                inner.begin()
            step = code(row) if len(signal) == 1 else code(f"{len(signal)} * {row} + ", k)
            value = written(generator.signal(inner, element))
            inner.write(code(f"record[{start} + ", column, f" * {count} + ", step, "] = ", value))
        column += len(signal)
    inner.begin()
    inner.write(f"logs[{LOG * j + 2}] = {row} + 1\nlogs[{LOG * j}] = tick + logs[{LOG * j + 1}]")
    scope.nest(f"if log_{j}:", generator.finish(inner, f"log_{j}", HIT))


def due_inputs(generator: Generator, units: list[Unit], earlier: Scope) -> Scope:
    """What the updates of one group read."""
    inner = Scope(signals=dict(earlier.signals), done=set(earlier.done))
    updating = [u for u in units if "update" in u.kind.functions]
    generator.compute(inner, [e for u in updating for e in generator.inputs_of(u, [u.kind.functions["update"]])])
    return inner


def due_memories(generator: Generator, scope: Scope, g: int, units: list[Unit], pending: Pending, inner: Scope) -> None:
    """Updates of one group: every input is computed before any memory changes, then the group's next hit is set."""
    for unit in (u for u in units if "update" in u.kind.functions):
        for copy in range(unit.width):
            piece = Scope(signals=inner.signals)
            piece.begin(f"{unit.path}: {unit.kind.__name__}")
            generator.assign_states(piece, unit, "update", copy, unit.kind.of(Memory))
            gated(generator, inner, unit, piece)
    for (index, name, k), local in pending.items():
        if generator.units[index].group == g:
            piece = Scope()
            piece.write(code("m[", generator.slots.where[(index, name)][k], "] = ", local))
            gated(generator, inner, generator.units[index], piece)
    for (index, name, copy), region in generator.shadows.items():
        if generator.units[index].group == g:
            own = generator.slots.array(generator.units[index], name, copy)
            piece = Scope()
            piece.write(copy_text(region, own))
            gated(generator, inner, generator.units[index], piece)
    for address in (a for u in units for n in u.kind.of(Noise) for a in generator.slots.where[(u.index, n)]):
        inner.begin()
        inner.write(code("o[", address, "] += 1"))
    for rows in (one for one in generator.slots.ahead if one.group == g):
        inner.begin()
        inner.write(code("o[", rows.place, "] += o[", rows.place + 1, "]"))
    inner.begin()
    inner.write(f"hits[{2 * g}] = tick + hits[{2 * g + 1}]")
    scope.nest(f"if due_{g}:", generator.finish(inner, f"memories_{g}", HIT))
