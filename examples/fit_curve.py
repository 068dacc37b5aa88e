"""Fit a curve by gradient descent
==================================

Fit a curve by gradient descent, updating the parameters in place under `no_grad`.

The data follow `a * exp(-k t) + c` with noise. The parameters are leaves; an update writes into them, so the same
three tensors serve all iterations, and `no_grad` keeps the updates themselves off the tape.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


def model(t, amplitude, rate, offset):
    """An exponential decay."""
    return amplitude * pb.exp(-rate * t) + offset


def main():
    """Fit, and show the loss on the way."""
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 4.0, 60)
    truth = {"amplitude": 2.5, "rate": 1.3, "offset": 0.5}
    noisy = truth["amplitude"] * np.exp(-truth["rate"] * times) + truth["offset"] + 0.02 * rng.standard_normal(60)

    t, y = pb.asarray(times), pb.asarray(noisy)
    parameters = {name: pb.tensor(1.0, requires_grad=True) for name in truth}
    for iteration in range(601):
        residual = model(t, **parameters) - y
        loss = (residual * residual).mean()
        loss.backward()
        with pb.no_grad():
            for parameter in parameters.values():
                parameter -= 0.2 * parameter.grad
                parameter.grad = None
        if iteration % 120 == 0:
            print(f"iteration {iteration:3d}   loss {loss.item():.3e}")

    for name, parameter in parameters.items():
        print(f"{name:10s} {parameter.item():6.3f}   (true value {truth[name]})")
        assert abs(parameter.item() - truth[name]) < 0.05

    plt.plot(times, noisy, "o", ms=3, label="data")
    plt.plot(times, model(t, **parameters).detach().numpy(), label="fit")
    plt.xlabel("t")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
