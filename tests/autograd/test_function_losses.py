"""Custom Functions that return arrays, numbers or lists, and take lists: no gradient is lost without a word."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.function import Function
from pullback.errors import AutogradError, DetachedWarning


def custom(forward, backward):
    """`apply` of a Function with these two static methods."""
    return type("Custom", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def code_of(function, *args):
    with pytest.raises(AutogradError) as caught:
        function(*args)
    return caught.value.code


class Exponential(Function):
    @staticmethod
    def forward(x):
        return np.exp(x.numpy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        assert isinstance(output, pb.Tensor)
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info, in_dims, x):
        return np.exp(x.detach().numpy()), in_dims[0]


def test_an_array_that_forward_returns_is_made_by_the_function():
    x = pb.tensor([0.5, 1.0], requires_grad=True)
    y = Exponential.apply(x)
    assert isinstance(y, pb.Tensor) and y.grad_fn is not None
    (x.sum() + y.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 + np.exp([0.5, 1.0]))


def test_an_array_that_forward_returns_is_differentiated_in_transforms_and_when_compiled():
    values = np.array([0.5, 1.0])

    def loss(x):
        return x.sum() + Exponential.apply(x).sum()

    expected = 1 + np.exp(values)
    np.testing.assert_allclose(pb.func.grad(loss)(values).numpy(), expected)
    np.testing.assert_allclose(pb.func.jvp(loss, (pb.tensor(values),), (pb.ones(2),))[1].item(), expected.sum())
    np.testing.assert_allclose(pb.func.vmap(Exponential.apply)(np.stack([values, values])).numpy()[1], np.exp(values))
    x = pb.tensor(values, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a forward on arrays is not compiled
        pb.compile(loss)(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_numbers_of_numpys_and_tuples_of_arrays_are_tensors_too():
    class Moments(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.values = x.numpy()
            return np.sum(ctx.values**2), ctx.values * 3, np.asarray(2), "text"

        @staticmethod
        def backward(ctx, g_sum, g_triple, g_count, g_text):
            assert g_text is None
            return 2 * g_sum * ctx.values + 3 * g_triple

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    total, triple, count, text = Moments.apply(x)
    assert count.dtype == np.int64 and not count.requires_grad and text == "text"
    (total + triple.sum()).backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_an_array_on_the_memory_of_an_argument_is_copied():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = custom(lambda ctx, x: x.numpy()[::-1], lambda ctx, g: g.flip(0))(x)
    with pb.no_grad():
        y.mul_(5.0)
    assert x.tolist() == [1.0, 2.0]


def test_a_number_alone_and_tensors_in_lists_are_not_lost_silently():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert code_of(custom(lambda ctx, x: float(x.sum()), lambda ctx, g: g), x) == "FN_NUMBER"
    for take, parts in [(lambda ctx, parts: parts[0] * 2, [x]), (lambda ctx, parts: parts["a"] * 2, {"a": x * 1})]:
        with pytest.warns(DetachedWarning, match="inside of a list") as caught:
            assert not custom(take, lambda ctx, g: g)(parts).requires_grad
        assert caught[0].filename == __file__
    with pytest.warns(DetachedWarning, match="return a tuple"):
        custom(lambda ctx, x: [x * 2], lambda ctx, g: g)(x)
    assert custom(lambda ctx, x: float(x.sum()), lambda ctx, g: g)(x.detach()) == 3.0
    assert custom(lambda ctx, x: (x * 2, 0.5), lambda ctx, g, _: g)(x)[1] == 0.5
    assert custom(lambda ctx, parts: parts[0] * 2, lambda ctx, g: g)([x.detach()]).tolist() == [2.0, 4.0]


def test_lists_of_tensors_are_batched_argument_by_argument():
    seen = []

    class Total(Function):
        @staticmethod
        def forward(parts, factor):
            return parts[0] * factor + parts[1]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, parts, factor):
            seen.append((in_dims, [part.shape for part in parts]))
            return [parts[0] * factor, parts[1]], [0, None]

    x = pb.tensor([1.0, 2.0, 3.0])
    first, second = pb.func.vmap(lambda a: Total.apply([a, pb.tensor(5.0)], 2.0), out_dims=0)(x)
    assert seen == [(([0, None], None), [(3,), ()])]
    assert first.tolist() == [2.0, 4.0, 6.0] and second.tolist() == [5.0, 5.0, 5.0]

    class Looped(Total):
        generate_vmap_rule = "loop"
        vmap = Function.vmap

    assert pb.func.vmap(lambda a: Looped.apply([a, a], 2.0))(x).tolist() == [3.0, 6.0, 9.0]

    class Pair(Function):
        generate_vmap_rule = "loop"

        @staticmethod
        def forward(ctx, a):
            return a * 2, a.sum()

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h

    matrix = pb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    doubled, sums = pb.func.vmap(Pair.apply)(matrix)
    assert doubled.tolist() == [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0]] and sums.tolist() == [3.0, 7.0, 11.0]
    (doubled.sum() + sums.sum()).backward()
    assert matrix.grad.tolist() == [[3.0, 3.0]] * 3
