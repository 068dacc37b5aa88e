"""How a tax moves an equilibrium
================================

Prices at which three markets clear, as the root of excess demand, and what a tax on one good does to all of them.

`root` finds the prices. Their derivative by the tax is one linear system; so is that of the revenue, which `minimize`
uses to find the tax that brings most: a root inside of an optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize

SHARES = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])  # of the incomes of three households
ELASTICITY = np.array([0.8, 0.5, 0.3])  # of supply
INCOME = np.array([100.0, 80.0, 120.0])


def prices(tax):
    """What consumers pay, with a tax on the first good, a share of its price."""
    rates = pb.stack([tax, tax * 0, tax * 0])

    def excess(logs):
        p = pb.exp(logs)
        demand = (SHARES * INCOME[:, None]).sum(axis=0) / p
        supply = 10 * (p * (1 - rates)) ** ELASTICITY
        return pb.log(demand) - pb.log(supply)

    return pb.exp(optimize.root(excess, np.zeros(3), tol=1e-12).x)


def revenue(tax):
    """Of the tax."""
    p = prices(tax)[0]
    return tax * p * 10 * (p * (1 - tax)) ** ELASTICITY[0]


def welfare(tax):
    """The loss of consumers, in logarithms of prices, against what the state gains."""
    return (np.array([0.4, 0.3, 0.3]) * pb.log(prices(tax))).sum() - 0.004 * revenue(tax)


def main():
    """Differentiate the equilibrium, and find the best tax."""
    tax = pb.tensor(0.2)
    slopes = pb.func.jacfwd(prices)(tax).numpy()
    print("prices", np.round(prices(tax).numpy(), 3), "move by", np.round(slopes, 3))
    step = (prices(tax + 1e-5) - prices(tax - 1e-5)).numpy() / 2e-5
    np.testing.assert_allclose(slopes, step, rtol=1e-5, atol=1e-8)
    best = optimize.minimize(lambda t: welfare(t[0]), [0.2], bounds=[(0.0, 0.9)]).x.detach().numpy()
    print(f"the best tax is {100 * best[0]:.1f} %")
    assert abs(pb.func.grad(welfare)(pb.tensor(best[0])).item()) < 1e-4

    taxes = np.linspace(0.01, 0.9, 40)
    plt.plot(taxes, [welfare(pb.tensor(t)).item() for t in taxes])
    plt.plot(best, [welfare(pb.tensor(best[0])).item()], "o")
    plt.xlabel("tax")
    plt.ylabel("loss")
    plt.show()


if __name__ == "__main__":
    main()
