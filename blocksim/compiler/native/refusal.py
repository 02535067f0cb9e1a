"""What this compiler cannot do."""

from __future__ import annotations


class UnsupportedError(Exception):
    """The program has something that is not turned into machine code here; the message says what."""
