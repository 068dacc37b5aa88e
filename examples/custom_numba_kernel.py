"""A Numba kernel as an operator
================================

A Numba kernel as an operator: the value and the gradient of Rosenbrock's function, compiled.

Without Numba the same two functions run as plain Python.
"""

import importlib.util

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

if importlib.util.find_spec("numba") is not None:
    from numba import njit
else:
    print("Numba is not installed; the kernels run as plain Python.")

    def njit(function):
        """The function as it is."""
        return function


@njit
def rosen_value(x):
    """The sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2."""
    total = 0.0
    for i in range(x.size - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


@njit
def rosen_slope(x):
    """Its gradient."""
    out = np.zeros(x.size)
    for i in range(x.size - 1):
        gap = x[i + 1] - x[i] ** 2
        out[i] += -400.0 * x[i] * gap - 2.0 * (1.0 - x[i])
        out[i + 1] += 200.0 * gap
    return out


@pb.library.primitive(name="examples::rosen")
def rosen(x):
    """Rosenbrock's function."""
    return rosen_value(x)


@pb.library.primitive(name="examples::rosen_der")
def rosen_der(x):
    """The gradient of Rosenbrock's function."""
    return rosen_slope(x)


rosen.defvjp(lambda ans, x: lambda g: g * rosen_der(x))


def main():
    """Check the gradient, then walk downhill."""
    x = pb.tensor([0.5, 1.5, -0.3], requires_grad=True)
    print("gradcheck:", pb.autograd.gradcheck(rosen, (x,)))
    at = pb.tensor([0.5, 0.5, 0.5])
    values = []
    for _ in range(5000):
        slope, value = pb.func.grad_and_value(rosen)(at)
        values.append(value.item())
        at = at - 0.001 * slope
    print("minimum near", np.round(at.numpy(), 2))

    plt.loglog(values)
    plt.xlabel("step")
    plt.ylabel("value")
    plt.show()


if __name__ == "__main__":
    main()
