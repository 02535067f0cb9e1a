"""How soon a torque for six parameters at once is found, for several seeds of the search, and what a limit on the speed costs.

python benchmarks/design.py            # some minutes; seconds of the processor do not mind what else runs
python benchmarks/design.py --seeds 2 --simulations 2000
"""

from __future__ import annotations

import argparse
import time

import blocksim as bs

SOUGHT = ["robot.Fv", "robot.Fc", "robot.k1", "robot.k3", "robot.alpha", "robot.A"]
#: At most 30 N m, 20 s, noise of 0.05 rad/s; flipping bits one by one reached 0.122 % after 41 000 simulations and 120 s.
GEAR = {
    "design": "gear", "diagram": "thesis/hysteresis", "parameters": SOUGHT, "outputs": {"robot.w_m": 0.05},
    "criterion": "worst", "limits": {"u": {"peak": 30}},
}  # fmt: skip


def row(what: str, seed: int, simulations: int, clock: float, target: float, limits: dict[str, dict[str, float]]) -> str:
    """One design: simulations, seconds of the search, of the processor for all of it, and the worst by the exact check."""
    vary = {"u": {"family": "binary", "clock": clock, "peak": 30}}
    search = {"seconds": 1000, "simulations": simulations, "seed": seed, "step": 2e-3, "target": target}
    begun = time.process_time()
    result = bs.design({**GEAR, "vary": vary, "limits": {**GEAR["limits"], **limits}, "search": search})
    worst, used = 100 * max(result.predicted.relative_std.values()), time.process_time() - begun
    return f"| {what} | {seed} | {result.simulations} | {result.progress.seconds:.0f} | {used:.0f} | {worst:.4f} % |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--simulations", type=int, default=9000)
    parser.add_argument("--only", choices=["until", "limit", "end"])
    options = parser.parse_args()
    parts = ["until", "limit", "end"] if not options.only else [options.only]
    print("| torque | seed | simulations | seconds | of the processor | worst of six |\n|---|---|---|---|---|---|")
    for seed in range(1, options.seeds + 1) if "until" in parts else ():
        print(row("bits of 40 ms, until 0.12 %", seed, options.simulations, 0.04, 0.00119, {}), flush=True)
    for clock in (0.04, 0.02, 0.01) if "limit" in parts else ():
        limits = {"robot.w_m": {"peak": 200}}
        print(row(f"bits of {1000 * clock:g} ms, 200 rad/s at most", 1, options.simulations, clock, 0.0, limits), flush=True)
    if "end" in parts:
        print(row("bits of 40 ms, to the end", 1, options.simulations, 0.04, 0.0, {}), flush=True)


if __name__ == "__main__":
    main()
