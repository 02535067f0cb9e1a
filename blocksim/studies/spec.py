"""The study file: a diagram, what varies, how often, what is collected. Read this page to know its keys.

format: 1
study: Bias of least squares against encoder resolution
diagram: one_dof_pid.yaml            # beside this file, or a bundled name; text of a diagram works too
params: {pid.kp: 30}                 # settings changed in every run
simulate: {stop: 10}                 # how to run, where it differs from the diagram
repeat: 200                          # runs of everything that varies, each with a seed of its own
seed: 7                              # the master seed all others come from
sweep: {encoder.resolution: [1e-4, 1e-3], pid.kp: {linspace: [10, 40, 4]}}    # every combination
zip: {pid.ki: [1, 2], pid.kd: [0.1, 0.2]}                                     # varied together
methods: {slow: {params: {smooth.cutoff: 20}}, other: {diagram: other.yaml}}  # compared on the same seeds
collect: [ls, didim, {signal: joint.q, statistic: rms}, {detail: relative_error, of: ls},
          {validate: ls, params: {ref.amplitude: 2}}]    # by a second experiment with other settings
ablate: {quantisation: {encoder.resolution: 1e-9}, noise: {encoder.noise_std: 0}}
alone: true                          # each defect by itself, too
bound: {parameters: [joint.J, joint.Fv], outputs: {joint.q: encoder.std}}     # Cramer-Rao, to compare the spread with
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import Place

STUDY_KEYS = (
    "format",
    "study",
    "description",
    "diagram",
    "params",
    "parameters",
    "simulate",
    "repeat",
    "seed",
    "sweep",
    "zip",
    "methods",
    "collect",
    "ablate",
    "alone",
    "bound",
)
#: What is kept of a collected signal.
STATISTICS = ("rms", "mean", "std", "min", "max", "peak", "final")
#: What is kept of a second experiment, and how it is compared.
HELD_BACK_SCORES, HELD_BACK_MODES = ("fit", "relative_error", "rms"), ("loop", "inverse")
#: What a study may ask for: repetitions, and runs in all.
MAX_REPEAT = 1_000_000
MAX_RUNS = 10_000_000


@dataclass
class SweepAxis:
    """What varies as one: a swept setting, or several zipped ones; `values` has a tuple of as many for each step."""

    names: tuple[str, ...]
    values: list[tuple[Any, ...]]
    places: dict[str, Place] = field(default_factory=dict, compare=False)


@dataclass
class MethodSpec:
    """One entry of `methods:`: a diagram, where it is another one, and settings."""

    name: str
    diagram: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict, compare=False)  # of 'diagram' and of each setting


@dataclass(frozen=True)
class SignalSpec:
    """A collected signal, of which one number is kept."""

    signal: str
    statistic: str
    place: Place | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        return f"{self.statistic}({self.signal})"


@dataclass(frozen=True)
class DetailSpec:
    """A number that an identifier says beside its estimates, such as its relative error."""

    block: str
    detail: str
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class HeldBackSpec:
    """A second experiment that judges the estimates of an identifier: what differs in it, how it is compared, what is kept."""

    block: str
    params: dict[str, Any] = field(default_factory=dict)
    mode: str = "loop"
    score: str = "fit"
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True)
class BoundSpec:
    """What a Cramer-Rao bound is computed from."""

    parameters: tuple[str, ...]
    outputs: dict[str, float | str]  # standard deviation of the white noise of each signal, or the setting that has it
    inputs: tuple[str, ...] = ()  # recorded signals that are known as they were
    every: float = 0.0  # time between readings; that of the log when 0


@dataclass
class StudySpec:
    """A whole study file, checked against the format but not yet against its diagrams."""

    title: str = ""
    description: str = ""
    diagram: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    simulate: dict[str, Any] = field(default_factory=dict)
    repeat: int = 1
    seed: int = 0
    axes: list[SweepAxis] = field(default_factory=list)
    methods: list[MethodSpec] = field(default_factory=list)
    blocks: list[tuple[str, Place]] | None = None  # collected identifiers; None: all there are
    signals: list[SignalSpec] = field(default_factory=list)
    details: list[DetailSpec] = field(default_factory=list)
    held_back: list[HeldBackSpec] = field(default_factory=list)
    ablate: dict[str, dict[str, Any]] = field(default_factory=dict)
    alone: bool = False
    bound: BoundSpec | None = None
    path: str = ""
    anywhere: bool = False  # whether its diagrams may lie outside its folder
    places: dict[str, Place] = field(default_factory=dict)  # of top-level keys, and of settings: 'params.pid.kp'
    plain: dict[str, Any] = field(default_factory=dict)  # the file as plain data

    @property
    def file(self) -> str:
        return self.path or "<text>"


def study_yaml(plain: Mapping[str, Any]) -> str:
    """The text of a study given as plain data: a key on each line."""
    from ..diagram.writer import flow

    lines = ["" if "format" in plain else "format: 1"]
    for key, value in plain.items():
        if isinstance(value, str) and "\n" in value:
            lines += [f"{key}: |2", *("  " + line for line in value.strip("\n").split("\n"))]
        elif isinstance(value, Mapping) and value and all(isinstance(v, (Mapping, list, tuple)) for v in value.values()):
            lines += [f"{key}:", *(f"  {flow(str(name))}: {flow(v)}" for name, v in value.items())]
        else:
            lines.append(f"{key}: {flow(value)}")
    return "\n".join(line for line in lines if line) + "\n"
