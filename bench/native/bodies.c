/* n bodies in three dimensions: the energy behind some steps, and its gradient by positions, velocities and masses.

   A step adds h * acceleration to the velocities, and h * velocity to the positions. The reverse sweep needs the
   positions before every step, which the forward sweep keeps. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long long I;

static void pull(const double *x, double *v, const double *m, I n, double h, double soft) {
    for (I i = 0; i < n; i++) {
        double a0 = 0, a1 = 0, a2 = 0;
        for (I j = 0; j < n; j++) {
            double d0 = x[3 * j] - x[3 * i], d1 = x[3 * j + 1] - x[3 * i + 1], d2 = x[3 * j + 2] - x[3 * i + 2];
            double q = d0 * d0 + d1 * d1 + d2 * d2 + soft, w = m[j] / (q * sqrt(q));
            a0 += w * d0, a1 += w * d1, a2 += w * d2;
        }
        v[3 * i] += h * a0, v[3 * i + 1] += h * a1, v[3 * i + 2] += h * a2;
    }
}

static void pull_back(const double *x, const double *m, const double *gv, double *gx, double *gm, I n, double h,
                      double soft) {
    for (I i = 0; i < n; i++) {
        double g0 = h * gv[3 * i], g1 = h * gv[3 * i + 1], g2 = h * gv[3 * i + 2];
        for (I j = 0; j < n; j++) {
            double d0 = x[3 * j] - x[3 * i], d1 = x[3 * j + 1] - x[3 * i + 1], d2 = x[3 * j + 2] - x[3 * i + 2];
            double q = d0 * d0 + d1 * d1 + d2 * d2 + soft, w = 1 / (q * sqrt(q));
            double along = g0 * d0 + g1 * d1 + g2 * d2, less = 3 * along / q, both = m[j] * w;
            double r0 = both * (g0 - less * d0), r1 = both * (g1 - less * d1), r2 = both * (g2 - less * d2);
            gm[j] += w * along;
            gx[3 * j] += r0, gx[3 * j + 1] += r1, gx[3 * j + 2] += r2;
            gx[3 * i] -= r0, gx[3 * i + 1] -= r1, gx[3 * i + 2] -= r2;
        }
    }
}

double bodies(const double *positions, const double *velocities, const double *m, double *gx, double *gv, double *gm,
              I n, I steps, double h, double soft) {
    I width = 3 * n * sizeof(double);
    double *kept = malloc(steps * width), *x = malloc(width), *v = malloc(width), energy = 0;
    memcpy(x, positions, width), memcpy(v, velocities, width);
    for (I s = 0; s < steps; s++) {
        memcpy(kept + 3 * n * s, x, width);
        pull(x, v, m, n, h, soft);
        for (I k = 0; k < 3 * n; k++) x[k] += h * v[k];
    }
    memset(gx, 0, width), memset(gm, 0, n * sizeof(double));
    for (I i = 0; i < n; i++) {
        double squared = 0;
        for (I k = 0; k < 3; k++) {
            squared += v[3 * i + k] * v[3 * i + k];
            gv[3 * i + k] = m[i] * v[3 * i + k];
        }
        energy += 0.5 * m[i] * squared;
        gm[i] += 0.5 * squared;
        for (I j = 0; j < n; j++) {
            double d[3], q = soft;
            for (I k = 0; k < 3; k++) d[k] = x[3 * j + k] - x[3 * i + k], q += d[k] * d[k];
            double root = 1 / sqrt(q), both = m[i] * m[j] * root;
            energy -= 0.5 * both;
            gm[i] -= 0.5 * m[j] * root, gm[j] -= 0.5 * m[i] * root;
            for (I k = 0; k < 3; k++) {
                double g = 0.5 * both / q * d[k];
                gx[3 * j + k] += g, gx[3 * i + k] -= g;
            }
        }
    }
    for (I s = steps - 1; s >= 0; s--) {
        for (I k = 0; k < 3 * n; k++) gv[k] += h * gx[k];
        pull_back(kept + 3 * n * s, m, gv, gx, gm, n, h, soft);
    }
    free(kept), free(x), free(v);
    return energy;
}
