"""Linear models from data: polynomials of the delay and state spaces."""
