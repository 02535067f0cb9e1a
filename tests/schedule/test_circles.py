"""Blocks that read each other in a circle: refused with the walk, whatever else the diagram holds."""

from __future__ import annotations

import pytest

import blocksim as bs

HEAD = "format: 1\nsimulate: {stop: 1, every: 0.01}\nblocks:\n  s: {type: Sine}\n"
FILTER = "type: ZeroPhaseFilter, cutoff: 20"


def refusal(*lines: str) -> str:
    with pytest.raises(bs.DiagramError) as refused:
        bs.flatten(bs.open_diagram(HEAD + "".join(f"  {line}\n" for line in lines)))
    return str(refused.value)


def test_two_record_blocks_that_read_each_other_are_a_walk():
    told = refusal(f"a: {{{FILTER}, in: b}}", f"b: {{{FILTER}, in: a}}")
    assert told == (
        "<text>:5: record blocks read each other: a.y -> b.u -> b.y -> a.u. Each works on the whole record of the one before it, "
        "after the run, so that none can begin: take one of these links away."
    )


def test_one_that_reads_itself_is_a_walk_too():
    assert "record blocks read each other: a.y -> a.u. " in refusal(f"a: {{{FILTER}, in: a}}")


def test_the_walk_has_only_those_on_the_circle():
    told = refusal(
        f"after: {{{FILTER}, in: c}}",
        f"before: {{{FILTER}, in: s}}",
        "a: {type: Sum, in: [before, c]}",
        f"b: {{{FILTER}, in: a}}",
        "c: {type: CentralDifference, in: b}",
    )
    assert "a.y -> b.u -> b.y -> c.u -> c.y -> a.u. " in told or "c.y -> a.u -> a.y -> b.u -> b.y -> c.u. " in told
    assert "after" not in told.split(". ")[0] and "before." not in told


def test_a_circle_over_a_measured_record_is_refused_as_well():
    text = HEAD + f"  a: {{{FILTER}, in: b}}\n  b: {{{FILTER}, in: a}}\n"
    record = bs.Record.from_arrays([0.0, 0.1, 0.2], {"s.y": [1.0, 2.0, 3.0]})
    with pytest.raises(bs.DiagramError, match=r"record blocks read each other: a\.y -> b\.u -> b\.y -> a\.u"):
        bs.identify(text, record)


@pytest.mark.parametrize("last", [FILTER, "type: UnitDelay, Ts: 0.1"], ids=["after the run", "while it runs"])
def test_a_signal_that_joins_itself_has_no_size(last):
    """Its size doubles each time around: with forty other blocks it would have 2**40 elements before anybody looked."""
    others = [f"g{k}: {{type: Gain, in: s}}" for k in range(40)]
    told = refusal(*others, "m: {type: Mux, in: [f, f]}", f"f: {{{last}, in: m}}")
    assert told == (
        "<text>:45: the size of a signal has no end: m.y -> f.u -> f.y -> m.u. It joins itself each time around; a Select takes "
        "the elements that are meant to come back."
    )
