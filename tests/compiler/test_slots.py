"""Where every number lives: stores without gaps or overlaps, values as they were set, arrays end to end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from blocksim.compiler.slots import Slot, fill, lay_out
from blocksim.diagram.build import open_diagram
from blocksim.schedule.flatten import flatten

#: One of each kind of number: parameters, states, a sampled output, memory, noise, a table, and a lag widened by a vector.
TEXT = """
format: 1
blocks:
  both:   {type: Constant, value: [2.0, 5.0]}
  lag:    {type: FirstOrderLag, T: 0.5, k: [3.0, 4.0], x: [0.1, 0.2], in: both}
  sample: {type: Encoder, Ts: 1/8, resolution: 0.25, noise_std: 1.5, in: "lag[0]"}
  table:  {type: LookupTable, points: [0.0, 1.0, 3.0], values: [7.0, 8.0, 9.0], in: sample}
"""


@pytest.fixture(scope="module")
def schedule():
    return flatten(open_diagram(TEXT))


@pytest.fixture(scope="module")
def slots(schedule):
    return lay_out(schedule)


def numbers(schedule, slots, path, name, store):
    unit = schedule.unit(path)
    return list(getattr(fill(schedule, slots), store)[slots.where[(unit.index, name)]])


def test_a_slot_says_whose_it_is():
    assert str(Slot("arm.joint", "q")) == "arm.joint.q" and str(Slot("lag", "x", 1)) == "lag.x[1]"


def test_every_address_has_one_owner(schedule, slots):
    """The addresses of a store are 0, 1, 2 ... and each belongs to the name that its slot says."""
    seen = {"p": [], "x": [], "m": []}
    for (index, name), addresses in slots.where.items():
        unit = schedule.units[index]
        for store in seen:
            owners = getattr(slots, store)
            if all(a < len(owners) and (owners[a].path, owners[a].name) == (unit.path, name) for a in addresses):
                seen[store] += addresses
    for store, addresses in seen.items():
        assert sorted(addresses) == list(range(len(getattr(slots, store)))), store


def test_settings_arrive_where_their_slots_are(schedule, slots):
    assert numbers(schedule, slots, "lag", "T", "p") == [0.5]
    assert numbers(schedule, slots, "lag", "k", "p") == [3.0, 4.0]
    assert numbers(schedule, slots, "lag", "x", "x") == [0.1, 0.2]
    assert numbers(schedule, slots, "sample", "Ts", "p") == [0.125]
    assert numbers(schedule, slots, "sample", "resolution", "p") == [0.25]


def test_copies_have_their_own_numbers_and_share_what_is_given_once(schedule, slots):
    lag = schedule.unit("lag")
    states = slots.where[(lag.index, "x")]
    assert lag.width == 2
    assert [slots.of(lag, "x", copy) for copy in (0, 1)] == [states[:1], states[1:]]
    assert slots.of(lag, "T", 0) == slots.of(lag, "T", 1) == slots.where[(lag.index, "T")]


def test_names_of_elements(slots):
    assert [str(slot) for slot in slots.x] == ["lag.x[0]", "lag.x[1]"]


def test_arrays_lie_end_to_end(schedule, slots):
    filled = fill(schedule, slots)
    bounds = [(filled.o[region.index], filled.o[region.index + 1]) for region in slots.regions]
    assert bounds[0][0] == 0 and bounds[-1][1] == len(filled.a)
    assert all(before[1] == after[0] for before, after in pairwise(bounds))
    unit = schedule.unit("table")
    for name, expected in (("points", [0.0, 1.0, 3.0]), ("values", [7.0, 8.0, 9.0])):
        region = slots.array(unit, name, 0)
        assert list(filled.a[filled.o[region.index] : filled.o[region.index + 1]]) == expected
        assert slots.length(schedule, region) == 3


def test_noise_has_an_address_for_each_stream(slots):
    owner, kind, address = next(stream for stream in slots.declared_streams if stream[0].path == "sample")
    assert kind == "normal" and owner.element == -1
    taken = {i for region in slots.regions for i in (region.index, region.index + 1)}
    assert address not in taken and address < slots.o


def test_a_copy_is_a_copy(schedule, slots):
    one = fill(schedule, slots)
    other = one.copy()
    for store in ("p", "x", "m", "a", "o"):
        assert np.array_equal(getattr(one, store), getattr(other, store))
        assert not np.shares_memory(getattr(one, store), getattr(other, store)) or not getattr(one, store).size


def test_a_changed_setting_changes_numbers_and_no_address(schedule, slots):
    changed = flatten(open_diagram(TEXT.replace("T: 0.5", "T: 0.75").replace("[0.0, 1.0, 3.0]", "[0.0, 1.0, 4.0]")))
    again = lay_out(changed)
    assert (again.p, again.x, again.m, again.where) == (slots.p, slots.x, slots.m, slots.where)
    assert numbers(changed, again, "lag", "T", "p") == [0.75]
