"""`python -m blocksim.cli`: the command line."""

from .commands import main

main()
