"""From the text of a study to its StudySpec, and back; every mistake with its line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..diagram.checks import brief_value, is_number, raise_all, simulate_problems
from ..diagram.diagram import NAME
from ..diagram.files import find_named, read_file
from ..diagram.loader import SpecReader
from ..diagram.spec import SimulateSpec
from ..diagram.yaml_lines import Lined, read_yaml
from ..errors import Place, Problem, listing
from .spec import (
    HELD_BACK_MODES,
    HELD_BACK_SCORES,
    MAX_REPEAT,
    MAX_RUNS,
    STATISTICS,
    STUDY_KEYS,
    BoundSpec,
    DetailSpec,
    HeldBackSpec,
    MethodSpec,
    SignalSpec,
    StudySpec,
    SweepAxis,
    study_yaml,
)


def load_study(source: str | os.PathLike[str] | Mapping[str, Any]) -> StudySpec:
    """Read a study: a path, the name of a bundled one, YAML text (anything with a line break), or its keys as a dict."""
    if isinstance(source, Mapping):  # in Python: the files it names are the caller's own word
        return replace(parse_study(study_yaml(dict(source)), ""), anywhere=True)
    if isinstance(source, str) and "\n" in source:
        return parse_study(source, "")
    path = find_named(source, "study", "tout2022/studies/fig5")
    return parse_study(read_file(path, path), path)


def parse_study(text: str, path: str) -> StudySpec:
    """The study of a text that came from this path ('' for none)."""
    spec, problems = readable_study(text, path)
    raise_all(problems)
    return spec


def readable_study(text: str, path: str) -> tuple[StudySpec, list[Problem]]:
    """What can be read of the text of a study, and what is wrong with the rest."""
    file = path or "<text>"
    root, problems = read_yaml(text, file)
    reader = StudyReader(file, problems)
    spec = reader.study(root)
    spec.path, spec.plain = path, root.plain()
    return spec, reader.problems


class StudyReader(SpecReader):
    """Reads one file's tree into a StudySpec, collecting what is wrong on the way."""

    def study(self, root: Lined) -> StudySpec:
        spec = StudySpec()
        top = dict(self.mapping(root, "a study file"))
        if not isinstance(root.value, dict):
            return spec
        if "study" not in top:
            hint = " This looks like a diagram: blocksim run." if "blocks" in top else ""
            self.complain(f"there is no 'study:'. A study file has a title there.{hint}", root)
            return spec
        title = top.pop("study")
        if not self.format_is_known(root, top):
            return spec
        self.known_keys(top, [k for k in STUDY_KEYS if k != "study"], "a study file")
        spec.places = {key: self.place(item) for key, item in top.items()}
        spec.title = self.text(title, "study")
        spec.description = self.text(top["description"], "description") if "description" in top else ""
        spec.diagram = self.diagram_name(top["diagram"], "diagram") if "diagram" in top else ""
        self.fixed(top, spec)
        self.counts(top, spec)
        if "sweep" in top:
            self.sweep(top["sweep"], spec)
        if "zip" in top:
            self.zip(top["zip"], spec)
        if "methods" in top:
            self.methods(top["methods"], spec)
        if "collect" in top and top["collect"].value is not None:
            self.collect(top["collect"], spec)
        if "ablate" in top:
            self.ablate(top["ablate"], spec)
        if "bound" in top:
            self.bound(top["bound"], spec)
        if not spec.diagram and not (spec.methods and all(m.diagram for m in spec.methods)) and not self.problems:
            self.complain("there is no 'diagram:'. A study names the diagram it runs: diagram: file.yaml.", root)
        self.once(spec)
        return spec

    def diagram_name(self, at: Lined, where: str) -> str:
        if not isinstance(at.value, str) or not at.value:
            self.complain(f"{where}: found {brief_value(at.plain())}. A file or a bundled diagram is wanted.", at)
            return ""
        return at.value

    def fixed(self, top: dict[str, Lined], spec: StudySpec) -> None:
        """params:, simulate: and alone:."""
        if "params" in top and "parameters" in top:
            self.complain("'params' and 'parameters' mean the same; write one of them.", top["parameters"])
        for key in ("params", "parameters"):
            if key in top:
                spec.params.update(self.changes(top[key], key, spec.places, "params"))
        if "simulate" in top:
            allowed = [f.name for f in fields(SimulateSpec) if f.name != "seed"]
            entries = self.mapping(top["simulate"], "simulate")
            self.known_keys(entries, allowed, "simulate of a study")
            places = {f"simulate.{key}": self.place(item) for key, item in entries.items()}
            spec.simulate = {key: item.plain() for key, item in entries.items() if key in allowed and item.value is not None}
            self.problems += simulate_problems(SimulateSpec(**spec.simulate), places)
        if "alone" in top:
            spec.alone = top["alone"].value
            if not isinstance(spec.alone, bool):
                self.complain(f"alone: found {brief_value(spec.alone)}. true or false is wanted.", top["alone"])

    def counts(self, top: dict[str, Lined], spec: StudySpec) -> None:
        """repeat: and seed:."""
        for key, least, most in (("repeat", 1, MAX_REPEAT), ("seed", 0, 2**63)):
            if key not in top:
                continue
            number = top[key].value
            if type(number) is not int or not least <= number <= most:
                self.complain(f"{key}: found {brief_value(number)}. A whole number from {least} to {most} is wanted.", top[key])
            else:
                setattr(spec, key, number)

    def changes(self, at: Lined, where: str, places: dict[str, Place], prefix: str) -> dict[str, Any]:
        """Settings by name: {encoder.resolution: 1e-3, Ts: 1e-3}."""
        result = {}
        for name, item in self.mapping(at, where).items():
            places[f"{prefix}.{name}"] = self.place(item)
            self.no_file(name, item, where)
            if isinstance(item.value, dict) or item.value is None:
                self.complain(f"{where}: {name}: found {brief_value(item.plain())}. A number, a text or a list is wanted.", item)
            else:
                result[name] = item.plain()
        return result

    def no_file(self, name: str, at: Lined, where: str) -> None:
        """Which files may be read is checked where diagrams are read; a study must not go around that."""
        if name.rpartition(".")[2] == "file":
            self.complain(f"{where}: a study cannot change which file a block reads. Write a diagram for each file, and compare "
                          "them: methods: {a: {diagram: a.yaml}, b: {diagram: b.yaml}}.", at)  # fmt: skip

    def sweep(self, at: Lined, spec: StudySpec) -> None:
        entries = self.mapping(at, "sweep")
        if not entries and isinstance(at.value, (dict, type(None))):
            self.complain("sweep: is empty. Name a setting and its values: sweep: {encoder.resolution: [1e-4, 1e-3]}.", at)
        for name, item in entries.items():
            values = self.values(name, item, "sweep")
            if values is not None:
                spec.axes.append(SweepAxis((name,), [(v,) for v in values], {name: self.place(item)}))

    def zip(self, at: Lined, spec: StudySpec) -> None:
        entries = self.mapping(at, "zip")
        if not entries and isinstance(at.value, (dict, type(None))):
            self.complain("zip: is empty. Name settings that vary together: zip: {pid.kp: [1, 2], pid.kd: [3, 4]}.", at)
        lists = {name: self.values(name, item, "zip") for name, item in entries.items()}
        columns = {name: values for name, values in lists.items() if values is not None}
        if len(columns) < len(lists) or not columns:
            return
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            self.complain(f"zip: settings that vary together need as many values each; {text}.", at)
            return
        steps = list(zip(*columns.values(), strict=True))
        spec.axes.append(SweepAxis(tuple(columns), steps, {name: self.place(item) for name, item in entries.items()}))

    def values(self, name: str, at: Lined, where: str) -> list[Any] | None:
        """The values of one swept setting: a list, {linspace: [first, last, count]} or {logspace: [first, last, count]}."""
        value = at.plain()
        self.no_file(name, at, where)
        if isinstance(value, list):
            if not value:
                self.complain(f"{where}: {name} has no values.", at)
                return None
            if any(v is None or isinstance(v, dict) for v in value):
                self.complain(f"{where}: {name}: found {brief_value(value)}. Numbers, texts or lists are wanted.", at)
                return None
            return value
        if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("linspace", "logspace"):
            return self.spaced(name, at, where, *next(iter(value.items())))
        advice = "A list of values, {linspace: [first, last, count]} or {logspace: [first, last, count]} is wanted."
        self.complain(f"{where}: {name}: found {brief_value(value)}. {advice}", at)
        return None

    def spaced(self, name: str, at: Lined, where: str, kind: str, arguments: Any) -> list[float] | None:
        """Evenly spaced values; a logspace goes from its first value to its last, not from their powers of ten."""
        fine = isinstance(arguments, list) and len(arguments) == 3 and all(is_number(v) and math.isfinite(v) for v in arguments)
        if not fine or type(arguments[2]) is not int or not 1 <= arguments[2] <= MAX_REPEAT:
            text = brief_value(arguments)
            self.complain(f"{where}: {name}: {kind}: found {text}. [first, last, count] is wanted, count 1 or more.", at)
            return None
        first, last, count = arguments
        if kind == "logspace" and not (first > 0 and last > 0):
            self.complain(f"{where}: {name}: logspace: first and last must be above 0, found {first} and {last}.", at)
            return None
        import numpy as np

        with np.errstate(all="ignore"):
            numbers = (np.linspace if kind == "linspace" else np.geomspace)(float(first), float(last), count)
        if not np.isfinite(numbers).all():
            self.complain(f"{where}: {name}: {kind}: from {first} to {last} is too far for numbers.", at)
            return None
        return [float(v) for v in numbers]

    def methods(self, at: Lined, spec: StudySpec) -> None:
        entries = self.mapping(at, "methods")
        if not entries and isinstance(at.value, (dict, type(None))):
            self.complain("methods: is empty. Name what is compared: methods: {slow: {params: {smooth.cutoff: 20}}}.", at)
        for name, item in entries.items():
            method = MethodSpec(name, places={"": self.place(item)})
            inner = {} if item.value is None else self.mapping(item, f"methods: {name}")
            self.known_keys(inner, ("diagram", "params"), f"method '{name}'")
            if not NAME.match(name):
                self.complain(f"methods: '{name}' cannot name a method; letters, digits and _ can.", item)
            if "diagram" in inner:
                method.diagram = self.diagram_name(inner["diagram"], f"methods: {name}: diagram")
                method.places["diagram"] = self.place(inner["diagram"])
            if "params" in inner:
                method.params = self.changes(inner["params"], f"methods: {name}", method.places, "params")
            spec.methods.append(method)

    def collect(self, at: Lined, spec: StudySpec) -> None:
        spec.blocks = []
        for item in self.sequence(at, "collect"):
            if isinstance(item.value, str) and item.value:
                if item.value in [name for name, _ in spec.blocks]:
                    self.complain(f"collect: '{item.value}' is given twice.", item)
                spec.blocks.append((item.value, self.place(item)))
            elif isinstance(item.value, dict):
                kinds = {"detail": self.detail, "validate": self.held_back}
                next((read for key, read in kinds.items() if key in item.value), self.signal)(item, spec)
            else:
                text = brief_value(item.plain())
                self.complain(f"collect: found {text}. Write an identifier, or {{signal: joint.q, statistic: rms}}.", item)

    def signal(self, at: Lined, spec: StudySpec) -> None:
        self.known_keys(at.value, ("signal", "statistic"), "a collected signal")
        signal = at.value["signal"].value if "signal" in at.value else None
        statistic = at.value["statistic"].value if "statistic" in at.value else "rms"
        if not isinstance(signal, str) or not signal:
            self.complain("collect: an entry names its signal: {signal: joint.q, statistic: rms}.", at)
        elif statistic not in STATISTICS:
            self.complain(f"collect: statistic: found {brief_value(statistic)}. There are: {listing(STATISTICS)}.", at)
        elif any((s.signal, s.statistic) == (signal, statistic) for s in spec.signals):
            self.complain(f"collect: the {statistic} of '{signal}' is given twice.", at)
        else:
            spec.signals.append(SignalSpec(signal, statistic, self.place(at)))

    def detail(self, at: Lined, spec: StudySpec) -> None:
        self.known_keys(at.value, ("detail", "of"), "a collected detail")
        detail, block = (at.value[key].value if key in at.value else None for key in ("detail", "of"))
        if not (isinstance(detail, str) and detail and isinstance(block, str) and block):
            self.complain("collect: an entry names a detail and its identifier: {detail: relative_error, of: ls}.", at)
        elif any((d.block, d.detail) == (block, detail) for d in spec.details):
            self.complain(f"collect: '{detail}' of '{block}' is given twice.", at)
        else:
            spec.details.append(DetailSpec(block, detail, self.place(at)))

    def held_back(self, at: Lined, spec: StudySpec) -> None:
        """{validate: ls, params: {ref.amplitude: 2}, mode: loop, score: fit}."""
        self.known_keys(at.value, ("validate", "params", "mode", "score"), "a second experiment")
        block, mode, score = (at.value[key].value if key in at.value else None for key in ("validate", "mode", "score"))
        params = self.changes(at.value["params"], "collect: validate", spec.places, "collect") if "params" in at.value else {}
        if not isinstance(block, str) or not block:
            self.complain("collect: an entry names whose estimates are judged: {validate: ls, params: {ref.amplitude: 2}}.", at)
        elif mode not in (None, *HELD_BACK_MODES):
            self.complain(f"collect: mode: found {brief_value(mode)}. There are: {listing(HELD_BACK_MODES)}.", at)
        elif score not in (None, *HELD_BACK_SCORES):
            self.complain(f"collect: score: found {brief_value(score)}. There are: {listing(HELD_BACK_SCORES)}.", at)
        else:
            spec.held_back.append(HeldBackSpec(block, params, mode or "loop", score or "fit", self.place(at)))

    def ablate(self, at: Lined, spec: StudySpec) -> None:
        entries = self.mapping(at, "ablate")
        if not entries and isinstance(at.value, (dict, type(None))):
            self.complain("ablate: is empty. Say what switches each defect off: ablate: {noise: {encoder.noise_std: 0}}.", at)
        for name, item in entries.items():
            changes = self.changes(item, f"ablate: {name}", spec.places, f"ablate.{name}")
            if not changes and isinstance(item.value, (dict, type(None))):
                self.complain(f"ablate: {name} changes nothing. Write {name}: {{block.setting: value}}.", item)
            for setting, value in changes.items():
                other = next((n for n, c in spec.ablate.items() if setting in c and c[setting] != value), None)
                if other is not None:
                    self.complain(f"ablate: '{other}' and '{name}' set {setting} to different values; both off is unclear.", item)
            spec.ablate[name] = changes

    def bound(self, at: Lined, spec: StudySpec) -> None:
        """bound: {parameters: [joint.J], outputs: {joint.q: 1e-3}}."""
        entries = self.mapping(at, "bound")
        self.known_keys(entries, ("parameters", "outputs", "inputs", "every"), "bound")
        plain = {key: item.plain() for key, item in entries.items()}
        spec.places |= {f"bound.{key}": self.place(item) for key, item in entries.items()}
        names, outputs, inputs, every = (plain.get(key) for key in ("parameters", "outputs", "inputs", "every"))
        example = "bound: {parameters: [joint.J], outputs: {joint.q: 1e-3}}"
        if not is_names(names):
            self.complain(f"bound: parameters: found {brief_value(names)}. A list of settings is wanted: {example}.", at)
        elif not isinstance(outputs, dict) or not outputs or not all(is_std(std) for std in outputs.values()):
            advice = "For each signal the standard deviation of its noise, or the setting that has it, is wanted"
            self.complain(f"bound: outputs: found {brief_value(outputs)}. {advice}: {example}.", at)
        elif inputs is not None and not is_names(inputs):
            self.complain(f"bound: inputs: found {brief_value(inputs)}. A list of signals is wanted: inputs: [pid].", at)
        elif every is not None and not (is_number(every) and every > 0):
            self.complain(f"bound: every: found {brief_value(every)}. The time between readings is wanted, above 0.", at)
        else:
            spec.bound = BoundSpec(tuple(names or ()), outputs, tuple(inputs or ()), float(every or 0.0))

    def once(self, spec: StudySpec) -> None:
        """A setting varies along one axis, and all combinations are not more than can be run."""
        earlier: set[str] = set()
        for axis in spec.axes:
            for name in axis.names:
                if name in earlier:
                    self.problems.append(Problem(f"'{name}' is varied twice, by sweep and by zip.", axis.places[name]))
                earlier.add(name)
        arms = 1 + bool(spec.ablate) + len(spec.ablate) * (1 + bool(spec.alone))
        runs = math.prod(len(a.values) for a in spec.axes) * spec.repeat * max(len(spec.methods), 1) * arms
        if runs > MAX_RUNS:
            where = spec.places.get("sweep") or spec.places.get("repeat")
            self.problems.append(Problem(f"this is a study of {runs:.3g} runs; at most {MAX_RUNS:.3g} are made.", where))


def is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) and name for name in value)


def is_std(value: Any) -> bool:
    return isinstance(value, str) or (is_number(value) and value > 0)
