"""Gautier and Poignet (2001), section 5.2: the joint EKF and recursive least squares on a simulated SCARA whose truth is known."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import blocksim as bs
from blocksim.build import open_diagram
from blocksim.loader import bundled

TRUTH = np.array([3.42, 0.07, 0.58, 0.064, 0.131, 0.0, 0.015, 0.156])
INERTIAL = ["ZZR1", "ZZ2", "LMX2"]


@cache
def run(name, **params):
    return bs.simulate(f"gautier2001/{name}", params=params or None)


def within(record, block, parameter, share=0.05):
    """The time from which on an estimate stays within a share of the truth; infinite where it ends outside."""
    at = list(record.estimates[block]).index(parameter)
    far = np.abs(record[f"{block}.theta"][:, at] / TRUTH[at] - 1) > share
    return np.inf if far[-1] else record.t[np.flatnonzero(far)[-1]]


def test_recursive_least_squares_converges_faster_and_to_better_values():
    """The paper's conclusion from Figs. 13 to 20, case 2."""
    record = run("ekf_case2")
    rls, ekf = record.estimates["rls"], record.estimates["ekf"]
    assert all(within(record, "rls", name) < 4 for name in INERTIAL)
    assert all(within(record, "ekf", name) > 10 for name in INERTIAL)
    assert (np.abs([rls[n].relative_error for n in rls if n != "LMY2"]) < 0.02).all()
    assert max(abs(ekf[n].relative_error) for n in ("Fv1", "Fs1", "LMX2")) > 0.3


def test_the_printed_variances_are_far_too_large():
    """With Q = 1e-2 and R = 1e-3, 1e-2 the innovations are a thousandth of what the filter expects: slow, but never sure."""
    record = run("ekf_case2")
    assert record["ekf.nis"][200:].mean() / 2 < 0.002
    assert (np.abs([e.z for e in record.estimates["ekf"].values()]) < 2).all()


def test_good_knowledge_locks_what_is_known():
    """Case 3: a first variance of 1e-3 holds a parameter of size 3 and frees one of size 0.1."""
    record = run("ekf_case3")
    found = record.estimates["ekf"]
    assert np.ptp(record["ekf.ZZR1_hat"] if "ekf.ZZR1_hat" in record else record["ekf.theta"][:, 0]) < 0.01
    assert abs(found["LMX2"].relative_error) < 0.03 and abs(found["ZZ2"].relative_error) < 0.05
    assert np.ptp(record["ekf.theta"][:, 1]) > 0.1  # Fv1 is free
    ekf, rough = (np.abs(r.estimates["ekf"].vector() - TRUTH) for r in (record, run("ekf_case2")))
    assert (ekf[[0, 2, 3, 4, 7]] < rough[[0, 2, 3, 4, 7]]).all()


def without_least_squares(text):
    """The diagram with its EKF alone."""
    return text[: text.index("  motion:")] + text[text.index("log:") :]


def text_of(name):
    return next(open(path, encoding="utf-8").read() for n, path in bundled().items() if n.startswith(f"gautier2001/{name}"))
