"""Starts: the truth only where it is asked for by name, values that another block found, and what was not learnt."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from short_studies import scores

import blocksim as bs
from blocksim.contract.library import installed
from blocksim.contract.plant import Plant
from blocksim.diagram.files import bundled, bundled_root
from blocksim.estimation.input_warnings import true_states
from blocksim.schedule.flatten import flatten
from blocksim.simulation.overrides import Overrides
from blocksim.studies.file import load_study, parse_study, study_yaml
from blocksim.studies.spec import MethodSpec

EXAMPLES = Path(__file__).parents[2] / "examples"
AXIS = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 2e-3, every: 2e-3, seed: 1}
parameters: {amplitude: 1.0}
blocks:
  sine:   {type: Sine, amplitude: "${amplitude}", frequency: 0.5}
  torque: {type: ZeroOrderHold, Ts: 2e-3, in: sine}
  robot:  {type: TwoMassRobot, in: torque}
  speed:  {type: TorqueSensor, std: 0.3, Ts: 2e-3, in: robot.w_m}
"""
RPEM = "  rpem: {type: RPEM, Ts: 2e-3, model: robot, measures: w_m, estimate: [Fv, Fc], START, in: {y: speed, u: torque}}\n"
LOOP = """
format: 1
simulate: {stop: 3.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:    {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:  {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pid:    {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, FIRST in: pid}
  torque: {type: TorqueSensor, Ts: 1e-3, std: 0.02, in: pid}
  ls:     {type: LeastSquares, model: joint, skip: 0.2, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: torque}}
"""
MORE = "  found:  {type: KIND, START, in: torque}\n"


def looped(kind, start, first=""):
    text = LOOP.replace("FIRST", first) + MORE.replace("KIND", kind).replace("START", start)
    return bs.simulate(text)


# ---- the truth by name ---------------------------------------------------------------------------------------------------

CLOE = "CLOE, output: pid, parameters: [joint.J, joint.Fv, joint.Fc, joint.Ms]"


@pytest.mark.parametrize(
    ("kind", "start", "words"),
    [
        ("DIDIM, model: joint", "start: 1.0", r"block 'found': start: 1 times the plant's own values.*say truth where that is"),
        ("DIDIM, model: joint", "start: {J: 0.01}", r"block 'found': start: nothing is said of Fv, Fc, Ms.*say truth where"),
        (CLOE, "start: 1", r"block 'found': start: 1 times the plant's own values.*say truth where that is meant"),
        (CLOE, "start: lss", r"block 'found': start: 'lss' is neither a number nor 'truth' nor a block.*Did you mean 'ls'"),
        (CLOE, "start: found", r"block 'found': start: 'found' is neither"),
    ],
)
def test_a_start_at_the_truth_is_refused(kind, start, words):
    with pytest.raises(bs.DiagramError, match=words):
        looped(kind, start)


@pytest.mark.parametrize("kind", ["DIDIM, model: joint", CLOE])
def test_it_may_be_asked_for_by_name(kind):
    found = looped(kind, "start: truth").estimates["found"]
    assert [e.start for e in found.values()] == [0.02, 0.05, 0.1, 0.03]
    assert not any("truth" in w for w in found.warnings) and np.abs([e.z for e in found.values()]).max() < 5


def test_numbers_that_are_the_truth_are_told():
    found = looped("DIDIM, model: joint", "start: {J: 0.02, Fv: 0.04, Fc: 0.1, Ms: 0.02}").estimates["found"]
    assert any(re.match(r"starts at the truth: J, Fc began at the value", w) for w in found.warnings)


def test_no_torque_teaches_nothing():
    """With nothing to learn from, an error of 0 % is the start's; the table, the file and the scores of a study say so."""
    text = AXIS + RPEM.replace("START", "start: truth")
    found = bs.simulate(text, params={"amplitude": 0.0}).estimates["rpem"]
    assert [e.relative_error for e in found.values()] == [0, 0] and not any(e.learnt for e in found.values())
    assert str(found).count("not learnt") == 3 and "did not shrink by half either" in str(found)
    again = bs.Estimates.from_dict(found.to_dict())
    assert not again["Fv"].learnt and again["Fv"].prior == 0.013
    wide = bs.simulate(AXIS + RPEM.replace("START", "factor: 0.5, P0: 1e8")).estimates["rpem"]
    assert all(abs(e.value - e.start) < 0.1 * e.prior and e.learnt for e in wide.values())  # nothing known is no reason
    moving = bs.simulate(AXIS + RPEM.replace("START", "factor: 0.5")).estimates["rpem"]
    assert all(e.learnt for e in moving.values()) and "not learnt" not in str(moving)


def test_a_study_counts_what_was_not_learnt():
    text = AXIS + RPEM.replace("START", "factor: 0.5")
    study = {"study": "learnt", "diagram": text, "repeat": 3, "sweep": {"amplitude": [1e-3, 1.0]}}
    result = bs.run_study(parse_study(study_yaml(study), "text"), jobs=1, progress=False, report=False)
    table = scores(result, "amplitude")
    assert [table["rpem", "Fv", a]["not_learnt"] for a in (1e-3, 1.0)] == [3, 0]
    assert "rpem at amplitude 0.001: Fv not learnt in 3 of 3 runs" in str(result)


# ---- from another block -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["DIDIM, model: joint", CLOE])
def test_a_start_from_least_squares(kind):
    """Whatever the order in the file: the block that is named works first."""
    record = looped(kind, "start: ls" if kind == CLOE else "start: {J: ls, Fv: ls, Fc: ls, Ms: 0.02}")
    ls, found = record.estimates["ls"], record.estimates["found"]
    assert [found[n].start for n in ("J", "Fv", "Fc")] == [ls[n].value for n in ("J", "Fv", "Fc")]
    assert found["Ms"].start == (ls["Ms"].value if kind == CLOE else 0.02)
    start = "start: ls" if kind == CLOE else "start: {J: ls, Fv: ls, Fc: ls, Ms: ls}"
    swapped = LOOP.replace("FIRST", "").replace("  ls: ", MORE.replace("KIND", kind).replace("START", start) + "  ls: ")
    assert bs.simulate(swapped).estimates["found"]["J"].start == ls["J"].value


def test_one_parameter_of_an_output_error_from_another_block():
    kind = "CLOE, output: pid, parameters: {joint.J: ls, joint.Fv: {start: ls, min: 0.01}, joint.Fc: 0.2}"
    record = looped(kind, "start: 0.5")
    assert record.estimates["found"]["J"].start == record.estimates["ls"]["J"].value
    assert record.estimates["found"]["Fv"].start == record.estimates["ls"]["Fv"].value
    assert record.estimates["found"]["Fc"].start == 0.2


def test_an_observer_waits_for_its_start():
    """It then works after the run, as what reads a record block does; in a loop that cannot be."""
    more = "  ekf: {type: EKF, Ts: 1e-3, model: joint, parameters: {J: ls, friction: tanh}, R: 1e-8, in: {y: joint.q, u: pid}}\n"
    text = LOOP.replace("FIRST", "")
    record = bs.simulate(text + more)
    J = record.estimates["ls"]["J"].value
    same = bs.simulate(text + more.replace("J: ls", f"J: {J!r}"))
    assert (record["ekf.x_hat"] == same["ekf.x_hat"]).all()
    both = "  both: {type: JointEKF, Ts: 1e-3, model: joint, start: ls, R: 1e-8, P0_parameters: 1e-6, in: {y: joint.q, u: pid}}\n"
    assert bs.simulate(text + both).estimates["both"]["J"].start == J
    inside = (text + more).replace("[ref.q, joint.q]", "[ref.q, ekf.q_hat]")
    with pytest.raises(
        bs.DiagramError, match=r"works after the run.*'ekf' waits for the estimates of ls, and so does what reads it"
    ):
        bs.simulate(inside)


def test_two_that_wait_for_each_other():
    text = LOOP.replace("FIRST", "") + "".join(
        f"  {a}: {{type: DIDIM, model: joint, start: {{J: {b}, Fv: 1, Fc: 1, Ms: 1}}, in: torque}}\n" for a, b in ("xy", "yx")
    )
    with pytest.raises(bs.DiagramError, match=r"record blocks read each other: x -> y: start -> y -> x: start"):
        flatten(bs.open_diagram(text))


# ---- the first state ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "start", "told"),
    [
        ("DIDIM, model: joint", "start: 0.7", True),
        ("DIDIM, model: joint", "start: 0.7, initial: diagram", False),
        (CLOE, "start: 0.7", True),
        (CLOE, "start: 0.7, initial: diagram", False),
        (CLOE.replace("joint.Ms]", "joint.Ms, joint.q]"), "start: 0.7", False),
    ],
)
def test_a_twin_in_the_true_first_state_is_told(kind, start, told):
    warnings = looped(kind, start, "q: 0.3,").estimates["found"].warnings
    assert any("true first state (joint.q = 0.3)" in w for w in warnings) == told
    assert not any("first state" in w for w in looped(kind, start).estimates["found"].warnings)


def test_a_measured_position_says_where_the_twin_begins():
    kind = "DIDIM, model: joint, start: 0.7, in: {tau: torque, q: joint.q}}\n# "
    warnings = looped(kind, "start: 0.7", "q: 0.3,").estimates["found"].warnings
    assert not any("first state" in w for w in warnings)


# ---- what is bundled ----------------------------------------------------------------------------------------------------


def identifying(text):
    return re.search(
        r"type: (JointEKF|JointUKF|RPEM|RPEMHybrid|DIDIM|InstrumentalVariable|CLOE|OutputError|RecursiveLeastSquares)\b", text
    )


DIAGRAMS = [n for n in bundled() if identifying((bundled_root() / f"{n}.yaml").read_text("utf-8"))]
STUDIES = sorted(bundled_root().glob("*/studies/*.yaml"))
SCRIPTS = [p for p in sorted(EXAMPLES.iterdir()) if identifying(p.read_text("utf-8"))]


@pytest.mark.parametrize("text", [pytest.param(n, id=n) for n in DIAGRAMS] + [pytest.param(p, id=p.stem) for p in STUDIES])
def test_no_bundled_diagram_begins_at_the_truth(text):
    """Every first value of every estimator beside the plant's; a word for it must stand in the file."""
    if isinstance(text, str):
        return check(bs.open_diagram(text))
    if text.stem.startswith("bench_"):
        return check(bs.open_diagram(text))
    spec = load_study(text)
    for diagram, params in settings_of(spec):
        place = text.parent / diagram
        check(Overrides(params).diagram(place if "\n" not in diagram and place.exists() else diagram))


def settings_of(spec):
    """Every diagram of a study with every setting that a method or a step of a sweep gives it."""
    steps = [dict(zip(axis.names, step, strict=True)) for axis in spec.axes for step in axis.values] or [{}]
    different = {}
    for method in spec.methods or [MethodSpec("")]:
        for step in steps:
            params = {**spec.params, **method.params, **step}
            different[repr((method.diagram or spec.diagram, params))] = method.diagram or spec.diagram, params
    return different.values()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_no_example_begins_at_the_truth(path):
    text = path.read_text("utf-8")
    for part in re.findall(r'"""(?:\\\n)?(.*?)"""', text, re.S) if path.suffix == ".py" else [text]:
        if "blocks:" in part and not {"{{", "START"} & set(
            re.findall("{{|START", part)
        ):  # those with gaps are filled when they run
            check(bs.open_diagram(part))


@pytest.mark.parametrize("name", [n for n, kind in installed().items() if identifying(kind.example or "")])
def test_no_example_of_a_block_begins_at_the_truth(name):
    check(bs.open_diagram(installed()[name].example))


@pytest.mark.parametrize(
    "block",
    [
        "{type: DIDIM, model: joint, in: torque}",
        "{type: CLOE, output: pid, parameters: [joint.J, joint.Fc], in: torque}",
        "{type: OutputError, model: joint, output: joint.q, parameters: [joint.J], in: {u: pid, y: joint.q}}",
        "{type: JointEKF, Ts: 1e-3, model: joint, factor: 0.7, R: 1e-8, P0_parameters: 1e-6, in: {y: joint.q, u: pid}}",
        "{type: RPEMHybrid, model: joint, signal: q, start: {J: 0.03, Fv: 0.04}, in: [pid, joint.q]}",
    ],
)
def test_the_look_would_see_a_true_first_state(block):
    text = LOOP.replace("FIRST", "q: 0.3,") + f"  found: {block}\n"
    with pytest.raises(AssertionError, match=r"begins in the true first state of \['joint.q = 0.3'\]"):
        check(bs.open_diagram(text))


@pytest.mark.parametrize(
    "block",
    [
        "{type: DIDIM, model: joint, start: {J: 0.02, Fv: 0.04, Fc: 0.2, Ms: 0.04}, in: torque}",
        "{type: CLOE, output: pid, parameters: {joint.J: 0.02, joint.Fc: 0.2}, in: torque}",
        "{type: CLOE, output: pid, parameters: {joint.J: {start: 0.02}, joint.Fc: 0.2}, in: torque}",
        "{type: OutputError, model: joint, output: joint.q, parameters: {joint.Fc: 0.1}, in: {u: pid, y: joint.q}}",
        "{type: JointEKF, Ts: 1e-3, model: joint, start: {J: 0.02, Fv: 0.1, Fc: 0.2, Ms: 0.1}, R: 1e-8, P0_parameters: 1e-6,"
        " in: {y: joint.q, u: pid}}",
        "{type: RPEMHybrid, model: joint, signal: q, start: {J: 0.03, Fv: 0.05}, in: [pid, joint.q]}",
    ],
)
def test_the_look_at_what_is_bundled_would_see_it(block):
    with pytest.raises(AssertionError, match="begins at the truth"):
        check(bs.open_diagram(LOOP.replace("FIRST", "") + f"  found: {block}\n"))


def check(diagram):
    schedule = flatten(diagram)
    for unit in [*schedule.units, *schedule.after_run]:
        assert not (known := first_state(unit, schedule)), f"{unit.path} begins in the true first state of {known}"
        settings, plant = unit.settings, unit.plants.get("model")
        if type(unit.block).__name__ in ("CLOE", "OutputError"):  # they name numbers of any block
            wanted = settings["parameters"] if isinstance(settings["parameters"], dict) else {}
            begin = {path: one.get("start") if isinstance(one, dict) else one for path, one in wanted.items()}
            values = {unit.path: unit.settings for unit in schedule.units}
            same = [p for p, v in begin.items() if v and values.get(p.rpartition(".")[0], {}).get(p.rpartition(".")[2]) == v]
            assert not same and settings["start"] != 1, f"{unit.path} begins at the truth of {same}"
            continue
        if not unit.kind.starts_from or plant is None or type(unit.block).__name__ in ("EKF",):
            continue
        start = settings.get("start")
        asked = start == "truth" or (isinstance(start, dict) and "truth" in start.values())
        values = {**(start if isinstance(start, dict) else {})}
        if settings.get("factor") is not None:
            values |= {n: settings["factor"] * plant.settings[n] for n in unit.kind.estimated if n not in values}
        if isinstance(start, (int, float)):
            values |= {n: start * plant.settings[n] for n in plant.parameters}
        held = held_by_their_variance(settings)
        same = [n for n, v in values.items() if plant.settings.get(n) and v == plant.settings[n] and n not in held]
        assert asked or not same, f"{unit.path} begins at the truth of {same}"


def first_state(unit, schedule):
    """What a simulation of its own begins with: states of the plant that somebody set, where nothing says that they are known."""
    settings, plant, kind = unit.settings, unit.plants.get("model"), type(unit.block).__name__
    if kind in ("DIDIM", "InstrumentalVariable"):
        return true_states(plant) if settings["initial"] == "auto" and not unit.inputs.get("q") else []
    if kind in ("CLOE", "OutputError") and settings["initial"] == "auto":
        sought = list(settings["parameters"])
        plants = [u for u in schedule.units if u.path in {path.rpartition(".")[0] for path in sought}]
        states = [state for u in plants for state in true_states(Plant(u.kind, u.settings, u.path))]
        return [state for state in states if state.partition(" = ")[0] not in sought]
    if kind == "RPEMHybrid":
        return true_states(
            plant, (*(settings["start"] if isinstance(settings["start"], dict) else ()), *(settings["known"] or ()))
        )
    return true_states(plant) if plant is not None and settings.get("x0", "none") is None else []


def held_by_their_variance(settings):
    """Parameters of a recursion that are not estimated: their first variance and what it grows by are 0."""
    names, P0, R1 = (settings.get(n) for n in ("estimate", "P0", "R1"))
    if not (names and isinstance(P0, (list, tuple)) and isinstance(R1, (list, tuple))):
        return set()
    return {n for n, p, r in zip(names, P0, R1, strict=True) if p == 0 and r == 0}
