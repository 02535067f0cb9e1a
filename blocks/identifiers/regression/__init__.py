"""Identifiers linear in the parameters: least squares, instruments, DIDIM, and what they share: rows, colour, iteration."""
