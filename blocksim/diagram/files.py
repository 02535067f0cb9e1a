"""Which file is meant, and whether it may be read: bundled diagrams by name, the files a diagram names kept to its own folder.

And how a file is written: whole or not at all, so that a full disk leaves what was there before.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..contract.library import library
from ..errors import DiagramError, did_you_mean, listing
from .yaml_lines import MAX_TEXT_BYTES, decode

ENDINGS = (".yaml", ".yml")


def bundled_root() -> Path:
    """The folder of the diagrams that come with blocksim: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).parents[1]
    inside = package / "diagrams"
    return inside if inside.is_dir() else package.parent / "diagrams"


def bundled() -> list[str]:
    """Names of the bundled diagrams, such as 'one_dof/pid'; parts of diagrams and studies are left out."""
    root = bundled_root()
    names = (path.relative_to(root).with_suffix("") for path in root.rglob("*.yaml"))
    return sorted(name.as_posix() for name in names if not {"parts", "studies"} & set(name.parts))


def find_diagram(name_or_path: str | os.PathLike[str]) -> str:
    """The path of a diagram: an existing file as it was given, or a bundled one by its name, with or without .yaml."""
    name = os.fspath(name_or_path)
    if is_file(name):
        return name
    if path := find_bundled(name):
        return path
    raise no_diagram(name)


def find_bundled(name: str) -> str:
    """The path of a bundled file by its name, with or without .yaml; '' where there is none."""
    for candidate in (bundled_root() / name, bundled_root() / f"{name}.yaml"):
        if is_file(candidate) and folders_of(bundled_root()).holds(candidate):
            return short_path(candidate)
    return ""


def find_named(source: str | os.PathLike[str], kind: str, example: str = "") -> str:
    """The path of a file of some kind, or of a bundled one by its name; refused where there is neither."""
    name = os.fspath(source)
    path = name if is_file(name) else find_bundled(name)
    if not path:
        reason, such = "is a folder" if is_folder(name) else "is no file", f" such as {example}" if example else ""
        raise DiagramError(f"'{name}' {reason} (looked in {os.getcwd()}). Name a {kind} file, or a bundled one{such}.")
    return path


def no_diagram(name: str) -> DiagramError:
    """That nothing has this name, and what is there."""
    names = bundled()
    reason = f"there is no file '{name}' (looked in {os.getcwd()})."
    if is_folder(name):
        reason = f"'{name}' is a folder, not a diagram."
    elif name in library():
        return DiagramError(f"'{name}' is a block, not a diagram: blocksim blocks {name} describes it.")
    if close := did_you_mean(name.removesuffix(".yaml"), names):
        return DiagramError(reason + close)
    return DiagramError(f"{reason} Bundled diagrams are: {listing(names)}.")


def read_file(path: str | os.PathLike[str], name: str) -> str:
    """A file's text, never more of it than may be read."""
    try:
        with open(path, "rb") as stream:
            return decode(stream.read(MAX_TEXT_BYTES + 1), name)
    except OSError as error:
        raise DiagramError(f"'{name}' cannot be read: {error.strerror or error}.") from None


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside `path` to write to; once it is written and the disk has it, it takes that place in one step."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe, a terminal
        yield target
        return
    scratch = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        yield scratch
        with open(scratch, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(scratch, target)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole_file(path) as scratch:
        scratch.write_text(text, encoding="utf-8", newline="\n")


def is_subsystem(type_name: str) -> bool:
    """Whether a block's type names a file rather than a block class."""
    return type_name.startswith(("./", "../")) or type_name.endswith(ENDINGS)


@dataclass(frozen=True)
class Folders:
    """The folders, by their real paths, that the files a diagram or a study names may lie in; none given means anywhere.

    Every key, setting and provenance that names a file asks here before the file is looked at: of one outside, not even whether
    it exists is told.
    """

    allowed: list[Path] | None
    whose: str = "the diagram"

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether the file, links followed, lies in one of them."""
        if self.allowed is None:
            return True
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError):  # too long, or characters no path can hold
            return False
        return any(real.is_relative_to(folder) for folder in self.allowed)

    def refusal(self, name: str) -> str:
        return (
            f"'{name}' lies outside the folder of {self.whose} and is not read. Move it there, or allow it with --allow-outside "
            "(in Python: allow_outside=True)."
        )

    def locate(self, name: str, beside: str) -> str:
        """The path of a file named in the file `beside`. ValueError, in words, when it cannot be used."""
        path = os.path.normpath(os.path.join(os.path.dirname(beside), name))
        try:
            if not self.holds(path):
                raise ValueError(self.refusal(name))
            if not os.path.isfile(path):
                missing = "is not a file" if os.path.exists(path) else "does not exist"
                raise ValueError(f"the file '{name}' {missing} (looked for {path}).")
        except OSError as error:
            raise ValueError(f"the file '{name}' cannot be reached: {error.strerror}.") from None
        return path


def folders_of(*folders: str | os.PathLike[str]) -> Folders:
    """Only these folders, and all that lies in them."""
    return Folders([Path(os.path.realpath(folder)) for folder in folders])


def folders_for(path: str, anywhere: bool, whose: str = "the diagram") -> Folders:
    """Where the diagram or study of this file may read from: its own folder and the bundled diagrams, or anywhere."""
    return Folders(None) if anywhere else replace(folders_of(os.path.dirname(path) or ".", bundled_root()), whose=whose)


def short_path(path: Path) -> str:
    """A path as a person would type it from here."""
    try:
        return str(path.relative_to(os.getcwd()))
    except ValueError:
        return str(path)


def is_folder(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except ValueError:
        return False


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is a file; what is too long for a path, or has characters none can hold, is not."""
    try:
        return os.path.isfile(path)
    except (OSError, ValueError):
        return False
