"""Tables of text under other names than .csv: .txt, .dat, .tsv, whatever stands between their columns. Read only."""

from __future__ import annotations

from .csvfile import read as read

__all__ = ["read"]
