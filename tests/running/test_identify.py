"""Measured data: the same pipeline over a record of its own run and over files from elsewhere; every bad record is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.diagram.loader import dump, load
from blocksim.errors import DiagramError, RecordError
from blocksim.records.conversion import unit_factor
from blocksim.records.timebase import time_base

PIPELINE = """
format: 1
name: Joint and least squares
simulate: {stop: 2, solver: rk4, step: 1e-3, seed: 3}
parameters: {k: 2}
blocks:
  ref:     {type: Multisine, f_min: 0.5, f_max: 4.0, lines: 6, amplitude: 0.5, phases: schroeder}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 0.3, ki: 0.2, kd: 0.01, in: error}
  joint:   {type: GravityJoint, N: 1, Ms: 0.002, Fc: 0.004, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-5, in: joint.q}
  drive:   {type: Gain, k: "${k}", in: pid}
  back:    {type: Gain, k: 0.5, in: drive}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 30, in: encoder}
  ls:      {type: LeastSquares, model: joint, method: ols, skip: 0.1,
            in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: back}}
log: [ref, encoder, pid]
"""
SECTION = "record:\n  signals: {encoder: angle, pid: torque}\n"


@pytest.fixture(scope="module")
def own():
    return bs.simulate(PIPELINE)


def columns(record, **changes):
    """The record as somebody's arrays."""
    found = {"t": record.t, "angle": record["encoder"], "torque": record["pid"]}
    return {**found, **changes}


def write(path: Path, arrays) -> Path:
    heads = list(arrays)
    np.savetxt(path, np.column_stack([arrays[h] for h in heads]), delimiter=",", header=",".join(heads), comments="", fmt="%.17g")
    return path


def values(record):
    return [(e.value, e.std) for e in record.estimates["ls"].values()]


def refused(*args, **options) -> str:
    with pytest.raises((DiagramError, RecordError)) as error:
        bs.identify(*args, **options)
    return str(error.value)


class TestTheSamePipeline:
    @pytest.mark.parametrize("suffix", ["npz", "csv", "mat", "parquet"])
    def test_a_saved_run_gives_the_estimates_of_the_run(self, own, suffix, tmp_path):
        if suffix == "parquet":
            pytest.importorskip("pyarrow")
        path = tmp_path / f"run.{suffix}"
        own.save(path)
        found = bs.identify(PIPELINE, path)
        assert values(found) == values(own)  # bit for bit: every format keeps doubles
        assert (found["smooth.dx"] == own["smooth.dx"]).all() and (found.t == own.t).all()

    def test_the_truth_is_not_known_of_a_measurement(self, own):
        assert own.estimates["ls"]["J"].truth == 1.9e-4
        found = bs.identify(PIPELINE, own).estimates["ls"]["J"]
        assert np.isnan(found.truth) and found.value == own.estimates["ls"]["J"].value

    @pytest.mark.parametrize("suffix", ["csv", "npz", "mat"])
    def test_columns_from_elsewhere(self, own, suffix, tmp_path):
        from scipy.io import savemat

        path, arrays = tmp_path / f"lab.{suffix}", columns(own)
        {"csv": write, "npz": lambda p, a: np.savez(p, **a), "mat": savemat}[suffix](path, arrays)
        assert values(bs.identify(PIPELINE + SECTION, path)) == values(own)
        assert values(bs.identify(PIPELINE, path, columns={"encoder.q_hat": "angle", "pid": "torque"})) == values(own)

    def test_a_section_reads_a_record_of_the_diagram_too(self, own):
        """The lab's names are asked for, the diagram's are there: the same file serves both."""
        assert values(bs.identify(PIPELINE + SECTION, own)) == values(own)

    def test_settings_can_be_changed(self, own):
        """Without 'back.y' in the record the gains are computed, and twice the gain is twice the torque."""
        bare = own.select("encoder", "pid")
        once, twice = (bs.identify(PIPELINE, bare, params={"k": k, "smooth.bandwidth": 20}) for k in (2, 4))
        assert twice.estimates["ls"].vector() == pytest.approx(2 * once.estimates["ls"].vector(), rel=1e-12)
        assert "no parameter 'bandwith'" in refused(PIPELINE, own, params={"smooth.bandwith": 20})

    def test_a_reference_lands_under_the_diagrams_name(self, own):
        found = bs.identify(PIPELINE, bs.Record.from_arrays(own.t, angle=own["encoder"], u=own["pid"], r=own["ref"]),
                            columns={"encoder": "angle", "pid": "u", "ref": "r"})  # fmt: skip
        assert (found["ref.y"] == own["ref"]).all() and found.signal("ref").measured

    def test_what_is_mapped_is_not_computed(self, own):
        half = own["pid"]
        arrays = bs.Record.from_arrays(own.t, angle=own["encoder"], half=half)
        found = bs.identify(PIPELINE, arrays, columns={"encoder": "angle", "back": "half"})
        assert "drive.y" not in found and values(found) == values(own)

    def test_a_record_block_may_be_measured_whole_or_not_at_all(self, own):
        arrays = bs.Record.from_arrays(own.t, u=own["pid"], qd=own["smooth.dx"], **{n: own[f"smooth.{n}"] for n in ("x", "ddx")})
        text = refused(PIPELINE, arrays, columns={"smooth.dx": "qd", "pid": "u"})
        assert "record: 'smooth' makes smooth.x, smooth.dx" in text and "too, or none of them" in text

    def test_observers_run_too(self):
        text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, seed: 1}
blocks:
  push:    {type: Multisine, f_min: 1.0, f_max: 8.0, lines: 8, amplitude: 0.3, phases: schroeder}
  joint:   {type: GravityJoint, in: push}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}
  ekf:     {type: EKF, model: joint, Ts: 1e-3, in: {y: encoder, u: push}}
log: [push, encoder, ekf]
"""
        if "EKF" not in bs.library():
            pytest.skip("there is no EKF")
        own = bs.simulate(text)
        found = bs.identify(text, own.select("push", "encoder"))
        names = [n for n in own if n.startswith("ekf.")]
        assert names and all(found[n] == pytest.approx(own[n], rel=1e-12, abs=1e-15) for n in names)


class TestUnits:
    def test_converted_where_both_are_known(self, own, tmp_path):
        arrays = {"t": own.t, "angle [deg]": np.degrees(own["encoder"]), "torque [mN m]": 1e3 * own["pid"]}
        found = bs.identify(PIPELINE + SECTION, write(tmp_path / "lab.csv", arrays))
        assert found.estimates["ls"].vector() == pytest.approx(own.estimates["ls"].vector(), rel=1e-9)
        assert found.unit("encoder") == "rad" and "'encoder.q_hat': angle converted from deg to rad" in found.provenance["notes"]

    def test_scale_and_offset(self, own, tmp_path):
        arrays = columns(own, angle=(own["encoder"] - 0.3) / 1e-5)
        column = {"column": "angle", "scale": 1e-5, "offset": 0.3}
        found = bs.identify(PIPELINE, write(tmp_path / "lab.csv", arrays), columns={"encoder": column, "pid": "torque"})
        assert found["encoder"] == pytest.approx(own["encoder"], abs=1e-12)

    def test_what_cannot_be_converted_is_refused(self, own, tmp_path):
        path = write(tmp_path / "lab.csv", {"t": own.t, "angle [V]": own["encoder"], "torque": own["pid"]})
        assert "column angle is in V, the signal in rad, and neither can be made of the other" in refused(
            PIPELINE + SECTION, path
        )
        path = write(tmp_path / "lab.csv", {"t": own.t, "angle [count]": own["encoder"], "torque": own["pid"]})
        assert "give the factor: {column: angle, scale: ...}" in refused(PIPELINE + SECTION, path)

    @pytest.mark.parametrize(
        ("found", "wanted", "expected"),
        [("mm", "m", 1e-3), ("deg/s", "rad/s", np.pi / 180), ("rpm", "rad/s", np.pi / 30), ("N.m", "N m", 1),
         ("mm/s²", "m/s^2", 1e-3), ("Nm s/rad", "N m s/rad", 1), ("ms", "s", 1e-3), ("V", "A", None),
         ("furlong", "m", None), ("kHz", "1/s", 1e3)],
    )  # fmt: skip
    def test_factors(self, found, wanted, expected):
        assert unit_factor(found, wanted) == (None if expected is None else pytest.approx(expected, rel=1e-14))


class TestVectors:
    TEXT = """
format: 1
simulate: {stop: 1, step: 1e-3, solver: rk4}
blocks:
  a:    {type: Sine, amplitude: [1, 2], frequency: 1}
  slow: {type: ZeroPhaseFilter, cutoff: 20, in: a}
"""

    def test_elements_side_by_side_a_matrix_or_named_columns(self, tmp_path):
        own = bs.simulate(self.TEXT)
        q = own["a"]
        path = write(tmp_path / "lab.csv", {"t": own.t, "q[0]": q[:, 0], "q[1]": q[:, 1]})
        np.savez(tmp_path / "lab.npz", t=own.t, m=q)
        for found in (
            bs.identify(self.TEXT, path, columns={"a": "q"}),
            bs.identify(self.TEXT, path, columns={"a": ["q[0]", "q[1]"]}),
            bs.identify(self.TEXT, tmp_path / "lab.npz", columns={"a": "m"}),
            bs.identify(self.TEXT, tmp_path / "lab.npz", columns={"a": ["m[0]", "m[1]"]}),
        ):
            assert (found["slow"] == own["slow"]).all()

    def test_sizes_that_do_not_fit(self, tmp_path):
        np.savez(tmp_path / "lab.npz", t=np.arange(50) / 100, m=np.zeros((50, 3)), s=np.zeros(50))
        assert "'a.y' has 2 elements, but m has 3" in refused(self.TEXT, tmp_path / "lab.npz", columns={"a": "m"})
        assert "'a.y' has 2 elements, but s has 1" in refused(self.TEXT, tmp_path / "lab.npz", columns={"a": "s"})
        assert "'a[0]' is an element. Map the whole signal" in refused(self.TEXT, tmp_path / "lab.npz", columns={"a[0]": "s"})


class TestTime:
    def test_another_column_or_none(self, own, tmp_path):
        arrays = {"clock": 1e3 * own.t, "angle": own["encoder"], "torque": own["pid"]}
        path = write(tmp_path / "lab.csv", arrays)
        found = bs.identify(PIPELINE + SECTION, path, time={"column": "clock", "unit": "ms"})
        assert found.t == pytest.approx(own.t, abs=1e-12)
        assert values(bs.identify(PIPELINE + SECTION, path, every=1e-3)) == pytest.approx(np.array(values(own)), rel=1e-9)
        assert "no time: found clock, angle, torque" in refused(PIPELINE + SECTION, path)
        assert "no column 'clok' for the time" in refused(PIPELINE + SECTION, path, time="clok")
        assert "one of them; found both" in refused(PIPELINE + SECTION, path, time="clock", every=1e-3)

    def test_time_in_milliseconds(self, own, tmp_path):
        """By its head, or said beside the file."""
        heads = {"time [ms]": 1e3 * own.t, "angle": own["encoder"], "torque": own["pid"]}
        given = {"columns": {"encoder": "angle", "pid": "torque"}}
        path = write(tmp_path / "head.csv", heads)
        assert bs.identify(PIPELINE, path, **given).t[-1] == pytest.approx(own.t[-1])
        bare = write(tmp_path / "bare.csv", {"zeit": heads.pop("time [ms]"), **heads})
        assert bs.identify(PIPELINE, bare, time="zeit [ms]", **given).t[-1] == pytest.approx(own.t[-1])

    def test_cells_left_empty_are_missing(self, own, tmp_path):
        path = write(tmp_path / "lab.csv", {"t": own.t, "encoder.q_hat": own["encoder"], "pid.u": own["pid"]})
        lines = path.read_text().splitlines()
        cells = lines[50].split(",")
        path.write_text("\n".join([*lines[:50], ",".join([cells[0], "", *cells[2:]]), *lines[51:]]) + "\n")
        with pytest.raises(RecordError, match="missing"):
            bs.identify(PIPELINE, path)
        assert bs.identify(PIPELINE, path, missing="bridge").estimates["ls"]

    def test_a_little_jitter_is_accepted_and_said(self, own):
        jitter = own.t + 5e-6 * np.sin(np.arange(len(own.t)))
        record = bs.Record.from_arrays(jitter, angle=own["encoder"], torque=own["pid"])
        found = bs.identify(PIPELINE + SECTION, record)
        assert "jitter by up to" in found.provenance["notes"][0] and np.ptp(np.diff(found.t)) < 1e-12
        assert found.estimates["ls"].vector() == pytest.approx(own.estimates["ls"].vector(), rel=1e-6)

    def test_printed_times_are_left_alone(self, own):
        record = bs.Record.from_arrays(own.t + 1e-9 * np.sin(np.arange(len(own.t))), angle=own["encoder"], torque=own["pid"])
        found = bs.identify(PIPELINE + SECTION, record)
        assert not found.provenance["notes"] and (found.t == record.t).all()

    def test_irregular_times_are_refused_and_can_be_resampled(self, own):
        t = own.t + 2e-4 * np.sin(0.5 * np.arange(len(own.t)))
        angle = np.interp(t, own.t, own["encoder"])
        record = bs.Record.from_arrays(t, angle=angle, torque=np.interp(t, own.t, own["pid"]))
        text = refused(PIPELINE + SECTION, record)
        assert "is not evenly sampled: steps are" in text and "is row" in text and "resample: {every" in text
        found = bs.identify(PIPELINE + SECTION, record, resample=1e-3)
        assert found.estimates["ls"]["J"].value == pytest.approx(own.estimates["ls"]["J"].value, rel=0.02)
        cubic = bs.identify(PIPELINE + SECTION, record, resample={"every": "1/1000", "method": "cubic"})
        assert len(cubic.t) == len(found.t)
        assert "method: found 'magic'" in refused(PIPELINE + SECTION, record, resample={"every": 1e-3, "method": "magic"})

    def test_a_gap_is_named_bridged_or_filled(self, own):
        keep = np.ones(len(own.t), dtype=bool)
        keep[700:720] = keep[1200] = False
        record = bs.Record.from_arrays(own.t[keep], angle=own["encoder"][keep], torque=own["pid"][keep])
        text = refused(PIPELINE + SECTION, record)
        assert "has a gap: row 699 is at 0.699 s, row 700 at 0.72 s, and rows are 0.001 s apart. 21 rows are missing in 2" in text
        assert "smooth" not in text
        filled = bs.identify(PIPELINE + SECTION, record, resample=1e-3)
        assert len(filled.t) == len(own.t)
        text = refused(PIPELINE + SECTION, record, missing="bridge")  # the smoother bridges; the torque has nobody to
        assert "block 'drive': input 'u': 21 samples are missing or infinite, the first at 0.7 s" in text
        smoother = PIPELINE.replace('k: "${k}", in: pid}', 'k: "${k}", in: even}\n  even: {type: Resample, every: 1e-3, in: pid}')
        found = bs.identify(smoother + SECTION, record, missing="bridge")
        assert found.estimates["ls"]["J"].value == pytest.approx(own.estimates["ls"]["J"].value, rel=0.02)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda t: np.r_[t[:5], t[4], t[6:]], "time must grow: sample 5"),
            (lambda t: np.r_[t[:5], t[3], t[6:]], "time must grow: sample 5"),
            (lambda t: np.r_[t[:5], np.nan, t[6:]], "time is nan at sample 5"),
        ],
    )
    def test_time_that_is_none(self, own, change, words, tmp_path):
        path = write(tmp_path / "lab.csv", columns(own, t=change(own.t)))
        text = refused(PIPELINE + SECTION, path)
        assert words in text and "line 7" in text
        assert values(bs.identify(PIPELINE + SECTION, path, every="1/1000")) == values(own)  # the rows are known to be even

    def test_few_rows(self, own):
        one = bs.Record.from_arrays([0.0], angle=[1.0], torque=[1.0])
        assert "has 1 row; a record has at least two" in refused(PIPELINE + SECTION, one)
        few = bs.Record.from_arrays(own.t[:3], angle=own["encoder"][:3], torque=own["pid"][:3])
        assert "block 'smooth'" in refused(PIPELINE + SECTION, few)

    def test_the_base_of_a_record(self):
        t = np.delete(np.arange(1000) * 5e-4, [10, 11, 500])
        base = time_base(t)
        assert base.interval == 5e-4 and base.gaps.tolist() == [10, 498] and base.jitter < 1e-9


class TestMissing:
    def test_nan_is_named(self, own):
        angle = own["encoder"].copy()
        angle[[70, 71]] = np.nan
        record = bs.Record.from_arrays(own.t, angle=angle, torque=own["pid"])
        text = refused(PIPELINE + SECTION, record)
        assert "is nan at row 70, t = 0.07 s; 2 samples are missing" in text and "missing: bridge" in text
        bridged = bs.identify(PIPELINE + SECTION, record, missing="bridge")
        filled = bs.identify(PIPELINE + SECTION, record, resample=1e-3)
        for found in (bridged, filled):
            assert found.estimates["ls"]["J"].value == pytest.approx(own.estimates["ls"]["J"].value, rel=0.01)

    def test_infinite_samples(self, own):
        angle = own["encoder"].copy()
        angle[70] = np.inf
        assert "column angle is infinite at row 70" in refused(
            PIPELINE + SECTION, bs.Record.from_arrays(own.t, angle=angle, torque=own["pid"])
        )

    def test_a_column_that_is_not_there(self, own):
        record = bs.Record.from_arrays(own.t, angel=own["encoder"], torque=own["pid"])
        assert "the record has no column 'angle'. It has: angel, torque. Did you mean 'angel'?" in refused(
            PIPELINE + SECTION, record
        )
        assert "no column is a signal of the diagram" in refused(PIPELINE, record)

    def test_a_column_that_is_asked_for_beside_the_file_must_be_there(self, own):
        """Even where the record has the signal under its own name: the user said otherwise."""
        for text in (PIPELINE, PIPELINE + SECTION):
            with pytest.raises(DiagramError, match="the record has no column 'angel'"):
                bs.identify(text, own, columns={"encoder": "angel"})

    def test_a_signal_that_cannot_be_had(self, own):
        record = bs.Record.from_arrays(own.t, angle=own["encoder"])
        text = refused(PIPELINE, record, columns={"encoder": "angle"})
        assert "block 'ls': its input 'tau' comes from 'back.y', which the record does not have and which cannot be" in text
        assert "that takes 'ref.y', and 'ref' (Multisine) is a source" in text
        assert "--map back.y=COLUMN. It has: angle." in text

    @pytest.mark.parametrize(
        ("wire", "cause"),
        [("joint.q", "'joint' (GravityJoint) moves with states of its own"), ("noise", "'noise' (WhiteNoise) draws noise")],
    )
    def test_why(self, wire, cause):
        text = f"""
format: 1
blocks:
  push:   {{type: Constant, value: 1}}
  joint:  {{type: GravityJoint, in: push}}
  noise:  {{type: WhiteNoise, Ts: 1e-3}}
  smooth: {{type: ZeroPhaseFilter, cutoff: 20, in: {wire}}}
  other:  {{type: Sine}}
"""
        record = bs.Record.from_arrays(np.arange(100) / 1000, x=np.zeros(100))
        assert cause in refused(text, record, columns={"other": "x"})

    def test_a_constant_needs_no_column(self):
        text = """
format: 1
blocks:
  level: {type: Constant, value: 2}
  other: {type: Sine}
  both:  {type: Sum, signs: "++", in: [level, other]}
  slow:  {type: ZeroPhaseFilter, cutoff: 20, in: both}
"""
        found = bs.identify(text, bs.Record.from_arrays(np.arange(100) / 1000, x=np.ones(100)), columns={"other": "x"})
        assert found["slow"] == pytest.approx(np.full(100, 3.0))

    def test_nothing_to_run(self):
        text = "format: 1\nblocks:\n  a: {type: Sine}\n"
        record = bs.Record.from_arrays([0.0, 1.0], x=[1.0, 2.0])
        assert "no block that works on a record" in refused(text, record, columns={"a": "x"})


class TestTheSection:
    def test_it_is_read_and_written(self):
        text = PIPELINE + (
            "record: {file: lab.csv, time: {column: clock, unit: ms}, resample: {every: 1e-3, method: cubic}, missing: bridge,\n"
            '         signals: {encoder: {column: n, unit: deg, scale: "${k / 10}", offset: 1}, pid: [u]}}\n'
        )
        spec = load(text)
        assert load(dump(spec)) == spec
        diagram = bs.build(spec)
        assert diagram.record.signals["encoder"].scale == 0.2 and diagram.record.resample["method"] == "cubic"
        assert load(dump(diagram)) == spec
        assert "${k / 10}" in dump(diagram)

    @pytest.mark.parametrize(
        ("section", "words"),
        [
            ("{fle: a.csv}", "record has no key 'fle'"),
            ("{file: 3}", "record: file: found 3"),
            ("{time: t, every: 1}", "one of them; found both"),
            ("{every: -1}", "record: every: must be above 0"),
            ("{missing: maybe}", "refuse or bridge is wanted"),
            ("{resample: {method: linear}}", "Write {every: 1e-3, method: linear}"),
            ("{signals: {encodr: a}}", "'encodr' names no block"),
            ("{signals: {smooth: a}}", "has several outputs; say which: smooth.x"),
            ("{signals: {encoder: {unit: m}}}", "The name of a column is wanted"),
            ("{signals: {encoder: {column: a, scale: 0}}}", "scale: must not be 0"),
            ("{signals: {encoder: {column: a, gain: 2}}}", "has no key 'gain'"),
        ],
    )
    def test_mistakes_have_their_line(self, section, words, tmp_path):
        path = tmp_path / "p.yaml"
        path.write_text(PIPELINE + f"record: {section}\n")
        with pytest.raises(DiagramError) as error:
            bs.open_diagram(path)
        assert words in str(error.value) and "p.yaml:18:" in str(error.value)

    def test_the_schema_knows_it(self):
        jsonschema = pytest.importorskip("jsonschema")
        import yaml

        document = yaml.safe_load(PIPELINE.replace("1e-", "1.0e-") + SECTION)
        jsonschema.validate(document, bs.schema())
        document["record"]["signals"]["pid"] = {"column": "u", "gain": 1}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, bs.schema())

    def test_where_its_file_is_looked_for(self, own, tmp_path, monkeypatch):
        (tmp_path / "here").mkdir()
        (tmp_path / "data").mkdir()
        pipeline = tmp_path / "here" / "p.yaml"
        pipeline.write_text(PIPELINE + SECTION.replace("record:\n", "record:\n  file: lab.csv\n"))
        monkeypatch.delenv("BLOCKSIM_DATA", raising=False)
        text = refused(pipeline)
        assert "the file 'lab.csv' does not exist" in text and "BLOCKSIM_DATA" in text and "p.yaml:19" in text
        monkeypatch.setenv("BLOCKSIM_DATA", str(tmp_path / "data"))
        write(tmp_path / "data" / "lab.csv", columns(own))
        assert values(bs.identify(pipeline)) == values(own)
        pipeline.write_text(PIPELINE + SECTION.replace("record:\n", "record:\n  file: ../data/lab.csv\n"))
        monkeypatch.delenv("BLOCKSIM_DATA")
        assert "lies outside the folder of the diagram" in refused(pipeline)
        assert values(bs.identify(bs.open_diagram(load(pipeline, allow_outside=True)))) == values(own)
        assert values(bs.identify(pipeline, tmp_path / "data" / "lab.csv")) == values(own)
        assert "no record is named" in refused(PIPELINE)

    def test_a_diagram_saved_elsewhere_still_finds_it(self, own, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b").mkdir()
        write(tmp_path / "a" / "lab.csv", columns(own))
        (tmp_path / "a" / "p.yaml").write_text(PIPELINE + SECTION.replace("record:\n", "record:\n  file: lab.csv\n"))
        bs.save(bs.open_diagram(tmp_path / "a" / "p.yaml"), tmp_path / "a" / "b" / "p.yaml")
        assert f"..{os.sep}lab.csv" in (tmp_path / "a" / "b" / "p.yaml").read_text()


class TestTheCommand:
    def run(self, *args):
        return CliRunner().invoke(app, ["identify", *map(str, args)])

    def test_it_prints_and_writes(self, own, tmp_path):
        path = write(tmp_path / "lab.csv", {"time": own.t, "angle": np.degrees(own["encoder"]), "torque": own["pid"]})
        (tmp_path / "p.yaml").write_text(PIPELINE)
        done = self.run(tmp_path / "p.yaml", "--record", path, "--map", "encoder=angle [deg]", "--map", "pid=torque", "--out",
                        tmp_path / "out")  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "J" in done.output and "of lab.csv" in done.output and "note:" in done.output
        estimates = json.loads((tmp_path / "out" / "estimates.json").read_text())
        found = json.dumps(estimates["ls"])
        assert repr(own.estimates["ls"]["Fc"].value)[:6] in found
        assert (tmp_path / "out" / "record.npz").exists()

    def test_json(self, own, tmp_path):
        path = write(tmp_path / "lab.csv", columns(own))
        (tmp_path / "p.yaml").write_text(PIPELINE + SECTION)
        done = self.run(tmp_path / "p.yaml", "-r", path, "--json")
        found = json.loads(done.stdout)
        assert found["source"] == "lab.csv" and found["samples"] == len(own.t) and "ls" in found["estimates"]

    def test_mistakes(self, own, tmp_path):
        path = write(tmp_path / "lab.csv", columns(own))
        (tmp_path / "p.yaml").write_text(PIPELINE)
        for args, words in (
            (("--map", "encoder"), "write SIGNAL=COLUMN"),
            (("--map", "encoder=nothing"), "no column 'nothing'"),
            (("--map", "encodre=angle"), "Did you mean 'encoder'?"),
            (("--map", "encoder=angle", "--missing", "x"), "refuse or bridge"),
        ):
            done = self.run(tmp_path / "p.yaml", "-r", path, *args)
            assert done.exit_code == 2 and words in done.output, done.output
        assert self.run(tmp_path / "p.yaml", "-r", tmp_path / "no.csv").exit_code == 2


# ---- small and odd records ------------------------------------------------------------------------------------------------

SLOPE = "format: 1\nblocks:\n  s: {type: Sine}\n  f: {type: CentralDifference, in: s}\n"


def short(*values: float, times=(0.0, 0.1, 0.2, 0.3)) -> bs.Record:
    return bs.Record.from_arrays(list(times[: len(values)]), {"s.y": list(values)})


def test_two_columns_for_a_scalar_are_refused_with_what_to_do():
    record = bs.Record.from_arrays([0.0, 0.1], {"a": [1.0, 2.0], "b": [1.0, 2.0], "q": [[1.0, 2.0], [3.0, 4.0]]})
    for column, words in ((["a", "b"], "a, b have 2. Name one: s.y: a;"), ("q", "q has 2. Name one: s.y: q;")):
        with pytest.raises(bs.DiagramError) as refused:
            bs.identify(SLOPE, record, columns={"s": column})
        assert str(refused.value).startswith(f"record: 's': 's.y' has 1 element, but {words}")
    assert bs.identify(SLOPE, record, columns={"s": ["b"]})["f"].tolist() == pytest.approx([10, 10])


def test_two_rows_are_a_record():
    assert bs.identify(SLOPE, short(1, 2))["f"].tolist() == pytest.approx([10, 10])
    for method, middle in (("linear", 1.5), ("cubic", 1.5), ("hold", 1.0)):  # of two points a spline is a line
        even = bs.identify(SLOPE, short(1, 2), resample={"every": 0.05, "method": method})
        assert even["s"].tolist() == pytest.approx([1, middle, 2]) and even.t.tolist() == pytest.approx([0, 0.05, 0.1])


@pytest.mark.parametrize(
    ("record", "resample", "words"),
    [
        (short(1, 2), 1.0, "resample: every 1.0 s leaves 1 sample of the 0.1 s that the signals share."),
        (short(1, np.nan), 0.05, "signal 's.y' has 1 row not missing; at least two are wanted."),
        (short(1), 0.05, "resample: 's.y' has 1 row; at least two are wanted."),
        (short(1), None, "the record has 1 row; a record has at least two."),
    ],
)
def test_less_than_two_rows_are_not(record, resample, words):
    with pytest.raises(bs.RecordError) as refused:
        bs.identify(SLOPE, record, resample=resample)
    assert str(refused.value) == words


def test_a_mapping_on_the_command_line_may_say_all_that_the_file_may():
    from blocksim.cli.arguments import read_columns

    columns = read_columns(["torque={column: Strom, scale: 1.9, delay: -2e-3}", "arm=q [deg]"])
    assert columns == {"torque": {"column": "Strom", "scale": 1.9, "delay": -2e-3}, "arm": {"column": "q", "unit": "deg"}}
    with pytest.raises(bs.BlocksimError, match="--map arm="):
        read_columns(["arm={column: q, column: p}"])
