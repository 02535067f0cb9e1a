"""OpenedDiagram: a diagram with its schedule, whose program is generated when it is first run without changes to its code."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...diagram.diagram import Diagram
from ...schedule.flatten import flatten
from ...schedule.schedule import Schedule
from ..experiment import Experiment, make_experiment, merge
from .shelf import Shelf

#: How many diagrams of another shape, by changes of settings, are remembered beside one.
MOST_VARIANTS = 16


@dataclass
class OpenedDiagram:
    """What can be known of a diagram before a program is generated, and the program once it is there."""

    diagram: Diagram
    schedule: Schedule
    options: Mapping[str, Any]
    experiment: Experiment | None = None
    variants: Shelf[OpenedDiagram] = field(default_factory=lambda: Shelf(MOST_VARIANTS))
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, diagram: Diagram, options: Mapping[str, Any]) -> OpenedDiagram:
        return cls(diagram, flatten(replace(diagram, simulate=merge(diagram, options))), options)

    def ready(self) -> Experiment:
        """The experiment, made by whoever asks first."""
        with self.lock:
            if self.experiment is None:
                self.experiment = make_experiment(self.diagram, self.schedule, **self.options)
                self.experiment.opened = self
            return self.experiment

    @property
    def size(self) -> int:
        """Bytes of numbers and tables, those of its variants included."""
        own = 0
        if self.experiment is not None:
            arrays = [*vars(self.experiment.numbers).values(), *self.experiment.grid_times.values()]
            own = sum(getattr(array, "nbytes", 0) for array in arrays)
        return own + sum(one.size for one in self.variants.values())


def files_of(diagram: Diagram) -> Iterator[str]:
    """The files a diagram came from and those its blocks read."""
    if diagram.path:
        yield os.path.realpath(diagram.path)
    for node in diagram.nodes.values():
        if isinstance(node.block, Diagram):
            yield from files_of(node.block)
        else:
            yield from (v for v in node.block.settings.values() if isinstance(v, str) and os.path.isabs(v) and os.path.isfile(v))
