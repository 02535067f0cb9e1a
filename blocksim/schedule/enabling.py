"""Subsystems that a signal switches on and off: their switches and held outputs as units of the flat diagram.

A switch keeps in memory whether it is on; the instant at which that changes is located. Every unit of the subsystem names the
switches that hold it in `gates`: while one of them is off, the generated program leaves its states, memories and sampled outputs
as they are, and looks at none of its guards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract.block import Block, inport, memory, outport, param, static
from ..diagram.diagram import Diagram, Node, Ref
from ..errors import DiagramError, Problem

if TYPE_CHECKING:
    from .schedule import Unit


class EnableSwitch(Block):
    """on = 1 while enable is above 0.5, else 0."""

    states: str = static("hold", "what the subsystem's states do when it is switched on again", choices=("hold", "reset"))
    enable = inport("what switches")
    on = outport("1 while the subsystem is on")
    side: float = memory(0.0, "1 while it is on", internal=True)

    @staticmethod
    def output(side: float) -> float:
        return side

    @staticmethod
    def guard_change(enable: float, side: float) -> float:
        return (enable - 0.5) * (2.0 * side - 1.0)

    @staticmethod
    def reset_change(side: float) -> dict[str, float]:
        return {"side": 1.0 - side}


class HeldOutput(Block):
    """y = u while on, else what it was before the subsystem was switched off; 0 before it was ever on."""

    u = inport("output of the subsystem")
    on = inport("1 while the subsystem is on")
    y = outport("what leaves it", like="u")
    last: float = memory(0.0, "the last value while it was on", internal=True)

    @staticmethod
    def output(u: float, on: float, last: float) -> float:
        return u if on > 0.5 else last


class StatedOutput(Block):
    """y = u while on, else value."""

    value: float = param(0.0, "what leaves the subsystem while it is off")
    u = inport("output of the subsystem")
    on = inport("1 while the subsystem is on")
    y = outport("what leaves it", like="u")

    @staticmethod
    def output(u: float, on: float, value: float) -> float:
        return u if on > 0.5 else value


def spare_name(part: Diagram, name: str) -> str:
    """A name that no block inside has."""
    while name in part.nodes:
        name += "_"
    return name


def switch_path(path: str, part: Diagram) -> str:
    """Where the switch of the subsystem at `path` stands."""
    return f"{path}.{spare_name(part, 'enable')}"


def output_path(path: str, part: Diagram, port: str) -> str:
    """Where the block stands that holds an output."""
    return f"{path}.{spare_name(part, f'{port}_held')}"


def border_blocks(path: str, node: Node, part: Diagram) -> list[tuple[str, Block, str]]:
    """The switch of a subsystem and what holds its outputs: path, block, and the port each output has inside."""
    assert node.enable is not None and part.ports is not None
    blocks: list[tuple[str, Block, str]] = [(switch_path(path, part), EnableSwitch(states=node.enable.states), "")]
    for port in part.ports.outputs:
        block = HeldOutput() if node.enable.outputs == "hold" else StatedOutput(value=float(node.enable.outputs))
        blocks.append((output_path(path, part, port), block, port))
    return blocks


def check_gates(units: list[Unit]) -> None:
    """What works after the run cannot be switched while it goes on; a switch listens to one number."""
    problems = [
        Problem(
            f"block '{u.path}' ({type(u.block).__name__}) works after the run, and its subsystem has enable:, which acts "
            "during it. Move it out of the subsystem.",
            u.node.place,
        )
        for u in units
        if u.after and u.gates and not isinstance(u.block, (EnableSwitch, HeldOutput, StatedOutput))
    ]
    problems += [
        Problem(
            f"block '{u.path.rpartition('.')[0]}': enable: '{ref}' works after the run, and enable: acts during it.",
            u.node.at("enable"),
        )
        for u in units
        if u.after and isinstance(u.block, EnableSwitch)
        for ref in u.inputs["enable"]
    ]
    problems += [
        Problem(
            f"block '{u.path.rpartition('.')[0]}': enable: has {u.width} elements; one number switches. Pick one: "
            f"{u.inputs['enable'][0]}[0].",
            u.node.at("enable"),
        )
        for u in units
        if isinstance(u.block, EnableSwitch) and u.width > 1
    ]
    if problems:
        raise DiagramError(problems)


def border(path: str, part: Diagram, port: str, element: int | None) -> Ref:
    """The signal that leaves a switched subsystem."""
    return Ref(output_path(path, part, port), "y", element)
