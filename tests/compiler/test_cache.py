"""The parts of the disk cache one by one; what it refuses to load stands in test_program.py."""

from __future__ import annotations

import pytest

from blocksim.compiler import cache

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
