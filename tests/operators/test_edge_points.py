"""At signed zeros, infinities, NaN, ties, branch points and the neighbours of 1, both modes have one derivative.

What that derivative is, is in `conventions` for the points that have a convention. Here every elementwise operator is
asked at every edge point, or pair of them, whether its forward rule and its reverse rule give the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.core.spec import spec_of
from pullback.declare.derive import pull, push
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.payloads.evaluate import evaluate
from tests.operators.declared import is_floating

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


CUT_POINTS = [
    complex(re, im) for re in (2.0, -2.0, 0.5) for im in (0.0, -0.0)
] + [complex(re, im) for im in (2.0, -2.0, 0.5) for re in (0.0, -0.0)]  # fmt: skip
INVERSES = ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh")


@pytest.mark.parametrize("name", INVERSES)
def test_the_derivative_on_a_branch_cut_is_that_of_the_side_the_zero_points_to(name):
    """Along the axis the point stays on its side, so a difference of two values there is the derivative."""
    function = registry[name].function
    for point in CUT_POINTS:
        step = 1e-6 if point.imag == 0 else 1e-6j
        # complex + complex would lose the sign of a zero
        moved = [
            complex(point.real + sign * step.real if step.real else point.real,
                    point.imag + sign * step.imag if step.imag else point.imag)
            for sign in (1, -1)
        ]  # fmt: skip
        above, below = (complex(function(pb.tensor(z)).item()) for z in moved)
        z = pb.tensor(point, requires_grad=True)
        (gradient,) = pb.autograd.grad(function(z), z, pb.tensor(1 + 0j))
        np.testing.assert_allclose(gradient.conj().item(), (above - below) / (2 * step), rtol=1e-6, err_msg=str(point))


def test_the_remainder_by_infinity_of_the_other_sign_moves_with_it():
    y = pb.tensor([np.inf, -np.inf, np.inf], requires_grad=True)
    pb.remainder(pb.tensor([-1.0, 2.0, 2.0]), y).sum().backward()
    assert y.grad.tolist() == [1, 1, 0]


def test_bessel_functions_are_flat_at_infinity():
    x = pb.tensor([np.inf, -np.inf, 1e300, 0.0], requires_grad=True)
    pb.special.i1e(x).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0.5]


def test_clipping_lets_the_gradient_of_nan_through():
    x = pb.tensor([np.nan, -1.0, 0.5], requires_grad=True)
    (pb.nn.hardtanh(x) + pb.nn.relu6(x)).sum().backward()
    assert x.grad.tolist() == [2, 0, 2]


REGULAR = np.array([0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, -2.0])
CORNERS = {"special.huber": "no width at all", "_truncated_normal": "bounds in the wrong order"}


def slopes(op, sample, operands, create_graph=False):
    """The leaves, and the derivative of every element by each of them."""
    leaves = [pb.tensor(x, requires_grad=True) for x in operands]
    wanted = [leaf for k, leaf in enumerate(leaves) if has_derivative(op, k)]
    total = op(*leaves, **sample.params).real.sum()
    found = pb.autograd.grad(total, wanted, create_graph=create_graph, materialize_grads=True)
    return wanted, found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op, sample", [case for case in edge_cases(np.float64) if case.id not in CORNERS])
def test_second_derivatives_at_special_points_are_those_of_the_neighbourhood(op, sample):
    """A rule that puts a number where its formula has 0 * inf must not lose what the formula depends on.

    Where the slope has a kink, the differences on both sides are not alike; a NaN is no wrong number.
    """
    operands = edge_operands(sample, REGULAR)
    places = [k for k in range(len(operands)) if has_derivative(op, k)]
    leaves, first = slopes(op, sample, operands, create_graph=True)
    for i, slope in enumerate(first):
        if not slope.requires_grad:
            continue
        second = pb.autograd.grad(slope.sum(), leaves, retain_graph=True, materialize_grads=True)
        for j, place in enumerate(places):
            sides = []
            for step in (1e-6, -1e-6):
                moved = [x + step if k == place else x for k, x in enumerate(operands)]
                sides.append((slopes(op, sample, moved)[1][i] - slope).detach().numpy() / step)
            after, before = sides
            found, scale = second[j].numpy(), 1 + np.abs(after)
            is_smooth = (np.abs(after - before) < 1e-3 * scale) & (scale < 1e4) & ~np.isnan(found)
            np.testing.assert_allclose(found[is_smooth], after[is_smooth], rtol=2e-2, atol=2e-2)
