"""Several records of one system: blocks run over each, parameters fitted to all of them together."""
