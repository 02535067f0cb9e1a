"""Decisions, filters, holds, tables and sequences in running diagrams, against closed forms and scipy."""

import math

import numpy as np
import pytest
from scipy import interpolate, signal

import blocksim as bs

ADAPTIVE = {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12, "every": "1/100", "engine": "python"}


def run(blocks, stop=1.0, **options):
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}}}\nblocks:\n" + blocks, **{**ADAPTIVE, **options})


def refusal(settings):
    with pytest.raises(bs.DiagramError) as error:
        bs.build(bs.load(f"format: 1\nsimulate: {{stop: 1}}\nblocks:\n  u: {{type: Clock}}\n  x: {{{settings}, in: u}}\n"))
    return str(error.value)


@pytest.mark.parametrize(("operator", "share"), [(">", 1 / 3), (">=", 1 / 3), ("<", 2 / 3), ("<=", 2 / 3), ("==", 0), ("!=", 1)])
def test_a_comparison_is_true_for_its_share_of_a_period(operator, share):
    # sin > 1/2 for a third of every turn; the integral tells whether both instants were located.
    record = run(
        "  u: {type: Sine, frequency: 2.0}\n"
        f"  c: {{type: Compare, operator: '{operator}', value: 0.5, in: u}}\n  x: {{type: Integrator, in: c}}\n"
    )
    assert record["x"][-1] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize(("operator", "low", "equal", "high"), [
    (">", 0, 0, 1), (">=", 0, 1, 1), ("<", 1, 0, 0), ("<=", 1, 1, 0), ("==", 0, 1, 0), ("!=", 1, 0, 1),
])  # fmt: skip
def test_a_comparison_of_sampled_signals_is_decided_at_the_same_hit(operator, low, equal, high):
    # Stairs -1, 0, 1, 0 against 0; the reader of the decision, sampled too, gets it without a sample of delay.
    stairs = "  u: {type: RepeatingSequence, times: [0, 0.1, 0.2, 0.3, 0.4], values: [-1, 0, 1, 0, 0], hold: zero}\n"
    text = "  s: {type: ZeroOrderHold, Ts: 0.1, in: u}\n  zero: {type: Constant, value: 0.0}\n"
    text += (
        f"  c: {{type: Compare, operator: '{operator}', in: {{u: s, v: zero}}}}\n  y: {{type: ZeroOrderHold, Ts: 0.1, in: c}}\n"
    )
    record = run(stairs + text, 0.7, every="1/10")
    assert list(record["y"]) == [low, equal, high, equal] * 2


@pytest.mark.parametrize(("operator", "table"), [
    ("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("nand", [1, 1, 1, 0]), ("nor", [1, 0, 0, 0]), ("xor", [0, 1, 1, 0]),
])  # fmt: skip
def test_logic_has_its_truth_table(operator, table):
    record = run(
        "  a: {type: Pulse, period: 2.0, delay: 1.0}\n  b: {type: Pulse, period: 1.0, delay: 0.5}\n"
        f"  y: {{type: Logic, operator: {operator}, in: [a, b]}}\n  n: {{type: Logic, operator: not, in: a}}\n",
        2.0,
    )
    assert list(record["y"][[25, 75, 125, 175]]) == table
    assert np.array_equal(record["n"], 1 - record["a"])


def test_two_nor_make_a_latch():
    gates = "  q: {type: Logic, operator: nor, in: [r, p]}\n  p: {type: Logic, operator: nor, in: [s, q]}\n"
    pulses = "  s: {type: Pulse, period: 2.0, duty: 0.1, delay: 0.2}\n  r: {type: Pulse, period: 2.0, duty: 0.1, delay: 0.7}\n"
    record = run(pulses + gates)
    assert np.array_equal(record["q"][20:] > 0.5, record.t[20:] < 0.7 - 1e-12)  # set at 0.2, taken back at 0.7
    assert "not takes one input, found 2; nor takes several" in refusal_of_inputs("type: Logic, operator: not", "[u, u]")


def refusal_of_inputs(settings, inputs):
    with pytest.raises(bs.DiagramError) as error:
        run(f"  u: {{type: Clock}}\n  x: {{{settings}, in: {inputs}}}\n")
    return str(error.value)


def test_min_and_max():
    text = "  a: {type: Sine, frequency: 1.0}\n  b: {type: Sine, frequency: 2.0}\n  c: {type: Constant, value: 0.1}\n"
    record = run(text + "".join(f"  {o}: {{type: MinMax, operator: {o}, in: [a, b, c]}}\n" for o in ("min", "max")))
    every = np.array([record[n] for n in "ab"] + [np.full_like(record.t, 0.1)])
    assert np.array_equal(record["min"], every.min(axis=0)) and np.array_equal(record["max"], every.max(axis=0))


def test_a_delay_of_whole_samples():
    record = run("  u: {type: Clock}\n  y: {type: Delay, N: 3, x: [7, 8, 9], Ts: 0.1, in: u}\n", every="1/10")
    assert record["y"] == pytest.approx([7, 8, 9, *np.arange(8) / 10], abs=1e-12)
    assert "N: must be 1 to 1000000 samples, found 0." in refusal("type: Delay, N: 0, Ts: 1")


def test_a_counter_counts_located_edges_and_starts_again():
    record = run(
        "  u: {type: Sine, frequency: 5.0, phase: 0.1}\n  up: {type: Counter, threshold: 0.0, in: u}\n"
        "  both: {type: Counter, threshold: 0.0, edge: both, start: 10, step: -1, wrap: 4, in: u}\n"
        "  late: {type: Pulse, period: 9, delay: 0.55}\n  zero: {type: Counter, threshold: 0.0, in: {u: u, reset: late}}\n"
    )
    turns = 5 * record.t + 0.1 / math.tau  # starts high: the first rise is at one whole turn
    assert np.array_equal(record["up"], np.floor(turns))
    assert np.array_equal(record["both"], 10 - np.floor(2 * turns) % 4)
    assert np.array_equal(record["zero"], np.where(record.t < 0.55 - 1e-12, np.floor(turns), 0))


def test_edges_are_one_sample_long():
    text = "  u: {type: Sine, frequency: 2.0, phase: 0.3}\n"
    text += "".join(
        f"  {e}: {{type: EdgeDetector, threshold: 0, edge: {e}, Ts: 0.01, in: u}}\n" for e in ("rising", "falling", "both")
    )
    record = run(text)
    high = np.sin(4 * np.pi * record.t + 0.3) > 0
    change = np.concatenate([[0], np.diff(high.astype(int))])
    for name, expected in (("rising", change > 0), ("falling", change < 0), ("both", change != 0)):
        assert np.array_equal(record[name] > 0.5, expected), name


@pytest.mark.parametrize(("edge", "instants"), [("rising", [1.0, 2.0]), ("falling", [0.5, 1.5]), ("both", [0.5, 1.0, 1.5, 2.0])])
def test_sample_and_hold_keeps_the_value_of_the_instant(edge, instants):
    text = "  u: {type: Clock}\n  w: {type: Sine, frequency: 1.0, phase: 1e-3}\n"  # high at the start: no edge there
    record = run(text + f"  y: {{type: SampleAndHold, threshold: 0.0, edge: {edge}, in: {{u: u, trigger: w}}}}\n", 2.2)
    times = np.array(instants) - 1e-3 / math.tau
    count = np.searchsorted(times, record.t, side="right")
    assert record["y"] == pytest.approx(np.concatenate([[0.0], times])[count], abs=1e-12)


def test_a_map_is_scipys_bilinear_one():
    rows, columns = [0.0, 1.0, 3.0], [-1.0, 0.0, 0.5, 2.0]
    values = np.random.default_rng(1).normal(size=(3, 4)).round(3)
    text = "  u: {type: Sine, frequency: 3.0, amplitude: 2.5, bias: 1.0}\n  v: {type: Sine, frequency: 2.0, amplitude: 2.5}\n"
    table = f"type: LookupTable2D, rows: {rows}, columns: {columns}, values: {values.tolist()}"
    text += f"  c: {{{table}, in: {{u: u, v: v}}}}\n  e: {{{table}, outside: extrapolate, in: {{u: u, v: v}}}}\n"
    record = run(text)
    surface = interpolate.RegularGridInterpolator((rows, columns), values, bounds_error=False, fill_value=None)
    clipped = np.clip(record["u"], 0, 3), np.clip(record["v"], -1, 2)
    assert record["c"] == pytest.approx(surface(np.stack(clipped, axis=-1)), abs=1e-12)
    assert record["e"] == pytest.approx(surface(np.stack([record["u"], record["v"]], axis=-1)), abs=1e-12)
    assert "values is 1 x 2; 2 x 2 is wanted" in refusal("type: LookupTable2D, rows: [0, 1], columns: [0, 1], values: [[1, 2]]")


def step_response(system, t, late=0.1):
    """scipy's step response, the step at `late`."""
    after = np.maximum(t - late, 0.0)
    return np.where(t < late, 0.0, np.interp(after, *signal.step(system, T=np.linspace(0, t[-1], 20001))))


@pytest.mark.parametrize(("settings", "system"), [
    ("type: ZeroPole, zeros: [-3], poles: ['-0.4+9j', '-0.4-9j', -5, -6, -7], k: 900",
     ([-3], [-0.4 + 9j, -0.4 - 9j, -5, -6, -7], 900)),
    ("type: ZeroPole, zeros: ['1+2j', '1-2j', -1], poles: [-2, -3, -4]", ([1 + 2j, 1 - 2j, -1], [-2, -3, -4], 1)),
    ("type: LowPass, cutoff: 3.0, order: 5", signal.butter(5, 6 * np.pi, analog=True, output="zpk")),
    ("type: Notch, frequency: 4.0, bandwidth: 3.0", signal.TransferFunction(
        [1, 0, (8 * np.pi) ** 2], [1, 6 * np.pi, (8 * np.pi) ** 2]).to_zpk()),
])  # fmt: skip
def test_continuous_filters_have_the_step_response_that_scipy_finds(settings, system):
    system = system if isinstance(system, tuple) else (system.zeros, system.poles, system.gain)
    record = run(f"  u: {{type: Step, time: 0.1}}\n  y: {{{settings}, in: u}}\n", 1.5)
    assert record["y"] == pytest.approx(step_response(system, record.t), abs=2e-6)


@pytest.mark.parametrize(("settings", "design"), [
    ("type: LowPass, cutoff: 3.0, order: 5", lambda: signal.butter(5, 3.0, fs=100)),
    ("type: LowPass, cutoff: 3.0, order: 2", lambda: signal.butter(2, 3.0, fs=100)),
    ("type: Notch, frequency: 11.0, bandwidth: 6.0", lambda: signal.iirnotch(11.0, 11.0 / 6.0, fs=100)),
    ("type: ZeroPole, zeros: [0.2], poles: ['0.5+0.3j', '0.5-0.3j', 0.1], k: 2",
     lambda: (np.concatenate([[0, 0], 2 * np.poly([0.2])]), np.poly([0.5 + 0.3j, 0.5 - 0.3j, 0.1]).real)),
])  # fmt: skip
def test_sampled_filters_are_scipys(settings, design):
    record = run(f"  u: {{type: WhiteNoise, Ts: 0.01}}\n  y: {{{settings}, Ts: 0.01, in: u}}\n", 2.0)
    assert record["y"] == pytest.approx(signal.lfilter(*design(), record["u"]), abs=1e-9)


@pytest.mark.parametrize("Ts", [0, 0.005])
def test_a_notch_of_high_order_has_its_zero_and_its_edges_where_it_says(Ts):
    from blocks.basic.filters import band_stop

    system = band_stop(20.0, 8.0, 3, Ts)
    low = math.sqrt(20.0**2 + 16.0) - 4.0  # edges 8 Hz apart around 20 Hz; sampled ones have the same distance
    if Ts:
        low = (math.acos(math.cos(math.pi * 8 * Ts) * math.cos(math.tau * 20 * Ts)) / math.pi / Ts - 8.0) / 2

    def gain(f):
        s = np.exp(2j * np.pi * f * Ts) if Ts else 2j * np.pi * f
        A, B, C, D = system
        return abs(C @ np.linalg.solve(s * np.eye(len(A)) - A, B) + D[0])

    assert gain(20.0) == pytest.approx(0.0, abs=1e-9)
    assert [gain(low), gain(low + 8.0)] == pytest.approx([math.sqrt(0.5)] * 2)
    assert gain(0.0) == pytest.approx(1.0)


def test_feedthrough_of_filters_is_that_of_their_equations():
    # A loop around a filter is algebraic exactly where part of the input passes directly.
    loop = "  e: {type: Sum, signs: '+-', in: [r, y]}\n  r: {type: Step}\n"
    for settings in ("type: LowPass, cutoff: 1", "type: ZeroPole, poles: [-1]", "type: ZeroPole, poles: [0.5], Ts: 0.1"):
        run(f"{loop}  y: {{{settings}, in: e}}\n")
    for settings in (
        "type: LowPass, cutoff: 1, Ts: 0.1",
        "type: Notch, frequency: 1, bandwidth: 1",
        "type: ZeroPole, zeros: [1], poles: [2]",
    ):
        with pytest.raises(bs.DiagramError, match="algebraic loop"):
            run(f"{loop}  y: {{{settings}, in: e}}\n")


@pytest.mark.parametrize(("settings", "words"), [
    ("type: ZeroPole, poles: ['1+2j']", "poles: a complex number comes with its conjugate"),
    ("type: ZeroPole, poles: [two]", "poles: 'two' is not a number; one such as -1 or '-1+2j' is wanted."),
    ("type: ZeroPole, zeros: [1, 2], poles: [3]", "2 zeros and 1 pole(s): more zeros than poles cannot be computed."),
    ("type: LowPass, cutoff: 60, Ts: 0.01", "cutoff: must be below half the sampling frequency, 50 Hz, found 60."),
    ("type: LowPass, cutoff: 1, order: 0", "order: must be 1 to 20, found 0."),
])  # fmt: skip
def test_filters_are_refused_in_words(settings, words):
    assert words in refusal(settings)


def test_an_angle_is_wrapped_at_the_instant_it_leaves_its_turn():
    record = run(
        "  u: {type: Ramp, slope: -7.0}\n  y: {type: Wrap, in: u}\n  x: {type: Integrator, in: y}\n"
        "  p: {type: Wrap, period: 1.0, center: 0.5, in: u}\n",
        3.0,
    )
    u = -7.0 * record.t
    assert record["y"] == pytest.approx((u + np.pi) % math.tau - np.pi, abs=1e-9)
    assert np.array_equal(record["p"][1:].round(9) % 1.0, (u[1:] % 1.0).round(9) % 1.0)
    angle = -u - math.tau * np.round(-u / math.tau)
    assert record["x"] == pytest.approx(-(angle**2) / 14, abs=1e-8)  # whole turns add nothing


@pytest.mark.parametrize(("hold", "delay"), [("linear", 0.0), ("zero", 0.0), ("linear", 0.35), ("zero", 0.35)])
def test_a_sequence_repeats_and_its_corners_are_located(hold, delay):
    times, values = np.array([0, 0.2, 0.5, 0.7]), np.array([1.0, -1.0, 2.0, 0.5])
    record = run(
        f"  u: {{type: RepeatingSequence, times: {times.tolist()}, values: {values.tolist()}, hold: {hold}, delay: {delay}}}\n"
        "  x: {type: Integrator, in: u}\n",
        3.0,
    )
    fine = np.linspace(0, 3, 3 * 7000 + 1)
    place = (fine + 0.5 / 7000 - delay)[:-1] % 0.7
    y = np.interp(place, times, values) if hold == "linear" else values[np.searchsorted(times, place, side="right") - 1]
    area = np.concatenate([[0.0], np.cumsum(y) / 7000])  # midpoint rule between corners: exact
    assert record["x"] == pytest.approx(area[::70], abs=1e-8)
    assert "times: must rise, found 2 before 1." in refusal("type: RepeatingSequence, times: [0, 2, 1], values: [1, 2, 3]")


def test_uniform_noise_has_the_moments_of_its_law():
    y = run("  y: {type: UniformNoise, low: 1.0, high: 4.0, Ts: 0.001}\n", 10.0, every="1/1000")["y"]
    n = len(y)
    assert y.min() >= 1.0 and y.max() < 4.0
    assert y.mean() == pytest.approx(2.5, abs=4 * math.sqrt(9 / 12 / n))
    assert y.var() == pytest.approx(9 / 12, rel=4 * math.sqrt(0.8 / n))  # the fourth moment of a uniform law is 9/5 var^2
