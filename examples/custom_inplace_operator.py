"""An operator that writes its argument
=======================================

An operator that writes its argument, and what Pullback makes sure of.

The schema says what is written. So the version counter moves, a value that backward still needs is kept (or its loss
is an error, under the strict policy), a leaf is refused, and an argument that is not declared cannot be written at all.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


@pb.library.custom_op("examples::normalize_", mutates_args=("x",), tags="inplace")
def normalize_(x: np.ndarray, eps: float = 1e-12) -> np.ndarray:
    """Divide every row by its length, in place."""
    x /= np.sqrt((x * x).sum(axis=-1, keepdims=True)) + eps
    return x


@pb.library.custom_op("examples::sneaky", mutates_args=())
def sneaky(x: np.ndarray) -> np.ndarray:
    """Writes its argument without saying so."""
    x += 1
    return x.copy()


def refused(action, *args):
    """The first line of the error that an action ends with."""
    try:
        action(*args)
    except (RuntimeError, ValueError) as error:
        return str(error).splitlines()[0]
    raise AssertionError("this should have been refused")


def main():
    """Each promise once."""
    rows = pb.tensor([[3.0, 4.0], [6.0, 8.0]])
    print("returns its argument:", normalize_(rows) is rows, rows.tolist(), "version", rows._version)
    strided = pb.ones((2, 4))
    normalize_(strided[:, ::2])
    print("a view is written through:", strided.tolist())

    leaf = pb.ones((1, 2)).requires_grad_()
    print("a leaf:", refused(normalize_, leaf))
    hidden = leaf * 2
    squared = hidden * hidden
    with pb.no_grad():
        normalize_(hidden)
    squared.sum().backward()
    print("a saved value is kept:", leaf.grad.tolist(), "though it is now", hidden.tolist())
    squared = hidden * hidden
    with pb.no_grad(), pb.autograd.overwrite_policy("raise"):
        normalize_(hidden)
    print("under the strict policy:", refused(squared.sum().backward))
    print("an undeclared write:", refused(sneaky, pb.ones(2)))
    tests = ("test_schema", "test_determinism")
    before = np.random.default_rng(0).normal(size=(30, 2))
    after = normalize_(pb.tensor(before)).numpy()
    plt.figure(figsize=(4, 4))
    plt.quiver(*before.T, *(after - before).T, angles="xy", scale_units="xy", scale=1, width=0.003)
    plt.plot(*after.T, "o", ms=4, label="rows, after it was written")
    plt.legend()
    plt.show()
    print("opcheck:", pb.library.opcheck(normalize_, (pb.ones((2, 3)),), test_utils=tests))


if __name__ == "__main__":
    main()
