"""The file and the wiring: text with lines -> Spec -> Diagram, and back; parts, parameters, checks, schema, catalogue.

Imports `contract`. What runs a diagram is not known here.
"""
