"""What the bench asks of the engine: live runs, envelopes of signals, fields and sliders from declarations, methods."""
