"""Filters of a plant that run in the loop, beside it, or over a record: EKF, joint EKF, RPEM, recursive least squares, RTS."""
