"""Derivatives of your own
==========================

Teach the tape a derivative of its own with `autograd.Function`.

`LogCosh` computes `log(cosh(x))` without overflow and gives its derivative directly. `RootOf` finds a root by Newton's
method and differentiates the *solution* by the implicit function theorem: the iterations never reach the tape. Both
backward passes are written with tensors, so second derivatives come for free.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.autograd import Function, gradcheck, gradgradcheck


class LogCosh(Function):
    """`log(cosh(x))`, accurate for large `x`, where `cosh` itself would overflow."""

    @staticmethod
    def forward(ctx, x):
        """Evaluate; the derivative needs x alone."""
        ctx.save_for_backward(x)
        size = pb.abs(x)
        return size + pb.log1p(pb.exp(-2.0 * size)) - np.log(2.0)

    @staticmethod
    def backward(ctx, g):
        """The derivative is tanh."""
        (x,) = ctx.saved_tensors
        return g * pb.tanh(x)


class RootOf(Function):
    """The positive root `r` of `r**3 + a * r = b`, elementwise, for positive `a` and `b`."""

    @staticmethod
    def forward(a, b):
        """Newton's method, which nobody has to differentiate."""
        r = b / (1.0 + a)
        for _ in range(50):
            r = r - (r**3 + a * r - b) / (3.0 * r**2 + a)
        return r

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep what the implicit function theorem reads."""
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        """From `(3 r**2 + a) dr + r da = db`."""
        a, r = ctx.saved_tensors
        g_b = g / (3.0 * r**2 + a)
        return -g_b * r, g_b


def main():
    """Use both, and check them to second order."""
    np.set_printoptions(precision=4, suppress=True)
    x = pb.tensor([-800.0, -1.0, 0.5, 800.0], requires_grad=True)
    y = LogCosh.apply(x)
    y.sum().backward()
    print("log(cosh(x))  ", y.detach().numpy())
    print("derivative    ", x.grad.numpy())
    assert np.allclose(x.grad.numpy(), np.tanh([-800.0, -1.0, 0.5, 800.0]))

    a = pb.tensor([1.0, 2.0, 0.5], requires_grad=True)
    b = pb.tensor([2.0, 3.0, 4.0], requires_grad=True)
    r = RootOf.apply(a, b)
    print("roots         ", r.detach().numpy())
    print("equation left ", (r**3 + a * r - b).detach().numpy())
    assert pb.abs(r**3 + a * r - b).max().item() < 1e-12

    small = pb.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    assert gradcheck(LogCosh.apply, (small,)) and gradgradcheck(LogCosh.apply, (small,))
    assert gradcheck(RootOf.apply, (a, b)) and gradgradcheck(RootOf.apply, (a, b))
    print("first and second derivatives agree with finite differences")

    grid = pb.linspace(-4.0, 4.0, 200, requires_grad=True)
    value = LogCosh.apply(grid)
    (slope,) = pb.autograd.grad(value.sum(), grid)
    plt.plot(grid.detach().numpy(), value.detach().numpy(), label="log cosh x")
    plt.plot(grid.detach().numpy(), slope.numpy(), label="its derivative")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
