"""What comes after the run: record blocks in turn, estimates, truth and leaks, twins that identifiers simulate, replay.

Imports the rooms up to `simulation`. Identifiers of the library enter.
"""
