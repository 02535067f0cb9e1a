"""Somebody's file, before it is a record: where its table begins, what its cells say, which column is its time."""
