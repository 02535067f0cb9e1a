"""The same experiments for jaxonomy, Drake, PathSim and bdsim, where they are installed: the same equations, rows as in `native`.

python benchmarks/peers.py PEER CASE SECONDS FILE.npz times one of them in the Python that runs it, which need not have blocksim.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from compiled_peers import drake_servo, jaxonomy_servo
from systems import REFERENCE, ROBOT, SERVO, TORQUE

#: Seconds that are simulated, of the whole horizon; the time taken is scaled up. What is shorter would measure starting up.
SHARE = {("pathsim", "a"): 2.0, ("jaxonomy", "b"): 10.0, ("drake", "b"): 10.0, ("pathsim", "b"): 1.0, ("bdsim", "b"): 1.0}
#: Largest difference to C over the first 0.3 s, relative to the largest value.
#: bdsim has adaptive solvers only; dry friction makes the joint stiff, and RK4 at 1 ms is 8e-3 off in its speed.
#: Drake has no RK4.
AGREEMENT = {("pathsim", "a"): 1e-9, ("jaxonomy", "b"): 1e-9, ("drake", "b"): 2e-2, ("pathsim", "b"): 1e-9, ("bdsim", "b"): 2e-2}


def installed(name: str) -> str | None:
    """The version of a peer, None where it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def waves(parts: tuple[tuple[float, float], ...], t: float) -> float:
    return sum(a * math.sin(2 * math.pi * f * t) for a, f in parts)


def robot(x: np.ndarray, u: float) -> np.ndarray:
    """The two-mass robot's x'."""
    p = ROBOT
    twist, rate = p["r"] * x[0] - x[2], p["r"] * x[1] - x[3]
    arm = p["d"] * rate + p["k1"] * twist + p["k3"] * twist**3
    motor = (u - p["Fv"] * x[1] - p["Fc"] * math.tanh(p["beta"] * x[1]) - p["r"] * arm) / p["Jm"]
    return np.array([x[1], motor, x[3], arm / p["Ja"]])


def joint(x: np.ndarray, tau: float) -> np.ndarray:
    """The joint's x'."""
    p = SERVO
    return np.array([x[1], (tau - p["Fv"] * x[1] - p["Fc"] * math.tanh(100 * x[1]) - p["G"] * math.cos(x[0] / 15)) / p["J"]])


class Controller:
    """Quantiser and PID of (b), one call per sample."""

    def __init__(self) -> None:
        self.integral, self.last = 0.0, 0.0

    def __call__(self, ref: float, q: float) -> float:
        p, step = SERVO, SERVO["resolution"]
        e = ref - step * math.floor(q / step + 0.5)
        self.integral += p["ki"] * 1e-3 * e
        tau = p["kp"] * e + self.integral + p["kd"] * (e - self.last) / 1e-3
        self.last = e
        return tau


def pathsim_two_mass(stop: float) -> tuple[np.ndarray, np.ndarray]:
    """(a) in PathSim: times, and rows of the four states."""
    from pathsim import Connection, Simulation
    from pathsim.blocks import ODE, Scope, Source
    from pathsim.solvers import RK4

    source, plant, scope = Source(lambda t: waves(TORQUE, t)), ODE(lambda x, u, t: robot(x, u[0]), np.zeros(4)), Scope()
    wires = [Connection(source, plant), *(Connection(plant[i], scope[i]) for i in range(4))]
    Simulation([source, plant, scope], wires, dt=1e-3, Solver=RK4, log=False).run(stop)
    t, rows = scope.read()
    return t, rows.T


def pathsim_servo(stop: float) -> tuple[np.ndarray, np.ndarray]:
    """(b) in PathSim: times, and rows of position and speed."""
    from pathsim import Connection, Simulation
    from pathsim.blocks import ODE, Scope, Source, Wrapper
    from pathsim.solvers import RK4

    source, control = Source(lambda t: waves(REFERENCE, t)), Wrapper(Controller(), T=1e-3)
    plant, scope = ODE(lambda x, u, t: joint(x, u[0]), np.zeros(2)), Scope()
    wires = [
        Connection(source, control[0]),
        Connection(plant[0], control[1]),
        Connection(control, plant),
        *(Connection(plant[i], scope[i]) for i in range(2)),
    ]
    Simulation([source, control, plant, scope], wires, dt=1e-3, Solver=RK4, log=False).run(stop)
    t, rows = scope.read()
    return t, rows.T


def bdsim_servo(stop: float) -> tuple[np.ndarray, np.ndarray]:
    """(b) in bdsim (its solver is adaptive, RK45): times, and rows of position and speed."""
    import bdsim

    class Sampled(bdsim.SampledBlock):
        """The controller as a block with a clock."""

        nin, nout = 2, 1

        def __init__(self, clock: object):
            super().__init__(clock=clock, nin=2, nout=1, x0=[0.0], name="control")
            self.control = Controller()

        def output(self, t: float, inputs: list, x: np.ndarray) -> list:
            return [x.item()]

        def next(self, t: float, inputs: list, x: np.ndarray) -> np.ndarray:
            return np.array([self.control(inputs[0], inputs[1])])

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sim = bdsim.BDSim(argv=[], quiet=True, animation=False, graphics=False, progress=False)
        diagram = sim.blockdiagram()
        control = Sampled(diagram.clock(1000, "Hz"))
        diagram.add_block(control)
        time = diagram.TIME()
        reference = diagram.FUNCTION(lambda t: waves(REFERENCE, t), nin=1, nout=1)
        acceleration = diagram.FUNCTION(lambda q, qd, tau: joint((q, qd), tau)[1], nin=3, nout=1)
        speed, position = diagram.INTEGRATOR(0.0), diagram.INTEGRATOR(0.0)
        for start, *ends in (
            (time, reference),
            (reference, control[0]),
            (position, control[1], acceleration[0]),
            (speed, position, acceleration[1]),
            (control, acceleration[2]),
            (acceleration, speed),
        ):
            diagram.connect(start, *ends)
        diagram.compile()
        out = sim.run(diagram, T=stop, dt=1e-3, watch=[position, speed])
    return np.asarray(out.t), np.asarray(out.y)[:, :2]


#: (case, peer) -> the function, and which columns of the C program's rows it gives back.
RUNS = {
    ("pathsim", "a"): (pathsim_two_mass, slice(0, 4)),
    ("jaxonomy", "b"): (jaxonomy_servo, slice(2, 4)),
    ("drake", "b"): (drake_servo, slice(2, 4)),
    ("pathsim", "b"): (pathsim_servo, slice(2, 4)),
    ("bdsim", "b"): (bdsim_servo, slice(2, 4)),
}


def measured_elsewhere(python: str, peer: str, case: str, seconds: float) -> dict[str, Any] | None:
    """What a peer takes in another Python: version, first and best later time, times and rows; None where it is missing there."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rows.npz"
        command = [python, __file__, peer, case, str(seconds), str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not place.exists():
            return None
        with np.load(place) as rows:
            return {**json.loads(done.stdout.splitlines()[-1]), "t": rows["t"], "rows": rows["rows"]}


def main() -> None:
    peer, case, seconds, place = sys.argv[1:]
    if installed(peer) is None:
        sys.exit(f"{peer} is not installed")
    function, spent = RUNS[peer, case][0], []
    clock = time.process_time if os.environ.get("BLOCKSIM_CLOCK") == "processor" else time.perf_counter
    for _ in range(6 if peer in ("jaxonomy", "drake") else 2):
        begun = clock()
        t, rows = function(float(seconds))
        spent.append(clock() - begun)
    np.savez(place, t=t, rows=rows)
    print(json.dumps({"version": installed(peer), "first": spent[0], "best": min(spent[1:])}))


if __name__ == "__main__":
    main()
