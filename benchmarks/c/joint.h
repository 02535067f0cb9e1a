/* A joint with friction and gravity, and a step of RK4 with its torque held: what both loops act on. */
#include <math.h>

enum { J, FV, FC, G, RESOLUTION, KP, KI, KD, PARAMETERS };

static inline void derivative(const double *x, double tau, const double *p, double *dx)
{
    dx[0] = x[1];
    dx[1] = (tau - p[FV] * x[1] - p[FC] * tanh(100.0 * x[1]) - p[G] * cos(x[0] / 15.0)) / p[J];
}

static inline void rk4(double *x, double tau, const double *p, double h)
{
    double k1[2], k2[2], k3[2], k4[2], y[2];

    derivative(x, tau, p, k1);
    for (int i = 0; i < 2; i++) y[i] = x[i] + h * (0.5 * k1[i]);
    derivative(y, tau, p, k2);
    for (int i = 0; i < 2; i++) y[i] = x[i] + h * (0.5 * k2[i]);
    derivative(y, tau, p, k3);
    for (int i = 0; i < 2; i++) y[i] = x[i] + h * k3[i];
    derivative(y, tau, p, k4);
    for (int i = 0; i < 2; i++) x[i] += h * (1.0 / 6 * k1[i] + 1.0 / 3 * k2[i] + 1.0 / 3 * k3[i] + 1.0 / 6 * k4[i]);
}
