"""What does a drive wired from parts cost beside TwoMassRobot? The compiled programs alone, in turn, best of several.

python benchmarks/parts.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from measure import interleaved, program_alone

import blocksim as bs
from blocks.plants.two_mass import TwoMassRobot
from blocksim.diagram.spec import LogSpec
from blocksim.simulation.experiment import Experiment, make_experiment

BAR = 1.3
SOLVERS: tuple[dict[str, Any], ...] = ({"solver": "rk4", "step": "1e-4"}, {"solver": "dopri5", "rtol": 1e-8})


EFFECTS = {"q": 2e-3, "alpha": 1e3, "A": 1e6}


def ready(block: bs.Block | bs.Diagram, options: dict[str, Any]) -> Experiment:
    """A drive under a sine of 3 Hz, compiled."""
    diagram = bs.Diagram("a drive")
    diagram.add("tau", "Sine", amplitude=8.0, frequency=3.0)
    diagram.add("drive", block, inputs="tau")
    diagram.log = [LogSpec("drive.w_m")]
    experiment = make_experiment(diagram, stop=20.0, every="1e-2", **options)
    experiment.program.fast()
    return experiment


def main() -> None:
    print(f"{'solver':8}{'friction':10}{'backlash':10}{'robot':>10}{'parts':>10}{'ratio':>8}")
    for options in SOLVERS:
        for friction in ("tanh", "sign"):
            for law in ("thesis", "elasto", "elasto2"):
                robot = TwoMassRobot(**EFFECTS, friction=friction, backlash=law)
                wired = bs.build(bs.load("parts/two_mass_drive"), parameters={**EFFECTS, "friction": friction, "law": law})
                timers = [program_alone(ready(block, options)) for block in (robot, wired)]
                whole, parts = interleaved(timers, 9)
                verdict = "met" if parts <= BAR * whole else "missed"
                times = f"{whole * 1e3:7.2f} ms{parts * 1e3:7.2f} ms{parts / whole:8.2f}"
                print(f"{options['solver']:8}{friction:10}{law:10}{times}  {verdict}")


if __name__ == "__main__":
    main()
