"""Every block's functions against closed forms, called as plain Python."""

import math

import numpy as np
import pytest
from scipy import integrate, signal

import blocks
from blocksim.contract.declarations import Memory, Param, Period, Static, Table
from blocksim.contract.definition import arguments
from blocksim.contract.times import exact


class Bench:
    """One block on the bench: its settings, sizes, tables and memory, and its functions called by what they ask for."""

    def __init__(self, name, inputs=1, connected=None, **settings):
        block = blocks.LIBRARY[name](**settings)
        self.kind = kind = block.variant(inputs)
        self.values = {n: self.number(d, block.settings.get(n, d.default)) for n, d in kind.of(Param, Static, Period).items()}
        given = {**block.settings, **(connected or {})}
        for n, f in kind.functions.items():
            if n.startswith("size_"):
                self.values[n[5:]] = f(**{a: given[a] for a in arguments(f)})
        for n in kind.of(Table):
            f = kind.functions[f"table_{n}"]
            self.values[n] = np.asarray(f(**{a: given[a] for a in arguments(f)}), float)
        for n, d in kind.of(Memory).items():
            if d.array:
                self.values[n] = np.full(self.values[d.size] if d.size in self.values else block.settings[d.size], 0.0)

    @staticmethod
    def number(declaration, value):
        if isinstance(declaration, Period):
            return float(exact(value))
        return np.asarray(value, float) if isinstance(declaration, Param) and isinstance(value, list) else value

    def __call__(self, function, **more):
        f = self.kind.functions[function]
        return f(**{a: {**self.values, **more}[a] for a in arguments(f)})

    def vector(self, function, size, **more):
        out = np.full(size, np.nan)
        assert self(function, out=out, **more) is None
        return out

    def sequence(self, inputs):
        """The outputs of a scalar sampled block for these inputs, sample by sample."""
        kept = [n for n, d in self.kind.of(Memory).items() if not d.array]
        outputs = []
        for u in inputs:
            if "step" in self.kind.functions:
                result = self("step", **u)
                y, *following = result if isinstance(result, tuple) else (result,)
            else:
                y = self("output", **u)
                result = self("update", **u) if "update" in self.kind.functions else ()
                following = [] if result is None else result if isinstance(result, tuple) else [result]
            self.values.update(zip(kept, following, strict=True))
            outputs.append(y)
        return np.array(outputs)

    def settle(self, **more):
        """Fire every guard that is negative until none is, as the engine does at an instant; the number of resets."""
        for count in range(20):
            fired = [n[6:] for n in self.kind.functions if n.startswith("guard_") and self(n, **more) < 0]
            if not fired:
                return count
            self.values.update(self(f"reset_{fired[0]}", **more))
        raise AssertionError("guards never come to rest")


def record_of_guards(bench, times, **signals):
    """Outputs of a block with guards along time."""
    outputs = []
    for t in times:
        now = {"t": t, **{n: f(t) for n, f in signals.items()}}
        bench.settle(**now)
        outputs.append(bench("output", **now))
    return np.array(outputs)


# sources


def test_step_is_before_until_its_time_and_after_from_it_on():
    step = Bench("Step", time=1.0, before=-1.0, after=2.0)
    assert list(record_of_guards(step, [0.0, 0.999, 1.0, 1.5])) == [-1, -1, 2, 2]
    assert list(record_of_guards(Bench("Step"), [0.0])) == [1.0]


def test_ramp_and_sine():
    assert Bench("Ramp", slope=2.0, start=1.0)("output", t=3.0) == 4.0
    assert Bench("Ramp", slope=2.0, start=1.0)("output", t=0.5) == 0.0
    sine = Bench("Sine", amplitude=2.0, frequency=0.25, phase=math.pi / 2, bias=1.0)
    assert sine("output", t=0.0) == 3.0
    assert sine("output", t=2.0) == pytest.approx(-1.0)


@pytest.mark.parametrize("method", ["linear", "log"])
@pytest.mark.parametrize(("low", "high"), [(0.5, 4.0), (4.0, 0.5), (2.0, 2.0)])
def test_chirp_has_the_promised_frequency_at_every_instant(method, low, high):
    # With phase pi/2 and 0 the chirp gives cos and sin of one angle; the derivative of that angle is the frequency.
    quarter = {"f_start": low, "f_end": high, "duration": 2.0, "method": method}
    cosine, sine = Bench("Chirp", phase=math.pi / 2, **quarter), Bench("Chirp", **quarter)
    for t in (-0.3, 0.2, 1.0, 1.7, 2.5):
        h = 1e-6
        turned = [math.atan2(sine("output", t=s), cosine("output", t=s)) for s in (t - h, t + h)]
        frequency = math.remainder(turned[1] - turned[0], math.tau) / (2 * h) / math.tau
        share = min(max(t / 2.0, 0.0), 1.0)
        expected = low + (high - low) * share if method == "linear" else low * (high / low) ** share
        assert frequency == pytest.approx(expected, rel=1e-6)


def test_linear_chirp_agrees_with_scipy():
    chirp = Bench("Chirp", f_start=0.5, f_end=8.0, duration=3.0, phase=math.pi / 2)
    t = np.linspace(0, 3, 50)
    assert [chirp("output", t=v) for v in t] == pytest.approx(signal.chirp(t, 0.5, 3.0, 8.0))


def test_pulse_is_high_for_its_share_of_every_period():
    times = np.arange(0, 5, 0.01)
    pulse = record_of_guards(Bench("Pulse", amplitude=2.0, period=1.0, duty=0.25, delay=0.5), times)
    expected = np.where((times >= 0.5) & (((times - 0.5) % 1.0) < 0.25 - 1e-9), 2.0, 0.0)
    assert np.mean(pulse != expected) < 0.004  # at most the instants of the edges themselves
    late = Bench("Pulse", period=1.0, duty=0.5)
    assert late.settle(t=7.2) == 1  # a start far from zero needs one reset, not one for each edge passed
    assert late("output") == 1.0


@pytest.mark.parametrize(("duty", "level"), [(0.0, 0.0), (1.0, 1.0)])
def test_pulse_with_nothing_or_everything_as_duty(duty, level):
    assert set(record_of_guards(Bench("Pulse", duty=duty), np.arange(0, 4, 0.05))) == {level}


def test_noise_scales_its_draw():
    assert Bench("WhiteNoise", std=2.0, mean=1.0, Ts=0.1)("output", w=-0.5) == 0.0
    coin = Bench("RandomBinary", amplitude=3.0, clock=0.1)
    assert [coin("output", w=w) for w in (0.0, 0.49, 0.5, 0.99)] == [3, 3, -3, -3]


def test_prbs_has_the_autocorrelation_of_a_maximal_sequence():
    length = 2**6 - 1
    y = Bench("PRBS", amplitude=2.0, bits=6, clock=0.1).sequence([{}] * (2 * length))
    assert np.array_equal(y[:length], y[length:])
    period = y[:length]
    assert set(period) == {-2.0, 2.0}
    correlation = [np.mean(period * np.roll(period, k)) for k in range(length)]
    assert correlation[0] == 4.0
    assert correlation[1:] == pytest.approx([-4.0 / length] * (length - 1))


@pytest.mark.parametrize("order", [1, 4, 5])
def test_filtered_noise_is_butterworth_of_uniform_noise(order):
    w = np.random.default_rng(1).random(400)
    bench = Bench("FilteredNoise", amplitude=3.0, cutoff=0.7, order=order, Ts="1/50")
    y = bench.sequence([{"w": v} for v in w])
    expected = signal.sosfilt(signal.butter(order, 0.7, fs=50, output="sos"), 3.0 * (2 * w - 1))
    assert y == pytest.approx(expected, abs=1e-12)


def multisine(bench, t):
    return np.array([bench("output", t=v) for v in t])


def crest(y):
    return np.abs(y).max() / np.sqrt(np.mean(y**2))


@pytest.mark.parametrize("phases", ["schroeder", "random", "optimised"])
def test_multisine_reaches_its_amplitude_and_no_more(phases):
    y = multisine(Bench("Multisine", f_min=1.0, f_max=15.0, lines=15, amplitude=2.0, phases=phases), np.linspace(0, 1, 20001))
    assert np.abs(y).max() == pytest.approx(2.0, rel=1e-4)


def test_multisine_has_power_on_its_lines_only():
    t = np.arange(256) / 256
    y = multisine(Bench("Multisine", f_min=3.0, f_max=12.0, lines=10, odd_only=True, phases="random"), t)
    power = np.abs(np.fft.rfft(y))
    assert list(np.flatnonzero(power > 1e-9)) == [3, 5, 7, 9, 11]
    assert np.ptp(power[[3, 5, 7, 9, 11]]) < 1e-9


def test_crest_factors_of_schroeder_and_of_the_descent():
    t = np.arange(4096) / 4096
    lines = {"f_min": 1.0, "f_max": 15.0, "lines": 15}
    schroeder, optimised = (crest(multisine(Bench("Multisine", phases=p, **lines), t)) for p in ("schroeder", "optimised"))
    assert 1.6 < schroeder < 1.85
    assert optimised < 1.42  # the square wave's 1 is out of reach; sqrt(2) is that of a single sine


def test_free_frequencies_and_listed_phases():
    bench = Bench("Multisine", frequencies=[1.0, math.sqrt(2)], phases=[0.0, 0.5], amplitude=3.0)
    t = 0.7
    expected = 1.5 * (math.cos(math.tau * t) + math.cos(math.tau * math.sqrt(2) * t + 0.5))
    assert bench("output", t=t) == pytest.approx(expected)


def check_derivatives(bench, joints, times, tolerance=1e-5):
    h = 1e-5
    for t in times:
        for name, rate in (("q", "qd"), ("qd", "qdd")):
            slope = (bench.vector(f"output_{name}", joints, t=t + h) - bench.vector(f"output_{name}", joints, t=t - h)) / (2 * h)
            assert slope == pytest.approx(bench.vector(f"output_{rate}", joints, t=t), abs=tolerance)


@pytest.mark.parametrize("coefficients", ["position", "velocity"])
def test_fourier_trajectory(coefficients):
    a, b = [[1.0, 0.4], [0.5, 0.0]], [[0.3, -0.2], [0.0, 0.1]]
    bench = Bench("FourierTrajectory", base_frequency=0.2, a=a, b=b, offset=[0.1, 0.2], coefficients=coefficients)
    check_derivatives(bench, 2, [0.0, 0.3, 2.1])
    w, t = math.tau * 0.2, 0.9
    if coefficients == "position":
        q0 = 0.1 + sum(a[0][k] * math.sin((k + 1) * w * t) + b[0][k] * math.cos((k + 1) * w * t) for k in range(2))
        assert bench.vector("output_q", 2, t=t)[0] == pytest.approx(q0)
    else:
        qd0 = sum(a[0][k] * math.cos((k + 1) * w * t) + b[0][k] * math.sin((k + 1) * w * t) for k in range(2))
        assert bench.vector("output_qd", 2, t=t)[0] == pytest.approx(qd0)


def test_polynomial_trajectory_meets_its_points_at_rest_and_is_the_classic_quintic():
    bench = Bench("PolynomialTrajectory", times=[0.5, 1.5, 3.0], points=[[0.0, 1.0, -0.5], [2.0, 2.0, 1.0]])
    for i, t in enumerate([0.5, 1.5, 3.0]):
        assert bench.vector("output_q", 2, t=t) == pytest.approx([[0.0, 1.0, -0.5][i], [2.0, 2.0, 1.0][i]])
        assert bench.vector("output_qd", 2, t=t) == pytest.approx([0, 0], abs=1e-12)
        assert bench.vector("output_qdd", 2, t=t) == pytest.approx([0, 0], abs=1e-12)
    s = 0.3
    assert bench.vector("output_q", 2, t=0.5 + s)[0] == pytest.approx(10 * s**3 - 15 * s**4 + 6 * s**5)
    assert bench.vector("output_q", 2, t=9.0) == pytest.approx([-0.5, 1.0])
    check_derivatives(bench, 2, [0.1, 0.7, 1.4, 2.9, 3.5])


def test_polynomial_trajectory_passes_points_with_given_rates():
    rates = {"velocities": [0.0, 0.7, 0.0], "accelerations": [0.0, -0.3, 0.0]}
    bench = Bench("PolynomialTrajectory", times=[0.0, 1.0, 3.0], points=[0.0, 1.0, 2.0], **rates)
    for t in (1.0 - 1e-12, 1.0 + 1e-12):
        assert bench.vector("output_q", 1, t=t) == pytest.approx([1.0])
        assert bench.vector("output_qd", 1, t=t) == pytest.approx([0.7])
        assert bench.vector("output_qdd", 1, t=t) == pytest.approx([-0.3])
    check_derivatives(bench, 1, [0.2, 0.9, 1.1, 2.5])


def test_trapezoid_trajectory_integrates_to_its_way_points_within_its_limits():
    points = [[0.0, 2.0, 1.9], [0.0, 0.5, 1.0]]
    bench = Bench("TrapezoidTrajectory", points=points, speed=[1.5, 0.6], acceleration=[4.0, 2.0], pause=0.2, start=0.3)
    begins = bench.values["begins"]
    t = np.linspace(0.0, begins[-1] + 0.5, 4001)
    q, qd, qdd = (np.array([bench.vector(f"output_{n}", 2, t=v) for v in t]) for n in ("q", "qd", "qdd"))
    assert q[0] == pytest.approx([0, 0]) and q[-1] == pytest.approx([1.9, 1.0])
    assert integrate.simpson(qd, x=t, axis=0) == pytest.approx([1.9, 1.0], abs=1e-6)
    assert integrate.cumulative_simpson(qdd, x=t, axis=0) == pytest.approx(qd[1:], abs=1e-4)
    assert np.abs(qd).max(axis=0)[0] <= 1.5 * (1 + 1e-12) and np.abs(qd).max(axis=0)[1] <= 0.6 * (1 + 1e-12)
    assert np.abs(qdd).max(axis=0)[0] <= 4.0 * (1 + 1e-12) and np.abs(qdd).max(axis=0)[1] <= 2.0 * (1 + 1e-12)
    assert max(np.abs(qd).max(axis=0) / [1.5, 0.6]) == pytest.approx(1.0)  # the slowest joint uses its limit
    assert bench.vector("output_q", 2, t=begins[1] - 0.1) == pytest.approx([2.0, 0.5])  # in the pause
    check_derivatives(bench, 2, [0.35, 0.5, 1.0, 1.8, 2.2], tolerance=1e-4)


def test_trapezoid_takes_the_time_of_khalil_and_dombre():
    bench = Bench("TrapezoidTrajectory", points=[0.0, 3.0], speed=1.0, acceleration=2.0)
    assert bench.values["begins"][-1] == pytest.approx(3.0 / 1.0 + 1.5 * 1.0 / 2.0)  # D / kv + 3 kv / (2 ka)


@pytest.mark.parametrize("hold", ["linear", "zero"])
def test_from_record_reads_between_its_samples(tmp_path, hold):
    from blocksim.records.record import Record

    t, y = np.array([0.0, 0.5, 1.5, 2.0]), np.array([1.0, 3.0, -1.0, 0.0])
    Record.from_arrays(t, y=y).save(tmp_path / "signal.npz")
    bench = Bench("FromRecord", file=str(tmp_path / "signal.npz"), signal="y", hold=hold)
    for now in (-1.0, 0.0, 0.4, 0.5, 1.2, 1.99, 2.0, 5.0):
        bench.settle(t=now)
        expected = np.interp(now, t, y) if hold == "linear" else y[max(np.searchsorted(t, now, "right") - 1, 0)]
        assert bench.vector("output", 1, t=now) == pytest.approx([expected])


# arithmetic and routing


def test_arithmetic():
    assert Bench("Constant", value=4.0)("output") == 4.0
    assert Bench("Gain", k=3.0)("output", u=2.0) == 6.0
    assert Bench("Sum", inputs=3, signs="-+-")("output", u=(1.0, 2.0, 3.0)) == -2.0
    assert Bench("Sum", inputs=2)("output", u=(1.0, 2.0)) == 3.0
    assert Bench("Product", inputs=3, operations="/*/")("output", u=(2.0, 3.0, 4.0)) == 0.375
    assert Bench("Product", inputs=2)("output", u=(2.0, 3.0)) == 6.0
    assert Bench("Abs")("output", u=-2.0) == 2.0


def test_matrix_gain():
    K = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]]
    assert Bench("MatrixGain", K=K).vector("output", 2, u=np.array([1.0, 2.0, 4.0])) == pytest.approx([17.0, 0.0])


def test_function_of_several_inputs_and_time():
    bench = Bench("Function", inputs=2, expression="sin(u1) * u2**2 + t")
    assert bench("output", u=(0.5, 3.0), t=1.0) == pytest.approx(math.sin(0.5) * 9 + 1)
    assert Bench("Function", expression="u if u > 0 else 0")("output", u=(-1.0,)) == 0.0
    assert Bench("Function", inputs=0, expression="2 * t")("output", t=3.0) == 6.0


def test_function_depends_on_what_it_reads_only():
    assert arguments(Bench("Function", inputs=0, expression="2 * t").kind.functions["output"]) == ("t",)
    assert arguments(Bench("Function", inputs=2, expression="u2").kind.functions["output"]) == ("u",)


def test_mux_demux_and_select():
    assert Bench("Mux", inputs=2, connected={"u": (1, 2)}).values["n"] == 3
    functions = type(blocks.LIBRARY["Demux"](sizes=[1, 2])).functions
    assert functions["output_y1"](u=(5.0, 6.0, 7.0)) == 5.0
    assert functions["output_y2"](u=(5.0, 6.0, 7.0)) == (6.0, 7.0)
    select = Bench("Select", index=[2, 0], connected={"u": 3})
    assert select("output", u=(5.0, 6.0, 7.0)) == (7.0, 5.0)
    assert Bench("Select", index=1, connected={"u": 2})("output", u=(5.0, 6.0)) == 6.0


def test_switch_passes_above_only_above_its_threshold():
    bench = Bench("Switch", threshold=0.5)
    signals = {"above": lambda t: 1.0, "below": lambda t: -1.0}
    control = {0.0: 0.5, 1.0: 0.6, 2.0: 0.5, 3.0: 0.5, 4.0: 9.0}
    assert list(record_of_guards(bench, control, control=control.get, **signals)) == [-1, 1, -1, -1, 1]


# continuous


def test_first_order_lag_and_derivative():
    lag = blocks.LIBRARY["FirstOrderLag"].functions
    assert lag["derivative"](x=0, u=1, k=2, T=0.5) == 4
    derivative = Bench("Derivative", T=0.1)
    ramp_after_settling = {"x": 3.0 - 0.1, "u": 3.0}  # the filtered ramp lags by T
    assert derivative("output", **ramp_after_settling) == pytest.approx(1.0)
    assert derivative("derivative", **ramp_after_settling) == pytest.approx(1.0)


def test_integrator_without_limits_is_plain():
    bench = Bench("Integrator")
    assert bench("derivative", u=3.0) == 3.0
    assert not any(n.startswith("guard_") for n in bench.kind.functions)


def test_integrator_stops_at_its_limits_and_leaves_when_the_input_turns():
    bench = Bench("Integrator", lower=-1.0, upper=2.0)
    assert bench("derivative", u=3.0) == 3.0
    assert bench.settle(x=2.5, u=3.0) == 1
    assert (bench.values["x"], bench("derivative", u=3.0)) == (2.0, 0.0)
    assert bench.settle(x=2.0, u=-1.0) == 1
    assert bench("derivative", u=-1.0) == -1.0
    assert bench.settle(x=-1.1, u=-1.0) == 1
    assert bench.values["x"] == -1.0 and bench.settle(x=-1.0, u=-1.0) == 0
    assert bench.settle(x=-1.0, u=0.1) == 1


@pytest.mark.parametrize(
    ("num", "den"), [([2.0], [1.0, 0.4, 2.0]), ([0.0, 3.0, 1.0], [2.0, 0.4, 2.0]), ([4.0, 1.0, 2.0], [2.0, 1.0, 3.0])]
)
def test_transfer_function_realises_its_polynomials(num, den):
    bench = Bench("TransferFunction", num=num, den=den)
    n = len(den) - 1
    A = np.array([bench.vector("derivative", n, x=row, u=0.0) for row in np.eye(n)]).T
    B = bench.vector("derivative", n, x=np.zeros(n), u=1.0)
    C = np.array([bench("output", x=row, u=0.0) for row in np.eye(n)])
    D = bench("output", x=np.zeros(n), u=1.0)
    for s in (0.0, 1j, 0.3 + 2j):
        response = C @ np.linalg.solve(s * np.eye(n) - A, B) + D
        assert response == pytest.approx(np.polyval(num, s) / np.polyval(den, s))
    assert ("u" in arguments(bench.kind.functions["output"])) == (num[0] == 4.0)


@pytest.mark.parametrize("name", ["StateSpace", "DiscreteStateSpace"])
@pytest.mark.parametrize("D", [None, [[0.0, 0.0]], [[0.5, -1.0]]])
def test_state_space(name, D):
    A, B, C = [[0.0, 1.0], [-2.0, -0.4]], [[0.0, 1.0], [1.0, 0.5]], [[1.0, 3.0]]
    more = {} if D is None else {"D": D}
    bench = Bench(name, A=A, B=B, C=C, **more, **({"Ts": 0.1} if name.startswith("Discrete") else {}))
    x, u = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    change = bench.vector("update" if name.startswith("Discrete") else "derivative", 2, x=x, u=u)
    assert change == pytest.approx(np.array(A) @ x + np.array(B) @ u)
    feed = np.zeros((1, 2)) if D is None else np.array(D)
    assert bench.vector("output", 1, x=x, u=u) == pytest.approx(np.array(C) @ x + feed @ u)
    assert ("u" in arguments(bench.kind.functions["output"])) == bool(feed.any())


@pytest.mark.parametrize("delay", [0.1, 0.25, 0.3])
def test_transport_delay_is_exact_for_straight_lines(delay):
    bench = Bench("TransportDelay", delay=delay, Ts=0.1, initial=-5.0)
    for k in range(40):
        t = 0.1 * k
        bench.values["count"], bench.values["last"] = bench("update", t=t, u=2.0 * t + 1.0, count=float(k), last=0.0)
        for now in (t + 0.03, t + 0.1):
            y = bench("output", t=now)
            if now - delay >= 0:
                assert y == pytest.approx(2.0 * (now - delay) + 1.0)
            elif now - delay < -0.1:
                assert y == -5.0
    assert "u" not in arguments(bench.kind.functions["output"])


# discrete


def test_unit_delay_and_hold():
    assert list(Bench("UnitDelay", Ts=0.1, x=7.0).sequence([{"u": u} for u in (1.0, 2.0, 3.0)])) == [7, 1, 2]
    assert Bench("ZeroOrderHold", Ts=0.1)("output", u=3.0) == 3.0


@pytest.mark.parametrize("method", ["forward", "backward", "trapezoid"])
def test_discrete_integrator_sums_by_its_rule(method):
    u = np.random.default_rng(2).normal(size=30)
    y = Bench("DiscreteIntegrator", Ts=0.1, k=2.0, x=1.0, method=method).sequence([{"u": v} for v in u])
    past = np.concatenate([[0.0], np.cumsum(u)[:-1]])
    expected = {"forward": past, "backward": past + u, "trapezoid": past + u / 2}[method]
    assert y == pytest.approx(1.0 + 0.2 * expected)


def test_discrete_integrator_does_not_wind_up():
    u = [1.0] * 10 + [-1.0] * 3
    y = Bench("DiscreteIntegrator", Ts=1.0, upper=3.0, method="backward").sequence([{"u": v} for v in u])
    assert list(y[-4:]) == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("num", "den"), [([0.2, 0.3, 0.1], [1.0, -0.9, 0.4]), ([1.0, 0.5], [2.0, -0.9, 0.4]), ([3.0], [1.0, 0.2])]
)
def test_discrete_transfer_function_is_lfilter(num, den):
    u = np.random.default_rng(3).normal(size=60)
    y = Bench("DiscreteTransferFunction", num=num, den=den, Ts=0.1).sequence([{"u": v} for v in u])
    assert y == pytest.approx(signal.lfilter([0.0] * (len(den) - len(num)) + num, den, u))


@pytest.mark.parametrize("window", [1, 4])
def test_moving_average(window):
    u = np.random.default_rng(4).normal(size=21) + 1e6
    y = Bench("MovingAverage", window=window, Ts=0.1).sequence([{"u": v} for v in u])
    assert y == pytest.approx([u[max(0, k - window + 1) : k + 1].mean() for k in range(len(u))], rel=1e-14)


# nonlinear


def test_saturation_and_dead_zone():
    limit = Bench("Saturation", lower=-1.0, upper=2.0)
    assert [limit("output", u=u) for u in (-5.0, 0.5, 5.0)] == [-1, 0.5, 2]
    dead = Bench("DeadZone", lower=-1.0, upper=2.0)
    assert [dead("output", u=u) for u in (-3.0, -1.0, 0.5, 2.0, 5.0)] == [-2, 0, 0, 0, 3]


def test_sign_follows_even_a_signal_that_rests_at_zero():
    values = {0.0: 0.0, 1.0: 2.0, 2.0: 0.0, 3.0: 0.0, 4.0: -1e-12, 5.0: 1.0}
    assert list(record_of_guards(Bench("Sign"), values, u=values.get)) == [0, 1, 0, 0, -1, 1]


def test_relay_has_hysteresis():
    values = dict(enumerate([0.0, 0.9, 1.1, 0.5, -0.9, -1.1, 0.5, 2.0]))
    relay = Bench("Relay", on_point=1.0, off_point=-1.0, on_value=5.0, off_value=-5.0)
    assert list(record_of_guards(relay, values, u=values.get)) == [-5, -5, 5, 5, 5, -5, -5, 5]


@pytest.mark.parametrize("step", [0.1, 1 / 3, 3.1416e-3, 7.0])
def test_quantizer_rounds_and_never_chatters(step):
    bench = Bench("Quantizer", step=step)
    rng = np.random.default_rng(5)
    for u in np.concatenate([rng.normal(size=300) * 50 * step, (np.arange(-50, 50) + 0.5) * step]):
        assert bench.settle(u=u) <= 1  # one reset, however far the input jumped, and none after it
        assert abs(bench("output") - u) <= 0.5 * step * (1 + 1e-6)


def test_rate_limiter():
    bench = Bench("RateLimiter", rising=2.0, falling=1.0, Ts=0.5)
    assert list(bench.sequence([{"u": u} for u in (5.0, 5.0, 1.5, 0.0, 0.0)])) == [1, 2, 1.5, 1.0, 0.5]


def test_backlash_is_the_play_operator():
    bench = Bench("Backlash", width=1.0, Ts=0.1)
    y = bench.sequence([{"u": u} for u in (0.3, 2.0, 1.6, 1.0, 0.5, -1.0, -0.2, 0.5)])
    assert y == pytest.approx([0.0, 1.5, 1.5, 1.5, 1.0, -0.5, -0.5, 0.0])


@pytest.mark.parametrize("count", [2, 3, 8, 33])
def test_lookup_table_is_numpy_interp(count):
    rng = np.random.default_rng(count)
    points, values = np.cumsum(rng.random(count) + 0.1), rng.normal(size=count)
    for outside in ("clip", "extrapolate"):
        bench = Bench("LookupTable", points=list(points), values=list(values), outside=outside)
        for u in np.linspace(points[0], points[-1], 101):
            assert bench("output", u=u) == pytest.approx(np.interp(u, points, values))
        slope = (values[-1] - values[-2]) / (points[-1] - points[-2])
        beyond = values[-1] + (0.0 if outside == "clip" else 2.0 * slope)
        assert bench("output", u=points[-1] + 2.0) == pytest.approx(beyond)
        first = (values[1] - values[0]) / (points[1] - points[0])
        assert bench("output", u=points[0] - 2.0) == pytest.approx(values[0] - (0.0 if outside == "clip" else 2.0 * first))
