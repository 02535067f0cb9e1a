"""Elementary functions in plain arithmetic: the same bits on every machine, and in every lane of a vector."""
