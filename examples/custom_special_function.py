"""A special function from its derivative
=========================================

A special function from its partial derivatives: every order, both modes, vmap and shapes, in two lines.

The Bessel function `jv` has a derivative that is made of itself, so giving it once gives all orders.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.special as sp

import pullback as pb


@pb.library.primitive(elementwise=True, name="examples::jv")
def jv(n, x):
    """The Bessel function of the first kind, of order `n`."""
    return sp.jv(n, x)


jv.defpartials(None, lambda ans, n, x: 0.5 * (jv(n - 1, x) - jv(n + 1, x)))


def main():
    """Derivatives of several kinds, and a zero of the function found by Newton's method."""
    x = pb.tensor([0.5, 1.0, 4.0], requires_grad=True)
    print("gradcheck:", pb.autograd.gradcheck(lambda v: jv(2, v), (x,), check_forward_ad=True))
    print("gradgradcheck:", pb.autograd.gradgradcheck(lambda v: jv(2, v), (x,)))

    x = x.detach()
    value, slope = pb.func.jvp(lambda v: jv(0, v), (x,), (pb.ones(3),))
    print("J0' = -J1:", np.allclose(slope.numpy(), -sp.j1(x.numpy())))
    per_order = pb.func.vmap(lambda n: jv(n, x))(pb.arange(3.0))
    print("orders 0, 1, 2 at", x.tolist(), "->", per_order.shape)
    print("without running it:", jv.specs(0, pb.ones((2, 1), dtype=pb.float32)))

    zero = pb.tensor(2.0)
    for _ in range(5):
        value, slope = pb.func.jvp(lambda v: jv(0, v), (zero,), (pb.tensor(1.0),))
        zero = zero - value / slope
    print(f"first zero of J0: {zero.item():.10f} (SciPy: {sp.jn_zeros(0, 1)[0]:.10f})")

    grid = pb.linspace(0.0, 12.0, 300)
    for n in range(3):
        value, slope = pb.func.jvp(lambda v, n=n: jv(n, v), (grid,), (pb.ones(300),))
        (line,) = plt.plot(grid.numpy(), value.numpy(), label=f"J{n}")
        plt.plot(grid.numpy(), slope.numpy(), ":", color=line.get_color())
    plt.plot(zero.item(), 0.0, "ko", label="found zero")
    plt.legend(title="dotted: derivatives")
    plt.show()


if __name__ == "__main__":
    main()
