"""Sums, products, spread and exponentials over axes; extreme values are in test_extremes.py."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.derive import push
from pullback.declare.op import registry
from pullback.testing import assert_close

INF, NAN = np.inf, np.nan


def leaf(values, dtype=None):
    return pb.tensor(np.array(values, dtype=dtype), requires_grad=True)


def gradient_of(function, values):
    x = leaf(values)
    return pb.autograd.grad(function(x).sum(), x)[0].numpy()


def both_modes_agree(name, values, axis, **params):
    """The adjoint identity at a point that the samples avoid."""
    op, x = registry[name], np.array(values)
    out = op.kernel(x, axis=axis, keepdims=False, **params)
    random = np.random.default_rng(0)
    t, g = random.uniform(1, 2, x.shape), random.uniform(1, 2, out.shape)
    with np.errstate(all="ignore"):
        pushed = push(op, (x,), (t,), out, {"axis": axis, "keepdims": False, **params})
        leaf_x = leaf(values)
        (pulled,) = pb.autograd.grad(op.function(leaf_x, axis=axis, **params), leaf_x, pb.tensor(g))
    assert_close(np.sum(g * pushed), np.sum(pulled.numpy() * t), equal_nan=True)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (-1, 0), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "amax", "all", "any"])
def test_axes_mean_what_they_mean_in_numpy(name, axis, keepdims):
    x = np.random.default_rng(1).uniform(-1, 1, (3, 4))
    out = getattr(pb, name)(pb.tensor(x), axis=axis, keepdims=keepdims)
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    assert out.dtype == expected.dtype
    assert_close(out, expected)


def test_torch_spellings_of_axes():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(dim=0, keepdim=True).shape == (1, 2)
    assert x.mean(0).shape == (2,)
    with pytest.raises(TypeError):
        x.sum(axis=0, dim=0)
    with pytest.raises(np.exceptions.AxisError):
        x.sum(axis=2)


def test_small_integers_are_summed_as_large_ones():
    x = pb.tensor(np.array([100, 100], np.int8))
    assert x.sum().dtype == np.int64 and x.sum().item() == 200
    assert x.prod().item() == 10000
    assert pb.tensor(np.array([1], np.uint8)).sum().dtype == np.uint64
    assert pb.tensor([True, True]).sum().item() == 2
    assert x.mean().dtype == np.float64 and x.mean().item() == 100.0


def test_the_dtype_of_a_sum_can_be_chosen():
    x = leaf([1.0, 2.0], np.float32)
    for function in (pb.sum, pb.mean, pb.prod):
        out = function(x, dtype=np.float64)
        assert out.dtype == np.float64
        assert pb.autograd.grad(out, x)[0].dtype == np.float32


def test_gradients_of_sums_and_means():
    x = leaf(np.ones((2, 3)))
    assert_close(pb.autograd.grad((x.sum(axis=0) * pb.tensor([1.0, 2.0, 3.0])).sum(), x)[0], [[1, 2, 3], [1, 2, 3]])
    assert_close(pb.autograd.grad(x.mean(), x)[0], np.full((2, 3), 1 / 6))


def test_the_mean_of_nothing_depends_on_nothing():
    x = leaf(np.ones((0, 2)))
    with np.errstate(all="ignore"):
        out = x.mean(axis=0)
        assert np.isnan(out.detach().numpy()).all()
        assert pb.autograd.grad(out.sum(), x)[0].shape == (0, 2)
        pushed = push(registry["mean"], (np.ones((0, 2)),), (np.ones((0, 2)),), None, {"axis": (0,), "keepdims": True})
    assert pushed.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    "values, expected",
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]), ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]), ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
        ([INF, 2.0], [2.0, INF]), ([5.0], [1.0]),
    ],
)  # fmt: skip
def test_products_with_zeros_and_infinities_are_exact(values, expected):
    assert gradient_of(pb.prod, values).tolist() == expected
    both_modes_agree("prod", values, (0,))


def test_products_over_several_axes():
    x = np.random.default_rng(2).uniform(1, 2, (2, 3, 4))
    expected = np.prod(x, axis=(0, 2), keepdims=True) / x
    assert_close(gradient_of(lambda t: pb.prod(t, axis=(0, 2)), x), expected)


def test_the_second_derivative_of_a_product_with_a_zero():
    x = leaf([2.0, 0.0, 4.0])
    (first,) = pb.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = pb.autograd.grad(first, x, pb.tensor([1.0, 0.0, 0.0]))
    assert second.tolist() == [0.0, 4.0, 0.0]


def test_sums_without_nan():
    x = leaf([1.0, NAN, 3.0])
    assert pb.nansum(x).item() == 4.0 and pb.nanmean(x).item() == 2.0 and pb.nanprod(x).item() == 3.0
    assert gradient_of(pb.nanmean, [1.0, NAN, 3.0]).tolist() == [0.5, 0.0, 0.5]
    with np.errstate(all="ignore"):
        assert gradient_of(pb.nanmean, [NAN, NAN]).tolist() == [0.0, 0.0]
    assert pb.nansum(pb.tensor([[1.0, NAN]]), dim=1, keepdim=True).shape == (1, 1)


def test_what_var_mean_returns_may_be_overwritten():
    x = pb.tensor([1.0, 3.0], requires_grad=True)
    variance, mean = pb.var_mean(x)
    variance.mul_(3)
    mean.add_(1)
    assert pb.autograd.grad(variance + mean, x)[0].tolist() == [-2.5, 3.5]


def test_degrees_of_freedom_have_two_names():
    x = pb.tensor([1.0, 2.0, 4.0])
    assert_close(x.var(), np.var([1, 2, 4]))
    assert_close(x.var(correction=1), np.var([1, 2, 4], ddof=1))
    assert_close(pb.std(x, ddof=1), np.std([1, 2, 4], ddof=1))
    with pytest.raises(TypeError):
        x.var(ddof=1, correction=1)
    variance, mean = pb.var_mean(x, dim=0, correction=1)
    assert_close(variance, np.var([1, 2, 4], ddof=1)) or assert_close(mean, 7 / 3)
    assert_close(pb.std_mean(x)[0], np.std([1, 2, 4]))


def test_the_deviation_of_equal_elements_has_derivative_zero():
    assert gradient_of(pb.std, [2.0, 2.0, 2.0]).tolist() == [0.0, 0.0, 0.0]
    assert gradient_of(pb.std, [2.0]).tolist() == [0.0]
    both_modes_agree("std", [2.0, 2.0], (0,), correction=0)


def test_the_variance_without_degrees_of_freedom_is_not_a_number():
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert np.isnan(gradient_of(lambda x: pb.var(x, correction=1), [2.0])).all()
    with pytest.warns(RuntimeWarning):
        both_modes_agree("var", [2.0], (0,), correction=1)


def test_logsumexp_at_infinities():
    assert pb.logsumexp(pb.tensor([1000.0, 1000.0])).item() == 1000.0 + np.log(2.0)
    assert pb.logsumexp(pb.tensor([-INF, -INF])).item() == -INF
    assert pb.logsumexp(pb.tensor(np.ones((0,)))).item() == -INF
    assert gradient_of(pb.logsumexp, [-INF, -INF]).tolist() == [0.0, 0.0]
    with np.errstate(all="ignore"):
        assert gradient_of(pb.logsumexp, [INF, 1.0, INF]).tolist() == [0.5, 0.0, 0.5]
    assert gradient_of(pb.logsumexp, [-INF, 3.0]).tolist() == [0.0, 1.0]
    assert np.isnan(gradient_of(pb.logsumexp, [NAN, 3.0])).all()
    for values in ([-INF, -INF], [INF, 1.0, INF], [-INF, 3.0]):
        both_modes_agree("logsumexp", values, (0,))


def test_logsumexp_of_integers():
    assert_close(pb.logsumexp(pb.tensor([1, 2])), np.log(np.exp(1) + np.exp(2)))


def test_softmax_sums_to_one_and_does_not_overflow():
    x = pb.tensor([[1000.0, 1001.0], [0.0, 0.0]])
    out = pb.softmax(x, axis=1)
    assert_close(out.sum(axis=1), [1.0, 1.0])
    assert_close(pb.log_softmax(x, dim=1), np.log(out.numpy()))
    assert_close(pb.softmax(x), out)
    assert_close(pb.softmax(x, axis=None).sum(), 1.0)
    assert pb.softmax(x, dtype=np.float32).dtype == np.float32
    assert pb.softmax(pb.tensor([1, 2])).dtype == np.float64


def test_masked_classes_get_no_gradient():
    x = leaf([0.0, -INF, 0.0])
    (gradient,) = pb.autograd.grad(pb.log_softmax(x)[0], x)
    assert gradient.tolist() == [0.5, 0.0, -0.5]


def test_truth_values_and_counts():
    x = leaf([[1.0, 0.0], [2.0, 3.0]])
    assert x.all(axis=1).tolist() == [False, True] and x.any().item() is True
    assert x.count_nonzero(axis=0).tolist() == [2, 1]
    assert pb.count_nonzero(x).item() == 3 and pb.count_nonzero(x).dtype == np.int64
    assert not x.any().requires_grad


def test_a_reduction_saves_no_more_than_its_rules_read():
    x = leaf([1.0, 2.0])
    total, peak = x.sum(), x.amax()
    assert total.grad_fn._saved_self is None if hasattr(total.grad_fn, "_saved_self") else True
    assert peak.grad_fn._saved_self is x


def test_a_reduction_of_an_interior_tensor_saves_its_value_and_history():
    x = leaf([1.0, 2.0]) * 1
    saved = x.amax().grad_fn._saved_self
    assert saved.tolist() == x.tolist() and saved.grad_fn is x.grad_fn


def test_the_result_of_a_product_may_be_written_in_place():
    x = pb.tensor([2.0, 3.0, 4.0], requires_grad=True)
    y = x.prod()
    y *= y
    y.backward()
    assert x.grad.tolist() == [2 * 24.0 * 12, 2 * 24.0 * 8, 2 * 24.0 * 6]


@pytest.mark.parametrize("function", [pb.nanmean, pb.nanmedian, pb.nanstd, pb.nanvar, pb.nansum, pb.median, pb.mean])
def test_statistics_stay_in_single_precision(function):
    assert function(pb.tensor([1.0, 2.0, 4.0], dtype=pb.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.float32, np.complex64])
@pytest.mark.parametrize("kind", [np.int32, np.float32, np.float64])
def test_a_mean_has_the_dtype_that_is_asked_for(kind, dtype):
    x = np.array([[-1, 2, 4], [0, 1, 1]], kind)
    wanted = np.mean(x, axis=1, dtype=dtype)
    for found in (pb.mean(x, axis=1, dtype=dtype), np.mean(pb.tensor(x), axis=1, dtype=dtype)):
        assert found.dtype == wanted.dtype
        assert_close(found, wanted, rtol=1e-6)
