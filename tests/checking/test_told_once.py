"""What is told is told once, with its line, and before the run where it can be known: read as a user reads it."""

from pathlib import Path

import pytest
from loop_file import LOOP, blocksim

import blocksim as bs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(text, name="loop.yaml"):
    Path(name).write_text(text.lstrip("\n"), encoding="utf-8")
    return name


#: What is changed in the loop, the name of what is foreseen, the error of the run, and what to do.
FORESEEN = [
    ("decimate: 10", "decimate: 10, skip: 1.5", "skip-too-long", "no row is left: skip: 1.5 s at the ends", "Make skip shorter"),
    ("cutoff: 60, factor: 1", "cutoff: 60", "different-grids", "these have different times", "Use 'motion' with factor: 1"),
    ("cutoff: 60", "cutoff: 900", "above-nyquist", "cutoff is 900 Hz; it must be below the Nyquist", "Make cutoff smaller"),
]


@pytest.mark.parametrize("old, new, name, words, remedy", FORESEEN, ids=[name for _, _, name, _, _ in FORESEEN])
def test_what_a_run_was_warned_of_and_fails_of_is_one_message(folder, old, new, name, words, remedy):
    assert old in LOOP
    told = blocksim("run", written(LOOP.replace(old, new)), code=2).stderr
    (line,) = told.splitlines()
    assert line.startswith("loop.yaml:") and words in line and line.count(remedy) == 1 and line.endswith(f"[{name}]")
    assert "warning" not in line


def test_other_warnings_stand_beside_an_error(folder):
    both = LOOP.replace("decimate: 10", "decimate: 10, skip: 1.5") + "  odd:     {type: Sum, in: [ref.q, ref.qd]}\n"
    warning, error = blocksim("run", written(both), code=2).stderr.splitlines()
    assert warning.endswith("[unlike-terms]") and "block 'ls'" in error


def test_a_loop_that_diverged_is_not_told_to_grow_as_well(folder):
    # A proportional gain of the wrong sign: the motion grows tenfold in a fifth of a second, and identifiers refuse it.
    wild = LOOP.replace("kp: 20, ki: 10, kd: 0.3", "kp: -6, ki: 0, kd: 0.2").replace("stop: 2", "stop: 2.9")
    told = blocksim("run", written(wild), code=2).stderr
    assert "grows from part to part of the record" in told and "blocksim check tells its poles. [growing]" in told
    assert "of the run" not in told and all(line.startswith("loop.yaml:") for line in told.splitlines())


STIFF = """
format: 1
simulate: {stop: STOP, solver: rk4, step: 0.01}
blocks:
  u: {type: Step, time: 0.1, after: 1}
  y: {type: FirstOrderLag, T: 1e-3, in: u}
"""


def test_a_run_says_that_its_step_is_too_coarse_and_says_it_once(folder):
    # h / T = 10: R(-10) = 1 - 10 + 50 - 1000/6 + 10000/24 = 291 a step. In 4 steps after the push no scale is left yet.
    short = blocksim("run", written(STIFF.replace("STOP", "0.14"))).stderr
    assert short.count("too coarse for rk4") == 1 and short.rstrip().endswith("[coarse-step]")
    long = blocksim("run", written(STIFF.replace("STOP", "3")), code=1).stderr
    assert long.count("too coarse for rk4") == 1
    assert long.startswith("loop.yaml:5: diverged: at t = 0.") and "rodas4" in long
    assert blocksim("run", written(STIFF.replace("STOP", "0.14")), "--set", "y.T=0.1").stderr == ""


def test_a_run_that_ends_before_its_first_step_is_told_so_and_nothing_else(folder):
    text = STIFF.replace("STOP", "1").replace("0.01}", "10}").replace("{type: Step, time: 0.1, after: 1}", "{type: Sine}")
    for command in ("check", "run"):
        (line,) = blocksim(command, written(text)).stderr.splitlines()
        assert line.startswith("loop.yaml:2: warning: the run ends after 1 s, before its first step of 10 s.")


def test_steps_from_sample_to_sample_draw_what_the_step_alone_could_not(folder):
    # 3 Hz in steps of 0.3 s would be drawn as a slower one; but the loop is sampled every millisecond, and steps end there.
    text = LOOP.replace("base_frequency: 0.5", "base_frequency: 3")
    assert [f.name for f in bs.findings(text, step=0.3, every=0.01)] == [f.name for f in bs.findings(text, every=0.01)]
    fast = bs.findings("format: 1\nblocks:\n  u: {type: Sine, frequency: 3}\n", stop=3, solver="rk4", step=0.3)
    assert [f.name for f in fast] == ["fast-source"]


RING = """
format: 1
simulate: {stop: 2, solver: rk4, step: 0.01, algebraic_loops: solve}
blocks:
  t: {type: Ramp, slope: 1}
  a: {type: Function, expression: "u1 * u2 + 1", in: [b, t]}
  b: {type: Gain, k: 1, in: a}
  x: {type: Integrator, in: a}
"""


def test_an_algebraic_loop_without_a_solution_has_the_lines_of_its_walk(folder):
    # a = t a + 1: a = 1 / (1 - t), which has no solution at t = 1.
    told = blocksim("run", written(RING), code=1).stderr
    assert told.startswith("loop.yaml:5: at t = 0.99 s the algebraic loop a -> b -> a (lines 5 and 6) has no solution")
    refused = blocksim("run", written(RING.replace(", algebraic_loops: solve", "")), code=2).stderr
    assert refused.startswith("loop.yaml:5: algebraic loop: a.y -> b.u -> b.y -> a.u1 (lines 5 and 6). Each needs") or (
        "a.y -> b.u -> b.y -> a." in refused and "(lines 5 and 6)" in refused
    )


def test_a_loop_through_a_part_names_both_files(folder):
    part = "format: 1\nports: {in: [u], out: {y: g}}\nblocks:\n  g: {type: Gain, k: 2, in: u}\n"
    written(part, "part.yaml")
    whole = "format: 1\nblocks:\n  one: {type: Constant}\n  s: {type: Sum, signs: '+-', in: [one, p]}\n"
    told = blocksim("check", written(whole + "  p: {type: ./part.yaml, in: s}\n"), code=2).stderr
    assert "(loop.yaml:4, part.yaml:4)" in told.replace("./", "")


def test_every_problem_of_a_file_is_told_at_once(folder):
    text = """
format: 1
simulate: {stop: -4, solver: rk9, seed: 1.5}
log: [{every: 1}]
blocks:
  n:   {type: PRBS, amplitude: 1, clock: 0}
  e:   {typ: Sum, in: [n, n]}
  arm: {type: GravityJoint, Fcc: 0.1, in: e}
  enc: {type: Encodr, Ts: 1e-3, in: arm.x}
"""
    for command in ("check", "run"):
        lines = blocksim(command, written(text), code=2).stderr.splitlines()
        starts = [
            "loop.yaml:2: simulate: stop: must be at least 0",
            "loop.yaml:2: simulate: seed: found 1.5",
            "loop.yaml:2: there is no solver 'rk9'",
            "loop.yaml:3: log: an entry names its signal",
            "loop.yaml:5: block 'n': clock: must be above 0",
            "loop.yaml:6: block 'e' has no type",
            "loop.yaml:7: block 'arm' has no parameter 'Fcc'",
            "loop.yaml:8: block 'enc': there is no block type 'Encodr'",
        ]
        assert [start for start in starts if not any(line.startswith(start) for line in lines)] == []
        assert len(lines) == len(starts), lines  # nothing that only follows: 'arm' reads 'e', which cannot be read


def test_every_problem_of_a_study_is_told_at_once(folder):
    written(LOOP)
    study = """
format: 1
study: s
diagram: loop.yaml
repeat: 0
simulate: {solver: rk4, step: -1}
sweep: {joint.J: [0.01, -0.02]}
collect: [ls, lq]
"""
    lines = blocksim("check", written(study, "study.yaml"), code=2).stderr.splitlines()
    assert len(lines) == 4, lines
    for start in ("4: repeat: found 0.", "5: simulate: step: must be above 0", "6: joint.J = -0.02: block 'joint': J:", "7: "):
        assert any(line.startswith(f"study.yaml:{start}") for line in lines), (start, lines)
    assert "no diagram has an identifier 'lq'" in lines[-1]


OPEN = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, seed: 1}
blocks:
  u:     {type: Multisine, f_min: 0.3, f_max: 4, lines: 8, amplitude: 1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0, N: 1, in: u}
  didim: {type: DIDIM, model: joint, decimate: 10, in: u}
"""


def test_didim_of_an_open_loop_is_refused_before_it_gives_its_start_for_an_answer(folder):
    told = blocksim("check", written(OPEN), code=2).stderr
    assert told.startswith("loop.yaml:6: block 'didim': the loop around 'joint' is open: u.y, which drives it, does not depend")
    assert "OutputError" in told
    assert bs.findings(LOOP + "  didim: {type: DIDIM, model: joint, decimate: 10, in: pid}\n") == ()


def test_a_start_that_names_too_little_has_its_line(folder):
    text = OPEN.replace(
        "{type: DIDIM, model: joint, decimate: 10, in: u}",
        "{type: OutputError, model: joint, parameters: [joint.J, joint.Fv], start: {joint.J: 0.1}, output: joint.q, "
        "in: {u: u, y: joint.q}}",
    )
    told = blocksim("check", written(text), code=2).stderr
    assert told.startswith("loop.yaml:6: block 'didim': start: nothing was found for joint.Fv. There are: joint.J.")


def test_a_model_that_no_response_can_fit_is_told_before_the_run(folder):
    text = OPEN.replace("DIDIM, model: joint, decimate: 10, in: u", "FrequencyResponse, model: joint, in: {u: u, y: joint.qd}")
    told = blocksim("check", written(text), code=2).stderr
    assert told.startswith("loop.yaml:6: block 'didim': model: 'joint' (GravityJoint) is no two-mass robot")


def test_a_search_without_an_end_says_so_once():
    text = """
format: 1
simulate: {stop: 8, solver: rk4, step: 2e-3, seed: 2}
blocks:
  n1:  {type: WhiteNoise, std: 1, Ts: 2e-3}
  n2:  {type: WhiteNoise, std: 1, Ts: 2e-3}
  arm: {type: TwoMassRobot, in: n1}
  fr:  {type: FrequencyResponse, model: arm, period: 2, in: {u: n1, y: n2}}
"""
    words = str(bs.simulate(text).estimates["fr"])
    assert words.count("nothing was fitted") == 1 and "warning: nothing was fitted: y follows u at" in words


def test_identifiers_that_run_in_the_loop_are_told_with_what_they_read(folder):
    start = "start: {J: 0.05, Fv: 0.02, Fc: 0.2, Ms: 0.1}, R: 1e-8"
    more = f"  ekf: {{type: JointEKF, model: joint, Ts: 1e-3, {start}, in: {{u: pid, y: joint.q}}}}\n"
    told = blocksim("check", written(LOOP + more)).stdout
    assert "ekf reads joint.q, pid.u every 0.001 s, while it runs; truth that no sensor delivers: joint.q" in told


def test_a_hold_that_samples_a_plant_is_a_sensor_to_a_continuous_controller():
    text = """
format: 1
simulate: {stop: 3, solver: rk4, step: 1e-3}
blocks:
  ref:   {type: Sine, frequency: 0.5}
  hold:  {type: ZeroOrderHold, Ts: 1e-2, in: joint.q}
  error: {type: Sum, signs: "+-", in: [ref, hold]}
  lead:  {type: TransferFunction, num: [0.5, 5], den: [0.01, 1], in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0, N: 1, in: lead}
"""
    (finding,) = bs.findings(text)
    assert finding.name == "continuous-controller" and "'lead' (TransferFunction) has no sample time" in finding.what
    # The same hold behind the controller is what a digital one has, and an analogue filter may follow it.
    behind = (
        text.replace("in: joint.q}", "in: error}")
        .replace("[ref, hold]", "[ref, joint.q]")
        .replace("in: error}\n  j", "in: hold}\n  j")
    )
    assert "in: hold}" in behind and not [f for f in bs.findings(behind) if f.name == "continuous-controller"]


def test_a_recorded_column_keeps_its_unit_in_the_record_of_a_run(folder):
    Path("rec.csv").write_text("time (s),angle (deg)\n0,0\n1,90\n2,30\n", encoding="utf-8")
    text = "format: 1\nsimulate: {stop: 2}\nblocks:\n  rec: {type: FromRecord, file: rec.csv, signal: angle}\n"
    record = bs.simulate(written(text))
    assert record.unit("rec") == "rad" and record["rec"].max() == pytest.approx(3.141592653589793 / 2)


def test_rerun_takes_the_file_of_a_record(folder):
    record = bs.simulate(LOOP, stop=0.5)
    record.save("record.npz")
    assert (bs.rerun("record.npz")["joint.q"] == record["joint.q"]).all()
    with pytest.raises(bs.BlocksimError, match=r"no.npz"):
        bs.rerun("no.npz")
