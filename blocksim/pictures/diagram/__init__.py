"""The drawn diagram: a graph is read from the wiring, cut, put into columns and rows, routed, and written as shapes."""
