"""Design a pipe through a root
==============================

Choose the diameter of a pipe so that a flow is cheapest, where its friction is the root of an equation.

Colebrook's equation gives the friction of a rough pipe only implicitly. `brentq` solves it; the derivative of its root
is that of the equation, so the cost has a gradient, and the best diameter one by the price of energy.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize

DENSITY, VISCOSITY, ROUGHNESS = 1000.0, 1e-3, 5e-5
FLOW, LENGTH = 0.02, 500.0  # m^3/s, m


def friction(diameter):
    """Darcy's friction factor."""
    speed = 4 * FLOW / (np.pi * diameter**2)
    reynolds = DENSITY * speed * diameter / VISCOSITY

    def colebrook(root):
        return root + 2 * pb.log(ROUGHNESS / (3.7 * diameter) + 2.51 * root / reynolds) / np.log(10)

    return 1 / optimize.brentq(colebrook, 1.0, 30.0, xtol=1e-13) ** 2


def cost(diameter, energy=0.15):
    """Of one year: steel for the pipe, and energy (per kWh) for the pump."""
    speed = 4 * FLOW / (np.pi * diameter**2)
    pressure = friction(diameter) * LENGTH / diameter * DENSITY * speed**2 / 2
    return 900 * LENGTH * diameter**1.5 / 10 + energy * 8760 * pressure * FLOW / 1000


def main():
    """Find the cheapest pipe, and how it depends on the price of energy."""

    def best(energy):
        found = optimize.minimize_scalar(
            lambda d: cost(d, energy) / 1e3, method="bounded", bounds=(0.05, 0.6), options={"xatol": 1e-9}
        )
        return found.x

    diameter, slope = pb.func.jvp(best, (pb.tensor(0.15),), (pb.tensor(1.0),))
    print(f"cheapest diameter {diameter.item() * 1000:.1f} mm, {slope.item() * 10:.2f} mm more for a cent per kWh")
    step = (best(pb.tensor(0.151)) - best(pb.tensor(0.149))).item() / 0.002
    assert abs(slope.item() - step) < 1e-3 * abs(step)

    diameters = np.linspace(0.08, 0.4, 40)
    plt.plot(diameters, [cost(pb.tensor(d)).item() for d in diameters])
    plt.plot(diameter.item(), cost(diameter).item(), "o")
    plt.xlabel("diameter (m)")
    plt.ylabel("cost per year")
    plt.show()


if __name__ == "__main__":
    main()
