"""The Excitation pane: a source in time, frequency and amplitude, its limits, what it will teach, and a better one."""
