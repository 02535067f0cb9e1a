"""Files from elsewhere: what other people's tools write, read without a description."""

from __future__ import annotations

import numpy as np
import pytest
from test_record_hostile import load_error

from blocksim.records.record import Record


class TestFromTheLab:
    @pytest.mark.parametrize(
        "content",
        [
            "t,q,tau\n0,1,4\n0.5,2,5\n1,3,6\n",
            "\ufefft,q,tau\r\n0,1,4\r\n0.5,2,5\r\n1,3,6\r\n",
            "# rig 3\nTime [s];q;tau\n0;1;4\n0.5;2;5\n1;3;6\n",
            '"t"\t"q"\t"tau"\n0\t1\t4\n5e-1\t2\t5\n"1"\t3\t6\n\n',
            "# t, q, tau\n0,1,4\n0.5,2,5\n1,3,6\n",
        ],
    )
    def test_csv(self, content, tmp_path):
        (tmp_path / "lab.csv").write_bytes(content.encode())
        r = Record.load(tmp_path / "lab.csv")
        assert r.t.tolist() == [0, 0.5, 1] and r["q"].tolist() == [1, 2, 3] and r["tau"].tolist() == [4, 5, 6]
        assert r.signal("q").measured and r.provenance == {"source": "lab.csv"}

    def test_units_in_the_header(self, tmp_path):
        (tmp_path / "lab.csv").write_text("t [s],arm.q [rad],tau[N m],q[0],T\n0,1,2,3,4\n")
        r = Record.load(tmp_path / "lab.csv")
        assert {n: r.unit(n) for n in r} == {"arm.q": "rad", "tau": "N m", "q[0]": "", "T": ""}

    def test_mat_with_columns_rows_constants_and_structs(self, tmp_path):
        from scipy.io import savemat

        content = {
            "time": np.arange(3.0)[:, None],
            "q": np.arange(3)[None, :],
            "V": np.ones((3, 2)),
            "J": 0.02,
            "who": "lab é",
            "cell": np.array([1, "a"], dtype=object),
            "opt": {"a": 1},
        }
        for compressed in (False, True):
            savemat(tmp_path / "lab.mat", content, do_compression=compressed)
            r = Record.load(tmp_path / "lab.mat")
            assert r["q"].tolist() == [0, 1, 2] and r["V"].shape == (3, 2) and list(r) == ["q", "V"]
            inside = {"cell{1}": 1.0, "cell{2}": "a", "opt.a": 1.0}
            assert r.provenance == {"source": "lab.mat", "constants": {"J": 0.02, "who": "lab é", **inside}}

    def test_npz(self, tmp_path):
        q, big = np.arange(3, dtype="f4"), np.arange(3, dtype=">i2")
        np.savez_compressed(tmp_path / "lab.npz", Time=np.arange(3), q=q, big=big, g=9.81)
        r = Record.load(tmp_path / "lab.npz")
        assert list(r) == ["q", "big"] and r["big"].tolist() == [0, 1, 2] and r.provenance["constants"] == {"g": 9.81}

    def test_arrays_that_do_not_fit_the_time(self, tmp_path):
        np.savez(tmp_path / "lab.npz", t=np.arange(3), q=np.zeros((2, 4)))
        assert load_error(tmp_path / "lab.npz").startswith("'q' has shape (2, 4) but the time 't' has 3 samples. Transpose")
        np.savez(tmp_path / "lab.npz", t=np.zeros((3, 2)), q=np.zeros(3))
        assert load_error(tmp_path / "lab.npz").startswith("time has shape (3, 2)")
        np.savez(tmp_path / "lab.npz", x=np.zeros(3))
        assert load_error(tmp_path / "lab.npz").startswith("no time: found x. Name the time 't' or 'time', say which column")

    def test_a_saved_csv_without_its_description_is_a_plain_table(self, tmp_path):
        Record.from_arrays([0.0, 1.0], v=np.eye(2), units={"v": "m"}).save(tmp_path / "a.csv")
        text = (tmp_path / "a.csv").read_text()
        (tmp_path / "a.csv").write_text("".join(line for line in text.splitlines(True) if not line.startswith("#")))
        r = Record.load(tmp_path / "a.csv")
        assert r["v[1]"].tolist() == [0, 1] and r.unit("v[0]") == "m"

    def test_parquet(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pyarrow.table({"time": [0, 1, 2], "on": [True, False, True], "q": [1.0, None, 3.0]})
        parquet.write_table(table, tmp_path / "a.parquet")
        r = Record.load(tmp_path / "a.parquet")
        assert r.t.tolist() == [0, 1, 2] and r["on"].tolist() == [1, 0, 1] and np.isnan(r["q"][1])
