"""Identifiers linear in the parameters: least squares (its equations in `system/`), instruments, DIDIM, and what they share."""
