"""Every declared operator, traced and compiled, equals itself run eagerly: results, aliasing and gradients, to the bit.

The cases are those of `test_declared_ops.py`. A compiled function runs the same kernels in the same order, so nothing
may differ, not even in the last place; gradients of a few operators excepted, which are named.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import SparseGrad
from pullback.eager.record import apply
from pullback.errors import AutogradError, DynamicShapeError
from pullback.tensors.tensor import Tensor
from tests.operators.declared import has_rule, is_floating, random_like
from tests.operators.forward import listed
from tests.operators.test_declared_ops import CASES, SEED, copied

VALUES_DECIDE_THE_SHAPE = {"_nonzero"}
# Their rules compute in another order where they see that they have NumPy arrays: equal up to rounding.
SHORTER_ON_ARRAYS = {
    "prod", "cumprod", "logcumsumexp", "_linalg_cholesky", "_normalize", "_normalize_rms", "_attention",
    "special.hankel1",
}
# Random numbers are compared in tests/aot; crossings take levels, which exist inside of vmap only.
TRACED = [case for case in CASES if case.values[0].family not in ("random", "crossing")]


def given(op, sample):
    """Fresh arguments: tensors that require grad where there is a rule, other arrays as constants."""
    inputs = [copied(x) if isinstance(x, np.ndarray) else x for x in sample.inputs()]
    made = []
    for k, x in enumerate(inputs):
        if isinstance(x, np.ndarray):
            tensor = pb.asarray(x)
            if is_floating(x) and has_rule(op, k) and op.is_differentiable:
                tensor.requires_grad_()
            made.append(tensor)
        else:
            made.append(x)
    return made


def gradients(results, arguments):
    roots = [out for out in results if isinstance(out, Tensor) and out.requires_grad]
    leaves = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
    if not roots or not leaves:
        return []
    seeds = [pb.asarray(random_like(np.empty(out.shape, out.dtype), SEED + k)) for k, out in enumerate(roots)]
    found = pb.autograd.grad(roots, leaves, seeds, allow_unused=True)
    return [pb.asarray(g.to_dense()) if isinstance(g, SparseGrad) else g for g in found]


def assert_equal(got, expected, what, exactly=True):
    assert (got is None) == (expected is None), what
    if got is None:
        return
    mine, theirs = (x.detach().numpy() for x in (got, expected))
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), what
    if exactly:
        np.testing.assert_array_equal(mine, theirs, err_msg=what)
    else:
        precision = np.finfo(theirs.dtype).eps
        np.testing.assert_allclose(mine, theirs, rtol=200 * precision, atol=20 * precision, err_msg=what)


@pytest.mark.parametrize("op, sample", TRACED)
def test_compiled_equals_eager(op, sample):
    def function(*operands):
        return apply(op, operands, sample.params)

    compiled = pb.compile(function, fallback="raise", backend="numpy")  # equal to the bit; native code is near
    if op.name in VALUES_DECIDE_THE_SHAPE:
        with pytest.raises(DynamicShapeError):
            pb.compile(function, fallback="raise", live=False)(*given(op, sample))
    mine, theirs = given(op, sample), given(op, sample)
    got, expected = listed(compiled(*mine)), listed(function(*theirs))
    assert len(got) == len(expected)
    for position, (one, other) in enumerate(zip(got, expected, strict=True)):
        assert_equal(one, other, f"result {position}")
        assert one.requires_grad == other.requires_grad
        for k, (x, y) in enumerate(zip(mine, theirs, strict=True)):
            if isinstance(x, Tensor):
                shared = np.shares_memory(one._data, x._data)
                assert shared == np.shares_memory(other._data, y._data), f"result {position} and operand {k}"
    if "traced derivative" in op.refused:
        with pytest.raises(AutogradError, match="compiled function"):
            gradients(got, mine)
        return
    for position, (one, other) in enumerate(zip(gradients(got, mine), gradients(expected, theirs), strict=True)):
        assert_equal(one, other, f"gradient {position}", op.name not in SHORTER_ON_ARRAYS)
