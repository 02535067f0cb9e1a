"""The Data pane: a measured file looked at, its columns mapped to signals, identified from, and judged on a second file."""
