/* Sums of functions of every element, with their gradients. */

#include <math.h>

typedef long long I;

/* tanh(log(exp(x) + 1) * x), added up. */
double elementwise(const double *restrict x, double *restrict gradient, I n) {
    double total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (I i = 0; i < n; i++) {
        double e = exp(x[i]), soft = log(e + 1), t = tanh(soft * x[i]);
        total += t;
        gradient[i] = (1 - t * t) * (soft + x[i] * e / (e + 1));
    }
    return total;
}

/* Prices of European calls, added up. `gradient` has five rows: by spot, strike, time, volatility and rate. */
double black_scholes(const double *restrict spot, const double *restrict strike, const double *restrict time,
                     const double *restrict volatility, const double *restrict rate, double *restrict gradient, I n) {
    double total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (I i = 0; i < n; i++) {
        double root = sqrt(time[i]), width = volatility[i] * root;
        double d1 = (log(spot[i] / strike[i]) + (rate[i] + 0.5 * volatility[i] * volatility[i]) * time[i]) / width;
        double d2 = d1 - width, discounted = strike[i] * exp(-rate[i] * time[i]);
        double n1 = 0.5 + 0.5 * erf(d1 * M_SQRT1_2), n2 = 0.5 + 0.5 * erf(d2 * M_SQRT1_2);
        double density = spot[i] * exp(-0.5 * d1 * d1) * (0.5 * M_SQRT1_2 * M_2_SQRTPI);
        total += spot[i] * n1 - discounted * n2;
        gradient[i] = n1;
        gradient[n + i] = -discounted * n2 / strike[i];
        gradient[2 * n + i] = density * volatility[i] / (2 * root) + rate[i] * discounted * n2;
        gradient[3 * n + i] = density * root;
        gradient[4 * n + i] = time[i] * discounted * n2;
    }
    return total;
}
