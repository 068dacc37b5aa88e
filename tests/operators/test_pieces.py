"""Large arrays: work in pieces and on threads, and the shortcuts that only large or ordinary arrays take.

The samples of the declarations are small, so the formulas here are written out once more, in plain NumPy.
"""

import math
import os
import threading
import warnings
from importlib import import_module

import numpy as np
import pytest

import pullback as pb
from pullback.operators import pieces
from pullback.operators.arrays.sorting import sorting_order
from pullback.operators.reductions import scan
from pullback.testing import assert_close

nn = pb.nn


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(pieces, "get_num_threads", lambda: 2)
    monkeypatch.setattr(pieces, "_helpers", pieces._Helpers())


def test_one_number_of_threads_holds_for_native_code_and_for_pieces(monkeypatch):
    before = pb.get_num_threads()
    monkeypatch.setattr(pieces, "get_num_threads", pb.get_num_threads)
    try:
        for count in (1, 3, 2):
            pb.set_num_threads(count)
            helpers = pieces._Helpers()
            monkeypatch.setattr(pieces, "_helpers", helpers)
            done = []
            pieces.in_pieces(lambda start, stop, done=done: done.append((start, stop)), 1 << 20)
            assert helpers.count == count - 1 and sum(stop - start for start, stop in done) == 1 << 20
    finally:
        pb.set_num_threads(before)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def gradients(function, *arrays):
    """The result, and the gradients under a cotangent that is not constant."""
    leaves = [pb.tensor(array, requires_grad=True) for array in arrays]
    out = function(*leaves)
    found = pb.autograd.grad(out, leaves, pb.tensor(numbers(*out.shape, seed=9).astype(out.dtype)))
    return out.detach().numpy(), [g.numpy() for g in found]


def agree(function, formula, *arrays, **tolerance):
    """The operator and the same thing said with other operators agree in value and gradients."""
    value, found = gradients(function, *arrays)
    expected, wanted = gradients(formula, *arrays)
    assert_close(value, expected, **tolerance)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert_close(one, other, **tolerance)


# Pieces


def test_every_piece_is_done_once_and_by_several_threads():
    counts, workers = np.zeros(1 << 18, int), set()
    meeting = threading.Barrier(2, timeout=10)

    def work(start, stop):
        if len(workers) < 2 and threading.get_ident() not in workers:
            workers.add(threading.get_ident())
            meeting.wait()
        counts[start:stop] += 1

    pieces.in_pieces(work, counts.size)
    assert (counts == 1).all() and len(workers) == 2


def test_an_error_in_a_piece_is_raised_where_the_work_was_asked_for():
    def work(start, stop):
        if start:
            raise FloatingPointError("no such number")

    for _ in range(20):
        with pytest.raises(FloatingPointError, match="no such number"):
            pieces.in_pieces(work, 1 << 18)


def test_the_error_state_of_numpy_holds_in_all_threads():
    x = np.full(1 << 18, 1e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(over="ignore"):
            assert np.isinf(pieces.elementwise_in_pieces(lambda part: part * 10, x)).all()
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            pieces.elementwise_in_pieces(lambda part: part * 10, x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent():
    x = np.ones(1 << 18)
    pieces.elementwise_in_pieces(np.exp, x)
    child = os.fork()
    if child == 0:
        pieces._helpers.forget()  # the one of this test; the module's own is registered
        os._exit(0 if pieces.elementwise_in_pieces(np.negative, x).sum() == -x.size else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_threads_do_not_share_the_memory_they_work_in():
    x = np.zeros(1 << 14)
    mine = pieces.scratch_like(x, 0)
    assert np.shares_memory(mine, pieces.scratch_like(x[:10000], 0, np.int64))
    assert not np.shares_memory(mine, pieces.scratch_like(x, 1))
    theirs = []
    thread = threading.Thread(target=lambda: theirs.append(pieces.scratch_like(x, 0)))
    thread.start()
    thread.join()
    assert theirs[0].shape == x.shape and not np.shares_memory(mine, theirs[0])
    assert pieces.scratch_like(x[:10], 0) is None and pieces.scratch_like(np.zeros(1 << 20), 0) is None


# Normalising functions and losses


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_softmax_and_its_relatives_on_many_rows(dtype):
    x = numbers(300, 300).astype(dtype)
    tight = {"rtol": 1e-4, "atol": 1e-5} if dtype is np.float32 else {}

    def total(t):
        return pb.exp(t).sum(axis=1, keepdims=True)

    agree(lambda t: pb.softmax(t, axis=1), lambda t: pb.exp(t) / total(t), x, **tight)
    agree(lambda t: pb.log_softmax(t, axis=1), lambda t: t - pb.log(total(t)), x, **tight)
    agree(lambda t: pb.logsumexp(t, axis=1), lambda t: pb.log(total(t))[:, 0], x, **tight)


def test_rows_with_infinities_do_not_disturb_their_neighbours():
    x = numbers(300, 300)
    plain = pb.logsumexp(pb.tensor(x), axis=1).numpy()
    x[3], x[5, 7] = -np.inf, np.inf
    value = pb.logsumexp(pb.tensor(x), axis=1).numpy()
    assert value[3] == -np.inf and value[5] == np.inf
    assert_close(np.delete(value, [3, 5]), np.delete(plain, [3, 5]))


def standardized(t, axes, weight, bias):
    centred = t - t.mean(axis=axes, keepdims=True)
    return centred / pb.sqrt((centred * centred).mean(axis=axes, keepdims=True) + 1e-5) * weight + bias


def test_normalization_over_rows_and_over_channels():
    x, weight, bias = numbers(300, 300), numbers(300, seed=1), numbers(300, seed=2)
    agree(lambda t, w, b: nn.layer_norm(t, (300,), w, b), lambda t, w, b: standardized(t, (1,), w, b), x, weight, bias)
    agree(lambda t: nn.layer_norm(t, (300,)), lambda t: standardized(t, (1,), 1, 0), x)
    images, weight, bias = numbers(8, 20, 25, 20), numbers(20, seed=1), numbers(20, seed=2)

    def by_channel(t, w, b):
        return standardized(t, (0, 2, 3), w[:, None, None], b[:, None, None])

    agree(lambda t, w, b: nn.batch_norm(t, None, None, w, b, training=True), by_channel, images, weight, bias)


def test_the_gradient_of_a_weight_does_not_depend_on_who_was_faster():
    x, weight, bias = numbers(2000, 64), numbers(64), numbers(64)
    first = gradients(lambda t, w, b: nn.layer_norm(t, (64,), w, b), x, weight, bias)[1]
    for _ in range(5):
        again = gradients(lambda t, w, b: nn.layer_norm(t, (64,), w, b), x, weight, bias)[1]
        assert all((one == other).all() for one, other in zip(first, again, strict=True))


def test_cross_entropy_of_many_rows():
    x, labels = numbers(300, 300), np.random.default_rng(1).integers(0, 300, 300)
    target = pb.tensor(labels)
    agree(
        lambda t: nn.cross_entropy(t, target, reduction="none"),
        lambda t: pb.logsumexp(t.T.copy(), axis=0) - t[np.arange(300), labels],
        x,
    )


@pytest.mark.parametrize("is_masked", [False, True])
def test_attention_of_many_rows(is_masked):
    query, key, value = (numbers(2, 4, 128, 64, seed=k) for k in range(3))
    mask = np.where(numbers(128, 128, seed=3) > 1, -np.inf, 0.0) if is_masked else np.zeros((128, 128))
    given = {"attn_mask": pb.tensor(mask)} if is_masked else {}

    def formula(q, k, v):
        return pb.softmax(q @ k.swapaxes(-1, -2) / 8 + mask, axis=-1) @ v

    agree(lambda *t: nn.scaled_dot_product_attention(*t, **given), formula, query, key, value)


def test_activations_of_many_numbers():
    x = numbers(300, 300) * 3
    agree(nn.silu, lambda t: t * pb.sigmoid(t), x)
    agree(nn.gelu, lambda t: t * 0.5 * pb.special.erfc(t * -(0.5**0.5)), x)
    assert_close(
        nn.gelu(pb.tensor(x.astype(np.float32))).numpy(), nn.gelu(pb.tensor(x)).numpy(), rtol=1e-4, atol=1e-5
    )


def test_the_error_function_of_many_numbers():
    x = np.concatenate([numbers(1 << 13) * scale for scale in (1e-3, 1.0, 3.0)])
    x[:6] = np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324
    found = pb.special.erf(pb.tensor(x)).numpy()
    expected = np.array([math.erf(each) for each in x.tolist()])
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert (np.signbit(found) == np.signbit(expected)).all()
    assert (pb.special.erf(pb.tensor(-x)).numpy()[1:] == -found[1:]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gelu_where_the_distribution_function_is_nearly_nothing(dtype):
    x = np.concatenate([np.linspace(-12.0, 12.0, 1 << 15), [np.inf, -1e30, 1e30]]).astype(dtype)
    value, (slope,) = gradients(nn.gelu, x)
    expected = [0.5 * each * math.erfc(-each * 0.5**0.5) for each in x.tolist()]
    np.testing.assert_allclose(value, expected, rtol=1e-12 if dtype is np.float64 else 3e-6, atol=1e-38)
    assert np.isfinite(slope[:-3]).all()


def test_activations_that_keep_what_they_computed_have_second_derivatives():
    for shape in ((5,), (40, 40), (300, 300)):
        x = numbers(*shape)
        for function, formula in [
            (nn.silu, lambda t: t * pb.sigmoid(t)),
            (nn.gelu, lambda t: t * 0.5 * pb.special.erfc(t * -(0.5**0.5))),
            (pb.special.erf, lambda t: 1 - pb.special.erfc(t)),
        ]:
            second = []
            for each in (function, formula):
                leaf = pb.tensor(x, requires_grad=True)
                (slope,) = pb.autograd.grad(each(leaf).sum(), leaf, create_graph=True)
                second.append(pb.autograd.grad((slope * slope).sum(), leaf)[0])
            assert_close(second[0], second[1], atol=1e-12)


def test_the_output_of_an_activation_that_keeps_something_may_be_overwritten():
    x = numbers(40, 40)
    found = []
    for written in (False, True):
        leaf = pb.tensor(x, requires_grad=True)
        total = pb.zeros(())
        for function in (nn.silu, nn.gelu):
            out = function(leaf)
            total = total + (out.add_(1) if written else out + 1).sum()
        total.backward()
        found.append(leaf.grad)
    assert_close(found[0], found[1], rtol=0, atol=0)


def test_products_of_many_numbers():
    x = np.random.default_rng(0).uniform(0.9, 1.1, (300, 300))
    spoilt = x.copy()
    spoilt[7, 7] = spoilt[250, 3] = spoilt[250, 4] = 0
    for each in (x, spoilt, x * np.where(np.arange(300) == 5, 1e-200, 1)):
        agree(lambda t: pb.prod(t, axis=1), lambda t: pb.prod(t[:, :150], axis=1) * pb.prod(t[:, 150:], axis=1), each)
    assert not gradients(lambda t: pb.prod(t, axis=1), spoilt)[1][0][250].any()


def test_few_and_many_windows_have_the_same_largest_element():
    x = np.random.default_rng(0).integers(0, 3, (3, 4, 6, 7)).astype(float)
    x[0, 0, 1, 1] = x[1, 2, :2, :2] = np.nan
    for how in ((2, None), (3, 1), ((2, 3), (3, 2))):
        few = nn.max_pool2d(pb.tensor(x), *how, return_indices=True)
        many = nn.max_pool2d(pb.tensor(np.tile(x, (40, 1, 1, 1))), *how, return_indices=True)
        for one, other in zip(few, many, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy()[:3])
    for how in ((2, None), (3, 1)):
        few = gradients(lambda t, how=how: nn.max_pool2d(t, *how), np.nan_to_num(x))[1][0]
        many = gradients(lambda t, how=how: nn.max_pool2d(t, *how), np.tile(np.nan_to_num(x), (40, 1, 1, 1)))[1][0]
        assert_close(few, many[:3])


def test_the_largest_of_many_windows():
    x = numbers(8, 20, 24, 24)
    agree(lambda t: nn.max_pool2d(t, 2), lambda t: pb.amax(t.reshape((8, 20, 12, 2, 12, 2)), axis=(3, 5)), x)
    agree(lambda t: pb.max(t, axis=1), lambda t: pb.amax(t, axis=1), x)


def test_of_zeros_of_both_signs_the_first_in_a_window_is_taken():
    x = np.where(numbers(8, 4, 64, 64) > 0, 0.0, -0.0)
    found, places = nn.max_pool2d(pb.tensor(x), 2, return_indices=True)
    first = x[:, :, ::2, ::2]
    assert (np.signbit(found.numpy()) == np.signbit(first)).all()
    assert (places.numpy() == (np.arange(0, 64, 2)[:, None] * 64 + np.arange(0, 64, 2))).all()


# Scans


def test_scans_of_long_rows_and_of_long_columns():
    x = numbers(300, 300)
    for axis in (0, 1):
        assert_close(pb.cumsum(pb.tensor(x), axis=axis).numpy(), np.cumsum(x, axis))
        backwards = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
        assert_close(pb.cumsum(pb.tensor(x), axis=axis, reverse=True).numpy(), backwards)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_products_of_ordinary_numbers_have_the_gradient_of_the_recurrence(axis, reverse):
    x = np.random.default_rng(0).uniform(0.9, 1.1, (300, 250)) * np.sign(numbers(300, 250))
    value, (found,) = gradients(lambda t: pb.cumprod(t, axis=axis, reverse=reverse), x)
    weights = numbers(300, 250, seed=9)
    assert_close(found, scan._cumprod_pulled(weights, x, value, axis, reverse), rtol=1e-9)


def test_rows_with_zeros_or_vanishing_products_go_the_exact_way():
    x = np.random.default_rng(0).uniform(0.9, 1.1, (300, 250))
    x[7, 3], x[9, :3] = 0, [1e-200, 1e-200, 1e200]
    value, (found,) = gradients(lambda t: pb.cumprod(t, axis=1), x)
    assert_close(found, scan._cumprod_pulled(numbers(300, 250, seed=9), x, value, 1, False), rtol=1e-9)
    assert found[7, 3] != 0 and np.isfinite(found).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_sums_of_exponentials_of_close_and_of_distant_numbers(reverse):
    x = numbers(300, 250)
    x[4] *= 1000  # beyond what exponentials can hold
    x[6, 5] = -np.inf
    value, (found,) = gradients(lambda t: pb.logcumsumexp(t, axis=1, reverse=reverse), x)
    step = slice(None, None, -1 if reverse else 1)
    assert_close(value, np.logaddexp.accumulate(x[:, step], 1)[:, step])
    assert_close(found, scan._logcumsumexp_pulled(numbers(300, 250, seed=9), x, value, 1, reverse), rtol=1e-9)


def test_products_of_all_but_one():
    x = np.random.default_rng(0).uniform(0.9, 1.1, (300, 250))
    x[7, 3] = 0
    _, (found,) = gradients(lambda t: pb.prod(t, axis=1), x)
    weights = numbers(300, seed=9)
    others = np.delete(x[7], 3).prod()
    assert_close(found[7, 3], weights[7] * others)
    assert_close(found[8], weights[8] * x[8].prod() / x[8])


@pytest.mark.parametrize("columns", [1024, 1021])
@pytest.mark.parametrize("scale", [1.0, 1.9, 1e-4])
def test_products_of_long_rows_in_any_order_of_factors(columns, scale):
    x = np.exp(numbers(100, columns) * 0.1) * np.where(numbers(100, columns, seed=1) > 0, 1.0, -1.0)
    x[:, ::2] *= scale
    x[:, 1::2] /= scale  # with columns as long as these, the factors of a half or an eighth have no product
    value, (found,) = gradients(lambda t: pb.prod(t, axis=1), x)
    np.testing.assert_array_equal(value, np.multiply.reduce(x, axis=1))
    expected = numbers(*value.shape, seed=9)[:, None] * (value[:, None] / x)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


# Sorting


def stable(x, descending):
    if not descending:
        return np.argsort(x, axis=1, kind="stable")
    return x.shape[1] - 1 - np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1]


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_whether_or_not_numbers_are_distinct(descending):
    distinct = numbers(300, 300)
    ties = np.round(distinct, 1)
    with_nan = distinct.copy()
    with_nan[250, [3, 200]] = np.nan
    for x in (distinct, ties, with_nan, distinct.astype(np.float32)):
        assert (sorting_order.kernel(x, axis=1, descending=descending) == stable(x, descending)).all()


@pytest.mark.parametrize("largest", [False, True])
def test_the_largest_few_are_those_that_sorting_finds(largest):
    distinct = numbers(300, 300)
    with_nan = distinct.copy()
    with_nan[250, 3] = np.nan
    for x in (distinct, np.round(distinct, 1), with_nan, np.where(distinct > 0, 0.0, -0.0)):
        expected = stable(x, largest)[:, :5]
        values, places = pb.topk(pb.tensor(x), 5, largest=largest)
        assert (places.numpy() == expected).all()
        assert_close(values.numpy(), np.take_along_axis(x, expected, 1))


# Indices


def test_reading_and_adding_at_many_places():
    x, places = numbers(60, 50), np.random.default_rng(1).integers(-50, 50, (60, 40))
    value, (found,) = gradients(lambda t: pb.take_along_axis(t, places, axis=1), x)
    assert_close(value, np.take_along_axis(x, places, 1))
    expected = np.zeros_like(x)
    np.add.at(expected, (np.arange(60)[:, None], places), numbers(60, 40, seed=9))
    assert_close(found, expected)
    with pytest.raises(IndexError):
        pb.take_along_axis(pb.tensor(x), np.full((60, 40), 50), axis=1)


@pytest.mark.parametrize("rows", [500, 7])
def test_adding_rows_that_come_once_several_times_or_very_often(rows):
    index = np.random.default_rng(1).integers(-rows, rows, (20, 30))
    value, (found,) = gradients(lambda t: t[index], numbers(rows, 3, 8))
    expected = np.zeros((rows, 3, 8))
    np.add.at(expected, index, numbers(20, 30, 3, 8, seed=9))
    assert value.shape == (20, 30, 3, 8)
    assert_close(found, expected)
    added = pb.index_add(pb.zeros(rows, 24), 0, index.reshape(-1) % rows, pb.ones(600, 24)).numpy()
    assert (added[:, 0] == np.bincount(index.reshape(-1) % rows, minlength=rows)).all()


# Factors


def test_the_gradient_of_small_and_of_large_factors_is_the_same(monkeypatch):
    half = numbers(2, 12, 12)
    a = half @ half.swapaxes(1, 2) + 12 * np.eye(12)
    _, (direct,) = gradients(pb.linalg.cholesky, a)
    monkeypatch.setattr(import_module("pullback.operators.linalg.decompose"), "_SMALL", 0)
    _, (recursive,) = gradients(pb.linalg.cholesky, a)
    assert_close(direct, recursive)
