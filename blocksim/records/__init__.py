"""Time plus named signals: Record and its grids, file formats, units and time bases of measured files.

Imports `contract`. A record does not know how it was made.
"""
