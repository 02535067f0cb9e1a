"""Functions that several compiled blocks share: the interval of a table, a smooth ramp."""

from blocksim.contract.vocabulary import maximum, minimum


def bracket(x, points):
    """The interval i with points[i] <= x < points[i + 1], the first or last one outside, by halving."""
    low = 0
    high = len(points) - 1
    for _ in range(40):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        if points[middle] <= x:
            low = middle
        else:
            high = middle
    return low


def ramp(x, length):
    """Way made by a speed that rises smoothly from 0 to 1 within `length` and stays there."""
    s = maximum(x / length, 0.0)
    return length * s * s * s * (1.0 - 0.5 * s) if s < 1.0 else x - 0.5 * length


def ramp_speed(x, length):
    """The derivative of `ramp`."""
    s = minimum(maximum(x / length, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def ramp_bend(x, length):
    """The second derivative of `ramp`."""
    s = minimum(maximum(x / length, 0.0), 1.0)
    return 6.0 * s * (1.0 - s) / length
