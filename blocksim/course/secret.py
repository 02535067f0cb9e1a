"""HMAC(secret, purpose, lesson, student): the truth of each student's robot, and the seeds of its noise.

Nothing is stored: whoever holds the secret can compute a truth again, and nobody else can. A number that a student sees (a
noise) never comes from the same digest as a truth.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import re
import secrets
import unicodedata
from pathlib import Path

from ..diagram.checks import brief_value
from ..errors import DiagramError
from .assignment import Assignment

STUDENT = re.compile(r"\w[\w.@+-]{0,63}\Z")
BYTES = 32


def checked_student(name: object) -> str:
    """The name of a student, as it goes into files and into the digest: the same letters in whichever way they were typed."""
    if name is not None and not isinstance(name, str):
        raise DiagramError(
            f"student: found {brief_value(name)}, which is no word. Write it in quotes: 007 and 7 are two students."
        )
    text = unicodedata.normalize("NFC", (name or "").strip())
    if not STUDENT.match(text):
        words = "A letter or digit, then letters, digits and . _ - + @ are allowed, 64 in all."
        raise DiagramError(f"student: found {text[:80]!r}. {words}")
    return text


def new_secret(path: Path) -> None:
    """Write a secret that only its owner may read; one that is there is never overwritten."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(BYTES) + "\n")
    except FileExistsError:
        raise DiagramError(f"'{path}' is there already; the truth of every student hangs on it, so it stays.") from None


def read_secret(path: Path) -> bytes:
    """The secret of a class."""
    try:
        text = path.read_text(encoding="ascii").strip()
        secret = bytes.fromhex(text)
    except (OSError, ValueError):
        raise DiagramError(
            f"'{path}' holds no secret of a class. The teacher makes one with: blocksim course open FOLDER."
        ) from None
    if len(secret) < BYTES:
        raise DiagramError(f"'{path}' holds {len(secret)} bytes; a secret has {BYTES}.")
    return secret


def secret_number(secret: bytes, *words: object, bits: int = 64) -> int:
    """So many bits that depend on every word."""
    message = "\0".join(str(word) for word in words).encode()
    return int.from_bytes(hmac.new(secret, message, hashlib.sha256).digest(), "big") >> (256 - bits)


def student_truth(assignment: Assignment, secret: bytes, student: str) -> dict[str, float]:
    """This student's robot: each parameter between its limits, evenly on a logarithmic scale."""
    truth = {}
    for name, (low, high) in assignment.ranges.items():
        share = (secret_number(secret, "truth", assignment.lesson, student, name) >> 11) / 2**53
        truth[name] = low * math.exp(share * math.log(high / low))
    return truth


def noise_seed(assignment: Assignment, secret: bytes, student: str, number: int) -> int:
    """The seed of the noise of a student's experiment: a repeated experiment is a new one.

    Too many to be tried one by one: whoever had the noise could take it off the record.
    """
    return secret_number(secret, "noise", assignment.lesson, student, number, bits=128)
