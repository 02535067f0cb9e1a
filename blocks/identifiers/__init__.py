"""What finds a plant's parameters from records: output error (see `output/`), hybrid RPEM, frequency response, `regression/`."""
