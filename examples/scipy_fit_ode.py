"""Fit a differential equation
==============================

Estimate the parameters of a differential equation from noisy measurements of its solution.

SciPy integrates, SciPy fits; nobody writes a sensitivity equation. `least_squares` asks for the Jacobian of the
residuals, which goes through `solve_ivp`. The covariance of the estimate comes from the same Jacobian.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import integrate, optimize

TRUE = np.array([1.2, 0.6])  # growth, predation; the predator's rates are known
TIMES = np.linspace(0.0, 6.0, 13)


def populations(parameters):
    """Prey and predators at the times of measurement."""
    growth, predation = parameters[0], parameters[1]

    def rates(t, y):
        return [growth * y[0] - predation * y[0] * y[1], -0.8 * y[1] + 0.3 * y[0] * y[1]]

    return integrate.solve_ivp(rates, (0.0, 6.0), [3.0, 1.0], t_eval=TIMES, rtol=1e-7, atol=1e-9).y


def main():
    """Fit, and say how well."""
    rng = np.random.default_rng(1)
    measured = populations(pb.asarray(TRUE)).numpy() * np.exp(0.02 * rng.standard_normal((2, 13)))

    def residuals(parameters):
        return (pb.log(populations(parameters)) - np.log(measured)).reshape(-1) / 0.02

    fit = optimize.least_squares(residuals, [1.1, 0.7])
    jacobian = fit.jac.detach().numpy()
    deviations = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    for name, value, deviation, true in zip(("growth", "predation"), fit.x.numpy(), deviations, TRUE, strict=True):
        print(f"{name:<10} {value:.4f} ± {deviation:.4f}   (true: {true})")
        assert abs(value - true) < 4 * deviation
    print(f"{fit.nfev} solutions of the equation, {fit.njev} Jacobians")

    for name, data, curve in zip(("prey", "predators"), measured, populations(fit.x).detach().numpy(), strict=True):
        (points,) = plt.plot(TIMES, data, "o", label=name)
        plt.plot(TIMES, curve, color=points.get_color())
    plt.xlabel("time")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
