/* Two-mass robot, motor and arm over a gear with a cubic spring, a damper, hysteresis and backlash, driven open loop by three sines;
   RK4 and Dormand-Prince. */
#include <math.h>

enum { JM, JA, FV, FC, BETA, K1, K3, D, R, ALPHA, A, Q };
enum { N = 5, LOGGED = 4, SIGNALS = 5 };

static inline double torque(double t)
{
    return 2.0 * sin(2 * M_PI * 0.5 * t) + 1.5 * sin(2 * M_PI * 2.3 * t) + 1.0 * sin(2 * M_PI * 9.1 * t);
}

/* Spring and damper behind a gap of width q: never pulls, and the damper adds at most what the spring gives. */
static inline double gear(double phi, double w, const double *p)
{
    double side = 0.0, x = phi;

    if (p[Q] > 1e-10) {
        side = phi >= 0.5 * p[Q] ? 1.0 : phi <= -0.5 * p[Q] ? -1.0 : 0.0;
        if (side == 0.0) return 0.0;
        x = phi - 0.5 * p[Q] * side;
    }
    double spring = p[K1] * x + p[K3] * (x * x * x), damper = p[D] * w;
    if (side == 0.0) return spring + damper;
    if (side * (spring + damper) <= 0.0) return 0.0;
    return spring + (side * damper < side * spring ? damper : spring);
}

static inline void derivative(double t, const double *x, const double *p, double *dx)
{
    double w = p[R] * x[1] - x[3], arm = gear(p[R] * x[0] - x[2], w, p) + x[4];
    dx[0] = x[1];
    dx[1] = (torque(t) - p[R] * arm - p[FC] * tanh(p[BETA] * x[1]) - p[FV] * x[1]) / p[JM];
    dx[2] = x[3];
    dx[3] = arm / p[JA];
    dx[4] = p[A] * w - p[ALPHA] * fabs(w) * x[4];
}

static inline double *row(double t, const double *x, double *log)
{
    for (int i = 0; i < LOGGED; i++) log[i] = x[i];
    log[LOGGED] = torque(t);
    return log + SIGNALS;
}

/* Steps of 1 ms, a row every second one. */
void two_mass_rk4(const double *p, long steps, double *log)
{
    double x[N] = {0}, k1[N], k2[N], k3[N], k4[N], y[N];

    log = row(0.0, x, log);
    for (long s = 0; s < steps; s++) {
        double t = s / 1000.0, h = (s + 1) / 1000.0 - t;
        derivative(t, x, p, k1);
        for (int i = 0; i < N; i++) y[i] = x[i] + h * (0.5 * k1[i]);
        derivative(t + 0.5 * h, y, p, k2);
        for (int i = 0; i < N; i++) y[i] = x[i] + h * (0.5 * k2[i]);
        derivative(t + 0.5 * h, y, p, k3);
        for (int i = 0; i < N; i++) y[i] = x[i] + h * k3[i];
        derivative(t + h, y, p, k4);
        for (int i = 0; i < N; i++) x[i] += h * (1.0 / 6 * k1[i] + 1.0 / 3 * k2[i] + 1.0 / 3 * k3[i] + 1.0 / 6 * k4[i]);
        if (s % 2 == 1) log = row((s + 1) / 1000.0, x, log);
    }
}

/* Hairer, Norsett & Wanner II.4: a first step from the sizes of x, f and the change of f. */
static double first_step(const double *x, const double *k1, const double *p, double rtol, double atol, double h_max)
{
    double size = 0.0, slope = 0.0, bend = 0.0, y[N], k2[N], scale[N];

    for (int i = 0; i < N; i++) {
        scale[i] = atol + rtol * fabs(x[i]);
        size += (x[i] / scale[i]) * (x[i] / scale[i]);
        slope += (k1[i] / scale[i]) * (k1[i] / scale[i]);
    }
    size = sqrt(size / N), slope = sqrt(slope / N);
    double h = fmin(size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope, h_max);
    for (int i = 0; i < N; i++) y[i] = x[i] + h * k1[i];
    derivative(h, y, p, k2);
    for (int i = 0; i < N; i++) bend += ((k2[i] - k1[i]) / scale[i]) * ((k2[i] - k1[i]) / scale[i]);
    double steep = fmax(slope, sqrt(bend / N) / h);
    double reach = steep <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / steep, 1.0 / 6);
    return fmin(fmin(100.0 * h, reach), h_max);
}

/* Dormand & Prince 5(4) with PI control of the step and the continuous output of order 4; a row every 2 ms. Returns the steps tried. */
long two_mass_dopri5(const double *p, double end, double rtol, double atol, double *log)
{
    double x[N] = {0}, y[N], z[N], k1[N], k2[N], k3[N], k4[N], k5[N], k6[N], k7[N];
    double t = 0.0, old = 1.0, h_max = end / 50;
    long rows = lround(500 * end), next = 1, tried = 0;

    log = row(0.0, x, log);
    derivative(0.0, x, p, k1);
    double size = first_step(x, k1, p, rtol, atol, h_max);
    while (t < end) {
        double rest = end - t, h = rest, total = 0.0;
        size = fmin(size, h_max);
        if (size < 0.999 * rest) h = 2.0 * size > rest ? 0.5 * rest : size;
        for (int i = 0; i < N; i++) y[i] = x[i] + h * (1.0 / 5 * k1[i]);
        derivative(t + 0.2 * h, y, p, k2);
        for (int i = 0; i < N; i++) y[i] = x[i] + h * (3.0 / 40 * k1[i] + 9.0 / 40 * k2[i]);
        derivative(t + 0.3 * h, y, p, k3);
        for (int i = 0; i < N; i++) y[i] = x[i] + h * (44.0 / 45 * k1[i] - 56.0 / 15 * k2[i] + 32.0 / 9 * k3[i]);
        derivative(t + 0.8 * h, y, p, k4);
        for (int i = 0; i < N; i++)
            y[i] = x[i] + h * (19372.0 / 6561 * k1[i] - 25360.0 / 2187 * k2[i] + 64448.0 / 6561 * k3[i] - 212.0 / 729 * k4[i]);
        derivative(t + 8.0 / 9 * h, y, p, k5);
        for (int i = 0; i < N; i++)
            y[i] = x[i] + h * (9017.0 / 3168 * k1[i] - 355.0 / 33 * k2[i] + 46732.0 / 5247 * k3[i] + 49.0 / 176 * k4[i]
                               - 5103.0 / 18656 * k5[i]);
        derivative(t + h, y, p, k6);
        for (int i = 0; i < N; i++)
            y[i] = x[i] + h * (35.0 / 384 * k1[i] + 500.0 / 1113 * k3[i] + 125.0 / 192 * k4[i] - 2187.0 / 6784 * k5[i] + 11.0 / 84 * k6[i]);
        derivative(t + h, y, p, k7);
        for (int i = 0; i < N; i++) {
            double error = h * (71.0 / 57600 * k1[i] - 71.0 / 16695 * k3[i] + 71.0 / 1920 * k4[i] - 17253.0 / 339200 * k5[i]
                                + 22.0 / 525 * k6[i] - 1.0 / 40 * k7[i]);
            double ratio = error / (atol + rtol * fmax(fabs(x[i]), fabs(y[i])));
            total += ratio * ratio;
        }
        double error = sqrt(total / N);
        tried++;
        if (!(error <= 1.0)) {
            size = h * fmax(0.2, 0.9 * pow(error, -0.2));
            old = 1.0;
            if (size < 1e-15 * t) return -1;
            continue;
        }
        double then = h == rest ? end : t + h;
        for (; next <= rows && next / 500.0 <= then; next++) {
            double theta = (next / 500.0 - t) / h, left = 1.0 - theta;
            for (int i = 0; i < N; i++) {
                double change = y[i] - x[i], bend = h * k1[i] - change, twist = change - h * k7[i] - bend;
                double last = h * (-12715105075.0 / 11282082432 * k1[i] + 87487479700.0 / 32700410799 * k3[i]
                                   - 10690763975.0 / 1880347072 * k4[i] + 701980252875.0 / 199316789632 * k5[i]
                                   - 1453857185.0 / 822651844 * k6[i] + 69997945.0 / 29380423 * k7[i]);
                z[i] = x[i] + theta * (change + left * (bend + theta * (twist + left * last)));
            }
            log = row(next / 500.0, z, log);
        }
        for (int i = 0; i < N; i++) x[i] = y[i], k1[i] = k7[i];
        double scale = error > 0.0 ? fmin(5.0, fmax(0.2, 0.9 * pow(error, -0.17) * pow(old, 0.04))) : 5.0;
        old = fmax(error, 1e-4);
        size = h == rest || 2.0 * h == rest ? fmax(h * scale, size) : h * scale;
        t = then;
    }
    return tried;
}
