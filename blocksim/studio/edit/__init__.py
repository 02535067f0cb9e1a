"""The Edit pane: the text beside the diagram, palette, wires, undo, saving, drafts. Every edit is one of the file's text."""
