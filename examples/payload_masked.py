"""Arrays with missing values
============================

Values and a mask that says which of them are missing: reductions skip these, and their gradient is 0.

Elementwise functions combine masks, sums leave out what is masked. A mean of what is there is not the mean that the
operator means, so it is given as a rule for tensors, which is differentiated as it is written.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


class Masked(pb.Payload, parts=("values", "mask")):
    """Values, and True where they are missing."""

    default = "refuse"

    def take_gradient(self, gradient, root):
        """A gradient is 0 where its value is missing, and has its mask."""
        values = gradient.values if isinstance(gradient, Masked) else gradient
        return Masked(self.run("where", self.mask, 0, values), self.mask)

    def __format_parts__(self):
        return str(np.ma.array(self.values, mask=self.mask))


def values_of(x):
    """The values of an operand."""
    return x.values if isinstance(x, Masked) else x


@Masked.rule("elementwise")
def elementwise(call, *operands, **params):
    """What depends on a missing value is missing."""
    values = call(*map(values_of, operands))
    missing = False
    for x in operands:
        if isinstance(x, Masked):
            missing = call.run("logical_or", x.mask, missing)
    return Masked(values, call.run("broadcast_to", missing, shape=tuple(values.shape)))


@Masked.rule("copy", "view", "index", "concat", "stack")
def moves(call, *operands, **params):
    """Values and mask go together; a cast is one of values only."""
    values = call(*map(values_of, operands))
    if call.op.flow == "casts":
        return Masked(values, operands[0].mask)
    masks = [x.mask if isinstance(x, Masked) else x for x in operands]
    return Masked(values, call(*masks))


@Masked.rule("write")
def writes(call, x, y, *places, **params):
    """A value that is written is there, unless it is missing itself."""
    mask = y.mask if isinstance(y, Masked) else np.zeros((), bool)
    return Masked(call(x.values, values_of(y), *places), call(x.mask, mask, *places))


@Masked.rule("sum")
def total(call, x, axis, keepdims=False, **params):
    """The sum of what is there; missing if nothing is."""
    out = call(call.run("where", x.mask, 0, x.values))
    return Masked(out, call.run("all", x.mask, axis=axis, keepdims=keepdims))


def filled(x, value):
    """A plain tensor with `value` where something is missing."""
    values, mask = pb.parts(x)
    return pb.where(mask, value, values)


def count(x, **axes):
    """How many values are there."""
    return pb.sum(~pb.parts(x)[1], **axes)


@Masked.rule("mean", on="tensors")
def mean(call, x, axis, keepdims=False, **params):
    """The mean of what is there."""
    return x.sum(axis=axis, keepdims=keepdims) / count(x, axis=axis, keepdims=keepdims)


@Masked.rule("amax", "max_with_indices", "argmax", on="tensors")
def largest(call, x, **params):
    """The largest of what is there, as a plain tensor."""
    return call(filled(x, -np.inf))


@Masked.rule("amin", "min_with_indices", "argmin", on="tensors")
def smallest(call, x, **params):
    """The smallest of what is there, as a plain tensor."""
    return call(filled(x, np.inf))


@Masked.rule("softmax", on="tensors")
def softmax(call, x, axis):
    """Shares among what is there."""
    return pb.wrap(Masked(pb.softmax(filled(x, -np.inf), axis), pb.parts(x)[1]))


if __name__ == "__main__":
    # %%
    # A regression with missing measurements.

    random = np.random.default_rng(0)
    time = np.linspace(0, 1, 8)
    measured = 3 * time + 0.1 * random.standard_normal(8)
    missing = np.array([False, False, True, False, False, True, False, False])
    measured[missing] = np.nan
    data = pb.wrap(Masked(measured, missing))

    def loss(slope):
        """The mean of the squared differences that are known."""
        return filled((data - slope * pb.tensor(time)) ** 2, 0.0).sum() / count(data)

    slope = pb.tensor(0.0, requires_grad=True)
    loss(slope).backward()
    print("gradient of the slope", slope.grad)

    # %%
    # The same as NumPy's masked arrays, with derivatives.

    known = np.ma.array(measured, mask=missing)
    print("mean", data.mean(), known.mean())
    print("max ", data.max(), known.max())
    x = data.requires_grad_()
    (x * x).mean().backward()
    print("gradient of the mean of squares", x.grad)
    assert np.all(x.grad.payload.values[missing] == 0)

    # %%
    # The line that a Newton step finds by what is known: the loss is a parabola.

    best = -slope.grad.payload.values / (2 * np.mean(time[~missing] ** 2))
    plt.plot(time, measured, ".", label="measured")
    plt.plot(time, best * time, label=f"slope {best:.2f}")
    plt.vlines(time[missing], 0, 3, color="lightgray", ls=":", label="missing")
    plt.legend()
    plt.show()
