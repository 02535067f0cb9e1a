"""The linear system of a least squares identification: its rows, its solution, channels that are late, and what is reported."""
