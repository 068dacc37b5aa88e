"""Comparisons never require grad; choosing sends the gradient to what was chosen."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.derive import push
from pullback.declare.op import registry
from pullback.testing import assert_close

INF, NAN = np.inf, np.nan


def leaf(values):
    return pb.tensor(np.array(values, dtype=np.float64), requires_grad=True)


def shares(name, *points):
    """What every operand gets of a gradient of ones, after checking that forward mode says the same."""
    op = registry[name]
    arrays = tuple(np.array(point, dtype=np.float64) for point in points)
    tensors = [leaf(array) for array in arrays]
    out = op.function(*tensors)
    reverse = [g.numpy() for g in pb.autograd.grad(out, tensors, pb.tensor(np.ones(out.shape)))]
    for position in range(len(arrays)):
        tangents = tuple(np.ones_like(x) if k == position else None for k, x in enumerate(arrays))
        np.testing.assert_array_equal(reverse[position], push(op, arrays, tangents, op.kernel(*arrays), {}))
    return [gradient.tolist() for gradient in reverse]


@pytest.mark.parametrize(
    "compare, expected",
    [
        (lambda x, y: x == y, [False, True, False]), (lambda x, y: x != y, [True, False, True]),
        (lambda x, y: x < y, [True, False, False]), (lambda x, y: x <= y, [True, True, False]),
        (lambda x, y: x > y, [False, False, True]), (lambda x, y: x >= y, [False, True, True]),
        (pb.eq, [False, True, False]), (pb.gt, [False, False, True]),
    ],
)  # fmt: skip
def test_comparisons(compare, expected):
    out = compare(leaf([1.0, 2.0, 3.0]), pb.tensor([2.0, 2.0, 2.0]))
    assert out.dtype == np.bool_ and not out.requires_grad
    assert out.tolist() == expected


def test_predicates():
    x = leaf([1.0, -0.0, NAN, -INF])
    assert pb.isnan(x).tolist() == [False, False, True, False]
    assert x.isinf().tolist() == [False, False, False, True]
    assert x.isfinite().tolist() == [True, True, False, False]
    assert pb.signbit(x).numpy()[[0, 1, 3]].tolist() == [False, True, True]
    assert pb.isposinf(-x).tolist() == [False, False, False, True]


def test_logic_and_bits():
    p, q = pb.tensor([True, True, False]), pb.tensor([True, False, False])
    assert (p & q).tolist() == [True, False, False]
    assert (p | q).tolist() == [True, True, False]
    assert (p ^ q).tolist() == [False, True, False]
    assert (~p).tolist() == [False, False, True]
    assert pb.logical_xor(p, pb.tensor([2.0, 0.0, 1.0])).tolist() == [False, True, True]
    assert ((pb.tensor([5]) << 2) >> 1).item() == 10
    p.logical_not_()
    assert p.tolist() == [False, False, True]
    with pytest.raises(TypeError):
        pb.tensor([1.0]) & pb.tensor([1.0])


def test_closeness():
    x = pb.tensor([1.0, NAN])
    assert pb.isclose(x, x + 1e-9).tolist() == [True, False]
    assert pb.allclose(x, x + 1e-9, equal_nan=True) and not pb.allclose(x, x)
    assert not pb.allclose(pb.tensor([1.0]), pb.tensor([1.1]), rtol=0.01) and pb.allclose([1.0], 1.05, rtol=0.1)
    assert pb.array_equal(pb.tensor([1, 2]), [1, 2]) and not pb.array_equal(pb.tensor([1, 2]), [[1, 2]])


def test_where_sends_the_gradient_to_the_chosen_side():
    x, y = leaf([1.0, 2.0]), leaf(5.0)
    out = pb.where(pb.tensor([True, False]), x, y)
    assert out.tolist() == [1.0, 5.0]
    x_grad, y_grad = pb.autograd.grad(out.sum(), (x, y))
    assert x_grad.tolist() == [1.0, 0.0] and y_grad.item() == 1.0


def test_the_method_where_keeps_the_tensor_where_the_condition_holds():
    x = leaf([1.0, 2.0])
    assert x.where(x > 1, 0).tolist() == [0.0, 2.0]
    assert x.where(np.array([True, False]), [5.0, 6.0]).tolist() == [1.0, 6.0]


def test_where_does_not_multiply_by_its_condition():
    x = leaf([1.0, 2.0])
    (gradient,) = pb.autograd.grad(pb.where(pb.tensor([True, False]), x, 0), x, pb.tensor([1.0, INF]))
    assert gradient.tolist() == [1.0, 0.0]


def test_where_reads_numbers_as_truth_values():
    condition = leaf([0.0, 2.0])
    out = pb.where(condition, leaf([1.0, 1.0]), 3.0)
    assert out.tolist() == [3.0, 1.0] and out.requires_grad


def test_ties_are_shared_evenly():
    for name in ("maximum", "minimum", "fmax", "fmin"):
        assert shares(name, [1.0], [1.0]) == [[0.5], [0.5]]
    assert shares("maximum", [1.0, 3.0], [2.0, 2.0]) == [[0.0, 1.0], [1.0, 0.0]]
    assert shares("minimum", [1.0, 3.0], [2.0, 2.0]) == [[1.0, 0.0], [0.0, 1.0]]


def test_nan_takes_the_gradient_of_maximum_and_leaves_that_of_fmax():
    points = [NAN, 1.0, NAN], [1.0, NAN, NAN]
    assert shares("maximum", *points) == shares("minimum", *points) == [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]
    assert shares("fmax", *points) == shares("fmin", *points) == [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]]


def test_an_infinite_gradient_stays_with_the_larger_operand():
    x, y = leaf([1.0]), leaf([2.0])
    x_grad, y_grad = pb.autograd.grad(pb.maximum(x, y), (x, y), pb.tensor([INF]))
    assert x_grad.item() == 0.0 and y_grad.item() == INF


def test_clip_is_the_identity_on_the_closed_interval():
    x = leaf([-1.0, 0.0, 0.5, 1.0, 2.0, NAN])
    out = pb.clip(x, 0.0, 1.0)
    assert_close(out, [0.0, 0.0, 0.5, 1.0, 1.0, NAN], equal_nan=True)
    assert pb.autograd.grad(out.sum(), x)[0].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def test_clip_gives_gradient_to_bounds_that_are_tensors():
    assert shares("clip", [-1.0, 0.0, 2.0, 1.0], [0.0] * 4, [1.0] * 4) == [
        [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0],
    ]  # fmt: skip


def test_clip_with_crossed_bounds_is_the_upper_one():
    assert shares("clip", [-3.0, 0.0, 3.0], [1.0] * 3, [-1.0] * 3) == [[0.0] * 3, [0.0] * 3, [1.0] * 3]


def test_clip_takes_one_bound_and_other_names():
    x = leaf([-2.0, 2.0])
    assert x.clip(min=0).tolist() == [0.0, 2.0]
    assert x.clamp(max=0).tolist() == [-2.0, 0.0]
    assert pb.clip(x, a_min=-1, a_max=1).tolist() == [-1.0, 1.0]
    assert pb.clamp_min(x, 1).tolist() == [1.0, 2.0]
    assert pb.clip(x).tolist() == [-2.0, 2.0]
    with pytest.raises(TypeError):
        pb.clip(pb.tensor([1j]), 0, 1)


def test_relu_at_zero_and_at_nan():
    x = leaf([-1.0, 0.0, 2.0, NAN])
    assert pb.autograd.grad(pb.relu(x).sum(), x)[0].tolist() == [0.0, 0.0, 1.0, 1.0]
    y = pb.tensor([-1.0, 2.0])
    assert y.relu_() is y and y.tolist() == [0.0, 2.0]


def test_heaviside():
    assert shares("heaviside", [-1.0, 0.0, 1.0], [5.0] * 3) == [[0.0] * 3, [0.0, 1.0, 0.0]]
    x = leaf([-1.0])
    assert pb.autograd.grad(pb.heaviside(x, 0.5), x)[0].item() == 0.0


@pytest.mark.parametrize("bounds", [(-1, 2), (-1, None), (None, 300), (-5, 300), (0, 255), (3, 1000)])
def test_a_bound_that_no_integer_can_be_beyond_is_none(bounds):
    x = np.array([5, 200], np.uint8)
    np.testing.assert_array_equal(pb.clip(pb.tensor(x), *bounds), np.clip(x, *bounds))
