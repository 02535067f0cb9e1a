"""Functions of matrices as loops over arrays: what an element is, the words, and the functions that have them.

Imports the rest of `tracing` and `contract`. The compiler enters, and record blocks that compile functions of their own.
"""
