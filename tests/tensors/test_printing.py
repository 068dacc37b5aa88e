"""How tensors are written."""

import warnings

import numpy as np
import pytest

import pullback as pb


def test_a_constant_is_its_numbers():
    assert repr(pb.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(pb.tensor([[1, 2], [3, 4]])) == "tensor([[1, 2],\n        [3, 4]])"
    assert repr(pb.tensor([True, False])) == "tensor([ True, False])"
    assert repr(pb.tensor(2.5)) == "tensor(2.5)"


def test_str_is_repr():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert str(x) == repr(x) == "tensor([1., 2.], requires_grad=True)"


def test_the_dtype_is_written_where_the_numbers_do_not_tell_it():
    assert repr(pb.tensor([1.0], dtype=pb.float32)) == "tensor([1.], dtype=float32)"
    assert repr(pb.tensor([1], dtype=pb.int8)) == "tensor([1], dtype=int8)"
    assert repr(pb.tensor([1j])) == "tensor([0.+1.j], dtype=complex128)"


def test_an_interior_tensor_names_the_node_that_made_it():
    x = pb.tensor([1.0], requires_grad=True)
    assert repr(x * 2) == "tensor([2.], grad_fn=<MulBackward0>)"
    assert repr((x * 2).detach()) == "tensor([2.])"


def test_empty_tensors_tell_their_shape_and_dtype():
    assert repr(pb.tensor([])) == "tensor([])"
    assert repr(pb.zeros((2, 0))) == "tensor([], shape=(2, 0))"
    assert repr(pb.zeros((0,), dtype=pb.int64)) == "tensor([], dtype=int64)"


def test_a_large_tensor_is_summarised():
    text = repr(pb.zeros((1000, 1000)))
    assert "..." in text and len(text) < 600


def test_numpys_print_options_count():
    with np.printoptions(precision=2):
        assert repr(pb.tensor([1 / 3])) == "tensor([0.33])"


def test_what_does_not_fit_on_the_last_line_gets_a_line_of_its_own():
    x = pb.tensor([1.0] * 15, requires_grad=True)
    lines = repr(x).split("\n")
    assert lines[-1] == "       requires_grad=True)" and all(len(line) <= 75 for line in lines)


def test_printing_a_view_after_a_write_to_its_base_shows_the_rebuilt_history():
    base = pb.tensor([1.0, 2.0], requires_grad=True) * 1
    view = base[:1]
    base.mul_(3)
    assert repr(view).startswith("tensor([3.], grad_fn=<") and "Invalid" not in repr(view)


def test_a_view_whose_history_is_lost_says_so_and_does_not_raise():
    class Slice(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return pb.concat([g, pb.zeros(1)])

    base = pb.tensor([1.0, 2.0], requires_grad=True) * 1
    view = Slice.apply(base)
    with pb.no_grad():
        base.mul_(3)
    assert repr(view) == "tensor([3.], grad_fn=<Invalid>)"


def test_printing_warns_of_nothing():
    y = pb.tensor([1.0], requires_grad=True) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repr(y)
        format(y.sum(), ".2f")


def test_a_tensor_without_axes_is_formatted_like_its_number():
    assert f"{pb.tensor(3.14159):.2f}" == "3.14"
    assert f"{pb.tensor(7):03d}" == "007"
    assert f"{pb.tensor(0.1, dtype=pb.float32)}" == "0.1"
    assert f"{pb.tensor(1.5, requires_grad=True):.1f}" == "1.5"


def test_a_tensor_with_axes_has_no_format_but_the_plain_one():
    x = pb.tensor([1.0, 2.0])
    assert f"{x}" == repr(x)
    with pytest.raises(TypeError, match="format"):
        f"{x:.2f}"
