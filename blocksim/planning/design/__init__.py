"""The design of excitation: what may vary, within which limits, judged by what it teaches; searched, polished, written."""
