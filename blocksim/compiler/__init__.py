"""From a schedule to a program: one flat text, where its numbers live, and its compiled form in a cache.

Imports `contract`, `tracing`, `solvers` (whose methods it folds into the text) and `schedule`.
"""
