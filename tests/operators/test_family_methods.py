"""Methods for functions of namespaces, and in-place twins of functions that are no operators."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.operators import functions
from pullback.operators.family_methods import inplace_methods, members
from pullback.testing import assert_close

X = np.array([[0.25, 0.75], [0.5, 0.125]])
ARGUMENTS = {
    "igamma": (0.5,), "igammac": (0.5,), "mvlgamma": (1,), "polygamma": (1,), "cumsum": (0,), "cumprod": (1,),
    "renorm": (2, 0, 0.5), "addbmm": (np.ones((3, 2, 4)), np.ones((3, 4, 2))), "addmv": (np.ones((2, 3)), np.ones(3)),
    "addr": (np.ones(2), np.ones(2)), "baddbmm": (np.ones((1, 2, 3)), np.ones((1, 3, 2))),
    "matrix_power": (2,), "cholesky_solve": (np.eye(2),),
    **dict.fromkeys(("eq", "ge", "greater", "greater_equal", "gt", "le"), (0.5,)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (0.5,)),
    **dict.fromkeys(("less", "less_equal", "lt", "ne", "not_equal"), (0.5,)),
}  # fmt: skip
SPECIAL = {"digamma", "erf", "erfc", "erfinv", "i0", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma", "sinc"}


def value_for(name):
    """An array that the function takes."""
    if name == "addmv":
        return X[0]
    if name == "baddbmm":
        return X[None]
    return np.array([4, 6]) if name in ("gcd", "lcm") else X + 1 if name == "mvlgamma" else X


def function_of(name):
    if name == "polygamma":
        return lambda x, n: pb.special.polygamma(n, x)
    return getattr(pb.special, name) if name in SPECIAL else functions[name]


@pytest.mark.parametrize("name", [name.removesuffix("_") for name in inplace_methods])
def test_a_twin_writes_what_the_function_gives_with_its_derivative(name):
    values = value_for(name)
    arguments = (6,) if name in ("gcd", "lcm") else ARGUMENTS.get(name, ())
    x = pb.tensor(values, requires_grad=values.dtype.kind == "f")
    expected = function_of(name)(x, *arguments)
    written = x.clone()
    before = written._version
    assert getattr(written, f"{name}_")(*arguments) is written and written._version > before
    assert_close(written.detach(), expected.detach().astype(values.dtype))
    if expected.requires_grad:
        weight = pb.tensor(np.arange(1.0, values.size + 1).reshape(values.shape))
        ours, theirs = (pb.autograd.grad((out * weight).sum(), x)[0] for out in (written, expected))
        assert_close(ours, theirs)


@pytest.mark.parametrize("name", members)
def test_a_method_is_the_function_of_the_namespace(name):
    target = {"inverse": "inv", "pinverse": "pinv"}.get(name, name)
    arguments = ARGUMENTS.get(name, ())
    x = value_for(name) if name in SPECIAL else np.array([[2.0, 0.5], [0.5, 1.0]])
    if name in SPECIAL:
        expected = function_of(name)(x, *arguments)
    else:
        expected = getattr(pb.linalg, target)(x, *arguments)
    found = getattr(pb.tensor(x), name)(*arguments)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        assert_close(ours, theirs)


def test_a_twin_refuses_what_the_tensor_can_not_hold():
    with pytest.raises(TypeError, match="cast"):
        pb.tensor([1, 2]).digamma_()
    with pytest.raises(ValueError, match="shape"):
        pb.ones(2).eq_(pb.ones(3, 2))
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        x.erf_()


def test_names_of_torch_at_the_top_level():
    assert pb.erf is pb.special.erf and pb.lgamma is pb.special.lgamma and pb.det is pb.linalg.det


def test_sections_that_are_copies():
    x = pb.tensor(np.arange(9.0), requires_grad=True)
    parts = pb.unsafe_split(x, 4)
    assert [part.shape[0] for part in parts] == [4, 4, 1] and not any(part._is_view() for part in parts)
    (parts[0].square_().sum() + parts[2].sum()).backward()
    assert_close(x.grad, [0, 2, 4, 6, 0, 0, 0, 0, 1])
    assert [part.shape for part in pb.unsafe_chunk(pb.ones(5, 2), 2)] == [(3, 2), (2, 2)]


def test_summing_undoes_broadcasting():
    x = pb.tensor(np.arange(12.0).reshape(2, 3, 2), requires_grad=True)
    for size in [(3, 2), (1, 3, 1), (2, 1, 2), (), (1,), (2, 3, 2)]:
        out = x.sum_to_size(size)
        assert out.shape == size
        zeros = pb.zeros(size, requires_grad=True)
        (expected,) = pb.autograd.grad(pb.broadcast_to(zeros, x.shape), zeros, x.detach())
        assert_close(out.detach(), expected)
    with pytest.raises(ValueError, match="broadcast"):
        x.sum_to_size(4, 2)


def test_long_slices_are_shortened():
    x = pb.tensor([[3.0, 4.0], [0.3, 0.4]], requires_grad=True)
    assert_close(pb.renorm(x, 2, 0, 1.0), [[0.6, 0.8], [0.3, 0.4]])
    assert pb.autograd.gradcheck(lambda x: pb.renorm(x, 3, 1, 1.0), (x,), check_forward_ad=True)


def test_torchs_questions_about_shapes_and_casts():
    x = pb.zeros((2, 3), dtype=pb.float32)
    assert (x.dim(), x.ndimension(), x.nelement(), x.element_size()) == (2, 2, 6, 4)
    assert [each.dtype for each in (x.byte(), x.char(), x.short())] == [np.uint8, np.int8, np.int16]
    assert x.type_as(pb.ones(1)).dtype == np.float64
    index = pb.tensor([[1, 0], [0, 2]])
    m = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert pb.take_along_dim(m, index, 1).tolist() == [[2, 1], [4, 6]]
    assert m.take_along_dim(pb.tensor([5, 0])).tolist() == [6, 1]


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_", "eq_", "lt_"])
def test_truth_values_written_into_real_numbers_have_no_history(name):
    leaf = pb.tensor([0.0, 2.0], requires_grad=True)
    x = leaf * 1
    out = getattr(x, name)(*([] if name == "logical_not_" else [pb.tensor([1.0, 0.0])]))
    assert out is x and x.dtype == leaf.dtype
    (x * leaf).sum().backward()
    assert leaf.grad.tolist() == x.tolist()
