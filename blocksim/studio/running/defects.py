"""Defects: what a sensor does to a signal that a perfect one would not, each with a switch: noise, steps, delay, and noise that
goes around the loop because the controller reads what the sensor says.

Most are settings that are put beside the file. The last needs another wiring: the loop reads the sensor's ideal, and the record
blocks go on reading the sensor.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...contract.block import Block
from ...contract.declarations import Noise
from ...diagram.diagram import Diagram, Node
from ...simulation.elements import split_element, whole_settings

#: A step so much finer is none; noise that counts in steps is made so many times larger.
STEP_SHARE = 1e-6
DEFECT_WORDS = {"noise": "noise", "quantisation": "quantisation", "delay": "delay", "loop": "noise goes around the loop"}


@dataclass(frozen=True)
class Defect:
    """One switch: of which block, and what it is."""

    block: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.block}.{self.kind}"


def find_defects(diagram: Diagram) -> list[Defect]:
    """The defects of a diagram's own blocks that are there to be switched off, as its file has them."""
    defects = []
    for node in diagram.nodes.values():
        if isinstance(node.block, Block) and not node.block.after_run:
            defects += [Defect(node.name, kind) for kind in ("noise", "quantisation", "delay") if cure(node.block, kind, {})]
            if is_fed_back(diagram, node):
                defects.append(Defect(node.name, "loop"))
    return defects


def defects_data(diagram: Diagram) -> list[dict[str, str]]:
    """For the page."""
    return [{"name": d.name, "block": d.block, "kind": d.kind, "words": DEFECT_WORDS[d.kind]} for d in find_defects(diagram)]


def cure(block: Block, kind: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without this defect; {} where there is none, or where they would be refused."""
    settings = {**block.settings, **changes}
    new: dict[str, Any]
    if kind == "noise":
        new = {n: all_zeros(settings[n]) for n in ("std", "noise_std") if is_there(settings.get(n))} if block.of(Noise) else {}
    elif kind == "delay":
        new = {"delay": all_zeros(settings["delay"])} if is_there(settings.get("delay")) and block.colour != "source" else {}
    else:
        new = finer(settings)
    return new if new and not type(block).problems({**settings, **new}) else {}


def is_there(value: Any) -> bool:
    """Whether a setting is a number above 0, or a list with one."""
    if isinstance(value, (list, tuple)):
        return any(map(is_there, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def all_zeros(value: Any) -> Any:
    return [0.0] * len(value) if isinstance(value, (list, tuple)) else 0.0


def finer(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a sensor that does not round: a resolution of 0, or for an encoder, which must have one, one so much finer."""
    import numpy as np

    counts, resolution = settings.get("counts_per_turn"), settings.get("resolution")
    if counts is None:
        return {"resolution": all_zeros(resolution)} if is_there(resolution) else {}
    if not (is_there(resolution) or is_there(counts)):
        return {}
    step = resolution if is_there(resolution) else 2 * math.pi / np.asarray(counts, float)
    return {
        "resolution": (STEP_SHARE * np.asarray(step, float)).tolist(),
        "counts_per_turn": 0.0,
        "noise_std": (np.asarray(settings["noise_std"], float) / STEP_SHARE).tolist(),
    }


def is_fed_back(diagram: Diagram, node: Node) -> bool:
    """Whether a sensor with faults is read by the loop and by blocks that work after the run."""
    if not isinstance(node.block, Block) or node.block.ideal() is node.block or node.inputs is None:
        return False
    readers = [other for other in diagram.nodes.values() if node.name in blocks_read(other.inputs)]
    return any(works_after(r) for r in readers) and not all(works_after(r) for r in readers)


def works_after(node: Node) -> bool:
    return isinstance(node.block, Block) and node.block.after_run


def blocks_read(inputs: Any) -> set[str]:
    """The blocks that an `in:` names."""
    if isinstance(inputs, dict):
        return {name for item in inputs.values() for name in blocks_read(item)}
    if isinstance(inputs, (list, tuple)):
        return {name for item in inputs for name in blocks_read(item)}
    return {str(inputs).partition(".")[0].partition("[")[0]} if inputs is not None else set()


def defects_off(diagram: Diagram, off: Collection[str], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings beside the file with these defects switched off; what was changed already counts as the file's own."""
    result = dict(changes)
    for defect in find_defects(diagram):
        block = diagram.nodes[defect.block].block
        if defect.name in off and defect.kind != "loop" and isinstance(block, Block):
            own = changed_settings(defect.block, block, result)
            cured = {f"{defect.block}.{n}": v for n, v in cure(block, defect.kind, own).items()}
            result = {name: v for name, v in result.items() if split_element(name)[0] not in cured} | cured
    return result


def changed_settings(name: str, block: Block, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changed settings of one block, elements in their lists."""
    own = {n[len(name) + 1 :]: v for n, v in changes.items() if n.rpartition(".")[0] == name}
    return whole_settings(own, block.settings.get)


def rewired(diagram: Diagram, off: Collection[str]) -> Diagram:
    """The diagram in which the loop reads the ideal of each sensor whose noise is not to go around it."""
    sensors = [d.block for d in find_defects(diagram) if d.kind == "loop" and d.name in off]
    if not sensors:
        return diagram
    names = {sensor: f"{sensor}_ideal" for sensor in sensors}
    nodes: dict[str, Node] = {}
    for name, node in diagram.nodes.items():
        nodes[name] = node if works_after(node) else replace(node, inputs=reads_instead(node.inputs, names))
        if name in names and isinstance(node.block, Block):
            nodes[names[name]] = replace(node, name=names[name], block=node.block.ideal())
    return replace(diagram, nodes=nodes)


def reads_instead(inputs: Any, names: Mapping[str, str]) -> Any:
    """An `in:` with other blocks in the place of some."""
    if isinstance(inputs, dict):
        return {port: reads_instead(item, names) for port, item in inputs.items()}
    if isinstance(inputs, (list, tuple)):
        return [reads_instead(item, names) for item in inputs]
    if not isinstance(inputs, str):
        return inputs
    head = inputs.partition(".")[0].partition("[")[0]
    return names[head] + inputs[len(head) :] if head in names else inputs
