"""Signals from nothing: steps and ramps, noise and binary sequences, multisines, trajectories, recorded files."""
