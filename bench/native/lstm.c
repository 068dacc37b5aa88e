/* The LSTM of `workload_lstm.py`: the loss of predicting every symbol of a sequence, and its gradient by weights and
   read-out. The forward sweep keeps the gates and states of every step. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long long I;

enum { W = 14, KEPT = 8 };
enum { FORGET, IN, OUT, CHANGE, STATE, SQUASHED, HIDDEN, GIVEN };

static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

double lstm(const double *weights, const double *read_out, const double *states, const double *sequence, double *gw,
            double *gr, I layers, I steps) {
    double *kept = malloc(steps * layers * KEPT * W * sizeof(double)), *tops = malloc(steps * W * sizeof(double));
    double *carry = malloc(layers * 2 * W * sizeof(double)), *back = calloc(layers * 2 * W, sizeof(double));
    double loss = 0;
    memcpy(carry, states, layers * 2 * W * sizeof(double));
    for (I t = 0; t < steps; t++) {
        double x[W];
        for (I k = 0; k < W; k++) x[k] = sequence[W * t + k] * read_out[k];
        for (I l = 0; l < layers; l++) {
            const double *w = weights + 8 * W * l, *b = w + 4 * W;
            double *hidden = carry + 2 * W * l, *state = hidden + W, *now = kept + KEPT * W * (layers * t + l);
#pragma omp simd
            for (I k = 0; k < W; k++) {
                double forget = sigmoid(x[k] * w[k] + b[k]), in = sigmoid(hidden[k] * w[W + k] + b[W + k]);
                double out = sigmoid(x[k] * w[2 * W + k] + b[2 * W + k]);
                double change = tanh(hidden[k] * w[3 * W + k] + b[3 * W + k]);
                double next = state[k] * forget + in * change, squashed = tanh(next);
                now[FORGET * W + k] = forget, now[IN * W + k] = in, now[OUT * W + k] = out;
                now[CHANGE * W + k] = change, now[STATE * W + k] = state[k], now[SQUASHED * W + k] = squashed;
                now[HIDDEN * W + k] = hidden[k], now[GIVEN * W + k] = x[k];
                state[k] = next;
                hidden[k] = x[k] = out * squashed;
            }
        }
        memcpy(tops + W * t, x, sizeof x);
    }
    memset(gw, 0, layers * 8 * W * sizeof(double)), memset(gr, 0, 3 * W * sizeof(double));
    double part = 1.0 / (steps * W);
    for (I t = steps - 1; t >= 0; t--) {
        const double *target = sequence + W * (t + 1), *top = tops + W * t;
        double scores[W], powers[W], total = 2, wanted = 0, dx[W];
#pragma omp simd reduction(+ : total, wanted)
        for (I k = 0; k < W; k++) {
            scores[k] = top[k] * read_out[W + k] + read_out[2 * W + k];
            powers[k] = exp(scores[k]);
            total += powers[k], wanted += target[k];
        }
        double logarithm = log(total);
        for (I k = 0; k < W; k++) {
            loss -= part * target[k] * (scores[k] - logarithm);
            double g = -part * (target[k] - wanted * powers[k] / total);
            gr[W + k] += g * top[k], gr[2 * W + k] += g;
            dx[k] = g * read_out[W + k];
        }
        for (I l = layers - 1; l >= 0; l--) {
            const double *w = weights + 8 * W * l, *now = kept + KEPT * W * (layers * t + l);
            double *dh = back + 2 * W * l, *ds = dh + W, *g = gw + 8 * W * l;
#pragma omp simd
            for (I k = 0; k < W; k++) {
                double forget = now[FORGET * W + k], in = now[IN * W + k], out = now[OUT * W + k];
                double change = now[CHANGE * W + k], squashed = now[SQUASHED * W + k];
                double hidden = now[HIDDEN * W + k], x = now[GIVEN * W + k];
                double gh = dx[k] + dh[k], gs = ds[k] + gh * out * (1 - squashed * squashed);
                double z0 = gs * now[STATE * W + k] * forget * (1 - forget), z1 = gs * change * in * (1 - in);
                double z2 = gh * squashed * out * (1 - out), z3 = gs * in * (1 - change * change);
                g[k] += z0 * x, g[W + k] += z1 * hidden, g[2 * W + k] += z2 * x, g[3 * W + k] += z3 * hidden;
                g[4 * W + k] += z0, g[5 * W + k] += z1, g[6 * W + k] += z2, g[7 * W + k] += z3;
                ds[k] = gs * forget;
                dh[k] = z1 * w[W + k] + z3 * w[3 * W + k];
                dx[k] = z0 * w[k] + z2 * w[2 * W + k];
            }
        }
        for (I k = 0; k < W; k++) gr[k] += dx[k] * sequence[W * t + k];
    }
    free(kept), free(tops), free(carry), free(back);
    return loss;
}
