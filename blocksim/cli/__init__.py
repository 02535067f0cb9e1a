"""The command line: the commands, what they print, the folder of a run. Nobody imports it."""
