"""Whole signals filtered after the run: zero-phase filters, differences, decimation, the integrated random walk."""
