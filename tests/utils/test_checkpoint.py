"""Checkpoints beyond the conformance cases: ownership of memory, writes in place, passes within passes, modes."""

import collections
import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.errors import AutogradError, CheckpointError
from pullback.testing import assert_close
from pullback.utils.checkpoint import (
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
    set_checkpoint_early_stop,
)


def leaf(value):
    return pb.tensor(value, dtype=pb.float64, requires_grad=True)


def sin_exp(x):
    return x.sin().exp()


class Counted:
    """A function that knows how often it ran."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def alternating(*functions):
    """A function whose n-th run is the n-th of `functions`."""
    runs = iter(functions)
    return lambda *args: next(runs)(*args)


@pytest.fixture
def without_collector():
    """Reference counting alone frees memory while this is in use."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# Gradients are those of the plain call


def gradients_of(call, operands):
    """Gradients of `call(*operands)` with respect to the floating operands, with cotangents of ones."""
    inputs = [pb.tensor(x) if isinstance(x, np.ndarray) else x for x in operands]
    leaves = [x.requires_grad_() for x in inputs if isinstance(x, pb.Tensor) and x.dtype.kind in "fc"]
    outputs = call(*inputs)
    outputs = [y for y in (outputs if isinstance(outputs, tuple) else (outputs,)) if y.requires_grad]
    if not outputs or not leaves:
        return None
    cotangents = [pb.tensor(np.ones(y.shape, y.dtype)) for y in outputs]
    return pb.autograd.grad(outputs, leaves, cotangents, allow_unused=True)


DIFFERENTIABLE = sorted(name for name, op in registry.items() if op.is_differentiable and op.sample_rule is not None)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_operator_has_the_same_gradient_under_a_checkpoint(name):
    op = registry[name]
    sample = next(iter(op.sample_rule(Maker(name))))
    plain = gradients_of(lambda *xs: op(*xs, **sample.params), sample.operands)
    again = gradients_of(lambda *xs: checkpoint(lambda *ys: op(*ys, **sample.params), *xs), sample.operands)
    assert (plain is None) == (again is None)
    for first, second in zip(plain or (), again or (), strict=True):
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_array_equal(dense(first), dense(second))


def dense(gradient):
    return gradient.to_dense() if isinstance(gradient, pb.autograd.SparseGrad) else gradient.numpy()


def test_writes_in_place_inside_the_function_are_repeated():
    def function(x):
        h = x * 2
        h[:1] = x[1:2] * 3
        h.sin_()
        h[1:].mul_(x[:1])
        return h.exp()

    x, y = leaf([0.5, 1.5]), leaf([0.5, 1.5])
    function(x).sum().backward()
    checkpoint(function, y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())


def test_third_derivatives_pass_through_nested_checkpoints():
    def third(function):
        x = leaf([0.4, 1.1])
        result = function(x).sum()
        for _ in range(2):
            (gradient,) = pb.autograd.grad(result, x, create_graph=True)
            result = gradient.sum()
        return pb.autograd.grad(result, x)[0]

    nested = lambda x: checkpoint(lambda x: checkpoint(sin_exp, x * x).cos(), x)
    assert_close(third(nested), third(lambda x: sin_exp(x * x).cos()))


@pb.autograd.overwrite_policy("raise")
def test_a_value_saved_and_then_overwritten_is_an_error_or_right():
    def function(x):
        h = x.sin()
        square = h * h
        h.add_(1)
        return square.exp() + h

    with pytest.raises(AutogradError) as caught:
        checkpoint(function, leaf([1.0])).backward()
    assert caught.value.code == "VERSION"

    # Here the second run ends before the write, so the value it saved is still the right one.
    def function_with_the_write_at_the_end(x):
        h = x.sin()
        square = h * h
        h.add_(1)
        return square

    x = leaf([1.0])
    checkpoint(function_with_the_write_at_the_end, x).backward()
    assert_close(x.grad, 2 * np.sin([1.0]) * np.cos([1.0]))


def test_values_that_may_be_overwritten_are_copied_in_the_second_run_too():
    def function(x):
        h = x.sin()
        square = h * h
        h.add_(1)
        return square.exp() * h

    with pb.autograd.graph.allow_mutation_on_saved_tensors():
        x, y = leaf([0.4]), leaf([0.4])
        function(x).backward()
        checkpoint(function, y).backward()
    np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())


def test_an_argument_that_may_be_overwritten_is_copied():
    with pb.autograd.graph.allow_mutation_on_saved_tensors():
        x, c = leaf([0.4]), pb.tensor([2.0])
        y = checkpoint(lambda x, c: (x * c).sin(), x, c)
        c.add_(1)
        y.backward()
    assert_close(x.grad, 2 * np.cos([0.8]))


# Arguments


def test_containers_reach_every_run_as_they_were_at_the_call():
    seen = []

    def function(parts, named, queue):
        seen.append((len(parts), list(named), type(queue).__name__))
        parts.append(None)
        named["new"] = None
        return (parts[0] * queue[0]).sin()

    x, y = leaf([1.0]), leaf([2.0])
    checkpoint(function, [x], {"z": 1, "a": None}, queue=collections.deque([y])).backward()
    assert seen == [(1, ["z", "a"], "deque")] * 2
    assert_close(x.grad, 2 * np.cos([2.0]))


def test_a_keyword_may_be_called_function():
    x = leaf([1.0])
    checkpoint(lambda x, function: function(x), x, function=sin_exp).backward()
    assert_close(x.grad, np.exp(np.sin([1.0])) * np.cos([1.0]))


def test_a_view_that_nobody_else_keeps_can_be_an_argument():
    base = leaf(np.arange(4.0)) * 1
    y = checkpoint(sin_exp, base[1:3])
    (gradient,) = pb.autograd.grad(y.sum(), base)
    assert_close(gradient[1:3], np.exp(np.sin([1.0, 2.0])) * np.cos([1.0, 2.0]))


def test_rows_of_a_buffer_can_be_filled_by_checkpoints(without_collector):
    def rollout(step):
        w = leaf([1.1])
        h = pb.zeros((4, 1))
        h[0] = w
        for i in range(3):
            h[i + 1] = step(h[i], w)
        last = h[3].sum()
        alive = weakref.ref(h)
        last.backward()
        del h, last
        return w.grad, alive

    plain, _ = rollout(lambda h, w: (h * w).sin())
    again, alive = rollout(lambda h, w: checkpoint(lambda h, w: (h * w).sin(), h, w))
    assert_close(again, plain)
    assert alive() is None


def test_an_argument_that_was_made_in_inference_mode_may_be_used_where_it_is_not_saved():
    with pb.inference_mode():
        constant = pb.tensor([2.0])
    x = leaf([1.0])
    checkpoint(lambda x, c: (x + c).sin(), x, constant).backward()
    assert_close(x.grad, np.cos([3.0]))


def test_the_users_hooks_around_a_checkpoint_get_its_arguments_and_nothing_else():
    packed = []

    def pack(tensor):
        packed.append(tensor.shape)
        return tensor

    x = leaf([1.0, 2.0])
    with pb.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = checkpoint(lambda x, w: (x * w).sin(), x, pb.tensor(3.0))
    assert packed == [(2,), ()]
    y.sum().backward()
    assert_close(x.grad, 3 * np.cos([3.0, 6.0]))


# Running again


def test_an_except_clause_in_the_function_does_not_catch_the_early_stop():
    caught = []

    def function(x):
        try:
            return x.sin()
        except Exception as error:
            caught.append(error)
            raise

    checkpoint(function, leaf([1.0])).backward()
    assert caught == []


def test_a_function_that_catches_everything_is_run_to_its_end():
    def function(x):
        with contextlib.suppress(BaseException):
            x.sin()
        return x.cos()

    x = leaf([1.0])
    checkpoint(function, x).backward()
    assert_close(x.grad, -np.sin([1.0]))


def test_modes_that_the_function_leaves_behind_do_not_reach_the_pass():
    def function(x):
        y = x.sin()
        pb.set_grad_enabled(False)
        return y

    with pb.enable_grad():
        y = checkpoint(function, leaf([1.0]), early_stop=False)
    y.backward()
    assert pb.is_grad_enabled()


def test_backward_in_inference_mode_runs_the_function_in_normal_modes():
    x = leaf([1.0])
    y = checkpoint(sin_exp, x)
    with pb.inference_mode():
        y.backward()
    assert_close(x.grad.clone(), np.exp(np.sin([1.0])) * np.cos([1.0]))


def test_disabled_hooks_refuse_the_forward_and_allow_the_backward():
    with pb.autograd.graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        checkpoint(sin_exp, leaf([1.0]))
    x = leaf([1.0])
    y = checkpoint(lambda x: checkpoint(sin_exp, x).cos(), x)
    with pb.autograd.graph.disable_saved_tensors_hooks("not here"):
        y.backward()
    assert x.grad is not None


def test_a_read_outside_of_a_pass_runs_every_level_once():
    inner, outer = Counted(lambda x, y: x * y), Counted(lambda x: checkpoint(inner, x.sin(), x.cos()))
    y = checkpoint(outer, leaf([1.0]))
    assert_close(y.grad_fn._saved_self, np.sin([1.0]))
    # Both arguments of the inner one come from a single run of the outer one, which stops before the inner call.
    assert (inner.calls, outer.calls) == (2, 2)


def test_a_hook_that_looks_at_a_saved_value_does_not_take_it_away():
    function, x = Counted(sin_exp), leaf([1.0])
    y = checkpoint(function, x)
    seen = []
    y.register_hook(lambda g: seen.append(y.grad_fn._saved_result.numpy().copy()))
    z = y.sin()
    z.register_hook(lambda g: seen.append(y.grad_fn._saved_result.numpy().copy()))
    z.backward()
    assert_close(seen, [np.exp(np.sin([1.0]))] * 2)
    assert_close(x.grad, np.cos(np.exp(np.sin([1.0]))) * np.exp(np.sin([1.0])) * np.cos([1.0]))


def test_a_second_run_that_fails_can_be_repeated():
    def fail(x):
        raise ZeroDivisionError

    x = leaf([1.0])
    y = checkpoint(alternating(sin_exp, fail, sin_exp), x)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    y.backward()
    assert_close(x.grad, np.exp(np.sin([1.0])) * np.cos([1.0]))


def test_the_random_state_is_restored_after_a_second_run_that_fails():
    def fail(x):
        pb.random.standard_normal(3)
        raise ZeroDivisionError

    y = checkpoint(alternating(sin_exp, fail), leaf([1.0]))
    pb.random.manual_seed(11)
    expected = pb.random.standard_normal(2).tolist()
    pb.random.manual_seed(11)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert pb.random.standard_normal(2).tolist() == expected


def test_early_stop_is_decided_where_the_forward_runs():
    tail = []

    def function(x):
        y = x.sin()
        tail.append("reached")
        return y

    with set_checkpoint_early_stop(False):
        y = checkpoint(function, leaf([1.0]))
    with set_checkpoint_early_stop(True):
        y.backward()
    assert len(tail) == 2


def test_the_context_of_the_second_run_sees_the_early_stop_and_is_left():
    events = []

    class Watching:
        def __enter__(self):
            events.append("enter")

        def __exit__(self, kind, *exc):
            events.append(kind is not None and not issubclass(kind, Exception))

    y = checkpoint(sin_exp, leaf([1.0]), context_fn=lambda: (contextlib.nullcontext(), Watching()))
    y.backward(retain_graph=True)
    y.backward()
    assert events == ["enter", True] * 2


# Passes within passes


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_pass_inside_the_function_reads_values_before_the_forward_is_over(early_stop):
    def function(x):
        h = x.sin() * x
        (inner,) = pb.autograd.grad(h.sum(), x, create_graph=True)
        return inner.exp() * h

    x, y = leaf([0.7]), leaf([0.7])
    function(x).backward()
    checkpoint(function, y, early_stop=early_stop).backward()
    assert_close(y.grad, x.grad)


def test_a_hook_may_run_another_pass_over_the_same_checkpoint():
    function, x = Counted(sin_exp), leaf([1.0])
    y = checkpoint(function, x)
    inner = []
    z = y.cos()
    z.register_hook(lambda g: inner.append(pb.autograd.grad(y, x, retain_graph=True)[0].clone()))
    z.backward()
    slope = np.exp(np.sin([1.0])) * np.cos([1.0])
    assert_close(inner, [slope])
    assert_close(x.grad, -np.sin(np.exp(np.sin([1.0]))) * slope)
    assert function.calls == 3


def test_threads_run_passes_over_one_checkpoint_independently():
    x = leaf(np.linspace(0.1, 1.0, 7))
    y = checkpoint(lambda x: checkpoint(sin_exp, x).cos(), x, preserve_rng_state=False).sum()
    results = []

    def work():
        results.append(pb.autograd.grad(y, x, retain_graph=True)[0].numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = leaf(np.linspace(0.1, 1.0, 7))
    sin_exp(expected).cos().sum().backward()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, expected.grad.numpy())


# Memory


def chain_with_probes(length, alive):
    """`length` times sin, with a weak reference to every intermediate array of every run."""

    def function(x):
        for _ in range(length):
            x = x.sin()
            alive.append(weakref.ref(x.detach().numpy()))
        return x

    return function


def count_alive(references):
    return sum(reference() is not None for reference in references)


@pytest.mark.parametrize("retain_graph", [False, True])
def test_recomputed_values_are_dropped_as_they_are_consumed(retain_graph, without_collector):
    alive = []
    x = leaf([0.5])
    h = x * 1
    y = checkpoint(chain_with_probes(8, alive), h)
    alive.clear()
    counts = []
    h.register_hook(lambda g: counts.append(count_alive(alive)))
    y.backward(retain_graph=retain_graph)
    # The node that ran last may still have its operand; all others are gone, and after the pass that one too.
    assert len(alive) == 7
    assert counts[0] <= 1
    del y, h
    assert count_alive(alive) == 0


def test_a_pass_frees_the_arguments_of_each_region_it_leaves_behind(without_collector):
    arguments = []
    x = leaf([0.5])
    h = x
    for _ in range(5):
        h = checkpoint(sin_exp, h)
        arguments.append(weakref.ref(h.detach().numpy()))
    loss = h.sum()
    del h
    counts = []
    x.register_hook(lambda g: counts.append(count_alive(arguments)))
    loss.backward()
    assert counts == [0]


def test_a_long_chain_of_checkpoints_is_dropped_without_recursion(without_collector):
    h = leaf([0.5])
    for _ in range(5000):
        h = checkpoint(lambda h: h.sin(), h, preserve_rng_state=False)
    gone = weakref.ref(h)
    del h
    assert gone() is None


def test_dropped_results_are_not_kept_for(without_collector):
    big = []

    def function(x):
        y = x.exp()
        big.append(weakref.ref(y.detach().numpy()))
        return y, x.sin()

    x = leaf([1.0])
    exponential, sine = checkpoint(function, x, early_stop=False)
    del exponential
    big.clear()
    sine.register_hook(lambda g: None)
    sine.backward(retain_graph=True)
    assert big[0]() is None
    assert_close(x.grad, np.cos([1.0]))


# Determinism and diagnostics


def test_the_message_names_function_and_counts():
    y = checkpoint(alternating(sin_exp, lambda x: x * 2), leaf([1.0]))
    with pytest.raises(CheckpointError, match=r"saved 2 values in the forward and 0 when it was run again"):
        y.backward()


def test_the_message_lists_every_value_of_another_shape_or_dtype():
    y = checkpoint(alternating(sin_exp, lambda x: sin_exp(x[:1])), leaf([1.0, 2.0]))
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    for position in (0, 1):
        assert f"value {position}: float64[2] in the forward, float64[1] when it was run again" in str(caught.value)


def test_debug_points_at_the_first_operator_that_differs_and_its_line():
    y = checkpoint(alternating(sin_exp, lambda x: x.sin() * 2), leaf([1.0]), debug=True)
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    text = str(caught.value)
    assert "first differ at operator 1" in text
    assert "exp(float64[1]) -> float64[1]" in text and "multiply(float64[1], 2) -> float64[1]" in text
    assert "test_checkpoint.py:" in text


def test_debug_changes_nothing_when_the_runs_agree():
    x = leaf([1.0])
    y = checkpoint(lambda x: checkpoint(sin_exp, x, debug=True).cos(), x, debug=True, context_fn=noop_context_fn)
    y.backward(retain_graph=True)
    y.backward()
    assert_close(x.grad, -2 * np.sin(np.exp(np.sin([1.0]))) * np.exp(np.sin([1.0])) * np.cos([1.0]))


def test_none_as_check_still_counts():
    y = checkpoint(alternating(sin_exp, lambda x: x + 1), leaf([1.0]), determinism_check="none")
    with pytest.raises(CheckpointError):
        y.backward()


def test_options_are_checked_with_grad_mode_off_too():
    with pb.no_grad(), pytest.raises(ValueError):
        checkpoint(sin_exp, leaf([1.0]), determinism_check="sometimes")


# Groups


def test_every_group_has_its_own_run():
    function, x = Counted(sin_exp), leaf([1.0])
    y = checkpoint(function, x)
    for _ in range(2):
        with GraphExecGroup():
            y.backward(retain_graph=True)
    assert function.calls == 3
    assert_close(x.grad, 2 * np.exp(np.sin([1.0])) * np.cos([1.0]))


def test_a_group_is_left_when_a_pass_fails():
    y = checkpoint(alternating(sin_exp, lambda x: x + 1), leaf([1.0]))
    with pytest.raises(CheckpointError), GraphExecGroup():
        y.backward()
    with GraphExecGroup():
        pass


def test_the_passes_of_a_group_share_the_runs_of_all_levels():
    inner = Counted(lambda x: (x.sin(), x.cos()))
    outer = Counted(lambda x: checkpoint(inner, x.exp()))
    x = leaf([0.3])
    sine, cosine = checkpoint(outer, x)
    with GraphExecGroup():
        pb.autograd.backward(sine, inputs=x, retain_graph=True)
        with pytest.raises(CheckpointError):
            # Both passes go through the exponential, whose saved value the first one has consumed.
            pb.autograd.backward(cosine, inputs=x)
    assert (inner.calls, outer.calls) == (2, 2)


def test_a_group_drops_what_no_pass_consumed(without_collector):
    alive = []

    def function(x):
        sine, cosine = x.sin(), x.cos()
        alive.append(weakref.ref(sine.detach().numpy()))
        return sine.exp(), cosine.exp()

    first, second = checkpoint(function, leaf([1.0]), early_stop=False)
    alive.clear()
    with GraphExecGroup():
        second.backward(retain_graph=True)
    assert count_alive(alive) == 0
    del first, second


# Sequences


@pytest.mark.parametrize("segments, calls", [(1, [1] * 5), (2, [2, 2, 1, 1, 1]), (5, [2, 2, 2, 2, 1])])
def test_segments_are_of_equal_length_and_the_last_one_takes_the_rest(segments, calls):
    functions = [Counted(lambda x: x.sin()) for _ in range(5)]
    x = leaf([1.0])
    checkpoint_sequential(functions, segments, x, preserve_rng_state=False).backward()
    assert [function.calls for function in functions] == calls


@pytest.mark.parametrize("segments", [0, 3, -1])
def test_an_impossible_number_of_segments_is_refused(segments):
    with pytest.raises(ValueError):
        checkpoint_sequential([sin_exp, sin_exp], segments, leaf([1.0]))


@pytest.mark.parametrize("run", [lambda f, *args: f(*args), checkpoint], ids=["plain", "checkpoint"])
@pytest.mark.parametrize("hooks", [False, True])
def test_saved_constants_come_back_as_the_very_objects(run, hooks):
    seen = []

    class Keeping(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g, None

    x, constant = pb.ones(2, requires_grad=True), pb.ones(2)
    same = pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with same if hooks else contextlib.nullcontext():
        out = run(Keeping.apply, x, constant)
    out.sum().backward()
    assert seen[1] is constant
    assert seen[0].requires_grad


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("make", [pb.random.Generator, np.random.default_rng])
def test_generators_that_draws_are_given_are_replayed_and_left_where_they_were(make, use_reentrant):
    x = pb.ones(50, requires_grad=True)
    block = lambda x: pb.nn.dropout(x, 0.5, generator=generator) * pb.random.normal(size=50, generator=generator)
    generator = make(3)
    block(x).sum().backward()
    plain, x.grad = x.grad, None
    after = pb.random.random(3, generator=generator)
    generator = make(3)
    pb.checkpoint(block, x, use_reentrant=use_reentrant).sum().backward()
    assert_close(x.grad, plain)
    assert_close(pb.random.random(3, generator=generator), after)


def test_a_seed_between_forward_and_backward_changes_neither():
    x = pb.ones(50, requires_grad=True)
    generator = pb.random.Generator(3)
    y = pb.checkpoint(lambda x: pb.nn.dropout(x, 0.5, generator=generator), x, use_reentrant=False)
    generator.manual_seed(4)
    y.sum().backward()
    assert_close(x.grad, y)
    assert_close(pb.random.random(3, generator=generator), pb.random.random(3, generator=pb.random.Generator(4)))
