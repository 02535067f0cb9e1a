"""What comes after the run: record blocks in turn, estimates and their files, scores against the truth, twins, replay.

Imports the rooms up to `simulation`. Identifiers of the library enter.
"""
