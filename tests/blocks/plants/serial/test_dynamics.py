"""The dynamics of serial robots against pinocchio, on random chains."""

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

from chains import chain, numbers, pinocchio_model, random_rows  # noqa: E402

from blocks.plants.serial.regressor import inertial_regressor  # noqa: E402
from blocks.plants.serial.texts import acceleration_law, effort_law  # noqa: E402

ORDER = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]  # of our ten numbers in pinocchio's


@pytest.mark.parametrize("seed", range(28))
def test_random_chains_equal_pinocchio(seed):
    """Forward and inverse dynamics and the regressor of 1 to 7 joints, revolute and prismatic, any gravity."""
    random = np.random.default_rng(seed)
    rows = random_rows(1 + seed % 7, random)
    gravity = random.normal(size=3) * 9
    robot, model = chain(rows, gravity), pinocchio_model(rows, gravity)
    data, n = model.createData(), len(rows)
    forward, inverse = acceleration_law(robot), effort_law(robot)
    for _ in range(3):
        q, v, a, tau = random.normal(size=(4, n))
        found = forward.function(q, v, tau, numbers(rows, forward.parameters))
        expected = pin.aba(model, data, q, v, tau)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10 * (1 + np.abs(expected).max()))
        efforts = inverse.function(q, v, a, numbers(rows, inverse.parameters))
        assert np.allclose(efforts, pin.rnea(model, data, q, v, a), rtol=1e-10, atol=1e-10)
        W = inertial_regressor(robot, q[None], v[None], a[None])[0]
        theirs = pin.computeJointTorqueRegressor(model, data, q, v, a).reshape(n, -1)
        columns = [10 * j + k for j in range(n) for k in ORDER]
        assert np.allclose(W, theirs[:, columns], rtol=1e-10, atol=1e-10)
