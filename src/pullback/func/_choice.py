"""`jacobian`, which chooses its mode, and `gnvp`, products with the Gauss-Newton matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.autograd._recording import check_outputs
from pullback.core.pytree import flatten, map_leaves
from pullback.func._argnums import Argnums
from pullback.func._forward import jvp
from pullback.func._jacobian import _with_positions, hvp, jacfwd, jacrev
from pullback.func._reverse import vjp
from pullback.tensors.tensor import Tensor


def jacobian(
    function: Callable[..., Any], argnums: Argnums | None = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The Jacobian, by forward mode if the function has more outputs than inputs and by reverse mode otherwise.

    The function runs once more, on copies of its arguments, to find out how many outputs there are.

    >>> pb.func.jacobian(lambda x: x * x)(pb.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """

    @functools.wraps(function)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        copies = map_leaves(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, args)
        of_these, chosen = _with_positions("jacobian", function, argnums, copies, kwargs)
        outputs, _ = check_outputs("jacobian", of_these(*chosen), allow_integers=False)
        num_inputs = sum(leaf.size for leaf in flatten(chosen)[0])
        choice = jacfwd if num_inputs < sum(out.size for out in outputs) else jacrev
        return choice(function, argnums, chunk_size=chunk_size)(*args, **kwargs)

    return transformed


def gnvp(function: Callable[..., Any], loss: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The gradient of `loss(function(*primals))`, and the product of its Gauss-Newton matrix with `tangents`.

    The matrix is `J^T H J` with the Jacobian `J` of the function and the Hessian `H` of the loss: what remains of the
    Hessian without the curvature of the function. It is positive semidefinite if the loss is convex. Returns
    `(gradient, product)`, one entry per primal unless there is one.

    >>> square = lambda r: (r * r).sum() / 2
    >>> pb.func.gnvp(lambda x: x**2, square, (pb.tensor([1.0, 2.0]),), (pb.tensor([1.0, 1.0]),))
    (tensor([ 2., 16.]), tensor([ 4., 16.]))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"gnvp: primals must be a tuple, one entry per argument, got {type(primals).__name__}")
    _, slope = jvp(function, primals, tangents)
    output, vjp_fn = vjp(function, *primals)
    gradient, curved = hvp(loss, (output,), (slope,))
    gradients, products = vjp_fn(gradient), vjp_fn(curved)
    return (gradients[0], products[0]) if len(primals) == 1 else (gradients, products)
