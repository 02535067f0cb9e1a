"""The two passes of the integrated random walk smoother: plain loops, run as they stand or compiled (`passes` in irw.py).

A state of order n is x and its n - 1 forward differences. What samples tell of it is kept as information Y = P^-1 and z = Y x,
in units of 1 / sigma_e^2, while it varies: at the ends, in gaps and next to them. Y does not depend on the data, and where no
sample is missing it soon changes by rounding alone. From there on only the mean is carried, with a constant gain. That is as
exact: the gain multiplies innovations, which are small, and a filter that is stable forgets their rounding.
"""

import math

SETTLED = 2.0**-50  # relative change of Y from sample to sample that is rounding


def forward(y, level, n, nvr, room, limit, steady, information, vector):
    """Filter y - level, filling what is known of each state from the samples up to it; sum of e^2 / v and of ln v, see (22).

    Where `steady`, Y is `limit` and `vector` holds the mean; elsewhere `information` holds Y, and `vector` z. Nothing is kept if
    `steady` is empty. The first n samples that are there only fix the start: their innovations have no distribution and are left
    out. `room` is for the small arrays in use, all zero: making each of them here is slow to compile.
    """
    Y, before, L = room[0], room[1], room[2]
    z, c, x, gain = room[3, 0], room[3, 1], room[3, 2], room[4, 0]
    count, run, limited, keep = 0, 0, False, len(steady) > 0
    squares, logs, variance = 0.0, 0.0, 1.0
    k = 0
    while k < len(y):
        copy(Y, before, n)
        ahead(Y, z, n)
        forget(Y, z, n, nvr)
        value = y[k] - level
        if value == value:
            if count >= n:
                factor(Y, L, n)
                substitute(L, z, n, x)
                c[0], c[1], c[n - 1] = 1.0, 0.0, 0.0
                variance = 1.0 + spread_of(L, c, n)
                squares += (value - x[0]) ** 2 / variance
                logs += math.log(variance)
            count += 1
            run += 1
            Y[0, 0] += 1.0
            z[0] += value
        else:
            run = 0
        if keep:
            steady[k] = False
            store(Y, z, n, k, information, vector)
        k += 1
        if run > n and count > n and unchanged(Y, before, n):
            factor(Y, L, n)
            substitute(L, z, n, x)
            if not limited:  # one limit for all stretches
                limited = True
                copy(Y, limit, n)
                first_column(L, n, c, gain)
            begin = k
            k, total = coast(y, level, k, x, gain, steady, vector)
            squares += total / variance
            logs += (k - begin) * math.log(variance)
            run = 0
            copy(limit, Y, n)
            times(Y, x, n, z)
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


def backward(y, level, n, nvr, centred, scales, room, limit, steady, information, out):
    """The filter from the end to the start, put together with what `forward` found: x, dx, ddx and their deviations into `out`.

    On entry the first rows of `out` hold the `vector` of `forward`: each is read before its place is written. `scales` multiply
    the rows. By centred differences the derivatives of sample k are those of the state before it: one state precedes all samples.
    """
    Y, before, J, L, rest, blend = room[0], room[1], room[2], room[3], room[4], room[5]
    z, w, tie, x, gain, mean, std = room[6, 0], room[6, 1], room[6, 2], room[7, 0], room[7, 1], room[7, 2], room[8, 0]
    half, late = (0.5, 1) if centred else (0.0, 0)
    count, run, coasting, blended = 0, 0, False, False
    share, pull = 0.0, 0.0
    k = len(y) - 1
    while k >= -1:
        if coasting and k >= 0 and steady[k]:
            if not blended:
                blended = True
                join(rest, z, n, k, limit, steady, information, out, J, w)
                factor(J, L, n)
                mix(L, rest, tie, n, w, mean, blend)
                deviations(L, tie, share, half, n, w, std)
            k = glide(y, level, k, x, gain, blend, std, half, late, scales, steady, out)
            continue
        if coasting:
            x[1] -= x[2]
            x[0] -= x[1]
            copy(rest, Y, n)
            times(Y, x, n, z)
            pull = dot_of(tie, x, n)
        else:
            copy(Y, before, n)
            share = tie_of(Y, n, nvr, tie)
            pull = share * z[n - 1]
            forget(Y, z, n, nvr)
            back(Y, z, n)
        join(Y, z, n, k, limit, steady, information, out, J, w)
        factor(J, L, n)
        substitute(L, w, n, mean)
        if n == 2:
            mean[2] = pull - dot_of(tie, mean, n)
        deviations(L, tie, share, half, n, w, std)
        write_row(mean, std, level, k, half, late, scales, out)
        if k < 0:
            break
        value = y[k] - level
        k -= 1
        if value != value:
            coasting, run = False, 0
        elif coasting:
            e = value - x[0]
            for i in range(n):
                x[i] += gain[i] * e
        else:
            count += 1
            run += 1
            Y[0, 0] += 1.0
            z[0] += value
            if run > n and count > n and unchanged(Y, before, n):
                coasting, blended = True, False
                share = hold(Y, z, n, nvr, L, w, x, gain, tie, rest)


def hold(Y, z, n, nvr, L, w, x, gain, tie, rest):
    """What a settled Y gives for all samples to come: mean, gain, tie with its share, and `rest`, Y one sample before."""
    factor(Y, L, n)
    substitute(L, z, n, x)
    first_column(L, n, w, gain)
    share = tie_of(Y, n, nvr, tie)
    copy(Y, rest, n)
    forget(rest, w, n, nvr)
    back(rest, w, n)
    return share


def glide(y, level, k, x, gain, blend, std, half, late, scales, steady, out):
    """Both filters with constant gains, from state k down to one where the forward filter has not settled: where that is."""
    x0, x1, x2 = x[0], x[1], x[2]
    g0, g1, g2 = gain[0], gain[1], gain[2]
    b00, b01, b02 = blend[0, 0], blend[0, 1], blend[0, 2]
    b10, b11, b12 = blend[1, 0], blend[1, 1], blend[1, 2]
    b20, b21, b22 = blend[2, 0], blend[2, 1], blend[2, 2]
    s0, s1, s2 = scales[0], scales[1], scales[2]
    v0, v1, v2 = std[0] * scales[3], std[1] * scales[4], std[2] * scales[5]
    while k >= 0 and steady[k]:
        x1 -= x2
        x0 -= x1
        f0, f1, f2 = out[0, k], out[1, k], out[2, k]
        d0, d1, d2 = x0 - f0, x1 - f1, x2 - f2
        second = f2 + (b20 * d0 + b21 * d1 + b22 * d2)
        out[0, k] = (f0 + (b00 * d0 + b01 * d1 + b02 * d2)) * s0 + level
        out[1, k + late] = (f1 + (b10 * d0 + b11 * d1 + b12 * d2) + half * second) * s1
        out[2, k + late] = second * s2
        out[3, k], out[4, k + late], out[5, k + late] = v0, v1, v2
        e = y[k] - level - x0
        x0 += g0 * e
        x1 += g1 * e
        x2 += g2 * e
        k -= 1
    x[0], x[1], x[2] = x0, x1, x2
    return k


def write_row(mean, std, level, k, half, late, scales, out):
    """One state into its columns, as far as there are such."""
    if k >= 0:
        out[0, k] = mean[0] * scales[0] + level
        out[3, k] = std[0] * scales[3]
    if 0 <= k + late < out.shape[1]:
        out[1, k + late] = (mean[1] + half * mean[2]) * scales[1]
        out[2, k + late] = mean[2] * scales[2]
        out[4, k + late] = std[1] * scales[4]
        out[5, k + late] = std[2] * scales[5]


def ahead(Y, z, n):
    """Knowledge of x as knowledge of A x, in place; A adds to each element the one after it."""
    for j in range(1, n):
        for i in range(n):
            Y[i, j] -= Y[i, j - 1]
    for i in range(1, n):
        z[i] -= z[i - 1]
        for j in range(n):
            Y[i, j] -= Y[i - 1, j]


def back(Y, z, n):
    """Knowledge of A x as knowledge of x, in place."""
    for j in range(n - 1, 0, -1):
        z[j] += z[j - 1]
        for i in range(n):
            Y[i, j] += Y[i, j - 1]
    for i in range(n - 1, 0, -1):
        for j in range(n):
            Y[i, j] += Y[i - 1, j]


def forget(Y, z, n, nvr):
    """Add noise of variance nvr to the last element of a state known by Y and z = Y x, in place."""
    m = n - 1
    left = 1.0 / (1.0 + nvr * Y[m, m])
    share, end = nvr * left, z[m]
    for i in range(m):
        z[i] -= Y[m, i] * share * end
        for j in range(i + 1):
            Y[i, j] -= Y[m, i] * share * Y[m, j]
            Y[j, i] = Y[i, j]
    z[m] = end * left
    Y[m, m] *= left
    for i in range(m):
        Y[m, i] *= left
        Y[i, m] = Y[m, i]


def tie_of(Y, n, nvr, tie):
    """What later samples make of eta, its mean being `pull - tie x` with the variance returned; Y: theirs on A x + D eta."""
    share = nvr / (1.0 + nvr * Y[n - 1, n - 1])
    tie[0] = share * Y[n - 1, 0]
    for i in range(1, n):
        tie[i] = share * (Y[n - 1, i] + Y[n - 1, i - 1])
    return share


def join(Y, z, n, k, limit, steady, information, out, J, w):
    """J and w are Y and z, and what `forward` left at k beside them; it knows nothing of the state before the first sample."""
    copy(Y, J, n)
    for i in range(n):
        w[i] = z[i]
    if k < 0:
        return
    row = 0
    for i in range(n):
        if not steady[k]:
            w[i] += out[i, k]
        for j in range(n):
            if steady[k]:
                J[i, j] += limit[i, j]
                w[i] += limit[i, j] * out[j, k]
            elif j <= i:
                J[i, j] += information[row, k]
                row += 1


def mix(L, rest, tie, n, column, part, blend):
    """The smoothed state is x + blend (later - x): x is the mean of `forward`, `later` that of the samples after it."""
    for j in range(n):
        for i in range(n):
            column[i] = rest[i, j]
        substitute(L, column, n, part)
        for i in range(n):
            blend[i, j] = part[i]
        if n == 2:
            blend[2, j] = tie[j] - dot_of(tie, part, n)


def deviations(L, tie, share, half, n, c, std):
    """Standard deviations over sigma_e of x, of the first difference and half times the second, and of the second."""
    for row in range(3):
        second = half if row == 1 else 1.0 if row == 2 else 0.0
        for i in range(n):
            c[i] = -second * tie[i] if n == 2 else 0.0
        if n == 3:
            c[2] = second
        if row < 2:
            c[row] += 1.0
        std[row] = math.sqrt(spread_of(L, c, n) + (second * second * share if n == 2 else 0.0))


def factor(J, L, n):
    """J = U D U^T by the lower triangle of J: U below the diagonal of L, 1 / D on it. No scaling of the unknowns disturbs it."""
    for i in range(n):
        for j in range(i + 1):
            total = J[i, j]
            for k in range(j):
                total -= L[k, i] * L[j, k]
            if i == j:
                L[i, i] = 1.0 / total
            else:
                L[j, i] = total  # U D, where L has room
                L[i, j] = total * L[j, j]


def substitute(L, w, n, x):
    """J^-1 w from the factors of J."""
    for i in range(n):
        x[i] = w[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        x[i] *= L[i, i]
        for j in range(i + 1, n):
            x[i] -= L[j, i] * x[j]


def spread_of(L, c, n):
    """c^T J^-1 c from the factors of J; spoils c."""
    total = 0.0
    for i in range(n):
        for j in range(i):
            c[i] -= L[i, j] * c[j]
        total += c[i] * c[i] * L[i, i]
    return total


def first_column(L, n, c, x):
    """The first column of J^-1."""
    c[0], c[1], c[n - 1] = 1.0, 0.0, 0.0
    substitute(L, c, n, x)


def unchanged(Y, before, n):
    """Whether Y is what it was, but for rounding."""
    for i in range(n):
        for j in range(i + 1):
            if not abs(Y[i, j] - before[i, j]) <= SETTLED * abs(Y[i, j]):
                return False
    return True


def store(Y, z, n, k, information, vector):
    """Y, its lower triangle, and z at k."""
    row = 0
    for i in range(n):
        vector[i, k] = z[i]
        for j in range(i + 1):
            information[row, k] = Y[i, j]
            row += 1


def copy(Y, to, n):
    for i in range(n):
        for j in range(n):
            to[i, j] = Y[i, j]


def times(Y, x, n, z):
    """z = Y x."""
    for i in range(n):
        z[i] = 0.0
        for j in range(n):
            z[i] += Y[i, j] * x[j]


def dot_of(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
