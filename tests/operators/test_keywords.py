"""Keywords of arithmetic functions and of reductions."""

import inspect

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

DATA = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
MASK = np.array([[True, False, True], [False, True, True]])


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def test_alpha_scales_the_second_operand():
    x, y = leaf([1.0, 2.0]), leaf([10.0, 20.0])
    out = pb.add(x, y, alpha=3)
    assert_close(out, [31.0, 62.0])
    out.sum().backward()
    assert_close(y.grad, [3.0, 3.0])
    assert_close(x.sub(y, alpha=0.5), [-4.0, -8.0])
    assert_close(pb.sub(5, pb.tensor([1.0]), alpha=2), [3.0])
    z = pb.tensor([1.0])
    assert z.add_([2.0], alpha=4) is z
    assert_close(z, [9.0])
    assert_close(z.sub_(1.0), [8.0])


def test_rounding_mode_of_divide():
    x = np.array([7.0, -7.0, 6.0])
    assert_close(pb.divide(x, 2.0), x / 2)
    assert_close(pb.div(x, 2.0, rounding_mode="floor"), np.floor(x / 2))
    assert_close(pb.div(x, 2.0, rounding_mode="trunc"), np.trunc(x / 2))
    assert_close(pb.tensor([7, -7, -6]).div(2, rounding_mode="trunc"), [3, -3, -3])
    assert pb.tensor([7]).div(2, rounding_mode="trunc").dtype == np.int64
    large = 2**62 + 1
    assert pb.div([large], 1, rounding_mode="trunc").item() == large
    y = pb.tensor(x)
    assert y.div_(2.0, rounding_mode="trunc") is y
    assert_close(y, [3.0, -3.0, 3.0])
    with pytest.raises(ValueError, match="rounding_mode"):
        pb.div(x, 2.0, rounding_mode="up")


def test_a_rounded_quotient_has_gradient_zero():
    x = leaf([7.0])
    pb.div(x, 2.0, rounding_mode="trunc").sum().backward()
    assert_close(x.grad, [0.0])


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_where_and_initial_equal_numpy(axis, keepdims):
    for name in ("sum", "prod", "max", "min"):
        ours, theirs = getattr(pb, name), getattr(np, name)
        options = {"initial": 2.0, "where": MASK}
        assert_close(ours(DATA, axis, keepdims, **options), theirs(DATA, axis, keepdims=keepdims, **options))
        assert_close(ours(DATA, axis, keepdims, initial=4.5), theirs(DATA, axis, keepdims=keepdims, initial=4.5))
    for name in ("all", "any", "mean"):
        got = getattr(pb.tensor(DATA), name)(axis, keepdims, where=MASK)
        assert_close(got, getattr(np, name)(DATA, axis, keepdims=keepdims, where=MASK))


def test_what_is_not_chosen_has_gradient_zero():
    for name, options in (("sum", {}), ("mean", {}), ("max", {"initial": -9.0}), ("prod", {"initial": 2.0})):
        x = leaf(DATA)
        getattr(pb, name)(x, where=MASK, **options).backward()
        assert (x.grad.numpy()[~MASK] == 0).all()
        assert (x.grad.numpy()[MASK] != 0).any()


def test_the_initial_value_is_differentiable():
    assert gradcheck(lambda x, s: pb.sum(x, 0, where=MASK, initial=s), (leaf(DATA), leaf(0.5)))
    assert gradcheck(lambda x, s: pb.prod(x, 1, initial=s), (leaf(DATA), leaf(0.5)))


def test_the_largest_of_nothing_is_the_initial_value():
    assert_close(pb.max(np.zeros((2, 0)), 1, initial=3.0), [3.0, 3.0])
    assert_close(pb.min(np.zeros((0,), int), initial=3), 3)
    assert_close(pb.max([[1, 2]], dim=1, keepdim=True, initial=0), [[2]])
    with pytest.raises(ValueError, match="initial"):
        pb.max(DATA, where=MASK)
    with pytest.raises(TypeError, match="initial"):
        pb.all(DATA, initial=True)
    with pytest.raises(TypeError, match="truth"):
        pb.sum(DATA, where=DATA)


def test_numpys_reductions_hand_these_keywords_on():
    x = leaf(DATA)
    out = np.sum(x, axis=0, where=MASK, initial=1.0)
    assert_close(out, np.sum(DATA, axis=0, where=MASK, initial=1.0))
    out.sum().backward()
    assert_close(x.grad, MASK.astype(float))


def test_lists_and_old_spellings_still_work():
    assert_close(pb.sum([[1, 2], [3, 4]], dim=0, keepdim=True), [[4, 6]])
    assert_close(pb.tensor(DATA).sum(0, dtype=pb.float32), DATA.sum(0))
    assert_close(pb.max([3, 1, 2]), 3)
    assert_close(pb.mean([1, 2]), 1.5)


# Spellings

SPELLINGS = {"axis": {"dim", "dims"}, "keepdims": {"keepdim"}, "axes": {"dim", "dims"}}


@pytest.mark.parametrize("module", [pb, pb.fft, pb.linalg, pb.nn, pb.signal, pb.special], ids=lambda m: m.__name__)
def test_torch_spellings_of_axes_are_parameters_everywhere(module):
    missing = set()
    for name in module.__all__:
        function = getattr(module, name)
        parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
            continue  # hands its keywords on
        for first, seconds in SPELLINGS.items():
            if first in parameters and not seconds & set(parameters):
                missing.add((name, first))
    assert missing == ({("permute_dims", "axes"), ("permute", "axes")} if module is pb else set())
    assert pb.permute(pb.ones((2, 3)), dims=(1, 0)).shape == (3, 2)  # its door takes any number of positions


def test_torch_spellings_mean_the_same():
    x, rows = pb.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]), pb.tensor([1])
    for call in (
        lambda **axis: pb.take(x, rows, **axis),
        lambda **axis: x.diff(**axis),
        lambda **axis: pb.flip(x, **axis),
        lambda **axis: pb.roll(x, 1, **axis),
        lambda **axis: pb.percentile(x, 30.0, **axis),
        lambda **axis: pb.cumulative_sum(x, **axis),
        lambda **axis: pb.special.softmax(x, **axis),
        lambda **axis: pb.delete(x, 0, **axis),
    ):
        for axis in (0, 1):
            assert_close(call(dim=axis), call(axis=axis))
        with pytest.raises(TypeError):
            call(dim=0, axis=0)
    for mean in (pb.average, pb.nanmean):
        assert_close(mean(x, dim=1, keepdim=True), x.mean(axis=1, keepdims=True))
    assert_close(pb.tensordot(x, x.T, dims=1), x @ x.T)
    with pytest.raises(TypeError, match=r"^take\(\) got an unexpected keyword argument 'axes'"):
        pb.take(x, rows, axes=0)
    with pytest.raises(TypeError, match=r"^flip\(\) got"):
        pb.flip(x, wrong=0)


# Parameters without a derivative

SETTINGS = [
    lambda x, p: pb.linalg.vector_norm(x, ord=p), lambda x, p: pb.linalg.norm(x, p), lambda x, p: pb.norm(x, p),
    lambda x, p: pb.nn.layer_norm(x, (3,), eps=p), lambda x, p: pb.nn.rms_norm(x, (3,), eps=p),
    lambda x, p: pb.nn.leaky_relu(x, negative_slope=p), lambda x, p: pb.nn.elu(x, alpha=p),
    lambda x, p: pb.nn.hardshrink(x, lambd=p), lambda x, p: pb.nn.threshold(x, p, 0.0),
    lambda x, p: pb.nn.celu(x, alpha=p), lambda x, p: pb.dist(x, x + 1, p), lambda x, p: pb.nn.normalize(x, p, 0),
    lambda x, p: pb.cdist(x[None], x[None] + 1, p), lambda x, p: pb.pdist(pb.stack([x, x + 1]), p),
    lambda x, p: pb.nn.pairwise_distance(x, x + 1, p),
]  # fmt: skip


@pytest.mark.parametrize("function", SETTINGS, ids=range(len(SETTINGS)))
def test_a_parameter_without_derivative_refuses_what_is_differentiated(function):
    x, p = pb.tensor([1.0, 2.0, 4.0]), pb.tensor(1.5, requires_grad=True)
    with pytest.raises((TypeError, pb.autograd.AutogradError), match="derivative"):
        function(x, p)
    with pytest.raises((TypeError, pb.autograd.AutogradError), match="derivative"):
        pb.func.jvp(lambda p: function(x, p), (p.detach(),), (pb.tensor(1.0),))
    function(x, p.item())


def test_tolerances_may_be_tensors():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert pb.isclose(x, x * 1.05, rtol=x[0] * 0.1).all() and not pb.allclose(x, x * 1.05, atol=pb.tensor(1e-9))
