"""What blocks of Simulink, and parts of Simscape and Modelica, are called here, or what is done in place of them.

An answer is a block of ours where it stands alone; else words that name blocks in quotes. The table of docs/compare.md:
python -m blocksim.simulink
"""

from __future__ import annotations

SIMULINK = {
    # sources
    "Sine Wave": "Sine",
    "Signal Generator": "'Sine', 'Pulse' or 'RepeatingSequence', by its form",
    "Pulse Generator": "Pulse",
    "Chirp Signal": "Chirp",
    "Repeating Sequence": "RepeatingSequence",
    "Repeating Table": "RepeatingSequence",
    "Signal Builder": "'RepeatingSequence' for straight lines, 'FromRecord' for a file",
    "Signal Editor": "'RepeatingSequence' for straight lines, 'FromRecord' for a file",
    "Random Number": "WhiteNoise",
    "Band-Limited White Noise": "'WhiteNoise', or 'FilteredNoise' with a cutoff",
    "Uniform Random Number": "UniformNoise",
    "Digital Clock": "Clock",
    "Counter Free-Running": "Counter",
    "Counter Limited": "'Counter' and 'Wrap'",
    "From Workspace": "FromRecord",
    "From File": "FromRecord",
    "Ground": "'Constant' of 0; an optional input that is left out reads 0 too",
    # sinks
    "Scope": "`log:` says what is recorded, `scopes:` which signals `blocksim run --plot` draws",
    "Floating Scope": "`log:` says what is recorded, `scopes:` which signals `blocksim run --plot` draws",
    "Display": "`log:` says what is recorded; `blocksim run` prints its least, greatest and last value",
    "XY Graph": 'record = bs.simulate(...), then matplotlib: `record["a.y"]` over `record["b.y"]`',
    "To Workspace": "`log:` says what is recorded; bs.simulate gives it to Python, `run --out` writes files",
    "To File": "`log:` says what is recorded; `run --out` writes files",
    "Terminator": "nothing is needed: an output needs no wire",
    "Stop Simulation": "`simulate: {stop: ...}` and `run --stop`, at a time",
    "Assertion": "a test in Python of the record that bs.simulate gives",
    # mathematics
    "Add": "Sum",
    "Subtract": "'Sum' with signs: `+-`",
    "Sum of Elements": "'MatrixGain' with a row of ones",
    "Divide": "'Product' with operations: `*/`",
    "Bias": "'Function' with expression: u + 3, or 'Sum' with a 'Constant'",
    "Slider Gain": "'Gain', and blocksim studio has a slider for every number",
    "Dot Product": "'Function' with expression: u1 * u2 + ...",
    "Math Function": "'Function' with any expression: exp(u), log(u), u**2, sqrt(u)",
    "Trigonometric Function": "'Function' with expression: sin(u), atan2(u1, u2)",
    "Trig": "'Function' with expression: sin(u), atan2(u1, u2)",
    "Sqrt": "'Function' with expression: sqrt(u)",
    "Polynomial": "'Function' with expression: 1 + 2 * u + 3 * u**2",
    "Rounding Function": "'Quantizer', or 'Function' with expression: floor(u)",
    "Fcn": "Function",
    "MATLAB Function": "'Function' for a formula, a block of your own in Python for more (docs/own-blocks.md)",
    "S-Function": "a block of your own in Python (docs/own-blocks.md)",
    "Interpreted MATLAB Function": "'Function' for a formula, a block of your own in Python for more (docs/own-blocks.md)",
    "Unary Minus": "'Gain' of -1",
    "Relational Operator": "Compare",
    "Compare To Constant": "Compare",
    "Compare To Zero": "Compare",
    "Logical Operator": "Logic",
    "AND": "Logic",
    "OR": "Logic",
    "NOT": "Logic",
    "Min": "MinMax",
    "Max": "MinMax",
    "Running MinMax": "a block of your own in Python (docs/own-blocks.md)",
    "Bitwise Operator": "there is none; 'Logic' for signals that are true or false",
    # continuous
    "Transfer Fcn": "TransferFunction",
    "State-Space": "StateSpace",
    "Zero-Pole": "ZeroPole",
    "Transport Delay": "TransportDelay",
    "Variable Transport Delay": "there is none; 'TransportDelay' and 'Delay' have a delay that stays",
    "PID Controller": "'PID', 'PD' or 'CascadePPI'",
    "Second-Order Integrator": "two of 'Integrator', one after the other",
    # discrete
    "Discrete-Time Integrator": "DiscreteIntegrator",
    "Discrete Transfer Fcn": "DiscreteTransferFunction",
    "Discrete Filter": "DiscreteTransferFunction",
    "Discrete FIR Filter": "'DiscreteTransferFunction' whose den is [1], 'MovingAverage' where all taps are the same",
    "Discrete State-Space": "DiscreteStateSpace",
    "Discrete Zero-Pole": "'DiscreteTransferFunction', by its polynomials",
    "Discrete Derivative": "'DiscreteTransferFunction' with num: [1, -1], or 'SpeedFromEncoder' for the speed of an encoder",
    "Difference": "'DiscreteTransferFunction' with num: [1, -1], den: [1, 0]",
    "Discrete PID Controller": "PID",
    "Unit Delay": "UnitDelay",
    "Tapped Delay": "'UnitDelay's in a row and a 'Mux'",
    "Memory": "UnitDelay",
    "Zero-Order Hold": "ZeroOrderHold",
    "First-Order Hold": "'FromRecord' draws straight lines; of a signal in a loop only 'ZeroOrderHold'",
    "Rate Transition": "nothing is needed: a sampled block reads what is there; 'ZeroOrderHold' to sample a signal",
    "Sample and Hold": "SampleAndHold",
    # discontinuities
    "Dead Zone": "DeadZone",
    "Rate Limiter": "RateLimiter",
    "Coulomb & Viscous Friction": "Coulomb",
    "Hit Crossing": "'Compare', whose changes are located, or 'EdgeDetector'",
    "Detect Rise": "EdgeDetector",
    "Detect Fall": "EdgeDetector",
    "Detect Change": "EdgeDetector",
    "Wrap To Zero": "Wrap",
    # routing and structure
    "Selector": "Select",
    "Bus Creator": "Mux",
    "Bus Selector": "Select",
    "Vector Concatenate": "Mux",
    "Manual Switch": "'Switch', or a parameter of the diagram",
    "Multiport Switch": "several of 'Switch'",
    "Merge": "'Switch'; or one subsystem whose outputs hold while its `enable:` is off",
    "Goto": "nothing is needed: a wire is a name, `in: block.port`, from anywhere",
    "From": "nothing is needed: a wire is a name, `in: block.port`, from anywhere",
    "Data Store Memory": "nothing is needed: a wire is a name, `in: block.port`, from anywhere",
    "Subsystem": "another file as a type, `type: ./part.yaml`, with `ports:`",
    "Enabled Subsystem": "a subsystem with `enable: signal`, which holds or begins anew",
    "Triggered Subsystem": "'SampleAndHold' or 'Counter' at a trigger; a subsystem with `enable:` while a signal is on",
    "If": "'Compare' and 'Switch', or subsystems with `enable:`",
    "Inport": "`ports: {in: [...]}` of a subsystem",
    "Outport": "`ports: {out: {...}}` of a subsystem",
    "In1": "`ports: {in: [...]}` of a subsystem",
    "Out1": "`ports: {out: {...}}` of a subsystem",
    "Model": "another file as a type, `type: ./part.yaml`, with `ports:`",
    "Chart": "there is none: 'Logic', 'Counter' and 'SampleAndHold', or a block of your own in Python",
    # tables
    "1-D Lookup Table": "LookupTable",
    "2-D Lookup Table": "LookupTable2D",
    "n-D Lookup Table": "'LookupTable' or 'LookupTable2D'",
    "Lookup Table Dynamic": "there is none; 'LookupTable' has a table that stays",
    # filters
    "Analog Filter Design": "'LowPass' or 'Notch'",
    "Lowpass Filter": "LowPass",
    "Butterworth": "LowPass",
    "Notch Filter": "Notch",
    "First-Order Filter": "FirstOrderLag",
    # Simscape and Modelica
    "Rotational Spring": "SpringDamper",
    "Rotational Damper": "SpringDamper",
    "Spring": "SpringDamper",
    "Damper": "SpringDamper",
    "Mass": "'Inertia', J being the mass",
    "Gear Box": "Gear",
    "IdealGear": "Gear",
    "Rotational Friction": "'Coulomb' or 'Stribeck'",
    "Friction": "'Coulomb', 'Stribeck' or 'LuGre'",
    "Rotational Hard Stop": "ElastoBacklash",
    "Hard Stop": "ElastoBacklash",
    "Revolute Joint": "'SerialRobot', a row of its table",
    "Prismatic Joint": "'SerialRobot', a row of its table with joint: prismatic",
    "Rigid Transform": "'SerialRobot', the numbers of a row of its table",
    "DC Motor": "a 'Gain', the torque constant; electrical dynamics by a 'FirstOrderLag'",
    "Motion Sensor": "'Encoder', or nothing: positions and speeds are outputs",
}


def letters(name: str) -> str:
    """A name without what people write between its words."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def simulink_word(name: object) -> str:
    """What to take in place of a block of Simulink, written with spaces or without; '' where the name is none."""
    theirs = next((one for one in SIMULINK if letters(one) == letters(str(name))), None)
    if theirs is None:
        return ""
    here = SIMULINK[theirs]
    return f" Did you mean '{here}'?" if here.isidentifier() else f" For Simulink's {theirs}: {here}."


def simulink_table() -> str:
    """All of them, for the page."""
    rows = [(name, f"`{here}`" if here.isidentifier() else here.replace("'", "`")) for name, here in SIMULINK.items()]
    return "\n".join(["| Simulink, Simscape | here |", "|---|---|", *(f"| {name} | {here} |" for name, here in rows)]) + "\n"


if __name__ == "__main__":
    print(simulink_table())
