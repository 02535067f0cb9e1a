"""The JSON Schema agrees with the loader: what runs passes, what is wrong does not, every setting is documented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blocksim.contract.library import find, library
from blocksim.diagram.loader import bundled, find_diagram
from blocksim.diagram.schema import schema
from blocksim.diagram.yaml_lines import read_yaml

jsonschema = pytest.importorskip("jsonschema")

GOOD = """format: 1
name: Lag under feedback
simulate: {stop: 10, step: 1e-3, every: "${Ts * 10}", seed: 3, solver: rk4}
parameters: {Ts: 0.001, K: 2, T: "${K / 4}", must: null}
blocks:
  ref:   {type: Step, time: 1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  other: {type: Sum, in: {u1: ref, u2: "plant.y[0]"}}
  gain:  {type: Gain, k: "${K}", in: error}
  hold:  {type: ZeroOrderHold, Ts: 1/3, in: gain}
  plant: {type: FirstOrderLag, T: "${T}", x: [1, 2], in: {u: hold}, flip: true}
  part:  {type: ./parts/servo.yaml, anything: [1], in: plant}
ports: {in: [u], out: {y: plant}}
log: [plant, {signal: error, every: 1/3}]
"""


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def data(text: str) -> Any:
    return read_yaml(text, "f")[0].plain()


def test_a_good_diagram_passes(validator):
    assert [e.message for e in validator.iter_errors(data(GOOD))] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("format: 1", "format: 2"),
        ("name:", "nmae:"),
        ("step: 1e-3", "step: 1 ms"),
        ("seed: 3", "seed: -3"),
        ("solver: rk4", "sovler: rk4"),
        ("type: Gain", "type: Gian"),
        ("type: Gain, ", ""),
        ('k: "${K}"', "k: high"),
        ('k: "${K}"', "kk: 1"),
        ('T: "${T}"', "T: -1"),
        ('T: "${T}"', "T: 0"),
        ('T: "${T}", ', ""),
        ("Ts: 1/3", "Ts: 3 Hz"),
        ("in: {u: hold}", "in: {v: hold}"),
        ("in: {u: hold}", "in: [hold, hold]"),
        ("type: Step, ", "type: Step, in: gain, "),
        ("flip: true", "flip: left"),
        ("  ref: ", "  re.f: "),
        ("signal: error", "sinal: error"),
        ("in: [u]", "in: [u, u]"),
        ("{Ts: 0.001", "{Ts: {a: 1}"),
    ],
)
def test_a_mistake_does_not_pass(validator, before, after):
    assert before in GOOD
    assert not validator.is_valid(data(GOOD.replace(before, after, 1)))


def test_every_setting_of_every_block_is_described():
    made = schema()
    for name, cls in library().items():
        properties = made["$defs"][name]["properties"]
        for setting, declaration in cls.declared.items():
            if declaration.settable:
                assert properties[setting]["description"] == declaration.meaning()
        assert made["$defs"][name]["required"] == ["type", *(n for n, d in cls.declared.items() if d.settable and d.required)]


def test_limits_choices_defaults_and_units():
    properties = schema()["$defs"]["FirstOrderLag"]["properties"]
    assert properties["T"]["description"] == "time constant [s]"
    assert properties["T"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0}
    assert properties["k"]["default"] == 1.0
    method = find("DiscreteIntegrator").declared["method"]
    assert schema()["$defs"]["DiscreteIntegrator"]["properties"]["method"]["anyOf"][0] == {"enum": list(method.choices)}


def test_defaults_pass_their_own_schema():
    made = schema()
    for name in library():
        for setting, found in made["$defs"][name]["properties"].items():
            if "default" in found:
                part = {**found, "$defs": made["$defs"]}
                assert jsonschema.Draft202012Validator(part).is_valid(found["default"]), f"{name}.{setting}"


def test_examples_of_the_blocks_and_bundled_diagrams_pass(validator):
    texts = {name: cls.example for name, cls in library().items() if cls.example}
    texts |= {name: Path(find_diagram(name)).read_text(encoding="utf-8") for name in bundled()}
    for name, text in texts.items():
        found = data(text)
        if "blocks" in found:
            assert [f"{name}: {e.json_path}: {e.message}" for e in validator.iter_errors(found)] == []


def test_it_is_json_without_nan():
    assert json.loads(json.dumps(schema(), allow_nan=False)) == schema()
