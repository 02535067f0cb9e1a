"""What `check` says of a study: every point of it is looked at, and what does not differ is told."""

from pathlib import Path

import pytest
from loop_file import LOOP, blocksim

from blocksim.diagram.files import bundled_root

STUDY = "format: 1\nstudy: Noise\ndiagram: loop.yaml\nrepeat: 5\ncollect: [ls]\n"
BUNDLED = sorted(p.relative_to(bundled_root()).as_posix() for p in bundled_root().rglob("*.yaml"))

#: Changes of the loop, lines of the study, and what is told of them.
STUDIES = [
    ("", "sweep: {pid.kp: [20, 30]}", ""),
    ("", "sweep: {ls.skip: [0, 3]}", "study.yaml:6: warning: with ls.skip: 3, block 'ls' skips 3 s at either end"),
    ("", "sweep: {motion.cutoff: [60, 700]}", "study.yaml:6: warning: with motion.cutoff: 700, block 'motion'"),
    (
        "",
        "sweep: {pid.kd: [0.3, 90]}",
        "study.yaml:6: warning: with pid.kd: 90, the loop, linearised near the start, is unstable",
    ),
    ("", "sweep: {encoder.resolution: [1e-4, 1e-4]}", "encoder.resolution: 0.0001 stands in it more than once. Leave it out."),
    ("  idle: {type: Gain, k: 1, in: pid}\n", "sweep: {idle.k: [1, 2]}", "sweep: idle.k changes nothing that is collected"),
    ("  idle: {type: Gain, k: 1, in: pid}\n", "ablate: {gain: {idle.k: 0}}", "ablate: gain: idle.k changes nothing that is"),
    (
        "  idle: {type: WhiteNoise, Ts: 1e-3}\n",
        "params: {encoder.noise_std: 0}",
        "study.yaml:4: warning: repeat: 5, but nothing that",
    ),
    ("", "params: {pid.kp: 20}\nsweep: {pid.kp: [10, 20]}", "params: pid.kp is varied by the sweep too, which wins"),
    (
        "",
        "methods: {a: {params: {pid.kp: 5}}}\nsweep: {pid.kp: [10, 20]}",
        "methods: a: params: pid.kp is varied by the sweep too",
    ),
    ("", "methods: {a: {params: {pid.kp: 5}}, b: {params: {pid.kp: 5}}}", "'b' is the same as 'a': both will give"),
    ("", "methods: {a: {params: {pid.kp: 5}}, b: {params: {pid.kp: 6}}}", ""),
    ("", "ablate: {noise: {encoder.noise_std: 0.3}}", "ablate: noise: encoder.noise_std: 0.3 is so already"),
    ("", "ablate: {noise: {encoder.noise_std: 0}}", ""),
    ("  idle: {type: Sum, in: [encoder, joint.q]}\n", "sweep: {encoder.noise_std: [0, 1]}", ""),
]


@pytest.mark.parametrize("more, line, words", STUDIES)
def test_every_point_of_a_study_is_looked_at_and_points_that_do_not_differ_are_told(tmp_path, monkeypatch, more, line, words):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP + more, encoding="utf-8")
    Path("study.yaml").write_text(STUDY + line + "\n", encoding="utf-8")
    told = blocksim("check", "study.yaml").stderr
    assert words in told.replace("\n", " ") and bool(words) == bool(told)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in BUNDLED if "/studies/" in n])
def test_no_bundled_study_warns(name):
    assert blocksim("check", str(bundled_root() / name), "--allow-outside").stderr == ""
