"""Newton's method without a Hessian
====================================

Minimise with Newton's method, and never form the Hessian: products with it are enough.

SciPy's Newton-CG and trust-region methods ask for the gradient (`jac`) and for the product of the Hessian with a vector
(`hessp`). At each point they ask for many products, so the function is evaluated and its gradient recorded once there,
by `pb.func.hvp_fn`, and every product is one sweep over the record. The surface is a membrane spanned over a bent
frame: its area is to be the smallest, and the unknowns are its heights at the points of a grid.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import pullback as pb

SIZE = 14


def frame():
    """The heights at the edge of the grid; zero inside."""
    t = np.linspace(0.0, np.pi, SIZE + 2)
    heights = np.zeros((SIZE + 2, SIZE + 2))
    heights[0], heights[-1], heights[:, 0], heights[:, -1] = np.sin(t), np.sin(t), -np.sin(t), -np.sin(t)
    return heights


def area(inner):
    """The area of the membrane with these heights inside the frame, written into an array."""
    h = pb.tensor(frame())
    h[1:-1, 1:-1] = inner.reshape((SIZE, SIZE))
    across, along = (h[:, 1:] - h[:, :-1])[1:], (h[1:] - h[:-1])[:, 1:]
    width = np.pi / (SIZE + 1)
    return width * pb.sqrt(width**2 + across**2 + along**2).sum()


class Curvature:
    """Gradients and Hessian products at the latest point, which is linearised when it is seen first."""

    def __init__(self, function):
        self.function, self.point, self.points, self.products = function, None, 0, 0

    def at(self, x):
        """Linearise the gradient at `x`, unless that was done last."""
        if self.point is None or not np.array_equal(x, self.point):
            self.point = np.array(x)
            self.points += 1
            self.gradient, self.product = pb.func.hvp_fn(self.function, pb.asarray(self.point))
        return self

    def jac(self, x):
        """The gradient."""
        return self.at(x).gradient.numpy()

    def hessp(self, x, direction):
        """The Hessian times a direction."""
        self.products += 1
        return self.at(x).product(pb.asarray(direction)).numpy()


def main():
    """Compare a method that only has gradients with two that have products."""
    value = lambda x: area(pb.asarray(x)).item()
    start = np.zeros(SIZE * SIZE)
    areas = {}
    for method in ("L-BFGS-B", "Newton-CG", "trust-ncg"):
        curvature = Curvature(area)
        uses_products = method != "L-BFGS-B"
        found = minimize(
            value, start, jac=curvature.jac, hessp=curvature.hessp if uses_products else None, method=method,
            options={"maxiter": 400},
        )  # fmt: skip
        slope = np.abs(curvature.jac(found.x)).max()
        areas[method] = found.fun
        print(f"{method:9s}  {found.nit:3d} iterations, {curvature.points:3d} gradients,"
              f" {curvature.products:4d} products   area {found.fun:.8f}   largest slope {slope:.1e}")  # fmt: skip
        assert slope < (1e-3 if method == "L-BFGS-B" else 1e-4)
    assert max(areas.values()) - min(areas.values()) < 1e-5

    # A product is what the whole matrix would have given.
    point, direction = pb.asarray(found.x), pb.asarray(np.random.default_rng(0).standard_normal(SIZE * SIZE))
    whole = pb.func.hessian(area)(point)
    difference = pb.abs(whole @ direction - pb.func.hvp(area, (point,), (direction,))[1]).max().item()
    print(f"a product with the whole Hessian of {whole.shape[0]} rows differs by {difference:.1e}")
    assert difference < 1e-10

    membrane = frame()
    membrane[1:-1, 1:-1] = found.x.reshape((SIZE, SIZE))
    plt.contourf(membrane, levels=20, cmap="viridis")
    plt.colorbar(label="height of the membrane")
    plt.show()


if __name__ == "__main__":
    main()
