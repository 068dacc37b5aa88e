"""Low rank plus diagonal
=========================

A matrix ``U Vᵀ + diag(d)`` that is never written out: products, solutions and determinants cost what its parts do.

Rules for tensors (``on="tensors"``) are ordinary differentiable functions of the parts, so that gradients arrive in
``U``, ``V`` and ``d`` and no matrix of all elements appears in the backward pass either.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


class Parts(pb.Payload, parts=("U", "V", "d")):
    """Gradients of a `LowRank`: by its parts. They add up part by part, as `LowRank` matrices do not."""

    default = "each"

    @property
    def shape(self):
        """That of the matrix."""
        return (self.d.shape[0], self.d.shape[0])


class LowRank(pb.Payload, parts=("U", "V", "d")):
    """The matrix `U @ V.T + diag(d)`."""

    default = "refuse"

    @property
    def shape(self):
        """That of the matrix."""
        return (self.d.shape[0], self.d.shape[0])

    def as_gradient(self, root):
        """Gradients are not of low rank: they are kept by parts."""
        return Parts(self.U, self.V, self.d)


def is_low_rank(x):
    """Is this a tensor on such a matrix?"""
    return isinstance(x, pb.Tensor) and isinstance(x._data, LowRank)


def column(d, b):
    """The diagonal as it multiplies rows of a vector or a matrix."""
    return d[:, None] if b.ndim == 2 else d


@LowRank.rule("copy")
def copy(call, x, **params):
    """Part by part."""
    return x.with_parts(*[call(part) for part in x.part_values()])


@LowRank.rule("matmul", on="tensors")
def matmul(call, a, b):
    """A product with a plain matrix or vector, from either side."""
    if is_low_rank(a) and is_low_rank(b):
        return NotImplemented
    if is_low_rank(b):
        return (matmul(call, b.mT, a.mT)).mT if a.ndim > 1 else matmul(call, b.mT, a)
    U, V, d = pb.parts(a)
    return U @ (V.T @ b) + column(d, b) * b


@LowRank.rule("permute_dims", on="tensors")
def transpose(call, x, axes):
    """The transpose exchanges `U` and `V`."""
    U, V, d = pb.parts(x)
    return pb.wrap(LowRank(V, U, d)) if tuple(axes) == (1, 0) else x


@LowRank.rule("diagonal", on="tensors")
def diagonal(call, x, offset, **params):
    """The elements of the diagonal, and with them the trace."""
    U, V, d = pb.parts(x)
    if offset:
        raise ValueError("only the main diagonal of a LowRank is known")
    return (U * V).sum(axis=1) + d


@LowRank.rule("sum", on="tensors")
def total(call, x, axis, keepdims=False, **params):
    """Sums of rows, of columns, or of all elements."""
    U, V, d = pb.parts(x)
    axes = (0, 1) if axis is None else tuple(axis)
    if axes == (0, 1):
        out = (U.sum(axis=0) * V.sum(axis=0)).sum() + d.sum()
        return out.reshape((1, 1)) if keepdims else out
    out = V @ U.sum(axis=0) + d if axes == (0,) else U @ V.sum(axis=0) + d
    return out.reshape((1, -1) if axes == (0,) else (-1, 1)) if keepdims else out


@LowRank.rule("linalg.solve", on="tensors")
def solve(call, a, b, **params):
    """By Woodbury's formula: systems with as many unknowns as the rank."""
    U, V, d = pb.parts(a)
    scaled = b / column(d, b)
    small = pb.eye(U.shape[1]) + V.T @ (U / d[:, None])
    return scaled - (U / d[:, None]) @ pb.linalg.solve(small, V.T @ scaled)


@LowRank.rule("linalg.slogdet", on="tensors")
def slogdet(call, a):
    """By the determinant lemma."""
    U, V, d = pb.parts(a)
    sign, logarithm = pb.linalg.slogdet(pb.eye(U.shape[1]) + V.T @ (U / d[:, None]))
    return sign * pb.sign(d).prod(), logarithm + pb.log(pb.abs(d)).sum()


def todense(x):
    """The matrix written out."""
    U, V, d = pb.parts(x)
    return U @ V.T + pb.diag(d)


if __name__ == "__main__":
    # %%
    # The likelihood of a Gaussian whose covariance has a few factors: 5000 variables, and no matrix of 5000 by 5000.

    random = np.random.default_rng(0)
    n, rank = 5000, 3
    U = pb.tensor(random.standard_normal((n, rank)), requires_grad=True)
    d = pb.tensor(1 + random.random(n), requires_grad=True)
    data = pb.tensor(random.standard_normal(n))

    def loss(U, d):
        """Minus the logarithm of the density of the data, without constants."""
        covariance = pb.wrap(LowRank(U, U, d))
        return 0.5 * (data @ pb.linalg.solve(covariance, data) + pb.linalg.slogdet(covariance)[1])

    value = loss(U, d)
    value.backward()
    print("loss      ", float(value.detach()))
    print("gradients ", U.grad.shape, d.grad.shape)

    # %%
    # A small one, written out.

    small = pb.wrap(LowRank(U.detach()[:4], U.detach()[:4], d.detach()[:4]))
    dense = todense(small).numpy()
    np.testing.assert_allclose(pb.linalg.slogdet(small)[1].numpy(), np.linalg.slogdet(dense)[1], rtol=1e-12)
    print("trace     ", pb.trace(small), np.trace(dense))

    # %%
    # What needs all elements is refused.

    try:
        pb.exp(small)
    except pb.AutogradError as error:
        print("refused   ", error.what)

    # %%
    # What the matrix of the first variables looks like.

    plt.imshow(todense(pb.wrap(LowRank(U.detach()[:40], U.detach()[:40], d.detach()[:40]))).numpy(), cmap="coolwarm")
    plt.colorbar(label="covariance")
    plt.show()
