"""What compiled functions may use: transforms, forward mode, random numbers, checkpoints, NumPy functions."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.core.pytree import flatten
from pullback.utils.checkpoint import create_selective_checkpoint_contexts


def compiled_equals_eager(function, *arrays):
    """The results of both, after comparing them."""
    compiled = pb.compile(function, fallback="raise")
    got, _ = flatten(compiled(*map(pb.tensor, arrays)))
    again, _ = flatten(compiled(*map(pb.tensor, arrays)))
    expected, _ = flatten(function(*map(pb.tensor, arrays)))
    assert compiled.cache_info()[:2] == (1, 1)
    assert len(got) == len(expected)
    for mine, repeated, theirs in zip(got, again, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(repeated.numpy(), mine.numpy())
    return got


def cube(x):
    return (x**3).sum()


def written(x):
    h = pb.zeros((3,))
    h[0] = x[0] * x[1]
    h[1:] += x[:2] ** 2
    return h


def with_dual(x):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x * 2)
        return forward_ad.unpack_dual(pb.sin(dual) * dual).tangent


TRANSFORMS = {
    "grad": pb.func.grad(cube),
    "grad_and_value": pb.func.grad_and_value(cube),
    "grad of grad": pb.func.grad(lambda x: pb.func.grad(cube)(x).sum()),
    "vjp": lambda x: pb.func.vjp(written, x)[1](pb.ones(3)),
    "jvp": lambda x: pb.func.jvp(written, (x,), (x,)),
    "jacrev": pb.func.jacrev(written),
    "jacfwd": pb.func.jacfwd(written),
    "hessian": pb.func.hessian(cube),
    "hvp": lambda x: pb.func.hvp(cube, (x,), (x,)),
    "linearize": lambda x: pb.func.linearize(written, x)[1](x),
    "autograd.grad": lambda x: pb.autograd.grad(cube(x.requires_grad_()), x)[0],
    "dual level": with_dual,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_traced_through(name):
    compiled_equals_eager(TRANSFORMS[name], np.array([1.0, 2.0, -1.5]))


VMAPS = {
    "elementwise": pb.vmap(lambda row: pb.tanh(row) * row.sum()),
    "gradients per example": pb.vmap(pb.func.grad(cube)),
    "hessians per example": pb.vmap(pb.func.hessian(cube)),
    "writes": pb.vmap(written),
    "products": pb.vmap(lambda row: pb.outer(row, row) @ row),
    "columns": pb.vmap(lambda column: column.cumsum(axis=0), in_dims=1, out_dims=1),
    "nested": pb.vmap(pb.vmap(lambda x: x * x + 1)),
    "of what is outside": lambda x: pb.vmap(lambda row: row @ x.T)(x),
    "grad around": pb.func.grad(lambda x: pb.vmap(cube)(x).sum()),
    "sorted": pb.vmap(lambda row: pb.sort(row)[::-1]),
}


@pytest.mark.parametrize("name", VMAPS)
def test_vmap_is_traced_through(name):
    compiled_equals_eager(VMAPS[name], np.random.default_rng(3).normal(size=(4, 3)))


def test_numpy_functions_are_traced():
    compiled_equals_eager(lambda x: np.sin(x) + np.concatenate([x, x])[:3] * np.float32(2), np.arange(3.0))


def draw(x):
    noise = pb.random.normal(size=x.shape)
    kept = pb.random.random(x.shape) > 0.5
    return pb.where(kept, x + noise, 0.0)


def test_random_numbers_are_drawn_in_every_call_from_the_same_stream():
    compiled = pb.compile(draw, fallback="raise")
    x = pb.ones(5)
    pb.random.manual_seed(0)
    expected = [draw(x), draw(x), pb.random.random(2)]
    pb.random.manual_seed(0)
    got = [compiled(x), compiled(x), pb.random.random(2)]
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_tracing_alone_draws_nothing():
    pb.random.manual_seed(0)
    before = pb.random.get_state()
    pb.aot.trace(draw, pb.ones(5))
    assert pb.random.get_state() == before


def test_a_checkpoint_is_computed_again_by_both_partitioners():
    def function(x):
        return pb.cos(pb.checkpoint(lambda x: pb.exp(pb.sin(x)), x)).sum()

    joint = pb.aot.joint_graph(function, pb.ones(4, requires_grad=True))
    for method in ("default", "min_cut"):
        split = pb.aot.partition(joint, method)
        assert [saved.name for saved in split.saved] == ["args[0]"]
        assert [node.op for node in split.recomputed] == ["sin", "exp"]


def test_a_policy_says_what_a_checkpoint_keeps():
    contexts = functools.partial(create_selective_checkpoint_contexts, [pb.matmul])

    def function(x):
        return pb.checkpoint(lambda x: pb.tanh(pb.tanh(x @ x) @ x), x, context_fn=contexts).sum()

    split = pb.aot.partition(pb.aot.joint_graph(function, pb.ones((2, 2), requires_grad=True)))
    assert [saved.name for saved in split.saved] == ["args[0]", "matmul", "matmul_1"]
    assert [node.op for node in split.recomputed] == ["tanh", "tanh"]


def test_random_numbers_in_a_checkpoint_are_the_same_in_backward():
    def function(x):
        return pb.checkpoint(lambda x: pb.where(pb.random.random(x.shape) > 0.5, x * x, 0.0), x).sum()

    compiled = pb.compile(function, fallback="raise")
    gradients = []
    for each in (compiled, function):
        x = pb.ones(20, requires_grad=True)
        pb.random.manual_seed(3)
        each(x).backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_array_equal(*gradients)
    assert 0 < gradients[0].sum() < 40


class Rounded(pb.autograd.Function):
    """Rounds, and lets gradients through as if it did not."""

    @staticmethod
    def forward(ctx, x):
        return pb.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


class Scaled(pb.autograd.Function):
    """A square with a formula of its own for the gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x


@pytest.mark.parametrize("function", [lambda x: (Rounded.apply(x) ** 3).sum(), lambda x: (Scaled.apply(x) * x).sum()])
def test_higher_derivatives_use_the_formulas_of_functions(function):
    derivatives = []
    for each in (function, pb.compile(function, fallback="raise")):
        x = pb.tensor([1.2, 2.0, -3.0], requires_grad=True)
        (first,) = pb.autograd.grad(each(x), x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = pb.autograd.grad(second.sum(), x)
        derivatives.append([t.detach().numpy() for t in (first, second, third)])
    for mine, theirs in zip(*derivatives, strict=True):
        np.testing.assert_array_equal(mine, theirs)


class Flattened(pb.autograd.Function):
    """A view with a formula of its own."""

    @staticmethod
    def forward(ctx, x):
        return x.reshape(-1)

    @staticmethod
    def backward(ctx, g):
        return g.reshape(2, 2) * 0.5


def returned_after_a_write(x):
    y = x * 2
    view = Flattened.apply(y)
    y.mul_(3)
    return view


def returned_after_a_write_to_the_argument(x):
    view = Flattened.apply(x)
    x.mul_(3)
    return view


@pytest.mark.parametrize("function", [returned_after_a_write, returned_after_a_write_to_the_argument])
def test_a_view_that_lost_its_history_falls_back_to_eager_code(function):
    """Eager code raises when somebody asks for the history of the view."""
    x = pb.ones((2, 2), requires_grad=True)
    with pytest.raises(pb.aot.TraceError, match="lost its history"):
        pb.compile(function, fallback="raise")(x * 1)
    with pytest.warns(UserWarning, match="runs without being compiled"):
        view = pb.compile(function)(x * 1)
    assert view.tolist() == function(x * 1).tolist()
    with pytest.raises(pb.autograd.AutogradError, match="VIEW_CUSTOM"):
        view.sum().backward()


BROADCASTS = {
    "sum": lambda s: np.ones(5) + s,
    "copy": lambda s: pb.broadcast_to(s, (2, 3)).clone(),
    "rows": lambda s: pb.broadcast_to(s * np.arange(3.0), (2, 3)).clone(),
    "columns": lambda s: pb.broadcast_to((s * np.arange(2.0))[:, None], (2, 3)).clone(),
    "written": lambda s: pb.zeros(3).copy_(s) * s,
    "expanded": lambda s: s.expand(4).contiguous() * s,
}


@pytest.mark.parametrize("transform", [pb.func.jacfwd, pb.func.jacrev, lambda f: pb.func.jacfwd(pb.func.jacfwd(f))])
@pytest.mark.parametrize("name", BROADCASTS)
def test_a_copy_of_what_is_repeated_needs_no_values(name, transform):
    s = pb.tensor(1.5)
    jacobian = transform(BROADCASTS[name])
    given = pb.compile(jacobian, fallback="raise")(s)
    np.testing.assert_allclose(given.numpy(), jacobian(s).numpy())


@pytest.mark.parametrize("function", [lambda x: pb.quantile(x, x[0]), lambda x: x[x[0].astype(int) :]])
def test_a_value_that_the_package_itself_asks_for_is_told_as_such(function):
    with pytest.raises(pb.aot.ConcretizationError, match="inside of Pullback"):
        pb.compile(function, fallback="raise", live=False)(pb.ones(3))
    given = pb.tensor([0.25, 0.5, 1.0])
    np.testing.assert_array_equal(pb.compile(function, fallback="raise")(given).numpy(), function(given).numpy())


@pytest.mark.parametrize("function", [lambda x: x.item(), lambda x: np.asarray(x), lambda x: 1 if x else 2])
def test_a_value_that_the_line_asks_for_is_its_own(function):
    with pytest.raises(pb.aot.ConcretizationError) as raised:
        pb.compile(function, fallback="raise", live=False)(pb.ones(1))
    assert "inside of Pullback" not in str(raised.value)
