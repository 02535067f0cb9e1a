"""What can be known to be wrong before a run: units on wires, rates, what identifiers read, steps and loops.

Each is a `Finding` with a short name; `docs/warnings.md` has a section for every name.
"""
