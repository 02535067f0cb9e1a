"""The parts of the disk cache one by one; what it refuses to load stands in test_program.py."""

from __future__ import annotations

import math
import os

import pytest

import blocksim as bs
from blocksim.compiler import cache, program
from blocksim.compiler.program import code_of

KEY, TEXT = "a" * 32, "x = 'grün'\n"


@pytest.fixture
def base(monkeypatch, tmp_path):
    monkeypatch.setenv("BLOCKSIM_CACHE", str(tmp_path / "cache"))
    return cache.root()


def test_the_folder_is_the_users_cache_unless_one_is_chosen(monkeypatch, tmp_path):
    monkeypatch.delenv("BLOCKSIM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.root() == tmp_path / "blocksim" and (tmp_path / "blocksim").stat().st_mode & 0o077 == 0


def test_the_key_is_made_once_and_is_nobody_elses(base):
    key = cache.secret(base)
    assert len(key) == 32 and cache.secret(base) == key
    assert (base / "key").stat().st_mode & 0o077 == 0


def test_a_seal_depends_on_the_key_on_names_and_on_contents(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    seal = cache.seal_of(tmp_path, b"k")
    assert cache.seal_of(tmp_path, b"other") != seal
    (tmp_path / cache.SEAL).write_text("does not count itself")
    assert cache.seal_of(tmp_path, b"k") == seal
    (tmp_path / "a").write_bytes(b"2")
    (tmp_path / "b").write_bytes(b"1")
    assert cache.seal_of(tmp_path, b"k") != seal
    (tmp_path / "b").rename(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / "a")
    assert cache.seal_of(tmp_path, b"k") != seal


def test_a_program_is_there_until_it_is_dropped(base):
    assert not cache.has(KEY) and not cache.drop(KEY)
    with cache.folder(KEY, TEXT) as place:
        assert (place / "program.py").read_text(encoding="utf-8") == TEXT
    assert cache.has(KEY) and not cache.has("b" * 32)
    assert cache.drop(KEY) and not cache.has(KEY)


def test_another_text_under_the_same_key_is_not_taken_for_it(base):
    with cache.folder(KEY, TEXT):
        pass
    (place,) = (path for path in base.iterdir() if path.is_dir())
    assert cache.sound(place, cache.secret(base), TEXT)
    assert cache.sound(place, cache.secret(base))
    assert not cache.sound(place, cache.secret(base), TEXT + "y = 2\n")


def test_programs_of_another_version_are_not_seen(base, monkeypatch):
    with cache.folder(KEY, TEXT):
        pass
    monkeypatch.setattr(cache, "version", lambda: "another")
    assert not cache.has(KEY)


def test_without_a_folder_nothing_is_there(monkeypatch):
    monkeypatch.setenv("BLOCKSIM_CACHE", "off")
    assert not cache.has(KEY) and not cache.drop(KEY)


# ---- whose folders they are ------------------------------------------------------------------------------------------------


def keep_one(number: int) -> None:
    with cache.folder(f"{number:032x}", TEXT):
        pass


def test_tidying_drops_the_oldest_programs(base, monkeypatch):
    monkeypatch.setattr(cache, "KEEP", 3)
    for number in range(6):
        keep_one(number)
        os.utime(base / f"{number:032x}-{cache.version()}", (number, number))
    keep_one(9)
    assert [n for n in range(6) if cache.has(f"{n:032x}")] == [4, 5] and cache.has(f"{9:032x}")
    assert (base / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_what_is_not_its_own_stays_when_a_project_is_taken_for_the_cache(monkeypatch, tmp_path):
    """The cache was once told to use a folder of projects, and kept the 200 used last."""
    monkeypatch.setattr(cache, "KEEP", 3)
    monkeypatch.setenv("BLOCKSIM_CACHE", str(tmp_path))
    projects = [tmp_path / f"project{n}" for n in range(20)] + [tmp_path / ("f" * 32 + "-old")]
    for project in projects:
        project.mkdir()
        (project / "work.txt").write_text("months of it")
    tmp_path.chmod(0o700)
    for number in range(6):
        keep_one(number)
    assert all((project / "work.txt").is_file() for project in projects)
    assert not (tmp_path / "CACHEDIR.TAG").exists(), "it is not marked as a cache either"


def test_nor_does_a_link_or_a_name_of_another_pattern_go_in_a_marked_folder(base, monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "KEEP", 0)
    keep_one(1)
    (tmp_path / "elsewhere").mkdir()
    (base / ("e" * 32 + "-" + "0" * 12)).symlink_to(tmp_path / "elsewhere")
    (base / "notes").mkdir()
    keep_one(2)
    assert (base / "notes").is_dir() and (tmp_path / "elsewhere").is_dir() and (base / ("e" * 32 + "-" + "0" * 12)).is_symlink()
    assert not cache.has(f"{1:032x}") and not cache.has(f"{2:032x}")


# ---- disks that take nothing -----------------------------------------------------------------------------------------------

LAG = """format: 1
simulate: {stop: 1, solver: rk4, step: 0.01}
blocks:
  s: {type: Constant}
  x: {type: FirstOrderLag, T: 1, in: s}
"""


def test_a_key_that_was_cut_short_is_made_again(base):
    (base / "key").write_bytes(b"")
    assert len(cache.secret(base)) == 32 and (base / "key").stat().st_size == 32
    assert [p.name for p in base.iterdir()] == ["key"]


def test_a_full_disk_means_running_without_a_cache(monkeypatch, small_disk):
    """There is room for the text, but not for what is made of it."""
    disk = small_disk("48k")
    monkeypatch.setenv("BLOCKSIM_COMPILER", "numba")
    monkeypatch.setenv("BLOCKSIM_CACHE", str(disk / "cache"))
    code_of.cache_clear()
    record = bs.simulate(LAG, engine="compiled")
    assert record["x"][-1] == pytest.approx(1 - math.exp(-1), abs=1e-9)
    assert {p.name for p in (disk / "cache").iterdir()} == {"key", "CACHEDIR.TAG"}


@pytest.fixture
def outcome(monkeypatch):
    """How a program was compiled, at no cost: 'kept' where its files could be written, else 'not kept'."""

    def compile_at(code, place):
        if place is not None:
            (place / "compiled").write_bytes(b"0" * 40_000)
        return "not kept" if place is None else "kept"

    monkeypatch.setattr(program, "compile_at", compile_at)
    return lambda: program.compile_code(program.ProgramText(TEXT, "rk4"))


@pytest.mark.parametrize("size", ["4k", "8k", "12k", "16k", "40k", "48k", "56k"])
def test_whatever_is_written_last_a_full_disk_leaves_nothing_half(monkeypatch, small_disk, outcome, size):
    """Room for the folder, for the key, for the mark, for the text, for a part of the program, for all but the seal."""
    disk = small_disk(size)
    monkeypatch.setenv("BLOCKSIM_CACHE", str(disk / "cache"))
    assert outcome() in ("kept", "not kept")
    folder = disk / "cache"
    assert not list(folder.glob("*.new")) and not list(folder.glob("key-*"))
    kept = [p for p in folder.iterdir() if p.is_dir()]
    assert all(cache.sound(p, cache.secret(folder), TEXT) for p in kept)
    (disk / "cache/key").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "call",
    ["os.replace", "os.open", "pathlib.Path.mkdir", "pathlib.Path.write_text", "pathlib.Path.write_bytes", "pathlib.Path.rename"],
)
def test_whatever_the_system_refuses_the_program_runs(base, monkeypatch, outcome, call):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(call, refuse)
        assert outcome() in ("kept", "not kept")
    assert not list(base.glob("*.new")) and not list(base.glob("key-*"))
    assert outcome() == "kept" and len(list(base.glob("*-*/seal"))) == 1, "with room again it is kept"


def test_a_disk_that_may_only_be_read_means_running_without_a_cache(monkeypatch, small_disk, outcome):
    disk = small_disk("4m")
    monkeypatch.setenv("BLOCKSIM_CACHE", str(disk / "cache"))
    assert outcome() == "kept"
    small_disk.read_only()
    assert outcome() == "not kept"
    monkeypatch.setenv("BLOCKSIM_CACHE", str(disk / "another"))
    assert outcome() == "not kept"


def test_nobodys_home_means_running_without_a_cache(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("BLOCKSIM_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert cache.root() is None
