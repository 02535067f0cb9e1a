"""Arms with published kinematics and invented inertias: identified from noisy torques, within what their spreads allow."""

import numpy as np
import pytest

import blocksim as bs


@pytest.mark.parametrize("name", ["arms/ur_like", pytest.param("arms/panda_like", marks=pytest.mark.slow)])
def test_an_arm_is_identified(name):
    found = bs.simulate(name).estimates["ls"]
    z = np.array([e.z for e in found.values()])
    assert found.details["rank"] == len(found)
    assert np.sqrt(np.mean(z**2)) < 1.5 and np.mean(np.abs(z) < 2) > 0.85
