"""How an experiment is measured: what is read and when, with which noise, and what is known beside it."""
