"""The spectral radii of docs/tout2022.md: how an error of Method 5 goes from one iteration to the next, near the truth.

Below 1 it shrinks. One iteration is least squares of the measured torque on the motion that the loop has with the last estimate.

python examples/tout_radius.py
"""

import numpy as np
import yaml

import blocksim as bs
from blocksim.contract.plant import Plant
from blocksim.diagram.files import bundled_root
from blocksim.schedule.flatten import flatten

TRUTH = {"J": 5e-4, "Fv": 5e-3, "Fc": 0.02, "Ms": 0.002}
STEP = 1e-3  # of a parameter, either way
COUNT = 2 * np.pi / 2000

plain = yaml.safe_load((bundled_root() / "tout2022" / "methods_in_loop.yaml").read_text(encoding="utf-8"))


def loop_of(factor, sigma_w2):
    """The loop with an ideal encoder; what the filter believes is written down, so that it stays when the joint changes."""
    kept = {n: dict(own) for n, own in plain["blocks"].items() if n not in ("method4", "method5", "change")}
    kept["encoder"] = {"type": "ZeroOrderHold", "Ts": 1e-3, "in": "joint.q"}
    kept["ekf"] |= {
        "factor": 1,
        "R": COUNT**2 / 12,
        "sigma_w2": sigma_w2,
        "parameters": {n: factor * v for n, v in TRUTH.items()},
    }
    return yaml.safe_dump({**plain, "blocks": kept, "log": ["joint.q", "joint.qd", "joint.qdd", "pid"]}, sort_keys=False)


def radius(factor, sigma_w2):
    text = loop_of(factor, sigma_w2)
    unit = flatten(bs.open_diagram(text)).unit("joint")
    plant = Plant(unit.kind, unit.settings, "joint")

    def fitted(values, torque=None):
        """Least squares of a torque, of the loop's own where none is given, on the motion with these parameters."""
        record = bs.simulate(text, params={f"joint.{n}": float(v) for n, v in values.items()})
        W = plant.regressor({n: record[f"joint.{n}"] for n in ("q", "qd", "qdd")})[:, 0]
        own = record["pid"] if torque is None else torque
        return np.linalg.lstsq(W, own, rcond=None)[0], own

    # what an iteration makes of a small error of each parameter is a column of the matrix whose radius is asked for
    torque, columns = fitted(TRUTH)[1], []
    for name, value in TRUTH.items():
        ends = [fitted({**TRUTH, name: value * (1 + side * STEP)}, torque)[0] for side in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * STEP * value))
    return max(abs(np.linalg.eigvals(np.stack(columns, axis=1))))


if __name__ == "__main__":
    print("sigma_w2", *(f"{factor:>6g}" for factor in (0.3, 0.7, 1, 1.3, 2)))
    for sigma_w2 in (1e-8, 1e-4, 0.01, 1):
        print(f"{sigma_w2:8g}", *(f"{radius(factor, sigma_w2):6.2f}" for factor in (0.3, 0.7, 1, 1.3, 2)), flush=True)
