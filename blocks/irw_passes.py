"""The two passes of the integrated random walk smoother: plain loops, run as they stand or compiled (`passes` in irw.py).

A state of order n is x and its n - 1 forward differences. What samples tell of it is kept as information Y = P^-1 and z = Y x,
in units of 1 / sigma_e^2, while it varies: at the ends, in gaps and next to them. Y does not depend on the data, and where no
sample is missing it soon changes by rounding alone. From there on only the mean is carried, with a constant gain. That is as exact:
the gain multiplies innovations, which are small, and a filter that is stable forgets their rounding.
"""

import math

import numpy as np

SETTLED = 2.0**-50  # relative change of Y from sample to sample that is rounding


def forward(y, level, n, nvr, limit, steady, information, vector):
    """Filter y - level, filling what is known of each state from the samples up to it; sum of e^2 / v and of ln v, see (22).

    Where `steady`, Y is `limit` and `vector` holds the mean; elsewhere `information` holds Y, and `vector` z. Nothing is kept if
    `steady` is empty. The first n samples that are there only fix the start: their innovations have no distribution and are left
    out.
    """
    Y, before, L = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    z, x, gain = np.zeros(n), np.zeros(3), np.zeros(3)
    seen, run, known, keep = 0, 0, False, len(steady) > 0
    squares, logs, variance = 0.0, 0.0, 1.0
    k = 0
    while k < len(y):
        copy(Y, before, n)
        ahead(Y, z, n)
        forget(Y, z, n, nvr)
        value = y[k] - level
        if value == value:
            if seen >= n:
                factor(Y, L, n)
                substitute(L, z, x, n)
                variance = 1.0 + corner(L, n)
                squares += (value - x[0]) ** 2 / variance
                logs += math.log(variance)
            seen += 1
            run += 1
            Y[0, 0] += 1.0
            z[0] += value
        else:
            run = 0
        if keep:
            steady[k] = False
            store(Y, z, n, k, information, vector)
        k += 1
        if run > n and seen > n and settled(Y, before, n):
            factor(Y, L, n)
            substitute(L, z, x, n)
            if not known:  # one limit for all stretches
                known = True
                copy(Y, limit, n)
                unit(L, gain, n)
            begin = k
            k, total = coast(y, level, k, x, gain, steady, vector)
            squares += total / variance
            logs += (k - begin) * math.log(variance)
            run = 0
            copy(limit, Y, n)
            times(Y, x, z, n)
    return squares, logs


def coast(y, level, k, x, gain, steady, vector):
    """The filter with a constant gain from sample k to the next missing one: where that is, and the sum of e^2.

    Written for three elements; of order 2 the third is zero and stays so.
    """
    x0, x1, x2 = x[0], x[1], x[2]
    g0, g1, g2 = gain[0], gain[1], gain[2]
    keep, total = len(steady) > 0, 0.0
    while k < len(y):
        value = y[k] - level
        if value != value:
            break
        x0 += x1
        x1 += x2
        e = value - x0
        x0 += g0 * e
        x1 += g1 * e
        x2 += g2 * e
        total += e * e
        if keep:
            steady[k] = True
            vector[0, k], vector[1, k], vector[2, k] = x0, x1, x2
        k += 1
    x[0], x[1], x[2] = x0, x1, x2
    return k, total


def backward(y, level, n, nvr, centred, scales, limit, steady, information, out):
    """The same backward, put together with what `forward` found: fills `out` with x, dx, ddx and their standard deviations.

    On entry the first rows of `out` hold the `vector` of `forward`. `scales` are three units and the three of the deviations.
    Of centred differences the derivatives of sample k belong to the state before it, k - 1.
    """
    Y, before, J, L = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    z, w, tie, mean, gain, found = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(3), np.zeros(3), np.zeros(6)
    x, blend = np.zeros(3), np.zeros((3, 3))
    run, seen, coasting, ready = 0, 0, False, False
    share, pull = nvr, 0.0
    k = len(y) - 1
    while k >= -1:
        if coasting:
            ...
    return


