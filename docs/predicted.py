"""The table of docs/predicted.md: designed signals, each experiment made many times on truth, fitted, beside its bound.

python docs/predicted.py                        # all sets with 1000 seeds each; some 20 minutes on one core
python docs/predicted.py --seeds 100 friction   # one of them, fewer seeds; nothing is written
python docs/predicted.py --first 5000 --seeds 600 --loop closed all    # other seeds
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import blocksim as bs
from blocksim.planning.replication import Replication, replicate

PAGE = Path(__file__).parent / "predicted.md"
BEGIN, END = "<!-- predicted: begin -->", "<!-- predicted: end -->"
ROBOT = "{type: TwoMassRobot, Jm: 1.21e-2, Ja: 1.13e3, Fv: 1.30e-2, Fc: 6.44e-1, k1: 1.46e6, k3: 3.72e10, d: 2.63e3, MORE in: u}"
OPEN = """
format: 1
simulate: {{stop: 10, solver: rk4, step: 2e-3, every: 2e-3, seed: 1}}
blocks:
  u:     {{type: Constant, value: 1}}
  robot: {robot}
log: [u, robot.w_m]
"""
#: An encoder of 4096 counts on the motor, a PD controller that holds it on a slow sine, and the excitation inside the loop.
CLOSED = """
format: 1
simulate: {{stop: 10, solver: rk4, step: 2e-3, every: 2e-3, seed: 1}}
blocks:
  ref:     {{type: Sine, amplitude: 20, frequency: 0.2}}
  error:   {{type: Sum, signs: "+-", in: [ref, encoder]}}
  pd:      {{type: PD, Ts: 2e-3, kp: 2.0, kd: 0.1, Tf: 1e-2, in: error}}
  shake:   {{type: Constant, value: 1}}
  u:       {{type: Sum, in: [pd, shake]}}
  robot:   {robot}
  encoder: {{type: Encoder, Ts: 2e-3, counts_per_turn: 4096, noise_std: 0.5, in: robot.phi_m}}
log: [u, encoder, robot.w_m]
"""
COUNT = 2 * math.pi / 4096  # of the encoder [rad]
BENT, LOOSE = "alpha: 1e3, A: 1e7,", "q: 1e-3, backlash: elasto,"
#: What is sought, and in which robot.
SETS = {
    "friction": (["Fv", "Fc"], BENT),
    "stiffness": (["k1", "k3"], BENT),
    "hysteresis": (["alpha", "A"], BENT),
    "gap": (["q"], LOOSE),
    "all": (["Jm", "Ja", "Fv", "Fc", "k1", "k3", "d", "alpha", "A", "q"], f"{BENT} {LOOSE}"),
}
LOOPS = {
    "open": (OPEN, "u", {"robot.w_m": 0.05}),
    "closed": (CLOSED, "shake", {"encoder": {"std": 0.5 * COUNT, "resolution": COUNT}}),
}


def spec_of(name: str, loop: str, simulations: int) -> dict[str, Any]:
    """The design of one set: bits of 30 N m for the worst relative standard deviation.

    They last 40 ms; for the gap alone 200 ms: shaken faster it rattles, and what is read is no smooth function of it any more.
    """
    parameters, more = SETS[name]
    text, source, outputs = LOOPS[loop]
    return {
        "design": f"{name}, {loop} loop",
        "diagram": text.format(robot=ROBOT.replace("MORE", more)),
        "parameters": [f"robot.{one}" for one in parameters],
        "outputs": outputs,
        "vary": {source: {"family": "binary", "clock": 0.2 if name == "gap" else 0.04, "peak": 30}},
        "limits": {source: {"peak": 30}},
        "criterion": "worst",
        "search": {"simulations": simulations, "seconds": 300, "seed": 1, "candidates": 32},
    }


def replicated(name: str, loop: str, seeds: int, simulations: int = 1500, first: int = 0) -> Replication:
    """One set: designed, then made with so many seeds, the first of them this one."""
    result = bs.design(spec_of(name, loop, simulations))
    return replicate(result, range(first, first + seeds), ["u"] if loop == "closed" else [])


def table_rows(name: str, loop: str, result: Replication) -> list[str]:
    columns = zip(result.names, result.predicted, result.ratio, result.coverage, result.bias, strict=True)
    return [
        f"| {name} | {loop} | {one.rpartition('.')[2]} | {100 * std:.3g} % | {ratio:.2f} | {100 * share:.1f} % | {bias:+.2f} |"
        for one, std, ratio, share, bias in columns
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--loop", choices=list(LOOPS))
    options = parser.parse_args()
    rows = ["| sought | loop | parameter | predicted | found / predicted | coverage | bias |", "|---|---|---|---|---|---|---|"]
    for loop in [options.loop] if options.loop else list(LOOPS):
        for name in options.sets or SETS:
            result = replicated(name, loop, options.seeds, first=options.first)
            print(f"{name}, {loop} loop\n{result}", flush=True)
            rows += table_rows(name, loop, result)
    if not options.sets and not options.loop and not options.first:
        text = PAGE.read_text(encoding="utf-8")
        head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
        words = f"*`python docs/predicted.py --seeds {options.seeds}`*"
        PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(rows) + f"\n\n{words}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
