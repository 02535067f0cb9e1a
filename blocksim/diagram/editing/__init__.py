"""Edits of a diagram's file as small changes of its text: comments, order, quotes and columns stay as their writer left them.

An operation changes what the file means (`operations.py`, `wires.py`, `names.py`: plain mappings in, plain mappings out);
`retext.py` writes that meaning into the text with as few changed characters as it can; `edit.py` reads the result again and
refuses the edit where it would mean anything else. `history.py` takes edits back, to the byte.
"""
