"""Estimate noise by the likelihood of a Kalman filter
=====================================================

How noisy is a thermometer, and how much does the temperature wander? Both by maximum likelihood.

The steady filter comes from a Riccati equation, `solve_discrete_are`, whose derivative is a Lyapunov equation; the
likelihood of the innovations is a sum of `norm.logpdf`; `minimize` has exact gradients, and the Hessian says how sure.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import linalg, optimize, stats

RNG = np.random.default_rng(5)
TRUE = np.array([0.3, 0.8])  # deviations of a step of the level, and of a measurement
LEVEL = np.cumsum(TRUE[0] * RNG.standard_normal(80))
MEASURED = LEVEL + TRUE[1] * RNG.standard_normal(80)


def filtered(logs):
    """Predictions of the steady filter, and the deviation of what they miss."""
    wander, noise = pb.exp(logs[0]) ** 2, pb.exp(logs[1]) ** 2
    one = np.ones((1, 1))
    variance = linalg.solve_discrete_are(one, one, wander.reshape(1, 1), noise.reshape(1, 1))[0, 0]
    gain = variance / (variance + noise)
    predictions, level = [], pb.asarray(MEASURED[0])
    for measured in MEASURED[1:]:
        predictions.append(level)
        level = level + gain * (measured - level)
    return pb.stack(predictions), pb.sqrt(variance + noise)


def loss(logs):
    """The negative logarithm of the likelihood."""
    predictions, deviation = filtered(logs)
    return -stats.norm.logpdf(MEASURED[1:], predictions, deviation).sum()


def main():
    """Maximise, with standard deviations."""
    found = optimize.minimize(loss, np.log([1.0, 1.0]), method="BFGS")
    logs = found.x.detach()
    spread = np.sqrt(np.diag(np.linalg.inv(pb.func.hessian(loss)(logs).numpy())))
    for name, value, deviation, true in zip(("wander", "noise"), np.exp(logs.numpy()), spread, TRUE, strict=True):
        print(f"{name:<7} {value:.3f}, within {100 * deviation:.0f} %   (true: {true})")
        assert abs(np.log(value / true)) < 4 * deviation

    predictions, _ = filtered(logs)
    plt.plot(MEASURED, ".", color="grey", label="measured")
    plt.plot(LEVEL, label="level")
    plt.plot(np.arange(1, 80), predictions.numpy(), label="predicted")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
