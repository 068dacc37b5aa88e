"""Custom operators are recorded, intercepted and observed as all other operators are."""

import functools
import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import add_observer, remove_observer
from pullback.library import custom_op, define, primitive
from pullback.testing import assert_close
from pullback.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

_count = itertools.count()


def name():
    return f"as_operators::op{next(_count)}"


def counted(function):
    """The function, and a list that grows with every call."""
    calls = []

    @functools.wraps(function)
    def run(*args):
        calls.append(args)
        return function(*args)

    return run, calls


def cube():
    def f(x: np.ndarray) -> np.ndarray:
        return x**3

    run, calls = counted(f)
    made = custom_op(name(), run, mutates_args=())
    made.register_autograd(
        lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return made, calls, lambda x: made(x)


def pieces():
    def f(xs: list[np.ndarray], s: float) -> list[np.ndarray]:
        return [x * s for x in xs]

    run, calls = counted(f)
    made = custom_op(name(), run, mutates_args=())
    made.register_autograd(
        lambda ctx, gs: ([g * ctx.s for g in gs], None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "s", inputs[1]),
    )
    return made, calls, lambda x: sum(made([x, x * x], 2.0))


def with_number():
    def f(x: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
        return x * 2, x.size, x**2

    run, calls = counted(f)
    made = custom_op(name(), run, mutates_args=())
    made.register_autograd(
        lambda ctx, a, n, b: 2 * a + 2 * ctx.saved_tensors[0] * b,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )

    def function(x):
        first, size, second = made(x)
        return first * size + second

    return made, calls, function


def several():
    run, calls = counted(lambda x: (np.sin(x), np.cos(x)))
    made = primitive(run, name=name())
    made.defvjp(lambda ans, x: lambda gs: gs[0] * ans[1] - gs[1] * ans[0])
    return made, calls, lambda x: made(x)[0] * made(x)[1]


def with_residuals():
    run, calls = counted(lambda x: np.exp(x))

    def fwd(x):
        out = run(x)
        return out, (out, out * 2)

    made = primitive(run, name=name())
    made.defvjp_all(fwd, lambda residuals, g: (g * residuals[0] + 0 * residuals[1],))
    return made, calls, lambda x: made(x)


MADE = [cube, pieces, with_number, several, with_residuals]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("how", ["list", "policy", "nothing"])
def test_a_selective_checkpoint_keeps_what_it_is_told_to(make, how):
    op, calls, function = make()
    seen = []

    def policy(ctx, op, *operands, **params):
        seen.append(op.name)
        return CheckpointPolicy.MUST_SAVE if how == "policy" else CheckpointPolicy.MUST_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, [op] if how == "list" else policy)
    x = pb.tensor([0.5, 2.0], requires_grad=True)
    out = checkpoint(lambda x: pb.tanh(function(x * 1)), x, use_reentrant=False, context_fn=contexts)
    before = len(calls)
    out.sum().backward()
    runs_again = len(calls) > before
    expected = pb.func.grad(lambda x: pb.tanh(function(x)).sum())(x.detach())
    assert_close(x.grad, expected)
    assert how == "list" or op.qualname in seen
    # The residuals of `defvjp_all` are not among the results, so its `fwd` runs again in any case.
    assert runs_again is (how == "nothing" or make is with_residuals)


@pytest.mark.parametrize("make", MADE)
def test_observers_see_a_call_and_the_number_of_its_node(make):
    op, _, function = make()
    seen = []

    def observer(*event):
        if event[1] == op.qualname:
            seen.append(event[:3])

    x = pb.tensor([0.5, 2.0], requires_grad=True)
    add_observer(observer)
    try:
        function(x)
        function(x.detach())
    finally:
        remove_observer(observer)
    recorded, plain = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert recorded and all(event[0] == "forward" and event[2] > 0 for event in recorded)
    assert all(event[2] == -1 for event in plain)


@pytest.mark.parametrize("make", MADE)
def test_what_was_recorded_keeps_its_rules(make):
    op, _, function = make()
    x = pb.tensor([0.5, 2.0], requires_grad=True)
    out = function(x)
    expected = pb.func.grad(lambda x: function(x).sum())(x.detach())
    op.register_autograd(lambda ctx, *gs: 1 / 0)
    out.sum().backward()
    assert_close(x.grad, expected)


def test_an_operator_without_derivative_is_a_constant_in_jets():
    def f(x: np.ndarray) -> np.ndarray:
        return np.sign(x) * 2

    op = custom_op(name(), f, mutates_args=(), autograd_fallback="nondiff")
    x, v = pb.tensor([1.5, -2.0]), pb.tensor([1.0, 1.0])
    value, (slope,) = pb.func.jet(lambda x: x * op(x), (x,), ([v],))
    assert_close(value, [3.0, 4.0])
    assert_close(slope, [2.0, -2.0])


def test_an_operator_without_tensors_is_called_wherever_others_are():
    def f(n: int) -> np.ndarray:
        return np.arange(float(n))

    op = custom_op(name(), f, mutates_args=())
    contexts = functools.partial(create_selective_checkpoint_contexts, lambda ctx, op, *operands, **params: True)
    x = pb.tensor([0.5, 2.0, 1.0], requires_grad=True)
    checkpoint(lambda x: x * op(3), x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert_close(x.grad, np.arange(3.0))
    assert_close(pb.func.vmap(lambda x: x * op(3))(pb.ones((2, 3))), np.stack([np.arange(3.0)] * 2))


def test_a_declared_view_of_an_inference_tensor_is_one():
    op = define(name(), "(Tensor(a) x) -> Tensor(a)")
    op.register_kernel("cpu", lambda x: x[1:])
    with pb.inference_mode():
        assert op(pb.ones(3)).is_inference()


def test_a_loop_follows_a_custom_operator_in_its_body():
    op, _, function = cube()
    op.register_fake(lambda x: x.new_empty(x.shape))
    x = pb.tensor([0.5, 0.2], requires_grad=True)

    def looped(x):
        return pb.lax.fori_loop(0, 3, lambda i, c: c + function(c) * x.detach(), x)

    def written_out(x):
        c = x
        for _ in range(3):
            c = c + c**3 * x.detach()
        return c

    pb.compile(looped)(x).sum().backward()
    (expected,) = pb.autograd.grad(written_out(x).sum(), (x,))
    assert_close(x.grad, expected)
