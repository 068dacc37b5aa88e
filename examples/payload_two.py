"""Two arrays in one tensor
===========================

A payload of two arrays of one shape: every operator runs on both.

It is the smallest payload there is, and the one to test others against: whatever is computed with it equals two runs
with plain tensors. Values with their standard deviation, and numbers in a second precision, begin like this.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


class Two(pb.Payload, parts=("a", "b")):
    """Two arrays of one shape."""

    default = "each"


if __name__ == "__main__":
    # %%
    # A tensor on such a payload is used as any other, and its gradient is of the same kind.

    x = pb.wrap(Two(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))).requires_grad_()

    def loss(x):
        """Any program."""
        y = pb.sin(x) * x
        y[1:] *= 2
        return y.sum()

    loss(x).backward()
    print("gradient ", x.grad)

    # %%
    # Two runs with plain tensors give the same.

    for part in ("a", "b"):
        plain = pb.tensor(getattr(x.detach().payload, part), requires_grad=True)
        loss(plain).backward()
        np.testing.assert_allclose(getattr(x.grad.payload, part), plain.grad.numpy())
        print(f"part {part}   ", plain.grad.numpy())

    # %%
    # Transforms, batches and compiled functions take it, too.

    rows = pb.wrap(Two(np.arange(6.0).reshape(2, 3), np.ones((2, 3))))
    print("by rows  ", pb.vmap(pb.grad(loss))(rows))
    print("compiled ", pb.grad(pb.compile(loss))(x.detach()))

    # %%
    # Both curves of a function come from one call.

    t = np.linspace(0, 6, 100)
    curves = (pb.sin(pb.wrap(Two(t, 1.1 * t))) * pb.wrap(Two(t, t))).payload
    plt.plot(t, curves.a, label="part a")
    plt.plot(t, curves.b, label="part b")
    plt.legend()
    plt.show()
