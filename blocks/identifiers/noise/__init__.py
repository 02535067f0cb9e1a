"""The noise in what identifiers read: its spectrum, by what a fit has left of it."""
