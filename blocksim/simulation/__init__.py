"""A program at work: an experiment made ready, overrides of its settings, noise, stepping, failures that keep their record.

Imports the rooms up to `compiler`, and `records`. Record blocks are not known here.
"""
