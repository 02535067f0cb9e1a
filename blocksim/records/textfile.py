"""Tables of text under other names than .csv, whatever stands between their columns. Read only."""

from __future__ import annotations

from .csvfile import read as read

__all__ = ["read"]
