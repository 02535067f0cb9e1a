"""The bias of least squares by noise that a smoother leaves in the motion, to first order and without any simulation.

With W + dW in the place of W, the estimates err by -(W'W)^-1 W'dW x. Of that the mean is not zero, for dW is in both: E[dW'dW] x
shrinks what belongs to noisy columns, and where W bends (the sign of a speed) W'E[dW] x adds to it. The smoother's standard
deviations say its bandwidth, three differences of what it reads say how much white noise came in; the covariance of position,
speed and acceleration follows, cut off where a decimation cuts. What filters bend, and what a controller makes of the noise, is
not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.contract.block import Block
from blocksim.diagram.diagram import REFERENCE

from ...smoothing.filters import EDGE, sample_time
from ..added_noise import FEWEST_ROWS, noise_level
from ..arm_channel import balanced

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant
    from blocksim.estimation.estimates import Estimates
    from blocksim.estimation.process import Run

SMOOTHED = ("x", "dx", "ddx")  # of a smoother that says how well it knows each
FEW_ROWS = 400  # of a record that stand for all
NOISE_LINES = 400  # of the spectrum
ROUGH = 0.1  # share of a motion that three differences leave, from which on it was not filtered
TOLD = 1 / 3  # of the 95 % interval: a bias is told from there on


#: By motion signal its sensor or smoother, and its share of three independent moves.
Noises = Mapping[str, tuple[str, np.ndarray]]


def told_of_left_noise(
    result: Estimates, block: Any, run: Run, plant: Plant, signals: Mapping[str, Any], solved: Any
) -> Estimates:
    """The estimates with their bias by noise left in the motion, told where it is a good part of an interval.

    Of noise that goes around the loop no number is told: what the controller makes of it may take most of this part away, or be
    as much again. But where this part matters the whole should be asked for.
    """
    noises = dict(motion_noise(run, plant, signals, block.decimate))
    rough = {} if noises or block.decimate > 1 else rough_motion(run, plant, signals)
    if not (noises or rough):
        return result
    bias = left_noise_bias(noises or rough, plant, signals, *solved)
    looped = bool(rough) or not run.simulated or goes_around(run, plant)
    if not looped:
        result = replace(result, details={**result.details, "left_noise_bias": bias})
    reach = np.array([e.quantile * e.std for e in result.entries])
    size = np.divide(np.abs(bias), reach, out=np.zeros(len(bias)), where=np.isfinite(reach) & (reach > 0))
    names = [n for n, s in zip(result, size, strict=True) if s > TOLD]
    if not names:
        return result
    if looped:
        text = (
            f"noise is left in the motion, enough to bias {', '.join(names)} by a good part of the 95 % interval: see bias: told"
        )
        return replace(result, remarks=(*result.remarks, text))
    values = dict(zip(result, zip(bias, result.vector(), strict=True), strict=True))
    shares = ", ".join(f"{n} {100 * b / abs(v):+.2g} %" if v else f"{n} {b:+.2g}" for n, (b, v) in values.items() if n in names)
    text = f"noise left in the motion biases {shares} to first order; what a filter bends comes on top (bias: told)"
    if beyond := [n for n, s in zip(result, size, strict=True) if s > 1]:
        return result.warned(f"{text}. That is more than the 95 % interval of {', '.join(beyond)}")
    return replace(result, remarks=(*result.remarks, text))


def goes_around(run: Run, plant: Plant) -> bool:
    """Whether a sensor that the motion is smoothed from is one that the effort comes from, too."""
    nodes = run.diagram.nodes
    wiring = nodes[run.path].inputs
    sources = {
        name
        for port in plant.motion
        for maker in named(wiring.get(port))
        if maker in nodes
        for name in named(nodes[maker].inputs)
    }
    makers, ahead = set(), named(wiring.get(plant.drive))
    while ahead:
        name = ahead.pop()
        if name not in makers and name in nodes:
            makers.add(name)
            ahead += named(nodes[name].inputs)
    return bool(makers & sources)


def named(inputs: Any) -> list[str]:
    """The blocks of a diagram that inputs name."""
    if isinstance(inputs, Mapping):
        return [name for one in inputs.values() for name in named(one)]
    if isinstance(inputs, (list, tuple)):
        return [name for one in inputs for name in named(one)]
    return [] if inputs is None else [str(inputs).partition(".")[0].partition("[")[0]]


def left_noise_bias(
    noises: Noises, plant: Plant, signals: Mapping[str, Any], task: Any, solution: Any, picked: np.ndarray
) -> np.ndarray:
    """Of each estimate."""
    step = max(1, len(picked) // FEW_ROWS)
    some = picked[::step]
    motion = {n: signals[n][some] for n in plant.motion if n in signals}  # what is left open is no part of the model
    beta = np.array([task.held.get(n, 0.0) for n in plant.parameters])
    columns = [plant.parameters.index(n) for n in solution.names]
    beta[columns] = solution.fit.values
    joints = len(task.groups) // len(picked)
    weights = solution.fit.weights.reshape(joints, -1)[:, ::step].T ** 2
    W = rows(plant, motion)
    shift = np.zeros(len(columns))
    for moves in directions(noises, len(some)):
        above, below = (rows(plant, {n: v + sign * moves.get(n, 0.0) for n, v in motion.items()}) for sign in (1, -1))
        odd, even = (above - below) / 2, (above + below) / 2 - W
        shift += np.einsum("kj,kji,kj->i", weights, odd[..., columns], odd @ beta)
        shift += np.einsum("kj,kji,kj->i", weights, W[..., columns], even @ beta)
    return np.asarray(-solution.fit.bread @ shift * (len(picked) / len(some)))


def rows(plant: Plant, motion: Mapping[str, np.ndarray]) -> np.ndarray:
    return balanced(plant.regressor(motion), plant)


def directions(noises: Noises, count: int) -> Iterator[dict[str, Any]]:
    """Three moves of the motion by one standard deviation, which together have its covariance.

    Elements of a vector are moved at once, each with signs of its own from row to row: what two of them share averages out.
    """
    random = np.random.default_rng(0)
    for k in range(3):
        moves, signs = {}, {}
        for name, (smoother, parts) in noises.items():
            if smoother not in signs:
                signs[smoother] = random.choice([-1.0, 1.0], size=(count, *parts[k].shape))
            moves[name] = signs[smoother] * parts[k]
        yield moves


def motion_noise(run: Run, plant: Plant, signals: Mapping[str, Any], factor: int) -> Iterator[tuple[str, tuple[str, np.ndarray]]]:
    """Of motion that a smoother made, which says how well it knows it."""
    node = run.diagram.nodes.get(run.path)
    wiring = node.inputs if node is not None and isinstance(node.inputs, Mapping) else {}
    smoothers: dict[str, np.ndarray | None] = {}
    for name in plant.motion:
        match = REFERENCE.match(str(wiring.get(name, "")))
        path, _, port = match["path"].rpartition(".") if match and match["element"] is None else ("", "", "")
        if port not in SMOOTHED or f"{path}.std_ddx" not in run.record or path not in run.diagram.nodes:
            continue
        if path not in smoothers:
            smoothers[path] = moves_of(run, path, factor)
        own = smoothers[path]
        if own is not None:
            yield name, (path, own[:, SMOOTHED.index(port)])


def rough_motion(run: Run, plant: Plant, signals: Mapping[str, Any]) -> Noises:
    """Of motion that no filter smoothed: what three differences leave of each signal, which is some of its noise, if not all."""
    present = [n for n in plant.motion if n in signals]
    wiring = run.diagram.nodes[run.path].inputs if run.path in run.diagram.nodes else None
    if not present or not isinstance(wiring, Mapping) or len(signals[present[-1]]) < FEWEST_ROWS:
        return {}
    last, source = signals[present[-1]], str(wiring.get(present[-1], ""))
    if source not in run.record or not run.record.signal(source).measured:  # the true motion may be as rough as it likes
        return {}
    if np.all(noise_level(last) < ROUGH * np.sqrt(np.mean(last.reshape(len(last), -1) ** 2, axis=0))):
        return {}
    noises = {}
    for place, name in enumerate(present):
        level = noise_level(signals[name]).reshape(signals[name].shape[1:])
        noises[name] = name, np.stack([level * (place % 3 == k) for k in range(3)])
    return noises


def moves_of(run: Run, path: str, factor: int) -> np.ndarray | None:
    """(moves, x dx ddx, elements) of a smoother: the noise that passes it, x and ddx moving against each other."""
    node = run.diagram.nodes[path]
    source = str(node.inputs["y"] if isinstance(node.inputs, Mapping) else node.inputs)
    if source not in run.record or len(run.record[source]) < FEWEST_ROWS:
        return None
    Ts = sample_time(run.record.time(source))
    assert isinstance(node.block, Block)
    order = int(run.changes.get(f"{path}.order", node.block.settings["order"]))
    std_x, std_dx = (
        np.median(run.record[f"{path}.{n}"][:: len(run.record[source]) // FEWEST_ROWS], axis=0) for n in ("std_x", "std_dx")
    )
    if not (np.all(std_x > 0) and np.all(std_dx > 0)):
        return None
    level = noise_level(run.record[source]).reshape(np.shape(std_x))
    half = np.pi / (2 * order)
    corner = std_dx / std_x * np.sqrt(np.sin(3 * half) / np.sin(half))  # of half the amplitude, in rad/s
    top = np.pi / Ts * (EDGE / factor if factor > 1 else 1.0)
    w = np.linspace(0, top, NOISE_LINES)[1:]
    passed = 1 / (1 + np.multiply.outer(w, 1 / corner) ** (2 * order)) ** 2
    v = [level**2 * Ts / np.pi * np.tensordot(w**m, passed, (0, 0)) * w[0] for m in (0, 2, 4)]
    zero = np.zeros_like(v[0])
    own = np.sqrt(np.maximum(v[2] - v[1] ** 2 / v[0], 0.0))
    return np.array([[np.sqrt(v[0]), zero, -v[1] / np.sqrt(v[0])], [zero, np.sqrt(v[1]), zero], [zero, zero, own]])
