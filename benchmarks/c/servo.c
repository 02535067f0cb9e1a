/* 1 kHz PID on a quantised encoder around a joint with friction and gravity; RK4, one step per sample. */
#include <pthread.h>
#include <stdlib.h>

#include "joint.h"

enum { SIGNALS = 5 };

void servo(const double *p, long samples, double *log)
{
    const double Ts = 1e-3;
    double x[2] = {0.0, 0.0}, integral = 0.0, last = 0.0;

    for (long k = 0; k <= samples; k++, log += SIGNALS) {
        double t = k / 1000.0, next = (k + 1) / 1000.0;
        double ref = sin(2 * M_PI * 0.2 * t) + 0.5 * sin(2 * M_PI * 0.5 * t) + 0.25 * sin(2 * M_PI * 1.1 * t);
        double q = p[RESOLUTION] * floor(x[0] / p[RESOLUTION] + 0.5);
        double e = ref - q;
        integral += p[KI] * Ts * e;
        double tau = p[KP] * e + integral + p[KD] * (e - last) / Ts;
        last = e;
        log[0] = ref, log[1] = tau, log[2] = x[0], log[3] = x[1], log[4] = q;
        rk4(x, tau, p, next - t);
    }
}

struct share { const double *p; long samples, first, runs, stride; double **logs; };

static void *work(void *argument)
{
    struct share *s = argument;
    for (long i = s->first; i < s->runs; i += s->stride) {
        s->logs[i] = malloc(sizeof(double) * SIGNALS * (s->samples + 1));
        servo(s->p + i * PARAMETERS, s->samples, s->logs[i]);
    }
    return 0;
}

/* Every row of p is a run with a log of its own; the caller gives the logs back to servo_free. */
void servo_many(const double *p, long runs, long samples, long threads, double **logs)
{
    pthread_t thread[64];
    struct share share[64];
    if (threads > 64) threads = 64;
    for (long i = 0; i < threads; i++) {
        share[i] = (struct share){p, samples, i, runs, threads, logs};
        pthread_create(&thread[i], 0, work, &share[i]);
    }
    for (long i = 0; i < threads; i++) pthread_join(thread[i], 0);
}

void servo_free(long runs, double **logs)
{
    for (long i = 0; i < runs; i++) free(logs[i]);
}
