"""Memory of a program: elements of arrays, the same place in all lanes or another in each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from llvmlite import ir

from .arithmetic import DOUBLE, INT64, Arithmetic
from .refusal import UnsupportedError
from .values import REAL_NUMBER, WHOLE_NUMBER, LaneAddresses, Number, NumberKind, Pointer

STORE_ALIGNMENT = 8
PLACE_TYPE = ir.PointerType()


class MemoryAccess(Arithmetic, ABC):
    """Reads and writes elements of arrays, under a mask where only some lanes are active."""

    @abstractmethod
    def active(self) -> Any:
        """The lanes that are active; None where all are."""

    def place(self, pointer: Pointer, index: Number) -> Any:
        element = pointer.kind.type(self.lanes)
        return self.builder.gep(pointer.code, [self.cast(index, NumberKind(WHOLE_NUMBER)).code], source_etype=element)

    def lane_place(self, pointer: Pointer | LaneAddresses, index: Number, lane: int) -> Any:
        """The address of one lane's element."""
        builder, number = self.builder, ir.Constant(ir.IntType(32), lane)
        whole = self.cast(index, NumberKind(WHOLE_NUMBER, index.kind.wide)).code
        own = builder.extract_element(whole, number) if index.kind.wide else whole
        if isinstance(pointer, LaneAddresses):
            spot = builder.gep(pointer.code, [ir.Constant(INT64, lane)], source_etype=PLACE_TYPE)
            return builder.gep(builder.load(spot, typ=PLACE_TYPE), [own], source_etype=DOUBLE)
        if pointer.kind.wide:
            own = builder.add(builder.mul(own, ir.Constant(INT64, self.lanes)), ir.Constant(INT64, lane))
        return builder.gep(pointer.code, [own], source_etype=NumberKind(pointer.kind.base).type(1))

    def load(self, pointer: Pointer | LaneAddresses, index: Number) -> Number:
        if isinstance(pointer, Pointer) and not index.kind.wide:
            loaded = self.builder.load(self.place(pointer, index), typ=pointer.kind.type(self.lanes))
            loaded.align = STORE_ALIGNMENT
            return Number(pointer.kind, loaded)
        kind = NumberKind(REAL_NUMBER if isinstance(pointer, LaneAddresses) else pointer.kind.base, True)
        index = self.guarded(index)
        result = ir.Constant(kind.type(self.lanes), ir.Undefined)
        for lane in range(self.lanes):
            one = self.builder.load(self.lane_place(pointer, index, lane), typ=NumberKind(kind.base).type(1))
            result = self.builder.insert_element(result, one, ir.Constant(ir.IntType(32), lane))
        return Number(kind, result)

    def guarded(self, index: Number) -> Number:
        """An index that is 0 in lanes that are not active: what they compute means nothing."""
        mask = self.active()
        if mask is None or not index.kind.wide:
            return index
        return Number(index.kind, self.builder.select(mask, index.code, self.cast(self.number(0), index.kind).code))

    def store(self, pointer: Pointer | LaneAddresses, index: Number, value: Number) -> None:
        mask = self.active()
        if isinstance(pointer, Pointer) and not index.kind.wide:
            if mask is not None and not pointer.kind.wide:
                raise UnsupportedError("a number for all runs that only some of them change")
            new = self.cast(value, pointer.kind)
            if mask is not None:
                new = Number(new.kind, self.builder.select(mask, new.code, self.load(pointer, index).code))
            self.builder.store(new.code, self.place(pointer, index)).align = STORE_ALIGNMENT
            return
        if isinstance(pointer, Pointer) and not pointer.kind.wide:
            raise UnsupportedError("a number for all runs that each changes at a place of its own")
        index = self.guarded(index)
        new = self.cast(value, NumberKind(REAL_NUMBER, True))
        for lane in range(self.lanes):
            number, place = ir.Constant(ir.IntType(32), lane), self.lane_place(pointer, index, lane)
            one = self.builder.extract_element(new.code, number)
            if mask is not None:
                one = self.builder.select(self.builder.extract_element(mask, number), one, self.builder.load(place, typ=DOUBLE))
            self.builder.store(one, place)
