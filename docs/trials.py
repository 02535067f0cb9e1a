"""Four questions of docs/identification.md: why no fixed filter makes closed-loop output error efficient, and why output error
under ripple is too sure of itself, and why DIDIM is too unsure with encoder noise, tried on the joint of diagrams/intervals; and
whether intervals hold in loops nobody chose.

python docs/trials.py whitening      # some seconds
python docs/trials.py ripple
python docs/trials.py wide
python docs/trials.py loops          # some minutes
"""

from __future__ import annotations

import argparse

import numpy as np
import yaml
from scipy.signal import fftconvolve

import blocks.identifiers.cloe as cloe
import blocks.identifiers.noise.noise_spectrum as noise_spectrum
import blocks.identifiers.regression.didim as didim
import blocksim as bs
from blocks.identifiers.regression.regression import fit
from blocks.identifiers.regression.spectrum import spectral_spread
from blocksim.diagram.files import bundled_root

NAMES, TRUTH = ("J", "Fv", "Fc", "Ms"), np.array([0.035, 0.12, 0.25, 0.09])
SKIPPED = 500  # rows at either end, as the identifiers of the diagram leave out
QUIET = {"shake": 0.0, "resolution": 1e-9, "ripple": 0.0}


def lone(*kept: str) -> str:
    """The text of the joint's diagram with these identifiers only."""
    plain = yaml.safe_load((bundled_root() / "intervals" / "joint.yaml").read_text(encoding="utf-8"))
    blocks = {n: own for n, own in plain["blocks"].items() if n in kept or not {"model", "parameters"} & set(own)}
    blocks = {n: own for n, own in blocks.items() if own["type"] != "IRWSmoother"}
    return yaml.safe_dump({**plain, "blocks": blocks, "log": ["encoder", "pid"]}, sort_keys=False)


def whitening(learnt: int = 32, judged: int = 100) -> None:
    """Spread of closed-loop output error to first order, all frequencies alike, and whitened by the spectrum of draws."""
    text = lone()

    def signals(theta: np.ndarray, params: dict[str, float], seed: int = 1) -> dict[str, np.ndarray]:
        own = {f"joint.{n}": float(v) for n, v in zip(NAMES, theta, strict=True)}
        record = bs.simulate(text, params={**QUIET, **params, **own}, seed=seed)
        return {"angle": record["encoder"], "torque": record["pid"]}

    base, steps = signals(TRUTH, {}), 1e-4 * np.diag(TRUTH)
    pairs = [(signals(TRUTH + step, {}), signals(TRUTH - step, {})) for step in steps]
    noisy = [signals(TRUTH, {"shake": 2e-4}, 1000 + k) for k in range(learnt + judged)]
    for name, ideal in base.items():
        J = np.stack([(a[name] - b[name]) / (2 * step.sum()) for (a, b), step in zip(pairs, steps, strict=True)], axis=1)
        rest = np.array([own[name] - ideal for own in noisy])
        inverse = inverse_filter(rest[:learnt])
        white, slopes = (np.array([fftconvolve(row, inverse)[: len(ideal)] for row in A]) for A in (rest[learnt:], J.T))
        before, after = spread(J, rest[learnt:]), spread(slopes.T, white)
        correlation = float(np.mean(white[:, 1:] * white[:, :-1]) / np.mean(white**2))
        gains = ", ".join(f"{n} {g:.1f}" for n, g in zip(NAMES, before / after, strict=True))
        print(f"{name}: residuals whitened to a correlation of {correlation:.3f}, spread smaller by {gains}")


def spread(J: np.ndarray, rest: np.ndarray) -> np.ndarray:
    rows = slice(SKIPPED, len(J) - SKIPPED)
    return np.asarray((np.linalg.pinv(J[rows]) @ rest[:, rows].T).std(axis=1, ddof=1))


def inverse_filter(draws: np.ndarray) -> np.ndarray:
    """The causal filter that makes this noise white: its spectrum, smoothed and factorised by the cepstrum, inverted."""
    rows = draws.shape[1]
    window = np.hanning(rows)
    power = np.mean(np.abs(np.fft.rfft(draws * window, axis=1)) ** 2, axis=0) / np.sum(window**2)
    lines = np.arange(len(power))
    reach = np.minimum(np.maximum(2, lines // 10), np.minimum(np.maximum(lines - 1, 0), len(power) - 1 - lines))
    sums = np.concatenate([[0.0], np.cumsum(power)])
    power = (sums[lines + reach + 1] - sums[lines - reach]) / (2 * reach + 1)
    power[0] = power[1]
    size = 2 ** int(np.ceil(np.log2(4 * rows)))
    fine = np.interp(np.linspace(0, 1, size // 2 + 1), np.linspace(0, 1, len(power)), np.log(power))
    cepstrum = np.fft.irfft(fine, size) / 2
    cepstrum[1 : size // 2] *= 2
    cepstrum[size // 2 + 1 :] = 0
    return np.asarray(np.fft.irfft(np.exp(-np.fft.rfft(cepstrum)), size)[:rows])


def ripple(draws: int = 40) -> None:
    """Output error under ripple: its errors beside theory to first order, and what its formula makes of two residuals."""
    kept_rows: dict[str, np.ndarray] = {}
    report = cloe.report

    def looked_at(method, task, search, *rest):  # type: ignore[no-untyped-def]
        kept_rows.update(J=task.sensitivities(TRUTH), true=-task.residuals(TRUTH), left=-task.residuals(search.theta))
        return report(method, task, search, *rest)

    cloe.report = looked_at
    text, errors, linear, claims, powers = lone("oe"), [], [], {"true": [], "left": []}, []
    for k in range(draws):
        entries = bs.simulate(text, params={"shake": 0.0, "ripple": 0.1}, seed=100 + k).estimates["oe"]
        J, rows = kept_rows["J"], len(kept_rows["true"])
        errors.append([entries[n].value for n in NAMES] - TRUTH)
        linear.append(np.linalg.pinv(J) @ kept_rows["true"])
        powers.append(1 - np.sum(kept_rows["left"] ** 2) / np.sum(kept_rows["true"] ** 2))
        bread = J @ fit(J, kept_rows["true"]).bread
        for kind, own in claims.items():
            whole = np.ones(rows, dtype=bool), np.zeros(rows, dtype=int)
            own.append(np.diag(spectral_spread(bread, J, kept_rows[kind], *whole, 0.0).covariance))
    cloe.report = report
    actual = np.std(errors, axis=0, ddof=1)
    agree = [np.corrcoef(a, b)[0, 1] for a, b in zip(np.transpose(errors), np.transpose(linear), strict=True)]
    print(f"correlation of the errors with theory to first order: {min(agree):.4f} at least")
    print(f"share of the residuals' power that the fit takes: {np.mean(powers):.2f}")
    for kind, own in claims.items():
        shares = np.sqrt(np.mean(own, axis=0)) / actual
        print(f"claimed / spread, residuals {kind}: " + ", ".join(f"{n} {s:.2f}" for n, s in zip(NAMES, shares, strict=True)))


def wide(draws: int = 300) -> None:
    """DIDIM: what its formula claims by bands and lines, and whether a run that errs more claims more."""
    for words, params in (("encoder noise", {"shake": 2e-4}), ("ripple", {"shake": 0.0, "ripple": 0.1})):
        print(words)
        claimed_and_true(params, draws)


def claimed_and_true(params: dict[str, float], draws: int) -> None:
    """Both of DIDIM with this noise, a line for each way to make the claim."""
    rows: list[tuple[np.ndarray, ...]] = []
    own = didim.spectral_spread

    def looked_at(*system):  # type: ignore[no-untyped-def]
        rows.append(system)
        return own(*system)

    didim.spectral_spread = looked_at
    text, errors = lone("didim"), []
    for k in range(draws):
        entries = bs.simulate(text, params=params, seed=100 + k).estimates["didim"]
        errors.append([entries[n].value for n in NAMES] - TRUTH)
    didim.spectral_spread = own
    actual, kept = np.std(errors, axis=0, ddof=1), (noise_spectrum.BAND_LINES, noise_spectrum.BAND_SHARE)
    for words, factor, lines in (("as it is", 1, 32), ("bands half as wide", 0.5, 32), ("bands twice as wide", 2, 32),
                                 ("half as many lines", 1, 16), ("a quarter of the lines", 1, 8)):  # fmt: skip
        noise_spectrum.BAND_LINES, noise_spectrum.BAND_SHARE = (factor * one for one in kept)
        claims = [np.diag(spectral_spread(*system[:5], lines).covariance) for system in rows]
        shares = np.sqrt(np.mean(claims, axis=0)) / actual
        print(f"claimed / spread, {words}: " + ", ".join(f"{n} {s:.2f}" for n, s in zip(NAMES, shares, strict=True)))
        if lines == 32 and factor == 1:
            together(np.array(errors), np.array(claims))
    noise_spectrum.BAND_LINES, noise_spectrum.BAND_SHARE = kept


def together(errors: np.ndarray, claims: np.ndarray) -> None:
    """Correlation of squared errors and claimed variances; spread of errors over their own claims, over those of other runs."""
    random, words = np.random.default_rng(0), []
    for i, name in enumerate(NAMES):
        shuffles = [errors[:, i] / np.sqrt(random.permutation(claims[:, i])) for _ in range(50)]
        own, others = np.std(errors[:, i] / np.sqrt(claims[:, i])), np.mean([np.std(one) for one in shuffles])
        correlation = np.corrcoef(errors[:, i] ** 2, claims[:, i])[0, 1]
        words.append(f"{name} {correlation:.2f}, {own:.2f} and {others:.2f}")
    print("correlation of error and claim, error over its own claim and over others': " + "; ".join(words))


LOOP = """
format: 1
simulate: {{stop: {stop}, solver: rk4, step: {Ts}, every: {Ts}, seed: 1}}
blocks:
  ref:    {{type: FourierTrajectory, base_frequency: {base}, a: {a}, b: {b}}}
  error:  {{type: Sum, signs: "+-", in: [ref.q, enc]}}
  pid:    {{type: PID, Ts: {Ts}, kp: {kp}, ki: {ki}, kd: {kd}, Tf: "${{3 * {Ts}}}", in: error}}
  push:   {{type: WhiteNoise, std: {ripple}, Ts: {Ts}}}
  drive:  {{type: Sum, in: [pid, push]}}
  joint:  {{type: GravityJoint, J: {J}, Fv: {Fv}, Fc: {Fc}, Ms: {Ms}, N: 1, beta: 20, in: drive}}
  noise:  {{type: WhiteNoise, std: {shake}, Ts: {Ts}}}
  seen:   {{type: Sum, in: [joint.q, noise]}}
  enc:    {{type: Encoder, Ts: {Ts}, resolution: {count}, in: seen}}
  torque: {{type: MovingAverage, window: 2, Ts: {Ts}, in: pid}}
  wide:   {{type: IRWSmoother, order: 3, bandwidth: {band}, in: enc}}
  iv:     {{type: InstrumentalVariable, model: joint, skip: 1, decimate: {decimate}, start: 0.8, bias: corrected, draws: 6,
           in: {{q: wide.x, qd: wide.dx, qdd: wide.ddx, tau: torque}}}}
  didim:  {{type: DIDIM, model: joint, skip: 1, decimate: {decimate}, start: 0.8, in: pid}}
  cloe:   {{type: CLOE, output: pid, skip: 1, start: 0.8, parameters: [joint.J, joint.Fv, joint.Fc, joint.Ms], in: pid}}
"""


def loop_by_lot(rng: np.random.Generator) -> tuple[str, str]:
    """A joint of any size, its motion, controller, noises and rate, and the kind of its noise."""
    J, Ts, stop = 10 ** rng.uniform(-2.5, 0.5), rng.choice([1e-3, 2e-3]), float(rng.choice([8, 12, 20, 30]))
    w, base = rng.uniform(15, 50), 1 / rng.choice([4, 8])  # bandwidth of the loop in rad/s
    a, b = (rng.uniform(0.3, 0.8) * rng.normal(size=5) / np.arange(1, 6) for _ in "ab")
    speed = 2 * np.pi * base
    size = 3 * J * speed**2  # of the torque
    Fc = size * 10 ** rng.uniform(-0.7, 0.5)
    kind = str(rng.choice(["noise", "noise and steps", "ripple", "all three"]))
    shake = 0.0 if kind == "ripple" else 10 ** rng.uniform(-4.5, -3.3)
    numbers = {
        "J": J, "Ts": Ts, "stop": stop, "base": base, "a": a.tolist(), "b": b.tolist(), "kp": J * w**2, "kd": 1.4 * J * w,
        "ki": J * w**2 * rng.uniform(0, 1.5), "Fc": Fc, "Fv": Fc / speed * 10 ** rng.uniform(-0.7, 0.3),
        "Ms": size / 9.81 * 10 ** rng.uniform(-0.5, 0.5), "shake": shake, "decimate": int(rng.choice([1, 1, 10, 20])),
        "count": shake * rng.uniform(1, 4) if kind in ("noise and steps", "all three") else 1e-9,
        "ripple": 0.1 * size * 10 ** rng.uniform(-0.5, 0.3) if kind in ("ripple", "all three") else 0.0,
        "band": w / (2 * np.pi) * rng.uniform(5, 8),
    }  # fmt: skip
    return kind, LOOP.format(**numbers)


def loops(count: int = 14, draws: int = 16) -> None:
    """Intervals in loops by lot: how many hold, and how far z spreads, by identifier."""
    rng, table = np.random.default_rng(2026), {}
    for k in range(count):
        kind, text = loop_by_lot(rng)
        runs = [bs.simulate(text, seed=300 + seed).estimates for seed in range(draws)]
        words = []
        for name in ("iv", "didim", "cloe"):
            entries = [[(e.z, e.interval[0] <= e.truth <= e.interval[1]) for e in run[name].values()] for run in runs]
            z, held = np.moveaxis(np.array(entries, dtype=float), 2, 0)
            table.setdefault(name, []).append((100 * held.mean(), np.sqrt(np.mean(z**2))))
            words.append(f"{name} {100 * held.mean():.0f} %, z {np.sqrt(np.mean(z**2)):.2f}")
        print(f"loop {k + 1}, {kind}: " + "; ".join(words), flush=True)
    for name, rows in table.items():
        held, z = np.transpose(rows)
        print(f"{name}: {held.mean():.1f} % of intervals hold, {held.min():.0f} to {held.max():.0f} % by loop; z {z.mean():.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=("whitening", "ripple", "wide", "loops"))
    {"whitening": whitening, "ripple": ripple, "wide": wide, "loops": loops}[parser.parse_args().trial]()
