/* Explicit steps of linear stencils with fixed borders, the sum of squares at the end, and its gradient by the start.

   A step makes new[i] = sum over taps of weight * old[i + offset] for every point that is at least `reach` away from all
   borders, and leaves the others alone. The gradient goes through the transposed steps: a point gets from each tap what
   the point on the other side of it had, if that one is inside. So the gradients of the inside lie in an array with zeros
   around it, where nobody has to ask, and those of the border are added up elsewhere. Two buffers take turns. One
   dimension is a single row. */

#include <stdlib.h>
#include <string.h>

typedef long long I;

#define LOOP(SUM)                                                                                                      \
    for (I j = left; j < right; j++) to[j] = SUM;
#define P(k) const double *p##k = row + far[k];
#define T(k) w[k] * p##k[j]

/* One row: `row` and `to` are where its first element is read and written. */
static void taps_of_row(const double *restrict row, double *restrict to, I left, I right, I taps, const I *far,
                        const double *w) {
    if (taps == 3) {
        P(0) P(1) P(2)
        LOOP(T(0) + T(1) + T(2))
    } else if (taps == 5) {
        P(0) P(1) P(2) P(3) P(4)
        LOOP(T(0) + T(1) + T(2) + T(3) + T(4))
    } else if (taps == 9) {
        P(0) P(1) P(2) P(3) P(4) P(5) P(6) P(7) P(8)
        LOOP(T(0) + T(1) + T(2) + T(3) + T(4) + T(5) + T(6) + T(7) + T(8))
    } else {
        P(0) P(1) P(2) P(3) P(4) P(5) P(6) P(7) P(8) P(9) P(10) P(11) P(12)
        LOOP(T(0) + T(1) + T(2) + T(3) + T(4) + T(5) + T(6) + T(7) + T(8) + T(9) + T(10) + T(11) + T(12))
    }
}

static void add_taps(const double *row, double *to, I left, I right, I taps, const I *far, const double *w) {
    for (I t = 0; t < taps; t++)
        for (I j = left; j < right; j++) to[j] += w[t] * row[far[t] + j];
}

/* All rows of a box. A single long row is cut into pieces, so that threads can share it. Small boxes are not shared. */
static void taps_of_box(const double *old, double *new, I from, I to, I first, I last, I left, I right, I taps,
                        const I *far, const double *w) {
    if ((last - first) * (right - left) < 16384) {
        for (I i = first; i < last; i++) taps_of_row(old + i * from, new + i * to, left, right, taps, far, w);
    } else if (last - first == 1) {
#pragma omp parallel for schedule(static)
        for (I start = left; start < right; start += 4096)
            taps_of_row(old + first * from, new + first * to, start, start + 4096 < right ? start + 4096 : right, taps,
                        far, w);
    } else {
#pragma omp parallel for schedule(static)
        for (I i = first; i < last; i++) taps_of_row(old + i * from, new + i * to, left, right, taps, far, w);
    }
}

/* n rows of m, of which `down` rows and `reach` columns at either end are border; offsets in rows, then in columns. */
static double stencil(const double *start, double *gradient, I n, I m, I down, I reach, I steps, I taps, const I *at,
                      const double *w) {
    I size = n * m, wide = m + 2 * reach, far[16];
    double *u = malloc(size * sizeof(double)), *v = malloc(size * sizeof(double)), *other, total = 0;
    for (I t = 0; t < taps; t++) far[t] = at[t] * m + at[taps + t];
    memcpy(u, start, size * sizeof(double)), memcpy(v, start, size * sizeof(double)); /* borders stay */
    for (I s = 0; s < steps; s++) {
        taps_of_box(u, v, m, m, down, n - down, reach, m - reach, taps, far, w);
        other = u, u = v, v = other;
    }
    I padded = (n + 2 * down) * wide;
    double *p = calloc(padded, sizeof(double)), *q = calloc(padded, sizeof(double));
    double *inside = p + down * wide + reach, *next = q + down * wide + reach;
    for (I i = 0; i < n; i++)
        for (I j = 0; j < m; j++) {
            double g = 2 * u[i * m + j];
            total += u[i * m + j] * u[i * m + j];
            if (i >= down && i < n - down && j >= reach && j < m - reach) inside[i * wide + j] = g;
            gradient[i * m + j] = g;
        }
    for (I t = 0; t < taps; t++) far[t] = -at[t] * wide - at[taps + t];
    for (I s = 0; s < steps; s++) {
        taps_of_box(inside, next, wide, wide, down, n - down, reach, m - reach, taps, far, w);
        for (I i = 0; i < n; i++) {
            if (i < down || i >= n - down) {
                add_taps(inside + i * wide, gradient + i * m, 0, m, taps, far, w);
            } else {
                add_taps(inside + i * wide, gradient + i * m, 0, reach, taps, far, w);
                add_taps(inside + i * wide, gradient + i * m, m - reach, m, taps, far, w);
            }
        }
        other = inside, inside = next, next = other;
    }
    for (I i = down; i < n - down; i++)
        memcpy(gradient + i * m + reach, inside + i * wide + reach, (m - 2 * reach) * sizeof(double));
    free(u), free(v), free(p), free(q);
    return total;
}

double stencil_1d(const double *start, double *gradient, I n, I steps, I taps, const I *at, const double *w, I reach) {
    I both[32] = {0};
    memcpy(both + taps, at, taps * sizeof(I));
    return stencil(start, gradient, 1, n, 0, reach, steps, taps, both, w);
}

double stencil_2d(const double *start, double *gradient, I n, I m, I steps, I taps, const I *at, const double *w,
                  I reach) {
    return stencil(start, gradient, n, m, reach, reach, steps, taps, at, w);
}
