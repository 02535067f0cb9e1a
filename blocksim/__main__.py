"""`python -m blocksim` is the `blocksim` command, for an environment whose scripts are not on the path."""

from .cli.commands import main

main()
