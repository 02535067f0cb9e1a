"""Two questions of docs/identification.md, tried on the joint of diagrams/intervals: why no fixed filter makes closed-loop output
error efficient, and why output error under ripple is too sure of itself.

python docs/trials.py whitening      # some minutes on one core
python docs/trials.py ripple
"""

from __future__ import annotations

import argparse

import numpy as np
import yaml
from scipy.signal import fftconvolve

import blocks.identifiers.cloe as cloe
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=("whitening", "ripple"))
    {"whitening": whitening, "ripple": ripple}[parser.parse_args().trial]()
