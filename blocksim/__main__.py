"""`python -m blocksim` is the `blocksim` command, for an environment whose scripts are not on the path."""

from importlib import import_module

import_module("blocksim.cli.commands").main()  # by its name, as the entry point of the script: the front imports no room
