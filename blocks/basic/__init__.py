"""Everyday blocks: arithmetic, routing, continuous, discrete and nonlinear elements."""
