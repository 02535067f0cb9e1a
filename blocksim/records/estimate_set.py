"""EstimateSet: what several identifiers found in one record, by the name of their block. It shows itself in a notebook.

record.estimates                  a table and, in a notebook, a figure for each identifier
record.estimates["ls"]["J"]       one number with its standard deviation
record.estimates.to_pandas()      all of them, a row for each number
"""

from __future__ import annotations

import io
import os
from html import escape
from typing import TYPE_CHECKING, Any

from ..extensions import extension

if TYPE_CHECKING:
    from blocksim import Estimates  # by the front door: identifiers fill them in, rooms further down the road


class EstimateSet(dict[str, "Estimates"]):
    """Estimates by identifier: a dict that also prints, draws and converts itself."""

    def __str__(self) -> str:
        return "\n\n".join(f"{block}: {estimates}" for block, estimates in self.items()) or "no estimates"

    def _repr_html_(self) -> str:
        """The tables, and below them all estimates in one picture."""
        tables = "".join(f"<h4>{escape(block)}</h4>{estimates._repr_html_()}" for block, estimates in self.items())
        if not self:
            return "<p>no estimates</p>"
        picture = io.StringIO()
        self.plot().savefig(picture, format="svg")
        text = picture.getvalue()
        return tables + text[text.index("<svg") :]

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Every parameter with its 95 % interval beside the truth, a colour for each identifier. Returns the Figure."""
        return extension("plots", "estimates")(self, path)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each number, by identifier and name."""
        from .record import extra

        pandas = extra("pandas", "pandas")
        tables = {block: estimates.to_pandas() for block, estimates in self.items()}
        return pandas.concat(tables, names=["identifier", "name"]) if tables else pandas.DataFrame()
