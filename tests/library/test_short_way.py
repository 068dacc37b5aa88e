"""The short way of plain calls means what the long way means."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import add_observer, remove_observer
from pullback.library import AliasError, KernelResultError, custom_op
from pullback.library._fast import FastOperatorNode
from pullback.testing import assert_close

_count = itertools.count()


def product(**formula):
    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    made = custom_op(f"short::op{next(_count)}", f, mutates_args=())
    made.register_autograd(formula.get("backward", backward), setup_context=formula.get("setup", setup))
    return made


def setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, g):
    x, y = ctx.saved_tensors
    return g * y, g * x


@pytest.fixture(params=["short", "long"])
def way(request):
    if request.param == "short":
        yield request.param
        return

    def observer(*event):
        pass

    add_observer(observer)
    yield request.param
    remove_observer(observer)


def leaves():
    return pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 5.0], requires_grad=True)


def test_the_short_way_is_taken(way):
    x, y = leaves()
    assert isinstance(product()(x, y).grad_fn, FastOperatorNode) is (way == "short")


def test_gradients(way):
    x, y = leaves()
    made = product()
    made(x * 2, y).sum().backward()
    assert_close(x.grad, 2 * y.detach())
    assert_close(y.grad, 2 * x.detach())
    assert pb.autograd.gradcheck(made, (x, y)) and pb.autograd.gradgradcheck(made, (x, y))
    assert made(x.detach(), y.detach()).grad_fn is None
    assert made(x, 2 * pb.ones(2)).grad_fn.next_functions[1] == (None, 0)


def test_broadcasting_is_undone_and_dtypes_are_cast(way):
    x = pb.ones((2, 3)).requires_grad_()
    y = pb.ones(3, dtype=pb.float32).requires_grad_()
    product()(x, y).sum().backward()
    assert_close(y.grad, np.full(3, 2.0, np.float32))
    assert y.grad.dtype == pb.float32


def test_a_graph_is_used_twice_only_if_kept(way):
    x, y = leaves()
    out = product()(x, y)
    node = out.grad_fn
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    assert_close(x.grad, 2 * y.detach())
    with pytest.raises(RuntimeError, match="retain_graph"):
        out.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        _ = node.saved_tensors


@pb.autograd.overwrite_policy("raise")
def test_writes_to_saved_values_are_noticed(way):
    x, y = leaves()
    h = y * 1
    out = product()(x, h)
    h.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_hooks_and_names(way):
    x, y = leaves()
    made = product()
    out = made(x, y)
    seen = []
    out.register_hook(lambda g: seen.append("tensor"))
    out.grad_fn.register_prehook(lambda gs: seen.append("pre"))
    out.grad_fn.register_hook(lambda results, gs: seen.append("post"))
    out.sum().backward()
    assert seen == ["tensor", "pre", "post"]
    assert out.grad_fn.op is made and out.grad_fn.name().startswith("GeneratedBackwardFor_short_")


def test_what_else_a_setup_may_say(way):
    def unusual(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[0], output, None)
        ctx.factor = ctx.needs_input_grad

    def formula(ctx, g):
        x, out, nothing = ctx.saved_tensors
        assert nothing is None and ctx.factor == (True, True) == ctx.needs_input_grad
        return g * out / x, g * x

    x, y = leaves()
    made = product(setup=unusual, backward=formula)
    made(x, y).sum().backward()
    assert_close(x.grad, y)
    assert pb.autograd.gradgradcheck(made, leaves(), check_undefined_grad=False)
    constant = product(setup=lambda ctx, inputs, output: ctx.mark_non_differentiable(output))
    assert not constant(x, y).requires_grad


def test_some_inputs_only(way):
    x, y = leaves()
    seen = []

    def formula(ctx, g):
        seen.append(ctx.needs_input_grad)
        return backward(ctx, g)

    made = product(backward=formula)
    (gradient,) = pb.autograd.grad(made(x, y).sum(), (y,))
    assert_close(gradient, x)
    assert seen == [(False, True)]


@pytest.mark.parametrize("returned", [lambda g: (g, 3.0), lambda g: (g, np.ones(2)), lambda g: (g, g, g), lambda g: g])
def test_wrong_returns(way, returned):
    with pytest.raises(RuntimeError, match="the backward of short::op"):
        product(backward=lambda ctx, g: returned(g))(*leaves()).sum().backward()


def test_a_gradient_is_read_only_and_may_be_returned_as_it_is(way):
    def writes(ctx, g):
        g.numpy()[0] = 5
        return g, g

    x, y = leaves()
    with pytest.raises((ValueError, RuntimeError), match="read-only"):
        product(backward=writes)(x, y).sum().backward()
    product(backward=lambda ctx, g: (g, None))(x, y).sum().backward()
    assert_close(x.grad, [1.0, 1.0])
    assert y.grad is None


def test_modes_inside(way):
    seen = []

    def formula(ctx, g):
        seen.append(pb.is_grad_enabled())
        return backward(ctx, g)

    x, y = leaves()
    out = product(backward=formula)(x, y).sum()
    out.backward(retain_graph=True)
    out.backward(create_graph=True)
    assert seen == [False, True] and pb.is_grad_enabled()


def test_a_kernel_that_raises_leaves_the_modes(way):
    def f(x: np.ndarray) -> np.ndarray:
        raise KeyError("x")

    made = custom_op(f"short::op{next(_count)}", f, mutates_args=())
    with pytest.raises(KeyError):
        made(leaves()[0])
    assert pb.is_grad_enabled()


def test_saved_values_are_freed_with_the_graph(way):
    x, y = leaves()
    h = y * 1
    alive = weakref.ref(h._data)
    out = product()(x, h)
    del h
    gc.collect()
    assert alive() is not None
    node = out.grad_fn
    out.sum().backward()
    gc.collect()
    assert alive() is None and node is not None


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1), (1, 1)])
def test_arguments_are_saved_in_any_order(way, order):
    found = []

    def save(ctx, inputs, output):
        ctx.save_for_backward(*[inputs[index] for index in order])

    def formula(ctx, g):
        found.extend(ctx.saved_tensors)
        return g * 2, g * 3

    x, y = leaves()
    product(setup=save, backward=formula)(x, y).sum().backward()
    assert [each.tolist() for each in found] == [(x, y)[index].tolist() for index in order]
    assert_close(x.grad, [2.0, 2.0])
    assert_close(y.grad, [3.0, 3.0])


def test_a_result_of_another_shape_than_the_first_argument(way):
    def first(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x[:1] * y[:1]).astype(np.float32)

    made = custom_op(f"short::op{next(_count)}", first, mutates_args=())
    made.register_autograd(lambda ctx, g: (pb.concat([g, g]) * 1.0, None))
    x, y = leaves()
    out = made(x, y)
    assert out.shape == (1,) and out.dtype == pb.float32
    out.backward(pb.ones(1, dtype=pb.float32))
    assert x.grad.dtype == pb.float64 and x.grad.shape == (2,) and y.grad is None


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_any_number_of_arguments(way, count):
    names = [f"x{k}" for k in range(count)]
    scope = {"np": np}
    parameters = ", ".join(f"{name}: np.ndarray" for name in names)
    exec(f"def f({parameters}) -> np.ndarray: return 1 * {' * '.join(names)}", scope)
    made = custom_op(f"short::op{next(_count)}", scope["f"], mutates_args=())

    def formula(ctx, g):
        saved = ctx.saved_tensors
        assert ctx.needs_input_grad == tuple(k != 1 for k in range(count)) and saved == ctx.saved_tensors
        found = []
        for k in range(count):
            others = g
            for j in range(count):
                others = others * saved[j] if j != k else others
            found.append(others)
        return tuple(found)

    made.register_autograd(formula, setup_context=setup)
    inputs = [pb.tensor([k + 1.0, k + 2.0], requires_grad=k != 1) for k in range(count)]
    out = made(*inputs)
    assert isinstance(out.grad_fn, FastOperatorNode) is (way == "short")
    out.sum().backward()
    for k, x in enumerate(inputs):
        expected = np.prod([each.detach().numpy() for each in inputs[:k] + inputs[k + 1 :]], axis=0) * np.ones(2)
        assert x.grad is None if k == 1 else x.grad.tolist() == expected.tolist()


def _owner(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y.base


def _itself(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x


def _part(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y[:1]


def _names(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array(["a", "b"])


def _write(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    y += 1
    return x * y


@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        (_owner, AliasError), (_itself, AliasError), (_part, AliasError), (_names, KernelResultError),
        (_write, ValueError),
    ],
)
@pytest.mark.parametrize("is_recorded", [True, False])
def test_wrong_kernels(way, kernel, error, is_recorded):
    made = custom_op(f"short::op{next(_count)}", kernel, mutates_args=())
    x, y = leaves() if is_recorded else (pb.ones(2), pb.ones(2))
    before = y.tolist()
    for _ in range(2):
        with pytest.raises(error):
            made(x, y)
    assert y.tolist() == before and y.detach().numpy().flags.writeable and pb.is_grad_enabled()


@pytest.mark.parametrize("name", ["next", "seq", "rare", "spec", "_call", "saved_tensors"])
def test_a_setup_can_not_assign_fields_of_the_node(way, name):
    def save(ctx, inputs, output):
        ctx.mine = 3
        with pytest.raises(AttributeError, match="cannot be assigned"):
            setattr(ctx, name, None)

    x, y = leaves()
    out = product(setup=save, backward=lambda ctx, g: (g * ctx.mine, None))(x, y)
    out.sum().backward()
    assert_close(x.grad, [3.0, 3.0])


def test_a_registration_takes_effect_at_the_next_call(way):
    x, y = leaves()
    made = product()
    old = made(x, y)
    made.register_autograd(lambda ctx, g: (g * 7, None))
    new = made(x, y)
    old.sum().backward()
    assert_close(x.grad, y.detach())
    x.grad = None
    new.sum().backward()
    assert_close(x.grad, [7.0, 7.0])
    made.register_kernel("cpu", lambda x, y: x + y)
    assert made(x, y).tolist() == [4.0, 7.0]


def test_a_saved_value_stays_when_the_argument_is_given_other_data(way):
    x, y = leaves()
    out = product()(x, y)
    y.data = pb.tensor([100.0, 100.0])
    out.sum().backward()
    assert_close(x.grad, [3.0, 5.0])


@pytest.mark.parametrize("part", [lambda b: b[1:], lambda b: b.reshape(4), lambda b: b.T, lambda b: b[0][::2]])
@pytest.mark.parametrize("write", ["nothing", "the base before", "the view before", "the base after", "beside after"])
def test_views_as_arguments(way, part, write):
    def run(op):
        base = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        b = base * 2
        x = part(b)
        if write == "the base before":
            b.mul_(3)
        elif write == "the view before":
            x.mul_(3)
        out = op(x, x.detach() + 1)
        if write == "the base after":
            b.mul_(3)
        elif write == "beside after":
            b[0, 1:].mul_(5)
        (out.sum() + (b * b).sum()).backward()
        return base.grad

    with pb.autograd.overwrite_policy("preserve"):
        assert_close(run(product()), run(lambda x, y: x * y))


def test_the_fast_path_takes_views(way):
    b = pb.ones(3, requires_grad=True) * 2
    out = product()(b[1:], b[:2])
    assert isinstance(out.grad_fn, FastOperatorNode) is (way == "short")
    assert pb.autograd.gradgradcheck(lambda x: product()(x[1:], x[:-1]), (pb.ones(3, requires_grad=True),))
