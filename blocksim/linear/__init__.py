"""Around a point: operating points, linear models with their plots, the map over one sample period.

Imports the rooms up to `pictures`.
"""
