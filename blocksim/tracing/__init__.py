"""What the functions of blocks compute: read from their text, folded, followed into a graph, differentiated, written out again.

Imports `contract`. The compiler and the observers of the library enter.
"""
