"""Shelf: a few values by key, the longest unused dropped first; made once, however many threads ask at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Held = TypeVar("Held")


class Shelf(Generic[Held]):
    """A bounded memory. `room` says how many values it holds."""

    def __init__(self, room: int):
        self.room = room
        self.places: OrderedDict[Hashable, Held] = OrderedDict()
        self.lock = threading.RLock()
        self.turns: dict[Hashable, threading.Lock] = {}

    def recall(self, key: Hashable, make: Callable[[], Held]) -> Held:
        """The value of a key: the one that is there, or made now; a second thread that asks meanwhile waits for it."""
        with self.lock:
            turn = self.turns.setdefault(key, threading.Lock())
        try:
            with turn:
                value = self.find(key)
                if value is None:
                    value = make()
                    self.keep(key, value)
                return value
        finally:
            with self.lock:
                self.turns.pop(key, None)

    def find(self, key: Hashable) -> Held | None:
        with self.lock:
            value = self.places.get(key)
            if value is not None:
                self.places.move_to_end(key)
            return value

    def keep(self, key: Hashable, value: Held) -> None:
        with self.lock:
            self.places[key] = value
            self.places.move_to_end(key)
            while len(self.places) > self.room:
                self.places.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        with self.lock:
            self.places.pop(key, None)

    def oldest(self) -> None:
        """Drop the value that was not used for longest."""
        with self.lock:
            if self.places:
                self.places.popitem(last=False)

    def values(self) -> list[Held]:
        with self.lock:
            return list(self.places.values())
