"""Differentiate a NumPy program as it is
=========================================

Differentiate a NumPy program that has never heard of derivatives.

Below is a small heat simulation as one finds it in a script: it makes arrays with `np.zeros`, fills them element by
element, calls helpers and `math`, and keeps a class for the rod. Nothing in it mentions Pullback. `pb.func.adapt` runs
it with tensors, and a few Gauss-Newton steps find the source of heat that makes the measured temperatures.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

CELLS, STEPS = 24, 60
SENSORS = np.array([3, 9, 15, 21])

# The program, written for NumPy ---------------------------------------------------------------------------------------


def source(position, spread, power):
    """Heat per step and cell: a bell curve around `position`."""
    heat = np.zeros(CELLS)
    for i in range(CELLS):
        heat[i] = power * math.exp(-((i - position) ** 2) / spread)
    return heat


class Rod:
    """A rod that is kept cold at both ends."""

    def __init__(self, conductivity):
        self.conductivity = conductivity

    def step(self, temperature, heat):
        """The temperatures one step later."""
        new = np.empty_like(temperature)
        new[0] = new[-1] = 0.0
        new[1:-1] = temperature[1:-1] + heat[1:-1]
        new[1:-1] += self.conductivity * (temperature[2:] - 2 * temperature[1:-1] + temperature[:-2])
        return new

    def simulate(self, parameters):
        """What the sensors read in the end."""
        position, spread, power = parameters
        temperature = np.zeros(CELLS)
        heat = source(position, spread, power)
        for _ in range(STEPS):
            temperature = self.step(temperature, heat)
        return temperature[SENSORS]


# Its derivative -------------------------------------------------------------------------------------------------------


def main():
    """Compare one gradient with finite differences, then find the source."""
    rod = Rod(conductivity=0.3)
    measured = rod.simulate(np.array([14.0, 9.0, 0.2]))

    def misfit(parameters):
        return np.sum((rod.simulate(parameters) - measured) ** 2)

    differentiable = pb.func.adapt(misfit)
    guess = np.array([11.0, 12.0, 0.15])
    parameters = pb.tensor(guess, requires_grad=True)
    differentiable(parameters).backward()
    for number, name in enumerate(["position", "spread", "power"]):
        step = np.zeros(3)
        step[number] = 1e-6
        numeric = (misfit(guess + step) - misfit(guess - step)) / 2e-6
        gradient = parameters.grad[number].item()
        print(f"d misfit / d {name:9s}{gradient:+13.6f}   (finite difference {numeric:+13.6f})")
        assert abs(gradient - numeric) < 1e-5 * max(1.0, abs(numeric))

    # Gauss-Newton: the Jacobian of the sensors, by one forward pass for all three parameters.
    jacobian = pb.func.jacfwd(pb.func.adapt(rod.simulate))
    for _ in range(10):
        matrix = jacobian(pb.tensor(guess)).numpy()
        step = np.linalg.lstsq(matrix, measured - rod.simulate(guess))[0]
        while misfit(guess + step) > misfit(guess) > 1e-20:
            step /= 2
        guess = guess + step
    position, spread, power = guess
    print(f"found: position {position:.4f}, spread {spread:.4f}, power {power:.4f}   (true: 14, 9, 0.2)")
    assert np.allclose(guess, [14.0, 9.0, 0.2], atol=1e-6)

    plt.plot(source(14.0, 9.0, 0.2), "k:", label="true source of heat")
    plt.plot(source(*guess), label="found")
    plt.plot(SENSORS, np.zeros(4), "r^", label="thermometers")
    plt.xlabel("cell")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
