"""What was prepared is remembered: diagrams opened and made ready, by their content, for as long as their files stay the same."""
