"""Robots with known truth: joints, two and three masses, a SCARA, and the friction laws they are made of."""
