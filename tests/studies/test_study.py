"""Studies with known truth: scores against closed forms, the same tables however they were computed, failures counted."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import study_toys as toys

import blocksim as bs
from blocksim.studies.file import load_study
from blocksim.studies.plan import seeds_of
from blocksim.studies.study import rerun_study

BASIC = {"study": "A level", "diagram": toys.LEVEL, "repeat": 60, "seed": 3, "collect": ["mean"]}
SWEPT = {**BASIC, "sweep": {"noise.std": [0.1, 0.5]}, "collect": ["mean", {"signal": "level", "statistic": "final"}]}
TABLES = ("estimates.csv", "scores.csv", "signals.csv", "signal_scores.csv")
HERE = Path(__file__).parent


def table(result, **where):
    """The lines of the scores with these values."""
    found = result.scores
    for column, value in where.items():
        found = found[found[column] == value]
    return found


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES if (folder / name).exists()}


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "one"
    return bs.run_study(SWEPT, jobs=1, out=folder)


# ---- scores against closed forms ----------------------------------------------------------------------------------------


def test_bias_spread_coverage_nees_and_bound_of_an_honest_method():
    n = 2000
    line = bs.run_study({**BASIC, "repeat": n}, jobs=1).scores.iloc[0]
    assert (line["n"], line["failures"], line["truth"]) == (n, 0, 1.0)
    assert abs(line["bias"]) < 4 * 0.05 / math.sqrt(n)  # the estimate is normal with standard deviation 0.5 / sqrt(100)
    assert line["bias_low"] < line["bias"] < line["bias_high"]
    assert line["std"] == pytest.approx(0.05, rel=4 / math.sqrt(2 * n))
    assert line["std_low"] < 0.05 * 1.05 and line["std_high"] > 0.05 * 0.95
    assert line["rmse"] == pytest.approx(math.hypot(line["bias"], line["std"]), rel=1e-3)
    assert line["rmse_percent"] == pytest.approx(100 * line["rmse"])
    expected = 2 * (0.5 - 0.5 * math.erfc(1.959964 / math.sqrt(2)))  # normal quantile, Student statistic of 99: about 0.947
    assert line["coverage"] == pytest.approx(expected, abs=0.003 + 4 * math.sqrt(0.05 * 0.95 / n))
    assert line["nees"] == pytest.approx(99 / 97, abs=4 * math.sqrt(2.1 / n))  # the mean of F(1, 99)
    assert line["nees_expected"] == 1 and line["nees_consistent_low"] < 1 < line["nees_consistent_high"]
    assert line["crb_std"] == pytest.approx(0.05) and line["crb_ratio"] == pytest.approx(1, rel=0.08)
    assert line["z_std"] == pytest.approx(math.sqrt(99 / 97), rel=0.08)


def test_numbers_beside_the_estimates_are_collected():
    """A number of the details, and the share of runs in which one is true; one that is not there fails in words."""
    details = [{"detail": "samples", "of": "mean"}, {"detail": "above", "of": "mean"}]
    result = bs.run_study({**BASIC, "collect": ["mean", *details]}, jobs=1, report=False)
    lines = {line["signal"]: line for line in table_lines(result.folder / "signal_scores.csv")}
    assert float(lines["samples(mean)"]["mean"]) == float(lines["samples(mean)"]["max"]) > 1
    above = [float(line["value"]) > 1.0 for line in table_lines(result.folder / "estimates.csv")]
    assert float(lines["above(mean)"]["mean"]) == pytest.approx(sum(above) / 60)
    for wrong, words in (({"detail": "sample", "of": "mean"}, "'mean' says no 'sample' beside its estimates; it says samples"),
                         ({"detail": "samples"}, "names a detail and its identifier"),
                         ({"detail": "samples", "of": "men"}, "no diagram has an identifier 'men'")):  # fmt: skip
        try:
            told = str(bs.run_study({**BASIC, "repeat": 2, "collect": ["mean", wrong]}, jobs=1, report=False).failures)
        except bs.BlocksimError as error:
            told = str(error)
        assert words in told


def table_lines(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_an_overconfident_method_is_seen():
    line = bs.run_study({**BASIC, "repeat": 400, "params": {"mean.claim": 0.5}}, jobs=1).scores.iloc[0]
    expected = math.erf(0.5 * 1.959964 / math.sqrt(2))  # half the width covers 67 %
    assert line["coverage_low"] < expected + 0.03 and line["coverage_high"] > expected - 0.03 and line["coverage_high"] < 0.9
    assert line["nees"] == pytest.approx(4, rel=0.3) and line["nees"] > line["nees_consistent_high"]


def test_a_bias_is_found_and_marked():
    scores = bs.run_study({**BASIC, "sweep": {"level.value": [1.0, 1.1]}}, jobs=1).scores
    assert scores["bias"][1] - scores["bias"][0] == pytest.approx(0.1, abs=1e-12)  # the same noise
    assert bool(scores["bias_significant"][1]) and scores["bias_percent"][1] == pytest.approx(10, abs=3)


def test_loop_gain_swept_method_by_method():
    gains = [0.1, 0.5, 1.0]
    result = bs.run_study({"study": "Loop", "diagram": toys.LOOP, "repeat": 60, "sweep": {"gain.k": gains}}, jobs=1)
    for k in gains:
        expected = -k * 0.25 * (1 + 2 * k) / (1 + 0.25 * k * k)
        ls, iv = (table(result, method=m, **{"gain.k": k}).iloc[0] for m in ("ls", "iv"))
        assert ls["bias"] == pytest.approx(expected, abs=4 * ls["std"] / math.sqrt(60) + 2e-3)
        assert ls["bias_significant"]
        assert abs(iv["bias"]) < 4 * iv["std"] / math.sqrt(60) + 2e-3


# ---- ablation -----------------------------------------------------------------------------------------------------------


def test_the_budget_of_two_sensors_in_series():
    off = {"one": {"one.gain": 1.0, "one.offset": 0.0}, "two": {"two.gain": 1.0, "two.offset": 0.0}}
    result = bs.run_study({"study": "Line", "diagram": toys.LINE, "repeat": 40, "ablate": off, "alone": True}, jobs=1)
    lines = {(r["parameter"], r["defect"]): r for r in result.budget.to_dict("records")}
    closed = {  # slope 2 g1 g2, offset g2 b1 + b2, with g = 1.1 and 0.9, b = 0.3 and -0.1
        ("slope", "one"): (2 * 0.9 * (1.1 - 1), 2 * (1.1 - 1)),
        ("slope", "two"): (2 * 1.1 * (0.9 - 1), 2 * (0.9 - 1)),
        ("offset", "one"): (0.9 * 0.3, 0.3),
        ("offset", "two"): (0.9 * 0.3 - 0.1 - 0.3, -0.1),
    }
    for key, (removed, alone) in closed.items():
        assert lines[key]["effect"] == pytest.approx(removed, abs=1e-12) and lines[key]["significant"]
        assert lines[key]["alone"] == pytest.approx(alone, abs=1e-12)
    assert lines["slope", "(interaction)"]["effect"] == pytest.approx(2 * (1.1 * 0.9 - 1) - 0.18 + 0.22, abs=1e-12)
    for name in ("slope", "offset"):
        rest = lines[name, "(residual)"]
        assert not rest["significant"] and rest["effect_low"] < 0 < rest["effect_high"]
        parts = sum(lines[name, d]["effect"] for d in ("one", "two", "(residual)", "(interaction)"))
        assert parts == pytest.approx(lines[name, "(bias)"]["effect"], abs=1e-12)


def test_defects_that_do_not_touch_each_other_add_up():
    off = {"one": {"one.offset": 0.0}, "two": {"two.offset": 0.0}}
    study = {"study": "Line", "diagram": toys.LINE, "repeat": 10, "params": {"two.gain": 1.0}, "ablate": off}
    lines = {r["defect"]: r for r in bs.run_study(study, jobs=1).budget.to_dict("records") if r["parameter"] == "offset"}
    assert lines["one"]["effect"] == pytest.approx(0.3) and lines["two"]["effect"] == pytest.approx(-0.1)
    assert lines["(interaction)"]["effect"] == pytest.approx(0, abs=1e-12) and not lines["(interaction)"]["significant"]


def test_one_defect_is_not_run_twice():
    result = bs.run_study({**BASIC, "repeat": 5, "ablate": {"noise": {"noise.std": 0.0}}, "alone": True}, jobs=1)
    assert [a["name"] for a in result.about["ablations"]] == ["full", "without noise"]
    residual = result.budget[result.budget["defect"] == "(residual)"].iloc[0]
    assert residual["effect"] == pytest.approx(0, abs=1e-15)


# ---- the same seeds, the same tables ------------------------------------------------------------------------------------


def test_a_seed_has_the_same_noise_everywhere(reference):
    errors = {std: g.sort_values("repeat")["error"].to_numpy() for std, g in reference.estimates.groupby("noise.std")}
    assert errors[0.5] == pytest.approx(5 * errors[0.1], abs=1e-12)
    assert reference.estimates["seed"].nunique() == 60


def test_more_repetitions_keep_the_first_seeds():
    assert seeds_of(7, 10) == seeds_of(7, 1000)[:10] and len(set(seeds_of(7, 1000))) == 1000
    assert seeds_of(8, 3) != seeds_of(7, 3) and all(0 <= s < 2**53 for s in seeds_of(7, 100))


def test_the_numbers_are_those_of_simulate(reference):
    line = reference.estimates.iloc[-1]
    record = bs.simulate(toys.LEVEL, params={"noise.std": line["noise.std"]}, seed=int(line["seed"]))
    assert record.estimates["mean"]["level"].value == line["value"] and record.estimates["mean"]["level"].std == line["std"]


def test_two_processes_give_the_same_tables(reference, tmp_path):
    bs.run_study(SWEPT, jobs=2, out=tmp_path / "two")
    assert len(tables(tmp_path / "two")) == 4
    assert tables(tmp_path / "two") == tables(reference.folder)


def test_variants_are_compared_on_the_same_seeds(tmp_path):
    (tmp_path / "other.yaml").write_text(toys.LEVEL.replace("value: 1.0", "value: 3.0"))
    (tmp_path / "level.yaml").write_text(toys.LEVEL)
    (tmp_path / "study.yaml").write_text(
        "format: 1\nstudy: Compared\ndiagram: level.yaml\nrepeat: 10\ncollect: [mean]\n"
        "methods: {plain: {}, bold: {params: {mean.claim: 0.5}}, high: {diagram: other.yaml}}\n"
    )
    result = bs.run_study(tmp_path / "study.yaml", jobs=1, out=tmp_path / "out")
    values = {m: g["value"].to_numpy() for m, g in result.estimates.groupby("method")}
    assert set(values) == {"plain", "bold", "high"}
    assert (values["plain"] == values["bold"]).all() and values["high"] == pytest.approx(values["plain"] + 2)
    assert (tmp_path / "out" / "methods" / "high" / "diagram.yaml").is_file()
    again = rerun_study(tmp_path / "out", jobs=1)
    assert (again.estimates["value"] == result.estimates["value"]).all()


def test_zipped_settings_vary_together():
    study = {**BASIC, "repeat": 2, "zip": {"noise.std": [0.1, 0.2], "scale": [1, 2]}, "sweep": {"mean.claim": [1, 2]}}
    points = bs.run_study(study, jobs=1).about["points"]
    assert [(p["mean.claim"], p["noise.std"], p["scale"]) for p in points] == [(1, 0.1, 1), (1, 0.2, 2), (2, 0.1, 1), (2, 0.2, 2)]


def test_spaced_values():
    sweep = {"noise.std": {"logspace": [0.01, 1, 3]}, "level.value": {"linspace": [1, 2, 2]}}
    points = bs.run_study({**BASIC, "repeat": 1, "sweep": sweep}, jobs=1).about["points"]
    assert [p["noise.std"] for p in points[::2]] == pytest.approx([0.01, 0.1, 1]) and points[1]["level.value"] == 2
    whole = {**BASIC, "sweep": {"level.value": {"logspace": [1, 2**64, 2]}}}  # beyond the whole numbers of numpy
    assert [step[0] for step in load_study(whole).axes[0].values] == [1.0, 2.0**64]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak of memory has another unit, or none is told")
def test_memory_does_not_grow_with_the_repetitions():
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport resource, study_toys, blocksim as bs\n"
        "peaks = []\nfor n in (200, 2000):\n"
        "    bs.run_study({'study': 'x', 'diagram': study_toys.LEVEL, 'repeat': n}, jobs=1)\n"
        "    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\nprint(*peaks)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    assert many - few < 8 * 1024  # kB, where the records of the runs are 10 kB each, arrays and all


# ---- failures -----------------------------------------------------------------------------------------------------------


def test_runs_without_an_estimate_are_counted_with_seed_and_reason():
    levels = bs.run_study(BASIC, jobs=1).estimates["value"].to_numpy()
    limit, refuse = np.quantile(levels, [0.5, 0.75])
    result = bs.run_study({**BASIC, "params": {"mean.limit": float(limit), "mean.refuse": float(refuse)}}, jobs=1)
    line = result.scores.iloc[0]
    assert (line["runs"], line["n"], line["failures"]) == (60, 30, 30)
    assert line["mean"] == pytest.approx(levels[levels <= limit].mean())
    by_seed = {f["seed"]: f["reason"] for f in result.failures}
    seeds = seeds_of(3, 60)
    assert {seeds.index(s) for s in by_seed} == {int(k) for k in np.flatnonzero(levels > limit)}
    for seed, reason in by_seed.items():
        high = levels[seeds.index(seed)] > refuse
        assert ("block 'mean': the level is too high" in reason) if high else reason == "diverged after 7 iterations"


def test_runs_that_did_not_converge_are_counted_by_themselves_and_in_no_score(tmp_path):
    levels = bs.run_study(BASIC, jobs=1).estimates["value"].to_numpy()
    tire, refuse = (float(v) for v in np.quantile(levels, [0.5, 0.75]))
    result = bs.run_study({**BASIC, "params": {"mean.tire": tire, "mean.refuse": refuse}}, jobs=1, out=tmp_path / "study")
    line = result.scores.iloc[0]
    assert (line["runs"], line["n"], line["failures"], line["unconverged"]) == (60, 30, 15, 15)
    assert line["mean"] == pytest.approx(levels[levels <= tire].mean())
    assert {u["reason"] for u in result.unconverged} == {"stopped after 7 iterations without an end"}
    kept = result.estimates.query("converged")
    assert len(kept) == 30 and len(result.estimates) == 45 and kept["value"].max() < 1e3
    words = str(result)
    assert "15 did not converge and are in no score, the first with seed " in words and "15/60" in words
    page = (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    assert "15 did not converge" in page and "<h2>Unconverged</h2>" in page
    assert max(abs(line["error"]) for line in drawn_lines(result)) < 1e3


def drawn_lines(result):
    """The lines of the estimates that the figure of a study shows, looked at on their way there."""
    from blocksim.studies.report import figures

    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "estimates_figure", lambda _, lines: shown.extend(lines))
        figures.study_figures(result)
    return shown


def test_a_method_that_fails_takes_no_other_with_it():
    text = toys.LEVEL.replace("log:", "  other: {type: MeanOf, in: y}\nlog:")
    study = {**BASIC, "diagram": text, "collect": ["mean", "other", {"signal": "level", "statistic": "final"}]}
    whole = bs.run_study(study, jobs=1)
    middle = whole.estimates.query("method == 'mean'")["value"].median()
    partly = bs.run_study({**study, "params": {"mean.refuse": float(middle)}}, jobs=1)
    assert table(partly, method="mean")["failures"].item() == 30 and table(partly, method="other")["failures"].item() == 0
    assert table(partly, method="other")["mean"].item() == table(whole, method="other")["mean"].item()
    assert {f["method"] for f in partly.failures} == {"mean"} and len(partly.signals) == len(whole.signals)


def test_a_failed_repeat_has_no_line_among_the_estimates_and_one_among_the_failures(tmp_path):
    levels = bs.run_study(BASIC, jobs=1).estimates["value"].to_numpy()
    limit, refuse = (float(v) for v in np.quantile(levels, [0.5, 0.75]))
    text = toys.LEVEL.replace("log:", "  other: {type: MeanOf, in: y}\nlog:")
    study = {**BASIC, "diagram": text, "collect": ["mean", "other"], "params": {"mean.limit": limit, "mean.refuse": refuse}}
    bs.run_study(study, jobs=1, out=tmp_path / "study")
    with open(tmp_path / "study" / "estimates.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    seeds = seeds_of(3, 60)
    repeats = {m: [int(line["repeat"]) for line in lines if line["method"] == m] for m in ("mean", "other")}
    assert repeats == {"mean": [k for k in range(60) if levels[k] <= limit], "other": list(range(60))}
    assert all(int(line["seed"]) == seeds[int(line["repeat"])] for line in lines)
    assert [float(line["value"]) for line in lines if line["method"] == "other"] == levels.tolist()
    assert all(line["reason"] == "" for line in lines)
    failures = json.loads((tmp_path / "study" / "study.json").read_text(encoding="utf-8"))["failures"]
    assert sorted(seeds.index(f["seed"]) for f in failures) == [k for k in range(60) if levels[k] > limit]
    said = {f["reason"] for f in failures}
    assert said == {"diverged after 7 iterations", "block 'mean': the level is too high to work with."}


GROWING = """
format: 1
simulate: {stop: 2, solver: rk4, step: 0.01}
blocks:
  slope: {type: Function, expression: u**2 + 1, in: x}
  x:     {type: Integrator, in: slope}
  mean:  {type: MeanOf, in: x}
"""


def test_a_run_that_diverges_is_a_failure_and_the_others_go_on():
    result = bs.run_study({"study": "Growing", "diagram": GROWING, "sweep": {"x.x": [0.0, -10.0]}}, jobs=1)
    assert [(f["point"], "'x'" in f["reason"]) for f in result.failures] == [(0, True)]
    assert list(result.scores["n"]) == [0, 1] and list(result.scores["failures"]) == [1, 0]
    assert "1 failed" in str(result) and not result.hopeless
    nothing = bs.run_study({"study": "Growing", "diagram": GROWING, "repeat": 2}, jobs=1)
    assert nothing.hopeless and "gave the same numbers" not in str(nothing)  # of runs that failed none can be compared


# ---- interruptions ------------------------------------------------------------------------------------------------------


def slow_study(tmp_path: Path) -> Path:
    (tmp_path / "level.yaml").write_text(toys.LEVEL)
    path = tmp_path / "slow.yaml"
    path.write_text(
        "format: 1\nstudy: Slow\ndiagram: level.yaml\nrepeat: 60\nseed: 3\nparams: {mean.wait: 0.03}\n"
        "sweep: {noise.std: [0.1, 0.5]}\ncollect: [mean, {signal: level, statistic: final}]\n"
    )
    return path


def started(path: Path, out: Path, *options: str) -> subprocess.Popen:
    code = f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport study_toys\nfrom blocksim.cli.commands import main\nmain()"
    command = [sys.executable, "-c", code, "study", str(path), "--out", str(out), *options]
    # A shell that runs the tests in the background has children ignore Ctrl-C.
    heeds = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heeds)


def wait_for_lines(out: Path, count: int) -> None:
    file, until = out / "results.jsonl", time.monotonic() + 60
    while time.monotonic() < until:
        if file.exists() and file.read_bytes().count(b"\n") > count:
            return
        time.sleep(0.02)
    raise AssertionError("the study does not get on")


@pytest.mark.skipif(os.name != "posix", reason="no such signals on this system")
@pytest.mark.parametrize(("sent", "code"), [("SIGKILL", -9), ("SIGINT", 130)], ids=["killed", "Ctrl-C"])
def test_an_interrupted_study_goes_on_to_the_same_tables(tmp_path, sent, code):
    path, out = slow_study(tmp_path), tmp_path / "out"
    process = started(path, out, "--jobs", "2")
    wait_for_lines(out, 4)
    process.send_signal(getattr(signal, sent))
    _, said = process.communicate(timeout=30)
    assert process.returncode == code
    if code == 130:
        assert "--resume" in said and str(out) in said and "Traceback" not in said
    kept = (out / "results.jsonl").read_bytes()
    assert not (out / "estimates.csv").exists() and kept.count(b"\n") < 121
    again = bs.run_study(path, jobs=1, out=out, resume=True)
    assert (out / "results.jsonl").read_bytes().startswith(kept[: kept.rindex(b"\n") + 1])  # nothing was computed twice
    whole = bs.run_study(SWEPT, jobs=1)  # it does not wait, and it is in another file; the numbers are the same
    assert tables(again.folder) == tables(whole.folder)


def test_a_torn_last_line_is_made_again(reference, tmp_path):
    bs.run_study(SWEPT, jobs=1, out=tmp_path)
    file = tmp_path / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-37])
    bs.run_study(SWEPT, jobs=1, out=tmp_path, resume=True)
    assert tables(tmp_path) == tables(reference.folder) and file.read_bytes().count(b"\n") == 121


def test_a_line_that_is_there_twice_counts_once(reference, tmp_path):
    bs.run_study(SWEPT, jobs=1, out=tmp_path)
    file = tmp_path / "results.jsonl"
    lines = file.read_bytes().splitlines(True)
    file.write_bytes(b"".join([*lines[:-20], *lines[5:10]]))
    bs.run_study(SWEPT, jobs=1, out=tmp_path, resume=True)
    assert tables(tmp_path) == tables(reference.folder)


def test_a_full_disk_keeps_what_was_computed(reference, tmp_path, monkeypatch):
    from blocksim.studies import store as study_store

    whole, calls = study_store.append, []

    def full(fd, data):
        calls.append(len(data))
        if len(calls) == 4:
            os.write(fd, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        whole(fd, data)

    monkeypatch.setattr(study_store, "append", full)
    with pytest.raises(bs.StudyError, match=r"results.jsonl' cannot be written: No space left on device. .*kept: \d+ of 120"):
        bs.run_study(SWEPT, jobs=1, out=tmp_path)
    monkeypatch.undo()
    kept = (tmp_path / "results.jsonl").read_bytes()
    assert kept.endswith(b"\n") and kept.count(b"\n") > 4
    bs.run_study(SWEPT, jobs=1, out=tmp_path, resume=True)
    assert (tmp_path / "results.jsonl").read_bytes().startswith(kept) and tables(tmp_path) == tables(reference.folder)


def test_results_are_not_overwritten_nor_mixed(tmp_path):
    bs.run_study({**BASIC, "repeat": 2}, jobs=1, out=tmp_path)
    with pytest.raises(bs.StudyError, match=r"holds the results of a study already.*--resume"):
        bs.run_study({**BASIC, "repeat": 2}, jobs=1, out=tmp_path)
    before = tables(tmp_path), (tmp_path / "diagram.yaml").read_text()
    for other in ({"repeat": 3}, {"seed": 4, "repeat": 2}, {"repeat": 2, "diagram": toys.LEVEL.replace("0.5", "0.6")}):
        with pytest.raises(bs.StudyError, match="are of another study"):
            bs.run_study({**BASIC, **other}, jobs=1, out=tmp_path, resume=True)
    assert before == (tables(tmp_path), (tmp_path / "diagram.yaml").read_text())
    bs.run_study({**BASIC, "repeat": 2, "study": "Another title"}, jobs=1, out=tmp_path, resume=True)


def test_two_studies_do_not_write_to_one_folder(tmp_path):
    from blocksim.studies.store import Store

    store = Store(tmp_path, "x", 3)
    with pytest.raises(bs.StudyError, match="another process is running"):
        Store(tmp_path, "x", 3, resume=True)
    store.close()
    Store(tmp_path, "x", 3, resume=True).close()


def test_a_worker_that_dies_is_replaced(tmp_path, reference, monkeypatch):
    from blocksim.studies.workers import processes as study_run

    begun, started_workers = study_run.Worker.__init__, []

    def dying(self):
        begun(self)
        started_workers.append(self)
        if len(started_workers) == 1:
            self.process.kill()

    monkeypatch.setattr(study_run.Worker, "__init__", dying)
    monkeypatch.setattr(study_run, "blas_threads", list)  # all work goes to workers
    for name in study_run.SINGLE:
        monkeypatch.delenv(name, raising=False)
    bs.run_study(SWEPT, jobs=1, out=tmp_path)
    assert len(started_workers) == 2 and tables(tmp_path) == tables(reference.folder)


# ---- the folder, and the command ----------------------------------------------------------------------------------------


def test_the_folder_tells_all_and_runs_again(reference, tmp_path):
    about = reference.about
    assert about["seeds"] == seeds_of(3, 60).tolist() and about["complete"] and about["failures"] == []
    assert about["versions"]["numpy"]
    assert (reference.folder / "diagram.yaml").is_file()
    again = rerun_study(reference.folder, out=tmp_path / "again", jobs=1)
    assert tables(again.folder) == tables(reference.folder)
    file = tmp_path / "again" / "estimates.csv"
    file.write_text(file.read_text().replace(",0,", ",1,", 1))
    with pytest.raises(bs.StudyError, match=r"estimates.csv of .* differs .* first in line 2"):
        rerun_study(tmp_path / "again", jobs=1)


def test_the_command(tmp_path, reference):
    path = slow_study(tmp_path)
    path.write_text(path.read_text().replace("0.03", "0.0"))
    process = started(path, tmp_path / "out", "--jobs", "1")
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 0 and complaints == ""
    assert "Slow" in said and "coverage" in said and "0/60" in said and "wrote" in said
    assert tables(tmp_path / "out") == tables(reference.folder)


def test_progress_says_what_there_is_so_far(tmp_path):
    said = []
    bs.run_study({**BASIC, "params": {"level.value": 2.0}}, jobs=1, progress=lambda tally: said.append(tally.summary()))
    assert said[-1].startswith("60/60 runs, largest bias mean.level +1")


SCRIPT = """
import numpy as np, blocksim as bs, study_toys as toys
from blocksim.contract.block import RecordBlock, inport
from blocksim.estimation.estimates import Estimate, Estimates

class Own(RecordBlock):
    "theta = mean(y)."
    family = "test"
    y = inport("signal")
    def process(self, t, y):
        return Estimates("own", (Estimate("level", float(np.mean(y)), truth=1.0),))

bs.register(Own)
result = bs.run_study({"study": "x", "diagram": toys.LEVEL.replace("MeanOf", "Own"), "repeat": 20}, jobs=2)
print(len(result.failures), result.about["jobs"], result.scores["n"][0])
"""


def test_a_block_of_the_script_itself_works_in_one_process(tmp_path):
    (tmp_path / "script.py").write_text(f"import sys; sys.path.insert(0, {str(HERE)!r})\n{SCRIPT}")
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["0", "1", "20"], "")


def test_blocks_of_a_script_matter_only_where_they_are_named():
    from blocksim.contract.library import register
    from blocksim.studies.workers.batch import own_blocks

    class Unsent(bs.RecordBlock):
        """theta = y."""

        family = "test"
        y = bs.inport("signal")

        def process(self, t, y):
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["blocksim.contract.library"], "_registered", {})
        register(toys.MeanOf, Unsent)
        assert own_blocks([toys.LEVEL])[1] == () and b"MeanOf" in own_blocks([toys.LEVEL])[0]
        assert own_blocks([toys.LEVEL, "{type: Unsent}"]) == (b"", ("Unsent",))
        assert own_blocks(["{type: Gain}"]) == (b"", ())


def test_a_worker_that_cannot_start_is_an_error_and_no_failure_of_runs():
    from blocksim.studies.workers import cluster as study_cluster
    from blocksim.studies.workers.batch import BatchPiece, Job, run_batch
    from blocksim.studies.workers.processes import PendingRuns

    batch = [BatchPiece(0, {}, ((0, 1),))]
    with pytest.raises(bs.StudyError, match="a worker cannot open the diagram: block 'mean': there is no block type 'Nobody'"):
        run_batch(Job("k", (("d.yaml", {"d.yaml": toys.LEVEL.replace("MeanOf", "Nobody")}),), "/nowhere"), batch)
    with pytest.raises(bs.StudyError, match="a worker cannot open the diagram: ModuleNotFoundError"):
        run_batch(Job("l", (("d.yaml", {"d.yaml": toys.LEVEL}),), "/nowhere", classes=b"cnowhere_at_all\nOwn\n."), batch)
    with pytest.raises(bs.StudyError, match=r"the study was started with 0\.0\.0"):
        run_batch(Job("m", (), "", version="0.0.0"), batch)
    with pytest.raises(bs.StudyError, match="cannot know the blocks Own"):
        study_cluster.run_cluster(
            Job("n", (), "", stuck=("Own",)), PendingRuns([], list), lambda lines: None, "tcp://127.0.0.1:1"
        )


def test_without_pandas_a_table_is_a_list_of_dicts(reference, monkeypatch):
    from blocksim.studies.tables import read_table

    monkeypatch.setitem(sys.modules, "pandas", None)
    rows = read_table(reference.folder / "scores.csv")
    monkeypatch.undo()
    assert isinstance(rows, list) and list(rows[0]) == list(reference.scores.columns)
    assert rows[1]["bias"] == reference.scores["bias"][1]
