/* 1 kHz PID on what an extended Kalman filter makes of a quantised encoder, around the joint of joint.h; RK4, Euler in the filter. */
#include "joint.h"

enum { FACTOR = PARAMETERS, SIGMA_W2 };

/* Rows of reference, torque, position, speed, counted position, estimated position and speed. */
void ekf_loop(const double *p, long samples, double *log)
{
    const double Ts = 1e-3, R = p[RESOLUTION] * p[RESOLUTION] / 12;
    const double f = p[FACTOR], j = f * p[J], fv = f * p[FV], fc = f * p[FC], g = f * p[G];
    double x[2] = {0.0, 0.0}, z[2] = {0.0, 0.0}, integral = 0.0;
    double a = R, b = 0.0, c = 0.1; /* P = [a b; b c] */

    for (long k = 0; k <= samples; k++, log += 7) {
        double t = k / 1000.0, next = (k + 1) / 1000.0;
        double ref = sin(2 * M_PI * 0.2 * t) + 0.5 * sin(2 * M_PI * 0.5 * t) + 0.25 * sin(2 * M_PI * 1.1 * t);
        double q = p[RESOLUTION] * floor(x[0] / p[RESOLUTION] + 0.5);
        /* the reading */
        double s = a + R, k0 = a / s, k1 = b / s, rest = q - z[0];
        z[0] += k0 * rest, z[1] += k1 * rest;
        a -= k0 * s * k0, c -= k1 * s * k1, b -= k0 * s * k1;
        /* the controller */
        double e = ref - z[0];
        integral += p[KI] * Ts * e;
        double tau = p[KP] * e + integral - p[KD] * z[1];
        log[0] = ref, log[1] = tau, log[2] = x[0], log[3] = x[1], log[4] = q, log[5] = z[0], log[6] = z[1];
        /* the prediction: F = [1 Ts; u v], noise of variance w on the speed */
        double dry = tanh(100.0 * z[1]), load = cos(z[0] / 15.0);
        double acceleration = (tau - fv * z[1] - fc * dry - g * load) / j;
        double u = Ts * g * sin(z[0] / 15.0) / 15.0 / j, v = 1 - Ts * (fv + fc * 100.0 * (1 - dry * dry)) / j;
        double n0 = acceleration, n1 = fv * z[1] / j, n2 = fc * dry / j, n3 = g * load / j;
        double w = Ts * Ts * p[SIGMA_W2] * (n0 * n0 + n1 * n1 + n2 * n2 + n3 * n3);
        double fa = a + Ts * b, fb = b + Ts * c, ga = u * a + v * b, gb = u * b + v * c;
        z[0] += Ts * z[1], z[1] += Ts * acceleration;
        a = fa + Ts * fb, b = u * fa + v * fb, c = u * ga + v * gb + w;
        rk4(x, tau, p, next - t);
    }
}
