"""Serial robots: a chain of joints, the text of its dynamics, its regressor and base parameters, the block."""
