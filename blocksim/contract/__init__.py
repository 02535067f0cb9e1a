"""What a block is: the names it declares, the functions it may have, the words those may use, and where blocks are found.

Imports `errors` only. Everyone may enter: authors of blocks through the front door (`blocksim.Block`, `blocksim.param`, ...).
"""
