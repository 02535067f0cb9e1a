"""From the text of a design to its DesignSpec; every mistake with its line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ...diagram.checks import brief_value, is_finite_number, is_number, raise_all, simulate_problems, time_problem
from ...diagram.files import find_named, read_file
from ...diagram.loader import SpecReader
from ...diagram.spec import SimulateSpec
from ...diagram.yaml_lines import Lined, read_yaml
from ...errors import did_you_mean, listing
from .families import FAMILIES
from .spec import CRITERIA, DESIGN_KEYS, LIMITS, PRIOR_KEYS, SEARCH_KEYS, TAKES, USUAL_DRAWS, DesignSpec, PriorSpec, SearchSpec


def load_design(source: str | os.PathLike[str] | Mapping[str, Any]) -> DesignSpec:
    """Read a design: a path, the name of a bundled one, YAML text (anything with a line break), or its keys as a dict."""
    if isinstance(source, Mapping):
        from ...diagram.writer import flow

        lines = [f"{key}: {flow(value)}" for key, value in {"format": 1, **source}.items()]
        return replace(parse_design("\n".join(lines) + "\n", ""), root=None)
    if isinstance(source, str) and "\n" in source:
        return parse_design(source, "")
    path = find_named(source, "design")
    return parse_design(read_file(path, path), path)


def parse_design(text: str, path: str) -> DesignSpec:
    """The design of a text that came from this path ('' for none)."""
    file = path or "<text>"
    root, problems = read_yaml(text, file)
    reader = DesignReader(file, problems)
    spec = reader.design(root)
    raise_all(reader.problems)
    spec.path, spec.plain, spec.root = path, root.plain(), root
    return spec


class DesignReader(SpecReader):
    """Reads one file's tree into a DesignSpec, collecting what is wrong on the way."""

    def design(self, root: Lined) -> DesignSpec:
        spec = DesignSpec()
        top = dict(self.mapping(root, "a design file"))
        if not isinstance(root.value, dict):
            return spec
        if "design" not in top:
            self.complain("there is no 'design:'. A design file has a title there.", root)
            return spec
        spec.title = self.text(top.pop("design"), "design")
        if not self.format_is_known(root, top):
            return spec
        self.known_keys(top, DESIGN_KEYS, "a design file")
        for key in ("diagram", "parameters", "outputs", "vary"):
            if key not in top and not (key in ("outputs", "parameters") and "plant" in top):
                self.complain(f"there is no '{key}:'. A design needs diagram, parameters, outputs and vary.", root)
        if "diagram" in top:
            spec.diagram = self.text(top["diagram"], "diagram")
        self.sought(top, spec)
        self.varied(top, spec)
        self.judged(top, spec)
        for key in ("params", "simulate"):
            if key in top:
                setattr(spec, key, {name: item.plain() for name, item in self.mapping(top[key], key).items()})
        if "simulate" in top:
            self.run_options(top["simulate"])
        self.once(top, spec)
        return spec

    def run_options(self, at: Lined) -> None:
        """simulate:, as in a diagram."""
        entries, allowed = self.mapping(at, "simulate"), [f.name for f in fields(SimulateSpec)]
        self.known_keys(entries, allowed, "simulate")
        places = {f"simulate.{key}": self.place(item) for key, item in entries.items()}
        options = {key: item.plain() for key, item in entries.items() if key in allowed and item.value is not None}
        self.problems += simulate_problems(SimulateSpec(**options), places)

    def once(self, top: dict[str, Lined], spec: DesignSpec) -> None:
        """Every number has one part: sought, nuisance, or varied; what else names parameters names those."""
        for name in spec.nuisance:
            if name in spec.parameters:
                self.complain(f"nuisance: '{name}' is among the parameters; it is the one or the other.", top["nuisance"])
        for name in spec.vary:
            if name in (*spec.parameters, *spec.nuisance):
                self.complain(f"vary: '{name}' is sought: what is to be found cannot be chosen.", top["vary"].value[name])
        for name in spec.accuracy:
            if spec.parameters and name not in spec.parameters:
                words = f"accuracy: '{name}' is none of the parameters: {listing(spec.parameters)}."
                self.complain(words + did_you_mean(name, spec.parameters), top["accuracy"].value[name])

    def sought(self, top: dict[str, Lined], spec: DesignSpec) -> None:
        """parameters:, nuisance:, outputs:, inputs:, accuracy:, every:, skip:, plant:."""
        if "parameters" in top:
            spec.parameters = self.numbers(top["parameters"], "parameters", 1.0)
            self.weights(top["parameters"], spec)
        if "nuisance" in top:
            spec.nuisance = tuple(self.numbers(top["nuisance"], "nuisance", 1.0))
        if "outputs" in top:
            spec.outputs = {name: item.plain() for name, item in self.mapping(top["outputs"], "outputs").items()}
        if "inputs" in top:
            spec.inputs = tuple(self.numbers(top["inputs"], "inputs", 1.0))
        if "accuracy" in top:
            spec.accuracy = self.numbers(top["accuracy"], "accuracy", 0.0)
            for name, share in spec.accuracy.items():
                if not share > 0:
                    self.complain(f"accuracy: {name}: a share above 0 is wanted: {{{name}: 0.01}}.", top["accuracy"])
        if "every" in top:
            spec.every = top["every"].plain()
            if text := time_problem(spec.every):
                self.complain(f"every: {text}", top["every"])
                spec.every = None
        if "skip" in top:
            spec.skip = self.number_at(top["skip"], "skip")
        if "plant" in top:
            spec.plant = self.text(top["plant"], "plant")
        if "effort_std" in top:
            spec.effort_std = stds = top["effort_std"].plain()
            if not all(is_finite_number(one) and one > 0 for one in (stds if isinstance(stds, list) and stds else [stds])):
                self.complain(f"effort_std: numbers above 0 are wanted, found {brief_value(stds)}.", top["effort_std"])
                spec.effort_std = 1.0

    def weights(self, at: Lined, spec: DesignSpec) -> None:
        """At least one parameter, and each with a weight."""
        if not spec.parameters and not self.problems:
            self.complain("parameters: found none. Say what is sought: [robot.Fv, robot.k1].", at)
        for name, weight in spec.parameters.items():
            if not weight > 0:
                self.complain(
                    f"parameters: {name}: found {weight:g}. A weight is above 0; what is unknown and does not count is a "
                    f"nuisance: [{name}].", at.value[name]
                )  # fmt: skip

    def numbers(self, at: Lined, where: str, default: float) -> dict[str, float]:
        """Names, or names with a number each."""
        if isinstance(at.value, list):
            names = at.plain()
            if not all(isinstance(name, str) for name in names):
                self.complain(f"{where}: found {brief_value(names)}. A list of settings is wanted: [robot.Fv].", at)
                return {}
            for k, name in enumerate(names):
                if name in names[:k]:
                    self.complain(f"{where}: '{name}' is named twice.", at.value[k])
            return dict.fromkeys(names, default)
        return {name: self.number_at(item, f"{where}: {name}") for name, item in self.mapping(at, where).items()}

    def number_at(self, at: Lined, where: str) -> float:
        if not is_finite_number(at.value) or at.value < 0:
            self.complain(f"{where}: found {brief_value(at.value)}. A number of at least 0 is wanted.", at)
            return 0.0
        return float(at.value)

    def varied(self, top: dict[str, Lined], spec: DesignSpec) -> None:
        """vary: and limits:."""
        for name, item in self.mapping(top["vary"], "vary").items() if "vary" in top else ():
            words = {key: own.plain() for key, own in self.mapping(item, f"vary: {name}").items()}
            if "family" not in words and set(words) != {"min", "max"}:
                self.complain(
                    f"vary: {name}: found {listing(words)}. Name a family ({listing(FAMILIES)}), or min and max of a number.",
                    item,
                )
            elif words.get("family") not in (None, *FAMILIES):
                self.complain(f"vary: {name}: no family '{words['family']}'. Families are: {listing(FAMILIES)}.", item)
            spec.vary[name] = words
        for name, item in self.mapping(top["limits"], "limits").items() if "limits" in top else ():
            entries = self.mapping(item, f"limits: {name}")
            self.known_keys(entries, LIMITS, f"limits: {name}")
            spec.limits[name] = {key: own.plain() for key, own in entries.items()}
            for key, own in entries.items():
                self.limit(name, key, own)

    def limit(self, name: str, key: str, at: Lined) -> None:
        values = at.plain() if isinstance(at.value, list) else [at.value]
        good = all(is_number(v) for v in values) and (key in ("min", "max", "end") or all(v > 0 for v in values))
        if not good or (key == "end" and (len(values) != 2 or values[1] <= 0)):
            expectation = "[value, tolerance]" if key == "end" else "a number above 0, or one for each element"
            self.complain(f"limits: {name}: {key}: found {brief_value(at.plain())}. {expectation} is wanted.", at)

    def judged(self, top: dict[str, Lined], spec: DesignSpec) -> None:
        """criterion:, prior: and search:."""
        if "criterion" in top:
            spec.criterion = str(top["criterion"].value)
            if spec.criterion not in CRITERIA:
                self.complain(f"criterion: found '{spec.criterion}'. One of {listing(CRITERIA)} is wanted.", top["criterion"])
        if spec.criterion.startswith("condition") and "plant" not in top:
            self.complain(
                "criterion: a condition number is that of a plant's regressor; name it: plant: robot.", top["criterion"]
            )
        if spec.criterion in ("time", "power") and "accuracy" not in top:
            self.complain(f"criterion: {spec.criterion} needs accuracy: {{parameter: share}}.", top["criterion"])
        if "prior" in top:
            spec.prior = self.prior(top["prior"], spec)
        if "search" in top:
            entries = self.mapping(top["search"], "search")
            self.known_keys(entries, SEARCH_KEYS, "search")
            spec.search = SearchSpec(**{key: self.searched(key, item) for key, item in entries.items() if key in SEARCH_KEYS})

    def searched(self, key: str, at: Lined) -> Any:
        """One key of search:, a number that makes sense of it; the step of the solver may be a text."""
        value = at.plain()
        least = {"seconds": 0.0, "target": 0.0, "seed": 0}.get(key, 1)
        if key != "step" and (not is_finite_number(value) or value < least or (isinstance(least, int) and value != int(value))):
            what = "whole number" if isinstance(least, int) else "number"
            self.complain(f"search: {key}: found {brief_value(value)}. A {what} of at least {least:g} is wanted.", at)
            return getattr(SearchSpec, key)
        return int(value) if isinstance(least, int) and key != "step" else value

    def prior(self, at: Lined, spec: DesignSpec) -> PriorSpec:
        """prior: {spread: 0.3, samples: 50, take: worst}; spread may be given for each parameter."""
        entries = self.mapping(at, "prior")
        self.known_keys(entries, PRIOR_KEYS, "prior")
        plain = {key: item.plain() for key, item in entries.items()}
        spread = plain.get("spread", 0.3)
        shares = dict(spread) if isinstance(spread, dict) else dict.fromkeys([*spec.parameters, *spec.nuisance], spread)
        if not all(is_number(share) and 0 < share < 1 for share in shares.values()):
            self.complain(f"prior: spread: found {brief_value(spread)}. A share between 0 and 1 is wanted.", at)
        if plain.get("take", "worst") not in TAKES:
            self.complain(f"prior: take: found '{plain['take']}'. One of {listing(TAKES)} is wanted.", at)
        quantile, samples = plain.get("quantile", 0.9), plain.get("samples", 1)
        if not (is_number(quantile) and 0 <= quantile <= 1) or not (is_finite_number(samples) and samples == int(samples) >= 1):
            self.complain("prior: samples is a whole number of at least 1, and quantile a share between 0 and 1.", at)
        rest = {key: plain[key] for key in ("samples", "seed", "take", "quantile") if key in plain}
        return PriorSpec(shares, **{"samples": USUAL_DRAWS.get(str(plain.get("take")), USUAL_DRAWS["worst"]), **rest})
