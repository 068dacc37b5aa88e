"""Taylor series by one sweep
===========================

All derivatives at once: `pb.func.jet` carries a whole series through a program.

The terms of a function that has no closed form for them are compared with nested derivatives, and the partial sums are
drawn beside the function.
"""

from math import factorial

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

ORDER = 8


def function(x):
    """Something with a sine, a logarithm and a division in it."""
    return pb.sin(2 * x) / (1 + x**2) + pb.log(2 + x)


def derivatives(at):
    """The value and the derivatives up to ORDER: the series of x itself is x + t."""
    direction = (pb.tensor(1.0), *(pb.tensor(0.0) for _ in range(ORDER - 1)))
    value, series = pb.func.jet(function, (pb.tensor(at),), (direction,))
    return [value.item(), *(term.item() for term in series)]


def main():
    """Compare with nested gradients, then draw."""
    found = derivatives(0.3)
    nested = function
    for order in range(5):
        assert np.isclose(found[order], nested(pb.tensor(0.3)).item(), rtol=1e-9)
        nested = pb.func.grad(nested)
    print("derivatives at 0.3:", np.round(found, 4))

    x = np.linspace(-0.9, 1.5, 200)
    plt.plot(x, function(pb.asarray(x)).numpy(), "k", lw=2, label="function")
    for order in (1, 2, 4, 8):
        terms = [value * (x - 0.3) ** n / factorial(n) for n, value in enumerate(found[: order + 1])]
        plt.plot(x, np.sum(terms, axis=0), label=f"to order {order}")
    plt.ylim(-2.5, 2.5)
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
