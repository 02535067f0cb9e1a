"""The table of biases in docs/identification.md: what least squares say of their own bias beside what it is over many draws.

python docs/bias.py --read intervals        # many draws from the folder of docs/intervals.py where it has the loop; a few minutes
python docs/bias.py --draws 60 --told 12    # its own, 12 of which tell their bias
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from intervals import tallies, write

import blocksim as bs
from blocksim.diagram.files import bundled_root

#: Words of a loop, its diagram, the block, settings of the run, and its method in the studies of docs/intervals.py.
LOOPS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "joint, noise": ("intervals/joint", "ls", {}, "noise.ls"),
    "joint, noise, 25 Hz": ("intervals/joint", "ls_slow", {}, "noise.ls_slow"),
    "joint, all three": ("intervals/joint", "ls", {"resolution": 8e-4, "ripple": 0.1}, "both.ls"),
    "SCARA, noise": ("intervals/scara", "ls", {}, "noise.ls"),
    "SCARA, noise, 25 Hz": ("intervals/scara", "ls_slow", {}, "noise.ls_slow"),
    "two masses, two encoders": ("intervals/two_encoders", "ls", {}, ""),
}
BIASED = 0.5  # of the spread of one run: less is nobody's concern
SEEN = 4.0  # standard errors from which a bias is one
SEED = 7000


@dataclass(frozen=True)
class Comparison:
    """One parameter: its truth, the bias of so many draws and its standard error, what was told on average and its error."""

    name: str
    truth: float
    bias: float
    error: float
    spread: float
    told: float
    told_error: float

    @property
    def matters(self) -> bool:
        return abs(self.bias) > max(BIASED * self.spread, SEEN * self.error)

    @property
    def miss(self) -> float:
        """What was told less what it is, as a share of it."""
        return (self.told - self.bias) / abs(self.bias)

    @property
    def unsure(self) -> float:
        """How well that share is known."""
        return float(np.hypot(self.error, self.told_error)) / abs(self.bias)


def lone(diagram: str, block: str) -> str:
    """The text of a bundled diagram with this identifier only."""
    plain = yaml.safe_load((bundled_root() / f"{diagram}.yaml").read_text(encoding="utf-8"))
    identifiers = [n for n, own in plain["blocks"].items() if {"model", "parameters"} & set(own)]
    read = str(plain["blocks"][block]["in"])
    smoothers = [n for n, own in plain["blocks"].items() if own["type"] == "IRWSmoother" and f"'{n}." not in read]
    others = [n for n in [*identifiers, *smoothers] if n != block]
    return yaml.safe_dump({**plain, "blocks": {n: own for n, own in plain["blocks"].items() if n not in others}}, sort_keys=False)


def compared(loop: str, draws: int, told: int, within: int = 16, folder: Path | None = None) -> list[Comparison]:
    """The bias of `draws` runs, or of those in a folder, and what `told` runs say of it, each by `within` simulations."""
    diagram, block, params, method = LOOPS[loop]
    stored = tallies(folder / diagram.rpartition("/")[2]) if folder is not None and method else {}
    text, errors, tellings, entries = lone(diagram, block), [], [], []
    for k in range(told if stored else draws):
        more = {f"{block}.bias": "told", f"{block}.draws": within} if k < told else {}
        estimates = bs.simulate(text, params={**params, **more}, seed=SEED + k).estimates[block]
        entries = list(estimates.values())
        errors.append([e.value - e.truth for e in entries])
        if k < told:
            tellings.append(estimates.details["bias"])
    words, result = np.array(tellings), []
    doubt = words.std(axis=0, ddof=1) / np.sqrt(told) if told > 1 else np.zeros(len(entries))
    for i, e in enumerate(entries):
        own = stored[method, e.name].error if stored else np.array(errors)[:, i]
        spread = float(own.std(ddof=1))
        numbers = float(own.mean()), spread / len(own) ** 0.5, spread, float(words[:, i].mean()), float(doubt[i])
        result.append(Comparison(e.name, e.truth, *numbers))
    return result


def percent(value: float, one: Comparison) -> str:
    return f"{100 * value / abs(one.truth):+.2g} %" if one.truth else f"{value:+.2g}"


def line_of(words: str, table: Sequence[Comparison]) -> str:
    biased = [one for one in table if one.matters]
    cells = ", ".join(f"{one.name} {percent(one.bias, one)} / {percent(one.told, one)}" for one in biased)
    worst = max((abs(one.miss) for one in biased), default=0.0)
    within = sum(abs(one.miss) <= 1 / 3 for one in biased)
    return f"| {words} | {cells or 'none is biased'} | {within} of {len(biased)} | {100 * worst:.0f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loops", nargs="*", default=list(LOOPS), help="which; all unless said, and only then the page is written")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--told", type=int, default=12)
    parser.add_argument("--read", type=Path, help="a folder of docs/intervals.py, for the biases that it holds")
    asked = parser.parse_args()
    lines = ["| loop | bias / told, of what is biased | within a third | worst |", "|---|---|---|---|"]
    for words in asked.loops:
        lines.append(line_of(words, compared(words, asked.draws, asked.told, folder=asked.read)))
        print(lines[-1], flush=True)
    if list(asked.loops) == list(LOOPS):
        write("bias", "\n".join(lines))


if __name__ == "__main__":
    main()
