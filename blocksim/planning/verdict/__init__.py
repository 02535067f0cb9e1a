"""The verdict on an experiment: which parameters it does not show, why, and what would help, in plain words."""
