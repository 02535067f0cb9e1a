/* n first-order lags in a row, the last one fed back with a minus sign, driven by 1; RK4. The last lag's output is logged. */
static void derivative(long n, const double *x, const double *gain, const double *T, double *dx)
{
    double u = 1.0 - x[n - 1];
    for (long i = 0; i < n; i++) {
        dx[i] = (gain[i] * u - x[i]) / T[i];
        u = x[i];
    }
}

/* work: 5 n numbers */
void chain(long n, long steps, const double *gain, const double *T, double *x, double *work, double *log)
{
    double *k1 = work, *k2 = k1 + n, *k3 = k2 + n, *k4 = k3 + n, *y = k4 + n;

    log[0] = x[n - 1];
    for (long s = 0; s < steps; s++) {
        double h = (s + 1) / 1000.0 - s / 1000.0;
        derivative(n, x, gain, T, k1);
        for (long i = 0; i < n; i++) y[i] = x[i] + h * (0.5 * k1[i]);
        derivative(n, y, gain, T, k2);
        for (long i = 0; i < n; i++) y[i] = x[i] + h * (0.5 * k2[i]);
        derivative(n, y, gain, T, k3);
        for (long i = 0; i < n; i++) y[i] = x[i] + h * k3[i];
        derivative(n, y, gain, T, k4);
        for (long i = 0; i < n; i++) x[i] += h * (1.0 / 6 * k1[i] + 1.0 / 3 * k2[i] + 1.0 / 3 * k3[i] + 1.0 / 6 * k4[i]);
        log[s + 1] = x[n - 1];
    }
}
