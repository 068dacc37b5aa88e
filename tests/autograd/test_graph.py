"""`autograd.graph` and `autograd.profiler` beyond the conformance cases: who keeps what alive, and for how long."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import (
    _unsafe_preserve_version_counter,
    _unsafe_set_version_counter,
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    queue_callback,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from pullback.autograd.profiler import observers, record_function
from pullback.core.state import NORMAL, switch
from pullback.errors import AutogradError
from pullback.testing import assert_close

grad = pb.autograd.grad


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def constant(value):
    return pb.tensor(np.array(value, dtype=float))


def code_of(function, *args, **kwargs):
    with pytest.raises(AutogradError) as caught:
        function(*args, **kwargs)
    return caught.value.code


# Hooks on saved values


def test_one_pair_of_hooks_may_be_entered_again_and_nested():
    packs, x = [], leaf([2.0])
    hooks = saved_tensors_hooks(lambda t: (packs.append(1), t)[1], lambda t: t)
    with hooks, hooks:
        x.sin()
    with hooks:
        x.sin()
    x.sin()
    assert len(packs) == 2


def test_hooks_end_with_their_block_even_if_it_fails():
    x, packs = leaf([2.0]), []
    with pytest.raises(ZeroDivisionError), saved_tensors_hooks(lambda t: packs.append(1), lambda t: t):
        raise ZeroDivisionError
    x.sin().backward()
    assert packs == []


def test_disabled_hooks_refuse_save_on_cpu_too():
    with disable_saved_tensors_hooks("not now"), pytest.raises(RuntimeError, match="not now"), save_on_cpu():
        pass


def test_save_on_cpu_hides_outer_hooks_and_closes_no_cycle():
    packs = []
    gc.collect()
    gc.disable()
    try:
        with saved_tensors_hooks(lambda t: (packs.append(1), t)[1], lambda t: t), save_on_cpu():
            y = leaf([1.0]).exp()
        gone = weakref.ref(y.grad_fn)
        del y
        assert gone() is None and packs == []
    finally:
        gc.enable()


def test_a_twin_of_a_leaf_leads_to_the_leaf_after_its_graph_is_gone():
    x = leaf([3.0])
    with saved_tensors_hooks(lambda t: t.detach().numpy().copy(), pb.asarray):
        y = x * x
    twin = y.grad_fn._saved_self
    assert twin is not x and twin.is_leaf
    del y
    gc.collect()
    (twin * 5).backward()
    assert_close(x.grad, [5.0])


# Mutation of saved values


def test_a_value_that_nobody_wrote_is_the_saved_object_itself():
    with allow_mutation_on_saved_tensors():
        h = leaf([1.0, 2.0]) * 1
        y = h * h
        assert y.grad_fn._saved_self is h


def test_one_copy_serves_everything_that_saved_the_same_version():
    x, c = leaf([3.0, 3.0]), constant([1.0, 2.0])
    with allow_mutation_on_saved_tensors():
        first, second = x * c, x * c
        c.add_(1)
        kept = [y.grad_fn._saved_other for y in (first, second)]
        third = x * c
        c.add_(1)
        assert np.shares_memory(kept[0].numpy(), kept[1].numpy())
        later = third.grad_fn._saved_other
        assert not np.shares_memory(kept[0].numpy(), later.numpy())
        assert_close(kept[0], [1.0, 2.0])
        assert_close(later, [2.0, 3.0])


def test_nothing_is_copied_for_values_that_are_gone_or_elsewhere():
    x, c, d = leaf([3.0, 3.0]), constant([1.0, 2.0]), constant([1.0, 2.0, 3.0, 4.0])
    with allow_mutation_on_saved_tensors() as guard:
        y = x * c
        del y
        c.add_(1)
        y = x * d[:2]
        d[2:].add_(1)
        assert y.grad_fn._saved_other is not None
        assert [w for w in guard._watched if w.saved_copy() is not None] == []


def test_the_copy_dies_when_its_node_has_run():
    x, c = leaf([3.0]), constant([2.0])
    with allow_mutation_on_saved_tensors() as guard:
        y = (x * c).sum()
        c.add_(1)
        assert len(guard._watched) == 1
        y.backward()
        assert len(guard._watched) == 0
    assert_close(x.grad, [2.0])


def test_writes_through_unrelated_objects_on_the_same_memory_are_covered():
    memory = np.array([1.0, 2.0, 3.0, 4.0])
    x, c = leaf([3.0, 3.0]), pb.asarray(memory[1:3])
    other = pb.asarray(np.frombuffer(memory.data)[2:])
    with allow_mutation_on_saved_tensors():
        y = (x * c).sum()
        other.add_(10)
        y.backward()
    assert_close(x.grad, [2.0, 3.0])


def test_a_value_saved_again_after_a_write_that_its_counter_missed_is_another_value():
    x, c = leaf([1.0]), constant([2.0])
    with allow_mutation_on_saved_tensors():
        first = x * c
        c.data.add_(1)
        second = x * c
        c.data.add_(1)
        assert c._version == 0
        assert [y.grad_fn._saved_other.item() for y in (first, second)] == [2.0, 3.0]


def test_strided_neighbours_do_not_count_as_overlap():
    x, c = leaf([3.0, 3.0]), constant([1.0, 2.0, 3.0, 4.0])
    with allow_mutation_on_saved_tensors() as guard:
        y = (x * c[::2]).sum()
        c[1::2].add_(10)
        assert all(w.saved_copy() is None for w in guard._watched)
        y.backward()
    assert_close(x.grad, [1.0, 3.0])


def test_many_watched_values_are_found_by_address():
    x, cs = leaf([2.0]), [constant([float(k)]) for k in range(300)]
    with allow_mutation_on_saved_tensors() as guard:
        ys = [x * c for c in cs]
        for c in cs[::3]:
            c.add_(1000)
        copied = [w for w in guard._watched if w.saved_copy() is not None]
        assert len(copied) == 100
        values = [y.grad_fn._saved_other.item() for y in ys]
    assert values == [float(k) for k in range(300)]


def test_second_derivatives_are_taken_at_the_values_before_the_write():
    a = leaf([2.0])
    with allow_mutation_on_saved_tensors():
        b = a.clone()
        y = b * b * b
        b.mul_(10)
        (first,) = grad(y, a, create_graph=True)
        b.mul_(10)
        (second,) = grad(first, a)
    assert_close(first.detach(), [12.0])
    assert_close(second, [12.0])


def test_values_read_outside_of_their_block_are_refused_though_nothing_was_written():
    x = leaf([2.0])
    block = allow_mutation_on_saved_tensors()
    with block:
        y = x * x
    assert code_of(y.backward) == "MUTATION_CTX"
    with block:
        assert code_of(y.backward) == "MUTATION_CTX"
        z = x * x
        z.backward()


def test_a_write_in_another_thread_is_still_noticed():
    x, c = leaf([2.0]), constant([3.0])
    with allow_mutation_on_saved_tensors():
        y = x * c
        thread = threading.Thread(target=lambda: c.add_(1))
        thread.start()
        thread.join()
        assert code_of(y.backward) == "VERSION"
        c.add_(1)
        assert code_of(y.backward) == "VERSION"


# Hooks on several gradients


def test_a_multi_grad_hook_keeps_no_graph_alive():
    gc.collect()
    gc.disable()
    try:
        a = leaf([1.0])
        b = a * 2
        register_multi_grad_hook((a, b), lambda gradients: None)
        gone = weakref.ref(b.grad_fn)
        del b
        assert gone() is None
    finally:
        gc.enable()


def test_a_multi_grad_hook_on_leaves_outlives_their_accumulators():
    a, b, calls = leaf([1.0]), leaf([1.0]), []
    register_multi_grad_hook((a, b), lambda gradients: calls.append([g.item() for g in gradients]))
    for factor in (2.0, 3.0):
        (a * factor + b).backward()
    assert calls == [[2.0, 1.0], [3.0, 1.0]]


def test_a_multi_grad_hook_is_called_as_soon_as_the_last_gradient_is_there():
    a, order = leaf([1.0]), []
    b = a * 2
    register_multi_grad_hook((b,), lambda gradients: order.append("all"))
    a.register_hook(lambda g: order.append("a"))
    b.sum().backward()
    assert order == ["all", "a"]


def test_a_refused_multi_grad_hook_leaves_nothing_behind():
    a, calls = leaf([1.0]), []
    with pytest.raises(AutogradError):
        register_multi_grad_hook((a, constant([1.0])), lambda gradients: calls.append(1))
    (a * 2).backward()
    assert calls == []


def test_gradients_given_to_a_multi_grad_hook_are_read_only():
    a, codes = leaf([1.0]), []
    register_multi_grad_hook((a,), lambda gradients: codes.append(code_of(gradients[0].mul_, 2)))
    register_multi_grad_hook((a,), lambda gradient: codes.append(code_of(gradient.mul_, 2)), mode="any")
    (a * 2).backward()
    assert codes == ["READONLY_GRAD", "READONLY_GRAD"]


def test_a_hook_that_fails_ends_the_pass():
    def fail(gradients):
        raise KeyError("here")

    a = leaf([1.0])
    register_multi_grad_hook((a,), fail)
    with pytest.raises(KeyError, match="here"):
        (a * 2).backward()


def test_an_undefined_gradient_is_known_at_the_end_of_the_pass():
    class Half(pb.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, None

    a, b, order = leaf([1.0]), leaf([1.0]), []
    register_multi_grad_hook((a, b), lambda gradients: order.append([g if g is None else g.item() for g in gradients]))
    a.register_hook(lambda g: queue_callback(lambda: order.append("callback")))
    Half.apply(a, b).backward()
    assert order == [[1.0, None], "callback"]


# Versions by hand


def test_a_version_set_by_hand_invalidates_what_was_saved_before():
    x, c = leaf([2.0]), constant([3.0])
    y = x * c
    _unsafe_set_version_counter((c,), (7,))
    assert c._version == 7
    assert code_of(y.backward) == "VERSION"
    with pytest.raises(ValueError):
        _unsafe_set_version_counter((c,), (1, 2))


def test_preserved_versions_are_restored_after_an_error_and_for_one_tensor():
    x, c = leaf([2.0]), constant([3.0])
    y = x * c
    with pytest.raises(ZeroDivisionError), _unsafe_preserve_version_counter(c):
        c.add_(1)
        raise ZeroDivisionError
    assert c._version == 0
    y.backward()


def test_versions_belong_to_tensors():
    with pytest.raises(TypeError):
        increment_version([1.0])


# Policies


def test_switches_work_as_call_block_and_decorator():
    x = pb.tensor(np.zeros((3, 2)).T, requires_grad=True)

    def strides():
        x.grad = None
        (x * constant(np.ones((2, 3)))).sum().backward()
        return x.grad.strides

    own = strides()
    with pb.autograd.enforce_grad_layout_policy(False):
        lifted = strides()
    assert lifted != own
    assert strides() == own
    assert pb.autograd.enforce_grad_layout_policy(False)(strides)() == lifted
    assert strides() == own
    with pb.autograd.set_multithreading_enabled(False):
        assert strides() == own


# Observers


def test_observers_are_listed_and_removed_and_fast_paths_come_back():
    events = []

    def observe(*event):
        events.append(event)

    assert len(observers) == 0
    observers.append(observe)
    try:
        assert observe in observers and list(observers) == [observe] and len(observers) == 1
        assert switch.normal is None
        with record_function("outer"):
            leaf([1.0]).sin()
        record_function("inner")(lambda: None)()
    finally:
        observers.clear()
    assert len(observers) == 0 and switch.normal is NORMAL
    assert [(kind, name) for kind, name, *_ in events] == [
        ("begin", "outer"), ("forward", "sin"), ("end", "outer"), ("begin", "inner"), ("end", "inner"),
    ]  # fmt: skip
    with pytest.raises(ValueError):
        observers.remove(observe)


def test_a_function_is_observed_under_the_number_of_its_node():
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    events = []
    observers.append(lambda *event: events.append(event))
    try:
        y = Double.apply(leaf([1.0]))
        y.backward()
        Double.apply(constant([1.0]))
    finally:
        observers.clear()
    number = y.grad_fn._sequence_nr()
    assert [kind for kind, name, n, _ in events if n == number] == ["forward", "backward"]
    assert ("forward", "Double", -1) in [event[:3] for event in events]
