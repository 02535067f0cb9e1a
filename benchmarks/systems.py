"""The numbers of the benchmark's systems, which its C programs, its diagrams and the peers' programs take."""

from __future__ import annotations

#: Amplitude and frequency [Hz] of every sine of the torque of (a) and of the reference of (b).
TORQUE = ((2.0, 0.5), (1.5, 2.3), (1.0, 9.1))
REFERENCE = ((1.0, 0.2), (0.5, 0.5), (0.25, 1.1))
SERVO = {"J": 0.02, "Fv": 0.05, "Fc": 0.1, "G": 0.3, "resolution": 0.0031416, "kp": 20.0, "ki": 10.0, "kd": 0.3}
ROBOT = {
    "Jm": 1.21e-2,
    "Ja": 1.13e3,
    "Fv": 1.30e-2,
    "Fc": 6.44e-1,
    "beta": 1.0,
    "k1": 1.46e6,
    "k3": 3.72e10,
    "d": 2.63e3,
    "r": 4.46e-3,
}
#: Hysteresis and backlash, off where they are 0: the gap of (a) is open a third of the time.
EFFECTS = {"alpha": 2e3, "A": 1e6, "q": 5e-4}
#: Time constant [s] and initial value of every lag of (c); from 0 the far end of the chain would be all denormal numbers.
LAG, START = 0.1, 0.5
#: (g) What the filter believes: every parameter this share of the true one, and so uncertain.
FILTER = {"factor": 0.9, "sigma_w2": 0.04}
