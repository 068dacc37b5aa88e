"""Calibrate an option model by quadrature
=========================================

Fit the jump model of Merton to prices of options, which are integrals over a characteristic function.

`fixed_quad` integrates for all prices at once, and `least_squares` fits the parameters with the Jacobian through the
integrals; `brentq` turns prices into volatilities. The smile of the fitted model is compared with the data.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import integrate, optimize, stats

SPOT, YEARS = 100.0, 0.5
STRIKES = np.array([80.0, 90.0, 100.0, 110.0, 120.0])
TRUE = np.array([0.15, 0.8, -0.1, 0.15])  # volatility, jumps a year, their mean and deviation


def prices_of(parameters):
    """Of calls, without interest."""
    volatility, rate, mean, deviation = (parameters[k] for k in range(4))
    compensation = rate * (pb.exp(mean + deviation**2 / 2) - 1)
    moneyness = np.log(SPOT / STRIKES)[:, None]

    def integrand(u):
        v = u - 0.5j
        drift = -(volatility**2 / 2 + compensation) * 1j * v - volatility**2 * v * v / 2
        jumps = rate * (pb.exp(1j * v * mean - deviation**2 * v * v / 2) - 1)
        return (pb.exp(1j * u * moneyness + YEARS * (drift + jumps))).real / (u * u + 0.25)

    return SPOT - np.sqrt(SPOT * STRIKES) / np.pi * integrate.fixed_quad(integrand, 0.0, 60.0, n=60)[0]


def volatility_of(value, strike):
    """The volatility at which the formula of Black and Scholes gives this price."""

    def off(s):
        d = (np.log(SPOT / strike) + s * s * YEARS / 2) / (s * np.sqrt(YEARS))
        return SPOT * stats.norm.cdf(d) - strike * stats.norm.cdf(d - s * np.sqrt(YEARS)) - value

    return optimize.brentq(off, 0.01, 2.0).item()


def main():
    """Fit, and draw the smile."""
    prices = prices_of(pb.asarray(TRUE)).numpy()
    fit = optimize.least_squares(
        lambda p: prices_of(p) - prices, [0.2, 0.5, -0.05, 0.2], max_nfev=30,
        bounds=([0.01, 0.01, -0.5, 0.01], [1.0, 3.0, 0.5, 1.0]),
    )  # fmt: skip
    fitted = prices_of(fit.x.detach()).numpy()
    print("parameters", np.round(fit.x.detach().numpy(), 3), "largest error", f"{np.abs(fitted - prices).max():.1e}")
    assert np.abs(fitted - prices).max() < 1e-3

    plt.plot(STRIKES, [volatility_of(value, strike) for value, strike in zip(prices, STRIKES, strict=True)], "o")
    plt.plot(STRIKES, [volatility_of(value, strike) for value, strike in zip(fitted, STRIKES, strict=True)])
    plt.xlabel("strike")
    plt.ylabel("implied volatility")
    plt.show()


if __name__ == "__main__":
    main()
