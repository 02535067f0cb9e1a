"""Edit a diagram's file by program and keep what its writer cared for: comments, order, quotes, columns.

Every edit changes the fewest characters, is read again before it counts, and can be taken back to the byte. The Edit pane of
the studio does nothing else.

Run it: python examples/editing.py
"""

import difflib

from blocksim.diagram.editing.edit import edit
from blocksim.diagram.editing.history import History
from blocksim.diagram.editing.names import rename_block
from blocksim.diagram.editing.operations import insert_block, set_setting
from blocksim.diagram.editing.sketch import input_ports, sketch
from blocksim.diagram.editing.wires import connect_input

TEXT = """format: 1
simulate: {stop: 2, step: 1e-3}    # two seconds will do
blocks:
  ref:   {type: Step, time: 0.5}   # the wish
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  gain:  {type: Gain, k: 20, in: error}
  plant: {type: FirstOrderLag, T: 5e-1, in: gain}
"""

history = History(TEXT)
history.take(edit(history.text, set_setting, "plant", "T", 0.25))  # written as 2.5e-1, as its writer would
history.take(edit(history.text, rename_block, "gain", "controller"))  # the wire of the plant follows
history.take(edit(history.text, insert_block, "Saturation", "limit"))  # with the settings it must have
diagram, problems = sketch(history.text)  # as far as it goes: the new block is not connected yet
print(problems[0])
history.take(edit(history.text, connect_input, "limit", "u", "controller", input_ports(diagram)["limit"]))

for line in difflib.unified_diff(TEXT.splitlines(), history.text.splitlines(), "before", "after", n=0, lineterm=""):
    print(line)

while history.undo():
    pass
assert history.text == TEXT  # to the byte
