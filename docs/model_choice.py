"""The table of docs/identification.md on model choice: how often a criterion takes the model that is true.

python docs/model_choice.py [RUNS]          (100 runs of each, a few minutes)
"""

from __future__ import annotations

import sys

import blocksim as bs

AXIS = """
format: 1
simulate: {stop: 3, solver: rk4, step: 1e-3, every: 1e-2, seed: 1}
blocks:
  push:  {type: Multisine, f_min: 0.3, f_max: 6, lines: 25, amplitude: 1.5, phases: schroeder}
  TRUTH
log: [push, y]
"""
FRICTION = """
  one:   {type: Inertia, J: 0.02, in: {tau: push, load: dry}}
  dry:   {type: Coulomb, Fc: 0.3, Fv: 0.05, beta: 20, in: one.w}
  two:   {type: Inertia, J: 0.02, in: {tau: push, load: falling}}
  falling: {type: Stribeck, Fc: 0.3, Fs: RISE, vs: 1.0, Fv: 0.05, beta: 20, in: two.w}
  y:     {type: NoisySensor, Ts: 1e-2, std: 5e-3, in: two.w}
  coulomb: {type: CLOE, output: one.w, errors: white, start: truth, parameters: [one.J, dry.Fc, dry.Fv], in: y}
  stribeck: {type: CLOE, output: two.w, errors: white, start: truth,
             parameters: {two.J: 0.02, falling.Fc: 0.3, falling.Fv: 0.05, falling.Fs: {start: 0.32}}, in: y}
"""
GEAR = """
  robot: {type: TwoMassRobot, Jm: 0.02, Ja: 0.03, Fv: 0.05, Fc: 0, k1: 60, k3: 0, d: 0.1, r: 1, q: GAP, backlash: elasto,
          in: push}
  y:     {type: NoisySensor, Ts: 1e-2, std: 2e-3, in: robot.w_m}
  z:     {type: NoisySensor, Ts: 1e-2, std: 2e-3, in: robot.w_a}
  shut:  {type: TwoMassRobot, Jm: 0.02, Ja: 0.03, Fv: 0.05, Fc: 0, k1: 60, k3: 0, d: 0.1, r: 1, backlash: elasto, in: push}
  tight: {type: CLOE, output: [shut.w_m, shut.w_a], errors: white, start: truth,
          parameters: [shut.Jm, shut.Ja, shut.Fv, shut.k1, shut.d], in: [y, z]}
  gap:   {type: CLOE, output: [robot.w_m, robot.w_a], errors: white, start: truth, in: [y, z],
          parameters: {robot.Jm: 0.02, robot.Ja: 0.03, robot.Fv: 0.05, robot.k1: 60, robot.d: 0.1, robot.q: {start: 5e-4}}}
"""
MASSES = """
  stiff: {type: Inertia, J: 0.05, in: {tau: push, load: drag}}
  drag:  {type: Gain, k: 0.05, in: stiff.w}
  axis:  {type: TwoMassRobot, Jm: 0.02, Ja: 0.03, Fv: 0.05, Fc: 0, k1: 60, k3: 0, d: 0.1, r: 1, in: push}
  y:     {type: NoisySensor, Ts: 1e-2, std: 5e-3, in: SEEN}
  single: {type: CLOE, output: stiff.w, errors: white, start: truth, parameters: [stiff.J, drag.k], in: y}
  double: {type: CLOE, output: axis.w_m, errors: white, in: y,
           parameters: {axis.Jm: {start: 0.02, min: 1e-3}, axis.Ja: {start: 0.03, min: 1e-3}, axis.Fv: 0.05,
                        axis.k1: {start: 60, max: 2000}, axis.d: {start: 0.1, max: 1}}}
"""
KNOWN = MASSES.partition("           parameters: {axis")[0] + (
    "           parameters: {axis.Jm: {start: 0.04}, axis.Ja: {start: 1e-2, min: 1e-4}, axis.Fv: 0.05}}\n"
)
#: By question: the blocks with the smaller model true, those with the larger one, the names of both, the chance of one in vain.
CASES = {
    "Coulomb or Stribeck": (FRICTION.replace("RISE", "0.3"), FRICTION.replace("RISE", "0.36"), ("coulomb", "stribeck"), 0.079),
    "backlash or none": (GEAR.replace("GAP", "0"), GEAR.replace("GAP", "2e-3"), ("tight", "gap"), 0.079),
    "one mass or two, spring known": (*(KNOWN.replace("SEEN", w) for w in ("stiff.w", "axis.w_m")), ("single", "double"), 0.079),
    "one mass or two, spring sought": (*(MASSES.replace("SEEN", w) for w in ("stiff.w", "axis.w_m")), ("single", "double"), None),
}


def choices(case: str, larger: bool, seeds: range) -> dict[str, int]:
    """How often each criterion takes the larger model."""
    small, large, names, _ = CASES[case]
    counts = {"aic": 0, "bic": 0}
    for seed in seeds:
        text = AXIS.replace("  TRUTH\n", (large if larger else small).strip("\n") + "\n")
        estimates = bs.simulate(text, seed=seed).estimates
        for criterion in counts:
            if not estimates[names[1]].converged:
                continue  # a search without an end is no model
            choice = bs.compare_structures({name: estimates[name] for name in names}, criterion)
            counts[criterion] += choice.best == names[1]
    return counts


def table(runs: int) -> str:
    """The rows of the page."""
    lines = [
        "| question | promised by AIC | AIC in vain | BIC in vain | AIC rightly | BIC rightly |",
        "|---|---|---|---|---|---|",
    ]
    for case, (*_, promise) in CASES.items():
        vain, right = (choices(case, larger, range(runs)) for larger in (False, True))
        shares = [f"{100 * counts[c] / runs:.0f} %" for counts in (vain, right) for c in ("aic", "bic")]
        lines.append(f"| {case} | {'none' if promise is None else f'{100 * promise:.1f} %'} | {' | '.join(shares)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
