"""Casts, copies, and overwriting."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def leaf(values):
    return pb.tensor(np.array(values), requires_grad=True)


def test_a_cast_returns_the_gradient_in_the_old_dtype():
    x = leaf([1.0, 2.0])
    narrow = x.astype(np.float32)
    (gradient,) = pb.autograd.grad(narrow.sum(), x)
    assert narrow.dtype == np.float32 and gradient.dtype == np.float64


def test_a_cast_to_integers_ends_the_derivative():
    out = leaf([1.5, -1.5]).astype(np.int64)
    assert out.tolist() == [1, -1] and not out.requires_grad


def test_a_cast_to_the_same_dtype_copies_unless_told_not_to():
    x = leaf([1.0])
    assert x.astype(np.float64) is not x
    assert x.astype(np.float64, copy=False) is x
    with pytest.raises(TypeError):
        x.astype(object)
    with pytest.raises(ValueError):
        x.astype(np.float32, device="gpu")


def test_short_names_of_casts():
    x = leaf([1.0])
    assert x.float().dtype == np.float32 and x.double() is x
    assert x.half().dtype == np.float16 and x.long().dtype == np.int64 and x.bool().dtype == np.bool_
    assert x.to(np.float32).dtype == np.float32 and x.to("cpu") is x
    assert x.to("cpu", np.int32).dtype == np.int32
    assert x.to(pb.tensor([1j])).dtype == np.complex128
    assert x.to(dtype=np.float64, copy=True) is not x


def test_a_copy_keeps_the_memory_order_unless_told_otherwise():
    x = pb.tensor(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    y = pb.copy(x)
    assert y.numpy().flags.f_contiguous and not np.shares_memory(x.numpy(), y.numpy())
    assert x.copy(order="C").numpy().flags.c_contiguous
    assert x.clone().numpy().flags.f_contiguous
    with pytest.raises(ValueError):
        x.copy(order="A")


def test_copying_into_a_tensor_moves_the_gradient_to_the_source():
    x, source = leaf([1.0, 2.0]), leaf(3.0)
    target = x * 1
    assert target.copy_(source * 2) is target
    assert target.tolist() == [6.0, 6.0] and target._version == 1
    x_grad, source_grad = pb.autograd.grad(target.sum(), (x, source), allow_unused=True)
    assert source_grad.item() == 4.0
    assert x_grad is None or not x_grad.numpy().any()


def test_copying_casts_to_the_target():
    whole = pb.tensor([0, 0])
    whole.copy_(leaf([1.7, -1.7]))
    assert whole.tolist() == [1, -1] and not whole.requires_grad
    with pytest.warns(np.exceptions.ComplexWarning):
        pb.tensor([0.0]).copy_(pb.tensor([1 + 2j]))


def test_copying_real_numbers_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(pb.tensor([0j]).copy_(pb.tensor([2.0])), [2 + 0j])


def test_a_source_that_does_not_fit_changes_nothing():
    target = pb.tensor([1.0, 2.0])
    with pytest.raises(ValueError):
        target.copy_(pb.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError):
        target.fill_(pb.tensor([1.0, 2.0]))
    assert target.tolist() == [1.0, 2.0] and target._version == 0


def test_copying_between_overlapping_pieces():
    x = pb.tensor([1.0, 2.0, 3.0])
    x[1:].copy_(x[:-1])
    assert x.tolist() == [1.0, 1.0, 2.0]


def test_filling():
    value = leaf(2.0)
    target = pb.tensor([1.0, 1.0, 1.0])
    target.fill_(value)
    assert pb.autograd.grad(target.sum(), value)[0].item() == 3.0
    x = leaf([1.0, 2.0])
    h = x * 1
    assert h.fill_(5).tolist() == [5.0, 5.0]
    assert h.zero_().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 3), (1, 1, 1), (1, 1), (3,), ()])
@pytest.mark.parametrize("write", [
    lambda y, x: y.copy_(x), lambda y, x: y[:].copy_(x), lambda y, x: pb.copyto(y, x), lambda y, x: np.copyto(y, x),
])  # fmt: skip
def test_what_is_copied_may_have_more_axes_of_length_1(write, shape):
    x, y = pb.full(shape, 2.0, requires_grad=True), pb.zeros(3)
    write(y, x)
    assert y.tolist() == [2.0] * 3
    (y * pb.tensor([1.0, 2.0, 4.0])).sum().backward()
    assert_close(x.grad, np.array([1.0, 2.0, 4.0]).reshape(shape) if x.size == 3 else np.full(shape, 7.0))


def test_what_is_copied_may_not_have_more_axes_of_another_length():
    with pytest.raises(ValueError, match="broadcast"):
        pb.zeros(3).copy_(pb.ones((2, 3)))
