"""MAT-files nobody should trust, and those that scipy ships: read within their bounds, or refused in words."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from test_record_hostile import load_error

from blocksim.errors import RecordError
from blocksim.records.record import Record


def mat_element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def mat_variable(name: bytes, kind: int, shape: tuple, data: bytes, stored: int = 9) -> bytes:
    parts = mat_element(6, struct.pack("<II", kind, 0)) + mat_element(5, struct.pack(f"<{len(shape)}i", *shape))
    return mat_element(14, parts + mat_element(1, name) + mat_element(stored, data))


def mat(path: Path, *elements: bytes) -> Path:
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements))
    return path


TIME = mat_variable(b"t", 6, (2, 1), struct.pack("<2d", 0, 1))


class TestMat:
    def test_garbage(self, tmp_path):
        (tmp_path / "a.mat").write_bytes(b"garbage" * 40)
        assert "is a file starting with b'garbagegarbagega'; a level 5 MAT-file is wanted" in load_error(tmp_path / "a.mat")

    def test_version_7_3(self, tmp_path):
        (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n")
        text = load_error(tmp_path / "a.mat")  # it says it is one, and is not
        assert "cannot be read as .mat" in text or "which takes h5py" in text

    @pytest.mark.parametrize("kind", [3, 16, 17, 18, 99])
    def test_functions_and_objects(self, kind, tmp_path):
        record = Record.load(mat(tmp_path / "a.mat", TIME, mat_variable(b"f", kind, (1, 1), bytes(8))))
        assert record.provenance["ignored"] == ["f"]  # what cannot be read is left out, and said

    def test_a_shape_that_promises_more(self, tmp_path):
        text = load_error(mat(tmp_path / "a.mat", TIME, mat_variable(b"q", 6, (2**31 - 1, 2**31 - 1), bytes(16))))
        assert text == "variable 'q' says its shape is (2147483647, 2147483647), but holds 2 numbers."

    def test_a_length_beyond_the_file(self, tmp_path):
        text = load_error(mat(tmp_path / "a.mat", TIME, struct.pack("<II", 14, 2**32 - 1) + bytes(100)))
        assert text == "is cut short or damaged: an element says 4294967295 bytes, 100 follow. Save it again."

    def test_a_compressed_bomb(self, tmp_path):
        bomb = zlib.compress(mat_variable(b"q", 6, (4_000_000, 1), bytes(32_000_000)))
        path = mat(tmp_path / "a.mat", TIME, struct.pack("<II", 15, len(bomb)) + bomb)
        assert path.stat().st_size < 100_000
        assert "more than max_bytes=1000000" in load_error(path, max_bytes=1_000_000)

    def test_bytes_that_widen(self, tmp_path):
        path = mat(tmp_path / "a.mat", TIME, mat_variable(b"q", 9, (1000, 1), bytes(1000), stored=2))
        assert load_error(path, max_bytes=5000).startswith("needs 8016 bytes")

    def test_half_a_compressed_variable(self, tmp_path):
        half = zlib.compress(TIME)[:-10]
        text = load_error(mat(tmp_path / "a.mat", struct.pack("<II", 15, len(half)) + half))
        assert text == "is cut short or damaged: a compressed variable has no end. Save it again."

    def test_twice_complex_and_strange(self, tmp_path):
        assert load_error(mat(tmp_path / "a.mat", TIME, TIME)) == "holds the variable 't' twice; names must differ."
        assert "element of kind 9" in load_error(mat(tmp_path / "b.mat", mat_element(9, bytes(8))))
        from scipy.io import savemat

        savemat(tmp_path / "c.mat", {"t": [0.0, 1.0], "q": [1j, 2j]})
        assert load_error(tmp_path / "c.mat") == "variable 'q' is complex; real numbers are wanted."

    def test_one_byte_that_crashes_other_readers(self, tmp_path):
        """The storage code of the numbers, out of its table: scipy.io.loadmat reads past the table and dies on it."""
        text = load_error(mat(tmp_path / "a.mat", mat_variable(b"t", 6, (2, 1), bytes(16), stored=255)))
        assert "cannot be read as .mat" in text

    def test_every_file_scipy_ships_reads_the_same_or_is_refused(self):
        import scipy.io.matlab

        from blocksim.records import matfile

        files = sorted((Path(scipy.io.matlab.__file__).parent / "tests" / "data").glob("test*_[67]*.mat"))
        if not files:
            pytest.skip("scipy is installed without its test files")
        compared = 0
        for file in files:
            data = memoryview(file.read_bytes())
            order = "<" if data[126:128] == b"IM" else ">"
            expected = scipy.io.loadmat(file) if not bytes(data).startswith(b"MATLAB 7.0") else {}
            for kind, body in matfile.mat_elements(data[128:], order) if expected else ():
                if kind == matfile.MAT_COMPRESSED:
                    kind, body = next(matfile.mat_elements(memoryview(zlib.decompress(body)), order))
                try:
                    name, array = matfile.mat_variable(body, order)
                except RecordError:
                    continue
                if array is not None and name:
                    theirs = expected[name]
                    assert str(array) == str(theirs[0]) if array.dtype.kind == "U" else np.array_equal(array, theirs)
                    compared += 1
        assert compared > 20
