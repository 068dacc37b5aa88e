"""At signed zeros, infinities, NaN, ties, branch points and the neighbours of 1, both modes have one derivative.

What that derivative is, is in `conventions` for the points that have a convention. Here every elementwise operator is
asked at every edge point, or pair of them, whether its forward rule and its reverse rule give the same.
"""

from __future__ import annotations

import numpy as np
import pytest

from pullback.core.spec import spec_of
from pullback.declare.derive import pull, push
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.payloads.evaluate import evaluate
from tests.ops.declared import is_floating

SMALLEST, STEP = np.finfo(float).tiny, np.finfo(float).eps
POINTS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 6.0, SMALLEST, STEP, 1 + STEP, 1 - STEP, np.inf, -np.inf, np.nan]
)
COMPLEX_POINTS = np.array([0j, 1, -1, 1j, -1j, 0.5 + 0.5j, -2 + 1e-9j, -2 - 1e-9j, SMALLEST, 1 + STEP])


def edge_operands(sample, points):
    """Every combination of the points in the operands that are numbers; the others stay as they are, as one element."""
    inputs = [np.asarray(x) for x in sample.inputs()]
    axes = iter(np.meshgrid(*[points for x in inputs if x.dtype.kind in "fc"], indexing="ij"))
    return tuple(next(axes) if x.dtype.kind in "fc" else x.flat[:1].reshape(()) for x in inputs)


def edge_cases(dtype):
    for op in registry.values():
        if op.family in ("elementwise", "special") and op.is_differentiable and op.num_outputs == 1:
            for sample in samples_of(op):
                arrays = [x for x in sample.inputs() if is_floating(x)]
                if arrays and {x.dtype for x in arrays} == {np.dtype(dtype)} and len(arrays) == len(op.operands):
                    yield pytest.param(op, sample, id=op.name)
                    break


def derivatives(op, sample, operands, position, cotangent, tangent):
    """What the reverse rule makes of the cotangent, and the forward rule of the tangent, at one operand."""
    needs = tuple(k == position for k in range(len(operands)))
    with np.errstate(all="ignore"):
        out = evaluate(op, operands, sample.params)
        g, t = np.full(out.shape, cotangent, out.dtype), np.full(out.shape, tangent, operands[position].dtype)
        pulled = pull(
            op, (g,), needs, operands.__getitem__, lambda k: spec_of(operands[k]), lambda _: out, sample.params
        )[position]
        pushed = push(op, operands, tuple(t if needed else None for needed in needs), out, sample.params)
    return np.broadcast_to(pulled, out.shape), np.broadcast_to(pushed, out.shape)


def has_derivative(op, position):
    """False for the orders and parameters of special functions that refuse to be differentiated."""
    rule = op.rule_for(position)
    return op.joint is not None or (rule is not None and "refused" not in rule.fn.__qualname__)


@pytest.mark.parametrize("op, sample", list(edge_cases(np.float64)))
def test_forward_and_reverse_rules_agree_at_the_edges(op, sample):
    operands = edge_operands(sample, POINTS)
    for position in range(len(operands)):
        if has_derivative(op, position):
            pulled, pushed = derivatives(op, sample, operands, position, 1.0, 1.0)
            np.testing.assert_allclose(pulled.real, pushed.real, rtol=1e-12, err_msg=f"operand {position}")


@pytest.mark.parametrize("op, sample", list(edge_cases(np.complex128)))
def test_forward_and_reverse_rules_agree_at_complex_edges(op, sample):
    """The two by two real matrix of the derivative, column by column and row by row, wherever it is finite."""
    operands = edge_operands(sample, COMPLEX_POINTS)
    for position in range(len(operands)):
        if not has_derivative(op, position):
            continue
        with np.errstate(all="ignore"):
            is_real = evaluate(op, operands, sample.params).dtype.kind == "f"
        for row, cotangent in enumerate((1.0,) if is_real else (1.0, 1j)):
            for column, tangent in enumerate((1.0, 1j)):
                pulled, pushed = derivatives(op, sample, operands, position, cotangent, tangent)
                left, right = (pulled.imag if column else pulled.real), (pushed.imag if row else pushed.real)
                known = np.isfinite(left) & np.isfinite(right)
                np.testing.assert_allclose(left[known], right[known], rtol=1e-12, atol=1e-300)
