"""What a user reads when a block's settings are wrong."""

import pickle

import pytest

import blocks
from blocksim.errors import DiagramError
from blocksim.notation import FRACTION_BAR as BAR

WRONG = [
    ("FirstOrderLag", {}, "'T' must be given: time constant [s]."),
    ("FirstOrderLag", {"T": 0}, "T: must be above 0, found 0."),
    ("FirstOrderLag", {"T": 1, "tau": 2}, "no parameter 'tau'. FirstOrderLag takes: k, T, x."),
    ("Gain", {"k": float("nan")}, "nan is not a finite number."),
    ("Gain", {"k": "fast"}, "found 'fast'. A number is wanted: gain."),
    ("Chirp", {"f_start": 0, "f_end": 1, "duration": 1, "method": "log"}, "method log needs frequencies above 0"),
    ("Chirp", {"f_start": 1, "f_end": 1, "duration": 1, "method": "cubic"}, "'cubic' is not one of linear, log."),
    ("Pulse", {"duty": 1.5}, "duty: must be at least 0 and at most 1, found 1.5."),
    ("PRBS", {"clock": 0.1, "bits": 1}, "bits: must be 2 to 24, found 1."),
    ("PRBS", {"clock": 0.1, "bits": 3, "index": 7}, "index: must be a whole number from 0 to 6"),
    ("PRBS", {"bits": 3}, "'clock' must be given"),
    ("FilteredNoise", {"cutoff": 50, "Ts": 0.01}, "must be below half the sampling frequency, 50 Hz, found 50."),
    ("FilteredNoise", {"cutoff": 5, "Ts": 0.01, "order": 0}, "order: must be 1 to 20, found 0."),
    ("Multisine", {}, "the lines must be given: f_min, f_max and lines, or frequencies."),
    ("Multisine", {"frequencies": [1.0, 1.0]}, "frequencies: different numbers above 0 are wanted"),
    ("Multisine", {"frequencies": [1.0], "f_min": 2.0}, "not both"),
    ("Multisine", {"f_min": 2.0, "f_max": 1.0, "lines": 5}, "raise f_max"),
    ("Multisine", {"f_min": 0.25, "f_max": 4.25, "lines": 5, "odd_only": True}, "must be a whole multiple of the spacing"),
    ("Multisine", {"f_min": 1, "f_max": 4, "lines": 4, "phases": "flat"}, "random, optimised or a list in rad is wanted"),
    ("Multisine", {"f_min": 1, "f_max": 4, "lines": 4, "phases": [0.0]}, "one for each of the 4 lines is wanted, found 1."),
    ("Multisine", {"frequencies": [1.0, 2**0.5], "phases": "optimised"}, "optimised needs frequencies with a common period"),
    ("FourierTrajectory", {"a": [1, 2], "b": [1]}, "a is 2 for 1 joint(s), b is 1 for 1 joint(s)"),
    ("FourierTrajectory", {"a": [[1, 2], [1]]}, "rows differ in length"),
    ("FourierTrajectory", {"a": [[1], [2], [3]], "offset": [0, 1]}, "offset: one for each of the 3 joint(s)"),
    ("PolynomialTrajectory", {"times": [0, 2, 1], "points": [0, 1, 2]}, "times: at least two, rising, are wanted"),
    ("PolynomialTrajectory", {"times": [0, 1], "points": [0, 1, 2]}, "points: one for each of the 2 times is wanted"),
    ("PolynomialTrajectory", {"times": [0, 1], "points": [0, 1], "velocities": [1, 0]}, "the first and the last must be 0"),
    ("TrapezoidTrajectory", {"points": [0, 0, 1], "speed": 1, "acceleration": 1}, "number 2 is where the one before it is"),
    ("TrapezoidTrajectory", {"points": [0, 1], "speed": [1, -1], "acceleration": 1}, "speed: must be above 0, found -1."),
    ("FromRecord", {"file": "a.csv"}, "'signal' must be given"),
    ("Sum", {"signs": "+*"}, "one + or - for each input is wanted"),
    ("Product", {"operations": "+"}, "one * or / for each input is wanted"),
    ("MatrixGain", {"K": [[1, 2], [3]]}, "rows differ in length"),
    ("Function", {"expression": "u1 ^ 2"}, "'^' is not a power here; write **."),
    ("Function", {"expression": "open('x')"}, "unknown function 'open'."),
    ("Function", {"expression": "v + 1"}, "unknown name 'v'."),
    ("Demux", {"sizes": [1, 0]}, "a list of whole numbers above 0 is wanted"),
    ("Demux", {}, "'sizes' must be given"),
    ("Select", {"index": [0, -1]}, "a whole number from 0, or a list of them, is wanted."),
    ("Integrator", {"lower": 1, "upper": 0}, "lower must be below upper, found lower = 1 and upper = 0."),
    ("Integrator", {"lower": [0, 0, 0], "upper": [1, 2]}, "lower has 3 elements, upper has 2"),
    ("TransferFunction", {"num": [1, 0, 0], "den": [1, 2]}, "num has degree 2, den 1: more zeros than poles"),
    ("TransferFunction", {"num": [1], "den": [2]}, "a Gain is a transfer function without one."),
    ("TransferFunction", {"num": [1], "den": [0, 1]}, "cannot be 0, found [0, 1]."),
    ("StateSpace", {"A": [[1, 2]], "B": [[1]], "C": [[1]]}, "A must be square, found 1 x 2."),
    ("StateSpace", {"A": [[1]], "B": [[1], [2]], "C": [[1]]}, "B must have as many rows as A, 1, found 2 x 1."),
    ("StateSpace", {"A": [[1]], "B": [[1]], "C": [[1, 2]]}, "C must have as many columns as A, 1, found 1 x 2."),
    ("StateSpace", {"A": [[1]], "B": [[1]], "C": [[1]], "D": [[1, 2]]}, "D must be 1 x 1, the rows of C by the columns of B"),
    ("TransportDelay", {"delay": 0.01, "Ts": 0.1}, "delay: must be at least Ts = 0.1 s"),
    ("TransportDelay", {"delay": 1000, "Ts": 1e-6}, "would keep more than ten million samples; raise Ts."),
    ("DiscreteTransferFunction", {"num": [1, 2, 3], "den": [1, 2], "Ts": 0.1}, "more zeros than poles"),
    ("DiscreteIntegrator", {"Ts": 0}, "Ts: must be above 0, found 0."),
    ("DiscreteIntegrator", {"Ts": 0.1, "method": "tustin"}, "'tustin' is not one of forward, backward, trapezoid."),
    ("MovingAverage", {"window": 0, "Ts": 0.1}, "window: must be 1 to 1000000 samples, found 0."),
    ("Saturation", {"lower": 2}, "lower must be below upper, found lower = 2 and upper = 1."),
    ("Relay", {"on_point": 0, "off_point": 1}, "off_point must not be above on_point"),
    ("Quantizer", {"step": -1}, "step: must be above 0, found -1."),
    ("RateLimiter", {"rising": -1, "Ts": 0.1}, "rising: must be above 0"),
    ("Backlash", {"width": -1, "Ts": 0.1}, "width: must be at least 0, found -1."),
    ("LookupTable", {"points": [0, 1], "values": [0]}, "points has 2 numbers, values has 1"),
    ("LookupTable", {"points": [0, 1, 1], "values": [0, 1, 2]}, "points: must rise, found 1 before 1."),
    ("LookupTable", {"points": [0], "values": [0]}, "at least two are wanted"),
]


@pytest.mark.parametrize(("name", "settings", "words"), WRONG, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(WRONG)])
def test_wrong_settings_are_refused_in_words(name, settings, words):
    with pytest.raises(DiagramError) as error:
        blocks.LIBRARY[name](**settings)
    assert words in str(error.value)
    assert str(error.value).startswith(f"{name}: ")


def test_signs_must_fit_the_inputs():
    with pytest.raises(DiagramError, match=r"signs: '\+-' is for 2 inputs, found 3"):
        blocks.LIBRARY["Sum"](signs="+-").variant(3)


def test_an_expression_must_fit_the_inputs():
    with pytest.raises(DiagramError, match=r"'u1 \+ u3' with 2 inputs: unknown name 'u3'. Names are: t, u1, u2"):
        blocks.LIBRARY["Function"](expression="u1 + u3").variant(2)
    with pytest.raises(DiagramError, match=r"unknown name 'u'. Names are: t, u1, u2"):
        blocks.LIBRARY["Function"](expression="u").variant(2)


def test_a_selected_element_must_exist():
    with pytest.raises(DiagramError, match=r"index: 3 is outside the input, which has 3 element\(s\): 0 to 2."):
        blocks.LIBRARY["Select"].functions["size_n"](u=3, index=[0, 3])


@pytest.mark.parametrize("values", [[1.0], [1.0, float("nan")]])
def test_a_record_must_have_numbers(tmp_path, values):
    from blocksim.records.record import Record

    Record.from_arrays([0.1 * k for k in range(len(values))], y=values).save(tmp_path / "bad.npz")
    with pytest.raises(DiagramError, match="at least 2 are wanted" if len(values) < 2 else "not a finite number at t = 0.1 s"):
        blocks.LIBRARY["FromRecord"].functions["size_n"](file=str(tmp_path / "bad.npz"), signal="y")


@pytest.mark.parametrize(
    ("name", "settings", "label"),
    [
        ("TransferFunction", {"num": [0.5], "den": [2, 1]}, ["0.5", BAR, "2s + 1"]),
        ("TransferFunction", {"num": [1, 0], "den": [1, -0.4, 2]}, ["s", BAR, "s² - 0.4s + 2"]),
        ("TransferFunction", {"num": [1, 2.5], "den": [1, 0.4, -2, 1.234]}, ["s + 2.5", BAR, "s³ + 0.4s² - 2s + 1.23"]),
        ("DiscreteTransferFunction", {"num": [0.1], "den": [1, -0.9], "Ts": 0.1}, ["0.1", BAR, "z - 0.9"]),
        ("DiscreteTransferFunction", {"num": [1000, -1000], "den": [1, 0], "Ts": 0.001}, ["1000z - 1000", BAR, "z"]),
        ("TransferFunction", {"num": [1.638e6], "den": [1, 2.5e7]}, ["1.64·10⁶", BAR, "s + 2.5·10⁷"]),
        ("FirstOrderLag", {"T": 0.3}, ["1", BAR, "0.3s + 1"]),
        ("Gain", {"k": 2.0}, ["2"]),
        ("Sum", {"signs": "+-"}, ["+-"]),
        ("Product", {"operations": "*/"}, ["×÷"]),
        ("Function", {"expression": "sin(u)"}, ["sin(u)"]),
        ("StateSpace", {"A": [[1]], "B": [[1]], "C": [[1]]}, ["StateSpace", "1 states"]),
    ],
)
def test_labels_show_the_formula(name, settings, label):
    assert blocks.LIBRARY[name](**settings).label() == label


def test_a_demux_has_its_own_ports_and_survives_pickling():
    demux = pickle.loads(pickle.dumps(blocks.LIBRARY["Demux"](sizes=[1, 3])))
    assert {n: d.size for n, d in demux.declared.items() if n.startswith("y")} == {"y1": 1, "y2": 3}


@pytest.mark.parametrize("name", blocks.LIBRARY)
def test_every_block_is_complete(name):
    kind = blocks.LIBRARY[name]
    assert kind.__name__ == name
    assert kind.family and kind.__doc__.strip()
    if name != "FromRecord":  # its example would need a file
        assert f"type: {name}" in kind.example and "format: 1" in kind.example
