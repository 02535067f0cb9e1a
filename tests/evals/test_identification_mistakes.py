"""What goes wrong in identification, and in which words: a message with file, line and block, or a warning on the estimates."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

#: A short loop; an identifier is written into its last line, the ninth.
LAB = """format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  q_hat:   {type: TorqueSensor, Ts: 1e-3, std: 0, in: joint.q}
"""
MOTION = "in: {tau: pid, q: joint.q, qd: joint.qd, qdd: joint.qdd}"
LOG = "log: [ref.q, joint, pid, q_hat]\n"


def identifier(kind: str, options: str = "") -> str:
    """Its line of the file, with the settings and wires of its kind; `options` come first, and a model among them counts."""
    model = "" if "model:" in options or kind == "CLOE" else "model: joint, "
    options = f"{options}, " if options else ""
    sought = "" if "parameters:" in options else "parameters: [joint.J, joint.Fv], "
    rest = {
        "LeastSquares": MOTION,
        "InstrumentalVariable": MOTION,
        "DIDIM": "in: pid",
        "OutputError": f"{sought}{'' if 'output:' in options else 'output: joint.q, '}in: {{u: pid, y: q_hat}}",
        "CLOE": f"{sought}{'' if 'output:' in options else 'output: joint.q, '}in: q_hat",
        "RPEMHybrid": f"{'' if 'signal:' in options else 'signal: q, '}"
        f"{'' if 'start:' in options else 'start: {J: 0.03}, '}in: [pid, q_hat]",
        "JointEKF": "measures: q, Ts: 1e-3, R: 1e-6, in: {y: q_hat, u: pid}",
        "RPEM": "measures: q, Ts: 1e-3, in: {y: q_hat, u: pid}",
    }[kind]
    return f"  found: {{type: {kind}, {model}{options}{rest}}}\n"


NO_PLANT = r"'pid' \(PID\) gives no regressor: .*Plants that give one: .*GravityJoint"
UNKNOWN = r"model: 'jiont' is neither a block of the diagram nor a block type\. Blocks are: ref, .*Did you mean 'joint'\?"
#: Identifier, its settings, the words.
MISTAKES = [
    *((kind, "model: pid", NO_PLANT) for kind in ("LeastSquares", "InstrumentalVariable", "DIDIM")),
    ("JointEKF", "model: pid", "PID has no continuous states, so it has no equations an observer could use"),
    *(
        (kind, "model: jiont", UNKNOWN)
        for kind in ("LeastSquares", "InstrumentalVariable", "DIDIM", "OutputError", "RPEMHybrid", "JointEKF", "RPEM")
    ),
    *((kind, "model: GravityJoint", "is a type") for kind in ("DIDIM", "InstrumentalVariable", "OutputError")),
    # parameters that do not exist
    (
        "LeastSquares",
        "parameters: [J, Jx]",
        r"'Jx' is no parameter of the inverse model of 'joint' \(GravityJoint\)\. It has: J, Fv",
    ),
    ("LeastSquares", "known: {Jx: 1}", r"'Jx' is no parameter of the inverse model .* Did you mean 'J'\?"),
    ("LeastSquares", "known: {J: 1, Fv: 1, Fc: 1, Ms: 1}", "no parameter is left to estimate"),
    (
        "DIDIM",
        "start: {Jx: 1}",
        r"start: 'joint' \(GravityJoint\) has no parameter 'Jx' in its inverse model; it has: J, Fv, Fc, Ms",
    ),
    ("OutputError", "parameters: [joint.Jx]", "parameters: block 'joint' has no parameter 'Jx'"),
    ("CLOE", "parameters: [jiont.J]", r"parameters: there is no block 'jiont'.* Did you mean 'joint'\?"),
    ("CLOE", "parameters: [pid.Ts]", "parameters: pid.Ts is no single number of a running block. pid has: kp, ki"),
    ("CLOE", "output: joint.x", "output: 'joint.x' is no signal of a running block"),
    ("RPEMHybrid", "start: {Jx: 1}", r"start: no parameter 'Jx'. There are: J, Fv.* Did you mean 'J'\?"),
    ("RPEMHybrid", "signal: z", "signal: .* has no output 'z'. It has: q, qd, qdd"),
    ("JointEKF", "estimate: [Jx]", "estimate: the equations of .* do not depend on 'Jx'"),
    ("RPEM", "estimate: [Jx]", "estimate: the equations of .* do not depend on 'Jx'"),
    # starts outside bounds
    ("DIDIM", "start: {J: -1}", "start: J: must be above 0, found -1"),
    ("DIDIM", "start: -2", "start: a factor above 0 is wanted, found -2"),
    ("OutputError", "parameters: {joint.J: {start: 3, min: 0.01, max: 1}}", "joint.J: the start, 3, is not between 0.01 and 1"),
    ("CLOE", "parameters: {joint.J: {start: -3}}", "joint.J: the start, -3, is not between"),
    ("RPEMHybrid", "start: {J: -1}", "start: J = -1 lies outside its limits"),
    # too few samples, or none
    ("LeastSquares", "skip: 0.249", "3 rows are too few for 4 parameters"),
    ("LeastSquares", "skip: 0.3", "no row is left: skip: 0.3 s at the ends of 0.5 s leaves 0 rows"),
    (
        "LeastSquares",
        "skip: 0.249, drop_slow: 0.999",
        "no row is left: drop_slow: 0.999 drops all of the 3 rows that skip and edges leave",
    ),
    ("LeastSquares", "decimate: 200, edges: 0", "3 rows are too few for 4 parameters"),
    ("DIDIM", "skip: 1", "no row is left: skip: 1 s at the ends of 0.5 s leaves 0 rows"),
    ("DIDIM", "edges: 249", "3 rows are too few for 4 parameters: skip, decimate, edges, drop_slow"),
    ("DIDIM", "drop_slow: 0.9999", "1 rows are too few for 4 parameters"),
    ("InstrumentalVariable", "drop_slow: 0.9999", "1 rows are too few for 4 parameters"),
    ("OutputError", "skip: 4", "no row is left: skip: 4 s at the ends of 0.5 s leaves 0 rows"),
    ("CLOE", "skip: 0.5", "no row is left: skip: 0.5 s at the ends of 0.5 s"),
]


@pytest.mark.parametrize(("kind", "options", "words"), MISTAKES, ids=[f"{k}-{o}" for k, o, _ in MISTAKES])
def test_a_mistake_is_named_with_file_line_and_block(kind, options, words, tmp_path):
    path = tmp_path / "lab.yaml"
    path.write_text(LAB + identifier(kind, options))
    with pytest.raises(bs.DiagramError, match=rf"lab\.yaml:9: block 'found': .*{words}") as caught:
        bs.simulate(str(path))
    assert len(str(caught.value).splitlines()) == 1, "one mistake, one message"


# ---- records --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab() -> bs.Record:
    return bs.simulate(LAB + LOG, engine="python")


def gap(t, signals):
    holed = {n: signals[n].copy() for n in ("pid.u", "q_hat.tau_hat")}
    for values in holed.values():
        values[5] = np.nan
    return t, {**signals, **holed}


def first(count):
    return lambda t, signals: (t[:count], {n: v[:count] for n, v in signals.items()})


def uneven(t, signals):
    return t + 3e-4 * np.sin(np.arange(len(t))), signals


def without_torque(t, signals):
    return t, {n: v for n, v in signals.items() if n != "pid.u"}


#: What was done to the record, for which identifier, the words.
RECORDS = [
    *(
        (gap, kind, "input 'tau': 1 samples are missing or infinite")
        for kind in ("LeastSquares", "DIDIM", "InstrumentalVariable")
    ),
    (gap, "OutputError", "input '[uy]': 1 samples are missing or infinite"),
    (gap, "CLOE", "input 'y': 1 samples are missing or infinite"),
    (gap, "RPEMHybrid", "1 samples are missing or infinite"),
    *((uneven, kind, "not evenly spaced; resample the record first") for kind in ("DIDIM", "InstrumentalVariable", "CLOE")),
    *((first(3), kind, "rows are too few for 4 parameters") for kind in ("LeastSquares", "DIDIM", "InstrumentalVariable")),
    *((first(1), kind, "a record of 1 samples is too short to be simulated again") for kind in ("DIDIM", "OutputError", "CLOE")),
    (first(3), "RPEMHybrid", "needs at least 4 samples, found 3"),
    *((without_torque, kind, "no signal 'pid.u'. The record holds: ref.q") for kind in ("LeastSquares", "DIDIM", "OutputError")),
]


@pytest.mark.parametrize(
    ("change", "kind", "words"), RECORDS, ids=[f"{c.__name__}-{k}-{i}" for i, (c, k, _) in enumerate(RECORDS)]
)
def test_a_bad_record_is_refused(lab, change, kind, words):
    t, signals = change(lab.t, {n: np.array(lab[n]) for n in lab})
    diagram = bs.open_diagram(LAB + identifier(kind))
    with pytest.raises(bs.DiagramError, match=rf"block 'found': .*{words}"):
        bs.process(diagram, bs.Record.from_arrays(t, signals), simulated=False)


def test_a_twin_that_has_no_grid_is_refused():
    """Decimated by MATLAB's rule, samples start between those the twin could give."""
    text = LAB + "  slow: {type: Decimate, factor: 7, in: pid}\n" + identifier("DIDIM").replace("in: pid", "in: slow")
    with pytest.raises(bs.DiagramError, match=r"block 'found': .*no grid from the start of the run .* decimate here"):
        bs.simulate(text)


def test_inputs_on_different_grids_are_refused():
    text = LAB + "  m: {type: BandPassDerivatives, cutoff: 50, factor: 5, in: q_hat}\n"
    text += identifier("LeastSquares").replace("joint.", "m.")
    with pytest.raises(
        bs.DiagramError, match=r"block 'found' .*these have different times.* 'm' .*keeps one row in 5. Use 'm' with"
    ):
        bs.simulate(text)


# ---- data that do not tell ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("LeastSquares", "", "rank deficient: 3 of 4 parameters are determined. Ms does not show in these data."),
        ("DIDIM", "", "Ms does not show in these data"),
        ("InstrumentalVariable", "", "Z'W is nearly singular"),
        ("OutputError", "parameters: [joint.J, joint.Ms]", "not identifiable: Ms does not show in these data"),
        ("CLOE", "parameters: [joint.J, joint.Ms]", "not identifiable: Ms does not show in these data"),
        ("RPEMHybrid", "start: {J: 0.03, Ms: 0.1}", "the output does not depend on Ms here"),
    ],
)
def test_what_does_not_show_is_said_and_the_rest_is_found(kind, options, words):
    """Without gravity its moment has no influence."""
    found = bs.simulate(LAB.replace("N: 1,", "N: 1, g: 0,") + identifier(kind, options)).estimates["found"]
    assert any(w.startswith(words) for w in found.warnings), found.warnings
    inertia = found["joint.J" if "joint.J" in found else "J"]
    assert inertia.value == pytest.approx(0.02, rel=1e-4)


# ---- staircases ----------------------------------------------------------------------------------------------------------


STAIRS = (
    LAB.replace("stop: 0.5", "stop: 2").replace("step: 1e-3,", "step: 2e-4, every: EVERY,")
    + "  m: {type: BandPassDerivatives, cutoff: 60, factor: 1, in: q_hat}\n"
    + identifier("LeastSquares").replace("joint.", "m.")
)


def test_readings_logged_more_often_than_taken_are_told():
    """A held reading is late by half its sample time, which the regression takes for damping; on its own grid nothing is told."""
    fine, own = (bs.simulate(STAIRS.replace("EVERY", every)).estimates["found"] for every in ("2e-4", "1e-3"))
    told = [w for w in fine.warnings if w.startswith("staircase: ")]
    assert len(told) == 1
    assert told[0].startswith("staircase: q_hat.tau_hat is read every 0.001 s and logged every 0.0002 s: ")
    assert not any(w.startswith("staircase") for w in own.warnings)
    assert abs(fine["Fv"].relative_error) > 3 * abs(own["Fv"].relative_error)


def test_what_a_controller_holds_is_no_staircase():
    """The torque acts on the joint as it is held."""
    found = bs.simulate(LAB.replace("step: 1e-3,", "step: 2e-4,") + identifier("LeastSquares")).estimates["found"]
    assert not any(w.startswith("staircase") for w in found.warnings)
