"""A sparse solver with a derivative
====================================

Differentiate through SciPy's sparse solver.

`spsolve` wraps SuperLU as an operator of the matrix's values and of the right-hand side. One formula is given: the
gradient of a solution is the solution of the transposed system, which is the same operator again. Second derivatives,
forward mode and `vmap` follow from it. Then a conductivity is fitted to a temperature that was measured.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as ss
import scipy.sparse.linalg as sl

import pullback as pb


@pb.library.custom_op("examples::spsolve", mutates_args=())
def spsolve(vals: np.ndarray, row: np.ndarray, col: np.ndarray, b: np.ndarray, trans: bool = False) -> np.ndarray:
    """The solution x of A x = b, where A has the values `vals` at (row, col); of A^T x = b if `trans`."""
    matrix = ss.csc_matrix((vals, (row, col)), (b.shape[0],) * 2)
    return sl.splu(matrix).solve(b, "T" if trans else "N")


@spsolve.register_fake
def spsolve_fake(vals, row, col, b, trans):
    """The solution looks like the right-hand side."""
    return pb.empty_like(b)


def setup_context(ctx, inputs, output):
    """Keep what the formula reads."""
    vals, row, col, _, ctx.trans = inputs
    ctx.save_for_backward(vals, row, col, output)


def backward(ctx, g):
    """The adjoint solve is the same operator."""
    vals, row, col, x = ctx.saved_tensors
    adjoint = spsolve(vals, row, col, g, not ctx.trans)
    i, j = (col, row) if ctx.trans else (row, col)
    return -(adjoint[i] * x[j]), None, None, adjoint, None


spsolve.register_autograd(backward, setup_context=setup_context)


def temperature(conductivity, source):
    """Heat in a rod whose pieces conduct differently, with both ends at 0."""
    n = len(source)
    inner = conductivity[:-1] + conductivity[1:]
    vals = pb.concat([inner, -conductivity[1:-1], -conductivity[1:-1]])
    points = np.arange(n)
    row = np.concatenate([points, points[:-1], points[1:]])
    col = np.concatenate([points, points[1:], points[:-1]])
    return spsolve(vals, row, col, source)


def main():
    """Check the operator, then find a conductivity from a temperature."""
    generator = np.random.default_rng(0)
    source = pb.ones(8)
    truth = pb.asarray(1.0 + generator.random(9))
    start = pb.ones(9).requires_grad_()
    checks = pb.library.opcheck(
        spsolve, (start[1:] + 1.0, np.arange(8), np.arange(8), source), test_utils=("test_schema", "test_fake")
    )
    print("opcheck:", checks)
    print("gradcheck:", pb.autograd.gradcheck(temperature, (start, source)))
    print("gradgradcheck:", pb.autograd.gradgradcheck(temperature, (start, source)))

    measured = temperature(truth, source)
    loss = pb.func.grad_and_value(lambda c: ((temperature(c, source) - measured) ** 2).sum())
    c = pb.ones(9)
    for _ in range(300):
        gradient, value = loss(c)
        c = c - 0.02 * gradient
    print(f"misfit after fitting: {value.item():.2e}")

    plt.plot(measured.numpy(), "o", label="measured")
    plt.plot(temperature(c, source).numpy(), label="fitted")
    plt.plot(temperature(pb.ones(9), source).numpy(), ":", label="first guess")
    plt.xlabel("point of the rod")
    plt.ylabel("temperature")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
