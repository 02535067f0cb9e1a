"""What `check` says before a run of diagrams that run and cannot be meant; and that it is silent on those that can."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loop_file import LOOP, blocksim

import blocksim as bs
from blocksim.checking import halving
from blocksim.checking.findings import examine
from blocksim.checking.halving import STRETCH, states_of
from blocksim.checking.poles import loop_poles
from blocksim.contract.library import library
from blocksim.diagram.files import bundled_root

ROOT = Path(__file__).parents[2]
#: What is changed in the loop, the name of what is found, and words of it.
WRONG = [
    ("in: joint.q}", "in: joint.qd}", "unit-mismatch", "'encoder' (Encoder) is for m or rad, and 'joint.qd' is in rad/s"),
    ("N: 1, in: pid}", "N: 1, in: ref.q}", "unit-mismatch", "'joint' (GravityJoint) is for N m, and 'ref.q' is in m or rad"),
    ("q: motion.q, qd: motion.qd", "q: motion.qd, qd: motion.q", "unit-mismatch", "'q' and 'qd' look exchanged: exchange them."),
    ("{q: motion.q,", "{q: pid,", "unit-mismatch", "'pid.u' goes into input 'tau' of block 'joint' (GravityJoint), which is for "
     "N m, and into input 'q' of block 'ls' (LeastSquares), which is for rad: it cannot be both."),
    ("in: error}", "in: {e: error, qd_hat: encoder}}", "unit-mismatch", "'qd_hat' of block 'pid' (PID) is for m/s or rad/s"),
    ("in: joint.q}", "in: sum}\n  sum: {type: Integrator, in: joint.q}", "unit-mismatch", "'sum.y' is in rad s"),
    ("[ref.q, encoder]", "[ref.qd, encoder]", "unlike-terms", "adds 'ref.qd' in m/s or rad/s, 'encoder.q_hat' in rad"),
    ("type: PID, Ts: 1e-3", "type: PID", "continuous-controller", "reads 'encoder', which is taken every 0.001 s"),
    ("type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3", "type: TransferFunction, num: [0.4, 20, 10], den: [5e-3, 1, 0]",
     "continuous-controller", "block 'pid' (TransferFunction) has no sample time and reads 'encoder'"),
    ("type: PID, Ts: 1e-3", "type: PID, Ts: 4e-3", "slow-controller", "3 of 4 readings are lost"),
    ("type: PID, Ts: 1e-3", "type: PID, Ts: 0.7e-3", "uneven-rates", "every 0.0007 s and reads 'encoder', which acts every"),
    ("cutoff: 60, factor: 1", "cutoff: 60", "different-grids", "keeps one row in 20. Use 'motion' with factor: 1 and decimate: "
     "20 in 'ls', or read {type: Decimate, factor: 20, in: pid.u} instead."),
    ("decimate: 10", "decimate: 10, skip: 1.2", "skip-too-long", "block 'ls' skips 1.2 s at either end of a record"),
    ("decimate: 10", "decimate: 10, skip: [1.5, 0.6]", "skip-too-long", "block 'ls' skips 2.1 s of a record that lasts 2 s"),
    ("decimate: 10", "decimate: 500", "nothing-left", "'ls' (LeastSquares) cannot work on 2001 rows: no row is left"),
    ("in: encoder}\n  ls", "in: cut}\n  cut: {type: Trim, start: 5, in: encoder}\n  ls", "nothing-left",
     "'cut' (Trim) cannot work on 2001 rows: no sample is left of 2001 samples, 0 to 2 s."),
    ("step: 1e-3,", "step: 1e-3, every: 5e-4,", "staircase", "encoder.q_hat is read every 0.001 s and logged every 0.0005 s"),
    ("step: 1e-3,", "step: 1e-3, every: 1.5e-3,", "staircase", "logged every 0.0015 s, which is no whole multiple"),
    ("cutoff: 60", "cutoff: 600", "above-nyquist", "has cutoff: 600 Hz and reads encoder.q_hat every 0.001 s"),
    ("decimate: 10", "decimate: 10, parameters: []", "nothing-sought", "block 'ls' (LeastSquares) has parameters: []"),
    ("base_frequency: 0.5", "base_frequency: 600", "fast-source", "600 Hz; steps of 0.001 s hold nothing above 500 Hz"),
    ("kd: 0.3", "kd: 90", "unstable-loop", "it grows tenfold in 0.0"),
    ("kp: 20, ki: 10, kd: 0.3", "kp: -500, ki: 10, kd: -10", "unstable-loop", "it grows tenfold in 0.0"),  # apart in 50 samples
    ("stop: 2, solver: rk4, step: 1e-3", "stop: 1, solver: rk4, step: 10", "stop-before-step", "before its first step of 10 s"),
    ("type: Encoder, Ts: 1e-3", "type: Encoder, Ts: 5e-3", "held-reading", "'pid' (PID) acts every 0.001 s on 'encoder', which "
     "is read every 0.005 s: it takes each reading 5 times"),
    ("in: encoder}\n  ls", "in: encoder}\n  mean: {type: UnitDelay, Ts: 5, in: encoder}\n  ls", "one-sample", "acts every 5 s, "
     "and the run lasts 2 s: it acts once"),
    ("in: error}", "in: error}\n  kick: {type: Step, time: 5}", "never-begins",
     "'kick' (Step) has time: 5 s, and the run ends at 2 s"),
    ("in: error}", "in: error}\n  late: {type: TransportDelay, Ts: 1e-3, delay: 2, in: ref.q}", "never-begins",
     "has delay: 2 s, and the run"),
    ("blocks:", "parameters: {gain: 20}\nblocks:", "unused-parameter", "parameter 'gain' of the file is used by nothing in it"),
    ("seed: 7", "seed: 7, every: 5", "one-row", "'ref.q' has a row every 5 s, and the run lasts 2 s"),
    ("in: error}", "in: error}\n  hum: {type: Sine, frequency: 80}\n  ear: {type: ZeroOrderHold, Ts: 0.01, in: hum}",
     "fast-source", "'ear' reads it every 0.01 s, which holds nothing above 50 Hz"),
]  # fmt: skip


def test_a_loop_that_can_be_meant_is_told_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP, encoding="utf-8")
    told = blocksim("check", "loop.yaml", "--strict")
    assert told.stderr == ""
    first, *more = told.stdout.splitlines()
    assert first == "loop.yaml: ok, 7 blocks, 2 continuous states, 1 sample rate"  # record blocks counted in
    assert more[0] == "  ls reads motion.q, motion.qd, motion.qdd, pid.u every 0.001 s, 2001 rows"
    largest = re.fullmatch(
        r"  closed-loop poles every 0.001 s: largest \|z\| = (0\.\d+) of \d+, a time constant of \S+ s", more[1]
    )
    assert 0.9 < float(largest[1]) < 1


@pytest.mark.parametrize("old, new, name, words", WRONG, ids=[f"{n}-{i}" for i, (*_, n, _) in enumerate(WRONG)])
def test_what_cannot_be_meant_is_found_and_strict_makes_it_an_error(tmp_path, monkeypatch, old, new, name, words):
    assert old in LOOP
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP.replace(old, new), encoding="utf-8")
    told = blocksim("check", "loop.yaml")
    lines = [line for line in told.stderr.splitlines() if line.endswith(f"[{name}]")]
    assert any(words in line for line in lines), told.stderr
    assert all(re.match(r"loop\.yaml:\d+: warning: ", line) for line in lines)
    assert re.search(r"\d+ warnings?$", told.stdout.splitlines()[0])
    assert blocksim("check", "loop.yaml", "--strict", code=2).stdout == ""


def test_one_wrong_wire_is_said_once():
    names = [f.name for f in bs.findings(LOOP.replace("in: joint.q}", "in: joint.qd}"))]
    assert names.count("unit-mismatch") == 1 and set(names) == {"unit-mismatch", "unstable-loop"}


def test_settings_given_beside_the_diagram_count():
    assert [f.name for f in bs.findings(LOOP, {"motion.cutoff": 700.0})] == ["above-nyquist"]


def test_a_run_repeats_what_it_costs_nothing_to_know(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP.replace("type: PID, Ts: 1e-3", "type: PID"), encoding="utf-8")
    told = blocksim("run", "loop.yaml", "--stop", "0.5")
    assert "loop.yaml:7: warning: controller 'pid' (PID) has no sample time" in told.stderr
    assert blocksim("run", "loop.yaml", "--stop", "0.5", "--quiet").stderr == ""
    Path("loop.yaml").write_text(LOOP, encoding="utf-8")  # what is set beside the file counts, too
    assert "ref.q" in blocksim("run", "loop.yaml", "--stop", "0.5").stdout
    assert "[fast-source]" in blocksim("run", "loop.yaml", "--stop", "0.5", "--set", "ref.base_frequency=600").stderr


TABLE = """
format: 1
simulate: {stop: 10, step: 1e-2, solver: rk4}
blocks:
  ramp:  {type: Ramp, slope: 1}
  table: {type: LookupTable, points: [0, 1, 2], values: [0, 1, 4], in: ramp}
"""


@pytest.mark.parametrize("text, changes, words", [
    (LOOP, "pid.limit=0.05", "'pid' (PID) stood at its limit in 100 % of the run: what goes into it had no say there."),
    (LOOP, "pid.limit=5", ""),
    (TABLE, "ramp.slope=1", "'table' (LookupTable) went from 0 to 10, and its points from 0 to 2: beyond them its end"),
    (TABLE, "ramp.slope=0.2", ""),
])  # fmt: skip
def test_a_run_tells_of_limits_that_held_and_of_tables_that_ended(tmp_path, monkeypatch, text, changes, words):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(text, encoding="utf-8")
    told = blocksim("run", "loop.yaml", "--set", changes).stderr
    assert words in told and bool(words) == bool(told)


@pytest.mark.parametrize(
    "solver, step, coarse", [("rk4", 0.4, True), ("rk4", 0.05, False), ("euler", 0.05, True), ("dopri5", 1, False)]
)
def test_a_step_too_coarse_for_the_fastest_mode_is_named_with_one_that_would_do(solver, step, coarse):
    # x'' = -w^2 x, w = 5: over a radian RK4 at h w = 2 turns it to nothing of what it is; at 0.25 it errs by less than 0.01 %.
    spring = """
format: 1
simulate: {stop: 10, solver: SOLVER, step: STEP}
blocks:
  v: {type: Integrator, in: a}
  x: {type: Integrator, x: 1.0, in: v}
  a: {type: Gain, k: -25, in: x}
""".replace("SOLVER", solver).replace("STEP", str(step))
    names = [f for f in bs.findings(spring) if f.name == "coarse-step"]
    assert len(names) == coarse
    if coarse:
        assert f"a step of {step:g} s is too coarse for {solver}: a mode of 5 rad/s" in names[0].what
        better = float(re.search(r"Write step: (\S+),", names[0].remedy)[1])
        assert not bs.findings(spring.replace(f"step: {step}", f"step: {better}"))


def test_all_problems_at_once_a_wrong_solver_beside_wrong_blocks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(LOOP.replace("solver: rk4", "solver: rk5").replace("type: Sum", "type: Sun"), encoding="utf-8")
    for command in ("check", "run"):
        told = blocksim(command, "bad.yaml", code=2).stderr
        assert "bad.yaml:3: there is no solver 'rk5'" in told and "bad.yaml:6: block 'error': " in told


STUDY = "format: 1\nstudy: Noise\ndiagram: loop.yaml\nrepeat: 5\ncollect: [ls]\n"


def test_studies_are_checked_and_repetitions_without_noise_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP, encoding="utf-8")
    Path("study.yaml").write_text(STUDY + "sweep: {pid.kp: [20, 30]}\n", encoding="utf-8")
    told = blocksim("check", "study.yaml", "--strict")
    assert told.stdout == "study.yaml: ok, a study of 10 runs: 5 repetitions x 2 points\n" and told.stderr == ""
    Path("study.yaml").write_text(STUDY + "params: {encoder.noise_std: 0}\n", encoding="utf-8")
    told = blocksim("check", "study.yaml").stderr
    assert (
        "study.yaml:4: warning: repeat: 5, but nothing that is collected has anything random in it" in told
        and "[nothing-random]" in told
    )
    ran = blocksim("study", "study.yaml", "--jobs", "1")  # those who run it at once are told too
    assert "[nothing-random]" in ran.stderr
    Path("study.yaml").write_text(STUDY.replace("[ls]", "[lq]"), encoding="utf-8")
    assert "no diagram has an identifier 'lq'" in blocksim("check", "study.yaml", code=2).stderr


def test_the_order_of_blocks_in_the_file_matters_for_nothing():
    head, first, *rest = LOOP.partition("blocks:\n")[0], *LOOP.partition("blocks:\n")[2].splitlines(True)
    turned = head + "blocks:\n" + "".join(reversed([first, *rest]))
    assert [str(f.what) for f in bs.findings(turned)] == []
    ours, theirs = bs.simulate(LOOP, stop=0.5), bs.simulate(turned, stop=0.5)
    assert ours.estimates["ls"].vector().tolist() == theirs.estimates["ls"].vector().tolist()


def test_an_identifier_may_start_from_one_that_stands_below_it():
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, seed: 1}
blocks:
  push:   {type: PRBS, amplitude: 0.5, bits: 6, clock: 0.05}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: push}
  hybrid: {type: RPEMHybrid, model: joint, signal: q, start: {J: oe, Fv: oe}, known: {Fc: 0, Ms: 0, N: 1},
           in: {u: push, y: joint.q}}
  oe:     {type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, in: {u: push, y: joint.q}}
"""
    assert bs.simulate(text).estimates["hybrid"]["J"].value == pytest.approx(0.02, rel=1e-3)


# ---- false alarms, and the page -----------------------------------------------------------------------------------------------

BUNDLED = sorted(p.relative_to(bundled_root()).as_posix() for p in bundled_root().rglob("*.yaml"))


@pytest.mark.parametrize("name", [n for n in BUNDLED if "/studies/" not in n])
def test_no_bundled_diagram_warns(name):
    told = blocksim("check", str(bundled_root() / name), "--allow-outside", "--strict")
    assert told.stderr == "" and ": ok, " in told.stdout


STUDIES = [n for n in BUNDLED if "/studies/" in n]


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (k % 4 > 0)) for k, n in enumerate(STUDIES)])
def test_no_bundled_study_warns(name):
    told = blocksim("check", str(bundled_root() / name), "--allow-outside", "--strict")
    assert told.stderr == "" and ": ok, " in told.stdout


@pytest.mark.parametrize("name", [n for n, kind in sorted(library().items()) if kind.example])
def test_no_example_of_a_block_warns(name):
    example = library()[name].example
    options = {} if bs.open_diagram(example).simulate.stop is not None else {"stop": 1}
    assert bs.findings(example, **options) == ()


def test_every_finding_has_its_section_and_every_section_a_finding():
    homes = [*(ROOT / "blocksim" / "checking").glob("*.py"), ROOT / "blocksim" / "studies" / "study_findings.py"]
    sources = [p.read_text(encoding="utf-8") for p in homes]
    names = {name for text in sources for name in re.findall(r'Finding\(\s*"([a-z-]+)"', text)}
    page = (ROOT / "docs" / "warnings.md").read_text(encoding="utf-8")
    assert names == set(re.findall(r"^### (\S+)$", page, re.MULTILINE)) and len(names) == 34
    elsewhere = {
        "coarse-step",
        "many-samples",
        "nothing-random",
        "idle-sweep",
        "growing",
        "short-record",
        "at-limit",
        "outside-table",
        *("no-excitation", "other-plant", "other-effort", "changed-effort", "idle-parameter"),
        "hidden-setting",
        "no-solution",
    }
    assert names == {name for *_, name, _ in WRONG} | elsewhere


def test_a_mode_that_grows_beyond_all_numbers_within_a_step_is_too_coarse():
    from blocksim.checking.steps import mode_error
    from blocksim.solvers import find_tableau

    assert mode_error(find_tableau("rk4"), complex(1e4, 0.0), 1.0) == float("inf")


def test_a_loop_that_nothing_moves_is_told_before_the_run():
    trajectory = "{type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}"
    still = LOOP.replace(trajectory, "{type: Constant, value: 0}").replace("[ref.q,", "[ref,")
    (finding,) = bs.findings(still)
    assert finding.name == "no-excitation" and finding.where.line == 5
    assert "ref is 0 throughout, and all starts at rest: ls would identify from noise" in finding.what
    for moved in (still.replace("value: 0}", "value: 0.5}"), still.replace("N: 1, in: pid", "N: 1, q: 0.3, in: pid")):
        assert not bs.findings(moved)


#: A loop in which nothing is sampled.
CONTINUOUS = """
format: 1
simulate: {stop: 5, solver: dopri5}
blocks:
  ref:   {type: Sine, amplitude: 0.1, frequency: 1.0}
  error: {type: Sum, signs: "+-", in: [ref, joint.q]}
  pid:   {type: PID, kp: 20, ki: 10, kd: 1, Tf: 5e-3, in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: pid}
"""


def test_a_continuous_loop_that_grows_is_told_before_the_run():
    assert not bs.findings(CONTINUOUS)
    # (J s + Fv) s * (Tf s + 1) s + (kp s + ki)(Tf s + 1) + kd s^2 = 0: the PID has a lag on its derivative.
    plant, lag = [0.02, 0.05, 0], [5e-3, 1]
    controller = np.polyadd(np.polymul([20, 10], lag), [1, 0, 0])
    rightmost = max(np.roots(np.polyadd(np.polymul(plant, np.polymul(lag, [1, 0])), controller)).real)
    (told,) = examine(bs.experiment(CONTINUOUS)).poles
    assert told.rightmost.real == pytest.approx(rightmost, rel=1e-5)
    assert str(told) == f"closed-loop poles of 'pid': rightmost {rightmost:.3g} rad/s of 4"
    # x'' = 1000 x with a proportional gain of the wrong sign and friction 2.5 1/s: s = -1.25 + sqrt(1.5625 + 1000) = 30.4.
    proportional = CONTINUOUS.replace(
        "{type: PID, kp: 20, ki: 10, kd: 1, Tf: 5e-3, in: error}", "{type: Gain, k: -20, in: error}"
    )
    (finding,) = bs.findings(proportional)
    assert finding.name == "unstable-loop" and "the loop of 'error'" in finding.what and "a pole at 30.4 rad/s" in finding.what
    assert "tenfold in 0.076 s" in finding.what
    (finding,) = bs.findings(CONTINUOUS.replace('"+-"', '"++"'))
    assert finding.name == "unstable-loop"
    assert not bs.findings(proportional, stop=0.1)  # it has no time to grow


def test_modes_beyond_all_numbers_are_judged_and_not_an_overflow():
    from blocksim.checking.steps import mode_error
    from blocksim.simulation.modes import grows
    from blocksim.solvers import find_tableau

    rk4 = find_tableau("rk4")
    assert mode_error(rk4, -2e131 + 0j, 1e-3) == float("inf")  # R(z) = 1 + z + z^2/2 + z^3/6 + z^4/24 is beyond 1e308
    assert grows(rk4, -2e131 + 0j, 1e-3)


#: A weight on a spring whose force grows with the cube of its length: at the start, where it is slack, it has no mode at all.
CUBIC_SPRING = """
format: 1
simulate: {stop: 20, solver: SOLVER, step: STEP}
blocks:
  push:   {type: Constant, value: 10.0}
  force:  {type: Function, expression: u1 - 1e4 * u2**3, in: [push, place]}
  speed:  {type: Integrator, in: force}
  place:  {type: Integrator, in: speed}
"""


@pytest.mark.parametrize("solver, step, coarse", [("rk4", 0.05, True), ("euler", 0.01, True), ("rk4", 1e-3, False)])
def test_a_step_that_is_too_coarse_for_what_has_no_modes_is_seen_by_halving_it(solver, step, coarse):
    # It swings around 0.1 m with about sqrt(3e4 * 0.1**2) = 17 rad/s: 0.05 s is 0.9 rad, and Euler's rule grows.
    told = [f for f in bs.findings(CUBIC_SPRING.replace("SOLVER", solver).replace("STEP", str(step))) if f.name == "coarse-step"]
    assert len(told) == coarse
    if coarse:
        assert f"a step of {step:g} s is too coarse for {solver}: with half of it a state moves otherwise by" in told[0].what
        assert "in the first 200 steps." in told[0].what
        better = float(re.search(r"Write step: (\S+), or solver: dopri5", told[0].remedy)[1])
        assert better <= step / 2


@pytest.mark.parametrize("end, other_end, coarse", [(50, 49, False), (49, 50, False), (30, 101, True), (101, 101, False)])
def test_what_fails_at_any_step_is_no_matter_of_the_step(monkeypatch, end, other_end, coarse):
    """An estimate that flies apart ends both runs, a look earlier or later; where half the step goes on, the step is to blame."""
    looks = np.linspace(0, 1, 101)[:, None]
    ends = iter([end, other_end])  # of the coarse run and of the fine one

    def states(experiment):
        rows = np.sin(looks)
        rows[next(ends) :] = np.nan
        return rows

    monkeypatch.setattr(halving, "states_of", states)
    change = halving.change_by_halving(bs.experiment(CUBIC_SPRING.replace("SOLVER", "rk4").replace("STEP", "1e-3")))
    assert change == (np.inf if coarse else 0.0)


def test_a_run_that_fails_at_its_start_is_left_to_the_run():
    # a = b and b = a + 1: no solution, so that the first instant fails and no state can be compared.
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, algebraic_loops: solve}
blocks:
  a: {type: Function, expression: u, in: b}
  b: {type: Function, expression: u + 1, in: a}
  x: {type: Integrator, in: a}
"""
    (finding,) = bs.findings(text)
    assert (
        finding.name == "no-solution"
        and "at t = 0 s the algebraic loop a -> b -> a (lines 5 and 6) has no solution" in finding.what
    )
    assert finding.where.line in (5, 6)
    assert not bs.findings(text.replace("u + 1", "0.5 * u + 1"))
    with pytest.raises(bs.SimulationError):
        bs.simulate(text)


def test_a_law_that_switches_all_the_time_is_not_followed_for_long():
    """A relay of a narrow band around an integrator that starts near it: events without end in every step."""
    relay = """
format: 1
simulate: {stop: 5, solver: rk4, step: 1e-3}
blocks:
  r: {type: Relay, on_point: 1e-7, off_point: -1e-7, on_value: -1, off_value: 1, in: i}
  i: {type: Integrator, x: 1e-3, in: r}
"""
    ready = bs.experiment(relay)
    clock = replace(ready.clock, end=ready.clock.start + STRETCH * ready.clock.step)
    with pytest.raises(bs.SimulationError, match="too closely"):  # given up on the way
        states_of(replace(ready, clock=clock))
    assert not bs.findings(relay)


def test_who_looks_on_beside_a_loop_has_no_say_in_its_poles():
    """A ring of past readings cannot be linearised; beside the loop it need not be, and the poles are those without it."""
    beside = LOOP + "  mean:    {type: MovingAverage, Ts: 1e-3, window: 8, in: encoder}\n"
    poles = {str(loop_poles(bs.experiment(text))) for text in (LOOP, beside)}
    assert len(poles) == 1 and "closed-loop poles every 0.001 s" in poles.pop()


def test_a_source_that_turns_a_million_times_is_told():
    swing = "format: 1\nsimulate: {stop: 10}\nblocks:\n  u: {type: Sine, frequency: 1e300}\n  x: {type: Integrator, in: u}\n"
    (finding,) = bs.findings(swing)
    assert finding.name == "fast-source" and "1e+301 turns in 10 s" in str(finding) and finding.where.line == 4
    assert not bs.findings(swing.replace("1e300", "100"))


def test_a_block_that_acts_a_thousand_million_times_is_told_at_once():
    """The look at half the step would follow each of them."""
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
blocks:
  u: {type: PRBS, clock: CLOCK}
  x: {type: FirstOrderLag, T: 0.1, in: u}
"""
    (finding,) = bs.findings(text.replace("CLOCK", "1e-9"))
    assert finding.name == "many-samples" and finding.where.line == 5
    assert "block 'u' acts every 1e-09 s, 1e+09 times in 1 s" in str(finding) and "make clock longer" in finding.remedy
    assert not bs.findings(text.replace("CLOCK", "0.01"))
