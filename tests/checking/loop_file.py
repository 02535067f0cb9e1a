"""A loop that can be meant, for tests that change it; and the command line."""

from typer.testing import CliRunner

from blocksim.cli.commands import app

LOOP = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3, seed: 7}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, noise_std: 0.3, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
"""


def blocksim(*arguments, code=0):
    result = CliRunner().invoke(app, list(arguments), prog_name="blocksim")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result
