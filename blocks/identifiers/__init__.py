"""What finds a plant's parameters from records: output error, hybrid RPEM, frequency response; regressions in `regression/`."""
