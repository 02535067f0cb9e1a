"""What a plant decides of its observer: by its settings, whatever ran before in the process; in words where it cannot."""

import numpy as np
import pytest

import blocksim as bs
from blocks.observers.observed import EQUATIONS, equations_of
from blocksim.contract.block import Block, RecordBlock, fixed, inport, law, model, outport, param, state, static
from blocksim.contract.plant import Plant
from blocksim.errors import BlockDefinitionError


class Lag(Block):
    """x' = a u - b x, or with the law 'push' a u + b x; with c, c more."""

    a: float = param(1.0, "gain")
    b: float = param(2.0, "rate")
    c: float | None = param(None, "more")
    law: str = static("pull", "sign of the feedback", choices=("pull", "push"))
    u = inport("input")
    q: float = state(0.3, "position", port=True)

    @staticmethod
    def derivative(q, u, a, b, c, law):
        rate = a * u - b * q if law == "pull" else a * u + b * q
        return rate if c is None else rate + c


class Weights(Block):
    """x' = -w[0] x - w[1] x^3 ...: as many terms as it has weights."""

    n: int = static(1, "terms")
    u = inport("input")
    q = state(0.5, "position", size="n", port=True)

    @staticmethod
    def derivative(q, u, n, out):
        for i in range(n):
            out[i] = u - q[i]


def filtered(**settings):
    """The estimates of a filter that believes these settings of a lag that has none of them."""
    made = bs.Diagram("lag")
    made.add("u", "Sine", amplitude=1.0, frequency=1.0)
    made.add("lag", Lag(), inputs="u")
    made.add("ekf", "EKF", Ts=0.01, model="lag", parameters=settings, R=1e-2, inputs={"y": "lag.q", "u": "u"})
    return bs.simulate(made, stop=0.5, solver="rk4", step=0.01, engine="python")["ekf.q_hat"]


def by_hand(push=0.0, c=0.0):
    """The same filter in five lines of numpy: q[k+1] = q + Ts (u - 2 q ...), P' = F P F + Q with noise on no parameter."""
    made = bs.Diagram("lag")
    made.add("u", "Sine", amplitude=1.0, frequency=1.0)
    made.add("lag", Lag(), inputs="u")
    record = bs.simulate(made, stop=0.5, solver="rk4", step=0.01, engine="python")
    x, P, found = 0.3, 1e-2, []
    for y, u in zip(record["lag.q"], record["u"], strict=True):
        K = P / (P + 1e-2)
        x, P = x + K * (y - x), P - K * P
        found.append(x)
        x, P = x + 0.01 * (u + (2.0 if push else -2.0) * x + c), P * (1.0 + 0.01 * (2.0 if push else -2.0)) ** 2
    return np.array(found)


def test_a_law_of_another_setting_is_another_filter():
    """Two variants with the same names and numbers were taken for one: the second got the equations of the first."""
    assert filtered(law="pull") == pytest.approx(by_hand(), abs=1e-12)
    assert filtered(law="push") == pytest.approx(by_hand(push=1.0), abs=1e-12)
    assert filtered(law="pull") == pytest.approx(by_hand(), abs=1e-12)


def test_a_number_in_place_of_none_is_another_filter():
    """The key of the equations left out whether a number was given at all."""
    assert filtered() == pytest.approx(by_hand(), abs=1e-12)
    assert filtered(c=0.5) == pytest.approx(by_hand(c=0.5), abs=1e-12)


def test_equations_go_by_lengths_of_lists():
    one, two = (equations_of(Plant(Weights, Weights(n=n, q=[0.5] * n).settings)) for n in (1, 2))
    assert len(one.states) == 1 and len(two.states) == 2
    assert equations_of(Plant(Weights, Weights(n=2, q=[0.1, 0.2]).settings)) is two
    assert len(EQUATIONS) >= 2


class Doubled(RecordBlock):
    """y = gain(u) in as many copies as the plant has states."""

    model: str = model("a plant")
    n = fixed(1, "states")
    u = inport("input")
    y = outport("output", size="n")

    def decided(self, plants):
        states = len(equations_of(plants["model"]).states)
        return {"n": states, "extra": outport("one more")}

    def process(self, t, u, model, n=None):
        return np.stack([u] * type(self).declared["n"].default, axis=-1), u


def test_sizes_and_ports_are_decided_by_the_plant():
    made = bs.Diagram("decided")
    made.add("u", "Sine")
    made.add("w", Weights(n=3), inputs="u")
    made.add("d", Doubled(model="w"), inputs={"u": "u"})
    bound = made.nodes
    kind = bound["d"].block.modelled({"model": Plant(Weights, Weights(n=3).settings)})
    assert kind.declared["n"].default == 3 and "extra" in kind.of(type(kind.declared["y"]))
    assert kind is bound["d"].block.modelled({"model": Plant(Weights, Weights(n=3).settings)})
    assert kind is not bound["d"].block.modelled({"model": Plant(Weights, Weights(n=2).settings)})


class Wrong(Doubled):
    """y: decides what it does not have."""

    def decided(self, plants):
        return {"m": 3}


def test_deciding_what_is_not_declared_is_refused():
    with pytest.raises(BlockDefinitionError, match=r"block Wrong: 'decided' gives 'm', which is neither .* Declared so are: n"):
        Wrong(model="w").modelled({"model": Plant(Weights, Weights(n=2).settings)})


def handed(rate, u):
    return 10.0 * rate((u,), (1.0,), (1.0, 2.0))[0]


class Called(Block):
    """y = rate(q) of a plant, by a law it takes as an argument and hands on to a helper."""

    model: str = model("a plant")
    rate = law("rate of the plant at (x, u, p)")
    u = inport("input")
    y = outport("rate where q = u")

    @staticmethod
    def output(u, rate):
        (first,) = rate((u,), (0.0,), (1.0, 2.0))
        return first + handed(rate, u)

    def decided(self, plants):
        return {"rate": equations_of(plants["model"]).function("rate", ("f",))}


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_law_is_an_argument_that_is_called(engine):
    made = bs.Diagram("law")
    made.add("u", "Ramp")
    made.add("lag", Lag(), inputs="u")
    made.add("y", Called(model="lag"), inputs="u")
    record = bs.simulate(made, stop=2, solver="rk4", step=1, engine=engine)
    u = record["u"]
    assert record["y"] == pytest.approx(-2 * u + 10 * (1 - 2 * u), abs=1e-13)


def test_calling_an_argument_that_is_no_law_is_refused():
    with pytest.raises(BlockDefinitionError, match=r"it calls its own 'u'; call a word or a function of the module"):

        class Calls(Block):
            """y = u(1)."""

            u = inport("input")
            y = outport("output")

            @staticmethod
            def output(u):
                return u(1.0)


@pytest.mark.parametrize("kind", ["JointEKF", "RPEM", "EKF"])
def test_a_program_with_laws_is_kept_on_disk(kind, tmp_path, monkeypatch, recwarn):
    """A function handed over at the run would keep the compiled program from being cached."""
    from blocksim.contract.library import find

    monkeypatch.setenv("BLOCKSIM_CACHE", str(tmp_path / "kept"))
    bs.simulate(find(kind).example, stop=0.01, engine="compiled")
    assert not [w for w in recwarn if "Cannot cache" in str(w.message)]
    kept = [path for path in (tmp_path / "kept").rglob("*") if path.suffix in (".nbi", ".o", ".native")]
    assert kept
