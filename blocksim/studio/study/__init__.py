"""The Study pane: an ordinary study file made from sliders, run by `blocksim study`, watched, cancelled, resumed."""
