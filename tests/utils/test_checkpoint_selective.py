"""Selective policies beyond the conformance cases: what is cached, what is run again, what is refused."""

import functools
import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.profiler import observers
from pullback.errors import CheckpointError
from pullback.tape.transform.interception import Interception
from pullback.testing import assert_close
from pullback.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def leaf(value):
    return pb.tensor(value, dtype=pb.float64, requires_grad=True)


def selective(function, policy, *args, **options):
    """`function(*args)` under a checkpoint with this policy."""
    contexts = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    return checkpoint(function, *args, context_fn=contexts)


def save_all(ctx, op, *operands, **params):
    return CheckpointPolicy.MUST_SAVE


def executed_during(action):
    """The names of the primitives whose kernels run during `action()`."""
    names = []

    def observe(kind, name, sequence_nr, thread_id):
        if kind == "forward":
            names.append(name)

    observers.append(observe)
    try:
        action()
    finally:
        observers.remove(observe)
    return names


def test_only_operators_that_are_not_saved_are_executed_again():
    y = selective(lambda x: (x.sin() * x).cos().exp(), [pb.sin], leaf([1.0]))
    # Observers hear of finished calls, and the exponential ends the second run.
    assert executed_during(y.backward) == ["multiply", "cos"]


def test_public_functions_name_the_operators_to_save():
    x = leaf([0.5, 1.0])
    selective(lambda x: x.sin().exp(), [pb.sin, pb.exp], x).sum().backward()
    assert_close(x.grad, np.exp(np.sin([0.5, 1.0])) * np.cos([0.5, 1.0]))


@pytest.mark.parametrize("wrong", [len, "sin"])
def test_a_list_may_name_nothing_but_primitives(wrong):
    with pytest.raises(TypeError, match="primitive"):
        create_selective_checkpoint_contexts([pb.sin, wrong])


def test_a_policy_gets_context_operator_operands_and_parameters():
    asked = []

    def policy(ctx, op, *operands, **params):
        asked.append((type(ctx), ctx.is_recompute, op.name, [x.shape for x in operands], params.get("axis")))
        return CheckpointPolicy.PREFER_RECOMPUTE

    selective(lambda x: x.exp().sum(axis=1), policy, leaf(np.ones((2, 3)))).sum().backward()
    assert asked == [
        (SelectiveCheckpointContext, False, "exp", [(2, 3)], None),
        (SelectiveCheckpointContext, False, "sum", [(2, 3)], (1,)),
    ]


@pytest.mark.parametrize("answer", [None, 1, "save"])
def test_a_policy_must_answer_with_a_policy_or_a_bool(answer):
    with pytest.raises(TypeError, match="CheckpointPolicy"):
        selective(lambda x: x.sin(), lambda *args, **params: answer, leaf([1.0]))


def test_a_policy_is_not_asked_about_operators_that_it_uses_itself():
    asked = []

    def policy(ctx, op, *operands, **params):
        asked.append(op.name)
        return bool((operands[0].detach() * 2 > 0).all())

    x = leaf([1.0])
    selective(lambda x: x.sin().exp(), policy, x).backward()
    assert asked == ["sin", "exp"]


def test_views_are_taken_again_so_that_they_alias_the_memory_of_the_second_run():
    def function(x):
        h = x * 2
        tail = h[1:]
        return (tail.sin() * h[:-1]).exp()

    x, y = leaf([0.1, 0.2, 0.3]), leaf([0.1, 0.2, 0.3])
    function(x).sum().backward()
    recompute_products = lambda ctx, op, *operands, **params: op.name != "multiply"
    selective(function, recompute_products, y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())


def test_writes_in_place_are_repeated_on_recomputed_memory():
    def function(x):
        h = x * 2
        h[:1] = x[1:]
        h.sin_()
        return h.exp() * h

    x, y = leaf([0.1, 0.2]), leaf([0.1, 0.2])
    function(x).sum().backward()
    selective(function, [pb.exp], y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())


@pb.autograd.overwrite_policy("raise")
def test_a_write_to_a_saved_result_inside_the_function_is_an_error():
    def function(x):
        h = x * 2
        h.add_(1)
        return h.sin()

    with pytest.raises(CheckpointError, match=r"multiply.*written in place"):
        selective(function, [pb.multiply], leaf([1.0])).backward()


def test_results_with_several_parts_are_saved_whole():
    def function(x):
        values, indices = pb.max_with_indices(x.sin(), axis=0)
        return (values * indices).exp().sum()

    value = [[0.1, 0.9, 0.3], [0.4, 0.2, 0.5]]
    x, y = leaf(value), leaf(value)
    function(x).backward()
    result = selective(function, save_all, y)
    assert executed_during(result.backward) == []
    assert_close(y.grad, x.grad)


def test_an_operator_called_more_often_than_in_the_forward_is_an_error():
    runs = iter([1, 2])

    def function(x):
        for _ in range(next(runs)):
            x = x.sin()
        return x.exp()

    with pytest.raises(CheckpointError, match=r"`sin`.*less often"):
        selective(function, save_all, leaf([1.0])).backward()


def test_saved_results_are_dropped_when_the_pass_has_used_them():
    gc.collect()
    gc.disable()
    try:
        kept = []

        def function(x):
            h = x.sin()
            kept.append(weakref.ref(h.detach().numpy()))
            return h.cos()

        y = selective(function, [pb.sin], leaf([1.0]))
        assert kept[0]() is not None
        y.backward(retain_graph=True)
        assert kept[0]() is None

        kept.clear()
        y = selective(function, [pb.sin], leaf([1.0]))
        del y
        assert kept[0]() is None
    finally:
        gc.enable()


def test_selective_regions_nest():
    def inner(x):
        return x.sin().exp()

    def outer(x):
        return selective(inner, [pb.sin], x.cos()) * x

    x, y = leaf([0.3, 0.6]), leaf([0.3, 0.6])
    (inner(x.cos()) * x).sum().backward()
    selective(outer, [pb.exp, pb.cos], y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())


def test_interceptions_see_what_inner_ones_let_happen():
    order = []

    class Noting(Interception):
        def __init__(self, label):
            super().__init__()
            self.label = label

        def intercept(self, op, operands, params, proceed):
            order.append((self.label, op.name))
            return proceed(op, operands, params)

    x = pb.tensor([1.0])
    with Noting("outer"), Noting("inner"):
        x.sin()
        x.add_(1)
    x.cos()
    assert order == [("inner", "sin"), ("outer", "sin"), ("inner", "add"), ("outer", "add")]
    assert_close(x, [2.0])
