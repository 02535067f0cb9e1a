"""Compiled programs on disk: private to the user, found by the hash of their text, checked before use.

A folder per program holds the text, numba's files, and a seal: a keyed hash over every file. A folder that others could
have written, a text that differs, or a broken seal is never loaded; it is compiled anew. A disk that is full or may not be
written to is as good as none: programs are compiled and not kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

SEAL = "seal"
#: Marks a folder that holds nothing but programs; the name and the first line are those that backups know to leave out.
TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled programs of blocksim; may be deleted at any time.\n"
KEY_FILE, KEY_BYTES = "key", 32
#: Names of our own: a program, and one that is being written.
PROGRAM = re.compile(r"[0-9a-f]{32}-[0-9a-f]{12}\Z")
SCRATCH = re.compile(r"[0-9a-f]{32}-[0-9a-f]{8}\.new\Z")
#: Programs kept; the least recently used ones go first.
KEEP = 200


def root() -> Path | None:
    """The cache folder, made private; None where there can be none (set BLOCKSIM_CACHE to move it, or to 'off')."""
    folder = os.environ.get("BLOCKSIM_CACHE", "")
    if folder == "off":
        return None
    try:
        base = Path(folder) if folder else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "blocksim"
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        return base if private(base) else None
    except (OSError, RuntimeError):  # no such place, or nobody's home
        return None


def private(path: Path) -> bool:
    """Ours, and nobody else may write to it."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def secret(base: Path) -> bytes:
    """The key of the seals, made once, readable by the user alone."""
    path = base / KEY_FILE
    if path.is_file() and path.stat().st_size == KEY_BYTES:
        return path.read_bytes()
    scratch = base / f"{KEY_FILE}-{secrets.token_hex(4)}"
    try:
        descriptor = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    return path.read_bytes()


@functools.cache
def version() -> str:
    """What the compiled files depend on beside the text."""
    import platform
    from importlib.metadata import version as installed

    parts = [platform.python_version(), platform.machine(), *(installed(n) for n in ("numba", "llvmlite", "numpy"))]
    parts += [__package__, Path(__file__).with_name("pointers.py").read_text(encoding="utf-8")]  # compiled into every program
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def seal_of(folder: Path, key: bytes) -> str:
    """A keyed hash over the names and contents of everything in the folder but the seal."""
    whole = hmac.new(key, digestmod=hashlib.sha256)
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != SEAL):
        whole.update(str(path.relative_to(folder)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def sound(folder: Path, key: bytes, text: str | None = None) -> bool:
    """Whether a folder may be used: private, sealed by us, and holding this very text."""
    try:
        if not private(folder) or any(not private(p) for p in folder.rglob("*")):
            return False
        if text is not None and (folder / "program.py").read_text(encoding="utf-8") != text:
            return False
        return hmac.compare_digest((folder / SEAL).read_bytes(), seal_of(folder, key).encode())
    except (OSError, ValueError):
        return False


def has(key: str) -> bool:
    """Whether a sealed program of this hash is there."""
    base = root()
    return base is not None and (base / f"{key}-{version()}" / SEAL).exists()


def drop(key: str) -> bool:
    """Forget a program; whether there was one and it is gone."""
    base, there = root(), has(key)
    if base is not None:
        shutil.rmtree(base / f"{key}-{version()}", ignore_errors=True)
    return there and not has(key)


@contextlib.contextmanager
def folder(key: str, text: str) -> Iterator[Path | None]:
    """Where numba may find or leave its files for this program; sealed again afterwards. None: compile without a cache."""
    base = root()
    if base is None:
        yield None
        return
    place = base / f"{key}-{version()}"
    try:
        code = secret(base)
        mark(base)
        fresh = not sound(place, code, text)
        scratch = base / f"{key}-{secrets.token_hex(4)}.new" if fresh else place
        if fresh:
            write_program(scratch, text)
        else:
            os.utime(place)
    except OSError:
        yield None
        return
    try:
        yield scratch
        if fresh:
            with contextlib.suppress(OSError):
                (scratch / SEAL).write_text(seal_of(scratch, code))
                for path in scratch.rglob("*"):
                    path.chmod(0o700 if path.is_dir() else 0o600)
                if place.exists():
                    shutil.rmtree(place, ignore_errors=True)
                scratch.rename(place)
                tidy(base)
    finally:
        if fresh:
            shutil.rmtree(scratch, ignore_errors=True)


def write_program(scratch: Path, text: str) -> None:
    """A folder with the text in it, or none at all."""
    try:
        scratch.mkdir(mode=0o700)
        (scratch / "program.py").write_text(text, encoding="utf-8")
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def mark(base: Path) -> None:
    """Mark the folder as a cache, unless there is something in it that is not ours."""
    if (base / TAG).exists() or any(not is_ours(path) for path in base.iterdir()):
        return
    (base / TAG).write_text(SIGNATURE, encoding="utf-8")


def is_ours(path: Path) -> bool:
    name = path.name
    return name == TAG or name.partition("-")[0] == KEY_FILE or bool(PROGRAM.match(name) or SCRATCH.match(name))


def tidy(base: Path) -> None:
    """Drop the programs not used for longest: names of our own pattern, in a folder that is marked, and nothing else."""
    if not (base / TAG).is_file():
        return
    programs = [p for p in base.iterdir() if PROGRAM.match(p.name) and p.is_dir() and not p.is_symlink()]
    for old in sorted(programs, key=lambda p: p.stat().st_mtime, reverse=True)[KEEP:]:
        shutil.rmtree(old, ignore_errors=True)
