"""The bench in a notebook: `bs.explore` shows scopes, sliders and estimates below a cell, in Jupyter and in marimo."""
