"""Whole experiments, as users call them: simulate, simulate_many, start, rerun, identify on measured records, look at signals.

Imports the rooms up to `estimation`.
"""
