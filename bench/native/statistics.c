/* The Gaussian mixture of `workload_mixture.py`, and the Gaussian process and the Jacobian of
   `workload_derivatives.py`. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long long I;

/* Log-likelihood of n examples of dimension d under K components, plus a prior, up to a constant. A factor is lower
   triangular: the logarithms of its diagonal, then what is below, column by column. */
double mixture(const double *weights, const double *means, const double *factors, const double *x, double *gw,
               double *gm, double *gf, I n, I d, I K) {
    I count = d * (d + 1) / 2, square = d * d;
    double *q = calloc(K * square, sizeof(double)), *gq = calloc(K * square, sizeof(double));
    double *logs = calloc(K, sizeof(double)), total = 0, most = weights[0], sum = 0, prior = 0;
    for (I k = 0; k < K; k++) {
        const double *f = factors + count * k;
        double *row = q + square * k;
        for (I r = 0; r < d; r++) row[d * r + r] = exp(f[r]), logs[k] += f[r];
        for (I c = 0, at = d; c < d; c++)
            for (I r = c + 1; r < d; r++) row[d * r + c] = f[at++];
    }
    memset(gw, 0, K * sizeof(double)), memset(gm, 0, K * d * sizeof(double));
    memset(gf, 0, K * count * sizeof(double));
#pragma omp parallel reduction(+ : total)
    {
        double *y = malloc(K * d * sizeof(double)), *apart = malloc(K * d * sizeof(double));
        double *inner = malloc(K * sizeof(double)), *ow = calloc(K, sizeof(double));
        double *om = calloc(K * d, sizeof(double)), *oq = calloc(K * square, sizeof(double));
#pragma omp for schedule(static)
        for (I i = 0; i < n; i++) {
            double high = -INFINITY, below = 0;
            for (I k = 0; k < K; k++) {
                double *z = apart + d * k, *v = y + d * k, norm = 0;
                for (I r = 0; r < d; r++) z[r] = x[d * i + r] - means[d * k + r];
                for (I r = 0; r < d; r++) {
                    double value = 0;
                    for (I c = 0; c <= r; c++) value += q[square * k + d * r + c] * z[c];
                    v[r] = value, norm += value * value;
                }
                inner[k] = weights[k] + logs[k] - 0.5 * norm;
                high = fmax(high, inner[k]);
            }
            for (I k = 0; k < K; k++) inner[k] = exp(inner[k] - high), below += inner[k];
            total += high + log(below);
            for (I k = 0; k < K; k++) {
                double p = inner[k] / below, *z = apart + d * k, *v = y + d * k;
                ow[k] += p;
                for (I r = 0; r < d; r++) {
                    double g = p * v[r];
                    for (I c = 0; c <= r; c++) {
                        oq[square * k + d * r + c] -= g * z[c];
                        om[d * k + c] += g * q[square * k + d * r + c];
                    }
                }
            }
        }
#pragma omp critical
        {
            for (I k = 0; k < K; k++) gw[k] += ow[k];
            for (I k = 0; k < K * d; k++) gm[k] += om[k];
            for (I k = 0; k < K * square; k++) gq[k] += oq[k];
        }
        free(y), free(apart), free(inner), free(ow), free(om), free(oq);
    }
    for (I k = 0; k < K; k++) {
        const double *row = q + square * k, *g = gq + square * k;
        double *out = gf + count * k;
        for (I r = 0; r < d; r++) {
            double diagonal = row[d * r + r];
            out[r] = g[d * r + r] * diagonal + gw[k] + diagonal * diagonal;
            prior += 0.5 * diagonal * diagonal;
        }
        for (I c = 0, at = d; c < d; c++)
            for (I r = c + 1; r < d; r++, at++) {
                out[at] = g[d * r + c] + row[d * r + c];
                prior += 0.5 * row[d * r + c] * row[d * r + c];
            }
    }
    for (I k = 0; k < K; k++) most = fmax(most, weights[k]);
    for (I k = 0; k < K; k++) sum += exp(weights[k] - most);
    for (I k = 0; k < K; k++) gw[k] -= n * exp(weights[k] - most) / sum;
    free(q), free(gq), free(logs);
    return total - n * (most + log(sum)) + prior;
}

/* Minus the log-likelihood of a Gaussian process, by the logarithms of length, scale and noise. `factor` and `invert`
   are LAPACK's potrf and potri. */
typedef void Lapack(const char *, int *, double *, int *, int *);

double process(const double *logarithms, const double *x, const double *y, double *gradient, I count, Lapack *factor,
               Lapack *invert) {
    int n = count, info;
    double length = exp(logarithms[0]), scale = exp(logarithms[1]), noise = exp(logarithms[2]);
    double *a = malloc(count * count * sizeof(double)), *alpha = malloc(count * sizeof(double)), value = 0;
#pragma omp parallel for schedule(static)
    for (I i = 0; i < count; i++) {
#pragma omp simd
        for (I j = 0; j < count; j++) {
            double apart = (x[i] - x[j]) / length;
            a[count * i + j] = scale * exp(-0.5 * apart * apart);
        }
        a[count * i + i] += noise + 1e-6;
    }
    factor("L", &n, a, &n, &info);
    for (I i = 0; i < count; i++) value += log(a[count * i + i]);
    invert("L", &n, a, &n, &info);
    for (I i = 0; i < count; i++)
        for (I j = 0; j < i; j++) a[count * i + j] = a[count * j + i];
    for (I i = 0; i < count; i++) {
        double sum = 0;
        for (I j = 0; j < count; j++) sum += a[count * i + j] * y[j];
        alpha[i] = sum, value += 0.5 * sum * y[i];
    }
    double by_length = 0, by_scale = 0, by_noise = 0;
#pragma omp parallel for reduction(+ : by_length, by_scale, by_noise) schedule(static)
    for (I i = 0; i < count; i++) {
#pragma omp simd reduction(+ : by_length, by_scale)
        for (I j = 0; j < count; j++) {
            double apart = (x[i] - x[j]) / length, squared = apart * apart;
            double g = 0.5 * (a[count * i + j] - alpha[i] * alpha[j]) * scale * exp(-0.5 * squared);
            by_scale += g, by_length += g * squared;
        }
        by_noise += 0.5 * (a[count * i + i] - alpha[i] * alpha[i]);
    }
    gradient[0] = by_length, gradient[1] = by_scale, gradient[2] = by_noise * noise;
    free(a), free(alpha);
    return value;
}

/* A reaction with diffusion on a ring: its sum, and all derivatives of its elements. */
double reaction(const double *u, double *jacobian, I n) {
    double total = 0;
    memset(jacobian, 0, n * n * sizeof(double));
    for (I i = 0; i < n; i++) {
        I before = i ? i - 1 : n - 1, behind = i < n - 1 ? i + 1 : 0;
        total += 40 * (u[before] - 2 * u[i] + u[behind]) + u[i] * (1 - u[i] * u[i]) + sin(u[i]) * u[before];
        jacobian[n * i + i] += -80 + 1 - 3 * u[i] * u[i] + cos(u[i]) * u[before];
        jacobian[n * i + before] += 40 + sin(u[i]);
        jacobian[n * i + behind] += 40;
    }
    return total;
}
