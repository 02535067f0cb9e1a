"""The extended Kalman filter as textbooks print it, in numpy, and derivatives of equations written by hand."""

import numpy as np
import pytest


def filtered(y, u, step, W, Q, R, x, P, read=None):
    """The extended Kalman filter, all readings at once: x, P, innovation, normalised innovation squared and gain by sample."""
    found = []
    for reading, drive in zip(np.reshape(y, (len(y), -1)), u, strict=True):
        h, H = read(x)
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        e = reading - h
        x, P = x + K @ e, P - K @ S @ K.T
        found.append((x, P.ravel(), e, e @ np.linalg.solve(S, e), K.ravel()))
        x, F, G = step(x, drive)
        P = F @ P @ F.T + G @ W @ G.T + Q
    return [np.array(column) for column in zip(*found, strict=True)]


def complex_step(f, x, u, p, names, Ts):
    """Euler's rule and its derivatives by the state and by relative changes of parameters, by a step in the complex plane."""
    h = 1e-30
    F = [np.eye(len(x))[:, k] + Ts * np.imag(f(x + 1j * h * np.eye(len(x))[k], u, p)) / h for k in range(len(x))]
    G = [Ts * np.imag(f(x.astype(complex), u, {**p, n: p[n] * (1 + 1j * h)})) / h for n in names]
    return x + Ts * np.real(f(x.astype(complex), u, p)), np.stack(F, axis=-1), np.stack(G, axis=-1)


def differences(f, x, u, p, Ts):
    """The same by central differences of order 4, for equations that take real numbers only."""

    def slope(move, size):
        h = 1e-4 * size
        return (8 * (move(h) - move(-h)) - (move(2 * h) - move(-2 * h))) / (12 * h)

    F = [slope(lambda h, k=k: f(x + h * np.eye(len(x))[k], u, p), max(abs(x[k]), 1e-3)) for k in range(len(x))]
    G = [p[n] * slope(lambda h, n=n: f(x, u, {**p, n: p[n] + h}), abs(p[n])) for n in p]
    return x + Ts * f(x, u, p), np.eye(len(x)) + Ts * np.stack(F, axis=-1), Ts * np.stack(G, axis=-1)


def same(record, wanted, tolerance=1e-9, path="ekf"):
    for port, values in zip(("x_hat", "P", "innovation", "nis", "gain"), wanted, strict=True):
        found = np.reshape(record[f"{path}.{port}"], (len(values), -1))
        values = np.reshape(values, (len(values), -1))
        scale = np.abs(values).max(axis=0)
        assert np.abs(found - values).max(axis=0) == pytest.approx(np.zeros(len(scale)), abs=tolerance * scale.max()), port
