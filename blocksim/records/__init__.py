"""Time plus named signals: Record and its grids, file formats, units and time bases of measured files.

Imports `contract`, and from `diagram` how files are written. A record does not know how it was made.
"""
